//! `git diff --numstat --patch`.

use schemars::JsonSchema;
use serde::Serialize;

/// What begins a line that continues one which was too long. No line of a patch begins so.
const CONTINUED: &str = "…";

/// Bytes of a line of numbers with its path, or of a first line with two. Git writes odd letters of a
/// path with four bytes each, and a path has at most 4096 of them.
const LONGEST_NAMES: usize = 64 * 1024;

/// How much of a file differs.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileStat {
    pub(crate) path: String,
    /// Lines; absent for a binary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<u64>,
}

/// The numbers for each file, and the patch that follows them.
pub(crate) fn stats_and_patch(printed: &str) -> (Vec<FileStat>, &str) {
    let mut files = Vec::new();
    let mut rest = printed;
    while let Some((line, after)) = rest.split_once('\n') {
        let Some(file) = stat(line) else { break };
        files.push(file);
        rest = after;
    }
    (files, rest.trim_start_matches('\n'))
}

/// Which part of a patch is wanted, and how much is kept of the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiffWindow {
    /// The first line, from 1.
    pub(crate) first: u64,
    pub(crate) lines: u64,
    pub(crate) bytes: usize,
    /// Bytes of a line above which it is broken into several.
    pub(crate) line_bytes: usize,
    pub(crate) files: usize,
}

/// Reads what git prints, piece by piece, so that a patch of any length can be shown in parts.
#[derive(Debug)]
pub(crate) struct DiffReader {
    window: DiffWindow,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether it continues a line that was too long.
    is_continued: bool,
    is_full: bool,
    page: DiffPage,
}

/// The numbers for each file, and the part of the patch.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DiffPage {
    pub(crate) files: Vec<FileStat>,
    /// Files that are not among them because there are too many.
    pub(crate) files_left_out: u64,
    pub(crate) patch: String,
    /// The last line that is shown.
    pub(crate) last: u64,
    /// Lines of the whole patch.
    pub(crate) total: u64,
    /// The file and the place in it that the part begins in, as headers of the patch.
    pub(crate) within: Vec<String>,
}

impl DiffReader {
    pub(crate) fn new(mut window: DiffWindow) -> Self {
        window.line_bytes = window.line_bytes.max(char::MAX_LEN_UTF8);
        let page = DiffPage { last: window.first.saturating_sub(1), ..DiffPage::default() };
        Self { window, line: Vec::new(), is_continued: false, is_full: false, page }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (mut rest, ends) = match piece {
                [rest @ .., b'\n'] => (rest, true),
                rest => (rest, false),
            };
            while self.line.len() + rest.len() > self.longest() {
                let room = self.longest().saturating_sub(self.line.len());
                let (now, later) = rest.split_at(room.min(rest.len()));
                self.line.extend_from_slice(now);
                rest = later;
                self.break_line();
            }
            self.line.extend_from_slice(rest);
            if ends {
                self.line.push(b'\n');
                self.end_line();
                self.is_continued = false;
            }
        }
    }

    /// Bytes of a line that is not broken.
    fn longest(&self) -> usize {
        if self.page.total == 0 { LONGEST_NAMES } else { self.window.line_bytes }
    }

    pub(crate) fn finish(mut self) -> DiffPage {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.page
    }

    /// Ends a line that is too long, without its last bytes if these are a part of a character.
    fn break_line(&mut self) {
        let whole = match std::str::from_utf8(&self.line) {
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
                error.valid_up_to()
            }
            _ => self.line.len(),
        };
        let rest = self.line.split_off(whole);
        self.line.push(b'\n');
        self.end_line();
        self.is_continued = true;
        self.line = rest;
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let page = &mut self.page;
        if page.total == 0 {
            match stat(text.trim_end_matches('\n')) {
                Some(_) if page.files.len() >= self.window.files => page.files_left_out += 1,
                Some(file) => page.files.push(file),
                // A blank line stands between the numbers and the patch.
                None if text.trim().is_empty() => {}
                None => self.add(&text),
            }
            return;
        }
        self.add(&text);
    }

    fn add(&mut self, line: &str) {
        let Self { window, page, is_continued, is_full, .. } = self;
        page.total += 1;
        if page.total < window.first {
            // In a hunk, no line begins with these.
            if !*is_continued && line.starts_with("diff --git ") {
                page.within.clear();
                page.within.push(line.trim_end_matches('\n').to_owned());
            } else if !*is_continued && line.starts_with("@@ ") {
                page.within.truncate(1);
                page.within.push(line.trim_end_matches('\n').to_owned());
            }
            return;
        }
        if page.total == window.first && !*is_continued && line.starts_with("diff --git ") {
            page.within.clear();
        }
        let is_first = page.patch.is_empty();
        *is_full |= page.total - window.first >= window.lines
            || page.patch.len() + line.len() > window.bytes && !is_first;
        if *is_full {
            return;
        }
        if *is_continued {
            page.patch.push_str(CONTINUED);
        }
        page.patch.push_str(line);
        page.last = page.total;
    }
}

fn stat(line: &str) -> Option<FileStat> {
    let mut fields = line.splitn(3, '\t');
    let mut number = || {
        let field = fields.next()?;
        if field == "-" { Some(None) } else { field.parse().ok().map(Some) }
    };
    let (added, removed) = (number()?, number()?);
    Some(FileStat { path: fields.next()?.to_owned(), added, removed })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: DiffWindow =
        DiffWindow { first: 1, lines: 1000, bytes: 100_000, line_bytes: 10_000, files: 100 };

    fn read(window: DiffWindow, pieces: &[&[u8]]) -> DiffPage {
        let mut reader = DiffReader::new(window);
        pieces.iter().for_each(|piece| reader.take(piece));
        reader.finish()
    }

    #[test]
    fn numbers_come_before_the_patch() {
        let printed =
            "2\t1\tsrc/a b.rs\n-\t-\tlogo.png\n\ndiff --git a/x b/x\n1\t2\tnot a number line\n";
        let page = read(ALL, &[printed.as_bytes()]);
        let [first, second] = &page.files[..] else { panic!("{page:?}") };
        assert_eq!((first.added, first.removed, second.added), (Some(2), Some(1), None));
        assert_eq!(page.patch, "diff --git a/x b/x\n1\t2\tnot a number line\n");
        assert_eq!((page.last, page.total), (2, 2));
        assert_eq!(stats_and_patch(printed), (page.files, page.patch.as_str()));
        assert_eq!(read(ALL, &[]), DiffPage::default());
        assert_eq!(stats_and_patch(""), (Vec::new(), ""));
        let few = read(DiffWindow { files: 1, ..ALL }, &[printed.as_bytes()]);
        assert_eq!((few.files.len(), few.files_left_out), (1, 1));
    }

    #[test]
    fn a_part_says_where_it_begins() {
        let printed = b"1\t1\ta\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@ fn\n-x\n+y\ndiff --git a/b b/b\n";
        let part = |first| {
            let page = read(DiffWindow { first, lines: 1, ..ALL }, &[printed]);
            (page.patch, page.within.join(" | "), page.last, page.total)
        };
        assert_eq!(part(1), ("diff --git a/a b/a\n".into(), String::new(), 1, 7));
        assert_eq!(part(3), ("+++ b/a\n".into(), "diff --git a/a b/a".into(), 3, 7));
        let within = "diff --git a/a b/a | @@ -1 +1 @@ fn";
        assert_eq!(part(6), ("+y\n".into(), within.into(), 6, 7));
        assert_eq!(part(7), ("diff --git a/b b/b\n".into(), String::new(), 7, 7));
        assert_eq!(part(8), (String::new(), "diff --git a/b b/b".into(), 7, 7));
    }

    #[test]
    fn a_line_that_is_too_long_becomes_several_that_can_be_read() {
        let printed = "1\t0\ta\n\n@@\n+äääää\n+b\n";
        let page = read(DiffWindow { line_bytes: 6, ..ALL }, &[printed.as_bytes()]);
        assert_eq!(page.patch, "@@\n+ää\n…äää\n+b\n");
        assert_eq!(page.total, 4);
        // However small a page is, it has a line, so that reading goes on.
        let page =
            read(DiffWindow { first: 3, bytes: 1, line_bytes: 6, ..ALL }, &[printed.as_bytes()]);
        assert_eq!((page.patch.as_str(), page.last), ("…äää\n", 3));
    }

    proptest! {
        /// Parts that follow one another are the whole, however git's output is cut into pieces.
        #[test]
        fn parts_together_are_the_whole(
            lines in prop::collection::vec("[ +-][aä\t]{0,12}", 0..30),
            cuts in prop::collection::vec(1_usize..9, 1..40),
            (most, bytes, line_bytes) in (1_u64..8, 1_usize..60, 4_usize..20),
        ) {
            let patch: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let printed = format!("3\t4\tfile\n\ndiff --git a/file b/file\n{patch}");
            let mut pieces = Vec::new();
            let mut rest = printed.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                pieces.push(now);
                rest = later;
            }
            let window = DiffWindow { line_bytes, bytes: usize::MAX, ..ALL };
            let whole = read(window, &[printed.as_bytes()]);
            prop_assert_eq!(whole.patch.replace("\n…", ""), format!("diff --git a/file b/file\n{patch}"));
            let (mut first, mut together) = (1, String::new());
            while first <= whole.total {
                let page = read(DiffWindow { first, lines: most, bytes, ..window }, &pieces);
                prop_assert!(page.last >= first && page.total == whole.total);
                together += &page.patch;
                first = page.last + 1;
            }
            prop_assert_eq!(together, whole.patch);
        }
    }
}
