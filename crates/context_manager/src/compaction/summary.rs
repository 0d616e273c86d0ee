//! A summary made without a model: the task, what the person decided, the plan, the files.

use std::fmt::Write;

use protocol::{PlanStep, StepStatus, estimate_tokens};

use crate::facts::Facts;

/// How a summary begins.
const OPENING: &str = "[The earlier part of this conversation was left out to save space. What matters of it follows.]";
/// How many files are named; the ones used last win.
const MOST_FILES: usize = 60;

/// What a summary is made from.
pub(crate) struct Source<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) plan: &'a [PlanStep],
    /// What is after this entry of the log stays in the conversation and need not be told.
    pub(crate) through: u64,
}

/// A summary of at most about `tokens` tokens.
pub(crate) fn summary(source: &Source<'_>, tokens: u64) -> String {
    let share = |percent: u64| tokens * percent / 100;
    let said: Vec<&str> = source
        .facts
        .said
        .iter()
        .filter(|(sequence, _)| *sequence <= source.through)
        .map(|(_, text)| text.as_str())
        .collect();
    let mut text = OPENING.to_owned();
    if let [first, rest @ ..] = said.as_slice() {
        section(&mut text, "The task, in the user's words", first, share(25));
        if let [between @ .., last] = rest {
            section(&mut text, "What the user said since", &newest(between, share(10)), share(10));
            section(&mut text, "What the user said last", last, share(25));
        }
    }
    let refused: Vec<&str> = source.facts.refused.iter().map(String::as_str).collect();
    section(&mut text, "What the user refused", &newest(&refused, share(8)), share(8));
    section(&mut text, "The plan", &plan(source.plan), share(8));
    section(&mut text, "Files so far, with the last tool used on each", &files(source), share(8));
    section(&mut text, "What you said last", &spoken(source), share(8));
    text
}

fn section(text: &mut String, title: &str, body: &str, tokens: u64) {
    if body.trim().is_empty() || tokens == 0 {
        return;
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "\n\n## {title}\n{}", shortened(body.trim(), tokens));
}

/// As many of the newest lines as fit, in their order.
fn newest(lines: &[&str], tokens: u64) -> String {
    let mut left = tokens as usize;
    let mut chosen = Vec::new();
    for line in lines.iter().rev() {
        let line = format!("- {}", shortened(line, tokens / 3));
        let Some(rest) = left.checked_sub(estimate_tokens(&line)) else { break };
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
    texts.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// The beginning and the end of a text, so that both together take about `tokens` tokens.
pub(crate) fn shortened(text: &str, tokens: u64) -> String {
    if estimate_tokens(text) as u64 <= tokens {
        return text.to_owned();
    }
    let mark = format!("\n[… shortened from {} characters …]\n", text.chars().count());
    let left = tokens.saturating_sub(estimate_tokens(&mark) as u64);
    if left == 0 {
        return mark.trim().to_owned();
    }
    let head = prefix(text.chars(), left - left / 3);
    let tail: String = prefix(text.chars().rev(), left / 3).chars().rev().collect();
    format!("{head}{mark}{tail}")
}

/// As many characters as take `tokens` tokens, by the rule of [`estimate_tokens`].
fn prefix(characters: impl Iterator<Item = char>, tokens: u64) -> String {
    let mut quarters = tokens.saturating_mul(4);
    let fits = |character: &char| {
        let price = if character.is_ascii() { 1 } else { 4 };
        let fits = quarters >= price;
        quarters = quarters.saturating_sub(price);
        fits
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use protocol::{Content, ErrorCode, ToolCall, ToolError};
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Vec<Content> {
        vec![Content::Text { text: text.to_owned() }]
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
        facts.user(7, &text("after the cut"));
        facts
    }

    #[test]
    fn it_keeps_task_decisions_plan_files_and_last_words() {
        let step = |text: &str, status| PlanStep { text: text.into(), status };
        let plan = [step("measure", StepStatus::Done), step("table", StepStatus::InProgress)];
        let source = Source { facts: &facts(), plan: &plan, through: 6 };
        assert_snapshot!(summary(&source, 2000), @r#"
        [The earlier part of this conversation was left out to save space. What matters of it follows.]

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
        "#);
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let long = format!("begin {} end", "x".repeat(4000));
        assert_snapshot!(shortened(&long, 20), @r"
        begin xxxxxxxxxxxxxxxxxx
        [… shortened from 4010 characters …]
        xxxxxxxx end
        ");
        assert_eq!(shortened("short", 20), "short");
    }

    proptest! {
        #[test]
        fn a_shortened_text_is_as_short_as_asked(text in ".{0,400}", tokens in 20u64..60) {
            let short = shortened(&text, tokens);
            prop_assert!(estimate_tokens(&short) as u64 <= tokens + 2);
        }

        #[test]
        fn a_summary_stays_near_its_limit(words in prop::collection::vec(".{0,300}", 0..12), tokens in 500u64..3000) {
            let mut facts = facts();
            for (index, word) in words.iter().enumerate() {
                facts.user(index as u64, &text(word));
                facts.answer(index as u64, &text(word));
            }
            let source = Source { facts: &facts, plan: &[], through: 100 };
            let headings = 160;
            prop_assert!(estimate_tokens(&summary(&source, tokens)) as u64 <= tokens + headings);
        }
    }
}
