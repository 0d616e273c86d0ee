//! `glob`: files by name.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use code_index::{FileOrder, FilePosition, FileQuery, FoundFiles, find_files};
use tool_system::plain_text::{
    RestCount, ResultsShown, by_directory, in_path, named, quoted, rest_of, standing_notes,
    text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Cursor, Page, Paging, ScopeArgs, counted, exclusions, patterns, walk_warnings,
};

/// Other modules name the tool by this.
pub const NAME: &str = "glob";

/// Find files by globs: **/*.tsx, or *.js,!*.min.js at any depth. Respects .gitignore.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GlobArgs {
    pattern: String,
    path: Option<String>,
    exclude: Option<Vec<String>>,
    hidden: Option<bool>,
    sort: Option<Sort>,
    max_results: Option<Whole<1>>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    #[default]
    Path,
    Modified,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GlobOutput {
    files: Vec<String>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    message: String,
    /// Where the files lie that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rest: Vec<RestCount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Files beyond a page that are looked at to say where they lie.
const REST_FILES: usize = 5_000;

#[derive(Debug)]
struct GlobTool;

#[async_trait]
impl Tool for GlobTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GlobArgs, GlobOutput>(NAME, Category::Search)
            .title("Find files")
            .termination(
                "Use terminate=false if the results need further processing, such as reading the \
                 files. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "All TypeScript React files: {\"pattern\": \"**/*.tsx\"}. Tests in src: \
                 {\"pattern\": \"src/**/*.test.ts\"}. Without generated code: {\"pattern\": \
                 \"*.go\", \"exclude\": [\"gen\", \"*.pb.go\"]}. What was changed last: \
                 {\"pattern\": \"*\", \"sort\": \"modified\", \"max_results\": 10}.",
            )
            .example(json!({"pattern": "src/**/*.rs"}))
            .face(Face::new(Vocabulary::Explorer, "find_files").hide(&[
                "exclude",
                "hidden",
                "sort",
                "max_results",
                "cursor",
            ]))
            .face(Face::new(Vocabulary::Ally, "glob"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GlobArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(glob(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let pattern = text_argument(args, "pattern")?;
        Some(format!("Looked for files {pattern}{}", in_path(args)))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        Some(match result["total"].as_u64()? {
            0 => "Found no files".into(),
            total => format!("Found {}", counted(total, "file", "files")),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: GlobArgs = args.clone().parse().ok()?;
        let files = result["files"].as_array()?.iter().map(Value::as_str);
        let files = files.collect::<Option<Vec<_>>>()?;
        let total = result["total"].as_u64()?;
        if total == 0 {
            let nothing = result["message"].as_str()?.to_owned();
            return Some(with_notes(nothing, standing_notes(result)));
        }
        let content =
            match args.sort.unwrap_or_default() {
                Sort::Path => by_directory(files.iter().map(|path| {
                    (*path, named(path.rsplit('/').next().unwrap_or(path)).into_owned())
                })),
                // The order is what was asked for.
                Sort::Modified => files.join("\n"),
            };
        let part = ResultsShown {
            all: &counted(total, "file", "files"),
            shown: files.len() as u64,
            total,
            continues: args.cursor.is_some(),
            next: result["next_cursor"].as_str().map(|cursor| format!("cursor={}", quoted(cursor))),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        if let Some(rest) = result.get("rest") {
            notes.extend(RestCount::note(&Vec::deserialize(rest).ok()?));
        }
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

fn glob(cx: &ToolContext, args: GlobArgs) -> Result<GlobOutput, ToolError> {
    let order = match args.sort.unwrap_or_default() {
        Sort::Path => FileOrder::Path,
        Sort::Modified => FileOrder::Modified,
    };
    let after = args.cursor.as_deref().map(|text| place(text, order)).transpose()?;
    let mut scope = ScopeArgs {
        path: args.path,
        include: patterns(&args.pattern),
        exclude: exclusions(args.exclude),
        extensions: Vec::new(),
        hidden: args.hidden.unwrap_or(false),
        max_results: args.max_results,
        default_results: cx.limits().glob_results,
        paging: Paging::Cursor,
    }
    .scope(cx)?;
    let query = FileQuery { order, after };
    let wanted = scope.max_results;
    if order == FileOrder::Path {
        scope.max_results = wanted.saturating_add(REST_FILES);
    }
    let found = find_files(cx.code(), &query, &scope, &|| cx.is_cancelled());
    let mut found =
        found.map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let looked_at = found.earlier + found.files.len() as u64;
    let beyond = found.files.split_off(wanted.min(found.files.len()));
    // Counts of a part would mislead.
    let beyond = if looked_at == found.total { beyond } else { Vec::new() };
    let beyond: Vec<String> = beyond.iter().map(|file| file.path.to_text()).collect();
    let shown = found.files.len() as u64;
    let page = Page { total: found.total, earlier: found.earlier, shown };
    let last = found.files.last().filter(|_| page.later() > 0);
    Ok(GlobOutput {
        message: message(&args.pattern, &page, &found),
        total: found.total,
        next_cursor: last.map(cursor),
        files: found.files.iter().map(|file| file.path.to_text()).collect(),
        rest: rest_of(beyond.iter().map(|path| (path.as_str(), 1))),
        warnings: walk_warnings(&found.walk, &scope),
    })
}

fn message(pattern: &str, page: &Page, found: &FoundFiles) -> String {
    if found.total == 0 {
        // Every regular expression is a glob, but one that matches nothing.
        let hint = if pattern.contains(".*") || pattern.contains("\\.") {
            " It looks like a regular expression; a glob is like `**/*.rs`."
        } else {
            ""
        };
        return format!("No files match `{pattern}` among {}.{hint}", found.walk.files);
    }
    let refine = "Refine the pattern, or narrow with path; cursor continues with the next files.";
    format!("Found {}{}", counted(found.total, "file", "files"), page.sentence(refine))
}

/// The cursor for what follows `last`. Times before 1970 count as 1970 in the order.
fn cursor(last: &FilePosition) -> String {
    let nanoseconds = |Reverse(time): Reverse<SystemTime>| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    Cursor { number: last.modified.map(nanoseconds), path: last.path.clone() }.to_string()
}

/// The place that a cursor of this order means.
fn place(text: &str, order: FileOrder) -> Result<FilePosition, ToolError> {
    let Cursor { number, path } = Cursor::parse(text)?;
    let modified = match (order, number) {
        (FileOrder::Path, None) => None,
        (FileOrder::Modified, Some(number)) => {
            Some(Reverse(SystemTime::UNIX_EPOCH + Duration::from_nanos(number)))
        }
        _ => return Err(Cursor::refused(text)),
    };
    Ok(FilePosition { modified, path })
}

auto_register_tool!(GlobTool);
