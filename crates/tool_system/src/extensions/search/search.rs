//! `search`: the best files for some words or identifiers.

use code_index::{RankedFile, RankedFiles, RankedQuery, search_ranked};
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
            total => format!("Found {}", counted(total, "file", "files")),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let results = result["results"].as_array()?;
        let total = result["total"].as_u64()?;
        if total == 0 {
            let nothing = result["message"].as_str()?.to_owned();
            return Some(with_notes(nothing, standing_notes(result)));
        }
        let files = results.iter().map(|file| {
            // The line after the path is the best one.
            let heading = format!("{}:{}", file["path"].as_str()?, file["line"].as_u64()?);
            let lines = file["snippet"].as_str()?.lines().map(|line| {
                let (number, text) = line.split_once(':')?;
                let text = text.strip_prefix(' ').unwrap_or(text);
                Some((number.parse().ok()?, FoundLine::new(text)))
            });
            let lines = lines.collect::<Option<Vec<(u64, FoundLine)>>>()?;
            Some((heading, lines.into_iter().filter(|(_, line)| !line.text.is_empty()).collect()))
        });
        let shown = results.len() as u64;
        let part = ResultsShown {
            all: &counted(total, "file", "files"),
            shown,
            total,
            continues: false,
            next: more_results(args, shown, total),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        notes.extend(standing_notes(result));
        Some(with_notes(in_files(files.collect::<Option<Vec<_>>>()?), notes))
    }
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
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &found.too_large));
    Ok(SearchOutput {
        message: message(&query.text, &found),
        total: found.total,
        warnings,
        results: found.files.into_iter().map(shown).collect(),
    })
}

fn message(query: &str, found: &RankedFiles) -> String {
    let shown = found.files.len() as u64;
    match found.total {
        0 => {
            let searched = counted(found.files_searched, "file", "files");
            format!("Nothing like `{query}` in {searched}. Try other words for it, or grep.")
        }
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
    SearchResult {
        path: file.path.to_text(),
        line: file.snippet.best,
        // Two digits are enough to see which answers stand out.
        score: (f64::from(file.score) * 100.0).round() / 100.0,
        snippet: lines.join("\n"),
    }
}

auto_register_tool!(SearchTool);
