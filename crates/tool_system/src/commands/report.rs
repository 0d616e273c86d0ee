//! The report on a command that ran.

use sandbox::{Exit, LimitKind, Ran, Stream};
use serde_json::{Map, Value, json};

use crate::ToolContext;

/// Where the user allows more than the public Internet.
const ALLOW_KEY: &str = "sandbox.network_allow in the user's configuration";

const REPOSITORY: &str = "Commands can read the repository and not change it (.git is read-only \
                          here): git_commit and git_push do that, anything else only the user.";

/// The raw report, which a tool turns into its answer.
pub(crate) fn report(ran: &Ran) -> Value {
    let mut report = Map::new();
    let (exit_code, signal) = match ran.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        Exit::Timeout | Exit::Cancelled | Exit::Limit(_) => (None, None),
    };
    report.insert("stdout".into(), ran.stdout.text().into());
    report.insert("stderr".into(), ran.stderr.text().into());
    report.insert("exit_code".into(), exit_code.into());
    if let Some(signal) = signal {
        report.insert("signal".into(), signal.into());
    }
    report.insert("timed_out".into(), (ran.exit == Exit::Timeout).into());
    if ran.exit == Exit::Cancelled {
        report.insert("cancelled".into(), true.into());
    }
    if let Exit::Limit(kind) = ran.exit {
        report.insert("limit".into(), limit_name(kind).into());
    }
    if let Some(note) = note(ran) {
        report.insert("note".into(), note.into());
    }
    if !ran.refused_connections.is_empty() {
        report.insert("refused_connections".into(), json!(ran.refused_connections));
    }
    report.insert("duration_ms".into(), millis(ran).into());
    report.insert("stdout_bytes".into(), ran.stdout.total_bytes.into());
    report.insert("stderr_bytes".into(), ran.stderr.total_bytes.into());
    report.insert("sandbox".into(), json!(ran.level.summary()));
    Value::Object(report)
}

fn note(ran: &Ran) -> Option<String> {
    let left = ran.left_behind.then(|| "Processes that it left behind were ended.".to_owned());
    let refused: Vec<String> = ran.refused_connections.iter().map(ToString::to_string).collect();
    let refused = (!refused.is_empty()).then(|| {
        let refused = refused.join("; ");
        format!("Refused connections ({ALLOW_KEY} can allow them): {refused}.")
    });
    let has_failed = ran.exit != Exit::Code(0);
    let repository =
        (has_failed && is_kept_from_repository(&ran.stderr.text())).then(|| REPOSITORY.to_owned());
    let notes: Vec<String> = left.into_iter().chain(refused).chain(repository).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Whether a program complains that it cannot change the repository. Git's own words for that do not
/// always say why.
fn is_kept_from_repository(stderr: &str) -> bool {
    stderr.lines().any(|line| {
        line.contains(".git") && line.contains("Read-only file system")
            || line == "error: could not write index"
    })
}

fn millis(ran: &Ran) -> u64 {
    ran.duration.as_millis().try_into().unwrap_or(u64::MAX)
}

fn limit_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Cpu => "processor time",
        LimitKind::FileSize => "size of a file",
        LimitKind::Memory => "memory",
        LimitKind::Disk => "room on the disk",
    }
}

/// Shows output as it comes. A character may be cut between two pieces; it is held back until it is
/// whole.
pub(crate) struct LiveOutput<'c> {
    cx: &'c ToolContext,
    pending: [Vec<u8>; 2],
}

impl<'c> LiveOutput<'c> {
    pub(crate) fn new(cx: &'c ToolContext) -> Self {
        Self { cx, pending: Default::default() }
    }

    pub(crate) fn show(&mut self, stream: Stream, bytes: &[u8]) {
        let pending = &mut self.pending[usize::from(stream == Stream::Stderr)];
        let joined;
        let bytes = if pending.is_empty() {
            bytes
        } else {
            pending.extend_from_slice(bytes);
            joined = std::mem::take(pending);
            &joined
        };
        let (whole, rest) = bytes.split_at(whole_characters(bytes));
        pending.extend_from_slice(rest);
        if !whole.is_empty() {
            self.cx.output(&String::from_utf8_lossy(whole));
        }
    }
}

/// Up to where `bytes` ends with a whole character, or with what can never become one.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for at in (from..bytes.len()).rev() {
        let needed = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => break,
        };
        return if at + needed > bytes.len() { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{is_kept_from_repository, whole_characters};

    #[test]
    fn git_that_cannot_write_is_recognised() {
        let cases = [
            ("fatal: Unable to create '/p/.git/index.lock': Read-only file system\n", true),
            ("Saved\nerror: could not write index\n", true),
            ("error: could not lock config file .git/config: Read-only file system\n", true),
            ("touch: cannot touch '/usr/x': Read-only file system\n", false),
            ("fatal: not a git repository (or any of the parent directories): .git\n", false),
        ];
        for (stderr, expected) in cases {
            assert_eq!(is_kept_from_repository(stderr), expected, "{stderr}");
        }
    }

    #[test]
    fn a_cut_character_is_held_back_and_nonsense_is_not() {
        let cases: [(&[u8], usize); 8] = [
            (b"", 0),
            (b"abc", 3),
            ("aé".as_bytes(), 3),
            (b"a\xC3", 1),
            (b"a\xE2\x82", 1),
            ("a€".as_bytes(), 4),
            (b"\xF0\x9F\x98", 0),
            (b"a\x80\x80\x80\x80", 5),
        ];
        for (bytes, whole) in cases {
            assert_eq!(whole_characters(bytes), whole, "{bytes:?}");
        }
    }
}
