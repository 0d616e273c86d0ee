//! Languages without resolution: lines that look like imports and mention the target.

use std::sync::{Mutex, PoisonError};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use workspace::RelPath;

use super::extract::Dialect;
use super::project_files::ProjectFiles;

/// Endings of languages in which one file uses another, and which are not resolved.
const EXTENSIONS: &[&str] = &[
    "astro", "bash", "cjsx", "clj", "cljs", "coffee", "cr", "css", "d", "dart", "elm", "erl", "ex",
    "exs", "fs", "graphql", "groovy", "hs", "jl", "kt", "kts", "less", "lua", "m", "ml", "mli",
    "mm", "nim", "pl", "pm", "proto", "r", "sass", "scala", "scss", "sh", "sol", "swift", "thrift",
    "vb", "zig", "zsh",
];

/// What such a line begins with.
const BEGINNINGS: &str = r"^\s*(?:from|use|using|include|source|open|load|alias|extern|export|#\s*(?:include|import)|@use|@forward)\b|\brequire\b|\bimport\b";

/// Characters of a line that are shown.
const LINE_CHARS: usize = 200;

/// A line that may be an import.
pub(super) struct TextImport {
    pub(super) path: RelPath,
    pub(super) line: u32,
    pub(super) text: String,
}

/// The lines of files without resolution that look like an import of one of `words`.
pub(super) fn mentioned(files: &dyn ProjectFiles, words: &[String]) -> Vec<TextImport> {
    let is_wanted = |path: &RelPath| {
        let extension = path.extension().unwrap_or_default();
        Dialect::of(path).is_none() && EXTENSIONS.iter().any(|known| known.as_bytes() == extension)
    };
    if words.is_empty() || !files.paths().iter().any(is_wanted) {
        return Vec::new();
    }
    let words: Vec<String> = words.iter().map(|word| regex_syntax::escape(word)).collect();
    // `. file` is how shells include.
    let pattern =
        format!(r"(?:(?:{BEGINNINGS}).*\W|^\s*\.\s(?:.*\W)?)(?:{})(?:\W|$)", words.join("|"));
    let Ok(matcher) = RegexMatcherBuilder::new().unicode(false).build(&pattern) else {
        return Vec::new();
    };
    let found = Mutex::new(Vec::new());
    files.visit(&RelPath::root(), Some(&pattern), &is_wanted, &|path, bytes| {
        if files.is_over() || workspace::is_binary(&bytes) {
            return;
        }
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if matcher.is_match(line).unwrap_or(false) {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(TextImport {
                    path: path.clone(),
                    line: u32::try_from(index + 1).unwrap_or(u32::MAX),
                    text: crate::excerpt::excerpt(line.trim_ascii(), 0, LINE_CHARS),
                });
            }
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}
