//! `search`: the best files for some words or identifiers.

use std::collections::BTreeMap;

use code_index::{RankedFile, RankedFiles, RankedQuery, RankingWeights, search_ranked};
use protocol::estimate_tokens;
use tool_system::plain_text::{
    FoundLine, ResultsShown, in_files, in_path, more_results, standing_notes, text_argument,
    with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Paging, ScopeArgs, counted, exclusions, named_files, walk_warnings,
};

/// Lines shown of each file.
const SNIPPET_LINES: usize = 6;
/// Files of which a model sees all of these lines; the answer is mostly among them.
const FULL_FILES: usize = 3;
/// Lines around the best one that a model sees of the other files.
const FEW_LINES: u64 = 3;
/// Lines together that a model sees at most, in tokens. Files beyond that are named only.
const LINES_TOKENS: usize = 1_500;

/// Characters of a query that are repeated where nothing was found.
const QUERY_CHARS: usize = 200;

/// Best files for words or an identifier, with snippets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    query: String,
    path: Option<String>,
    file_type: Option<String>,
    exclude_dirs: Option<Vec<String>>,
    max_results: Option<Whole<1>>,
    /// Set by the face for questions in everyday words.
    #[schemars(skip)]
    natural: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchOutput {
    /// Best first.
    results: Vec<SearchResult>,
    /// Files that fit in any way.
    total: u64,
    /// Whether these are the files that can fit, since not all of them were read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total_is_upper_bound: bool,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SearchResult {
    path: String,
    /// The best line.
    line: u64,
    score: f64,
    /// Lines with their numbers.
    snippet: String,
    /// `6-9: ` and the head of the function or type around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
}

#[derive(Debug)]
struct SearchTool;

#[async_trait]
impl Tool for SearchTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<SearchArgs, SearchOutput>("search", Category::Search)
            .title("Search code")
            .termination(
                "Use terminate=false if the results need further processing, such as reading the \
                 files. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "Where something is, when its name is known in part: {\"query\": \"tool executor\"} \
                 also finds ToolExecutor and tool_executor. In one language and without tests: \
                 {\"query\": \"parse config\", \"file_type\": \"ts,tsx\", \"exclude_dirs\": \
                 [\"tests\"]}. For every place of a text, use grep.",
            )
            .example(json!({"query": "user session"}))
            .face(
                Face::new(Vocabulary::Workspace, "search_code")
                    .describe(
                        "Find the code that answers a question in everyday words, best files \
                         first, with their best lines.",
                    )
                    .rename("file_type", "fileType")
                    .rename("exclude_dirs", "excludeDirs")
                    .rename("max_results", "maxResults")
                    .preset("natural", true)
                    .camel_case_result(),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: SearchArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(search(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let query = text_argument(args, "query")?;
        Some(format!("Searched for {query}{}", in_path(args)))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        Some(match result["total"].as_u64()? {
            0 => "Found nothing like it".into(),
            total => format!("Found {}", all_files(result, total)),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let results = result["results"].as_array()?;
        let total = result["total"].as_u64()?;
        if total == 0 {
            let nothing = result["message"].as_str()?.to_owned();
            return Some(with_notes(nothing, standing_notes(result)));
        }
        let mut files = Vec::new();
        let mut tokens = 0;
        let mut named_only = 0;
        for (place, file) in results.iter().enumerate() {
            let (heading, lines) = file_text(file, place < FULL_FILES)?;
            tokens += lines.values().map(|line| estimate_tokens(&line.text)).sum::<usize>();
            let fits = tokens <= LINES_TOKENS;
            named_only += u64::from(!fits);
            files.push((heading, if fits { lines } else { BTreeMap::new() }));
        }
        let shown = results.len() as u64;
        let part = ResultsShown {
            all: &all_files(result, total),
            shown,
            total,
            continues: false,
            next: more_results(args, shown, total),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        if named_only > 0 {
            notes.push(format!("no lines of the last {}", counted(named_only, "file", "files")));
        }
        notes.extend(standing_notes(result));
        Some(with_notes(in_files(files), notes))
    }
}

/// `62 files`, or `at most 62 files` where not all of them were read.
fn all_files(result: &Value, total: u64) -> String {
    let at_most = if result["total_is_upper_bound"] == true { "at most " } else { "" };
    format!("{at_most}{}", counted(total, "file", "files"))
}

/// What a model sees of a file: `path:7 in 6-9 fn head()`, where 7 is the best line, and lines.
fn file_text(file: &Value, is_full: bool) -> Option<(String, BTreeMap<u64, FoundLine>)> {
    let best = file["line"].as_u64()?;
    let mut lines = BTreeMap::new();
    for line in file["snippet"].as_str()?.lines() {
        let (number, text) = line.split_once(':')?;
        let number: u64 = number.parse().ok()?;
        let text = text.strip_prefix(' ').unwrap_or(text);
        if !text.is_empty() && (is_full || number.abs_diff(best) <= FEW_LINES / 2) {
            lines.insert(number, FoundLine::new(text));
        }
    }
    let mut heading = format!("{}:{best}", file["path"].as_str()?);
    let within = file["within"].as_str().and_then(|within| within.split_once(": "));
    // A definition that is the best line and nothing more is not said twice.
    if let Some((span, head)) = within.filter(|(span, _)| *span != format!("{best}-{best}")) {
        heading.push_str(" in ");
        heading.push_str(span);
        let first = span.split('-').next().and_then(|first| first.parse::<u64>().ok());
        // A head that is among the lines is not said twice.
        if !first.is_some_and(|first| lines.contains_key(&first)) {
            heading.push(' ');
            heading.push_str(head);
        }
    }
    Some((heading, lines))
}

fn search(cx: &ToolContext, args: SearchArgs) -> Result<SearchOutput, ToolError> {
    if !args.query.chars().any(char::is_alphanumeric) {
        let message = format!("the query `{}` has no words", args.query);
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest("Give words or an identifier. For punctuation, use grep."));
    }
    let query = RankedQuery {
        text: args.query,
        natural: args.natural.unwrap_or(false),
        snippet_lines: SNIPPET_LINES,
        max_line_chars: usize::try_from(cx.limits().grep_line_chars).unwrap_or(usize::MAX),
        weights: RankingWeights::default(),
    };
    let scope = ScopeArgs {
        path: args.path,
        include: Vec::new(),
        exclude: exclusions(args.exclude_dirs),
        extensions: args.file_type.into_iter().collect(),
        hidden: false,
        max_results: args.max_results,
        default_results: cx.limits().search_results,
        paging: Paging::None,
    }
    .scope(cx)?;
    let found = search_ranked(cx.code(), &query, &scope, &|| cx.is_cancelled());
    let found =
        found.map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let mut warnings = walk_warnings(&found.walk, &scope);
    if found.words_left_out > 0 {
        let words = counted(found.words_left_out as u64, "word", "words");
        warnings.push(format!("The query is too long: its last {words} did not count."));
    }
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &found.too_large));
    Ok(SearchOutput {
        message: message(&query.text, &found),
        total: found.total,
        total_is_upper_bound: found.total_is_upper_bound,
        warnings,
        results: found.files.into_iter().map(shown).collect(),
    })
}

/// A query as it is repeated in an answer.
fn shortened(query: &str) -> String {
    match query.char_indices().nth(QUERY_CHARS) {
        Some((end, _)) => format!("{}…", &query[..end]),
        None => query.to_owned(),
    }
}

fn message(query: &str, found: &RankedFiles) -> String {
    let shown = found.files.len() as u64;
    match found.total {
        0 => {
            let searched = counted(found.files_searched, "file", "files");
            let query = shortened(query);
            format!("Nothing like `{query}` in {searched}. Try other words for it, or grep.")
        }
        total if total > shown && found.total_is_upper_bound => format!(
            "At most {total} files fit, showing the best {shown}. Refine with a more exact word, or \
             narrow with path, file_type or exclude_dirs."
        ),
        total if total > shown => format!(
            "{total} files fit, showing the best {shown}. Refine with a more exact word, or narrow \
             with path, file_type or exclude_dirs."
        ),
        total => format!("{}.", counted(total, "file fits", "files fit")),
    }
}

fn shown(file: RankedFile) -> SearchResult {
    let numbered = (file.snippet.first..).zip(&file.snippet.lines);
    let lines: Vec<String> = numbered.map(|(number, line)| format!("{number}: {line}")).collect();
    let within = file.snippet.within;
    SearchResult {
        path: file.path.to_text(),
        line: file.snippet.best,
        // Two digits are enough to see which answers stand out.
        score: (f64::from(file.score) * 100.0).round() / 100.0,
        snippet: lines.join("\n"),
        within: within.map(|within| format!("{}-{}: {}", within.first, within.last, within.head)),
    }
}

auto_register_tool!(SearchTool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_files_that_were_not_read_is_said_to_be_one() {
        let mut result = json!({
            "results": [{"path": "a.rs", "line": 1, "score": 1.0, "snippet": "1: fn a() {}"}],
            "total": 1200, "total_is_upper_bound": true, "message": "",
        });
        let args = ToolArguments::new(Default::default());
        let text = SearchTool.text(&args, &result).unwrap();
        assert!(text.ends_with("[1 of at most 1200 files; more: max_results=1200]"), "{text}");
        assert_eq!(SearchTool.summary(&args, &result).unwrap(), "Found at most 1200 files");
        result["total_is_upper_bound"] = false.into();
        assert_eq!(SearchTool.summary(&args, &result).unwrap(), "Found 1200 files");
    }
}
