//! What a project's manifest says about it.

use serde_json::Value;

use super::intent::Fact;

/// The manifests that are understood, in the order in which they are looked for.
pub(super) const FILES: [&str; 7] = [
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "composer.json",
    "pubspec.yaml",
    "pom.xml",
];

/// A fact that the manifest at `path` states, or why there is none.
pub(super) fn fact(path: &str, text: &str, fact: Fact) -> Result<String, String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let key = fact.word();
    let found = match file.rsplit('.').next() {
        Some("json") => json(text).map(|all| plain(&all[key])),
        Some("toml") => toml(text).map(|all| from_toml(&all, key)),
        Some("mod") => Ok((fact == Fact::Name).then(|| after(text, "module ")).flatten()),
        Some("yaml" | "yml") => Ok(after(text, &format!("{key}: "))),
        Some("xml") => Ok(from_maven(text, fact)),
        _ => return Err(format!("I do not know how to find the {key} of a project in {path}.")),
    };
    match found {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(format!("{path} states no {key}{}.", members(text))),
        Err(why) => Err(format!("{path} cannot be understood: {why}.")),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn toml(text: &str) -> Result<toml::Table, String> {
    text.parse().map_err(|error: toml::de::Error| error.message().to_owned())
}

fn plain(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn from_toml(all: &toml::Table, key: &str) -> Option<String> {
    let tables = [&["package"][..], &["project"], &["tool", "poetry"], &["workspace", "package"]];
    tables.iter().find_map(|path| {
        let (first, rest) = path.split_first()?;
        let table = rest.iter().try_fold(all.get(*first)?, |table, step| table.get(step))?;
        table.get(key)?.as_str().map(str::to_owned)
    })
}

/// What follows a word at the beginning of a line.
fn after(text: &str, word: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(word))?;
    let value = value.split(" //").next().unwrap_or(value);
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The project's own element: those of its parent and of its dependencies are deeper.
fn from_maven(text: &str, fact: Fact) -> Option<String> {
    let tag = match fact {
        Fact::Name => "artifactId",
        Fact::Version => "version",
        Fact::Description => "description",
    };
    let outside = match (text.find("<parent>"), text.find("</parent>")) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &text[..start], &text[end..]),
        _ => text.to_owned(),
    };
    let own = outside.split("<dependencies>").next()?;
    let (_, rest) = own.split_once(&format!("<{tag}>"))?;
    let (value, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(value.trim().to_owned())
}

/// A workspace has members instead of a name.
fn members(text: &str) -> String {
    let Ok(all) = toml(text) else { return String::new() };
    let members = all.get("workspace").and_then(|table| table.get("members")?.as_array());
    let names = members.into_iter().flatten().filter_map(toml::Value::as_str);
    let names: Vec<&str> = names.collect();
    match names[..] {
        [] => String::new(),
        _ => format!(": it is a workspace of {}", names.join(", ")),
    }
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
            assert_eq!(fact(path, text, Fact::Name).as_deref(), Ok("kiln"), "{path}");
            assert_eq!(fact(path, text, Fact::Version).as_deref(), Ok("3"), "{path}");
        }
        let module = "module example.com/kiln // v3\n\ngo 1.22\n";
        assert_eq!(fact("go.mod", module, Fact::Name).as_deref(), Ok("example.com/kiln"));
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
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"a\", \"b\"]",
                "Cargo.toml states no name: it is a workspace of a, b.",
            ),
            (
                "notes.txt",
                "name: x",
                "I do not know how to find the name of a project in notes.txt.",
            ),
            ("go.mod", "go 1.22", "go.mod states no name."),
        ];
        for (path, text, expected) in cases {
            assert_eq!(fact(path, text, Fact::Name).unwrap_err(), expected);
        }
    }
}
