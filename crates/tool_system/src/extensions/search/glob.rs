//! `glob`: files by name.

use code_index::find_files;
use tool_system::prelude::*;
use tool_system::search_notes::{ScopeArgs, counted, exclusions, walk_warnings};
use workspace::RelPath;

/// Find files by glob, such as **/*.tsx; a pattern without / matches names at any depth, !pattern excludes. Respects .gitignore. First 100 by path, and the total.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GlobArgs {
    pattern: String,
    /// Directory to search
    path: Option<String>,
    /// Names or globs to leave out
    exclude: Option<Vec<String>>,
    /// Also dotfiles
    hidden: Option<bool>,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GlobOutput {
    files: Vec<String>,
    total: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug)]
struct GlobTool;

#[async_trait]
impl Tool for GlobTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GlobArgs, GlobOutput>("glob", Category::Search)
            .termination(
                "Use terminate=false if the results need further processing, such as reading the \
                 files. Use terminate=true when presenting the results to the user.",
            )
            .prompt(
                "All TypeScript React files: {\"pattern\": \"**/*.tsx\"}. Tests in src: \
                 {\"pattern\": \"src/**/*.test.ts\"}. Without generated code: {\"pattern\": \
                 \"*.go\", \"exclude\": [\"gen\", \"*.pb.go\"]}.",
            )
            .example(json!({"pattern": "src/**/*.rs"}))
            .face(Face::new(Vocabulary::Explorer, "find_files").hide(&[
                "exclude",
                "hidden",
                "max_results",
            ]))
            .face(Face::new(Vocabulary::Ally, "glob"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GlobArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(glob(cx, args)?)).await
    }
}

fn glob(cx: &ToolContext, args: GlobArgs) -> Result<GlobOutput, ToolError> {
    let scope = ScopeArgs {
        path: args.path,
        include: vec![args.pattern.clone()],
        exclude: exclusions(args.exclude),
        extensions: Vec::new(),
        hidden: args.hidden.unwrap_or(false),
        max_results: args.max_results,
        default_results: cx.limits().glob_results,
    }
    .scope(cx)?;
    let found = find_files(cx.workspace(), &scope, &|| cx.is_cancelled());
    let found =
        found.map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    let shown = found.files.len() as u64;
    let pattern = args.pattern;
    Ok(GlobOutput {
        message: match found.total {
            0 => format!("No files match `{pattern}` among {}.", found.walk.files),
            total if total > shown => format!(
                "Found {total} files, showing the first {shown}, …and {} more. Refine the \
                 pattern, or narrow with path.",
                total - shown
            ),
            total => format!("Found {}.", counted(total, "file", "files")),
        },
        total: found.total,
        files: found.files.iter().map(RelPath::to_text).collect(),
        warnings: walk_warnings(&found.walk, &scope),
    })
}

auto_register_tool!(GlobTool);
