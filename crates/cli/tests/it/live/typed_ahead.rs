//! Keys that were pressed before a question could be read: none of them answers it, and none is lost.

use std::time::{Duration, Instant};

use testkit::live_screen::Signal;
use testkit::{Fixture, Gate, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{CTRL_C, DB, ESC, edit, is_idle, project, question_counts, typed};

/// How long a question takes no answers.
const DEAD_TIME: Duration = Duration::from_millis(300);

/// An answer that streams two pieces of text through a gate and then wants to change a file.
fn streamed_change(gate: &Gate) -> Reply {
    let (tool, arguments) = edit();
    Reply::pieces(["I look at it. ", "So:"]).through(gate).and_call(tool, arguments)
}

/// A chat, and a model that wants to change a file in each of its answers.
struct AheadOfQuestions {
    project: Fixture,
    server: ModelServer,
    chat: LiveChat,
    gates: Vec<Gate>,
    used: usize,
}

impl AheadOfQuestions {
    fn new(questions: usize) -> Self {
        let project = project();
        let gates: Vec<Gate> = (0..questions).map(|_| Gate::new()).collect();
        let server = ModelServer::start(gates.iter().map(streamed_change));
        let chat = LiveChat::with_model(&project, &server);
        Self { project, server, chat, gates, used: 0 }
    }

    /// Begins a turn, whose answer is half streamed.
    fn begin(&mut self) -> Gate {
        let gate = self.gates[self.used].clone();
        self.used += 1;
        self.chat.say("go");
        gate.pass(1);
        self.chat.sees("I look at it.");
        gate
    }

    /// The question is there, the keys have gone to the input, and nothing has been done.
    fn ends_with(&mut self, typed: &str) {
        self.chat.sees("Edit src/db.js, +1 −1?");
        self.chat.has_typed(typed);
        self.is_unanswered(typed);
    }

    fn is_unanswered(&mut self, case: &str) {
        self.chat.sees("Edit src/db.js, +1 −1?");
        assert_eq!(self.project.read("src/db.js"), DB, "{case:?}");
        assert_eq!(self.server.calls().len(), self.used, "{case:?}");
        // Stops the turn, so that what was queued comes back, and empties the box and the screen.
        self.chat.press(ESC);
        self.chat.screen.wait_until(is_idle);
        self.chat.press(CTRL_C);
        self.chat.is_idle();
        self.chat.say("/clear");
        self.chat.no_longer_sees("I look at it.");
    }
}

/// Keys, and what is in the box after them. Each ends with a letter that shows that all have been read.
const KEYS: [(&str, &str); 18] = [
    ("yz", "yz"),
    ("yyyyyyyyyyyyyyyyyyyyyyyyz", "yyyyyyyyyyyyyyyyyyyyyyyyz"),
    ("asz", "asz"),
    ("agz", "agz"),
    ("nefhcadz", "nefhcadz"),
    ("\r\r\rz", "z"),
    ("\t \tyz", " yz"),
    ("h\x1b[Bz", "hz"),
    // Pastes.
    ("\x1b[200~y\x1b[201~z", "yz"),
    ("\x1b[200~y\ry\r\x1b[201~z", "y\ny\nz"),
    // Sequences of keys that type nothing, and half of one.
    ("\x1b[5~\x1b[6~\x1b[H\x1b[F\x1bOP\x1b[15~yz", "yz"),
    ("\x1b[1;5D\x1b[1;2C\x1b[3~yz", "yz"),
    ("\x1byz", "z"),
    // The protocol of kitty: press, repeat, release, and with modifiers.
    ("\x1b[121uz", "yz"),
    ("\x1b[121;1:1u\x1b[121;1:2u\x1b[121;1:3uz", "yyz"),
    ("\x1b[121;1:3u\x1b[13;1:3uz", "z"),
    ("\x1b[13u\x1b[57414uyz", "yz"),
    ("\x1b[121;5uz", "z"),
];

fn typed_while_streaming(keys: &[(&str, &str)]) {
    let mut ahead = AheadOfQuestions::new(keys.len());
    for (keys, expected) in keys {
        let gate = ahead.begin();
        ahead.chat.press(keys);
        ahead.chat.has_typed(expected);
        gate.open();
        ahead.ends_with(expected);
    }
}

fn typed_as_it_opens(keys: &[(&str, &str)]) {
    let mut ahead = AheadOfQuestions::new(keys.len());
    for (keys, expected) in keys {
        let gate = ahead.begin();
        gate.open();
        ahead.chat.press(keys);
        ahead.ends_with(expected);
    }
}

#[test]
fn text_while_the_answer_streams() {
    typed_while_streaming(&KEYS[..9]);
}

#[test]
fn sequences_while_the_answer_streams() {
    typed_while_streaming(&KEYS[9..]);
}

#[test]
fn text_at_the_moment_at_which_the_question_opens() {
    typed_as_it_opens(&KEYS[..9]);
}

#[test]
fn sequences_at_the_moment_at_which_the_question_opens() {
    typed_as_it_opens(&KEYS[9..]);
}

#[test]
fn keys_in_the_first_moments_of_a_question() {
    // A machine that is so slow that these moments pass before the key is pressed shows nothing.
    for attempt in 0.. {
        assert!(attempt < 5, "the keys are always pressed too late");
        let mut ahead = AheadOfQuestions::new(1);
        let gate = ahead.begin();
        let before = Instant::now();
        gate.open();
        ahead.chat.sees("Edit src/db.js, +1 −1?");
        ahead.chat.press("y");
        if before.elapsed() < DEAD_TIME {
            ahead.ends_with("y");
            break;
        }
    }
}

#[test]
fn a_flood_of_keys_across_the_moment_at_which_the_question_opens() {
    let mut ahead = AheadOfQuestions::new(2);
    // Both more and less than what is read at once.
    for count in [200, 1500] {
        let gate = ahead.begin();
        ahead.chat.press("y");
        ahead.chat.has_typed("y");
        gate.open();
        ahead.chat.press(&"y".repeat(count));
        ahead.chat.press("z");
        ahead
            .chat
            .screen
            .wait_until(|screen| typed(screen).is_some_and(|text| text.ends_with('z')));
        ahead.is_unanswered("flood");
    }
}

#[test]
fn a_message_sent_ahead_is_queued_and_answers_nothing() {
    let mut ahead = AheadOfQuestions::new(1);
    let gate = ahead.begin();
    gate.open();
    ahead.chat.press("y\ry\rz");
    ahead.chat.has_typed("z");
    ahead.chat.sees("queued");
    ahead.is_unanswered("y, enter");
}

/// Waits as long as a question takes no answers: another process asks one, and its keys count in the end.
struct DeadTime(AheadOfQuestions, Gate);

impl DeadTime {
    fn new() -> Self {
        let mut other = AheadOfQuestions::new(1);
        let gate = other.begin();
        Self(other, gate)
    }

    fn passes(mut self) {
        self.1.open();
        self.0.chat.asks("Edit src/db.js, +1 −1?");
    }
}

#[test]
fn keys_while_the_process_was_stopped() {
    for keys_first in [true, false] {
        let (time, mut ahead) = (DeadTime::new(), AheadOfQuestions::new(1));
        let gate = ahead.begin();
        ahead.chat.screen.signal(Signal::STOP);
        if keys_first {
            ahead.chat.press("yyyy");
            gate.open();
        } else {
            gate.open();
            ahead.chat.press("yyyy");
        }
        time.passes();
        ahead.chat.screen.signal(Signal::CONT);
        ahead.ends_with("yyyy");
    }
}

#[test]
fn keys_while_the_terminal_takes_no_output() {
    let (time, mut ahead) = (DeadTime::new(), AheadOfQuestions::new(1));
    let gate = ahead.begin();
    ahead.chat.screen.hold_output(true);
    gate.open();
    // The loop waits in a write; the question is open, but on no screen.
    ahead.server.watch().wait_for_calls(1);
    time.passes();
    ahead.chat.press("yyyy");
    ahead.chat.screen.hold_output(false);
    ahead.ends_with("yyyy");
}

#[test]
fn keys_while_the_process_was_stopped_with_the_question_open() {
    for attempt in 0.. {
        assert!(attempt < 5, "the keys always count before the process is stopped");
        let (time, mut ahead) = (DeadTime::new(), AheadOfQuestions::new(1));
        ahead.begin().open();
        ahead.chat.sees("Edit src/db.js, +1 −1?");
        ahead.chat.screen.signal(Signal::STOP);
        time.passes();
        if ahead.chat.screen.look(question_counts) {
            // The machine was so slow that the keys counted already when the process was stopped.
            continue;
        }
        ahead.chat.press("y");
        ahead.chat.screen.signal(Signal::CONT);
        ahead.ends_with("y");
        break;
    }
}

#[test]
fn keys_that_were_typed_into_the_editor_do_not_answer() {
    let project = project();
    let (script, go) = (project.path("../waits.sh"), project.path("../go"));
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let waits = format!("echo EDITOR RUNS > /dev/tty\ncat {} > /dev/null\n", go.display());
    std::fs::write(&script, waits).unwrap();
    let (tool, arguments) = edit();
    let server = ModelServer::start([Reply::call(tool, arguments)]);
    let editor = format!("sh {}", script.display());
    let mut chat = LiveChat::with_variables(&project, &server, &[("EDITOR", &editor)]);
    chat.say("go");
    chat.answers("Edit src/db.js, +1 −1?", "e");
    chat.sees("EDITOR RUNS");
    chat.press("y");
    std::fs::write(&go, "").unwrap();
    chat.has_typed("y");
    assert_eq!(project.read("src/db.js"), DB);
    assert_eq!(server.calls().len(), 1);
}

#[test]
fn keys_that_follow_the_one_that_closes_the_viewer_do_not_answer() {
    let project = project();
    let (tool, arguments) = edit();
    let prints = serde_json::json!({"command": "printf 'a\\nb\\nc\\n'"});
    let server = ModelServer::start([Reply::call("bash", prints), Reply::call(tool, arguments)]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.asks("Edit src/db.js, +1 −1?");
    chat.press("\x0f");
    chat.sees("q back");
    chat.press("qy");
    chat.has_typed("y");
    assert_eq!(project.read("src/db.js"), DB);
    assert_eq!(server.calls().len(), 2);
}
