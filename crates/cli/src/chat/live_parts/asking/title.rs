//! The question itself, in a few words.

use protocol::{
    ApprovalRequest, CommandSpec, DiffKind, FileDiff, ForeignCall, Proposal, RunMode, WebRequest,
    describe_command, visible,
};

use super::command_of;

/// Facts about a command that a title can name; more are shown with the whole command.
const MOST_FACTS: usize = 3;

/// What is asked, with a question mark. Nothing in it is obeyed by a terminal.
pub(super) fn title(request: &ApprovalRequest) -> String {
    let words = match &request.proposal {
        Proposal::Command(command) => command_title(command),
        Proposal::Web(WebRequest { method, url, .. }) => {
            format!("Send {} {}", visible(method), visible(url))
        }
        Proposal::Foreign(ForeignCall { server, tool, asks: None, .. }) => {
            format!("Call {} of the MCP server {}", visible(tool), visible(server))
        }
        Proposal::Foreign(ForeignCall { server, .. }) => {
            format!("Answer the MCP server {}", visible(server))
        }
        Proposal::Changes(_) => {
            let words = changes_title(&request.diffs);
            match command_of(request) {
                None => words,
                Some(command) => {
                    let (first, more) = first_line(command);
                    let mut letters = words.chars();
                    let begin = letters.next().map(|c| c.to_ascii_lowercase());
                    let words: String = begin.into_iter().chain(letters).collect();
                    format!("Keep what `{first}`{more} did: {words}")
                }
            }
        }
    };
    format!("{words}?")
}

/// The first line of a text, and how many follow it.
fn first_line(text: &str) -> (String, String) {
    let text = text.trim();
    let mut lines = text.lines();
    let first = visible(lines.next().unwrap_or_default());
    let more = match lines.count() {
        0 => String::new(),
        1 => " and 1 more line".to_owned(),
        more => format!(" and {more} more lines"),
    };
    (first, more)
}

fn command_title(command: &CommandSpec) -> String {
    match &command.run {
        RunMode::Stop(job) => return format!("End the running job {}", visible(job)),
        RunMode::Tell(job) => {
            let (first, more) = first_line(command.stdin.as_deref().unwrap_or_default());
            return format!("Tell the running job {}: {first}{more}", visible(job));
        }
        RunMode::Wait | RunMode::Job => {}
    }
    if let Some(shown) = &command.shown {
        // What Toolkiln wrote itself begins with a title of its own.
        return visible(shown.lines().next().unwrap_or_default());
    }
    let whole = describe_command(command);
    let lines: Vec<&str> = whole.lines().collect();
    let (first, facts) =
        lines.split_first().map_or(("", &[][..]), |(first, facts)| (*first, facts));
    let first = first.strip_prefix("$ ").unwrap_or(first);
    if facts.len() > MOST_FACTS || facts.iter().any(|fact| fact.starts_with("> ")) {
        let facts = facts.len();
        let lines = if facts == 1 { "line" } else { "lines" };
        return format!("Run `{first}` and {facts} more {lines}");
    }
    let facts: String = facts.iter().map(|fact| format!(", {fact}")).collect();
    format!("Run `{first}`{facts}")
}

/// `Edit 2 files, +7 −3`
fn changes_title(diffs: &[FileDiff]) -> String {
    // New directories come with the files in them.
    let files: Vec<&FileDiff> =
        diffs.iter().filter(|diff| diff.kind != DiffKind::MakeDir).collect();
    let files = if files.is_empty() { diffs.iter().collect() } else { files };
    let what = match files.as_slice() {
        [] => "Change nothing".to_owned(),
        [file] => one_file(file),
        [first, rest @ ..] => {
            let is_same = rest.iter().all(|file| file.kind == first.kind);
            let (verb, things) = if is_same { verb(first.kind) } else { ("Change", "files") };
            format!("{verb} {} {things}", files.len())
        }
    };
    let added: usize = diffs.iter().map(|diff| diff.added).sum();
    let removed: usize = diffs.iter().map(|diff| diff.removed).sum();
    match (added, removed) {
        (0, 0) => what,
        (added, 0) => format!("{what}, +{added}"),
        (0, removed) => format!("{what}, −{removed}"),
        (added, removed) => format!("{what}, +{added} −{removed}"),
    }
}

fn one_file(file: &FileDiff) -> String {
    let path = visible(&file.path);
    match (file.kind, &file.from_path) {
        (DiffKind::Move, Some(from)) => format!("Rename {} to {path}", visible(from)),
        (DiffKind::Link, _) => format!("Make the link {path}"),
        (DiffKind::MakeDir, _) => format!("Make the directory {path}"),
        (DiffKind::RemoveDir, _) => format!("Remove the directory {path}"),
        (kind, _) => format!("{} {path}", verb(kind).0),
    }
}

fn verb(kind: DiffKind) -> (&'static str, &'static str) {
    match kind {
        DiffKind::Create => ("Create", "files"),
        DiffKind::Write => ("Edit", "files"),
        DiffKind::Delete => ("Delete", "files"),
        DiffKind::Move => ("Rename", "files"),
        DiffKind::Link => ("Make", "links"),
        DiffKind::MakeDir => ("Make", "directories"),
        DiffKind::RemoveDir => ("Remove", "directories"),
    }
}
