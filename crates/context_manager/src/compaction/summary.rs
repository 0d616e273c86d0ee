//! A summary made without a model: what is left out and how to read it, the task, what the user
//! decided, the plan, the files.

use std::fmt::Write;

use protocol::{MessageHandle, PlanStep, StepStatus};

use super::words::{cost, handles, in_brief, in_room, shortened};
use crate::facts::{Facts, Said};

/// How many files are named; the ones used last win.
const MOST_FILES: usize = 60;
/// The newest messages of the user, which are told whole as long as there is room.
const LATEST: usize = 3;
/// What an older message of the user takes in the list of them.
const IN_BRIEF: u64 = 60;

/// What a summary is made from.
pub(crate) struct Source<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) plan: &'a [PlanStep],
    /// What is after this entry of the log stays in the conversation and need not be told.
    pub(crate) through: u64,
    /// The user's messages before it that stay all the same.
    pub(crate) kept: &'a [u64],
    /// Whether the model can read what is left out by its handle.
    pub(crate) readable: bool,
}

/// What parts of a summary may take, in tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    /// The task and the newest messages of the user.
    pub(crate) words: u64,
    /// Each of the other sections.
    pub(crate) section: u64,
}

/// A summary, and whether the newest messages of the user are whole in it.
pub(crate) fn summary(source: &Source<'_>, shares: Shares) -> (String, bool) {
    let mut text = opening(source);
    let is_whole = source.words(&mut text, shares);
    let refused = source.facts.refused.iter().map(|what| (what.as_str(), None)).collect();
    let room = shares.section;
    section(&mut text, "What the user refused", &newest(refused, room), room);
    section(&mut text, "The plan", &plan(source.plan), room);
    section(&mut text, "Files so far, with the last tool used on each", &files(source), room);
    section(&mut text, "What you said last", &spoken(source), room);
    if source.readable {
        let results = newest(results(source), room);
        section(&mut text, "The newest results that are left out", &results, room);
    }
    (text, is_whole)
}

/// What is left out, and how to read it.
fn opening(source: &Source<'_>) -> String {
    let Source { facts, through, .. } = source;
    let before = |entries: &[u64]| entries.partition_point(|entry| entry <= through);
    let said = source.said().count();
    let (answers, results) = (before(&facts.answers), before(&facts.results));
    let first = source.said().map(|said| said.sequence).next();
    let first = first.into_iter().chain(facts.answers.first().copied()).min().unwrap_or(1);
    let mut what = count(said + answers, "message");
    if results > 0 {
        what += &format!(" and {}", count(results, "tool result"));
    }
    let mut text = format!(
        "[To save space, the earlier part of this conversation is left out: {what}, entries {first} to \
         {through} of its log.",
    );
    if source.readable {
        let example = MessageHandle(first);
        // Writing to a string cannot fail.
        let _ = write!(text, " Each can be read like a file by its number, such as {example}.");
    }
    if !source.kept.is_empty() {
        text += " The message of the user that you are working on follows this summary.";
    }
    text + " What matters of it:]"
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl<'a> Source<'a> {
    /// What the user said in the part that is left out.
    fn said(&self) -> impl DoubleEndedIterator<Item = &'a Said> {
        let (through, kept) = (self.through, self.kept);
        let said = self.facts.said.iter();
        said.filter(move |said| said.sequence <= through && !kept.contains(&said.sequence))
    }

    /// Tells what the user said: the task and the newest messages whole, as far as there is room,
    /// the others in brief. Answers whether the newest are whole.
    fn words(&self, text: &mut String, shares: Shares) -> bool {
        let said: Vec<&Said> = self.said().filter(|said| !said.is_blank()).collect();
        let [task, since @ ..] = said.as_slice() else { return true };
        let (older, latest) = since.split_at(since.len().saturating_sub(LATEST));
        // The last one comes first, then the task, then the others before the last.
        let order = latest.last().into_iter().chain([task]).chain(latest.iter().rev().skip(1));
        let mut left = shares.words;
        let mut told: Vec<RetoldMessage> = order.map(|said| self.tell(said, &mut left)).collect();
        told.sort_by_key(|told| told.sequence);
        // An old task may be shortened, a new one may not.
        let newest = &told[told.len().saturating_sub(LATEST)..];
        let is_whole = newest.iter().all(|told| told.is_whole);
        let mut told = told.into_iter().map(|told| told.text);
        titled(text, "The task, in the user's words", &told.next().unwrap_or_default());
        let last = told.next_back().unwrap_or_default();
        let mut between = self.older(older, shares.section);
        between.extend(told.map(|text| format!("- {text}")));
        titled(text, "What the user said since", &between.join("\n"));
        titled(text, "What the user said last", &last);
        is_whole
    }

    /// A message of the user in what is left of the room.
    fn tell(&self, said: &Said, left: &mut u64) -> RetoldMessage {
        let parts = in_room(said, *left, self.readable);
        let is_whole = said.parts.iter().filter(|part| !part.trim().is_empty()).eq(&parts);
        let text = parts.join("\n\n").trim().to_owned();
        *left = left.saturating_sub(cost(&text));
        RetoldMessage { sequence: said.sequence, text, is_whole }
    }

    /// Older messages of the user, a line for each; of the oldest only their handles if there are too
    /// many.
    fn older(&self, said: &[&Said], tokens: u64) -> Vec<String> {
        let mut left = tokens;
        let mut lines = Vec::new();
        for said in said.iter().rev() {
            let line = format!("- {}", in_brief(said, IN_BRIEF.min(tokens / 3), self.readable));
            let Some(rest) = left.checked_sub(cost(&line)) else { break };
            left = rest;
            lines.push(line);
        }
        let unnamed = &said[..said.len() - lines.len()];
        if !unnamed.is_empty() {
            let sequences: Vec<u64> = unnamed.iter().map(|said| said.sequence).collect();
            let which =
                if self.readable { format!(": {}", handles(&sequences)) } else { String::new() };
            lines.push(format!(
                "- [{} left out here{which}]",
                count(unnamed.len(), "older message")
            ));
        }
        lines.reverse();
        lines
    }
}

/// A message of the user as a summary has it.
struct RetoldMessage {
    sequence: u64,
    text: String,
    is_whole: bool,
}

/// The newest results, a line for each.
fn results<'a>(source: &Source<'a>) -> Vec<(&'a str, Option<MessageHandle>)> {
    let results = source.facts.latest_results.iter();
    let left_out = results.filter(|(sequence, _)| *sequence <= source.through);
    left_out.map(|(sequence, what)| (what.as_str(), Some(MessageHandle(*sequence)))).collect()
}

fn titled(text: &mut String, title: &str, body: &str) {
    if !body.trim().is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n\n## {title}\n{}", body.trim());
    }
}

fn section(text: &mut String, title: &str, body: &str, tokens: u64) {
    if tokens > 0 {
        titled(text, title, &shortened(body.trim(), tokens));
    }
}

/// As many of the newest lines as fit, in their order. A long one is shortened, but not the handle
/// after it.
fn newest(lines: Vec<(&str, Option<MessageHandle>)>, tokens: u64) -> String {
    let mut left = tokens;
    let mut chosen = Vec::new();
    for (line, handle) in lines.iter().rev() {
        let handle = handle.map(|handle| format!(", {handle}")).unwrap_or_default();
        let room = (tokens / 3).saturating_sub(cost(&handle));
        let line = format!("- {}{handle}", shortened(line, room));
        let Some(rest) = left.checked_sub(cost(&line)) else { break };
        left = rest;
        chosen.push(line);
    }
    if chosen.len() < lines.len() && !chosen.is_empty() {
        chosen.push(format!("- [{} older ones left out]", lines.len() - chosen.len()));
    }
    chosen.reverse();
    chosen.join("\n")
}

fn plan(steps: &[PlanStep]) -> String {
    let lines = steps.iter().map(|step| {
        let mark = match step.status {
            StepStatus::Pending => "[ ]",
            StepStatus::InProgress => "[now]",
            StepStatus::Done => "[done]",
        };
        format!("- {mark} {}", step.text)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn files(source: &Source<'_>) -> String {
    let mut files: Vec<_> = source.facts.files.iter().collect();
    files.sort_by_key(|(_, (sequence, _))| std::cmp::Reverse(*sequence));
    let shown = files.iter().take(MOST_FILES);
    let mut lines: Vec<_> = shown.map(|(path, (_, tool))| format!("- {path} ({tool})")).collect();
    if files.len() > MOST_FILES {
        lines.push(format!("- [{} older ones left out]", files.len() - MOST_FILES));
    }
    lines.join("\n")
}

fn spoken(source: &Source<'_>) -> String {
    let texts = source.facts.spoken.iter().filter(|(sequence, _)| *sequence <= source.through);
    texts.map(|(_, text)| text.to_string()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use protocol::{Content, ErrorCode, ToolCall, ToolError};
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Vec<Content> {
        vec![Content::Text { text: text.into() }]
    }

    fn facts() -> Facts {
        let call = |name: &str, path: &str| {
            let arguments = json!({"path": path}).as_object().cloned().unwrap_or_default();
            ToolCall::new("c", name, arguments)
        };
        let mut facts = Facts::default();
        facts.user(1, &text("Make the parser faster."));
        facts.answer(2, &[Content::ToolUse(call("read_file", "src/parser.rs"))]);
        facts.user(3, &text("Do not touch the tests."));
        facts.user(4, &text("And keep it readable."));
        let refused = ToolError::new(ErrorCode::Rejected, "User rejected changes: too clever");
        facts.refusal(&call("edit_file", "src/parser.rs"), &refused);
        facts.answer(5, &text("I will use a table."));
        facts.answer(6, &[Content::ToolUse(call("edit_file", "src/table.rs"))]);
        facts.result(6, &call("edit_file", "src/table.rs"), 420);
        facts.user(7, &text("after the cut"));
        facts
    }

    fn source<'a>(facts: &'a Facts, plan: &'a [PlanStep], through: u64) -> Source<'a> {
        Source { facts, plan, through, kept: &[], readable: true }
    }

    #[test]
    fn it_keeps_task_decisions_plan_files_and_last_words() {
        let step = |text: &str, status| PlanStep { text: text.into(), status };
        let plan = [step("measure", StepStatus::Done), step("table", StepStatus::InProgress)];
        let facts = facts();
        let (text, is_whole) =
            summary(&source(&facts, &plan, 6), Shares { words: 1000, section: 200 });
        assert!(is_whole);
        assert_snapshot!(text, @r#"
        [To save space, the earlier part of this conversation is left out: 6 messages and 1 tool result, entries 1 to 6 of its log. Each can be read like a file by its number, such as message:1. What matters of it:]

        ## The task, in the user's words
        Make the parser faster.

        ## What the user said since
        - Do not touch the tests.

        ## What the user said last
        And keep it readable.

        ## What the user refused
        - edit_file(path="src/parser.rs"): User rejected changes: too clever

        ## The plan
        - [done] measure
        - [now] table

        ## Files so far, with the last tool used on each
        - src/table.rs (edit_file)
        - src/parser.rs (read_file)

        ## What you said last
        I will use a table.

        ## The newest results that are left out
        - edit_file(path="src/table.rs"): 420 characters, message:6
        "#);
    }

    #[test]
    fn without_handles_none_are_promised() {
        let facts = facts();
        let source = Source { readable: false, ..source(&facts, &[], 6) };
        let (text, _) = summary(&source, Shares { words: 10, section: 20 });
        assert!(!text.contains("message:"), "{text}");
        assert!(text.contains("characters are left out here …]"), "{text}");
    }

    #[test]
    fn the_running_message_is_not_told_twice() {
        let facts = facts();
        let source = Source { kept: &[4], ..source(&facts, &[], 6) };
        let (text, _) = summary(&source, Shares { words: 500, section: 100 });
        assert!(!text.contains("And keep it readable."), "{text}");
        assert!(text.contains("The message of the user that you are working on follows"), "{text}");
    }

    #[test]
    fn old_messages_are_never_dropped_silently() {
        let mut facts = Facts::default();
        for sequence in 1..=80 {
            facts.user(
                sequence,
                &text(&format!("Wish number {sequence}, {}", "and so on, ".repeat(40))),
            );
        }
        let source = source(&facts, &[], 100);
        let (text, is_whole) = summary(&source, Shares { words: 1000, section: 200 });
        assert!(is_whole);
        let since = text.split("## What the user said since\n").nth(1).unwrap();
        assert_snapshot!(since.lines().take(3).collect::<Vec<_>>().join("\n"), @"
        - [74 older messages left out here: message:2, message:3, message:4, message:5, message:6, message:7, message:8 and 67 more up to message:75]
        - Wish number 76, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and… [the whole: message:76]
        - Wish number 77, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and so on, and… [the whole: message:77]
        ");
        for number in [1, 78, 79, 80] {
            assert!(text.contains(&format!("Wish number {number}, {}", "and so on, ".repeat(39))));
        }
        let (text, is_whole) = summary(&source, Shares { words: 300, section: 200 });
        assert!(!is_whole);
        assert!(text.contains(&format!("Wish number 80, {}", "and so on, ".repeat(39))));
        assert!(text.contains("read message:79 like a file, from line 1"), "{text}");
    }

    proptest! {
        #[test]
        fn a_summary_stays_near_its_limit(
            words in prop::collection::vec(".{0,300}", 0..12),
            room in 200u64..3000,
            section in 50u64..300,
            readable: bool,
        ) {
            let mut facts = facts();
            for (index, word) in (8..).zip(&words) {
                facts.user(index, &text(word));
                facts.answer(index, &text(word));
            }
            let source = Source { readable, ..source(&facts, &[], 100) };
            let (text, _) = summary(&source, Shares { words: room, section });
            // Headings, and notes about what is left out.
            let around = 500;
            prop_assert!(cost(&text) <= room + 6 * section + around, "{}", text);
        }
    }
}
