//! Plans about the project as a whole.

use serde_json::{Value, json};

use super::{paths, read};
use crate::intent::Fact;
use crate::manifest;
use crate::results::{FileLines, told};
use crate::script::{Script, Stop, Told};
use crate::toolbox::Action;

/// Lines of a README that are shown.
const README_LINES: usize = 12;

pub(super) fn fact(script: &mut Script<'_>, file: Option<&str>, fact: Fact) -> Told {
    if let Some(file) = file {
        let found = read(script, file)?;
        return Ok(match manifest::fact(&found.path, &found.lines().text(), fact) {
            Ok(value) => {
                format!("The project's {} is **{value}**, says {}.", fact.word(), found.path)
            }
            Err(why) => why,
        });
    }
    let names = root_files(script)?;
    let Some(manifest) = manifest::FILES.iter().find(|file| names.iter().any(|name| name == *file))
    else {
        return readme_name(script, &names, fact, "There is no manifest like package.json here.");
    };
    let found = read(script, manifest)?;
    match manifest::fact(&found.path, &found.lines().text(), fact) {
        Ok(value) => Ok(format!("The project's {} is **{value}**, says {manifest}.", fact.word())),
        Err(why) => readme_name(script, &names, fact, &why),
    }
}

/// The heading of a README is a name too, if no manifest has one.
fn readme_name(script: &mut Script<'_>, names: &[String], fact: Fact, why: &str) -> Told {
    let Some(readme) = readme(names).filter(|_| fact == Fact::Name) else {
        return Ok(why.to_owned());
    };
    let found = read(script, readme)?;
    let lines = found.lines().lines;
    let heading = lines.iter().find_map(|line| line.strip_prefix("# "));
    Ok(match heading {
        Some(heading) => format!("{why} Its {readme} is headed **{}**.", heading.trim()),
        None => why.to_owned(),
    })
}

fn readme(names: &[String]) -> Option<&str> {
    let is_readme = |name: &&String| name.to_lowercase().starts_with("readme");
    names.iter().find(is_readme).map(String::as_str)
}

/// The names of the files in the project's root.
fn root_files(script: &mut Script<'_>) -> Result<Vec<String>, Stop> {
    if script.tools.can(Action::List) {
        let found =
            script.ask("Looking at what there is.", Action::List, &[("path", json!("."))])?;
        let entries = found["entries"].as_array().into_iter().flatten();
        let names = entries.filter_map(|entry| entry["name"].as_str());
        return Ok(names.map(str::to_owned).collect());
    }
    let pattern = json!(format!("{},README*", manifest::FILES.join(",")));
    let found =
        script.ask("Looking at what there is.", Action::FindFiles, &[("pattern", pattern)])?;
    Ok(paths(found).filter(|path| !path.contains('/')).map(str::to_owned).collect())
}

pub(super) fn overview(script: &mut Script<'_>) -> Told {
    let listed = match script.tools.can(Action::List) {
        true => script.ask("Looking at what there is.", Action::List, &[("path", json!("."))])?,
        false => script.ask(
            "Looking at what there is.",
            Action::FindFiles,
            &[("pattern", json!("*"))],
        )?,
    };
    let names: Vec<String> = match listed["entries"].as_array() {
        Some(entries) => entries.iter().filter_map(name).collect(),
        None => paths(listed).map(str::to_owned).collect(),
    };
    let holds = told("The project holds:", listed);
    let Some(readme) = readme(&names) else { return Ok(holds) };
    let found = read(script, readme)?;
    let start = beginning(&found.lines());
    Ok(format!("{holds}\n\nIts {readme} begins:\n\n{start}"))
}

fn name(entry: &Value) -> Option<String> {
    entry["name"].as_str().map(str::to_owned)
}

/// The first lines, quoted, without pictures and markup of their own.
fn beginning(file: &FileLines) -> String {
    let lines = file.lines.iter().map(|line| line.trim());
    let lines = lines.filter(|line| !line.starts_with(['<', '!']) && !line.starts_with("[!"));
    let quoted = lines.take(README_LINES).map(|line| format!("> {line}").trim_end().to_owned());
    quoted.collect::<Vec<_>>().join("\n")
}
