//! What is typed: several lines, history, completion, pastes, other editors.

use std::os::unix::fs::PermissionsExt as _;

use testkit::{Fixture, ModelServer, Reply};

use super::live_chat::{DB, DOWN, ESC, UP, chat_command, config_home, project};
use super::{LiveChat, PNG};

/// A model that answers so many messages.
fn listens(count: usize) -> ModelServer {
    ModelServer::start((1..=count).map(|number| Reply::text(&format!("Heard {number}."))))
}

/// The last that the user said in the request with this number.
fn last_said(server: &ModelServer, request: usize) -> String {
    server.calls()[request].user_texts().last().cloned().unwrap_or_default()
}

#[test]
fn a_message_has_several_lines() {
    let (project, server) = (project(), listens(1));
    let mut chat = LiveChat::with_model(&project, &server);
    // Alt-Enter, Ctrl-J, a backslash before Enter, and Shift-Enter where the terminal tells it.
    chat.press("one\x1b\rtwo\x0athree\\\rfour\x1b[13;2ufive");
    chat.has_typed("one\ntwo\nthree\nfour\nfive");
    assert!(server.calls().is_empty());
    chat.press("\r");
    chat.sees("Heard 1.");
    assert_eq!(last_said(&server, 0), "one\ntwo\nthree\nfour\nfive");
}

#[test]
fn history_goes_from_one_process_to_the_next() {
    let (project, server) = (project(), listens(3));
    let mut chat = LiveChat::with_model(&project, &server);
    for (at, text) in ["find the bug", "write a test"].iter().enumerate() {
        chat.say(text);
        chat.sees(&format!("Heard {}.", at + 1));
        chat.is_idle();
    }
    chat.leave();
    let mut chat = LiveChat::with_model(&project, &server);
    chat.press("draft");
    chat.has_typed("draft");
    chat.press(UP);
    chat.has_typed("write a test");
    chat.press(UP);
    chat.has_typed("find the bug");
    chat.press(&format!("{DOWN}{DOWN}"));
    chat.has_typed("draft");
    chat.press("\x15\x12");
    chat.sees("history:");
    chat.press("bug");
    chat.has_typed("find the bug");
    chat.press("\r\r");
    chat.sees("Heard 3.");
    assert_eq!(last_said(&server, 2), "find the bug");
}

#[test]
fn the_popup_offers_files_directories_and_symbols() {
    let project = Fixture::new(
        "//- /src/cart.rs\npub struct ShoppingCart;\n//- /src/deep/other.rs\nfn other() {}\n",
    );
    let server = listens(1);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.press("look at @sr");
    chat.sees("› src/");
    // Tab looks inside a directory and takes a file.
    chat.press("\t");
    chat.has_typed("look at @src/");
    chat.sees("src/deep/");
    chat.press("ca");
    chat.sees("› src/cart.rs");
    chat.press("\t");
    chat.has_typed("look at @src/cart.rs");
    chat.press("and @ShoppingCart");
    chat.sees("struct src/cart.rs:1");
    chat.press("\t");
    chat.no_longer_sees("struct src/cart.rs:1");
    chat.press("\r");
    chat.sees("Heard 1.");
    let said = server.calls()[0].user_texts().join("\n");
    assert!(said.contains("look at @src/cart.rs and @"), "{said}");
    assert!(said.contains("pub struct ShoppingCart;"), "{said}");
}

#[test]
fn a_large_paste_is_a_chip_and_the_model_gets_all_of_it() {
    let (project, server) = (project(), listens(1));
    let mut chat = LiveChat::with_model(&project, &server);
    let text: String = (1..=60).map(|line| format!("pasted line {line}\n")).collect();
    chat.press("see ");
    chat.screen.paste(&text);
    chat.has_typed("see [pasted 60 lines]");
    assert!(server.calls().is_empty(), "its line ends send nothing");
    chat.press(" please\r");
    chat.sees("Heard 1.");
    assert_eq!(last_said(&server, 0), format!("see {text} please"));
}

#[test]
fn editing_inside_a_long_text_moves_nothing_else() {
    let (project, server) = (project(), listens(1));
    let mut chat = LiveChat::with_model(&project, &server);
    let before = chat.screen.text();
    let above = before.split('╭').next().unwrap().to_owned();
    // Each paste is short enough to be edited; together they are longer than the box.
    for part in 0..4 {
        let lines: Vec<String> = (1..=5).map(|line| format!("line {part}-{line}")).collect();
        chat.screen.paste(&format!("{}\n", lines.join("\n")));
        chat.sees(&format!("line {part}-5"));
    }
    for _ in 0..12 {
        chat.press(UP);
    }
    chat.sees("line 1-4");
    chat.press("x\x7fX");
    chat.sees("Xline 1-4");
    chat.press(DOWN);
    chat.press("Y");
    chat.sees("lYine 1-5");
    let text = chat.screen.text();
    assert_eq!(text.split('╭').next(), Some(above.as_str()), "{text}");
    assert_eq!((text.matches('╭').count(), text.matches("line 2-1").count()), (1, 1), "{text}");
    chat.press("\r");
    chat.sees("Heard 1.");
    let said = last_said(&server, 0);
    assert!(said.starts_with("line 0-1\n") && said.contains("\nXline 1-4\nlYine 1-5\n"), "{said}");
    assert_eq!(said.lines().count(), 20);
}

#[test]
fn the_pasted_path_of_an_image_becomes_a_mention() {
    let (project, server) = (project(), listens(1));
    project.write("my shot.png", PNG);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.screen.paste(&format!("'{}'", project.path("my shot.png").display()));
    chat.sees("@\"");
    chat.press(" what is it?\r");
    chat.sees("my shot.png (PNG image, 2x1 pixels");
    chat.sees("Heard 1.");
    let said = server.calls()[0].user_texts().join("\n");
    assert!(said.contains("my shot.png (PNG image, 2x1 pixels"), "{said}");
}

#[test]
fn slash_offers_commands_and_those_of_the_user_work() {
    let (project, server) = (project(), listens(1));
    let commands = config_home(&project).join("toolkiln/commands");
    std::fs::create_dir_all(&commands).unwrap();
    let text = "---\nargument-hint: FILE\n---\nReview $ARGUMENTS with care.\n";
    std::fs::write(commands.join("review.md"), text).unwrap();
    let mut chat = LiveChat::with_model(&project, &server);
    chat.press("/re");
    chat.sees("/rename TITLE");
    chat.sees("/review");
    chat.press("v\t");
    chat.has_typed("/review FILE");
    chat.press("src/db.js\r");
    chat.sees("Heard 1.");
    assert_eq!(last_said(&server, 0), "Review src/db.js with care.");
    chat.is_idle();
    // A command without arguments is sent by the Enter that takes it.
    chat.press("/hel\r");
    chat.sees("list the commands and keys");
    chat.is_idle();
    chat.press("/x");
    chat.sees("› /exit");
    chat.press(ESC);
    chat.no_longer_sees("› /exit");
    chat.has_typed("/x");
}

#[test]
fn a_line_for_the_shell_runs_confined_and_the_model_is_told() {
    let (project, server) = (project(), listens(1));
    let mut chat = LiveChat::with_model(&project, &server);
    chat.press("!echo changed > src/db.js; cat src/db.js; echo $((6 * 7))");
    chat.sees("runs as a command");
    chat.press("\r");
    // It has changed a copy; the project changes by the answer only.
    chat.asks("src/db.js");
    assert_eq!(project.read("src/db.js"), DB);
    chat.press("n\r");
    chat.sees("42");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), DB);
    chat.say("what was that?");
    chat.sees("Heard 1.");
    let said = server.calls()[0].user_texts().join("\n");
    assert!(said.contains("The user has run this command at the prompt: echo changed"), "{said}");
    assert!(said.contains("42"), "{said}");
}

#[test]
fn ctrl_g_edits_the_message_elsewhere() {
    let (project, server) = (project(), listens(1));
    let script = project.path("../edit.sh");
    std::fs::write(&script, "#!/bin/sh\nprintf ' and more' >> \"$1\"\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = script.canonicalize().unwrap().display().to_string();
    let mut chat = LiveChat::with_variables(&project, &server, &[("EDITOR", &editor)]);
    chat.press("a little\x07");
    chat.has_typed("a little and more");
    chat.press("\r");
    chat.sees("Heard 1.");
    assert_eq!(last_said(&server, 0), "a little and more");
}

#[test]
fn what_is_typed_outlives_a_resize_and_a_suspension() {
    let project = project();
    let command = chat_command(&project, &["--provider", "offline"]);
    let mut chat = LiveChat::start_as_job(&command);
    chat.press("half a message");
    chat.has_typed("half a message");
    chat.screen.resize(60, 30);
    let top = format!("╭{}╮", "─".repeat(58));
    chat.sees(&top);
    chat.has_typed("half a message");
    chat.press("\x1a");
    chat.screen.wait_stopped();
    assert!(chat.screen.modes().has("icanon"), "{:?}", chat.screen.changed_modes());
    chat.screen.resize(80, 30);
    chat.screen.resume();
    chat.sees(&format!("╭{}╮", "─".repeat(78)));
    chat.press(" and the rest");
    chat.has_typed("half a message and the rest");
    // Ctrl-J is still told from Enter.
    chat.press("\x0a.");
    chat.has_typed("half a message and the rest\n.");
    chat.press("\x03");
    chat.is_idle();
    chat.leave();
}
