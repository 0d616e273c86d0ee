//! Scenes of a chat, as whole screens.

use serde_json::json;
use testkit::{Gate, ModelServer, Reply};

use super::DrawnChat;
use super::drawn_chat::{rows_of, small_project};
use super::terminal_bytes::paints;

const ROWS: u16 = 46;

const MARKDOWN: &str = "# Kiln\n\nA *short* paragraph with `code` and text that is long enough to be wrapped on a narrow screen.\n\nA [link](https://example.org/a).\n\n\
    - one\n- two\n  1. deep\n\n\
    | name | what it is good for, in more words than fit on a narrow screen | 数 |\n|---|---|--:|\n| glaze | it makes the surface smooth and keeps water out | 12 |\n| 漢字 | wide letters | 3 |\n\n\
    ```rust\nfn main() {\n    println!(\"héllo 🎉\");\n}\n```\n\nDone 🎉.";

/// What leads from one scene to the next. The gate holds the last answer back.
type Lead = fn(&mut DrawnChat, &Gate);

/// The scenes in their order, each with what leads to it.
const SCENES: [(&str, Lead); 10] = [
    ("first screen", |_, _| {}),
    ("tools and Markdown", |chat, _| {
        chat.say("look");
        chat.see("Done 🎉.");
        chat.wait_ready();
    }),
    ("viewer", |chat, _| {
        chat.screen.press("\x0f");
        chat.see("/ search");
    }),
    ("context", |chat, _| {
        chat.screen.press("q");
        chat.wait_ready();
        clear(chat, "Done");
        chat.say("/context");
        chat.see("Estimated");
    }),
    ("help", |chat, _| {
        clear(chat, "Estimated");
        chat.say("/help");
        chat.see("suspends; `fg` comes back");
    }),
    ("question with a diff", |chat, _| {
        clear(chat, "suspends");
        chat.say("edit");
        // The card and the status line say so.
        chat.screen.wait_until(|screen| screen.contents().matches("waiting for you").count() == 2);
        chat.see("d diff in full");
    }),
    ("queue of three", |chat, gate| {
        chat.screen.press("\x1b");
        chat.see("cancelled");
        chat.wait_ready();
        chat.say("go on");
        gate.pass(1);
        chat.see("half");
        ["first", "/context", "!ls"].into_iter().for_each(|message| queue(chat, message));
    }),
    ("rewind", |chat, _| {
        chat.screen.press("\x1b");
        chat.wait_ready();
        chat.screen.press("\x03");
        chat.screen.wait_until(|screen| !screen.contents().contains("!ls"));
        open(chat, "/rewind");
    }),
    ("model", |chat, _| {
        close(chat);
        open(chat, "/model");
    }),
    ("resume", |chat, _| {
        close(chat);
        chat.say("/new");
        chat.screen.wait_until(|screen| screen.contents().matches("/help").count() > 0);
        clear(chat, "half");
        open(chat, "/resume");
    }),
];

/// The scenes in their order, each below its name.
pub(super) fn scenes(columns: u16, no_colour: bool) -> String {
    let project = small_project();
    let lines: String = (1..=9).map(|line| format!("export const n{line} = {line};\n")).collect();
    project.write("src/numbers.js", &lines);
    let gate = Gate::new();
    let edited = lines.replace("n4 = 4", "four = 2 + 2").replace("n8 = 8", "n8 = 4 + 4");
    let server = ModelServer::start([
        Reply::text("I look. ")
            .and_call("read_file", json!({"path": "src/db.js"}))
            .and_call("read_file", json!({"path": "missing.js"}))
            .and_call("bash", json!({"command": "printf 'one\\ntwo\\nthree\\n'"})),
        Reply::text(MARKDOWN).and_thinking("Well.\n\nI see."),
        Reply::call("update_file", json!({"path": "src/numbers.js", "content": edited})),
        Reply::pieces(["half ", "an answer"]).through(&gate),
    ]);
    let server = server.with_models(&["scripted", "another"]);
    let mut chat = DrawnChat::with_server((columns, ROWS), project, server, |command| {
        if no_colour {
            command.env("NO_COLOR", "1");
        }
    });
    let mut all = String::new();
    for (name, lead) in SCENES {
        lead(&mut chat, &gate);
        all += &format!("=== {name}\n{}\n", drawn(&chat));
    }
    close(&mut chat);
    let is_painted = paints(&chat.screen.take_written());
    assert_eq!(is_painted, !no_colour, "attributes are written only where they are wanted");
    chat.leave();
    all
}

/// Clears the screen, which shows `text`.
fn clear(chat: &mut DrawnChat, text: &str) {
    chat.say("/clear");
    chat.screen.wait_until(|screen| !screen.contents().contains(text));
}

/// Sends a message while a turn runs, and waits until it stands in the queue.
fn queue(chat: &mut DrawnChat, message: &str) {
    chat.screen.press(&format!("{message}\r"));
    chat.screen.wait_until(|screen| {
        let (row, _) = screen.cursor_position();
        let rows = rows_of(screen);
        let above = rows[..row.into()].join("\n");
        above.contains(message.trim_start_matches('!'))
            && rows[usize::from(row)].ends_with("│")
            && !rows[usize::from(row)].contains(message)
    });
}

/// Opens a list by a command.
fn open(chat: &mut DrawnChat, command: &str) {
    chat.say(command);
    chat.see("esc closes");
}

fn close(chat: &mut DrawnChat) {
    chat.screen.press("\x1b");
    chat.screen.wait_until(|screen| !screen.contents().contains("esc closes"));
}

/// The screen, with what differs from run to run masked.
fn drawn(chat: &DrawnChat) -> String {
    let rows = chat.screen.look(rows_of);
    let last = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
    let masked = rows[..=last].iter().map(|row| match row {
        _ if row.contains(" ms") || row.contains(" s ·") => masked_time(row),
        _ if row.contains("today ") => masked_session(row),
        _ if row.contains(" %") => masked_share(row),
        _ if row.ends_with("esc stops") || row.contains(" · 0:0") => "(status)".to_owned(),
        _ => row.clone(),
    });
    let masked = masked.map(|row| masked_estimate(&row));
    masked.collect::<Vec<_>>().join("\n")
}

fn masked_time(row: &str) -> String {
    let words: Vec<&str> = row.split(' ').collect();
    let is_time = |at: usize| matches!(words.get(at + 1), Some(&("ms" | "s")));
    let masked = words.iter().enumerate().map(|(at, word)| if is_time(at) { "_" } else { word });
    masked.collect::<Vec<_>>().join(" ")
}

/// Thousands of tokens with a fraction: they are estimates, and change with every word that models are told.
fn masked_estimate(row: &str) -> String {
    let is_estimate = |word: &str| {
        let number = word.trim_start_matches('↑').strip_suffix('k');
        number.is_some_and(|number| number.contains('.') && number.parse::<f64>().is_ok())
    };
    let words = row.split(' ').map(|word| match (is_estimate(word), word.starts_with('↑')) {
        (true, true) => "↑_k",
        (true, false) => "_k",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What takes room in the model's window: all numbers are estimates, and the bar shows them.
fn masked_share(row: &str) -> String {
    let name = row.split("  ").next().unwrap_or_default();
    format!("{name}  (tokens) (share) (bar)")
}

/// Times of day, and ids, which stand in the last column.
fn masked_session(row: &str) -> String {
    let digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "_");
    match row.find("today ") {
        Some(at) => format!("{}{}", &row[..at], digits(&row[at..at + 11.min(row.len() - at)])),
        None => row.to_owned(),
    }
}
