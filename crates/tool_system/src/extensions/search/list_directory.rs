//! `list_directory`: what is in a directory.

use std::time::Instant;

use tool_system::file_view::explained;
use tool_system::prelude::*;
use tool_system::search_notes::counted;
use tool_system::timestamp::iso8601;
use workspace::{Entry, EntryKind, Flow, RelPath, WalkOptions, bytes_to_text};

/// List a directory with sizes and times, 100 entries a page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirectoryArgs {
    path: Option<String>,
    recursive: Option<bool>,
    include_hidden: Option<bool>,
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
        ToolDefinition::new::<ListDirectoryArgs, ListDirectoryOutput>(
            "list_directory",
            Category::Search,
        )
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
            Face::new(Vocabulary::Explorer, "list_files").require("path").hide(&["include_hidden"]),
        )
        .face(
            Face::new(Vocabulary::Workspace, "list_directory")
                .rename("include_hidden", "includeHidden")
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
}

/// Everything that could be on a page, before it is known which page.
struct Listing {
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
    Ok(ListDirectoryOutput { entries, total, next_page, message })
}

fn directly_in(cx: &ToolContext, start: &RelPath, hidden: bool) -> Result<Listing, ToolError> {
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
    Ok(Listing { paths, message })
}

fn everything_beneath(
    cx: &ToolContext,
    start: &RelPath,
    hidden: bool,
) -> Result<Listing, ToolError> {
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
        notes.push(format!("Not entered for their depth: {path} and what lies as deep."));
    }
    if report.ignored > 0 {
        let entries = counted(report.ignored, "ignored entry", "ignored entries");
        notes.push(format!("{entries} left out."));
    }
    let message = (!notes.is_empty()).then(|| notes.join(" "));
    Ok(Listing { paths, message })
}

#[derive(Default)]
struct Collector {
    paths: Vec<(RelPath, EntryKind)>,
}

impl workspace::Visitor for Collector {
    fn visit(&mut self, entry: &Entry<'_>) -> Flow {
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
    let name = path.to_text();
    let prefix = if start.is_root() { String::new() } else { format!("{start}/") };
    ListedEntry {
        name: name.strip_prefix(&prefix).unwrap_or(&name).to_owned(),
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
