//! The file that remembers what was typed, for this session and those beside it.

use std::path::{Path, PathBuf};

use terminal::{HistoryWrite, InputHistory};
use workspace::{LockedFile, Workspace, bytes_to_text};

/// The largest history that is read. A thousand messages with long pastes fit into it.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A history file that other sessions may write too.
#[derive(Debug)]
pub(crate) struct HistoryFile {
    /// Absent once a write has failed: a history that cannot be kept must not disturb the input.
    path: Option<PathBuf>,
}

impl HistoryFile {
    /// The file at `path`, whose directory must exist, and what it holds. A file that is missing or cannot
    /// be read is an empty history.
    pub(crate) fn open(path: PathBuf) -> (Self, InputHistory) {
        let history = read(&path).map(|text| InputHistory::read(&text)).unwrap_or_default();
        (Self { path: Some(path) }, history)
    }

    /// Writes what the input box asks for. The first failure is the last attempt.
    pub(crate) fn write(&mut self, write: HistoryWrite) {
        if let Some(path) = &self.path
            && written(path, write).is_err()
        {
            self.path = None;
        }
    }
}

/// Reads without the lock: a file is replaced as a whole, and a half-written last line does no harm.
fn read(path: &Path) -> Option<String> {
    let directory = Workspace::open(path.parent()?).ok()?;
    let name = bytes_to_text(path.file_name()?.as_encoded_bytes());
    let mut file = directory.open_file(&directory.resolve(&name).ok()?).ok()?;
    Some(text_of(&file.read_all(MAX_BYTES).ok()?))
}

/// Nothing is lost to bytes that are not text but the bytes themselves.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn written(path: &Path, write: HistoryWrite) -> Result<(), workspace::Error> {
    let mut file = LockedFile::open(path)?;
    let now = text_of(&file.read(MAX_BYTES)?);
    match InputHistory::rebased(&now, write) {
        HistoryWrite::Append(line) => file.append(line.as_bytes()),
        HistoryWrite::Replace(content) => file.replace(content.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    /// A session: what it remembers, and where that is kept.
    struct Typist {
        file: HistoryFile,
        history: InputHistory,
    }

    impl Typist {
        fn new(path: PathBuf) -> Self {
            let (file, history) = HistoryFile::open(path);
            Self { file, history }
        }

        fn types(&mut self, text: &str) {
            if let Some(write) = self.history.add(text) {
                self.file.write(write);
            }
        }
    }

    fn remembered(directory: &Fixture) -> Vec<String> {
        HistoryFile::open(directory.path("history")).1.entries().to_vec()
    }

    #[test]
    fn the_history_is_kept_for_its_owner_only() {
        let directory = Fixture::new("");
        let mut typist = Typist::new(directory.path("history"));
        assert!(typist.history.entries().is_empty());
        for text in ["one", "two\nlines \\", "two\nlines \\", " secret", ""] {
            typist.types(text);
        }
        assert_eq!(remembered(&directory), ["one", "two\nlines \\"]);
        let mode = rustix::fs::stat(directory.path("history")).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_files_of_the_former_line_editor_are_read() {
        let directory = Fixture::new("//- /history\n#V2\none\ntwo\\nlines \\\\\n");
        let mut typist = Typist::new(directory.path("history"));
        assert_eq!(typist.history.entries(), ["one", "two\nlines \\"]);
        typist.types("three");
        assert_eq!(directory.read("history"), "#V2\none\ntwo\\nlines \\\\\nthree\n");
    }

    #[test]
    fn two_sessions_take_turns_and_lose_nothing() {
        let directory = Fixture::new("");
        let open = || Typist::new(directory.path("history"));
        // Both saw no file, so both begin with a whole one.
        let (mut left, mut right) = (open(), open());
        for (at, text) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            if at % 2 == 0 { left.types(text) } else { right.types(text) }
        }
        assert_eq!(remembered(&directory), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_file_that_is_written_anew_keeps_what_others_have_added() {
        let lines: String = (0..2000).map(|n| format!("{n}\n")).collect();
        let directory = Fixture::new("");
        directory.write("history", format!("#V2\n{lines}"));
        let open = || Typist::new(directory.path("history"));
        let (mut left, mut right) = (open(), open());
        right.types("from the right");
        left.types("from the left");
        let kept = remembered(&directory);
        assert_eq!(kept.len(), 1000);
        assert_eq!(kept[997..], ["1999", "from the right", "from the left"]);
        assert_eq!(directory.read("history").lines().count(), 1001);
    }

    #[test]
    fn what_was_removed_does_not_come_back_and_the_format_stays() {
        let directory = Fixture::new("//- /history\n#V2\nold\n");
        let mut typist = Typist::new(directory.path("history"));
        directory.write("history", "");
        typist.types("new");
        typist.types("a\\b");
        assert_eq!(directory.read("history"), "#V2\nnew\na\\\\b\n");
    }

    #[test]
    fn two_threads_that_write_at_once_lose_nothing() {
        let directory = Fixture::new("");
        std::thread::scope(|scope| {
            for name in ["left", "right"] {
                let mut typist = Typist::new(directory.path("history"));
                scope.spawn(move || (0..100).for_each(|n| typist.types(&format!("{name} {n}"))));
            }
        });
        let all = remembered(&directory);
        assert_eq!(all.len(), 200);
        for name in ["left", "right"] {
            let own: Vec<&String> = all.iter().filter(|text| text.starts_with(name)).collect();
            assert_eq!(
                own,
                (0..100)
                    .map(|n| format!("{name} {n}"))
                    .collect::<Vec<_>>()
                    .iter()
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_history_that_cannot_be_written_is_given_up() {
        let directory = Fixture::new("//- /history/not_a_file\nx\n");
        for name in ["history", "missing/history"] {
            let mut typist = Typist::new(directory.path(name));
            assert!(typist.history.entries().is_empty());
            typist.types("one");
            assert_eq!(typist.file.path, None, "{name}");
            typist.types("two");
            assert_eq!(typist.history.entries(), ["one", "two"], "the session remembers them");
        }
    }
}
