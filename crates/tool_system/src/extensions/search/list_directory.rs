//! `list_directory`: what is in a directory.

use std::collections::BTreeSet;
use std::time::Instant;

use tool_system::file_view::explained;
use tool_system::plain_text::{
    RestCount, ResultsShown, by_directory, named, note_of, number_argument, rest_of,
    standing_notes, text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::counted;
use tool_system::timestamp::iso8601;
use workspace::{EntryKind, Flow, RelPath, WalkEntry, WalkOptions, bytes_to_text};

/// Other modules name the tool by this.
pub const NAME: &str = "list_directory";

/// List a directory, 100 entries a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirectoryArgs {
    path: Option<String>,
    recursive: Option<bool>,
    include_hidden: Option<bool>,
    /// With sizes
    details: Option<bool>,
    #[schemars(extend("default" = 1))]
    page: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListDirectoryOutput {
    entries: Vec<ListedEntry>,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Where the entries of a recursive listing lie that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rest: Vec<RestCount>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedEntry {
    /// From the listed directory.
    name: String,
    r#type: &'static str,
    size: u64,
    modified: String,
    /// Where a link points.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

#[derive(Debug)]
struct ListDirectoryTool;

#[async_trait]
impl Tool for ListDirectoryTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ListDirectoryArgs, ListDirectoryOutput>(NAME, Category::Search)
            .termination(
                "Use terminate=false while exploring. Use terminate=true when the listing itself \
                 is what the user asked for.",
            )
            .prompt(
                "The project's top level: {}. Everything under src: {\"path\": \"src\", \
                 \"recursive\": true}. The next hundred entries: {\"path\": \"src\", \"page\": 2}.",
            )
            .example(json!({"path": "src", "recursive": true}))
            .face(
                Face::new(Vocabulary::Explorer, "list_files")
                    .describe("List a directory with sizes and times, 100 entries a page.")
                    .require("path")
                    .hide(&["include_hidden", "details"]),
            )
            .face(
                Face::new(Vocabulary::Workspace, "list_directory")
                    .describe("List a directory with sizes and times, 100 entries a page.")
                    .rename("include_hidden", "includeHidden")
                    .hide(&["details"])
                    .require("path")
                    .camel_case_result(),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ListDirectoryArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(list(cx, &args)?)).await
    }

    fn preview(&self, result: &Value, max_lines: usize) -> Vec<String> {
        let names = result["entries"].as_array().into_iter().flatten();
        let names: Vec<_> = names.filter_map(|entry| entry["name"].as_str()).collect();
        let total = result["total"].as_u64().unwrap_or(0);
        let summary = format!("{total} entries: {}", names.join(", "));
        tool_system::preview::lines(&summary, max_lines)
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let page = number_argument(args, "page").filter(|page| *page > 1);
        let page = page.map(|page| format!(", page {page}")).unwrap_or_default();
        Some(format!("Listed {}{page}", directory_of(args)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let entries = counted(result["total"].as_u64()?, "entry", "entries");
        Some(format!("Listed {}, {entries}", directory_of(args)))
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: ListDirectoryArgs = args.clone().parse().ok()?;
        let entries = result["entries"].as_array()?;
        let content = if args.details.unwrap_or(false) {
            let lines = entries.iter().map(detailed).collect::<Option<Vec<_>>>()?;
            lines.join("\n")
        } else if args.recursive.unwrap_or(false) {
            tree_text(entries)?
        } else {
            let words = entries.iter().map(|entry| word_of(entry["name"].as_str()?, entry));
            words.collect::<Option<Vec<_>>>()?.join(" ")
        };
        let total = result["total"].as_u64()?;
        let next = result["next_page"].as_u64();
        let part = ResultsShown {
            all: &counted(total, "entry", "entries"),
            shown: entries.len() as u64,
            total,
            continues: args.page.is_some_and(|page| page.0 > 1),
            next: next.map(|page| format!("page={page}")),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        if let Some(rest) = result.get("rest") {
            notes.extend(RestCount::note(&Vec::deserialize(rest).ok()?));
        }
        // Which entries are shown is said already; what follows is about the directory.
        let message = result["message"].as_str().map(|message| match next {
            Some(_) => message.split_once(" continues.").map_or("", |(_, after)| after).trim(),
            None => message,
        });
        notes.extend(message.filter(|message| !message.is_empty()).map(note_of));
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

fn directory_of(args: &ToolArguments) -> &str {
    match text_argument(args, "path") {
        None | Some("" | ".") => "the project's root",
        Some(path) => path,
    }
}

/// An entry as one word: `src/`, `"a b.rs"`, `link->target`, `pipe(fifo)`.
fn word_of(name: &str, entry: &Value) -> Option<String> {
    let name = named(name);
    Some(match entry["type"].as_str()? {
        "file" => name.into_owned(),
        "directory" => format!("{name}/"),
        "symlink" => format!("{name}->{}", named(entry["target"].as_str().unwrap_or("?"))),
        kind => format!("{name}({kind})"),
    })
}

/// `4096⇥2026-11-15T10:00:00Z⇥src/`.
fn detailed(entry: &Value) -> Option<String> {
    let word = word_of(entry["name"].as_str()?, entry)?;
    Some(format!("{}\t{}\t{word}", entry["size"].as_u64()?, entry["modified"].as_str()?))
}

/// A recursive listing by directories. A directory with a line of its own is not named in another.
fn tree_text(entries: &[Value]) -> Option<String> {
    let names = entries.iter().map(|entry| entry["name"].as_str());
    let names = names.collect::<Option<Vec<_>>>()?;
    let with_line: BTreeSet<&str> =
        names.iter().filter_map(|name| Some(name.rsplit_once('/')?.0)).collect();
    let words = names.iter().zip(entries).filter_map(|(name, entry)| {
        if entry["type"] == "directory" && with_line.contains(name) {
            return None;
        }
        Some(word_of(name.rsplit('/').next()?, entry).map(|word| (*name, word)))
    });
    Some(by_directory(words.collect::<Option<Vec<_>>>()?))
}

/// Everything that could be on a page, before it is known which page.
struct UnpagedListing {
    paths: Vec<(RelPath, EntryKind)>,
    message: Option<String>,
}

fn list(cx: &ToolContext, args: &ListDirectoryArgs) -> Result<ListDirectoryOutput, ToolError> {
    let start = cx.workspace().resolve(args.path.as_deref().unwrap_or("."))?;
    let hidden = args.include_hidden.unwrap_or(false);
    let listing = if args.recursive.unwrap_or(false) {
        everything_beneath(cx, &start, hidden)?
    } else {
        directly_in(cx, &start, hidden)?
    };
    let total = listing.paths.len();
    let page_size = usize::try_from(cx.limits().list_page).unwrap_or(usize::MAX);
    let page = args.page.map_or(1, |page| page.0);
    let pages = total.div_ceil(page_size).max(1) as u64;
    if page > pages {
        let message =
            format!("page {page} does not exist; {start} has {pages} pages of {page_size}");
        return Err(ToolError::new(ErrorCode::InvalidRange, message).detail("pages", pages));
    }
    let skipped = usize::try_from(page - 1).unwrap_or(usize::MAX).saturating_mul(page_size);
    let shown = listing.paths.iter().skip(skipped).take(page_size);
    let entries: Vec<_> = shown.map(|(path, kind)| described(cx, &start, path, *kind)).collect();
    let next_page = (page < pages).then_some(page + 1);
    let more = next_page.map(|next| {
        format!(
            "Entries {}-{} of {total}; page={next} continues.",
            skipped + 1,
            skipped + entries.len()
        )
    });
    let notes: Vec<String> = more.into_iter().chain(listing.message).collect();
    let message = (!notes.is_empty()).then(|| notes.join(" "));
    let rest = match args.recursive.unwrap_or(false) {
        true => rest_within(&start, listing.paths.iter().skip(skipped + entries.len())),
        false => Vec::new(),
    };
    Ok(ListDirectoryOutput { entries, total, next_page, message, rest })
}

/// Where the entries lie that are not shown, from the directory that is listed.
fn rest_within<'a>(
    start: &RelPath,
    paths: impl Iterator<Item = &'a (RelPath, EntryKind)>,
) -> Vec<RestCount> {
    let names: Vec<String> = paths
        .map(|(path, kind)| match kind {
            // A directory counts among what is in it.
            EntryKind::Directory => name_within(start, path) + "/",
            _ => name_within(start, path),
        })
        .collect();
    rest_of(names.iter().map(|name| (name.as_str(), 1)))
}

/// The path of an entry from the directory that is listed.
fn name_within(start: &RelPath, path: &RelPath) -> String {
    let name = path.to_text();
    let prefix = if start.is_root() { String::new() } else { format!("{start}/") };
    name.strip_prefix(&prefix).unwrap_or(&name).to_owned()
}

fn directly_in(
    cx: &ToolContext,
    start: &RelPath,
    hidden: bool,
) -> Result<UnpagedListing, ToolError> {
    let listing =
        cx.workspace().list_dir(start, hidden).map_err(|error| explained(cx, start, error))?;
    let message = if listing.truncated {
        Some("The directory has more entries than can be listed; use glob.".into())
    } else if listing.entries.is_empty() {
        Some("The directory is empty.".into())
    } else {
        None
    };
    let paths = listing.entries.iter().map(|entry| (listing.path_of(entry), entry.kind)).collect();
    Ok(UnpagedListing { paths, message })
}

fn everything_beneath(
    cx: &ToolContext,
    start: &RelPath,
    hidden: bool,
) -> Result<UnpagedListing, ToolError> {
    let limits = cx.limits();
    let options = WalkOptions {
        start: start.clone(),
        hidden,
        max_depth: usize::try_from(limits.walk_depth).unwrap_or(usize::MAX),
        max_entries: usize::try_from(limits.walk_entries).unwrap_or(usize::MAX),
        deadline: Some(Instant::now() + limits.search_time()),
        ..WalkOptions::default()
    };
    let walk = cx.workspace().walk(&options, &|| cx.is_cancelled(), Collector::default);
    let (report, collectors) = walk.map_err(|error| explained(cx, start, error))?;
    let mut paths: Vec<_> = collectors.into_iter().flat_map(|collector| collector.paths).collect();
    paths.sort_unstable();
    let mut notes = Vec::new();
    if report.timed_out || report.entries_limited {
        notes.push("The listing is incomplete: list a subdirectory.".to_owned());
    }
    if let Some(path) = report.depth_limited {
        notes.push(format!(
            "Not listed, because they are too deep: {path} and others at that depth."
        ));
    }
    if report.ignored > 0 {
        let entries = counted(report.ignored, "ignored entry", "ignored entries");
        notes.push(format!("{entries} left out."));
    }
    let message = (!notes.is_empty()).then(|| notes.join(" "));
    Ok(UnpagedListing { paths, message })
}

#[derive(Default)]
struct Collector {
    paths: Vec<(RelPath, EntryKind)>,
}

impl workspace::Visitor for Collector {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        self.paths.push((entry.path(), entry.kind()));
        Flow::Continue
    }
}

/// The entry as it is at this moment; one that has gone in between is shown with what is known.
fn described(cx: &ToolContext, start: &RelPath, path: &RelPath, kind: EntryKind) -> ListedEntry {
    let meta = cx.workspace().metadata(path).ok();
    let kind = meta.as_ref().map_or(kind, |meta| meta.kind);
    let target =
        (kind == EntryKind::Symlink).then(|| cx.workspace().read_link(path).ok()).flatten();
    ListedEntry {
        name: name_within(start, path),
        r#type: match kind {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Symlink => "symlink",
            EntryKind::Fifo => "fifo",
            EntryKind::Socket => "socket",
            EntryKind::Device => "device",
        },
        size: meta.as_ref().map_or(0, |meta| meta.size),
        modified: meta.map(|meta| iso8601(meta.modified)).unwrap_or_default(),
        target: target.map(|target| bytes_to_text(&target).into_owned()),
    }
}

auto_register_tool!(ListDirectoryTool);
