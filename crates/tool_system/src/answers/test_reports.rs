//! Reads what test programs print: how many tests passed, and what the failing ones said.
//!
//! Which program it was is seen from the text, because a script called `test` can run any of them,
//! and several. Pure.

/// A regular expression that is compiled when first used. Those in this module are constant, and
/// a test uses each.
macro_rules! pattern {
    ($name:ident = $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            #[allow(clippy::expect_used, reason = "a constant that tests compile")]
            regex::Regex::new($text).expect("a valid pattern")
        });
    };
}

mod go;
mod javascript;
mod jvm;
mod libtest;
mod python;
mod tap;

use schemars::JsonSchema;
use serde::Serialize;

/// Failing tests beyond this are counted and not shown.
const MAX_FAILURES: usize = 50;
/// Bytes that are shown of what one failing test said.
const MAX_FAILURE_BYTES: usize = 4 * 1024;

/// What a run of tests gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestReport {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) failures: Vec<FailedTest>,
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FailedTest {
    pub(crate) name: String,
    /// What it said.
    pub(crate) output: String,
}

impl FailedTest {
    fn new(name: impl Into<String>, output: &str) -> Self {
        let output = output.trim_matches('\n').trim_end();
        Self { name: name.into(), output: both_ends(output, MAX_FAILURE_BYTES) }
    }
}

impl TestReport {
    /// `2 failed, 10 passed, 1 skipped`, without what there is none of.
    pub(crate) fn in_words(&self) -> String {
        counts_in_words(self.passed, self.failed, self.skipped)
    }

    fn add(&mut self, more: TestReport) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.failures.extend(more.failures);
    }

    /// Leaves out failures that are told twice, and those that are too many.
    fn tidied(mut self) -> Self {
        let mut told = std::collections::HashSet::new();
        self.failures.retain(|failure| told.insert((failure.name.clone(), failure.output.clone())));
        self.failures.truncate(MAX_FAILURES);
        self
    }
}

/// How many tests did what, in words.
pub(crate) fn counts_in_words(passed: usize, failed: usize, skipped: usize) -> String {
    let counts = [(failed, "failed"), (passed, "passed"), (skipped, "skipped")];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
    if told.is_empty() { "no tests".to_owned() } else { told.join(", ") }
}

/// Recognises one kind of report in a text.
type ReportReader = fn(&str) -> Option<TestReport>;

const READERS: [ReportReader; 11] = [
    libtest::read,
    python::read_pytest,
    python::read_unittest,
    go::read_json,
    go::read_plain,
    javascript::read_jest,
    javascript::read_vitest,
    javascript::read_mocha,
    tap::read,
    tap::read_spec,
    jvm::read,
];

/// All reports in what a program printed, added up; none if no report is recognised.
pub(crate) fn read(stdout: &str, stderr: &str) -> Option<TestReport> {
    let text = plain(&format!("{stdout}\n{stderr}"));
    let mut whole: Option<TestReport> = None;
    for found in READERS.iter().filter_map(|read| read(&text)) {
        whole.get_or_insert_default().add(found);
    }
    whole.map(TestReport::tidied)
}

/// The text without the sequences that colour it.
fn plain(text: &str) -> String {
    pattern!(COLOUR = r"\x1b\[[0-9;?]*[A-Za-z]");
    COLOUR.replace_all(text, "").replace('\r', "")
}

/// The beginning and the end of a text that is too long; failures begin with what was wrong and end
/// with where.
pub(crate) fn both_ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(max / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - max / 2)..];
    // Where lines end, unless there are none.
    let head = head.rfind('\n').map_or(head, |end| &head[..end]);
    let tail = tail.split_once('\n').map_or(tail, |(_, tail)| tail);
    let middle = &text[head.len()..text.len() - tail.len()];
    let (lines, bytes) = (middle.trim_matches('\n').lines().count(), middle.len());
    format!("{head}\n[{lines} lines ({bytes} bytes) left out]\n{tail}")
}

/// The number that stands before `word`, such as the 3 in `3 passed`; 0 if there is none.
fn number_before(text: &str, word: &str) -> usize {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let mut before = 0;
    words
        .find_map(|part| {
            if part == word {
                return Some(before);
            }
            before = part.parse().unwrap_or(0);
            None
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
