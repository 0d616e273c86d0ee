//! A timeline as Markdown. What users, models and tools said is quoted or fenced, so that none of it can
//! pass for a part of the document.

use protocol::StepStatus;

use super::hardened::hardened;
use super::{costs, facts, heading, mark, remarks};
use crate::card::Card;
use crate::item::{AnswerState, Item, ItemBody};
use crate::timeline::Timeline;

/// Lines of a result or of output that are shown. The HTML export folds them and shows all.
const MAX_LINES: usize = 40;

/// Markdown has six levels of headings.
const LOWEST_HEADING: usize = 6;

/// The whole timeline as a Markdown document.
pub fn markdown(timeline: &Timeline) -> String {
    let title = inline(&heading(timeline));
    let rows = facts(timeline.facts()).into_iter();
    let rows = rows.map(|(name, value)| format!("- {name}: {}\n", inline(&value)));
    let mut text = format!("# {title}\n\n{}", rows.collect::<String>());
    timeline
        .children(None)
        .filter(|item| !item.rewound)
        .for_each(|item| draw(&mut text, timeline, item));
    text
}

fn draw(text: &mut String, timeline: &Timeline, item: &Item) {
    let level = "#".repeat((item.depth + 2).min(LOWEST_HEADING - 1));
    let block = match &item.body {
        ItemBody::Message(message) => {
            let who = if item.parent.is_none() { "You" } else { "Task" };
            format!("{level} {who}\n\n{}", quoted(&message.whole_text()))
        }
        ItemBody::Answer(answer) => {
            let cut = match answer.state {
                AnswerState::Cut => "\nThis answer was cut.\n",
                AnswerState::Streaming | AnswerState::Complete => "",
            };
            format!("{level} Assistant\n\n{}{cut}", quoted(&answer.text.to_string()))
        }
        ItemBody::Thinking { text, .. } => {
            format!("{level} Thinking\n\n{}", fenced("text", &text.to_string()))
        }
        ItemBody::Call(card) => {
            text.push_str(&format!("\n{}", call(card, &level)));
            return timeline.children(Some(item.id)).for_each(|item| draw(text, timeline, item));
        }
        ItemBody::Plan { steps } => {
            let steps = steps.iter().map(|step| {
                let mark = match step.status {
                    StepStatus::Done => "- [x] ",
                    StepStatus::InProgress => "- [ ] (in progress) ",
                    StepStatus::Pending => "- [ ] ",
                };
                format!("{mark}{}\n", inline(&step.text))
            });
            format!("{level} Plan\n\n{}", steps.collect::<String>())
        }
        ItemBody::Notice(notice) => format!("*{}*\n", inline(&notice.text)),
        ItemBody::Turn(turn) => format!("*{}*\n\n---\n", inline(&costs(turn))),
    };
    text.push('\n');
    text.push_str(&block);
}

fn call(card: &Card, level: &str) -> String {
    let remarks: String =
        remarks(card).iter().map(|remark| format!(" · {}", inline(remark))).collect();
    let mut text = format!("{level}# {} {}{remarks}\n", mark(card.state), inline(&card.title));
    let mut paragraph = |words: &str| text.push_str(&format!("\n{}\n", inline(words)));
    for question in &card.questions {
        let reply = question.reply.as_ref().map_or("no answer", |reply| reply.words.as_str());
        paragraph(&format!("Asked: {} → {reply}", question.reason));
        question.warnings.iter().for_each(|warning| paragraph(warning));
    }
    if let Some(failure) = &card.failure {
        paragraph(&format!("{}: {}", failure.code, failure.message));
        failure.suggestion.iter().for_each(|suggestion| paragraph(suggestion));
    }
    card.checks.iter().for_each(|check| paragraph(check));
    card.dropped.iter().for_each(|why| paragraph(&format!("Changes dropped: {why}")));
    card.images.iter().for_each(|image| paragraph(&format!("Image: {image}")));
    let commands = card.questions.iter().filter_map(|question| question.what.as_deref());
    let mut blocks: Vec<String> = commands.map(|what| fenced("text", what)).collect();
    match card.diff() {
        Some(diff) => blocks.push(fenced("diff", &diff)),
        // Output is in the result, too.
        None if card.detail.is_empty() => blocks.push(fenced("text", &card.output.text)),
        None => blocks.push(fenced("text", &card.detail)),
    }
    blocks.iter().filter(|block| !block.is_empty()).fold(text, |text, block| text + "\n" + block)
}

/// Markdown of others as a quotation. Whatever it begins, such as a fence, ends with it.
fn quoted(text: &str) -> String {
    let quote = |text: &str| -> String {
        text.lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
    };
    // What a line means depends on the columns before it, so the quotation is hardened and not the text.
    hardened(&quote(text)).unwrap_or_else(|| quote(&fenced("text", text)))
}

/// Text in a fence that is longer than any in it; nothing if there is no text.
fn fenced(language: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let shown = lines[..lines.len().min(MAX_LINES)].join("\n");
    let more = match lines.len().saturating_sub(MAX_LINES) {
        0 => String::new(),
        more => format!("\n{more} more lines.\n"),
    };
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{shown}\n{fence}\n{more}")
}

/// One line of text with no meaning in Markdown.
fn inline(text: &str) -> String {
    let text = text.trim();
    // A list, a rule or a heading begins with a sign, or with a number and a sign.
    let number = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(number);
    let begins_something = match number {
        "" => rest.starts_with(['-', '+', '=']),
        _ => rest == "." || rest == ")" || rest.starts_with(". ") || rest.starts_with(") "),
    };
    let guard = if begins_something { "\\" } else { "" };
    format!("{number}{guard}{}", escaped(rest))
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let in_word = |c: char| c.is_alphanumeric();
        match c {
            '\n' | '\t' => safe.push(' '),
            // `read_file` is not emphasis.
            '_' if in_word(before) && characters.peek().is_some_and(|next| in_word(*next)) => {
                safe.push('_');
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '$' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
        before = c;
    }
    safe
}
