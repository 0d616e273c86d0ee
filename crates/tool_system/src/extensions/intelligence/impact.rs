//! `impact`: what a change of a module can affect.

use code_index::{Impact, ImpactQuery, find_importers, impact};
use tool_system::import_notes::{ImportFiles, did_you_mean, spelled};
use tool_system::plain_text::{
    by_directory, named, note_of, standing_notes, text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Importers of importers of … to this depth unless asked otherwise.
const DEFAULT_DEPTH: u64 = 10;
/// The deepest that can be asked for.
const MAX_DEPTH: u64 = 100;
/// Lines of the tree, or arrows of a graph, for each file that may be shown.
const LINES_PER_FILE: usize = 3;
/// How many affected tests are named.
const MAX_TESTS: usize = 50;

/// What imports a module, directly or not, and the tests among it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImpactArgs {
    /// As for find_importers
    target: String,
    #[schemars(extend("default" = DEFAULT_DEPTH))]
    depth: Option<Whole<1>>,
    format: Option<ImpactFormat>,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ImpactFormat {
    #[default]
    Tree,
    Dot,
    Mermaid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ImpactOutput {
    targets: Vec<String>,
    /// The tree or the graph. A number in brackets counts a file's own importers.
    text: String,
    /// Files affected.
    total: u64,
    /// Files that import a target themselves.
    direct: u64,
    /// Affected tests.
    tests: Vec<String>,
    tests_total: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug)]
struct ImpactTool;

#[async_trait]
impl Tool for ImpactTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ImpactArgs, ImpactOutput>("impact", Category::Intelligence)
            .title("Find what a change affects")
            .termination(
                "Use terminate=false if the affected files or tests are to be read, changed or \
                 run. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "What can break, and which tests to run, when a module changes: {\"target\": \
                 \"src/services/db.ts\"}. Only two levels: {\"target\": \"src/db.ts\", \"depth\": \
                 2}. A picture: {\"target\": \"src/db.ts\", \"format\": \"mermaid\"}. A file that \
                 only re-exports is followed to those who take what comes from the target.",
            )
            .example(json!({"target": "src/main.rs"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ImpactArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(affected(cx, args)?)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Looked at what a change of {} affects", text_argument(args, "target")?))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let target = text_argument(args, "target")?;
        let files = counted(result["total"].as_u64()?, "file", "files");
        let tests = counted(result["tests_total"].as_u64()?, "test", "tests");
        Some(format!("Found {files} that depend on {target}, {tests} among them"))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let message = result["message"].as_str()?;
        if result["total"].as_u64()? == 0 {
            return Some(with_notes(message.to_owned(), standing_notes(result)));
        }
        let mut content = result["text"].as_str()?.trim_end_matches('\n').to_owned();
        let tests = result["tests"].as_array()?.iter().map(Value::as_str);
        let tests = tests.collect::<Option<Vec<_>>>()?;
        if !tests.is_empty() {
            let names = tests
                .iter()
                .map(|path| (*path, named(path.rsplit('/').next().unwrap_or(path)).into_owned()));
            content.push_str(&format!("\ntests:\n{}", by_directory(names)));
        }
        let mut notes = vec![note_of(message)];
        let all = result["tests_total"].as_u64()?;
        if all > tests.len() as u64 {
            notes.push(format!(
                "{} of {all} tests named; ask for a module nearer to it",
                tests.len()
            ));
        }
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

fn affected(cx: &ToolContext, args: ImpactArgs) -> Result<ImpactOutput, ToolError> {
    let target = spelled(cx, &args.target)?;
    let limits = cx.limits();
    let asked = args.max_results.map(|asked| asked.0);
    let max_files = limits.unpaged_results(asked, limits.max_results);
    let depth = args.depth.map_or(DEFAULT_DEPTH, |depth| depth.0.min(MAX_DEPTH));
    let project = ImportFiles::new(cx)?;
    let query = ImpactQuery { target: target.clone(), depth: depth as usize, max_files };
    let found = impact(project.files.clone(), &query);
    if found.targets.is_empty() {
        return Err(unknown(&project, &target));
    }
    let lines = max_files.saturating_mul(LINES_PER_FILE);
    Ok(ImpactOutput {
        message: message(&found, depth, max_files),
        text: match args.format.unwrap_or_default() {
            ImpactFormat::Tree => found.to_tree(lines),
            ImpactFormat::Dot => found.to_dot(lines),
            ImpactFormat::Mermaid => found.to_mermaid(lines),
        },
        total: found.files.len() as u64,
        direct: found.direct as u64,
        tests: found.tests.iter().take(MAX_TESTS).map(ToString::to_string).collect(),
        tests_total: found.tests.len() as u64,
        targets: found.targets.iter().map(ToString::to_string).collect(),
        warnings: project.warnings(),
    })
}

fn message(found: &Impact, depth: u64, max_files: usize) -> String {
    let total = found.files.len() as u64;
    if total == 0 {
        return "Nothing in the project imports it.".into();
    }
    let mut message = format!(
        "{} affected, {} of them directly, {} among them.",
        counted(total, "file is", "files are"),
        found.direct,
        counted(found.tests.len() as u64, "test", "tests")
    );
    if found.is_cut {
        message.push_str(&format!(
            " There is more than {depth} levels or {max_files} files: raise depth or max_results."
        ));
    }
    message
}

/// Nothing in the project is meant; perhaps it is a package from elsewhere.
fn unknown(project: &ImportFiles, target: &str) -> ToolError {
    let found = find_importers(project.files.clone(), target);
    let error = |message| ToolError::new(ErrorCode::FileNotFound, message);
    if !found.importers.is_empty() {
        return error(format!("`{target}` is not a file of the project")).suggest(
            "It is imported, though: find_importers shows by whom. Ask for the impact of one of \
             those files, or of the file that defines it.",
        );
    }
    let near = did_you_mean(&found.near);
    let near = near.unwrap_or_else(|| "Use glob to find the file.".into());
    error(format!("`{target}` matches no file of the project")).suggest(near)
}

auto_register_tool!(ImpactTool);
