//! An approval question in words. Every front end shows these and no others, so that the user agrees
//! to the same thing everywhere.

use std::fmt;

use crate::{
    ApprovalRequest, FileDiff, Proposal, ToolCall, WebRequest, describe_call, describe_command,
    describe_foreign, unified, visible,
};

/// Characters of the reason. The model may have written a part, and must not push the diff away.
const MAX_REASON: usize = 500;
const UNNAMED: &str =
    "! the model made this address up: neither you nor an earlier result named it";
/// Files that are named when a part of the diff is left out.
const MAX_NAMED_FILES: usize = 100;

/// What the user is shown, as text without anything that a screen would interpret, reorder or hide. It
/// prints as a whole; front ends with colours take the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionText {
    /// The call, on one line.
    pub title: String,
    /// Why the user is asked, on one line.
    pub reason: String,
    /// What a careful reader should know first, one line each.
    pub warnings: Vec<String>,
    /// The command, or the changes as a diff.
    pub what: String,
    /// What "always" would mean, on one line; absent where it is not offered.
    pub always: Option<String>,
}

impl QuestionText {
    /// The question with at most `max_diff` bytes of the diff. If that is not all of it, every file
    /// is named first, so that none hides behind the cut.
    pub fn of(request: &ApprovalRequest, max_diff: usize) -> Self {
        let call = ToolCall::new("", request.tool.clone(), request.args.clone());
        let warnings = request.diffs.iter().flat_map(|file| {
            let path = visible(&file.path);
            file.warnings.iter().map(move |warning| format!("! {path}: {warning}"))
        });
        let unnamed = matches!(&request.proposal, Proposal::Web(web) if web.unnamed);
        let unnamed = unnamed.then(|| UNNAMED.to_owned()).into_iter();
        Self {
            title: visible(&describe_call(&call)),
            reason: shortened(visible(&request.reason)),
            warnings: unnamed.chain(warnings.take(MAX_NAMED_FILES)).collect(),
            what: match &request.proposal {
                Proposal::Command(command) => describe_command(command),
                Proposal::Foreign(call) => describe_foreign(call),
                Proposal::Changes(_) => shown(&request.diffs, max_diff),
                Proposal::Web(web) => describe_web_request(web),
            },
            always: request.remembers.as_deref().map(|words| format!("Always: {}", visible(words))),
        }
    }
}

/// The whole request, one fact a line. Nothing is cut, and characters that could deceive are escaped.
fn describe_web_request(web: &WebRequest) -> String {
    let WebRequest { method, url, headers, body, timeout_ms: _, search, unnamed: _ } = web;
    let mut text = format!("{} {}\n", visible(method), visible(url));
    for (name, value) in headers {
        text.push_str(&format!("with {}: {}\n", visible(name), visible(value)));
    }
    for line in body.iter().flat_map(|body| body.split('\n')) {
        text.push_str(&format!("sending {}\n", visible(line)));
    }
    if let Some(search) = search {
        text.push_str(&format!("with the configured key of {}\n", visible(search)));
    }
    text
}

impl fmt::Display for QuestionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, reason, warnings, what, always } = self;
        writeln!(f, "{title}\n{reason}")?;
        warnings.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        always.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        write!(f, "\n{what}")
    }
}

fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_REASON) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn shown(diffs: &[FileDiff], max_bytes: usize) -> String {
    let diff = unified(diffs);
    if diff.len() <= max_bytes {
        return diff;
    }
    let mut text = String::new();
    for file in diffs.iter().take(MAX_NAMED_FILES) {
        let FileDiff { kind, path, added, removed, .. } = file;
        text.push_str(&format!("{kind:?} {} +{added} -{removed}\n", visible(path)));
    }
    if let Some(more @ 1..) = diffs.len().checked_sub(MAX_NAMED_FILES) {
        text.push_str(&format!("… and {more} more files\n"));
    }
    let most = diff.floor_char_boundary(max_bytes);
    // Whole lines, unless one alone is too long.
    let lines = diff[..most].rfind('\n').map(|at| at + 1).filter(|end| *end > most / 2);
    let (begin, rest) = diff.split_at(lines.unwrap_or(most));
    let (lines, bytes) = (rest.lines().count(), rest.len());
    format!("{text}\n{begin}\n… {lines} more lines ({bytes} bytes) of the diff are not shown")
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::{Base, Change, ChangeSet, CommandSpec, FileBytes};

    fn request(proposal: Proposal, reason: &str) -> ApprovalRequest {
        let diffs = match &proposal {
            Proposal::Changes(set) => {
                set.changes.iter().map(|change| FileDiff::of(change, None)).collect()
            }
            _ => Vec::new(),
        };
        ApprovalRequest {
            step_id: "s1".into(),
            tool: "write_file\u{1b}[2J".into(),
            args: Map::from_iter([("path".to_owned(), json!("a\u{202e}.txt"))]),
            reason: reason.into(),
            is_routine: false,
            proposal_hash: proposal.hash(),
            proposal,
            diffs,
            remembers: Some("write_file may change `a`\n".into()),
            expires_in_ms: 1,
        }
    }

    #[test]
    fn nothing_that_a_screen_obeys_is_in_a_question() {
        let write = Change::Write {
            path: "a\u{202e}.txt".into(),
            base: Base::Absent,
            content: FileBytes(b"one\x1b[1m\n\xc2\x9b2J\n".to_vec()),
            mode: Some(0o755),
        };
        let changes = Proposal::Changes(ChangeSet { changes: vec![write] });
        insta::assert_snapshot!(QuestionText::of(&request(changes, "because\r\nof\u{200b}"), 1 << 20), @r#"
        write_file\x1B[2J(path="a\u{202E}.txt")
        because\r\nof\u{200B}
        ! a\u{202E}.txt: the path holds characters that cannot be seen: a\u{202E}.txt
        ! a\u{202E}.txt: the file becomes executable
        ! a\u{202E}.txt: control characters on 2 added lines, first on line 1: a terminal would interpret them
        Always: write_file may change `a`\n

        diff --git a/a\u{202E}.txt b/a\u{202E}.txt
        new file mode 100755
        warning: the path holds characters that cannot be seen: a\u{202E}.txt
        warning: the file becomes executable
        warning: control characters on 2 added lines, first on line 1: a terminal would interpret them
        --- /dev/null
        +++ b/a\u{202E}.txt
        @@ -0,0 +1,2 @@
        +one\x1B[1m
        +\u{009B}2J
        "#);
    }

    #[test]
    fn a_web_request_is_shown_as_a_whole() {
        let long = format!("https://x.org/?q={}\u{1b}[2J", "a".repeat(3000));
        let web = WebRequest {
            method: "POST".into(),
            url: long.clone(),
            headers: [("x-a".to_owned(), "b\u{202e}".to_owned())].into(),
            body: Some("one\r\ntwo\n".into()),
            unnamed: true,
            ..WebRequest::default()
        };
        let text = QuestionText::of(&request(Proposal::Web(web), "because"), 0);
        assert_eq!(text.warnings, [UNNAMED]);
        let shown = text.what.replace(&"a".repeat(3000), "AAA");
        insta::assert_snapshot!(shown, @r"
        POST https://x.org/?q=AAA\x1B[2J
        with x-a: b\u{202E}
        sending one\r
        sending two
        sending 
        ");
    }

    #[test]
    fn a_command_is_shown_as_a_whole() {
        let argv = ["bash", "-c", "make\nmake install"].map(str::to_owned).to_vec();
        let command = CommandSpec { argv, working_dir: "sub".into(), ..CommandSpec::default() };
        let text = QuestionText::of(&request(Proposal::Command(command), &"x".repeat(900)), 0);
        assert_eq!(text.what, "$ make\n> make install\nin sub\n");
        assert_eq!(text.reason.chars().count(), MAX_REASON + 1);
    }
}
