//! The question by its keys, and as it looks.

use proptest::prelude::*;
use protocol::QuestionText;

use super::*;
use crate::{Ink, LiveStyle, columns};

const MS: Duration = Duration::from_millis(1);

fn question() -> PanelQuestion {
    let part =
        |title: &str, line: &str| PanelPart { title: title.into(), lines: vec![line.into()] };
    let file = |path: &str, parts: Vec<PanelPart>| PanelFile {
        path: path.into(),
        added: 4,
        removed: 3,
        parts,
    };
    let place = |line| Some(CommentPlace { path: "src/cart.ts".into(), line });
    let line = |drawn: &str, place| PanelLine { drawn: drawn.into(), place };
    PanelQuestion {
        title: "Edit 2 files, +7 −3?".into(),
        reason: Some("ask: edits in src/** need approval".into()),
        warnings: vec!["! src/cart.ts: the file becomes executable".into()],
        rule: Some("allow edits in src/** of this project".into()),
        files: vec![
            file("src/cart.ts", vec![part("line 41", "- let sum = 0;"), part("line 90", "+ }")]),
            file("test/cart.test.ts", vec![part("line 3", "+ expect(total)")]),
        ],
        diff: vec![
            line("  src/cart.ts   +4 −3", None),
            line(" 41    total(): string {", place(41)),
            line(" 42  -   let sum = 0;", place(42)),
            line("  test/cart.test.ts   +3", None),
            line(
                "  3  + expect(total)",
                Some(CommentPlace { path: "test/cart.test.ts".into(), line: 3 }),
            ),
        ],
        can_edit: true,
        position: (1, 3),
    }
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn letter(c: char) -> KeyEvent {
    key(KeyCode::Char(c))
}

/// A panel whose keys are pressed slowly, by a user who reads.
struct Slow {
    panel: QuestionPanel,
    now: Instant,
}

impl Slow {
    fn new(question: PanelQuestion) -> Self {
        let now = Instant::now();
        Self { panel: QuestionPanel::open(question, now, None), now }
    }

    fn press(&mut self, code: KeyCode) -> PanelOutcome {
        self.now += DEAD_TIME;
        self.panel.key(key(code), self.now, true)
    }

    fn write(&mut self, text: &str) -> PanelOutcome {
        let keys = text.chars().map(|c| match c {
            '⏎' => KeyCode::Enter,
            '⎋' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            c => KeyCode::Char(c),
        });
        let keys: Vec<KeyCode> = keys.collect();
        keys.into_iter().map(|code| self.press(code)).last().expect("a key is pressed")
    }

    fn drawn(&mut self, width: usize) -> String {
        let drawn = self.panel.draw(LiveStyle { width, colour: false }, 24, true, self.now);
        assert!(drawn.lines.iter().all(|line| columns(line) <= width), "{drawn:#?}");
        drawn.lines.join("\n")
    }
}

fn answer(answer: PanelAnswer) -> PanelOutcome {
    PanelOutcome::Answer(answer)
}

fn picked(parts: &[(&str, &[usize])]) -> PanelOutcome {
    let parts = parts.iter().map(|(path, parts)| ((*path).to_owned(), parts.to_vec()));
    answer(PanelAnswer::Parts(parts.collect()))
}

#[test]
fn one_key_answers() {
    let place = CommentPlace { path: "src/cart.ts".into(), line: 42 };
    let comment = PanelAnswer::Comment { place, text: "use cents".into() };
    let table = [
        ("y", answer(PanelAnswer::Yes)),
        ("e", answer(PanelAnswer::Edit)),
        ("n⏎", answer(PanelAnswer::No(None))),
        ("nuse y⏎", answer(PanelAnswer::No(Some("use y".into())))),
        ("nuse⎋y", answer(PanelAnswer::Yes)),
        ("as", answer(PanelAnswer::Always(RuleLifetime::Session))),
        ("ag", answer(PanelAnswer::Always(RuleLifetime::ForGood))),
        ("a⎋y", answer(PanelAnswer::Yes)),
        ("ay", PanelOutcome::ToInput(vec![letter('y')])),
        ("hy", PanelOutcome::ToInput(vec![letter('y')])),
        ("cy", PanelOutcome::ToInput(vec![letter('y')])),
        ("f⏎", answer(PanelAnswer::Yes)),
        ("f↓ ⏎", picked(&[("test/cart.test.ts", &[])])),
        ("h ⏎", picked(&[("src/cart.ts", &[1])])),
        ("h↓↓ ⏎", picked(&[("test/cart.test.ts", &[])])),
        ("ha⏎", PanelOutcome::Changed),
        ("haa⏎", answer(PanelAnswer::Yes)),
        ("c↓⏎use cents⏎", answer(comment)),
        ("c⏎⏎", PanelOutcome::Changed),
        ("d/sum⏎qy", answer(PanelAnswer::Yes)),
        ("dy", PanelOutcome::Changed),
    ];
    for (keys, expected) in table {
        assert_eq!(Slow::new(question()).write(keys), expected, "{keys}");
    }
}

#[test]
fn only_what_is_offered_is_an_answer() {
    let bare = PanelQuestion { title: "Run npm test?".into(), ..PanelQuestion::default() };
    for c in "fhecad?x ".chars() {
        let outcome = Slow::new(bare.clone()).press(KeyCode::Char(c));
        assert_eq!(outcome, PanelOutcome::ToInput(vec![letter(c)]), "{c}");
    }
    assert_eq!(Slow::new(bare).write("y"), answer(PanelAnswer::Yes));
}

#[test]
fn a_question_is_dead_at_first_and_until_the_keyboard_is_quiet() {
    let start = Instant::now();
    let typed = PanelOutcome::ToInput(vec![letter('y')]);
    let mut panel = QuestionPanel::open(question(), start, None);
    assert_eq!(panel.key(letter('y'), start + 299 * MS, true), typed);
    assert_eq!(panel.key(letter('y'), start + 598 * MS, true), typed);
    assert_eq!(panel.key(letter('y'), start + 897 * MS, true), typed);
    assert_eq!(panel.key(letter('y'), start + 1197 * MS, false), typed);
    assert_eq!(panel.key(letter('y'), start + 1497 * MS, true), answer(PanelAnswer::Yes));
    let mut panel = QuestionPanel::open(question(), start, Some(start + 100 * MS));
    assert_eq!(panel.key(letter('y'), start + 350 * MS, true), typed);
    let mut panel = QuestionPanel::open(question(), start, None);
    assert!(!panel.paste("y", start + 400 * MS), "it is for the input box");
    assert_eq!(panel.key(letter('y'), start + 500 * MS, true), typed);
}

#[test]
fn the_time_without_answers_begins_when_the_question_is_seen() {
    let start = Instant::now();
    let mut panel = QuestionPanel::open(question(), start, None);
    panel.shown(start + 1000 * MS);
    let typed = PanelOutcome::ToInput(vec![letter('y')]);
    assert_eq!(panel.counts_from(), start + 1300 * MS);
    assert_eq!(panel.key(letter('y'), start + 1299 * MS, true), typed);
    assert_eq!(panel.key(letter('y'), start + 1600 * MS, true), answer(PanelAnswer::Yes));
}

#[test]
fn a_key_counts_by_its_earliest_moment_and_disturbs_until_its_latest() {
    let start = Instant::now();
    let between = |earliest: u32, latest: u32| KeyMoment {
        earliest: start + earliest * MS,
        latest: start + latest * MS,
    };
    let mut panel = QuestionPanel::open(question(), start, None);
    let typed = PanelOutcome::ToInput(vec![letter('y')]);
    assert_eq!(panel.key(letter('y'), between(100, 5000), true), typed);
    assert_eq!(panel.key(letter('y'), between(5100, 5200), true), typed);
    // The first may have been pressed just before the second, so both are the beginning of a text.
    assert_eq!(panel.key(letter('a'), between(6000, 9000), true), PanelOutcome::Changed);
    let both = PanelOutcome::ToInput(vec![letter('a'), letter('s')]);
    assert_eq!(panel.key(letter('s'), between(9001, 9050), true), both);
    assert_eq!(panel.key(letter('y'), between(9351, 9400), true), answer(PanelAnswer::Yes));
}

#[test]
fn title_and_keys_are_bold_once_they_count() {
    let start = Instant::now();
    let mut panel = QuestionPanel::open(question(), start, None);
    let style = LiveStyle { width: 80, colour: true };
    let mut drawn = |seen_empty| panel.draw(style, 24, true, seen_empty).lines.join("\n");
    let bold = Ink::BOLD.paint("y");
    assert!(!drawn(start + 299 * MS).contains(&bold));
    assert!(drawn(start + 300 * MS).contains(&bold));
}

#[test]
fn a_word_that_begins_with_a_key_is_text() {
    let start = Instant::now();
    for (first, second) in [('a', 's'), ('h', 'e'), ('d', 'o'), ('f', 'i'), ('c', 'a')] {
        let mut panel = QuestionPanel::open(question(), start, None);
        let now = start + DEAD_TIME;
        assert_eq!(panel.key(letter(first), now, true), PanelOutcome::Changed);
        let both = PanelOutcome::ToInput(vec![letter(first), letter(second)]);
        assert_eq!(panel.key(letter(second), now + 80 * MS, true), both);
        let third = PanelOutcome::ToInput(vec![letter('y')]);
        assert_eq!(panel.key(letter('y'), now + 160 * MS, false), third);
    }
    let mut panel = QuestionPanel::open(question(), start, None);
    panel.key(letter('h'), start + DEAD_TIME, true);
    let sent = PanelOutcome::ToInput(vec![letter('h'), key(KeyCode::Enter)]);
    assert_eq!(panel.key(key(KeyCode::Enter), start + DEAD_TIME + MS, true), sent);
}

#[test]
fn leaving_and_stopping_reach_the_input_from_everywhere() {
    for keys in ["a", "n", "f", "c", "c⏎", "d"] {
        let mut slow = Slow::new(question());
        slow.write(keys);
        let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let outcome = slow.panel.key(event, slow.now, true);
        assert_eq!(outcome, PanelOutcome::ToInput(vec![event]), "{keys}");
    }
}

#[test]
fn the_words_of_a_question_are_those_of_every_front_end() {
    let text = QuestionText {
        title: "run_command(npm test)".into(),
        reason: "no rule allows it".into(),
        warnings: vec!["! careful".into()],
        what: "$ npm test\nin sub\n".into(),
        always: Some("Always: npm test may run".into()),
    };
    let question = PanelQuestion::of(&text);
    assert_eq!((question.title, question.reason), (text.title, None));
    assert_eq!(question.rule.as_deref(), Some("npm test may run"));
    assert_eq!(question.diff.len(), 2);
    assert_eq!(question.warnings, text.warnings);
}

#[test]
fn a_question_at_several_widths() {
    insta::assert_snapshot!(Slow::new(question()).drawn(200), @"
    ╭ Edit 2 files, +7 −3?                                                                                                                                                                          1 of 3 ╮
    │ ask: edits in src/** need approval                                                                                                                                                                   │
    │ ! src/cart.ts: the file becomes executable                                                                                                                                                           │
    │ y yes   n no, say why   f files   h hunks   e edit   c comment   a always…   d diff in full                                                                                                          │
    ╰                                                                                                                                                                                                      ╯
    ");
    insta::assert_snapshot!(Slow::new(question()).drawn(100), @"
    ╭ Edit 2 files, +7 −3?                                                                      1 of 3 ╮
    │ ask: edits in src/** need approval                                                               │
    │ ! src/cart.ts: the file becomes executable                                                       │
    │ y yes   n no, say why   f files   h hunks   e edit   c comment   a always…   d diff in full      │
    ╰                                                                                                  ╯
    ");
    insta::assert_snapshot!(Slow::new(question()).drawn(60), @"
    ╭ Edit 2 files, +7 −3?                              1 of 3 ╮
    │ ask: edits in src/** need approval                       │
    │ ! src/cart.ts: the file becomes executable               │
    │ y yes   n no, say why   f files   h hunks   e edit       │
    │ c comment   a always…   d diff in full                   │
    ╰                                                          ╯
    ");
    insta::assert_snapshot!(Slow::new(question()).drawn(20), @"
    ╭           1 of 3 ╮
    │ Edit 2 files, +7 │
    │ −3?              │
    │ ask: edits in    │
    │ src/** need      │
    │ approval         │
    │ ! src/cart.ts:   │
    │ the file becomes │
    │ executable       │
    │ y yes            │
    │ n no, say why    │
    │ f files          │
    │ h hunks   e edit │
    │ c comment        │
    │ a always…        │
    │ d diff in full   │
    ╰                  ╯
    ");
}

#[test]
fn what_the_keys_open() {
    let after = |keys: &str| {
        let mut slow = Slow::new(question());
        slow.write(keys);
        slow.drawn(70)
    };
    insta::assert_snapshot!(after("nuse cents"), @"
    ╭ Edit 2 files, +7 −3?                                        1 of 3 ╮
    │ ask: edits in src/** need approval                                 │
    │ ! src/cart.ts: the file becomes executable                         │
    │ why not: use cents                                                 │
    │ enter says no · esc back                                           │
    ╰                                                                    ╯
    ");
    insta::assert_snapshot!(after("h↓ "), @"
    ╭ Edit 2 files, +7 −3?                                        1 of 3 ╮
    │ ask: edits in src/** need approval                                 │
    │ ! src/cart.ts: the file becomes executable                         │
    │   [x] src/cart.ts  line 41                                         │
    │ › [ ] src/cart.ts  line 90                                         │
    │   [x] test/cart.test.ts  line 3                                    │
    │ + }                                                                │
    │ space toggles · a all · enter approves the picked · esc back       │
    ╰                                                                    ╯
    ");
    insta::assert_snapshot!(after("c↓⏎why"), @"
    ╭ Edit 2 files, +7 −3?                                        1 of 3 ╮
    │ ask: edits in src/** need approval                                 │
    │ ! src/cart.ts: the file becomes executable                         │
    │     src/cart.ts   +4 −3                                            │
    │    41    total(): string {                                         │
    │ ›  42  -   let sum = 0;                                            │
    │     test/cart.test.ts   +3                                         │
    │     3  + expect(total)                                             │
    │ comment: why                                                       │
    │ enter sends it to the model · esc back                             │
    ╰                                                                    ╯
    ");
    insta::assert_snapshot!(after("a"), @"
    ╭ Edit 2 files, +7 −3?                                        1 of 3 ╮
    │ ask: edits in src/** need approval                                 │
    │ ! src/cart.ts: the file becomes executable                         │
    │ allow edits in src/** of this project                              │
    │ s for this session   g for good                                    │
    │ esc back                                                           │
    ╰                                                                    ╯
    ");
    insta::assert_snapshot!(after("d"), @"
    ╭ Edit 2 files, +7 −3?                                        1 of 3 ╮
    │ ask: edits in src/** need approval                                 │
    │ ! src/cart.ts: the file becomes executable                         │
    │   src/cart.ts   +4 −3                                              │
    │  41    total(): string {                                           │
    │  42  -   let sum = 0;                                              │
    │   test/cart.test.ts   +3                                           │
    │   3  + expect(total)                                               │
    │ 1–5 of 5   space page   g G ends   / search   q back               │
    ╰                                                                    ╯
    ");
}

#[test]
fn a_pager_moves_by_pages_and_finds_words() {
    let line = |n: usize| PanelLine { drawn: format!("line {n}"), place: None };
    let long = PanelQuestion { diff: (1..=100).map(line).collect(), ..PanelQuestion::default() };
    let mut slow = Slow::new(long);
    slow.write("d");
    let first = |slow: &mut Slow| {
        let drawn = slow.drawn(60);
        drawn.lines().nth(1).unwrap_or_default().trim_matches(['│', ' ']).to_owned()
    };
    assert_eq!(first(&mut slow), "line 1");
    slow.write(" ");
    let second = first(&mut slow);
    slow.press(KeyCode::PageUp);
    assert_eq!((first(&mut slow).as_str(), second.as_str()), ("line 1", "line 20"));
    slow.write("/LINE 42⏎");
    assert_eq!(first(&mut slow), "line 42");
    slow.write("G");
    assert!(slow.drawn(60).contains("of 100"));
    assert!(slow.drawn(60).contains("line 100"));
    slow.write("/nowhere⏎");
    assert!(slow.drawn(60).contains("not found: nowhere"));
}

#[test]
fn nothing_that_is_agreed_to_is_cut() {
    let mut long = question();
    let title = "Run a command with many words that says more than a narrow screen is wide?";
    long.title = title.into();
    long.rule =
        Some("allow edits in src/a/very/long/path/to/some/module/** of this project".into());
    long.diff = vec![PanelLine { drawn: "x".repeat(90) + "; rm -rf ~", place: None }];
    let whole = |text: String| -> String {
        text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect()
    };
    let words = |text: &str| whole(text.to_owned());
    let rule = long.rule.clone().unwrap_or_default();
    for width in [20, 60, 100] {
        let mut slow = Slow::new(long.clone());
        assert!(whole(slow.drawn(width)).contains(&words(title)), "{width}");
        slow.write("a");
        assert!(whole(slow.drawn(width)).contains(&words(&rule)), "{width}");
        slow.write("⎋d");
        assert!(whole(slow.drawn(width)).contains("x;rm-rf~"), "{width}");
    }
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let letters = "ynfhecadsgq /?xG漢".chars().map(KeyCode::Char);
    let others = [KeyCode::Enter, KeyCode::Esc, KeyCode::Up, KeyCode::Down, KeyCode::PageDown];
    let others = others.into_iter().chain([KeyCode::Backspace, KeyCode::Tab, KeyCode::End]);
    let codes: Vec<KeyCode> = letters.chain(others).collect();
    let held = vec![KeyModifiers::NONE, KeyModifiers::SHIFT, KeyModifiers::CONTROL];
    (prop::sample::select(codes), prop::sample::select(held))
        .prop_map(|(code, held)| KeyEvent::new(code, held))
}

proptest! {
    /// Keys that follow each other faster than the dead time, from before the question on.
    #[test]
    fn typing_ahead_never_approves(
        keys in prop::collection::vec((any_key(), 0u32..300), 0..80),
    ) {
        let mut now = Instant::now();
        let mut panel = QuestionPanel::open(question(), now, None);
        for (event, pause) in keys {
            now += pause * MS;
            let outcome = panel.key(event, now, true);
            prop_assert_eq!(outcome, PanelOutcome::ToInput(vec![event]));
        }
    }

    #[test]
    fn nothing_approves_while_text_is_typed(
        keys in prop::collection::vec((any_key(), 0u32..2000), 0..80),
    ) {
        let mut now = Instant::now();
        let mut panel = QuestionPanel::open(question(), now, None);
        for (event, pause) in keys {
            now += pause * MS;
            let outcome = panel.key(event, now, false);
            prop_assert_eq!(outcome, PanelOutcome::ToInput(vec![event]));
        }
    }
}

proptest! {
    // Everything is drawn after each key, which takes its time.
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// An approval comes from a key that was pressed with care: after the dead time, with an empty input, and
    /// after a pause since the last text or since the panel showed what is approved.
    #[test]
    fn an_approval_is_deliberate(
        keys in prop::collection::vec((any_key(), 0u32..700, any::<bool>()), 0..80),
        width in 1usize..80,
    ) {
        let start = Instant::now();
        let mut now = start;
        let mut panel = QuestionPanel::open(question(), now, None);
        // When a key last went to the input, and when a mode of the panel was opened.
        let (mut typed, mut opened) = (start, start);
        for (event, pause, input_is_empty) in keys {
            now += pause * MS;
            let was_choosing = matches!(panel.mode, PanelMode::Choose);
            let outcome = panel.key(event, now, input_is_empty);
            if let PanelOutcome::Answer(answer) = &outcome && answer.approves() {
                prop_assert!(input_is_empty);
                prop_assert!(now - start >= DEAD_TIME);
                let since = if was_choosing { typed } else { opened };
                prop_assert!(now - since >= DEAD_TIME, "{event:?}");
                prop_assert!(!was_choosing || event == letter('y'));
            }
            if let PanelOutcome::ToInput(given) = &outcome {
                prop_assert_eq!(given.last(), Some(&event));
                typed = now;
            } else if was_choosing {
                opened = now;
            }
            let drawn = panel.draw(LiveStyle { width, colour: true }, 20, input_is_empty, now);
            for line in &drawn.lines {
                prop_assert!(columns(&crate::live_lines::unpainted(line)) <= width, "{line:?}");
            }
        }
    }
}
