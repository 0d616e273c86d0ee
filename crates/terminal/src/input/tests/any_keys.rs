//! Whatever is typed, the cursor stands between two graphemes and nothing panics.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::*;

#[derive(Clone, Debug)]
enum Stroke {
    Key(KeyEvent),
    Paste(String),
    Draw(usize),
    Candidates(Vec<String>),
    Queue,
}

fn strokes() -> impl Strategy<Value = Vec<Stroke>> {
    let characters = prop::sample::select(
        "ab @/!\"\\_.漢é\u{301}\u{200d}\u{fe0f}👩👧🇩🇪\u{202e}\u{1f3fd}".chars().collect::<Vec<_>>(),
    );
    let codes = prop::sample::select(vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::PageUp,
    ]);
    let modifiers = prop::sample::select(vec![NONE, CTRL, KeyModifiers::ALT, KeyModifiers::SHIFT]);
    let letters = prop::sample::select("abcdefghjklnpruwxyz_7".chars().collect::<Vec<_>>());
    let control = (letters, prop::sample::select(vec![CTRL, KeyModifiers::ALT]));
    let stroke = prop_oneof![
        6 => characters.prop_map(|c| Stroke::Key(KeyEvent::new(KeyCode::Char(c), NONE))),
        4 => (codes, modifiers).prop_map(|(code, held)| Stroke::Key(KeyEvent::new(code, held))),
        4 => control.prop_map(|(c, held)| Stroke::Key(KeyEvent::new(KeyCode::Char(c), held))),
        1 => "[a\n\r\t\u{301}漢]{0,12}".prop_map(Stroke::Paste),
        1 => Just(Stroke::Paste("long\n".repeat(9))),
        1 => (1usize..50).prop_map(Stroke::Draw),
        1 => prop::collection::vec("[ab/. 漢]{1,6}", 0..4).prop_map(Stroke::Candidates),
        1 => Just(Stroke::Queue),
    ];
    prop::collection::vec(stroke, 0..60)
}

/// Runs of text between chips and line breaks are segmented as Unicode says.
fn is_on_a_boundary(input: &InputBox) -> bool {
    let graphemes: Vec<&EditUnit> = input.buffer.units().iter().collect();
    let text = |unit: &&EditUnit| match unit {
        EditUnit::Grapheme(text) if text != "\n" => Some(text.clone()),
        _ => None,
    };
    let runs = graphemes.split(|unit| text(unit).is_none());
    let mut whole = runs.map(|run| run.iter().filter_map(&text).collect::<Vec<_>>());
    input.buffer.cursor() <= graphemes.len()
        && whole.all(|run| run.concat().graphemes(true).eq(run.iter().map(String::as_str)))
}

proptest! {
    #[test]
    fn the_cursor_is_between_graphemes_and_visible(strokes in strokes()) {
        let mut input = with_history(&["older", "two\nlines 漢"]);
        input.set_commands(commands());
        for stroke in strokes {
            let action = match &stroke {
                Stroke::Key(event) => input.key(*event),
                Stroke::Paste(text) => input.paste(text),
                Stroke::Draw(width) => {
                    let drawn = draw(&mut input, *width);
                    let (row, column) = drawn.cursor.expect("the box has the cursor");
                    prop_assert!(row < drawn.lines.len() && column < *width, "{drawn:?}");
                    prop_assert!(drawn.lines.len() <= 5 + 12 + 8, "{drawn:?}");
                    InputAction::Changed
                }
                Stroke::Candidates(texts) => {
                    let file = |text: &String| MentionCandidate {
                        text: text.clone(),
                        target: None,
                        kind: CandidateKind::File,
                        detail: String::new(),
                    };
                    input.set_candidates(texts.iter().map(file).collect());
                    InputAction::Changed
                }
                Stroke::Queue => {
                    input.queue_mut().take_next();
                    InputAction::Changed
                }
            };
            if let InputAction::Send(submission) = action {
                prop_assert!(input.is_empty());
                input.queue_mut().push(submission);
            }
            prop_assert!(is_on_a_boundary(&input), "{} after {stroke:?}", marked(&input));
        }
    }

    #[test]
    fn undo_goes_back_to_where_it_began(text in "[a-c @漢\n]{1,20}") {
        let mut input = InputBox::new(InputHistory::default());
        for c in text.chars() {
            match c {
                '\n' => press(&mut input, "C-j"),
                c => write(&mut input, &c.to_string()),
            };
        }
        let written = marked(&input);
        let steps = text.chars().count();
        for _ in 0..steps {
            press(&mut input, "C-_");
        }
        prop_assert_eq!(marked(&input), "|");
        for _ in 0..steps {
            press(&mut input, "M-_");
        }
        prop_assert_eq!(marked(&input), written);
    }
}
