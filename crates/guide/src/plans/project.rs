//! Plans about the project as a whole.

use serde_json::{Value, json};

use super::{is_readme, read};
use crate::plan_run::{PlanResult, PlanRun, PlanStop};
use crate::results::{MAX_ROWS, indented, names_in, paths_in, text_of};
use crate::tools::{FIND_FILES, LIST};

/// The manifests that are understood, in the order in which they are looked for.
const MANIFESTS: &str =
    "package.json,Cargo.toml,pyproject.toml,go.mod,composer.json,pubspec.yaml,pom.xml";
/// Lines of a README that are shown.
const README_LINES: usize = 12;

pub(crate) fn fact(script: &mut PlanRun<'_>) -> PlanResult {
    let fact = script.slot("fact").unwrap_or("name").to_lowercase();
    let manifest = match script.slot("file") {
        Some(file) => Some(file.to_owned()),
        None => {
            let names = root(script, MANIFESTS)?;
            MANIFESTS.split(',').map(str::to_owned).find(|file| names.contains(file))
        }
    };
    let Some(manifest) = manifest else {
        return Ok("There is no manifest like package.json here.".to_owned());
    };
    let found = read(script, &manifest)?;
    let path = found.path;
    let stated = fact_in(&path, &found.lines.text(), &fact);
    let told = stated.map(|value| format!("The project's {fact} is **{value}**, says {path}."));
    Ok(told.unwrap_or_else(|why| why))
}

pub(super) fn is_manifest(file: &str) -> bool {
    MANIFESTS.split(',').any(|manifest| manifest == file)
}

/// The `name`, `version` or `description` that a manifest states, or why there is none.
fn fact_in(path: &str, text: &str, fact: &str) -> Result<String, String> {
    let unreadable = |why: &str| format!("{path} cannot be understood: {why}.");
    let at = |all: &Value, table: &str| {
        Some(all.pointer(&format!("{table}/{fact}"))?.as_str()?.to_owned())
    };
    let found = match path.rsplit(['.', '/']).next() {
        Some("json") => {
            let all = serde_json::from_str(text).map_err(|why| unreadable(&why.to_string()))?;
            at(&all, "")
        }
        Some("toml") => {
            let all: Value = toml::from_str(text).map_err(|why| unreadable(why.message()))?;
            let tables = ["/package", "/project", "/tool/poetry", "/workspace/package"];
            tables.iter().find_map(|table| at(&all, table))
        }
        Some("mod") => after(text, "module ").filter(|_| fact == "name"),
        Some("yaml" | "yml") => after(text, &format!("{fact}: ")),
        Some("xml") => from_maven(text, if fact == "name" { "artifactId" } else { fact }),
        _ => return Err(format!("I do not know how to find the {fact} of a project in {path}.")),
    };
    found.ok_or_else(|| format!("{path} states no {fact}."))
}

/// What follows a word at the beginning of a line.
fn after(text: &str, word: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(word))?;
    let value = value.split(" //").next()?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The project's own element: that of its parent stands before it, those of dependencies behind.
fn from_maven(text: &str, tag: &str) -> Option<String> {
    let own = text.split("</parent>").last()?.split("<dependencies>").next()?;
    let (_, rest) = own.split_once(&format!("<{tag}>"))?;
    let (value, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(value.trim().to_owned())
}

pub(crate) fn overview(script: &mut PlanRun<'_>) -> PlanResult {
    let names = root(script, "*")?;
    let holds = format!("The project holds:\n\n{}", indented(&names.join("\n"), MAX_ROWS));
    let Some(readme) = names.iter().find(|name| is_readme(name)) else { return Ok(holds) };
    let lines = read(script, readme)?.lines.lines;
    // Without pictures and markup.
    let lines = lines.iter().map(|line| line.trim());
    let lines = lines.filter(|line| !line.starts_with(['<', '!']) && !line.starts_with("[!"));
    let quoted = lines.take(README_LINES).map(|line| format!("> {line}").trim_end().to_owned());
    let quoted = quoted.collect::<Vec<_>>().join("\n");
    Ok(format!("{holds}\n\nIts {readme} begins:\n\n{quoted}"))
}

/// The names in the project's root. Tools that cannot list find what is like `pattern`.
fn root(script: &mut PlanRun<'_>, pattern: &str) -> Result<Vec<String>, PlanStop> {
    let say = "Looking at what there is.";
    if script.tools.can(LIST) {
        let listed = script.ask(LIST, say, json!({"path": "."}))?;
        return Ok(names_in(&text_of(listed)));
    }
    let found = script.ask(FIND_FILES, say, json!({"pattern": pattern}))?;
    let paths = paths_in(&text_of(found)).into_iter();
    Ok(paths.filter(|path| !path.contains('/')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_found_in_every_kind_of_manifest() {
        let maven = "<project><parent><artifactId>p</artifactId></parent><artifactId>kiln</artifactId>\
                     <version>3</version><dependencies><artifactId>d</artifactId></dependencies></project>";
        let cases = [
            ("package.json", r#"{"a": {"name": "no"}, "name": "kiln", "version": "3"}"#),
            ("x/Cargo.toml", "[package]\nname = \"kiln\"\nversion = \"3\""),
            ("pyproject.toml", "[tool.poetry]\nname = \"kiln\"\nversion = \"3\""),
            ("pyproject.toml", "[project]\nname = \"kiln\"\nversion = \"3\""),
            ("pubspec.yaml", "name: kiln\nversion: \"3\"\n"),
            ("pom.xml", maven),
        ];
        for (path, text) in cases {
            assert_eq!(fact_in(path, text, "name").as_deref(), Ok("kiln"), "{path}");
            assert_eq!(fact_in(path, text, "version").as_deref(), Ok("3"), "{path}");
        }
        let module = "module example.com/kiln // v3\n\ngo 1.22\n";
        assert_eq!(fact_in("go.mod", module, "name").as_deref(), Ok("example.com/kiln"));
    }

    #[test]
    fn what_is_not_stated_is_not_made_up() {
        let cases = [
            ("package.json", "{}", "package.json states no name."),
            (
                "package.json",
                "{",
                "package.json cannot be understood: EOF while parsing an object at line 1 column 1.",
            ),
            ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]", "Cargo.toml states no name."),
            (
                "notes.txt",
                "name: x",
                "I do not know how to find the name of a project in notes.txt.",
            ),
            ("go.mod", "go 1.22", "go.mod states no name."),
        ];
        for (path, text, expected) in cases {
            assert_eq!(fact_in(path, text, "name").unwrap_err(), expected);
        }
    }
}
