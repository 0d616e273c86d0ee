//! `find_references`: where a name is used.

use std::collections::BTreeMap;

use code_index::{ReferenceQuery, References, Role, SymbolName, find_references};
use tool_system::plain_text::{
    FoundLine, ResultsShown, in_files, in_path, more_results, standing_notes, text_argument,
    with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Paging, ScopeArgs, counted, exclusions, named_files, walk_warnings,
};

/// Find where a name is used, going by the name alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindReferencesArgs {
    symbol: String,
    path: Option<String>,
    /// And strings
    include_comments: Option<bool>,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FindReferencesOutput {
    files: Vec<InFile>,
    total: u64,
    total_files: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InFile {
    path: String,
    count: u64,
    lines: Vec<InLine>,
    /// "text" if the language has no grammar here.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InLine {
    line: u32,
    text: String,
    /// Absent for plain uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
}

#[derive(Debug)]
struct FindReferencesTool;

#[async_trait]
impl Tool for FindReferencesTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<FindReferencesArgs, FindReferencesOutput>(
            "find_references",
            Category::Intelligence,
        )
        .termination(
            "Use terminate=false if the uses are to be read or changed next. Use terminate=true \
             when presenting them to the user.",
        )
        .prompt(
            "Who calls a function: {\"symbol\": \"handleSubmit\"}. In a part of the project: \
             {\"symbol\": \"parse\", \"path\": \"src/args\"}. The role is definition or import; \
             lines without one use the name.",
        )
        .example(json!({"symbol": "handleSubmit"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: FindReferencesArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(find(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let symbol = text_argument(args, "symbol")?;
        Some(format!("Looked for uses of {symbol}{}", in_path(args)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let symbol = text_argument(args, "symbol")?;
        Some(match result["total"].as_u64()? {
            0 => format!("Found no uses of {symbol}"),
            _ => format!("Found {}", all_of(result)?),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let message = result["message"].as_str()?;
        if result["total"].as_u64()? == 0 {
            return Some(with_notes(message.to_owned(), standing_notes(result)));
        }
        let mut files = Vec::new();
        for file in result["files"].as_array()? {
            let path = file["path"].as_str()?;
            let lines = file["lines"].as_array()?;
            let by_text = if file["by"] == "text" { " (by text)" } else { "" };
            let lines = lines.iter().map(found_line).collect::<Option<_>>()?;
            files.push((format!("{path}{by_text}"), lines));
        }
        let shown: usize = files.iter().map(|(_, lines): &LinesOfFile| lines.len()).sum();
        // The message counts the lines that are not shown, of which some hold several references.
        let is_cut = message.contains(", …and ");
        let part = ResultsShown {
            all: &all_of(result)?,
            shown: shown as u64,
            total: shown as u64,
            continues: false,
            next: is_cut.then(|| match more_results(args, shown as u64, shown as u64 * 2) {
                Some(more) => format!("{more}, or path"),
                None => "path".to_owned(),
            }),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        if message.contains("Other things of that name") {
            notes.push("matched by the last name alone: others of that name are among them".into());
        }
        notes.extend(standing_notes(result));
        Some(with_notes(in_files(files), notes))
    }
}

/// A heading and its lines.
type LinesOfFile = (String, BTreeMap<u64, FoundLine>);

/// `62 references in 32 files`.
fn all_of(result: &Value) -> Option<String> {
    let references = counted(result["total"].as_u64()?, "reference", "references");
    let files = counted(result["total_files"].as_u64()?, "file", "files");
    Some(format!("{references} in {files}"))
}

fn found_line(line: &Value) -> Option<(u64, FoundLine)> {
    let mark = match line["role"].as_str() {
        Some("definition") => " def",
        Some("import") => " import",
        _ => "",
    };
    Some((line["line"].as_u64()?, FoundLine { text: line["text"].as_str()?.to_owned(), mark }))
}

fn find(cx: &ToolContext, args: FindReferencesArgs) -> Result<FindReferencesOutput, ToolError> {
    let limits = cx.limits();
    let name: SymbolName = args.symbol.parse()?;
    let query = ReferenceQuery {
        name: name.name.clone(),
        mentions: args.include_comments.unwrap_or(false),
        max_line_chars: usize::try_from(limits.grep_line_chars).unwrap_or(usize::MAX),
    };
    let scope = ScopeArgs {
        path: args.path,
        include: Vec::new(),
        exclude: exclusions(None),
        extensions: Vec::new(),
        hidden: false,
        max_results: args.max_results,
        default_results: limits.grep_results,
        paging: Paging::None,
    }
    .scope(cx)?;
    let found = find_references(cx.code(), &query, &scope, &|| cx.is_cancelled())
        .map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let mut warnings = walk_warnings(&found.coverage.walk, &scope);
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &found.coverage.too_large));
    let time = "Not parsed to the end, for lack of time";
    warnings.extend(named_files(time, &found.coverage.unfinished));
    Ok(FindReferencesOutput {
        message: message(&name, &found),
        total: found.total,
        total_files: found.files,
        files: by_file(found),
        warnings,
    })
}

fn message(name: &SymbolName, found: &References) -> String {
    if found.total == 0 {
        let files = counted(found.coverage.files_read, "file", "files");
        return format!("No references to `{}`; {files} looked at.", name.name);
    }
    let references = counted(found.total, "reference", "references");
    let files = counted(found.files, "file", "files");
    let mut text = format!("Found {references} to `{}` in {files}.", name.name);
    if !name.within.is_empty() {
        text.push_str(" Other things of that name are among them: uses are matched by name.");
    }
    let shown = found.found.len() as u64;
    if found.lines > shown {
        text.push_str(&format!(
            " Showing the first {shown} lines, …and {} more. Narrow with path, or raise max_results.",
            found.lines - shown
        ));
    }
    text
}

fn by_file(found: References) -> Vec<InFile> {
    let mut files: Vec<InFile> = found
        .counts
        .iter()
        .map(|(path, count)| InFile {
            path: path.to_text(),
            count: *count,
            lines: Vec::new(),
            by: None,
        })
        .collect();
    for one in found.found {
        let place = found.counts.binary_search_by(|(path, _)| path.cmp(&one.path));
        let Some(file) = place.ok().and_then(|index| files.get_mut(index)) else { continue };
        file.by = one.role.is_none().then_some("text");
        let role = one.role.filter(|role| *role != Role::Reference).map(Role::name);
        file.lines.push(InLine { line: one.line, text: one.text, role });
    }
    files
}

auto_register_tool!(FindReferencesTool);
