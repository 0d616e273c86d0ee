//! `find_definition`: where a name is defined.

use std::collections::BTreeMap;

use code_index::{
    Definition, DefinitionQuery, DefinitionType, Definitions, SymbolName, find_definitions,
};
use tool_system::plain_text::{
    FoundLine, ResultsShown, in_files, in_path, more_results, standing_notes, text_argument,
    with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::{
    Paging, ScopeArgs, counted, exclusions, named_files, walk_warnings,
};

/// Other modules name the tool by this.
pub const NAME: &str = "find_definition";

/// Lines before and after a definition in a result unless asked for another number. Models are shown
/// them only if they ask, so the schema names no default.
const DEFAULT_CONTEXT: u64 = 2;
/// The most lines of context.
const MAX_CONTEXT: u64 = 20;
/// Definitions shown unless asked for another number.
const DEFAULT_RESULTS: u64 = 20;

/// Find where a symbol is defined. Takes Type::method, pkg.Func.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindDefinitionArgs {
    symbol: String,
    r#type: Option<SymbolType>,
    path: Option<String>,
    context: Option<Whole<0>>,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SymbolType {
    Function,
    Class,
    Variable,
    Import,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FindDefinitionOutput {
    definitions: Vec<FoundDefinition>,
    total: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundDefinition {
    path: String,
    line: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    signature: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    /// "text" if the language has no grammar here.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

#[derive(Debug)]
struct FindDefinitionTool;

#[async_trait]
impl Tool for FindDefinitionTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<FindDefinitionArgs, FindDefinitionOutput>(
            NAME,
            Category::Intelligence,
        )
        .termination(
            "Use terminate=false if the definition is to be read or changed next. Use \
             terminate=true when presenting the location to the user.",
        )
        .prompt(
            "Where is a class: {\"symbol\": \"DatabaseService\"}. A method of one type: {\"symbol\": \
             \"Session::new\", \"type\": \"function\"}. In a part of the project: {\"symbol\": \
             \"parse\", \"path\": \"crates/protocol\"}. Definitions come before declarations, fields, \
             locals and import aliases.",
        )
        .example(json!({"symbol": "DatabaseService"}))
        .face(
            Face::new(Vocabulary::Explorer, "find_definition")
                .hide(&["path", "context", "max_results"]),
        )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: FindDefinitionArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(find(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let symbol = text_argument(args, "symbol")?;
        Some(format!("Looked for the definition of {symbol}{}", in_path(args)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let symbol = text_argument(args, "symbol")?;
        Some(match result["definitions"].as_array()?.as_slice() {
            [] => format!("Found no definition of {symbol}"),
            [first, ..] => {
                let (path, line) = (first["path"].as_str()?, first["line"].as_u64()?);
                format!("Found {symbol} in {path}, line {line}")
            }
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let given = args;
        let args: FindDefinitionArgs = given.clone().parse().ok()?;
        let all = result["definitions"].as_array()?;
        let message = result["message"].as_str()?;
        if all.is_empty() {
            return Some(with_notes(message.to_owned(), standing_notes(result)));
        }
        // Imports only lead to a definition; they are of use where there is none to see.
        let defines = |found: &&Value| found["kind"] != "import";
        let mut shown: Vec<&Value> = all.iter().filter(defines).collect();
        if shown.is_empty() {
            shown = all.iter().collect();
        }
        let content = in_files(files_of(&shown, args.context.is_some())?);
        let total = result["total"].as_u64()?;
        let listed = all.len() as u64;
        let part = ResultsShown {
            all: &counted(total, "definition", "definitions"),
            shown: listed,
            total,
            continues: false,
            next: (total > listed).then(|| match more_results(given, listed, total) {
                Some(more) => format!("{more}, type or path"),
                None => "type or path".to_owned(),
            }),
        };
        let mut notes = Vec::new();
        // That the name is another one than was asked for.
        if message.starts_with("No ") {
            notes.push(format!("no `{}`; these have the same last name", args.symbol));
        }
        notes.extend(part.note());
        if shown.iter().any(|found| found["by"] == "text") {
            notes.push("some found by text: their language has no grammar here".into());
        }
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

/// The definitions by their files, the best file first, with the lines around them if wanted.
fn files_of(
    shown: &[&Value],
    with_context: bool,
) -> Option<Vec<(String, BTreeMap<u64, FoundLine>)>> {
    let mut files: Vec<(String, BTreeMap<u64, FoundLine>)> = Vec::new();
    for found in shown {
        let path = found["path"].as_str()?;
        let line = found["line"].as_u64()?;
        let index = files.iter().position(|(known, _)| known == path).unwrap_or(files.len());
        if index == files.len() {
            files.push((path.to_owned(), BTreeMap::new()));
        }
        let lines = &mut files.get_mut(index)?.1;
        let container = found["container"].as_str().map(|name| format!(" [{name}]"));
        let text = found["signature"].as_str()?.to_owned() + &container.unwrap_or_default();
        lines.insert(line, FoundLine::new(text));
        if !with_context {
            continue;
        }
        let around = |key: &str| found[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let before = around("before");
        let first = line.saturating_sub(before.len() as u64);
        let around = (first..).zip(before).chain((line + 1..).zip(around("after")));
        for (line, text) in around {
            let text = text.as_str()?;
            lines.entry(line).or_insert_with(|| FoundLine::context(text));
        }
    }
    Some(files)
}

fn find(cx: &ToolContext, args: FindDefinitionArgs) -> Result<FindDefinitionOutput, ToolError> {
    let limits = cx.limits();
    let query = DefinitionQuery {
        name: args.symbol.parse()?,
        only: args.r#type.map(|only| match only {
            SymbolType::Function => DefinitionType::Function,
            SymbolType::Class => DefinitionType::Class,
            SymbolType::Variable => DefinitionType::Variable,
            SymbolType::Import => DefinitionType::Import,
        }),
        context: args.context.map_or(DEFAULT_CONTEXT, |lines| lines.0.min(MAX_CONTEXT)) as u32,
        max_line_chars: usize::try_from(limits.grep_line_chars).unwrap_or(usize::MAX),
    };
    let scope = ScopeArgs {
        path: args.path,
        include: Vec::new(),
        exclude: exclusions(None),
        extensions: Vec::new(),
        hidden: false,
        max_results: args.max_results,
        default_results: DEFAULT_RESULTS,
        paging: Paging::None,
    }
    .scope(cx)?;
    let found = find_definitions(cx.code(), &query, &scope, &|| cx.is_cancelled())
        .map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let mut warnings = walk_warnings(&found.coverage.walk, &scope);
    let time = "Not parsed to the end, for lack of time";
    warnings.extend(named_files(time, &found.coverage.unfinished));
    if found.not_parsed > 0 {
        let files = counted(found.not_parsed, "file", "files");
        warnings.push(format!(
            "{files} that can at most define a field, local variable or import were not parsed. \
             Use type \"variable\" or \"import\", or path, to look there."
        ));
    }
    Ok(FindDefinitionOutput {
        message: message(&query.name, &found),
        total: found.total,
        definitions: found.found.into_iter().map(shown).collect(),
        warnings,
    })
}

fn message(name: &SymbolName, found: &Definitions) -> String {
    let asked = name.to_text();
    if found.total == 0 {
        let files = counted(found.coverage.files_read, "file", "files");
        let mut text = format!("No definition of `{asked}` found; {files} looked at.");
        let near: Vec<String> = found
            .near
            .iter()
            .map(|near| format!("`{}` ({}:{})", near.name, near.path, near.line))
            .collect();
        if near.is_empty() {
            text.push_str(" It may come from a library; grep finds where it is used.");
        } else {
            text.push_str(&format!(" Did you mean {}?", near.join(", ")));
        }
        return text;
    }
    let definitions = counted(found.total, "definition", "definitions");
    let mut text = match found.as_qualified {
        true => format!("Found {definitions} of `{asked}`."),
        false => format!("No `{asked}`, but {definitions} of `{}`.", name.name),
    };
    let left = found.total - found.found.len() as u64;
    if left > 0 {
        text.push_str(&format!(
            " Showing the best {}, …and {left} more. Narrow with type or path, or qualify the name.",
            found.found.len()
        ));
    }
    text
}

fn shown(found: Definition) -> FoundDefinition {
    FoundDefinition {
        path: found.path.to_text(),
        line: found.line,
        kind: found.kind,
        container: found.container,
        signature: found.signature,
        before: found.before,
        after: found.after,
        by: found.by_text.then_some("text"),
    }
}

auto_register_tool!(FindDefinitionTool);
