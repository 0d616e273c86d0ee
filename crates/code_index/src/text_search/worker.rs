//! One thread's share of a search for text. Small files take a way of their own; the questions of
//! `cargo xtask bench search` measure it beside ripgrep.

use std::io::{self, Read as _};
use std::time::Instant;

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use workspace::{Flow, OpenFile, RelPath};

use super::bounded_reader::BoundedReader;
use super::line_matcher::LineMatcher;
use super::lines::MatchingLines;
use super::{FileMatches, Show, TextMatch, TextQuery};
use crate::SearchScope;
use crate::code_base::{FileVisitor, FoundFile};
use crate::first_by_path::FirstByPath;

/// Files up to this size are searched in one piece, as the search engine would: it reads as much
/// at once.
const SMALL: u64 = 64 * 1024;

pub(super) struct TextWorker<'a> {
    matcher: &'a LineMatcher,
    query: &'a TextQuery,
    scope: &'a SearchScope,
    cancel: &'a (dyn Fn() -> bool + Sync),
    /// Gives lines with numbers and context.
    showing: Searcher,
    /// Only counts, for files whose matches can no longer be among the first.
    counting: Searcher,
    /// The content of a small file.
    text: Vec<u8>,
    pub(super) lines: FirstByPath<TextMatch>,
    pub(super) files: FirstByPath<FileMatches>,
    pub(super) total: u64,
    pub(super) earlier: u64,
    pub(super) files_with_matches: u64,
    pub(super) files_searched: u64,
    pub(super) too_large: Vec<RelPath>,
    pub(super) too_slow: Vec<RelPath>,
}

impl<'a> TextWorker<'a> {
    pub(super) fn new(
        matcher: &'a LineMatcher,
        query: &'a TextQuery,
        scope: &'a SearchScope,
        cancel: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut builder = SearcherBuilder::new();
        builder.binary_detection(BinaryDetection::quit(0)).line_number(false);
        builder.multi_line(query.multiline);
        let counting = builder.build();
        builder.line_number(true).before_context(query.context).after_context(query.context);
        Self {
            matcher,
            query,
            scope,
            cancel,
            showing: builder.build(),
            counting,
            text: Vec::new(),
            lines: FirstByPath::new(scope.max_results),
            files: FirstByPath::new(scope.max_results),
            total: 0,
            earlier: 0,
            files_with_matches: 0,
            files_searched: 0,
            too_large: Vec::new(),
            too_slow: Vec::new(),
        }
    }

    fn search(&mut self, file: OpenFile) {
        let path = file.path().clone();
        if file.meta.size > self.scope.max_file_bytes {
            self.too_large.push(path);
            return;
        }
        let mut sink = MatchingLines::new(self.query, self.matcher, &path);
        let mut is_earlier = false;
        if let Some(after) = &self.query.after {
            is_earlier = path < after.path || path == after.path && self.query.show != Show::Lines;
            sink.shown_to = if path == after.path { after.line } else { 0 };
        }
        if self.query.show == Show::Lines && !is_earlier {
            sink.room = self.lines.room_for(&path);
        }
        let searcher = if sink.room > 0 { &mut self.showing } else { &mut self.counting };
        let mut reader = BoundedReader {
            file: &file.file,
            deadline: (Instant::now() + self.scope.file_time).min(self.scope.deadline),
            left: self.scope.max_file_bytes,
            cancel: self.cancel,
        };
        self.files_searched += 1;
        let searched = if file.meta.size <= SMALL {
            reader.read_small(file.meta.size, &mut self.text).and_then(|is_all| match is_all {
                true => searcher.search_slice(self.matcher, &self.text, &mut sink),
                // It has grown meanwhile.
                false => searcher.search_reader(
                    self.matcher,
                    self.text.as_slice().chain(reader),
                    &mut sink,
                ),
            })
        } else {
            searcher.search_reader(self.matcher, reader, &mut sink)
        };
        match searched {
            Ok(()) => {
                let MatchingLines { matches, total, earlier, is_binary, .. } = sink;
                if !is_binary && total > 0 {
                    self.note(path, matches, total, if is_earlier { total } else { earlier });
                }
            }
            // Past the deadline of the whole search the file is not to blame.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                if Instant::now() < self.scope.deadline {
                    self.too_slow.push(path);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => self.too_large.push(path),
            // A file that cannot be read is skipped, as a search always did.
            Err(_) => {}
        }
    }

    /// Takes note of a file with matches, `earlier` of which were on earlier pages.
    fn note(&mut self, path: RelPath, matches: Vec<TextMatch>, total: u64, earlier: u64) {
        self.total += total;
        self.files_with_matches += 1;
        match self.query.show {
            Show::Lines => {
                self.earlier += earlier;
                self.lines.add(path, matches);
            }
            Show::Files if earlier > 0 => self.earlier += 1,
            Show::Files if self.files.room_for(&path) > 0 => {
                self.files.add(path.clone(), vec![FileMatches { path, count: total }]);
            }
            Show::Files => {}
        }
    }
}

impl FileVisitor for TextWorker<'_> {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        // A file that cannot be opened is skipped, as a search always did.
        if let Ok(file) = file.open() {
            self.search(file);
        }
        Flow::Continue
    }
}
