//! Which files can be importers at all: those that mention a name of the target. This only
//! narrows; every file that is left is parsed and its imports resolved.

use std::collections::BTreeSet;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use workspace::RelPath;

use super::extract::Dialect;
use super::project_files::{dir_of, name_of, stem_of};
use super::resolve::ImportResolver;

/// An import of the directory that a file is in, or of one around it: `'..'`, `"./"`.
const DIRECTORY_IMPORT: &str = r#"["'`](?:\.{1,2}/)*\.{1,2}/?["'`]"#;

/// An import from the package that a file is in, or from one around it.
const PACKAGE_IMPORT: &str = r#"from[\s\\]*\.+[\s\\]*import|["']\.+["']"#;

/// Names for the module around, or for the crate.
const MODULE_AROUND: &str = r"\b(?:super|crate)\b";

/// Memory for a compiled pattern; with more names than fit, every file is a candidate.
const PATTERN_BYTES: usize = 64 * 1024 * 1024;

/// Words of which an importer's text has at least one.
#[derive(Debug, Default, Clone)]
pub(super) struct Mentions {
    words: BTreeSet<String>,
    /// Patterns that only count in files beneath a directory.
    beneath: BTreeSet<(RelPath, &'static str)>,
}

impl Mentions {
    pub(super) fn of_words(words: impl IntoIterator<Item = String>) -> Mentions {
        let words = words.into_iter().filter(|word| !word.is_empty()).collect();
        Mentions { words, ..Mentions::default() }
    }

    /// What the importers of a file write.
    pub(super) fn of_file(resolver: &ImportResolver, path: &RelPath) -> Mentions {
        let mut found = Mentions::default();
        let stem = stem_of(path);
        let dir = dir_of(path);
        let dialect = Dialect::of(path);
        if !matches!(dialect, Some(Dialect::Go | Dialect::CSharp)) {
            found.words.insert(stem.clone());
        }
        match dialect {
            Some(Dialect::JavaScript) | None => {
                let javascript = resolver.javascript();
                found.words.extend(javascript.aliases(path));
                if stem == "index" {
                    found.words.insert(name_of(&dir));
                    found.beneath.insert((dir, DIRECTORY_IMPORT));
                }
                let package = javascript.package_dir(path);
                found.beneath.extend(package.map(|dir| (dir, DIRECTORY_IMPORT)));
            }
            Some(Dialect::Python) if stem == "__init__" => {
                found.words.insert(name_of(&dir));
                found.beneath.insert((dir, PACKAGE_IMPORT));
            }
            Some(Dialect::Rust) => found.of_module(resolver, path, &stem),
            Some(Dialect::Go) => {
                found.words.insert(name_of(&dir));
                found.words.extend(resolver.go().module_paths(&dir).map(str::to_owned));
            }
            // Types are named after what the file says, not after the file. An attribute is used
            // without the end of its name.
            Some(Dialect::CSharp) => {
                for name in &resolver.facts(path).defines {
                    found.words.extend(name.strip_suffix("Attribute").map(str::to_owned));
                    found.words.insert(name.clone());
                }
            }
            _ => {}
        }
        found.words.remove("");
        found
    }

    fn of_module(&mut self, resolver: &ImportResolver, path: &RelPath, stem: &str) {
        let dir = dir_of(path);
        let crates = resolver.crates();
        let is_root = crates.is_root(path);
        if is_root || stem == "mod" {
            self.words.remove(stem);
            self.words.insert(name_of(path));
            self.words.insert(name_of(&dir));
        }
        self.words.extend(crates.names_of(path));
        let inside = match (is_root, stem) {
            (true, _) | (_, "mod") => Some(dir),
            _ => dir.join(stem.as_bytes()).ok(),
        };
        self.beneath.extend(inside.map(|inside| (inside, MODULE_AROUND)));
        // A `#[path]` may lead anywhere; then `super` is written anywhere in the package.
        if let Some(package) = crates.package_of(path)
            && (is_root || !resolver.facts(path).modules.is_empty())
        {
            self.beneath.insert((package.dir.clone(), MODULE_AROUND));
        }
    }

    pub(super) fn add(&mut self, other: Mentions) {
        self.words.extend(other.words);
        self.beneath.extend(other.beneath);
    }

    /// Where to look for what: a directory, and a pattern that candidates beneath it match.
    pub(super) fn parts(&self) -> Vec<(RelPath, String)> {
        let words: Vec<String> = self.words.iter().map(|word| bounded(word)).collect();
        let words = (!words.is_empty()).then(|| (RelPath::root(), words.join("|")));
        let beneath =
            self.beneath.iter().map(|(dir, pattern)| (dir.clone(), (*pattern).to_owned()));
        words.into_iter().chain(beneath).collect()
    }
}

/// A word with word boundaries where it begins or ends with a letter.
fn bounded(word: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let boundary = |c: Option<char>| if is_part(c) { r"\b" } else { "" };
    let (first, last) = (word.chars().next(), word.chars().next_back());
    format!("{}{}{}", boundary(first), regex_syntax::escape(word), boundary(last))
}

/// Decides whether a file is a candidate.
pub(super) struct MentionMatcher {
    /// None if the pattern cannot be compiled: then everything matches.
    matcher: Option<RegexMatcher>,
}

impl MentionMatcher {
    pub(super) fn new(pattern: &str) -> MentionMatcher {
        let mut builder = RegexMatcherBuilder::new();
        builder.unicode(false).size_limit(PATTERN_BYTES);
        MentionMatcher { matcher: builder.build(pattern).ok() }
    }

    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(bytes).unwrap_or(true))
    }
}
