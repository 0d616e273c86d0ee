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
    let mut add = |chat: &DrawnChat, name: &str| {
        all += &format!("=== {name}\n{}\n", drawn(chat));
    };
    add(&chat, "first screen");
    chat.say("look");
    chat.see("Done 🎉.");
    chat.wait_ready();
    add(&chat, "tools and Markdown");
    chat.screen.press("\x0f");
    chat.see("/ search");
    add(&chat, "viewer");
    chat.screen.press("q");
    chat.wait_ready();
    chat.say("/clear");
    chat.screen.wait_until(|screen| !screen.contents().contains("Done"));
    chat.say("edit");
    // The card and the status line say so.
    chat.screen.wait_until(|screen| screen.contents().matches("waiting for you").count() == 2);
    chat.see("d diff in full");
    add(&chat, "question with a diff");
    chat.screen.press("\x1b");
    chat.see("cancelled");
    chat.wait_ready();
    chat.say("go on");
    gate.pass(1);
    chat.see("half");
    for message in ["first", "/context", "!ls"] {
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
    add(&chat, "queue of three");
    chat.screen.press("\x1b");
    chat.wait_ready();
    chat.screen.press("\x03");
    chat.screen.wait_until(|screen| !screen.contents().contains("!ls"));
    chat.say("/rewind");
    chat.see("esc closes");
    add(&chat, "rewind");
    close(&mut chat);
    chat.say("/model");
    chat.see("esc closes");
    add(&chat, "model");
    close(&mut chat);
    chat.say("/new");
    chat.screen.wait_until(|screen| screen.contents().matches("/help").count() > 0);
    chat.say("/clear");
    chat.screen.wait_until(|screen| !screen.contents().contains("half"));
    chat.say("/resume");
    chat.see("esc closes");
    add(&chat, "resume");
    close(&mut chat);
    let is_painted = paints(&chat.screen.take_written());
    assert_eq!(is_painted, !no_colour, "attributes are written only where they are wanted");
    chat.leave();
    all
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

/// Times of day, and ids, which stand in the last column.
fn masked_session(row: &str) -> String {
    let digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "_");
    match row.find("today ") {
        Some(at) => format!("{}{}", &row[..at], digits(&row[at..at + 11.min(row.len() - at)])),
        None => row.to_owned(),
    }
}
