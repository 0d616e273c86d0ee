//! `grep`: text by regular expression.

use std::collections::BTreeMap;

use code_index::{
    FileMatches, SearchScope, Show, TextMatch, TextMatches, TextPosition, TextQuery, search_text,
};
use tool_system::plain_text::{
    FoundLine, ResultsShown, by_directory, in_files, in_path, named, quoted, standing_notes,
    text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Cursor, Page, Paging, ScopeArgs, counted, exclusions, named_files, patterns, walk_warnings,
};

/// Other modules name the tool by this.
pub const NAME: &str = "grep";

/// Lines shown before and after a match unless asked for another number.
const DEFAULT_CONTEXT: u64 = 0;
/// The same in the vocabularies of other agents.
const OTHER_CONTEXT: u64 = 1;
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
        ToolDefinition::new::<GrepArgs, GrepOutput>(NAME, Category::Search)
            .title("Search text")
            .termination(
                "Use terminate=false if the results need further processing, such as reading or \
                 changing what was found. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "Where is a function defined: {\"pattern\": \"fn execute_tool\", \"file_type\": \
                 \"rs\"}. All TODO comments: {\"pattern\": \"TODO|FIXME\", \"case_sensitive\": true}. \
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
                    .hide(&["max_results", "cursor"])
                    .default("context", OTHER_CONTEXT),
            )
            .face(Face::new(Vocabulary::Ally, "grep").default("context", OTHER_CONTEXT))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GrepArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(grep(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let pattern = text_argument(args, "pattern")?;
        Some(format!("Searched for {pattern}{}", in_path(args)))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        Some(match result["total"].as_u64()? {
            0 => "Found no matches".into(),
            _ => format!("Found {}", all_of(result)?),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: GrepArgs = args.clone().parse().ok()?;
        let mode = args.mode.unwrap_or_default();
        let matches = result["matches"].as_array()?;
        if result["total"].as_u64()? == 0 {
            let narrowed = args.path.is_some()
                || args.file_type.is_some()
                || args.include.is_some()
                || args.exclude.is_some();
            let nothing = nothing_found(result["message"].as_str()?, narrowed);
            return Some(with_notes(nothing, standing_notes(result)));
        }
        let content = match mode {
            GrepMode::Lines => lines_text(matches)?,
            GrepMode::Files | GrepMode::Count => files_text(matches)?,
        };
        let next = result["next_cursor"].as_str();
        // The first number is what the note counts: it stands behind "10 of".
        let (all, total) = match mode {
            GrepMode::Lines => (all_of(result)?, result["total"].as_u64()?),
            GrepMode::Files | GrepMode::Count => (all_files_of(result)?, result["files"].as_u64()?),
        };
        let part = ResultsShown {
            all: &all,
            shown: matches.len() as u64,
            total,
            continues: args.cursor.is_some(),
            next: next.map(|cursor| format!("cursor={}", quoted(cursor))),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

/// `62 matches in 32 files`.
fn all_of(result: &Value) -> Option<String> {
    let matches = counted(result["total"].as_u64()?, "match", "matches");
    Some(format!("{matches} in {}", counted(result["files"].as_u64()?, "file", "files")))
}

/// `32 files with 62 matches`, where files are shown.
fn all_files_of(result: &Value) -> Option<String> {
    let files = counted(result["files"].as_u64()?, "file", "files");
    Some(format!("{files} with {}", counted(result["total"].as_u64()?, "match", "matches")))
}

/// That nothing was found; among how many files, where a filter may be to blame.
fn nothing_found(message: &str, narrowed: bool) -> String {
    match message.rfind(" among ").filter(|_| narrowed) {
        Some(at) => format!("No matches{}", message[at..].trim_end_matches('.')),
        None => "No matches".into(),
    }
}

/// The path once, then its lines; context is marked, and a line that is both is a match.
fn lines_text(matches: &[Value]) -> Option<String> {
    let mut files: Vec<(String, BTreeMap<u64, FoundLine>)> = Vec::new();
    for found in matches {
        let path = found["path"].as_str()?;
        let first = found["line"].as_u64()?;
        if files.last().is_none_or(|(last, _)| last != path) {
            files.push((path.to_owned(), BTreeMap::new()));
        }
        let (_, lines) = files.last_mut()?;
        let texts = |key: &str| -> Vec<&str> {
            found[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let before = texts("before");
        for (line, text) in (first - (before.len() as u64).min(first)..).zip(before) {
            lines.entry(line).or_insert_with(|| FoundLine::context(text));
        }
        let text = found["text"].as_str()?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut line = first;
        for text in text.split('\n') {
            lines.insert(line, FoundLine::new(text));
            line += 1;
        }
        for (line, text) in (line..).zip(texts("after")) {
            lines.entry(line).or_insert_with(|| FoundLine::context(text));
        }
    }
    Some(in_files(files))
}

/// The files by their directories, with their counts if there are any.
fn files_text(matches: &[Value]) -> Option<String> {
    let word = |found: &Value| {
        let path = found["path"].as_str()?;
        let name = named(path.rsplit('/').next().unwrap_or(path)).into_owned();
        let count = found["count"].as_u64().map(|count| format!(":{count}"));
        Some(name + &count.unwrap_or_default())
    };
    let paths = matches.iter().map(|found| Some((found["path"].as_str()?, word(found)?)));
    Some(by_directory(paths.collect::<Option<Vec<_>>>()?))
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
        paging: Paging::Cursor,
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
    let (all, what) = match mode {
        GrepMode::Lines => (format!("{matches} in {files}"), ""),
        GrepMode::Files | GrepMode::Count => (format!("{files} with {matches}"), " files"),
    };
    let refine = format!(
        "Refine the pattern, or narrow with path, file_type or include; cursor continues with the \
         next{what}."
    );
    format!("Found {all}{}", page.sentence(&refine))
}

/// A hint if nothing was found because no file was even wanted.
fn nothing_wanted(cx: &ToolContext, scope: &SearchScope, found: &TextMatches) -> String {
    if found.files_searched > 0 || found.walk.files == 0 {
        return String::new();
    }
    // An index may have left out files that were wanted and cannot match.
    match cx.code().has_files(scope, &|| cx.is_cancelled()) {
        Ok(false) => " All of them are excluded: see path, file_type, include and exclude.".into(),
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
