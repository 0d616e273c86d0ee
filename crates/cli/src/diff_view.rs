//! A proposal as it is drawn on a terminal.

use protocol::{
    ApprovalRequest, Hunk, LineKind, Proposal, ToolCall, describe_call, describe_command, unified,
    visible,
};

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// Whether the terminal shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

impl Colour {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Colour::On => format!("{code}{text}{RESET}"),
            Colour::Off => text.to_owned(),
        }
    }

    /// A line of a unified diff, in the colour of what it says.
    fn diff_line(self, line: &str) -> String {
        let code = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => BOLD,
            [b'+', ..] => GREEN,
            [b'-', ..] => RED,
            [b'@', ..] => CYAN,
            _ => return line.to_owned(),
        };
        self.paint(code, line)
    }
}

/// The whole question: what calls, why a person is asked, what would change.
pub(crate) fn draw(request: &ApprovalRequest, colour: Colour) -> String {
    let call = ToolCall::new("", request.tool.clone(), request.args.clone());
    let mut lines =
        vec![colour.paint(BOLD, &visible(&describe_call(&call))), visible(&request.reason)];
    if let Proposal::Command(command) = &request.proposal {
        lines.extend(describe_command(command).lines().map(|line| colour.paint(CYAN, line)));
    }
    for file in &request.diffs {
        for warning in &file.warnings {
            let warning = format!("! {}: {warning}", visible(&file.path));
            lines.push(colour.paint(YELLOW, &warning));
        }
    }
    let unified = unified(&request.diffs);
    lines.extend(unified.lines().map(|line| colour.diff_line(line)));
    lines.join("\n")
}

/// One hunk, without the heading of its file.
pub(crate) fn hunk(hunk: &Hunk, colour: Colour) -> String {
    let Hunk { old_start, old_lines, new_start, new_lines, .. } = hunk;
    let heading = format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
    let body = hunk.lines.iter().map(|line| {
        let sign = match line.kind {
            LineKind::Context => ' ',
            LineKind::Add => '+',
            LineKind::Remove => '-',
        };
        colour.diff_line(&format!("{sign}{}", line.text))
    });
    std::iter::once(colour.diff_line(&heading)).chain(body).collect::<Vec<_>>().join("\n")
}
