//! An approval question as it is drawn on a terminal: the shared words, in colours.

use protocol::{ApprovalRequest, Hunk, LineKind, QuestionText};

use terminal::Ink;

/// A line and its ink.
pub(crate) type Drawn = (Ink, String);

/// The ink of a line of a unified diff.
pub(crate) fn of_diff(line: &str) -> Ink {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => Ink::BOLD,
        [b'+', ..] => Ink::GREEN,
        [b'-', ..] => Ink::RED,
        [b'@', b'@', ..] | [b'$', ..] | [b'>', ..] => Ink::CYAN,
        _ => Ink::PLAIN,
    }
}

/// The whole question, in the words that every front end shows.
pub(crate) fn draw(request: &ApprovalRequest) -> Vec<Drawn> {
    let QuestionText { title, reason, warnings, what, always } =
        QuestionText::of(request, usize::MAX);
    let head = [(Ink::BOLD, title), (Ink::PLAIN, reason)];
    let warnings = warnings.into_iter().map(|line| (Ink::YELLOW, line));
    let always = always.into_iter().chain([String::new()]).map(|line| (Ink::PLAIN, line));
    let what = what.lines().map(|line| (of_diff(line), line.to_owned()));
    head.into_iter().chain(warnings).chain(always).chain(what).collect()
}

/// One hunk, without the heading of its file.
pub(crate) fn hunk(number: usize, hunk: &Hunk) -> Vec<Drawn> {
    let Hunk { old_start, old_lines, new_start, new_lines, .. } = hunk;
    let heading = format!("[{number}] @@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
    let body = hunk.lines.iter().map(|line| {
        let sign = match line.kind {
            LineKind::Context => ' ',
            LineKind::Add => '+',
            LineKind::Remove => '-',
        };
        let line = format!("{sign}{}", line.text);
        (of_diff(&line), line)
    });
    std::iter::once((Ink::CYAN, heading)).chain(body).collect()
}
