//! What a careful reader should know before agreeing, in sentences.

use super::drawing::{Hazard, Hazards, visible};
use super::file_text::{FileText, LineEndingStyle};
use super::{LineKind, unified};
use crate::{Base, ContentHash};

/// Permission bits that a careful reader should know of.
const SET_USER_OR_GROUP: u32 = 0o6000;
const EXECUTABLE: u32 = 0o111;
const WRITABLE_BY_ALL: u32 = 0o002;

/// Warnings about the lines of a text, each kind counted once.
#[derive(Default)]
pub(super) struct Warnings {
    sentences: Vec<String>,
    lines: [HazardCount; Hazard::ALL.len()],
}

/// Where a hazard was seen.
#[derive(Clone, Copy, Default)]
struct HazardCount {
    added: usize,
    context: usize,
    /// The first line, counted from one in the new text; an added one if there is one.
    first: usize,
}

impl Warnings {
    /// What the two texts as wholes are worth a warning.
    pub(super) fn about_texts(old: &FileText<'_>, new: &FileText<'_>) -> Self {
        let mut sentences = Vec::new();
        if old.len() > 0 && new.len() > 0 && old.encoding != new.encoding {
            let (from, to) = (old.encoding.name(), new.encoding.name());
            sentences.push(format!("the encoding changes from {from} to {to}"));
        }
        if let (Some(from), Some(to)) = (old.endings, new.endings)
            && from != to
        {
            let (from, to) = (from.name(), to.name());
            sentences.push(format!("line endings change from {from} to {to}"));
        }
        Self { sentences, ..Self::default() }
    }

    /// A line of the new text was drawn with these hazards.
    pub(super) fn note(&mut self, hazards: Hazards, kind: LineKind, index: usize) {
        if hazards == Hazards::default() {
            return;
        }
        for (hazard, found) in Hazard::ALL.into_iter().zip(&mut self.lines) {
            if !hazards.contains(hazard) {
                continue;
            }
            let first_added = kind == LineKind::Add && found.added == 0;
            if first_added || found.first == 0 {
                found.first = index + 1;
            }
            match kind {
                LineKind::Add => found.added += 1,
                LineKind::Context | LineKind::Remove => found.context += 1,
            }
        }
    }

    pub(super) fn into_sentences(self) -> Vec<String> {
        let mut sentences = self.sentences;
        for (hazard, found) in Hazard::ALL.into_iter().zip(self.lines) {
            let (what, why) = hazard.words();
            let (count, kind) = match (found.added, found.context) {
                (0, 0) => continue,
                (0, context) => (context, "unchanged"),
                (added, _) => (added, "added"),
            };
            let lines = if count == 1 { "line" } else { "lines" };
            let first = found.first;
            sentences
                .push(format!("{what} on {count} {kind} {lines}, first on line {first}: {why}"));
        }
        sentences
    }
}

impl LineEndingStyle {
    fn name(self) -> &'static str {
        match self {
            LineEndingStyle::Lf => "LF",
            LineEndingStyle::CrLf => "CRLF",
            LineEndingStyle::Mixed => "mixed",
        }
    }
}

/// Names that are not what they look like.
pub(super) fn about_path(path: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let shown = visible(path);
    if shown != path {
        sentences.push(format!("the path holds characters that cannot be seen: {shown}"));
    }
    if let Some(name) = path.split('/').find(|name| mixes_scripts(name)) {
        let name = visible(name);
        sentences.push(format!("the name {name} mixes letters of scripts that look alike"));
    }
    sentences
}

/// Latin letters beside letters that look like them.
fn mixes_scripts(name: &str) -> bool {
    let alike = |c: char| {
        matches!(c, '\u{0370}'..='\u{052F}' | '\u{0531}'..='\u{0589}' | '\u{13A0}'..='\u{13FF}'
            | '\u{1D400}'..='\u{1D7FF}' | '\u{FF21}'..='\u{FF5A}')
    };
    // A file's extension is Latin in every language.
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.chars().any(|c| c.is_ascii_alphabetic()) && stem.chars().any(alike)
}

/// Whether the bytes beside a change are those that it was made from.
pub(super) fn about_base(base: &Base, before: Option<&[u8]>) -> Option<String> {
    match (base, before) {
        (Base::File { hash, .. }, Some(bytes)) if ContentHash::of(bytes) != *hash => {
            Some("the file is no longer what this change was made from".to_owned())
        }
        (Base::File { hash, size, .. }, None) => {
            let identity = unified::identity(hash, *size);
            Some(format!("the present content cannot be shown ({identity})"))
        }
        (Base::Link { target }, _) => {
            let target = visible(&String::from_utf8_lossy(&target.0));
            Some(format!("there is a symbolic link to {target} now"))
        }
        _ => None,
    }
}

/// Permission bits that give more than a plain file has.
pub(super) fn about_mode(old: Option<u32>, new: Option<u32>) -> Vec<String> {
    let gained = new.unwrap_or(0) & !old.unwrap_or(0);
    let cases = [
        (EXECUTABLE, "the file becomes executable"),
        (SET_USER_OR_GROUP, "the file will run with the rights of its owner or group"),
        (WRITABLE_BY_ALL, "the file becomes writable by every user"),
    ];
    let gains = cases.into_iter().filter(|(bits, _)| gained & bits != 0);
    gains.map(|(_, sentence)| sentence.to_owned()).collect()
}

/// A link that may lead out of the project.
pub(super) fn about_link(target: &[u8]) -> Option<String> {
    let leaves = target.starts_with(b"/") || target.split(|byte| *byte == b'/').any(|n| n == b"..");
    leaves.then(|| "the link may lead out of the project".to_owned())
}
