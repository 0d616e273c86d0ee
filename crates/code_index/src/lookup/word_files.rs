//! The files in which a name stands, with their text: the step that spares parsing all others.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Instant;

use workspace::{Error, Flow, OpenFile, RelPath, Text, WalkReport, is_binary};

use super::word::WholeWord;
use crate::code_base::{CodeBase, FileVisitor, FoundFile};
use crate::index::TrigramPlan;
use crate::{Language, SearchScope};

/// How many files that were left out are named.
const MAX_NAMED: usize = 20;
/// A file begins with one of these if it is UTF-16, which has to be decoded to be searched.
const UTF16_MARKS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// A file with the name in it.
pub(crate) struct WordFile<'a> {
    pub(crate) path: RelPath,
    /// Its text; bytes that are no characters are as they are.
    pub(crate) text: &'a [u8],
    /// The language, if there is a grammar for it.
    pub(crate) language: Option<Language>,
}

/// Looks at files with a name in them. Each thread has its own.
pub(crate) trait WordVisitor: Send {
    /// Looks at one file.
    fn visit(&mut self, file: &WordFile<'_>);
}

/// What a visit covered.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// What the walk covered.
    pub walk: WalkReport,
    /// Files that were read.
    pub files_read: u64,
    /// Files above the size limit: how many, and the first of them by path.
    pub too_large: (u64, Vec<RelPath>),
    /// Files that took too long to parse: how many, and the first of them by path.
    pub unfinished: (u64, Vec<RelPath>),
}

/// Which names a file must hold to be visited.
pub(crate) struct WantedWords<'a> {
    pub(crate) word: &'a WholeWord,
    /// Each of these must stand in the text or be part of the path.
    pub(crate) also: &'a [WholeWord],
}

/// Visits the files of `scope` in which the wanted name stands, on several threads. The index, if
/// there is one, spares reading files that cannot have it.
pub(crate) fn visit_files_with_word<V: WordVisitor>(
    code: &CodeBase,
    wanted: &WantedWords<'_>,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
    visitor: impl FnMut() -> V,
) -> Result<(Coverage, Vec<V>), Error> {
    let plan = TrigramPlan::all_of_words(&[wanted.word.bytes()]);
    visit(code, (&plan, Some(wanted)), scope, cancel, visitor)
}

/// Visits every file of `scope`, on several threads.
pub(crate) fn visit_all_files<V: WordVisitor>(
    code: &CodeBase,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
    visitor: impl FnMut() -> V,
) -> Result<(Coverage, Vec<V>), Error> {
    visit(code, (&TrigramPlan::All, None), scope, cancel, visitor)
}

fn visit<V: WordVisitor>(
    code: &CodeBase,
    (plan, wanted): (&TrigramPlan, Option<&WantedWords<'_>>),
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
    mut visitor: impl FnMut() -> V,
) -> Result<(Coverage, Vec<V>), Error> {
    let reader = || WordReader {
        code,
        scope,
        wanted,
        buffer: Vec::new(),
        files_read: 0,
        too_large: Vec::new(),
        visitor: visitor(),
    };
    let (walk, threads) = code.visit_matching(scope, plan, cancel, reader)?;
    Ok(together(walk, threads))
}

/// How many files there are, and the first of them by path.
pub(crate) fn named(paths: impl IntoIterator<Item = RelPath>) -> (u64, Vec<RelPath>) {
    let paths: BTreeSet<RelPath> = paths.into_iter().collect();
    (paths.len() as u64, paths.into_iter().take(MAX_NAMED).collect())
}

/// When a parse that begins at this moment has to end.
pub(crate) fn until(scope: &SearchScope) -> Instant {
    (Instant::now() + scope.file_time).min(scope.deadline)
}

/// The text of a file, read into `buffer`. None if it is too large, not text, or not readable.
pub(crate) fn read_text<'a>(
    file: &OpenFile,
    max_bytes: u64,
    buffer: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    buffer.clear();
    (&file.file).take(max_bytes.saturating_add(1)).read_to_end(buffer).ok()?;
    if buffer.len() as u64 > max_bytes || is_binary(buffer) {
        return None;
    }
    if UTF16_MARKS.iter().any(|mark| buffer.starts_with(mark)) {
        *buffer = Text::decode(buffer).body().to_vec();
    }
    Some(buffer)
}

fn together<V>(walk: WalkReport, threads: Vec<WordReader<'_, V>>) -> (Coverage, Vec<V>) {
    let mut coverage = Coverage { walk, ..Coverage::default() };
    let mut too_large = Vec::new();
    let mut visitors = Vec::new();
    for thread in threads {
        coverage.files_read += thread.files_read;
        too_large.extend(thread.too_large);
        visitors.push(thread.visitor);
    }
    coverage.too_large = named(too_large);
    (coverage, visitors)
}

/// One thread's share: reads files and hands on those with the name in them.
struct WordReader<'a, V> {
    code: &'a CodeBase,
    scope: &'a SearchScope,
    wanted: Option<&'a WantedWords<'a>>,
    buffer: Vec<u8>,
    files_read: u64,
    too_large: Vec<RelPath>,
    visitor: V,
}

impl<V: WordVisitor> FileVisitor for WordReader<'_, V> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        // A file that cannot be opened is skipped, as every search does.
        let Ok(open) = file.open() else { return Flow::Continue };
        if open.meta.size > self.scope.max_file_bytes {
            self.too_large.push(open.path().clone());
            return Flow::Continue;
        }
        self.files_read += 1;
        let text = read_text(&open, self.scope.max_file_bytes, &mut self.buffer);
        let Some(text) = text else { return Flow::Continue };
        let path = open.path();
        if self.wanted.is_none_or(|wanted| wanted.are_in(path, text)) {
            let language = self.code.language_of(path, text);
            self.visitor.visit(&WordFile { path: path.clone(), text, language });
        }
        // The walk itself looks at the clock, and says so when time runs out.
        Flow::Continue
    }
}

impl WantedWords<'_> {
    fn are_in(&self, path: &RelPath, text: &[u8]) -> bool {
        self.word.is_in(text)
            && self.also.iter().all(|word| word.is_in(text) || is_part_of(path, word.bytes()))
    }
}

/// Whether a path has `name` in it; `-` and `_` are the same, as in the names of packages.
fn is_part_of(path: &RelPath, name: &[u8]) -> bool {
    let alike = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().map(|&byte| if byte == b'-' { b'_' } else { byte }).collect()
    };
    memchr::memmem::find(&alike(path.as_bytes()), &alike(name)).is_some()
}
