use insta::assert_snapshot;
use protocol::ErrorCode;
use timeline::{CallFailure, CallState, Card, Headline, Output};

use super::*;

fn place(width: usize) -> CardPlace {
    CardPlace { style: OutputStyle::terminal(width).without_colours(), depth: 0 }
}

const PIPE: CardPlace = CardPlace { style: OutputStyle::PIPE, depth: 0 };

fn card(verb: &str, object: &str, result: &str) -> Card {
    let [verb, object, result] = [verb, object, result].map(str::to_owned);
    let headline = Headline { verb, object, result };
    Card { headline, state: CallState::Done, working_ms: Some(300), ..Card::default() }
}

fn drawn(card: &Card, place: CardPlace) -> String {
    Finished { card, has_seen_diff: false }.draw(place)
}

fn failing_tests() -> Card {
    let lines: String = (1..=41).map(|line| format!("line {line}\n")).collect();
    Card {
        output: Output { left_out: 0, text: lines },
        exit_code: Some(1),
        working_ms: Some(2_100),
        ..card("Ran", "npm test -- cart", "1 of 23 failed")
    }
}

#[test]
fn a_call_is_one_line_and_its_result_stands_at_the_right_edge() {
    let search = card("Searched", "toFixed|round", "14 matches in 6 files");
    assert_snapshot!(drawn(&search, place(100)), @"  Searched  toFixed|round                                                      14 matches in 6 files");
    assert_snapshot!(drawn(&search, place(60)), @"
    Searched  toFixed|round
              14 matches in 6 files
    ");
    // A wider screen has the result no further away, and a pipe has the same line.
    assert_eq!(drawn(&search, place(200)), drawn(&search, place(100)));
    assert_eq!(drawn(&search, PIPE), drawn(&search, place(80)));
    let long = card("Read", &"a/".repeat(60), "7 lines");
    assert_eq!(columns(drawn(&long, place(100)).trim_end()), 100);
    assert!(drawn(&long, PIPE).contains(&"a/".repeat(60)));
}

#[test]
fn a_command_that_fails_shows_how_its_output_ends() {
    assert_snapshot!(drawn(&failing_tests(), place(90)), @"
    Ran       npm test -- cart                            1 of 23 failed · 2.1 s  (41 lines)
              line 36
              line 37
              line 38
              line 39
              line 40
              line 41
    ");
    let passed = Card { exit_code: Some(0), ..failing_tests() };
    assert_snapshot!(drawn(&passed, place(90)), @"  Ran       npm test -- cart                            1 of 23 failed · 2.1 s  (41 lines)");
}

#[test]
fn failures_open_by_themselves() {
    let message: Vec<String> = (1..=9).map(|line| format!("message {line}")).collect();
    let failure = CallFailure {
        code: ErrorCode::FileNotFound,
        message: message.join("\n"),
        suggestion: Some("Did you mean src/y.rs?".into()),
    };
    let failed =
        Card { state: CallState::Failed, failure: Some(failure), ..card("Read", "src/x.rs", "") };
    assert_snapshot!(drawn(&failed, place(80)), @"
    Read      src/x.rs                                                      failed
              FILE_NOT_FOUND: message 1
              message 2
              message 3
              message 4
              message 5
              message 6
              (9 lines)
              Did you mean src/y.rs?
    ");
    let stopped = Card { state: CallState::Interrupted, ..card("Run", "make", "") };
    assert_eq!(drawn(&stopped, place(40)), "  Run       make\n            interrupted\n");
}

#[test]
fn results_without_a_summary_are_told_or_counted() {
    let told = Card { outcome: vec!["12 matches".into()], ..card("grep", "TODO", "") };
    assert!(drawn(&told, place(80)).trim_end().ends_with("  12 matches"));
    let detail = "a\nb\nc".to_owned();
    let counted = Card { outcome: vec!["a".into(), "b".into()], detail, ..told };
    assert!(drawn(&counted, place(80)).trim_end().ends_with("  (3 lines)"));
}

#[test]
fn what_was_changed_is_shown_unless_the_question_has() {
    let added: String = (1..=40).map(|line| format!("+line {line}\n")).collect();
    let diff =
        format!("diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -0,0 +1,40 @@\n{added}");
    let card = Card { told_diff: Some(diff), ..card("Edited", "a.rs", "+40") };
    let open = drawn(&card, place(80));
    assert!(open.contains("    1  + line 1\n") && open.ends_with("  … 24 more lines\n"), "{open}");
    let seen = Finished { card: &card, has_seen_diff: true }.draw(place(80));
    assert_eq!(seen.lines().count(), 1);
    let failed = Card { state: CallState::Interrupted, ..card };
    assert_eq!(drawn(&failed, place(80)).lines().count(), 1);
}

#[test]
fn calls_of_one_kind_are_one_line() {
    let group = |paths: &[&str]| {
        let mut groups = paths.iter().map(|path| CardGroup::of(&card("Read", path, "9 lines"), 0));
        let mut first = groups.next().flatten().expect("reads are grouped");
        for group in groups.flatten() {
            assert!(first.join(group).is_none());
        }
        first.draw(place(80))
    };
    assert_eq!(
        group(&["src/cart.ts, lines 1 to 9", "b/money.ts"]),
        "  Read      cart.ts and money.ts\n"
    );
    assert_eq!(
        group(&["cart.ts", "money.ts", "tax.ts"]),
        "  Read      cart.ts, money.ts and 1 more\n"
    );
    assert!(group(&["src/cart.ts"]).starts_with("  Read      src/cart.ts  "));
    let mut reads = CardGroup::of(&card("Read", "a", ""), 0).expect("reads are grouped");
    let search = CardGroup::of(&card("Searched", "a", ""), 0).expect("searches are grouped");
    assert!(reads.join(search).is_some());
    for other in [
        card("Ran", "make", ""),
        Card { state: CallState::Failed, ..card("Read", "a", "") },
        Card { checks: vec!["x".into()], ..card("Read", "a", "") },
    ] {
        assert!(CardGroup::of(&other, 0).is_none(), "{other:?}");
    }
}

#[test]
fn a_running_call_tells_its_time_and_what_it_prints_last() {
    let card = Card { state: CallState::Running, started_at: Some(1_000), ..failing_tests() };
    let card = Card { headline: Headline { result: String::new(), ..card.headline }, ..card };
    assert_eq!(running(&card, 1_500, place(80)), "  Ran       npm test -- cart\n");
    assert!(running(&card, 8_000, place(80)).ends_with("  7.0 s\n"));
    assert_eq!(last_lines(&card, 2, place(18)), ["        line 40", "        line 41"]);
    let asked = Card { state: CallState::WaitingForApproval, ..card };
    assert!(running(&asked, 8_000, place(80)).ends_with("  waiting for you\n"));
}

#[test]
fn a_plan_is_a_list_to_check_off() {
    let step = |text: &str, status| PlanStep { text: text.into(), status };
    let steps = [
        step("read all of the code", StepStatus::Done),
        step("change\nit", StepStatus::InProgress),
        step("test", StepStatus::Pending),
    ];
    assert_snapshot!(plan(&steps, place(20)), @"
    Plan
      ✔ read all of the
        code
      ▶ change it
      ☐ test
    ");
}

#[test]
fn a_long_message_shows_its_beginning_on_a_terminal() {
    let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let style = OutputStyle::terminal(40).without_colours();
    assert_snapshot!(message(&text, style), @"
    › line 1
      line 2
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
      … 22 more lines
    ");
    assert_eq!(message(&text, OutputStyle::PIPE).lines().count(), 30);
    let short: String = text.lines().take(20).collect::<Vec<_>>().join("\n");
    assert_eq!(message(&short, style).lines().count(), 20);
}
