//! Other sizes of the terminal, at any moment: nothing is lost, and what is drawn fits.

use std::collections::BTreeSet;

use testkit::live_screen::Screen;
use testkit::{Gate, ModelServer, Reply};

use super::DrawnChat;
use super::drawn_chat::{change, rows_of};

const WIDE: (u16, u16) = (200, 50);

/// A paragraph of numbered words.
fn paragraph(number: usize) -> String {
    const WORDS: usize = 12;
    let words = (number * WORDS..(number + 1) * WORDS).map(|word| format!("w{word:04}"));
    words.collect::<Vec<_>>().join(" ") + "\n\n"
}

/// The numbered words in a text, in its order. A terminal may have wrapped them anywhere.
fn words(text: &str) -> Vec<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let numbers = text.split('w').skip(1).filter_map(|rest| rest.get(..4));
    let numbers = numbers.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.map(|number| format!("w{number}")).collect()
}

/// What is wrong with what is drawn below the conversation, if anything is.
fn fault(screen: &Screen) -> Option<String> {
    let rows = rows_of(screen);
    let width = usize::from(screen.size().1.get());
    let last = rows.iter().rposition(|row| !row.trim().is_empty()).unwrap_or(0);
    if ["│", "╭", "╰"].iter().any(|border| rows[last].starts_with(border)) {
        return Some("the status line is not the last".to_owned());
    }
    let (row, column) = screen.cursor_position();
    let (row, column) = (usize::from(row), usize::from(column));
    let is_whole = |row: &String, ends: [&str; 2]| {
        row.starts_with(ends[0]) && row.ends_with(ends[1]) && row.chars().count() == width
    };
    if !is_whole(&rows[row], ["│", "│"]) || !(4..width - 1).contains(&column) {
        return Some(format!("the cursor is not in the box: {row}, {column}"));
    }
    let top = rows[..row].last().filter(|row| is_whole(row, ["╭", "╮"]));
    let bottom = rows[row..=last].iter().position(|row| is_whole(row, ["╰", "╯"]));
    if top.is_none() || bottom.is_none() || row + bottom.unwrap_or(0) >= last {
        return Some("the box is not whole".to_owned());
    }
    let wraps = (row..=last).any(|row| screen.row_wrapped(row as u16));
    (wraps || screen.hide_cursor()).then(|| "a row wraps, or the cursor is hidden".to_owned())
}

/// Waits until everything that is drawn is as it should be, and looks for words that were lost.
#[track_caller]
fn assert_whole(
    chat: &mut DrawnChat,
    fault: impl Fn(&Screen) -> Option<String>,
    shown_words: usize,
    context: &str,
) {
    let mut last = None;
    let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        chat.screen.wait_until(|screen| {
            last = fault(screen);
            last.is_none()
        });
    }));
    assert!(is_right.is_ok(), "{context}: {last:?}\n{}", chat.screen.text());
    let text = chat.screen.text();
    let seen: BTreeSet<String> = words(&text).into_iter().collect();
    let all: BTreeSet<String> = (0..shown_words).map(|word| format!("w{word:04}")).collect();
    let missing: Vec<&String> = all.iter().filter(|word| !seen.contains(*word)).collect();
    assert!(missing.is_empty(), "{context}: lost {missing:?}\n{text}");
    // What is visible of the answer is its end, without a gap.
    let page = chat.screen.look(|screen| rows_of(screen).join("\n"));
    let page = words(&page);
    let end: Vec<String> = (shown_words - page.len().min(shown_words)..shown_words)
        .map(|word| format!("w{word:04}"))
        .collect();
    assert_eq!(page, end, "{context}\n{text}");
}

#[test]
fn an_answer_is_whole_at_every_size_in_mid_stream() {
    let gate = Gate::new();
    let reply = Reply::pieces((0..40).map(paragraph)).through(&gate);
    let mut chat = DrawnChat::sized(WIDE, [reply]);
    chat.say("write");
    let sizes = [(20, 50), WIDE, (200, 5), (100, 30), (20, 5), (20, 60), (200, 8), (61, 24)];
    let mut given = 0;
    for size in sizes.into_iter().cycle().take(36) {
        gate.pass(1);
        given += 1;
        chat.screen.wait_for(&format!("w{:04}", given * 12 - 1));
        chat.resize(size);
        assert_whole(&mut chat, fault, given * 12, &format!("{size:?} after {given}"));
    }
    gate.open();
    chat.wait_ready();
    chat.leave();
}

#[test]
fn without_a_resize_every_word_is_there_once() {
    let gate = Gate::new();
    let mut chat =
        DrawnChat::sized((60, 12), [Reply::pieces((0..30).map(paragraph)).through(&gate)]);
    chat.say("write");
    for given in 1..=30 {
        gate.pass(1);
        chat.screen.wait_for(&format!("w{:04}", given * 12 - 1));
    }
    gate.open();
    chat.wait_ready();
    let text = chat.screen.text();
    let all: Vec<String> = (0..360).map(|word| format!("w{word:04}")).collect();
    assert_eq!(words(&text), all, "{text}");
    chat.leave();
}

/// What is open is seen at every size, above the status line, and the cursor is on the screen.
#[test]
fn lists_questions_and_the_viewer_stay_visible_at_every_size() {
    let thought = Reply::text("Done.").and_thinking("one\n\ntwo\n\nthree\n");
    let mut chat = DrawnChat::start([thought, change()]);
    chat.say("think");
    chat.see("Done.");
    chat.wait_ready();
    // Keys that open it, what is seen then, what is seen at every size, and keys that close it.
    let opened = [
        ("/", "│ › /", "│ › /", "\x15"),
        ("/rewind\r", "esc closes", "Go back", "\x1b"),
        ("\x0f", "/ search", " of ", "q"),
        ("edit\r", "Edit src/db.js", "Edit src/db.js", ""),
    ];
    for (open, is_open, seen, close) in opened {
        chat.screen.press(open);
        chat.see(is_open);
        for size in [(200, 50), (20, 24), (200, 5), (100, 30), (20, 5), (80, 24)] {
            chat.resize(size);
            let rows = chat.screen.look(rows_of);
            let last = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
            let found = rows[..last].iter().any(|row| row.contains(seen));
            assert!(found, "{seen} at {size:?}\n{}", rows.join("\n"));
            let is_status = ["ready", "waiting"].iter().any(|word| rows[last].contains(word));
            assert!(is_status, "{seen} at {size:?}\n{}", rows.join("\n"));
        }
        chat.screen.press(close);
        if !close.is_empty() {
            chat.screen.wait_until(|screen| {
                fault(screen).is_none() && !screen.contents().contains(is_open)
            });
        }
    }
    chat.screen.press("\x03\x03");
    assert_eq!(chat.screen.wait_exit(), 0);
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % count
    }
}

/// A chat in which everything happens in turn.
struct RandomWalk {
    chat: DrawnChat,
    gate: Gate,
    dice: Dice,
    paragraphs: usize,
    /// Paragraphs until the question of the reply.
    left: usize,
    asks: bool,
    typed: String,
}

const PARAGRAPHS_A_REPLY: usize = 4;

impl RandomWalk {
    fn start(seed: u64) -> Self {
        let gate = Gate::new();
        let (held, mut next) = (gate.clone(), 0);
        let project = super::drawn_chat::small_project();
        let server = ModelServer::answering(move |_| {
            let pieces: Vec<String> = (next..next + PARAGRAPHS_A_REPLY).map(paragraph).collect();
            next += PARAGRAPHS_A_REPLY;
            let reply = Reply::pieces(pieces).through(&held);
            change().parts.into_iter().fold(reply, Reply::and)
        });
        let chat = DrawnChat::with_server((80, 24), project, server, |_| {});
        let (dice, typed) = (Dice(seed), String::new());
        Self { chat, gate, dice, paragraphs: 0, left: 0, asks: false, typed }
    }

    fn step(&mut self) -> String {
        match self.dice.below(8) {
            0..=2 => {
                let (columns, rows) = (20 + self.dice.below(181), 5 + self.dice.below(46));
                self.chat.resize((columns as u16, rows as u16));
                format!("resize to {columns}, {rows}")
            }
            3 | 4 => self.key(),
            _ if self.asks => {
                // Stops the turn, and with it the question.
                self.clear_input();
                self.chat.screen.press("\x1b");
                self.chat.wait_ready();
                self.asks = false;
                "stop".to_owned()
            }
            _ => self.piece(),
        }
    }

    fn key(&mut self) -> String {
        if self.typed.len() > 6 || self.typed == "/" {
            self.clear_input();
            return "clear".to_owned();
        }
        let key = match self.dice.below(4) {
            0 if self.typed.is_empty() => '/',
            other => char::from(b'p' + other as u8),
        };
        self.typed.push(key);
        self.chat.screen.press(&key.to_string());
        self.wait_typed();
        format!("key {key}")
    }

    fn wait_typed(&mut self) {
        let typed = self.typed.clone();
        self.chat.screen.wait_until(|screen| {
            let (row, _) = screen.cursor_position();
            let row = rows_of(screen).swap_remove(row.into());
            let text = row.trim_matches(['│', '›', ' ']);
            text == typed || screen.hide_cursor()
        });
    }

    fn clear_input(&mut self) {
        self.chat.screen.press("\x15");
        self.typed.clear();
        self.wait_typed();
    }

    fn piece(&mut self) -> String {
        if self.left == 0 {
            self.clear_input();
            self.chat.say("go on");
            self.left = PARAGRAPHS_A_REPLY;
        }
        self.gate.pass(1);
        self.paragraphs += 1;
        self.left -= 1;
        self.chat.screen.wait_for(&format!("w{:04}", self.paragraphs * 12 - 1));
        if self.left == 0 {
            self.chat.see("waiting for you");
            self.asks = true;
        }
        format!("piece {}", self.paragraphs)
    }
}

#[test]
fn whatever_happens_in_whatever_order_the_screen_is_whole() {
    let mut walk = RandomWalk::start(7);
    let mut steps = Vec::new();
    for _ in 0..60 {
        steps.push(walk.step());
        let keys_answer = walk.asks && walk.typed.is_empty();
        let fault = |screen: &Screen| match keys_answer && screen.size().0.get() < 9 {
            // Where there is no room for both, the question is seen and not the input box.
            true => (!screen.contents().contains("Edit")).then(|| "no question".to_owned()),
            false => fault(screen),
        };
        let words = walk.paragraphs * 12;
        assert_whole(&mut walk.chat, fault, words, &format!("after {steps:?}"));
    }
    assert!(walk.paragraphs > 8, "{steps:?}");
}
