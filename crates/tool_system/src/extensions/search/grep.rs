//! `grep`: text by regular expression.

use code_index::{TextMatch, TextMatches, TextQuery, search_text};
use tool_system::prelude::*;
use tool_system::search_notes::{ScopeArgs, counted, exclusions, named_files, walk_warnings};

/// Lines shown before and after a match unless asked for another number.
const DEFAULT_CONTEXT: u64 = 1;
/// The most lines of context around a match.
const MAX_CONTEXT: u64 = 20;

/// Search file contents with a regular expression. Respects .gitignore; skips binary files. First 50 matches by path, and the total.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepArgs {
    /// Rust regex, matched per line
    pattern: String,
    /// Directory or file to search
    path: Option<String>,
    /// Default false
    case_sensitive: Option<bool>,
    /// Extension, e.g. rs
    file_type: Option<String>,
    /// Only files matching this glob
    include: Option<String>,
    /// Names or globs to leave out
    exclude: Option<Vec<String>>,
    /// Context lines, default 1
    context: Option<Whole<0>>,
    /// Also dotfiles
    hidden: Option<bool>,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrepOutput {
    matches: Vec<GrepMatch>,
    /// Matching lines in all.
    total: u64,
    /// Files with matches.
    files: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GrepMatch {
    path: String,
    line: u64,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

#[derive(Debug)]
struct GrepTool;

#[async_trait]
impl Tool for GrepTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GrepArgs, GrepOutput>("grep", Category::Search)
            .termination(
                "Use terminate=false if the results need further processing, such as reading or \
                 changing what was found. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "Where is a function defined: {\"pattern\": \"fn execute_tool\", \"file_type\": \
                 \"rs\"}. All notes to self: {\"pattern\": \"TODO|FIXME\", \"case_sensitive\": true}. \
                 Narrow with path, file_type or include before raising max_results. Escape regex \
                 characters to find them literally: {\"pattern\": \"foo\\\\(bar\\\\)\"}.",
            )
            .example(json!({"pattern": "fn main", "file_type": "rs"}))
            .face(
                Face::new(Vocabulary::Explorer, "search_files")
                    .rename("include", "filePattern")
                    .preset("case_sensitive", true)
                    .hide(&["file_type", "exclude", "context", "hidden", "max_results"]),
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
    let query = TextQuery {
        pattern: args.pattern,
        case_sensitive: args.case_sensitive.unwrap_or(false),
        context: args.context.map_or(DEFAULT_CONTEXT, |context| context.0.min(MAX_CONTEXT))
            as usize,
        max_line_chars: usize::try_from(limits.grep_line_chars).unwrap_or(usize::MAX),
    };
    let scope = ScopeArgs {
        path: args.path,
        include: args.include.into_iter().collect(),
        exclude: exclusions(args.exclude),
        extensions: args.file_type.into_iter().collect(),
        hidden: args.hidden.unwrap_or(false),
        max_results: args.max_results,
        default_results: limits.grep_results,
    }
    .scope(cx)?;
    let found = search_text(cx.workspace(), &query, &scope, &|| cx.is_cancelled())?;
    let found =
        found.map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let mut warnings = walk_warnings(&found.walk, &scope);
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &found.too_large));
    let time = format!("Gave up on files that took over {} ms", scope.file_time.as_millis());
    warnings.extend(named_files(&time, &found.too_slow));
    Ok(GrepOutput {
        message: message(&query.pattern, &found),
        total: found.total,
        files: found.files_with_matches,
        matches: found.matches.into_iter().map(shown).collect(),
        warnings,
    })
}

fn message(pattern: &str, found: &TextMatches) -> String {
    if found.total == 0 {
        let searched = counted(found.files_searched, "file", "files");
        return format!("No matches for `{pattern}` in {searched}.");
    }
    let matches = counted(found.total, "match", "matches");
    let files = counted(found.files_with_matches, "file", "files");
    let shown = found.matches.len() as u64;
    if found.total == shown {
        return format!("Found {matches} in {files}.");
    }
    format!(
        "Found {matches} in {files}, showing the first {shown}, …and {} more. Refine the pattern, \
         or narrow with path, file_type or include.",
        found.total - shown
    )
}

fn shown(found: TextMatch) -> GrepMatch {
    let TextMatch { path, line, text, before, after } = found;
    GrepMatch { path: path.to_text(), line, text, before, after }
}

auto_register_tool!(GrepTool);
