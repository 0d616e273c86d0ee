//! What a project's manifest says about it.

use serde_json::Value;

/// The manifests that are understood, in the order in which they are looked for.
pub(crate) const FILES: [&str; 7] = [
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "composer.json",
    "pubspec.yaml",
    "pom.xml",
];

/// The `name`, `version` or `description` that the manifest at `path` states, or why there is none.
pub(crate) fn fact(path: &str, text: &str, fact: &str) -> Result<String, String> {
    let unreadable = |why: String| format!("{path} cannot be understood: {why}.");
    let pointer = |all: &Value, table: &str| {
        Some(all.pointer(&format!("{table}/{fact}"))?.as_str()?.to_owned())
    };
    let mut members = String::new();
    let found = match path.rsplit(['.', '/']).next() {
        Some("json") => {
            let all = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
            pointer(&all, "")
        }
        Some("toml") => {
            let all = toml::from_str(text).map_err(|error| unreadable(error.message().into()))?;
            members = workspace_of(&all);
            let tables = ["/package", "/project", "/tool/poetry", "/workspace/package"];
            tables.iter().find_map(|table| pointer(&all, table))
        }
        Some("mod") => after(text, "module ").filter(|_| fact == "name"),
        Some("yaml" | "yml") => after(text, &format!("{fact}: ")),
        Some("xml") => from_maven(text, if fact == "name" { "artifactId" } else { fact }),
        _ => return Err(format!("I do not know how to find the {fact} of a project in {path}.")),
    };
    found.ok_or_else(|| format!("{path} states no {fact}{members}."))
}

/// What follows a word at the beginning of a line.
fn after(text: &str, word: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(word))?;
    let value = value.split(" //").next()?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The project's own element: those of its parent and of its dependencies are deeper.
fn from_maven(text: &str, tag: &str) -> Option<String> {
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
fn workspace_of(all: &Value) -> String {
    let members = all["workspace"]["members"].as_array().into_iter().flatten();
    let members: Vec<&str> = members.filter_map(Value::as_str).collect();
    match members.is_empty() {
        true => String::new(),
        false => format!(": it is a workspace of {}", members.join(", ")),
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
            assert_eq!(fact(path, text, "name").as_deref(), Ok("kiln"), "{path}");
            assert_eq!(fact(path, text, "version").as_deref(), Ok("3"), "{path}");
        }
        let module = "module example.com/kiln // v3\n\ngo 1.22\n";
        assert_eq!(fact("go.mod", module, "name").as_deref(), Ok("example.com/kiln"));
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
            assert_eq!(fact(path, text, "name").unwrap_err(), expected);
        }
    }
}
