//! Which lines a diff changes, read back from its text, so that an answer can name them.

use std::fmt::Write as _;

/// How many places of one file are named.
const MAX_PLACES: usize = 20;
/// How many lines of one file are shown.
const MAX_SHOWN_LINES: usize = 60;

/// What a diff says about one path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) fate: FileFate<'a>,
    pub(crate) runs: Vec<LineRun<'a>>,
}

/// What happens to a path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum FileFate<'a> {
    #[default]
    Edited,
    Created,
    Deleted,
    MovedFrom(&'a str),
    /// A directory or a link: there are no lines to name.
    Other,
}

/// Neighbouring lines that come and go.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LineRun<'a> {
    /// The number of the first line that comes; the line before the gap if none does.
    pub(crate) start: usize,
    pub(crate) added: Vec<&'a str>,
    pub(crate) removed: usize,
}

/// The files of a diff as [`protocol::unified`] writes it. What follows a cut is not there.
pub(crate) fn changed_files(diff: &str) -> Vec<ChangedFile<'_>> {
    let mut files: Vec<ChangedFile<'_>> = Vec::new();
    let mut lines = diff.lines();
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            // Unless it is moved, the same path stands on both sides of ` b/`.
            let path = names.get(..names.len().saturating_sub(3) / 2).unwrap_or(names);
            files.push(ChangedFile { path, ..ChangedFile::default() });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(header) = line.strip_prefix("@@ -") {
            let Some(hunk) = HunkHeader::read(header) else { continue };
            hunk.runs(&mut lines, &mut file.runs);
        } else if line.starts_with("new file mode ") {
            file.fate = FileFate::Created;
        } else if line.starts_with("deleted file mode ") || line.starts_with("deleted link mode ") {
            file.fate = FileFate::Deleted;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            file.fate = FileFate::MovedFrom(from);
        } else if let Some(to) = line.strip_prefix("rename to ") {
            file.path = to;
        } else if ["new directory", "deleted directory", "link mode "]
            .iter()
            .any(|other| line.starts_with(other))
        {
            file.fate = FileFate::Other;
        }
    }
    files
}

/// The numbers at the head of a hunk.
struct HunkHeader {
    old_lines: usize,
    new_start: usize,
    new_lines: usize,
}

impl HunkHeader {
    /// Reads `1,3 +1,4 @@`.
    fn read(text: &str) -> Option<Self> {
        let (old, rest) = text.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let range = |text: &str| {
            let (start, lines) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse::<usize>().ok()?, lines.parse::<usize>().ok()?))
        };
        let ((_, old_lines), (new_start, new_lines)) = (range(old)?, range(new)?);
        Some(Self { old_lines, new_start, new_lines })
    }

    /// Takes the lines of the hunk, by their numbers: a line that looks like a header is no header here.
    fn runs<'a>(mut self, lines: &mut std::str::Lines<'a>, runs: &mut Vec<LineRun<'a>>) {
        // A hunk without lines on this side names the line before it.
        let mut next = if self.new_lines == 0 { self.new_start + 1 } else { self.new_start };
        let mut run: Option<LineRun<'a>> = None;
        while self.old_lines > 0 || self.new_lines > 0 {
            let Some(line) = lines.next() else { break };
            match line.split_at_checked(1) {
                Some(("+", text)) => {
                    run.get_or_insert(LineRun { start: next, ..LineRun::default() })
                        .added
                        .push(text);
                    next += 1;
                    self.new_lines = self.new_lines.saturating_sub(1);
                }
                Some(("-", _)) => {
                    run.get_or_insert(LineRun { start: next, ..LineRun::default() }).removed += 1;
                    self.old_lines = self.old_lines.saturating_sub(1);
                }
                Some((" ", _)) => {
                    runs.extend(run.take().map(LineRun::placed));
                    next += 1;
                    self.old_lines = self.old_lines.saturating_sub(1);
                    self.new_lines = self.new_lines.saturating_sub(1);
                }
                // That a file ends without a line ending.
                Some(("\\", _)) => {}
                // The diff was cut.
                _ => break,
            }
        }
        runs.extend(run.take().map(LineRun::placed));
    }
}

impl LineRun<'_> {
    fn placed(mut self) -> Self {
        if self.added.is_empty() {
            self.start = self.start.saturating_sub(1);
        }
        self
    }

    /// `13`, `13-17 (+3)` or `after 12 (-2)`.
    fn place(&self) -> String {
        let place = match self.added.len() {
            0 => format!("after {}", self.start),
            1 => self.start.to_string(),
            more => format!("{}-{}", self.start, self.start + more - 1),
        };
        match self.added.len().cast_signed() - self.removed.cast_signed() {
            0 => place,
            moved => format!("{place} ({moved:+})"),
        }
    }
}

impl ChangedFile<'_> {
    /// The lines that changed, by the numbers they have afterwards: `line 13`, `lines 13-17 (+3)`. In
    /// brackets is by how much the lines below moved. None if only other things changed, such as the mode.
    pub(crate) fn places(&self) -> Option<String> {
        let one = match self.runs.as_slice() {
            [] => return None,
            [run] => run.added.len() < 2,
            _ => false,
        };
        let named: Vec<String> = self.runs.iter().take(MAX_PLACES).map(LineRun::place).collect();
        let mut text = format!("{} {}", if one { "line" } else { "lines" }, named.join(", "));
        if let [run] = self.runs.as_slice()
            && run.added.is_empty()
        {
            text = run.place().replacen("after", "after line", 1);
        }
        if let Some(more @ 1..) = self.runs.len().checked_sub(MAX_PLACES) {
            // Writing to a string cannot fail.
            let _ = write!(text, " and {more} more places");
        }
        Some(text)
    }

    /// The lines that came, each with its number.
    pub(crate) fn new_lines(&self) -> String {
        let numbered = self
            .runs
            .iter()
            .flat_map(|run| run.added.iter().enumerate().map(|(at, line)| (run.start + at, *line)));
        let mut text = String::new();
        for (number, line) in numbered.clone().take(MAX_SHOWN_LINES) {
            let _ = writeln!(text, "{number}\t{line}");
        }
        if let Some(more @ 1..) = numbered.count().checked_sub(MAX_SHOWN_LINES) {
            let _ = writeln!(text, "… {more} more changed lines");
        }
        text.pop();
        text
    }

    /// What became of the path in a few words, after its name.
    pub(crate) fn described(&self) -> String {
        let path = self.path;
        let places = self.places();
        match (&self.fate, places) {
            (FileFate::Edited, Some(places)) => format!("{path}: {places}"),
            (FileFate::Created, _) => format!("{path}: created"),
            (FileFate::Deleted, _) => format!("{path}: deleted"),
            (FileFate::MovedFrom(from), Some(places)) => {
                format!("{path}: moved from {from}, {places}")
            }
            (FileFate::MovedFrom(from), None) => format!("{path}: moved from {from}"),
            (FileFate::Edited | FileFate::Other, _) => path.to_owned(),
        }
    }
}

/// Every file of a diff with its new lines, for changes that the model has not written itself. What
/// was created or deleted is only named: reading it is another call.
pub(crate) fn shown_changes(diff: &str) -> String {
    let mut text = String::new();
    for file in changed_files(diff) {
        let _ = writeln!(text, "{}", file.described());
        let new_lines = file.new_lines();
        if !matches!(file.fate, FileFate::Created | FileFate::Deleted) && !new_lines.is_empty() {
            let _ = writeln!(text, "{new_lines}");
        }
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::{Base, Change, ContentHash, FileBytes, FileDiff, unified};

    use super::*;

    fn diff_of(before: &str, after: &str) -> String {
        let hash = ContentHash::of(before.as_bytes());
        let base = Base::File { hash, size: before.len() as u64, mode: 0o644 };
        let content = FileBytes(after.as_bytes().to_vec());
        let change = Change::Write { path: "src/a b.rs".into(), base, content, mode: None };
        unified(&[FileDiff::of(&change, Some(before.as_bytes()))])
    }

    #[test]
    fn places_are_named_as_they_are_afterwards() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let cases = [
            (before.replace("3\n", "three\n"), "line 3"),
            (before.replace("3\n", "a\nb\nc\n"), "lines 3-5 (+2)"),
            (before.replace("3\n4\n", "x\n"), "line 3 (-1)"),
            (before.replace("3\n4\n", ""), "after line 2 (-2)"),
            (before.replacen("1\n", "", 1), "after line 0 (-1)"),
            (before.replace("2\n", "2\nnew\n"), "lines 3 (+1), 14 (+1)"),
            (before.replace("3\n4\n", "").replace("12", "twelve"), "lines after 2 (-2), 10"),
            (format!("{before}13"), "line 13 (+1)"),
            (String::new(), "after line 0 (-12)"),
        ];
        for (after, expected) in cases {
            let diff = diff_of(before, &after);
            let files = changed_files(&diff);
            assert_eq!(files.len(), 1);
            assert_eq!(files[0].path, "src/a b.rs");
            assert_eq!(files[0].places().as_deref(), Some(expected), "{diff}");
        }
    }

    #[test]
    fn lines_that_look_like_headers_are_lines() {
        let diff = diff_of("-- a/x\nkeep\n", "++ b/x\nkeep\n@@ -1 +1 @@\ndiff --git a/y b/y\n");
        let files = changed_files(&diff);
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].new_lines(), "1\t++ b/x\n3\t@@ -1 +1 @@\n4\tdiff --git a/y b/y");
    }

    #[test]
    fn every_fate_is_told() {
        let text = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\
                    diff --git a/d b/d\ndeleted file mode 100644\n\
                    diff --git a/old name b/new\nrename from old name\nrename to new\n\
                    diff --git a/dir b/dir\nnew directory\n\
                    diff --git a/m b/m\nold mode 100644\nnew mode 100755\n";
        insta::assert_snapshot!(shown_changes(text), @r"
        n: created
        d: deleted
        new: moved from old name
        dir
        m
        ");
    }

    #[test]
    fn a_cut_diff_tells_what_it_has() {
        let diff = diff_of("a\nb\nc\n", "x\nb\ny\n");
        let cut = format!("{}\n… [the diff has 9 lines]", &diff[..diff.find("+y").unwrap()]);
        assert_eq!(changed_files(&cut)[0].new_lines(), "1\tx");
        assert_eq!(changed_files("no diff at all"), []);
    }

    proptest! {
        #[test]
        fn new_lines_stand_in_the_file_where_they_are_said_to(
            before in prop::collection::vec("[ab-]{0,2}", 0..20),
            after in prop::collection::vec("[ab+]{0,2}", 0..20),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let diff = diff_of(&text(&before), &text(&after));
            let mut delta = 0;
            for run in changed_files(&diff).iter().flat_map(|file| &file.runs) {
                for (at, line) in run.added.iter().enumerate() {
                    prop_assert_eq!(Some(*line), after.get(run.start + at - 1).map(String::as_str));
                }
                delta += run.added.len().cast_signed() - run.removed.cast_signed();
            }
            prop_assert_eq!(delta, after.len().cast_signed() - before.len().cast_signed());
        }

        #[test]
        fn any_text_is_read_without_a_fault(text in "(diff --git a/|@@ -1,2 \\+3 @@|[-+ \\\\]|\n|é|x){0,40}") {
            changed_files(&text);
            shown_changes(&text);
        }
    }
}
