//! `find_importers`: who imports a module, a package or a symbol.

use std::collections::BTreeSet;

use code_index::{ImportKind, Importer, Importers, find_importers};
use tool_system::import_notes::{ImportFiles, did_you_mean, spelled};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Find the files that really import a module, package or symbol.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindImportersArgs {
    /// e.g. src/db.ts, lodash, serde::de
    target: String,
    max_results: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FindImportersOutput {
    /// What the target was taken for.
    targets: Vec<String>,
    importers: Vec<FoundImporter>,
    /// Import statements in all.
    total: u64,
    /// Files with one.
    files: u64,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundImporter {
    path: String,
    line: u32,
    statement: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Which target, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The module that re-exports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// `text` if only the words of the line say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
}

#[derive(Debug)]
struct FindImportersTool;

#[async_trait]
impl Tool for FindImportersTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<FindImportersArgs, FindImportersOutput>(
            "find_importers",
            Category::Intelligence,
        )
        .termination(
            "Use terminate=false if the results need further processing, such as reading or \
             changing the importers. Use terminate=true when presenting the results to the user.",
        )
        .prompt(
            "Before changing a module, see who uses it: {\"target\": \"src/services/db.ts\"}. As \
             written in an import: {\"target\": \"../services/db\"}. A package: {\"target\": \
             \"lodash\"}. A symbol: {\"target\": \"DbService\"}. `via` names the module that \
             re-exports what is imported; impact follows importers of importers.",
        )
        .example(json!({"target": "src/main.rs"}))
        .face(
            Face::new(Vocabulary::Explorer, "find_importers")
                .rename("target", "modulePath")
                .hide(&["max_results"]),
        )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: FindImportersArgs = args.parse()?;
        cx.blocking(move |cx| Outcome::answer(importers(cx, args)?)).await
    }
}

fn importers(cx: &ToolContext, args: FindImportersArgs) -> Result<FindImportersOutput, ToolError> {
    let target = spelled(cx, &args.target)?;
    let limits = cx.limits();
    let wanted = limits.results(args.max_results.map(|asked| asked.0), limits.importer_results);
    let project = ImportFiles::new(cx)?;
    let found = find_importers(project.files.clone(), &target);
    let files: BTreeSet<_> = found.importers.iter().map(|one| &one.path).collect();
    let files = files.len() as u64;
    let several = found.targets.len() > 1;
    Ok(FindImportersOutput {
        message: message(&target, &found, files, wanted),
        total: found.importers.len() as u64,
        files,
        importers: found
            .importers
            .iter()
            .take(wanted)
            .map(|one| shown(one, several.then(|| found.targets.get(one.target)).flatten()))
            .collect(),
        targets: found.targets,
        warnings: project.warnings(),
    })
}

fn shown(one: &Importer, target: Option<&String>) -> FoundImporter {
    FoundImporter {
        path: one.path.to_text(),
        line: one.line,
        statement: one.statement.clone(),
        kind: one.kind.filter(|kind| *kind != ImportKind::Import).map(|kind| kind.to_string()),
        target: target.filter(|_| one.kind.is_some()).cloned(),
        via: one.via.as_ref().map(ToString::to_string),
        by: one.kind.is_none().then_some("text"),
    }
}

fn message(target: &str, found: &Importers, files: u64, wanted: usize) -> String {
    let total = found.importers.len();
    if total == 0 {
        let known = match found.targets.is_empty() {
            true => {
                format!("Nothing imports `{target}`, and no file of the project is meant by it.")
            }
            false => format!("Nothing imports {}.", found.targets.join(" or ")),
        };
        let near = did_you_mean(&found.near).map(|near| format!(" {near}"));
        return known + &near.unwrap_or_default();
    }
    let mut message = format!(
        "Found {} in {}.",
        counted(total as u64, "import", "imports"),
        counted(files, "file", "files")
    );
    if found.targets.len() > 1 {
        let targets = found.targets.join("; ");
        message.push_str(&format!(
            " `{target}` can mean several things: {targets}. Ask for one of them by its path."
        ));
    }
    if found.importers.iter().any(|one| one.by_text()) {
        message.push_str(" Those marked `text` are not resolved, they only look like imports.");
    }
    if total > wanted {
        message.push_str(&format!(
            " Showing the first {wanted}, …and {} more: raise max_results, or ask for a symbol or \
             a part of the package.",
            total - wanted
        ));
    }
    message
}

auto_register_tool!(FindImportersTool);
