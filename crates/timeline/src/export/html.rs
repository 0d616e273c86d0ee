//! A timeline as one HTML file that needs nothing else: no script, no style sheet, no picture from
//! elsewhere. Its own content policy forbids all of them.

use protocol::{Image, StepStatus};

use super::hardened::rendered;
use super::{costs, facts, heading, mark, remarks};
use crate::card::{CallState, Card};
use crate::diff_parts::{DiffPart, diff_parts};
use crate::item::{AnswerState, Item, ItemBody, Level};
use crate::question::CardQuestion;
use crate::timeline::Timeline;

const STYLE: &str = include_str!("page.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The whole timeline as an HTML page.
pub fn html(timeline: &Timeline) -> String {
    let title = escaped(&heading(timeline));
    let rows = facts(timeline.facts()).into_iter();
    let rows = rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(&value)));
    let rows: String = rows.collect();
    let items: String = timeline
        .children(None)
        .filter(|item| !item.rewound)
        .map(|item| drawn(timeline, item))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<dl>\n{rows}</dl>\n\
         {items}</main>\n</body>\n</html>\n"
    )
}

fn drawn(timeline: &Timeline, item: &Item) -> String {
    match &item.body {
        ItemBody::Message(message) => {
            let who = if item.parent.is_none() { "You" } else { "Task" };
            let images = images(timeline, &message.images);
            let text = escaped(&message.whole_text());
            format!(
                "<section class=\"message\">\n<h2>{who}</h2>\n<div class=\"text\">{text}</div>\n\
                 {images}</section>\n"
            )
        }
        ItemBody::Answer(answer) => {
            let cut = match answer.state {
                AnswerState::Cut => "<p class=\"warning\">This answer was cut.</p>\n",
                AnswerState::Streaming | AnswerState::Complete => "",
            };
            format!(
                "<section class=\"answer\">\n{}{cut}</section>\n",
                rendered(&answer.text.to_string())
            )
        }
        ItemBody::Thinking { text, .. } => {
            let text = escaped(&text.to_string());
            format!(
                "<details class=\"thinking\"><summary>Thinking</summary>\n\
                 <div class=\"text\">{text}</div>\n</details>\n"
            )
        }
        ItemBody::Call(card) => call(timeline, item, card),
        ItemBody::Plan { steps } => {
            let steps = steps.iter().map(|step| {
                let mark = match step.status {
                    StepStatus::Done => "✔",
                    StepStatus::InProgress => "▶",
                    StepStatus::Pending => "☐",
                };
                format!("<div>{mark} {}</div>\n", escaped(&step.text))
            });
            let steps: String = steps.collect();
            format!("<section class=\"plan\">\n<h2>Plan</h2>\n{steps}</section>\n")
        }
        ItemBody::Notice(notice) => {
            let level = match notice.level {
                Level::Info => "info",
                Level::Warning => "warning",
                Level::Error => "error",
            };
            format!("<p class=\"notice {level}\">{}</p>\n", escaped(&notice.text))
        }
        ItemBody::Turn(turn) => format!("<p class=\"turn\">{}</p>\n", escaped(&costs(turn))),
    }
}

fn call(timeline: &Timeline, item: &Item, card: &Card) -> String {
    let state = match card.state {
        CallState::Pending | CallState::Running => "running",
        CallState::WaitingForApproval => "waiting",
        CallState::Done => "done",
        CallState::Failed => "failed",
        CallState::Refused => "refused",
        CallState::Interrupted => "interrupted",
    };
    let diff = card.diff();
    // What was changed and what went wrong are seen without a click.
    let open = if diff.is_some() || card.failure.is_some() { " open" } else { "" };
    let mark = mark(card.state);
    let title = escaped(&card.title);
    let remarks: String =
        remarks(card).iter().map(|remark| format!(" · {}", escaped(remark))).collect();
    let mut text = format!(
        "<details class=\"call {state}\"{open}><summary><span class=\"mark\">{mark}</span> {title}\
         <span class=\"dim\">{remarks}</span></summary>\n"
    );
    card.questions.iter().for_each(|asked| text.push_str(&question(asked)));
    if let Some(failure) = &card.failure {
        let words = escaped(&format!("{}: {}", failure.code, failure.message));
        text.push_str(&format!("<p class=\"failure text\">{words}</p>\n"));
        if let Some(suggestion) = &failure.suggestion {
            text.push_str(&format!("<p class=\"warning text\">{}</p>\n", escaped(suggestion)));
        }
    }
    for check in &card.checks {
        text.push_str(&format!("<p class=\"warning\">{}</p>\n", escaped(check)));
    }
    if let Some(dropped) = &card.dropped {
        let words = escaped(dropped);
        text.push_str(&format!("<p class=\"warning text\">Changes dropped: {words}</p>\n"));
    }
    if let Some(diff) = &diff {
        text.push_str(&coloured(diff));
    }
    text.push_str(&images(timeline, &card.images));
    let items: String =
        timeline.children(Some(item.id)).map(|item| drawn(timeline, item)).collect();
    text.push_str(&folded("Sub-agent", &items));
    text.push_str(&folded("Arguments", &preformatted(&card.arguments)));
    text.push_str(&folded("Output", &preformatted(&card.output.text)));
    text.push_str(&folded("Result", &preformatted(&card.detail)));
    text + "</details>\n"
}

fn question(question: &CardQuestion) -> String {
    let mut text = format!("<p>{}", escaped(&question.reason));
    let reply = question.reply.as_ref().map_or("no answer", |reply| reply.words.as_str());
    text.push_str(&format!(" <strong>{}</strong></p>\n", escaped(reply)));
    for warning in &question.warnings {
        text.push_str(&format!("<p class=\"warning\">{}</p>\n", escaped(warning)));
    }
    text + &preformatted(question.what.as_deref().unwrap_or_default())
}

fn coloured(diff: &str) -> String {
    let lines = diff_parts(diff).into_iter().map(|(part, line)| {
        let class = match part {
            DiffPart::Head => "head",
            DiffPart::Place => "place",
            DiffPart::Add => "add",
            DiffPart::Remove => "remove",
            DiffPart::Same => "same",
        };
        format!("<span class=\"{class}\">{}</span>", escaped(line))
    });
    format!("<pre class=\"diff\">{}</pre>\n", lines.collect::<String>())
}

fn images(timeline: &Timeline, images: &[Image]) -> String {
    let drawn = images.iter().map(|image| {
        let words = escaped(&image.to_string());
        // The log holds the bytes once, maybe in another entry.
        let image = timeline.image(image.hash).unwrap_or(image);
        // An imported log may hold anything as its bytes.
        match image.data_url().filter(|_| image.base64().is_some_and(is_base64)) {
            Some(address) => {
                format!("<p><img alt=\"{words}\" src=\"{}\"></p>\n", escaped(&address))
            }
            None => format!("<p class=\"dim\">{words}</p>\n"),
        }
    });
    drawn.collect()
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

fn preformatted(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("<pre>{}</pre>\n", escaped(text)),
    }
}

fn folded(name: &str, content: &str) -> String {
    match content {
        "" => String::new(),
        content => format!("<details><summary>{name}</summary>\n{content}</details>\n"),
    }
}

/// Text as it can stand in an element and in a quoted attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
