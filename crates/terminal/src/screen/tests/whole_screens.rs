//! Whole screens at several widths, and what holds at all of them.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

/// A search, reads in a row, a failing command, an edit.
fn a_repair(story: &mut Story) {
    story.log(message("Prices with three decimals show up in the cart. Find out why and fix it."));
    story.says(&["I will look at how totals are computed first.\n"], Vec::new());
    let paths = ["src/cart.ts", "src/money.ts", "src/tax.ts"];
    story.log(titled("1", "Searched for toFixed|round"));
    story.log(summed_up("1", "Found 14 matches in 6 files", json!({"total": 14}), 20));
    for (index, path) in paths.iter().enumerate() {
        let id = format!("r{index}");
        story.log(titled(&id, &format!("Read {path}")));
        story.log(summed_up(&id, &format!("Read {path}, 90 lines"), json!({"content": "x"}), 2));
    }
    story.log(titled("2", "Run npm test -- cart"));
    story.chunk("2", "cart\n✗ rounds totals   expected \"3.30\", got \"3.3000000000000003\"\n");
    story.log(summed_up(
        "2",
        "Ran npm test -- cart, 1 of 23 failed",
        json!({"exit_code": 1}),
        2_100,
    ));
    let text = "`total()` adds floats. The places:\n\n| file | what it does |\n|---|---|\n\
                | cart.ts | adds the prices of all lines up and formats the sum with toString |\n\n\
                ```ts\nconst sum = lines.reduce((sum, line) => sum + line.price * line.count, 0);\n```\n";
    story.says(&[text], Vec::new());
    story.log(titled("3", "Edit src/cart.ts"));
    let diff = "diff --git a/src/cart.ts b/src/cart.ts\n--- a/src/cart.ts\n+++ b/src/cart.ts\n\
                @@ -41,3 +41,3 @@\n   total(): string {\n-    let sum = 0;\n+    const sum = 0;\n   }\n";
    story.log(summed_up("3", "Edited src/cart.ts, +1 −1", json!({"diff": diff}), 4));
    story.log(SessionEvent::TurnEnded(TurnEnd::Done));
}

#[test]
fn a_whole_screen_of_60_columns() {
    let mut story = Story::at(60);
    a_repair(&mut story);
    assert_snapshot!(story.bare(), @r#"
    › Prices with three decimals show up in the cart. Find out
      why and fix it.

    I will look at how totals are computed first.

      Searched  toFixed|round
                14 matches in 6 files
      Read      cart.ts, money.ts and 1 more
      Ran       npm test -- cart
                1 of 23 failed · 2.1 s  (2 lines)
                cart
                ✗ rounds totals   expected "3.30", got "3.30000…

    total() adds floats. The places:

    file    │ what it does
    ────────┼───────────────────────────────────────────────────
    cart.ts │ adds the prices of all lines up and formats the
            │ sum with toString

    ─── ts
      const sum = lines.reduce((sum, line) => sum + line.price *
       line.count, 0);
    ───

      Edited    src/cart.ts
                +1 −1
       41      total(): string {
       42  -     let sum = 0;
       42  +     const sum = 0;
       43      }
    18.4k in (16.0k cached) · 690 out · $0.0246 · 9.5 s ·
    context 5%
    "#);
}

#[test]
fn a_whole_screen_of_100_columns() {
    let mut story = Story::at(100);
    a_repair(&mut story);
    assert_snapshot!(story.bare(), @r#"
    › Prices with three decimals show up in the cart. Find out why and fix it.

    I will look at how totals are computed first.

      Searched  toFixed|round                                                      14 matches in 6 files
      Read      cart.ts, money.ts and 1 more
      Ran       npm test -- cart                                       1 of 23 failed · 2.1 s  (2 lines)
                cart
                ✗ rounds totals   expected "3.30", got "3.3000000000000003"

    total() adds floats. The places:

    file    │ what it does
    ────────┼──────────────────────────────────────────────────────────────────
    cart.ts │ adds the prices of all lines up and formats the sum with toString

    ─── ts
      const sum = lines.reduce((sum, line) => sum + line.price * line.count, 0);
    ───

      Edited    src/cart.ts                                                                        +1 −1
       41      total(): string {
       42  -     let sum = 0;
       42  +     const sum = 0;
       43      }
    18.4k in (16.0k cached) · 690 out · $0.0246 · 9.5 s · context 5%
    "#);
}

#[test]
fn a_whole_screen_of_200_columns() {
    let mut story = Story::at(200);
    a_repair(&mut story);
    assert_snapshot!(story.bare(), @r#"
    › Prices with three decimals show up in the cart. Find out why and fix it.

    I will look at how totals are computed first.

      Searched  toFixed|round                                                      14 matches in 6 files
      Read      cart.ts, money.ts and 1 more
      Ran       npm test -- cart                                       1 of 23 failed · 2.1 s  (2 lines)
                cart
                ✗ rounds totals   expected "3.30", got "3.3000000000000003"

    total() adds floats. The places:

    file    │ what it does
    ────────┼──────────────────────────────────────────────────────────────────
    cart.ts │ adds the prices of all lines up and formats the sum with toString

    ─── ts
      const sum = lines.reduce((sum, line) => sum + line.price * line.count, 0);
    ───

      Edited    src/cart.ts                                                                        +1 −1
       41      total(): string {                                                                        │  41      total(): string {
       42  -     let sum = 0;                                                                           │  42  +     const sum = 0;
       43      }                                                                                        │  43      }
    18.4k in (16.0k cached) · 690 out · $0.0246 · 9.5 s · context 5%
    "#);
}

#[test]
fn colours_change_nothing_but_colours() {
    let mut coloured = Story::at(100);
    a_repair(&mut coloured);
    let paper = Paper::default();
    let style = OutputStyle::terminal(100).without_colours();
    let mut plain = Story::new(style, paper.clone(), paper);
    a_repair(&mut plain);
    assert!(!plain.notes.text().contains('\x1b'));
    assert_eq!(plain.bare(), coloured.bare());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_the_screen(
        text in any::<String>(),
        words in "[a-z\t漢é\u{301}👩\u{200D}🚀 \n|`#*-]{0,300}",
        width in 20_usize..200,
    ) {
        let mut story = Story::at(width);
        for text in [text, words] {
            story.log(message(&text));
            story.log(SessionEvent::ThinkingDelta { text: text.clone() });
            story.says(&[&text], vec![call("1", "bash", json!({"command": text}))]);
            story.log(titled("1", &text));
            story.chunk("1", &text);
            let living = story.screen.living(90_000, 3).join("\n");
            let diff = format!("diff --git a/a.rs b/a.rs\n@@ -1,1 +1,1 @@\n-{text}\n+{text}x\n");
            story.log(summed_up("1", &text, json!({"exit_code": 1, "diff": diff}), 5_000));
            let error = ToolError::new(ErrorCode::FileNotFound, text.clone()).suggest(text.clone());
            story.log(titled("2", &text));
            story.end("2", &[], Err(error));
            story.log(SessionEvent::PlanChanged { steps: vec![step(&text, StepStatus::Done)] });
            story.log(SessionEvent::Nudged { text });
            story.log(SessionEvent::TurnEnded(TurnEnd::Done));
            for line in bare(&living).lines().chain(story.bare().lines()) {
                prop_assert!(crate::columns(line) <= width, "{line:?} in {width}");
            }
        }
    }
}
