//! `outline`: the symbols of a file or a directory.

use code_index::{FileOutline, OutlineEntry, SearchScope, files_to_outline, outline_file};
use protocol::estimate_tokens;
use tool_system::plain_text::{folded, in_path, note_of, standing_notes, with_notes};
use tool_system::prelude::*;
use tool_system::search_notes::{Paging, ScopeArgs, counted, exclusions, walk_warnings};
use workspace::{EntryKind, Error, RelPath};

/// Other modules name the tool by this.
pub const NAME: &str = "outline";

/// Tokens that an outline takes unless asked for another number.
const DEFAULT_TOKENS: u64 = 2_000;
/// The most tokens of an outline.
const MAX_TOKENS: u64 = 50_000;
/// The depth from which on fields have lines of their own and parameters their types.
const DETAILED_DEPTH: u64 = 3;
/// Tokens that a file takes at least in the outline of a directory: its name and two lines.
const TOKENS_PER_FILE: usize = 30;

/// Show the symbols of a file or directory with line numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutlineArgs {
    path: Option<String>,
    #[schemars(extend("default" = DEFAULT_TOKENS))]
    max_tokens: Option<Whole<1>>,
    /// 3: with fields
    depth: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OutlineOutput {
    path: String,
    outline: String,
    /// Lines of the outline.
    shown: u64,
    /// Lines that it would have without a budget.
    total: u64,
    /// What a file was read by: symbols, headings, keys or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug)]
struct OutlineTool;

#[async_trait]
impl Tool for OutlineTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<OutlineArgs, OutlineOutput>(NAME, Category::Intelligence)
            .title("Outline symbols")
            .termination(
                "Use terminate=false if parts of what is shown are to be read next. Use \
                 terminate=true when presenting the structure to the user.",
            )
            .prompt(
                "A file before reading it: {\"path\": \"src/main.rs\"}. An overview of a directory: \
                 {\"path\": \"src\", \"depth\": 1, \"max_tokens\": 4000}. The numbers are lines, for \
                 read_file.",
            )
            .example(json!({"path": "src/main.rs"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: OutlineArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(outline(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(match in_path(args).strip_prefix(" in ") {
            Some(path) => format!("Outlined {path}"),
            None => "Outlined the project".into(),
        })
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let path = result["path"].as_str().filter(|path| *path != ".").unwrap_or("the project");
        let symbols = counted(result["total"].as_u64()?, "line", "lines");
        Some(format!("Outlined {path}, {symbols}"))
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: OutlineArgs = args.clone().parse().ok()?;
        let outline = result["outline"].as_str()?;
        let message = result["message"].as_str()?;
        if outline.is_empty() {
            return Some(with_notes(message.to_owned(), standing_notes(result)));
        }
        let is_detailed = args.depth.is_some_and(|depth| depth.0 >= DETAILED_DEPTH);
        let folds = result["by"] == "symbols" && !is_detailed;
        let mut notes = Vec::new();
        // The message of a whole outline only counts its lines.
        let tells = ["more\n", "more files\n"].iter().any(|end| outline.ends_with(end));
        if tells || result["by"] == "text" {
            notes.push(note_of(message));
        }
        notes.extend(standing_notes(result));
        Some(with_notes(folded(outline, folds, result["by"].is_null()), notes))
    }
}

fn outline(cx: &ToolContext, args: OutlineArgs) -> Result<OutlineOutput, ToolError> {
    let scope = ScopeArgs {
        path: args.path,
        include: Vec::new(),
        exclude: exclusions(None),
        extensions: Vec::new(),
        hidden: false,
        max_results: None,
        default_results: cx.limits().max_results,
        paging: Paging::None,
    }
    .scope(cx)?;
    let asked = args.max_tokens.map_or(DEFAULT_TOKENS, |tokens| tokens.0.min(MAX_TOKENS));
    let budget = usize::try_from(asked).unwrap_or(usize::MAX);
    let depth = args.depth.map_or(usize::MAX, Whole::as_usize);
    match cx.workspace().open_file(&scope.start) {
        Ok(file) => {
            let Some(mut outline) = outline_file(cx.code(), &file, &scope) else {
                return Err(no_outline(&scope, file.meta.size));
            };
            outline.entries.retain(|entry| entry.depth < depth);
            Ok(of_file(&scope.start, outline, budget))
        }
        Err(Error::NotAFile { kind: EntryKind::Directory, .. }) => {
            of_directory(cx, &scope, budget, depth)
        }
        Err(error) => Err(tool_system::file_view::explained(cx, &scope.start, error)),
    }
}

fn no_outline(scope: &SearchScope, size: u64) -> ToolError {
    let path = &scope.start;
    if size > scope.max_file_bytes {
        let message =
            format!("{path} has {size} bytes; at most {} are outlined", scope.max_file_bytes);
        return ToolError::new(ErrorCode::FileTooLarge, message)
            .suggest("Use grep, or read_file with a range of lines.");
    }
    ToolError::new(ErrorCode::InvalidArguments, format!("{path} is not text"))
        .suggest("read_file says what kind of file it is.")
}

fn line_of(entry: &OutlineEntry) -> String {
    let indent = "  ".repeat(entry.depth.min(20));
    match entry.line {
        0 => format!("{indent}{}\n", entry.text),
        line => format!("{indent}{line}: {}\n", entry.text),
    }
}

/// Which entries fit: the outer and more important ones first, then in the order of the file.
fn choose(entries: &[OutlineEntry], budget: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&index| (entries[index].depth, entries[index].weight, index));
    let mut chosen = vec![false; entries.len()];
    let mut used = 0;
    for index in order {
        used += estimate_tokens(&line_of(&entries[index]));
        if used > budget {
            break;
        }
        chosen[index] = true;
    }
    chosen
}

fn of_file(path: &RelPath, outline: FileOutline, budget: usize) -> OutlineOutput {
    let chosen = choose(&outline.entries, budget);
    let shown = chosen.iter().filter(|chosen| **chosen).count();
    let lines = outline.entries.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
    let mut text: String = lines.map(|(entry, _)| line_of(entry)).collect();
    let left = outline.entries.len() - shown;
    if left > 0 {
        text.push_str(&format!("…{left} more\n"));
    }
    let mut message = counted(outline.entries.len() as u64, "line", "lines");
    message = match outline.by {
        "symbols" => format!("{message} of structure."),
        by => format!("{message}; there is no grammar for this file, shown by {by}."),
    };
    if left > 0 {
        message.push_str(" Raise max_tokens, or lower depth, to see the rest.");
    }
    let warnings = match outline.complete {
        true => Vec::new(),
        false => vec!["Time ran out while parsing; the end is missing.".to_owned()],
    };
    OutlineOutput {
        path: path.to_text(),
        outline: text,
        shown: shown as u64,
        total: outline.entries.len() as u64,
        by: Some(outline.by),
        message,
        warnings,
    }
}

/// A file in the outline of a directory.
struct Sketch {
    path: RelPath,
    /// The outermost symbols, the most important first.
    entries: Vec<OutlineEntry>,
    shown: usize,
}

fn of_directory(
    cx: &ToolContext,
    scope: &SearchScope,
    budget: usize,
    depth: usize,
) -> Result<OutlineOutput, ToolError> {
    let found = files_to_outline(cx.code(), scope, &|| cx.is_cancelled())
        .map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let room = (budget / TOKENS_PER_FILE).max(1);
    let mut sketches = Vec::new();
    for path in found.files.iter().take(room) {
        if std::time::Instant::now() >= scope.deadline || cx.is_cancelled() {
            break;
        }
        // A file that has gone or cannot be read has no outline.
        let Ok(file) = cx.workspace().open_file(path) else { continue };
        let Some(outline) = outline_file(cx.code(), &file, scope) else { continue };
        let mut entries = outline.entries;
        entries.retain(|entry| entry.line > 0 && entry.depth < depth.min(1));
        entries.sort_by_key(|entry| (entry.weight, entry.line));
        sketches.push(Sketch { path: path.clone(), entries, shown: 0 });
    }
    share(&mut sketches, budget);
    sketches.sort_by(|a, b| a.path.cmp(&b.path));
    let mut text: String = sketches.iter().map(drawn).collect();
    let left = found.files.len() - sketches.len();
    if left > 0 {
        text.push_str(&format!("…{left} more files\n"));
    }
    let files = counted(found.files.len() as u64, "file", "files");
    let message = match (found.files.len(), left) {
        (0, _) => format!("No code in {}; list_directory shows what is there.", scope.start),
        (_, 0) => format!("{files} of code."),
        _ => format!(
            "{files} of code, the nearest {} shown. Outline a subdirectory, or raise max_tokens.",
            sketches.len()
        ),
    };
    Ok(OutlineOutput {
        path: scope.start.to_text(),
        outline: text,
        shown: sketches.iter().map(|sketch| sketch.shown as u64).sum(),
        total: sketches.iter().map(|sketch| sketch.entries.len() as u64).sum(),
        by: None,
        message,
        warnings: walk_warnings(&found.walk, scope),
    })
}

/// Gives each file its next line in turn until the budget is used.
fn share(sketches: &mut [Sketch], budget: usize) {
    let names = sketches.iter().map(|sketch| estimate_tokens(&sketch.path.to_text()) + 4);
    let mut used: usize = names.sum();
    for round in 0.. {
        let mut more = false;
        for sketch in sketches.iter_mut() {
            let Some(entry) = sketch.entries.get(round) else { continue };
            used += estimate_tokens(&line_of(entry)) + 1;
            if used > budget {
                return;
            }
            sketch.shown = round + 1;
            more = true;
        }
        if !more {
            return;
        }
    }
}

fn drawn(sketch: &Sketch) -> String {
    let mut text = format!("{}\n", sketch.path);
    let mut shown: Vec<&OutlineEntry> = sketch.entries.iter().take(sketch.shown).collect();
    shown.sort_by_key(|entry| entry.line);
    for entry in shown {
        text.push_str("  ");
        text.push_str(&line_of(entry));
    }
    let left = sketch.entries.len() - sketch.shown;
    if left > 0 {
        text.push_str(&format!("  …{left} more\n"));
    }
    text
}

auto_register_tool!(OutlineTool);
