//! Plans about the project as a whole.

use serde_json::{Value, json};

use super::{is_readme, paths, read};
use crate::manifest;
use crate::results::{FileLines, told};
use crate::script::{Script, Stop, Told};
use crate::tools::{FIND_FILES, LIST};

/// Lines of a README that are shown.
const README_LINES: usize = 12;

pub(super) fn fact(script: &mut Script<'_>) -> Told {
    let fact = script.slot("fact").unwrap_or("name").to_lowercase();
    let stated = |script: &mut Script<'_>, file: &str| {
        let found = read(script, file)?;
        let value = manifest::fact(&found.path, &found.lines.text(), &fact);
        Ok(value.map(|value| format!("The project's {fact} is **{value}**, says {}.", found.path)))
    };
    if let Some(file) = script.slot("file") {
        return stated(script, file).map(|told| told.unwrap_or_else(|why| why));
    }
    let (names, _) = root(script, &format!("{},README*", manifest::FILES.join(",")))?;
    let manifest = manifest::FILES.iter().find(|file| names.contains(file));
    let why = match manifest.map(|manifest| stated(script, manifest)).transpose()? {
        Some(Ok(told)) => return Ok(told),
        Some(Err(why)) => why,
        None => "There is no manifest like package.json here.".to_owned(),
    };
    // The heading of a README is a name too, if no manifest has one.
    let readme = names.iter().find(|name| is_readme(name)).filter(|_| fact == "name");
    let Some(readme) = readme else { return Ok(why) };
    let lines = read(script, readme)?.lines.lines;
    Ok(match lines.iter().find_map(|line| line.strip_prefix("# ")) {
        Some(heading) => format!("{why} Its {readme} is headed **{}**.", heading.trim()),
        None => why,
    })
}

pub(super) fn overview(script: &mut Script<'_>) -> Told {
    let (names, listed) = root(script, "*")?;
    let holds = told("The project holds:", listed);
    let Some(readme) = names.iter().find(|name| is_readme(name)) else { return Ok(holds) };
    let start = beginning(&read(script, readme)?.lines);
    Ok(format!("{holds}\n\nIts {readme} begins:\n\n{start}"))
}

/// The names in the project's root, and the result they are from. Tools that cannot list find what
/// is like `pattern`.
fn root<'a>(script: &mut Script<'a>, pattern: &str) -> Result<(Vec<&'a str>, &'a Value), Stop> {
    let say = "Looking at what there is.";
    if !script.tools.can(LIST) {
        let found = script.ask(FIND_FILES, say, json!({"pattern": pattern}))?;
        return Ok((paths(found).filter(|path| !path.contains('/')).collect(), found));
    }
    let listed = script.ask(LIST, say, json!({"path": "."}))?;
    let entries = listed["entries"].as_array().into_iter().flatten();
    Ok((entries.filter_map(|entry| entry["name"].as_str()).collect(), listed))
}

/// The first lines, quoted, without pictures and markup of their own.
fn beginning(file: &FileLines) -> String {
    let lines = file.lines.iter().map(|line| line.trim());
    let lines = lines.filter(|line| !line.starts_with(['<', '!']) && !line.starts_with("[!"));
    let quoted = lines.take(README_LINES).map(|line| format!("> {line}").trim_end().to_owned());
    quoted.collect::<Vec<_>>().join("\n")
}
