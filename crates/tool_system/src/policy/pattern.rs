//! The patterns of rules: which tools and which paths.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

/// A pattern does not parse, or means something that rules cannot guarantee.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}`: {problem}")]
pub struct InvalidPattern {
    pattern: String,
    problem: String,
}

impl InvalidPattern {
    pub(super) fn new(pattern: &str, problem: impl Into<String>) -> Self {
        Self { pattern: pattern.to_owned(), problem: problem.into() }
    }
}

/// A glob on standard tool names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

/// A glob on paths relative to the project root. `*` stays within a name, `**` crosses directories.
///
/// A pattern without a slash matches names at any depth; one with a slash is relative to the root,
/// as is one that begins with a slash. A directory followed by `/` or `/**` stands for the
/// directory and everything beneath it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern(String);

impl ToolPattern {
    /// Every tool.
    pub fn any() -> Self {
        Self("*".to_owned())
    }

    /// Checks the glob.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidPattern> {
        let text = text.into();
        if text.is_empty() {
            return Err(InvalidPattern::new(
                &text,
                "a tool pattern cannot be empty; `*` matches every tool",
            ));
        }
        glob(&text, CaseOf::Pattern).map_err(|problem| InvalidPattern::new(&text, problem))?;
        Ok(Self(text))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn compile(&self) -> Option<GlobSet> {
        compiled([self.0.clone()], CaseOf::Pattern)
    }
}

impl PathPattern {
    /// Checks the glob.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidPattern> {
        let text = text.into();
        let wrong = |problem: &str| Err(InvalidPattern::new(&text, problem));
        if text.trim_matches('/').is_empty() {
            return wrong("a path pattern cannot be empty; `**` matches everything");
        }
        if text.starts_with('!') {
            return wrong("patterns cannot be negated; write a rule with another decision");
        }
        if text.split('/').any(|name| name == "." || name == "..") {
            return wrong("paths are relative to the project root and hold no `.` or `..`");
        }
        if text.trim_start_matches('/').contains("//") || text.starts_with("//") {
            return wrong("there is an empty name between two slashes");
        }
        let pattern = Self(text);
        for glob_text in pattern.globs() {
            glob(&glob_text, CaseOf::Pattern)
                .map_err(|problem| InvalidPattern::new(&pattern.0, problem))?;
        }
        Ok(pattern)
    }

    /// Exactly one path. What looks like a glob in it is taken literally.
    pub fn exactly(path: &str) -> Result<Self, InvalidPattern> {
        Self::new(format!("/{}", globset::escape(path)))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern may match something beneath `directory`, whose content is not known.
    pub(super) fn reach(&self, directory: &str) -> Option<PathReach> {
        self.globs().iter().filter_map(|text| reach(text, directory)).max()
    }

    /// The globs, all relative to the root, that together mean this pattern.
    fn globs(&self) -> Vec<String> {
        let directory = self.0.strip_suffix("/**").or_else(|| self.0.strip_suffix('/'));
        let name = directory.unwrap_or(&self.0);
        let rooted = match name.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            // `src/**` means the one at the root, as it does in a shell; `target/` any of them.
            None if name.contains('/') || self.0.ends_with("/**") || name == "**" => {
                name.to_owned()
            }
            None => format!("**/{name}"),
        };
        match directory {
            Some(_) => vec![format!("{rooted}/**"), rooted],
            None => vec![rooted],
        }
    }
}

/// Whether case matters when a pattern is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseOf {
    /// As the pattern is written.
    Pattern,
    /// Not at all. Rules that narrow match so, because some file systems do.
    None,
}

/// How surely a pattern matches something beneath a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathReach {
    /// It could, if a file of that name lies there: the pattern holds for many directories.
    Possible,
    /// It names a place beneath this very directory.
    Named,
}

/// One matcher for many path patterns; `None` if it grows beyond what the regex engine takes.
pub(super) fn compile(patterns: &[PathPattern], case: CaseOf) -> Option<GlobSet> {
    compiled(patterns.iter().flat_map(PathPattern::globs), case)
}

fn compiled(texts: impl IntoIterator<Item = String>, case: CaseOf) -> Option<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for text in texts {
        builder.add(glob(&text, case).ok()?);
    }
    builder.build().ok()
}

fn glob(text: &str, case: CaseOf) -> Result<globset::Glob, String> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .case_insensitive(case == CaseOf::None)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// Follows a glob down the names of a directory.
fn reach(glob_text: &str, directory: &str) -> Option<PathReach> {
    // Alternatives may hold slashes; such a pattern is not taken apart.
    if glob_text.contains('{') {
        return Some(PathReach::Possible);
    }
    let mut names = glob_text.split('/');
    for component in directory.split('/').filter(|name| !name.is_empty()) {
        let name = names.next()?;
        if name.contains("**") {
            return Some(PathReach::Possible);
        }
        let matcher = glob(name, CaseOf::None).ok()?.compile_matcher();
        if !matcher.is_match(component) {
            return None;
        }
    }
    match names.next() {
        None => None,
        Some(name) if name.contains("**") && names.next().is_some() => Some(PathReach::Possible),
        Some(_) => Some(PathReach::Named),
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        Self::new(text)
    }
}

impl TryFrom<String> for PathPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        Self::new(text)
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> String {
        pattern.0
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> String {
        pattern.0
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::new(pattern).unwrap();
        compile(&[pattern], CaseOf::Pattern).unwrap().is_match(path)
    }

    #[test]
    fn a_pattern_matches_names_anywhere_or_paths_from_the_root() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("*.rs", &["a.rs", "src/a.rs", "a/b/c.rs"], &["a.rst", "a.rs/x"]),
            ("src/*", &["src/a.rs"], &["src/a/b.rs", "x/src/a.rs", "src"]),
            ("src/**", &["src/a.rs", "src/a/b.rs", "src"], &["srcs/a", "x/src/a.rs"]),
            ("target/", &["target", "target/a", "x/target/a/b"], &["targets", "a/targets/b"]),
            ("/Cargo.toml", &["Cargo.toml"], &["x/Cargo.toml"]),
            ("/docs/", &["docs", "docs/a"], &["x/docs/a"]),
            ("a/**/z", &["a/z", "a/b/z", "a/b/c/z"], &["a/b/zz", "b/a/z"]),
            ("**", &["a", "a/b"], &[]),
            ("{a,b}/c", &["a/c", "b/c"], &["c", "a/b/c"]),
            ("Src/**", &["Src/a"], &["src/a"]),
        ];
        for (pattern, yes, no) in cases {
            for path in *yes {
                assert!(matches(pattern, path), "{pattern} should match {path}");
            }
            for path in *no {
                assert!(!matches(pattern, path), "{pattern} should not match {path}");
            }
        }
    }

    #[test]
    fn patterns_that_promise_nothing_sensible_are_refused() {
        for wrong in ["", "/", "//", "!a", "../a", "a/./b", "a//b", "[", "{a"] {
            assert!(PathPattern::new(wrong).is_err(), "{wrong}");
        }
        assert!(ToolPattern::new("").is_err());
        assert!(ToolPattern::new("git_[").is_err());
        let error = PathPattern::new("../a").unwrap_err().to_string();
        assert_eq!(error, "`../a`: paths are relative to the project root and hold no `.` or `..`");
    }

    #[test]
    fn an_exact_path_takes_glob_signs_literally() {
        let exact = PathPattern::exactly("app/[id]/{x}*.ts").unwrap();
        let set = compile(&[exact], CaseOf::Pattern).unwrap();
        assert!(set.is_match("app/[id]/{x}*.ts"));
        assert!(!set.is_match("app/i/x.ts"));
        let root = PathPattern::exactly("README.md").unwrap();
        assert!(!compile(&[root], CaseOf::Pattern).unwrap().is_match("docs/README.md"));
    }

    #[test]
    fn the_reach_beneath_a_directory_tells_named_places_from_possible_ones() {
        let cases = [
            ("config/secrets/**", "config", Some(PathReach::Named)),
            ("Config/secrets/**", "config", Some(PathReach::Named)),
            ("config/*.key", "config", Some(PathReach::Named)),
            ("config/**", "config", Some(PathReach::Named)),
            ("*.pem", "config", Some(PathReach::Possible)),
            ("config/**/x", "config", Some(PathReach::Possible)),
            ("config/secrets/**", "src", None),
            ("config", "config/a", Some(PathReach::Possible)),
            ("/config", "config", None),
        ];
        for (pattern, directory, expected) in cases {
            assert_eq!(PathPattern::new(pattern).unwrap().reach(directory), expected, "{pattern}");
        }
    }
}
