//! `find_importers`: which files import a module, a package or a symbol.

use std::collections::{BTreeMap, BTreeSet};

use code_index::{ImportKind, Importer, Importers, find_importers};
use tool_system::import_notes::{ImportFiles, did_you_mean, spelled};
use tool_system::plain_text::{
    FoundLine, ResultsShown, in_files, more_results, standing_notes, text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Other modules name the tool by this.
pub const NAME: &str = "find_importers";

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
            NAME,
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

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Looked for importers of {}", text_argument(args, "target")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        Some(match result["total"].as_u64()? {
            0 => "Found no importers".into(),
            _ => format!("Found {}", all_of(result)?),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let importers = result["importers"].as_array()?;
        let total = result["total"].as_u64()?;
        if total == 0 {
            let nothing = result["message"].as_str()?.to_owned();
            return Some(with_notes(nothing, standing_notes(result)));
        }
        let mut files: Vec<(String, BTreeMap<u64, FoundLine>)> = Vec::new();
        for one in importers {
            let path = one["path"].as_str()?;
            if files.last().is_none_or(|(last, _)| last != path) {
                files.push((path.to_owned(), BTreeMap::new()));
            }
            let line = FoundLine::new(one["statement"].as_str()?.to_owned() + &remarks_on(one));
            // Several targets can be imported on one line.
            let lines = &mut files.last_mut()?.1;
            lines
                .entry(one["line"].as_u64()?)
                .and_modify(|first| first.text.push_str(&remarks_on(one)))
                .or_insert(line);
        }
        let shown = importers.len() as u64;
        let part = ResultsShown {
            all: &all_of(result)?,
            shown,
            total,
            continues: false,
            next: more_results(args, shown, total),
        };
        let mut notes: Vec<String> = part.note().into_iter().collect();
        let targets = result["targets"].as_array()?;
        if targets.len() > 1 {
            let targets: Vec<&str> = targets.iter().filter_map(Value::as_str).collect();
            notes.push(format!("several targets, ask for one: {}", targets.join(", ")));
        }
        if importers.iter().any(|one| one["by"] == "text") {
            notes.push("`text`: not resolved, it only looks like an import".into());
        }
        notes.extend(standing_notes(result));
        Some(with_notes(in_files(files), notes))
    }
}

/// `62 imports in 32 files`.
fn all_of(result: &Value) -> Option<String> {
    let imports = counted(result["total"].as_u64()?, "import", "imports");
    Some(format!("{imports} in {}", counted(result["files"].as_u64()?, "file", "files")))
}

/// ` [re-export, via src/index.ts]`, for what the statement itself does not say.
fn remarks_on(one: &Value) -> String {
    let text = |key: &str| one[key].as_str();
    let via = text("via").map(|via| format!("via {via}"));
    let target = text("target").map(|target| format!("of {target}"));
    let known = [text("kind").map(str::to_owned), target, via, text("by").map(str::to_owned)];
    let known: Vec<String> = known.into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" [{}]", known.join(", ")) }
}

fn importers(cx: &ToolContext, args: FindImportersArgs) -> Result<FindImportersOutput, ToolError> {
    let target = spelled(cx, &args.target)?;
    let limits = cx.limits();
    let asked = args.max_results.map(|asked| asked.0);
    let wanted = limits.unpaged_results(asked, limits.importer_results);
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
                format!("Nothing imports `{target}`, and it matches no file of the project.")
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
