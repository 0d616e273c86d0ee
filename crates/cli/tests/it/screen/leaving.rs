//! Whatever ends the chat or interrupts it, the terminal is left as it was found.

use std::path::Path;
use std::process::Command;

use testkit::live_screen::Signal;
use testkit::{Gate, LiveScreen, ModelServer, Reply};

use super::DrawnChat;
use super::drawn_chat::{change, chat, gated, small_project};
use crate::pty::{Output, Session};

const NOTHING: [&str; 0] = [];
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_G: &str = "\x07";
const CTRL_O: &str = "\x0f";
const CTRL_Z: &str = "\x1a";
/// A corner of the input box, of which there is none when the terminal is not ours.
const BOX: &str = "╰─";

/// What the chat is doing.
#[derive(Clone, Copy, Debug)]
enum LeavingMoment {
    Idle,
    Streaming,
    Question,
    Picker,
    Viewer,
}

use LeavingMoment::{Idle, Picker, Question, Streaming, Viewer};

const MOMENTS: [LeavingMoment; 5] = [Idle, Streaming, Question, Picker, Viewer];

/// Replies for one message at each moment that needs one, in the order of [`MOMENTS`].
fn replies(moment: LeavingMoment) -> Vec<Reply> {
    match moment {
        Idle => Vec::new(),
        Streaming => vec![Reply::text("never seen").through(&Gate::new())],
        Question => vec![change(), Reply::text("I leave it.")],
        Picker | Viewer => vec![Reply::text("Done.").and_thinking("one\n\ntwo\n\nthree\n")],
    }
}

/// Leads the chat there, from where nothing runs.
fn lead(chat: &mut DrawnChat, moment: LeavingMoment) {
    match moment {
        Idle => {}
        Streaming => {
            let before = chat.server.calls().len();
            chat.say("write");
            chat.server.watch().wait_for_calls(before + 1);
            chat.see("esc stops");
        }
        Question => {
            chat.say("change it");
            chat.see("Edit src/db.js, +1 −1?");
        }
        Picker => {
            chat.say("think");
            chat.see("Done.");
            chat.wait_ready();
            chat.say("/rewind");
            chat.see("esc closes");
        }
        Viewer => {
            chat.say("think");
            chat.see("Done.");
            chat.wait_ready();
            chat.screen.press(CTRL_O);
            chat.see("/ search");
        }
    }
}

fn at(moment: LeavingMoment) -> DrawnChat {
    let mut chat = DrawnChat::start(replies(moment));
    let before = chat.screen.modes();
    assert!(!before.has("echo") && !before.has("icanon") && !before.has("isig"), "{before:?}");
    lead(&mut chat, moment);
    chat
}

/// The terminal is as it was found, and only finished text is on it.
#[track_caller]
fn assert_left(screen: &mut LiveScreen, code: i32, context: &str) {
    assert_eq!(screen.wait_exit(), code, "{context}\n{}", screen.text());
    assert_eq!(screen.changed_modes(), NOTHING, "{context}");
    let text = screen.text();
    assert!(!text.contains(BOX) && !text.contains("esc "), "{context}\n{text}");
    assert_eq!(screen.cursor().1, 0, "{context}\n{text}");
}

#[test]
fn signals_end_it_at_every_moment_with_their_code() {
    for moment in MOMENTS {
        for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
            let mut chat = at(moment);
            chat.screen.signal(signal);
            assert_left(&mut chat.screen, code, &format!("{moment:?} {signal:?}"));
        }
    }
}

#[test]
fn keys_end_it_at_every_moment() {
    for moment in MOMENTS {
        // The first key closes what is open.
        let closes = match moment {
            Picker | Viewer => "\x1b",
            _ => "",
        };
        let ctrl_c_twice = [CTRL_C, CTRL_C].concat();
        for keys in ["/exit\r", CTRL_D, &ctrl_c_twice] {
            let mut chat = at(moment);
            if !closes.is_empty() {
                chat.screen.press(closes);
                chat.see(BOX);
            }
            chat.screen.press(keys);
            assert_left(&mut chat.screen, 0, &format!("{moment:?} {keys:?}"));
        }
    }
}

#[test]
fn a_signal_while_a_session_is_picked_at_the_start_has_its_code() {
    let mut chat = DrawnChat::start([Reply::text("Good day.")]);
    chat.say("hello");
    chat.see("Good day.");
    chat.wait_ready();
    let DrawnChat { mut screen, server, project } = chat;
    screen.press(CTRL_D);
    screen.wait_exit();
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut command = crate::run::command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.args(["resume", "--provider", "ollama", "--model", "scripted", "--base-url"]);
        command.arg(server.base_url()).arg("--root").arg(project.root());
        let mut screen = LiveScreen::start(&command, 80, 24);
        screen.wait_until(|screen| screen.contents().contains("esc closes"));
        screen.signal(signal);
        assert_left(&mut screen, code, &format!("{signal:?}"));
    }
}

/// Stopped by `stop`, the terminal is the shell's; continued, it is ours again and drawn anew.
#[track_caller]
fn stop_and_continue(chat: &mut DrawnChat, shown: &str, stop: impl FnOnce(&mut LiveScreen)) {
    let screen = &mut chat.screen;
    stop(screen);
    screen.wait_until(|screen| {
        !screen.contents().contains(shown) && !screen.bracketed_paste() && !screen.hide_cursor()
    });
    assert_eq!(screen.changed_modes(), NOTHING, "{shown}");
    screen.resume();
    screen.wait_until(|screen| screen.contents().contains(shown));
    let modes = screen.modes();
    assert!(!modes.has("echo") && !modes.has("icanon"), "{shown}: {modes:?}");
    assert!(modes.has("bracketed paste") && modes.has("keyboard protocol"), "{shown}");
}

#[test]
fn stopped_by_a_signal_or_by_ctrl_z_it_comes_back_as_it_was() {
    for moment in MOMENTS {
        let mut chat = DrawnChat::as_job(replies(moment));
        lead(&mut chat, moment);
        let shown = match moment {
            Idle => "ready",
            Streaming => "esc stops",
            Question => "Edit src/db.js, +1 −1?",
            Picker => "esc closes",
            Viewer => "/ search",
        };
        stop_and_continue(&mut chat, shown, LiveScreen::stop);
        stop_and_continue(&mut chat, shown, |screen| {
            screen.press(CTRL_Z);
            screen.wait_stopped();
        });
        chat.screen.signal(Signal::TERM);
        assert_eq!(chat.screen.wait_exit(), 143, "{moment:?}");
        assert_eq!(chat.screen.changed_modes(), NOTHING, "{moment:?}");
    }
}

#[test]
fn what_the_shell_has_printed_stays_when_it_comes_back() {
    let mut chat = DrawnChat::as_job([Reply::text("Good day.")]);
    chat.say("hello");
    chat.see("Good day.");
    chat.wait_ready();
    chat.screen.press(CTRL_Z);
    chat.screen.wait_stopped();
    chat.screen.wait_until(|screen| !screen.contents().contains(BOX));
    chat.screen.resume_after("printed by the shell");
    chat.see("printed by the shell");
    chat.wait_ready();
    let text = chat.screen.text();
    let places =
        ["Good day.", "printed by the shell", BOX].map(|it| (it, text.matches(it).count()));
    assert_eq!(places.map(|(_, count)| count), [1, 1, 1], "{text}");
    assert!(places.is_sorted_by_key(|(it, _)| text.find(it)), "{text}");
    chat.leave();
}

/// A chat whose editor is this script.
fn with_editor(script: &str, start: impl FnOnce(&Command) -> LiveScreen) -> DrawnChat {
    let (project, server) = (small_project(), ModelServer::start([]));
    let editor = project.root().with_file_name("editor.sh");
    std::fs::write(&editor, script).unwrap();
    let mut command = chat(&project, &server);
    command.env("EDITOR", format!("sh {}", editor.display()));
    let mut chat = DrawnChat { screen: start(&command), server, project };
    chat.wait_ready();
    chat
}

#[test]
fn an_editor_that_is_killed_leaves_the_prompt_and_the_modes() {
    let mut chat = with_editor("stty raw -echo; kill -KILL $$\n", |command| {
        LiveScreen::start(command, 80, 24)
    });
    let ours = chat.screen.modes();
    chat.screen.press("my words");
    chat.see("my words");
    chat.screen.press(CTRL_G);
    chat.see("nothing was edited");
    chat.see("› my words");
    assert_eq!(chat.screen.modes(), ours);
    chat.screen.press(CTRL_C);
    chat.screen.wait_until(|screen| !screen.contents().contains("my words"));
    chat.screen.press(CTRL_D);
    assert_left(&mut chat.screen, 0, "killed editor");
}

#[test]
fn an_editor_that_stops_itself_stops_the_chat_with_it() {
    let mut chat = with_editor("kill -TSTP 0\necho edited >\"$1\"\n", |command| {
        LiveScreen::start_as_job(command, 80, 24)
    });
    chat.screen.press(CTRL_G);
    chat.screen.wait_stopped();
    chat.screen.wait_until(|screen| !screen.bracketed_paste() && !screen.hide_cursor());
    assert_eq!(chat.screen.changed_modes(), NOTHING);
    chat.screen.resume();
    chat.see("› edited");
    let modes = chat.screen.modes();
    assert!(!modes.has("echo") && !modes.has("icanon"), "{modes:?}");
    chat.screen.signal(Signal::TERM);
    assert_eq!(chat.screen.wait_exit(), 143);
    assert_eq!(chat.screen.changed_modes(), NOTHING);
}

#[test]
fn a_signal_while_the_editor_runs_ends_both_and_leaves_the_modes() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        // An editor in raw mode that puts nothing back.
        let script = "stty raw -echo; printf \"process $$.\"; exec sleep 1000\n";
        let mut chat = with_editor(script, |command| LiveScreen::start(command, 80, 24));
        chat.screen.press("my words");
        chat.see("my words");
        chat.screen.press(CTRL_G);
        chat.screen.wait_until(|screen| screen.contents().trim_end().ends_with('.'));
        let text = chat.screen.text();
        let id = text.rsplit_once("process ").unwrap().1.trim_end_matches('.').to_owned();
        let editor = Path::new("/proc").join(id);
        assert!(editor.exists(), "{text}");
        chat.screen.signal(signal);
        assert_eq!(chat.screen.wait_exit(), code, "{}", chat.screen.text());
        assert_eq!(chat.screen.changed_modes(), NOTHING, "{signal:?}");
        assert!(!editor.exists(), "the editor runs without the chat");
    }
}

/// A terminal whose other side is closed sends SIGHUP only to the leader of the session. The chat ends in both cases.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    for is_leader in [true, false] {
        for streams in [false, true] {
            let (gate, reply) = gated(&["half a ", "line"]);
            let (project, server) = (small_project(), ModelServer::start([reply]));
            let inner = chat(&project, &server);
            let mut command = match is_leader {
                true => within(Path::new("setsid"), &["--ctty"], &inner),
                false => inner,
            };
            command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
            let mut session = Session::spawn(command, Output::Terminal);
            session.wait_for("ready");
            if streams {
                session.press("write\r");
                session.wait_for("esc stops");
                gate.pass(1);
                session.wait_for("half a");
            }
            let code = session.hang_up();
            assert_eq!(code, 129, "leader: {is_leader}, streams: {streams}");
        }
    }
}

/// The same command below another program.
fn within(program: &Path, arguments: &[&str], inner: &Command) -> Command {
    let mut command = Command::new(program);
    command.env_clear().args(arguments).arg(inner.get_program()).args(inner.get_args());
    command
}

/// Files can have at most so many blocks of 512 bytes. Writing more is an error, as on a full disk.
const LIMITED: &str = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";

#[test]
fn a_full_disk_ends_the_chat_or_is_told_and_the_terminal_is_as_it_was() {
    let text = "word ".repeat(40_000);
    let project = small_project();
    let state = project.root().with_file_name("state");
    let server = ModelServer::start([Reply::text(&text), Reply::text("again")]);
    let inner = chat(&project, &server);
    let mut command = within(Path::new("sh"), &["-c", LIMITED, "400"], &inner);
    command.env("XDG_STATE_HOME", &state);
    let mut screen = LiveScreen::start(&command, 80, 24);
    screen.wait_until(|screen| screen.contents().contains("ready"));
    screen.press("write\r");
    let code = screen.wait_exit();
    let shown = screen.text();
    assert_eq!(screen.changed_modes(), NOTHING, "{shown}");
    assert!(code != 0 && shown.contains("toolkiln: "), "{code}\n{shown}");
}

/// Set for the child that takes a terminal and panics: on which thread.
const PANICS: &str = "TOOLKILN_TEST_PANICS";
/// Runs a program between two looks at the modes, as users look at them.
const LOOKED_AT: &str = "stty -a >$0/before; \"$@\"; code=$?; stty -a >$0/after; exit $code";

#[test]
fn a_panic_in_the_middle_of_a_frame_gives_the_terminal_back() {
    for thread in ["this", "another"] {
        let looks = testkit::Fixture::new("");
        let mut inner = Command::new(std::env::current_exe().unwrap());
        inner.args(["--exact", "screen::leaving::inside_the_terminal", "--nocapture"]);
        let place = looks.root().to_str().unwrap();
        let mut command = within(Path::new("sh"), &["-c", LOOKED_AT, place], &inner);
        command.env(PANICS, thread);
        let mut screen = LiveScreen::start(&command, 80, 24);
        assert_eq!(screen.wait_exit(), 101, "{}", screen.text());
        assert_eq!(screen.changed_modes(), NOTHING, "{thread}");
        assert_eq!(looks.read("after"), looks.read("before"), "{thread}");
        let text = screen.text();
        assert!(
            text.contains("finished text") && text.contains("in the middle of a frame"),
            "{text}"
        );
        let written = String::from_utf8(screen.take_written()).unwrap();
        assert!(written.contains("\x1b[>1u") && written.contains("half of t"), "{written:?}");
        assert!(!written.contains("half of this"), "{written:?}");
    }
}

/// A terminal that shows the first frame, and only the beginning of the second.
struct BreakingTerminal {
    frames: usize,
}

impl std::io::Write for BreakingTerminal {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut out = std::io::stderr().lock();
        self.frames += 1;
        if self.frames == 1 {
            out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let end = bytes.windows(9).position(|part| part == b"half of t").unwrap() + 9;
        out.write_all(&bytes[..end])?;
        drop(out);
        panic!("in the middle of a frame");
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Not a test of its own: what the child does.
#[test]
fn inside_the_terminal() {
    let Ok(thread) = std::env::var(PANICS) else { return };
    let draw = || {
        let _modes = terminal::KeyModes::enter().unwrap();
        let size = terminal::ScreenSize { columns: 80, rows: 24 };
        let mut view = terminal::InlineView::new(BreakingTerminal { frames: 0 }, size);
        for line in ["\x1b[31mbefore\x1b[0m", "\x1b[31mhalf of this\x1b[0m"] {
            let lines = vec![line.to_owned(), "the status".to_owned()];
            let living = terminal::LiveLines { lines, cursor: Some((0, 2)) };
            view.frame("finished text\n", &living).unwrap();
        }
    };
    match &*thread {
        "another" => std::thread::spawn(draw).join().unwrap(),
        _ => draw(),
    }
}
