//! Messages of earlier sessions, and the file format that keeps them.
//!
//! The first line is `#V2`, then each line is an entry with `\n` and `\\` for line breaks and
//! backslashes. A file without the first line holds entries as they are.

/// Messages that are remembered.
const MOST_ENTRIES: usize = 1000;
/// Lines after which the file is written anew, without what was forgotten.
const MOST_FILE_LINES: usize = 2 * MOST_ENTRIES;
const HEADER: &str = "#V2";

/// What the caller does with the history file, which only its owner may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryWrite {
    /// Add this to the end.
    Append(String),
    /// Write the file anew with this content.
    Replace(String),
}

/// What was sent before, the oldest first, each text once.
#[derive(Clone, Debug, Default)]
pub struct InputHistory {
    entries: Vec<String>,
    file_lines: usize,
    has_header: bool,
}

impl InputHistory {
    /// Reads the content of a history file; an empty one is fine.
    pub fn read(file: &str) -> Self {
        let mut lines = file.lines().peekable();
        let has_header = lines.next_if_eq(&HEADER).is_some();
        let mut history = Self { has_header, ..Self::default() };
        for line in lines {
            history.file_lines += 1;
            if !line.is_empty() {
                history.keep(if has_header { unescaped(line) } else { line.to_owned() });
            }
        }
        // A last line that was not written to its end must not grow into the next entry.
        history.has_header &= file.ends_with('\n');
        history
    }

    /// The entries, the oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Remembers a text. A text that begins with a blank is not remembered, as in a shell.
    pub fn add(&mut self, text: &str) -> Option<HistoryWrite> {
        let is_last = self.entries.last().is_some_and(|last| last == text);
        if text.trim().is_empty() || text.starts_with(' ') || is_last {
            return None;
        }
        self.keep(text.to_owned());
        self.file_lines += 1;
        if self.has_header && self.file_lines <= MOST_FILE_LINES {
            return Some(HistoryWrite::Append(format!("{}\n", escaped(text))));
        }
        self.has_header = true;
        self.file_lines = self.entries.len();
        Some(HistoryWrite::Replace(self.written()))
    }

    /// What is to be done in place of `write` if the file holds `file` by now. Other sessions may have added
    /// to it, or it may have been removed: their entries stay, and those that were removed do not come back.
    pub fn rebased(file: &str, write: HistoryWrite) -> HistoryWrite {
        let mut history = Self::read(file);
        match write {
            // Any number of entries of this session may be in the file already, but for the newest.
            HistoryWrite::Replace(content) => {
                Self::read(&content).entries.pop().into_iter().for_each(|text| history.keep(text));
            }
            HistoryWrite::Append(line) if history.has_header => return HistoryWrite::Append(line),
            HistoryWrite::Append(line) => history.keep(unescaped(line.trim_end_matches('\n'))),
        }
        HistoryWrite::Replace(history.written())
    }

    /// The whole file.
    fn written(&self) -> String {
        let lines = self.entries.iter().map(|entry| format!("{}\n", escaped(entry)));
        format!("{HEADER}\n{}", lines.collect::<String>())
    }

    /// The newest entry before `before` that holds `query`, whatever its case.
    pub(crate) fn find_back(&self, query: &str, before: usize) -> Option<usize> {
        let query = query.to_lowercase();
        let older = &self.entries[..before.min(self.entries.len())];
        older.iter().rposition(|entry| entry.to_lowercase().contains(&query))
    }

    fn keep(&mut self, text: String) {
        self.entries.retain(|entry| *entry != text);
        if self.entries.len() == MOST_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(text);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => text.push('\n'),
                Some('\\') | None => text.push('\\'),
                Some(other) => text.extend(['\\', other]),
            },
            (c, _) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_file_formats_are_read_and_duplicates_are_kept_once() {
        let read = |file: &str| InputHistory::read(file).entries().to_vec();
        assert_eq!(read("#V2\none\ntwo\\nlines \\\\\none\n"), ["two\nlines \\", "one"]);
        assert_eq!(read("a\\nb\n\nc\n"), ["a\\nb", "c"]);
        assert!(read("").is_empty());
    }

    #[test]
    fn a_file_is_appended_to_or_written_anew_if_it_is_old() {
        let mut old = InputHistory::read("a\\b\n");
        let replaced = HistoryWrite::Replace("#V2\na\\\\b\nc\\nd\n".into());
        assert_eq!(old.add("c\nd"), Some(replaced));
        assert_eq!(old.add("e"), Some(HistoryWrite::Append("e\n".into())));
        for forgotten in ["e", " secret", "", "\n"] {
            assert_eq!(old.add(forgotten), None, "{forgotten:?}");
        }
        let mut cut = InputHistory::read("#V2\nhalf");
        assert_eq!(cut.add("x"), Some(HistoryWrite::Replace("#V2\nhalf\nx\n".into())));
    }

    #[test]
    fn a_file_that_grew_too_long_is_written_anew() {
        let mut history = InputHistory::read("#V2\n");
        let writes: Vec<HistoryWrite> =
            (0..=MOST_FILE_LINES).filter_map(|n| history.add(&n.to_string())).collect();
        let Some((HistoryWrite::Replace(file), rest)) = writes.split_last() else {
            panic!("the last write replaces the file")
        };
        assert_eq!(file.lines().count(), MOST_ENTRIES + 1);
        assert!(rest.iter().all(|write| matches!(write, HistoryWrite::Append(_))));
    }

    #[test]
    fn a_write_is_made_anew_for_what_the_file_holds_by_now() {
        let append = || HistoryWrite::Append("a\\nb\n".into());
        let replace = || HistoryWrite::Replace("#V2\nold\nnew\n".into());
        let replaced = |file: &str| HistoryWrite::Replace(file.to_owned());
        let table = [
            ("#V2\nother\n", append(), append()),
            ("", append(), replaced("#V2\na\\nb\n")),
            ("plain\\\n", append(), replaced("#V2\nplain\\\\\na\\nb\n")),
            ("#V2\nhalf", append(), replaced("#V2\nhalf\na\\nb\n")),
            ("", replace(), replaced("#V2\nnew\n")),
            ("#V2\nold\nother\n", replace(), replaced("#V2\nold\nother\nnew\n")),
            ("#V2\nnew\nother\n", replace(), replaced("#V2\nother\nnew\n")),
        ];
        for (file, write, expected) in table {
            assert_eq!(InputHistory::rebased(file, write), expected, "{file:?}");
        }
        let full: String = (0..MOST_ENTRIES).map(|n| format!("{n}\n")).collect();
        let HistoryWrite::Replace(kept) = InputHistory::rebased(&format!("#V2\n{full}"), replace())
        else {
            panic!("it is written anew")
        };
        assert_eq!(InputHistory::read(&kept).entries().len(), MOST_ENTRIES);
        assert!(kept.ends_with("\n999\nnew\n") && kept.starts_with("#V2\n1\n"));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[a-z\\\\\n]{1,12}") {
            let mut history = InputHistory::default();
            if let Some(HistoryWrite::Replace(file)) = history.add(&text) {
                let read = InputHistory::read(&file);
                prop_assert_eq!(read.entries(), [text]);
            }
        }
    }
}
