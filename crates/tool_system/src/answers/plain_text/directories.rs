//! Many paths in few words: the directory once, then its names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most directories that are named for the paths that are not shown.
const MAX_REST: usize = 8;
/// How deep these are at most.
const MAX_REST_DEPTH: usize = 3;

/// A directory with paths that are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RestCount {
    pub(crate) directory: String,
    pub(crate) count: u64,
}

/// A text in quotes, escaped as in the arguments of a call, so that it can be copied into one.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as one word of a line.
pub(crate) fn named(name: &str) -> Cow<'_, str> {
    match name.is_empty() || name.contains([' ', '"', '\t']) {
        true => Cow::Owned(quoted(name)),
        false => Cow::Borrowed(name),
    }
}

/// One line for each directory: `src/args/: rule.rs tools.rs`, or the whole path of a single file.
/// Each path comes with the word that stands for its name.
pub(crate) fn by_directory<'a>(paths: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut directories: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, word) in paths {
        directories.entry(parent(path)).or_default().push(word);
    }
    let line = |(directory, names): (&str, Vec<String>)| match (directory, &names[..]) {
        ("", [one]) => one.clone(),
        ("", names) => format!("./: {}", names.join(" ")),
        (directory, [one]) if !one.starts_with('"') => format!("{directory}{one}"),
        (directory, names) => format!("{directory}: {}", names.join(" ")),
    };
    directories.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The directory of a path with its slash; nothing for one in the root.
fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// Where the paths that are not shown lie, counted: the deepest directories that are few enough to be
/// named, and `…` for what is beyond.
pub(crate) fn rest_of<'a>(paths: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<RestCount> {
    let paths: Vec<(&str, u64)> = paths.into_iter().collect();
    let groups = (1..=MAX_REST_DEPTH).map(|depth| {
        let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, count) in &paths {
            *groups.entry(outermost(path, depth)).or_default() += count;
        }
        groups
    });
    let groups: Vec<BTreeMap<&str, u64>> = groups.collect();
    let fitting = groups.iter().rev().find(|groups| groups.len() <= MAX_REST);
    let chosen = fitting.or(groups.first()).cloned().unwrap_or_default();
    let rest = |(directory, count): (&str, u64)| {
        let directory = if directory.is_empty() { "./" } else { directory };
        RestCount { directory: directory.to_owned(), count }
    };
    let mut named: Vec<RestCount> = chosen.into_iter().map(rest).collect();
    if named.len() > MAX_REST {
        let beyond = named.split_off(MAX_REST);
        named.push(RestCount {
            directory: "…".into(),
            count: beyond.iter().map(|rest| rest.count).sum(),
        });
    }
    named
}

/// The first `depth` directories of a path, with their slash.
fn outermost(path: &str, depth: usize) -> &str {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    ends.take(depth).last().map_or("", |end| &path[..end])
}

impl RestCount {
    /// `rest: src/ 13, tests/ 4`, if there is any.
    pub(crate) fn note(rest: &[RestCount]) -> Option<String> {
        let words: Vec<String> =
            rest.iter().map(|one| format!("{} {}", one.directory, one.count)).collect();
        (!words.is_empty()).then(|| format!("rest: {}", words.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_by_their_directories() {
        let paths = ["Cargo.toml", "src/a b.rs", "src/args/x.rs", "src/z.rs"];
        let words = paths.map(|path| (path, named(path.rsplit('/').next().unwrap()).into_owned()));
        insta::assert_snapshot!(by_directory(words), @r#"
        Cargo.toml
        src/: "a b.rs" z.rs
        src/args/x.rs
        "#);
    }

    #[test]
    fn the_rest_is_counted_as_deep_as_it_can_be_named() {
        let told = |paths: &[String]| {
            let paths = paths.iter().map(|path| (path.as_str(), 1));
            RestCount::note(&rest_of(paths)).unwrap_or_default()
        };
        let named = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(told(&[]), "");
        assert_eq!(
            told(&named(&["a.rs", "crates/x/a.rs", "crates/x/b.rs", "crates/y/c.rs"])),
            "rest: ./ 1, crates/x/ 2, crates/y/ 1"
        );
        let wide: Vec<String> = (0..20).map(|n| format!("crates/c{n:02}/src/a.rs")).collect();
        assert_eq!(told(&wide), "rest: crates/ 20");
        let flat: Vec<String> = (0..10).map(|n| format!("d{n}/a.rs")).collect();
        assert_eq!(
            told(&flat),
            "rest: d0/ 1, d1/ 1, d2/ 1, d3/ 1, d4/ 1, d5/ 1, d6/ 1, d7/ 1, … 2"
        );
    }
}
