//! `grep`: text by regular expression.

use code_index::{
    FileMatches, SearchScope, Show, TextMatch, TextMatches, TextPosition, TextQuery, search_text,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Cursor, Page, ScopeArgs, counted, exclusions, named_files, patterns, walk_warnings,
};

/// Lines shown before and after a match unless asked for another number.
const DEFAULT_CONTEXT: u64 = 1;
/// The most lines of context around a match.
const MAX_CONTEXT: u64 = 20;

/// Search file contents by regex (Rust syntax). Respects .gitignore.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepArgs {
    pattern: String,
    path: Option<String>,
    #[schemars(extend("default" = false))]
    case_sensitive: Option<bool>,
    /// rs or ts,tsx
    file_type: Option<String>,
    include: Option<String>,
    exclude: Option<Vec<String>>,
    #[schemars(extend("default" = DEFAULT_CONTEXT))]
    context: Option<Whole<0>>,
    mode: Option<GrepMode>,
    multiline: Option<bool>,
    hidden: Option<bool>,
    max_results: Option<Whole<1>>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    #[default]
    Lines,
    Files,
    Count,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrepOutput {
    matches: Vec<GrepMatch>,
    /// Matching lines in all.
    total: u64,
    /// Files with matches.
    files: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A matching line, or in the other modes a file.
#[derive(Debug, Serialize, JsonSchema)]
struct GrepMatch {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

#[derive(Debug)]
struct GrepTool;

#[async_trait]
impl Tool for GrepTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GrepArgs, GrepOutput>("grep", Category::Search)
            .title("Search text")
            .termination(
                "Use terminate=false if the results need further processing, such as reading or \
                 changing what was found. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "Where is a function defined: {\"pattern\": \"fn execute_tool\", \"file_type\": \
                 \"rs\"}. All notes to self: {\"pattern\": \"TODO|FIXME\", \"case_sensitive\": true}. \
                 Which files, or how often in each: {\"pattern\": \"unsafe\", \"mode\": \"count\"}. \
                 Over several lines: {\"pattern\": \"struct \\\\w+ \\\\{\\\\s*id\", \"multiline\": \
                 true}. Narrow with path, file_type or include before raising max_results; cursor \
                 continues where an answer ended. Escape regex characters to find them literally: \
                 {\"pattern\": \"foo\\\\(bar\\\\)\"}.",
            )
            .example(json!({"pattern": "fn main", "file_type": "rs"}))
            .face(
                Face::new(Vocabulary::Explorer, "search_files")
                    .rename("include", "filePattern")
                    .preset("case_sensitive", true)
                    .hide(&["file_type", "exclude", "context", "mode", "multiline", "hidden"])
                    .hide(&["max_results", "cursor"]),
            )
            .face(Face::new(Vocabulary::Ally, "grep"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GrepArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(grep(cx, args)?)).await
    }
}

fn grep(cx: &ToolContext, args: GrepArgs) -> Result<GrepOutput, ToolError> {
    let limits = cx.limits();
    let mode = args.mode.unwrap_or_default();
    let cursor = args.cursor.as_deref().map(Cursor::parse).transpose()?;
    let query = TextQuery {
        pattern: args.pattern,
        case_sensitive: args.case_sensitive.unwrap_or(false),
        multiline: args.multiline.unwrap_or(false),
        show: if mode == GrepMode::Lines { Show::Lines } else { Show::Files },
        context: args.context.map_or(DEFAULT_CONTEXT, |context| context.0.min(MAX_CONTEXT))
            as usize,
        max_line_chars: usize::try_from(limits.grep_line_chars).unwrap_or(usize::MAX),
        after: cursor
            .map(|Cursor { number, path }| TextPosition { path, line: number.unwrap_or(0) }),
    };
    let scope = ScopeArgs {
        path: args.path,
        include: args.include.as_deref().map(patterns).unwrap_or_default(),
        exclude: exclusions(args.exclude),
        extensions: args.file_type.into_iter().collect(),
        hidden: args.hidden.unwrap_or(false),
        max_results: args.max_results,
        default_results: limits.grep_results,
    }
    .scope(cx)?;
    let found = search_text(cx.code(), &query, &scope, &|| cx.is_cancelled())?;
    let found =
        found.map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let page = page(mode, &found);
    Ok(GrepOutput {
        message: message(&query.pattern, mode, &page, &found) + &nothing_wanted(cx, &scope, &found),
        total: found.total,
        files: found.files_with_matches,
        next_cursor: (page.later() > 0).then(|| next_cursor(&found)).flatten(),
        warnings: warnings(&found, &scope, query.max_line_chars),
        matches: match mode {
            GrepMode::Lines => found.matches.into_iter().map(shown).collect(),
            GrepMode::Files | GrepMode::Count => {
                found.files.into_iter().map(|file| shown_file(file, mode)).collect()
            }
        },
    })
}

/// Which part of the matches, or of the files, is shown.
fn page(mode: GrepMode, found: &TextMatches) -> Page {
    let earlier = found.earlier;
    match mode {
        GrepMode::Lines => Page { total: found.total, earlier, shown: found.matches.len() as u64 },
        GrepMode::Files | GrepMode::Count => {
            Page { total: found.files_with_matches, earlier, shown: found.files.len() as u64 }
        }
    }
}

fn next_cursor(found: &TextMatches) -> Option<String> {
    let line = found.matches.last().map(|last| (Some(last.line), &last.path));
    let (number, path) = line.or_else(|| found.files.last().map(|last| (None, &last.path)))?;
    Some(Cursor { number, path: path.clone() }.to_string())
}

fn message(pattern: &str, mode: GrepMode, page: &Page, found: &TextMatches) -> String {
    if found.total == 0 {
        let files = counted(found.walk.files.max(found.files_searched), "file", "files");
        return format!("No matches for `{pattern}` among {files}.");
    }
    let matches = counted(found.total, "match", "matches");
    let files = counted(found.files_with_matches, "file", "files");
    let what = if mode == GrepMode::Lines { "" } else { " files" };
    let refine = format!(
        "Refine the pattern, or narrow with path, file_type or include; cursor continues with the \
         next{what}."
    );
    format!("Found {matches} in {files}{}", page.sentence(&refine))
}

/// A hint if nothing was found because no file was even wanted.
fn nothing_wanted(cx: &ToolContext, scope: &SearchScope, found: &TextMatches) -> String {
    if found.files_searched > 0 || found.walk.files == 0 {
        return String::new();
    }
    // An index may have left out files that were wanted and cannot match.
    match cx.code().has_files(scope, &|| cx.is_cancelled()) {
        Ok(false) => " None of them is wanted: see path, file_type, include and exclude.".into(),
        _ => String::new(),
    }
}

/// What was left out, and why.
fn warnings(found: &TextMatches, scope: &SearchScope, line_chars: usize) -> Vec<String> {
    let mut warnings = walk_warnings(&found.walk, scope);
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &found.too_large));
    let time = format!("Gave up on files that took over {} ms", scope.file_time.as_millis());
    warnings.extend(named_files(&time, &found.too_slow));
    let cut = found.matches.iter().filter(|shown| shown.is_cut).count() as u64;
    if cut > 0 {
        warnings.push(format!(
            "{} cut to about {line_chars} characters around the match, marked by `…`; read_file \
             shows them whole.",
            counted(cut, "long line is", "long lines are")
        ));
    }
    warnings
}

fn shown(found: TextMatch) -> GrepMatch {
    let TextMatch { path, line, text, before, after, .. } = found;
    GrepMatch {
        path: path.to_text(),
        line: Some(line),
        text: Some(text),
        before,
        after,
        count: None,
    }
}

fn shown_file(file: FileMatches, mode: GrepMode) -> GrepMatch {
    GrepMatch {
        path: file.path.to_text(),
        line: None,
        text: None,
        before: Vec::new(),
        after: Vec::new(),
        count: (mode == GrepMode::Count).then_some(file.count),
    }
}

auto_register_tool!(GrepTool);
