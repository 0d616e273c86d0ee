//! The box as it looks at several widths.

use super::*;

fn lines(input: &mut InputBox, width: usize) -> String {
    let drawn = draw(input, width);
    let (row, column) = drawn.cursor.expect("the box has the cursor");
    format!("{}\ncursor {row} {column}", drawn.lines.join("\n"))
}

fn busy() -> InputBox {
    let mut input = InputBox::new(InputHistory::default());
    for text in ["and use cents everywhere", "漢字 too"] {
        write(&mut input, text);
        let submission = sent(press(&mut input, "Enter"));
        input.queue_mut().push(submission);
    }
    write(&mut input, "Prices with three decimals show up in the cart: ");
    input.paste(&"row\n".repeat(41));
    write(&mut input, " Find out why");
    input
}

#[test]
fn a_message_and_the_queue() {
    insta::assert_snapshot!(lines(&mut busy(), 200), @"
      › and use cents everywhere                                                                                                                                                                    queued
      › 漢字 too                                                                                                                                                                           queued · ↑ edit
    ╭──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────╮
    │ › Prices with three decimals show up in the cart: [pasted 41 lines] Find out why                                                                                                                     │
    ╰──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────╯
    cursor 3 82
    ");
    insta::assert_snapshot!(lines(&mut busy(), 100), @"
      › and use cents everywhere                                                                queued
      › 漢字 too                                                                       queued · ↑ edit
    ╭──────────────────────────────────────────────────────────────────────────────────────────────────╮
    │ › Prices with three decimals show up in the cart: [pasted 41 lines] Find out why                 │
    ╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
    cursor 3 82
    ");
    insta::assert_snapshot!(lines(&mut busy(), 60), @"
      › and use cents everywhere                        queued
      › 漢字 too                               queued · ↑ edit
    ╭──────────────────────────────────────────────────────────╮
    │ › Prices with three decimals show up in the cart:        │
    │   [pasted 41 lines] Find out why                         │
    ╰──────────────────────────────────────────────────────────╯
    cursor 4 34
    ");
    insta::assert_snapshot!(lines(&mut busy(), 20), @"
      › and us… queued
      › 漢字 t… ↑ edit
    ╭──────────────────╮
    │ › Prices with    │
    │   three          │
    │   decimals show  │
    │   up in the      │
    │   cart:          │
    │   [pasted 41 l…  │
    │   Find out why   │
    ╰──────────────────╯
    cursor 9 16
    ");
}

#[test]
fn commands_with_descriptions() {
    let mut input = InputBox::new(InputHistory::default());
    input.set_commands(commands());
    write(&mut input, "/re");
    insta::assert_snapshot!(lines(&mut input, 60), @"
    ╭ command ─────────────────────────────────────────────────╮
    │ › /re                                                    │
    ╰──────────────────────────────────────────────────────────╯
      › /redo         make a change again that was taken back
        /resume [ID]  go on with another session
    cursor 1 7
    ");
    press(&mut input, "Down");
    insta::assert_snapshot!(lines(&mut input, 20), @"
    ╭ command ─────────╮
    │ › /re            │
    ╰──────────────────╯
        /redo       mak…
      › /resume [ID]  g…
    cursor 1 7
    ");
    write(&mut input, "sume");
    press(&mut input, "Tab");
    insta::assert_snapshot!(lines(&mut input, 60), @"
    ╭ command ─────────────────────────────────────────────────╮
    │ › /resume [ID]                                           │
    ╰──────────────────────────────────────────────────────────╯
    cursor 1 12
    ");
}

#[test]
fn a_search_and_a_note() {
    let mut input = with_history(&["cargo test", "git status"]);
    press(&mut input, "C-r t e s");
    insta::assert_snapshot!(lines(&mut input, 60), @"
    ╭ history: tes ────────────────────────────────────────────╮
    │ › cargo test                                             │
    ╰──────────────────────────────────────────────────────────╯
      ctrl-r older · enter takes · esc leaves
    cursor 1 14
    ");
    press(&mut input, "Enter");
    input.note("shot.tiff cannot be attached: models read png, jpeg, gif and webp");
    insta::assert_snapshot!(lines(&mut input, 60), @"
    ╭──────────────────────────────────────────────────────────╮
    │ › cargo test                                             │
    ╰──────────────────────────────────────────────────────────╯
      shot.tiff cannot be attached: models read png, jpeg, gif
      and webp
    cursor 1 14
    ");
}

#[test]
fn a_long_text_scrolls_inside() {
    let mut input = InputBox::new(InputHistory::default());
    for line in 1..=14 {
        write(&mut input, &format!("line {line}"));
        press(&mut input, "C-j");
    }
    insta::assert_snapshot!(lines(&mut input, 30), @"
    ╭────────────────────────────╮
    │   line 6                   │
    │   line 7                   │
    │   line 8                   │
    │   line 9                   │
    │   line 10                  │
    │   line 11                  │
    │   line 12                  │
    │   line 13                  │
    │   line 14                  │
    │                            │
    ╰ ↑ 5 lines ─────────────────╯
    cursor 10 4
    ");
    press(&mut input, "Up Up Up Up Up Up Up Up Up Up Up Up");
    insta::assert_snapshot!(lines(&mut input, 30), @"
    ╭────────────────────────────╮
    │   line 3                   │
    │   line 4                   │
    │   line 5                   │
    │   line 6                   │
    │   line 7                   │
    │   line 8                   │
    │   line 9                   │
    │   line 10                  │
    │   line 11                  │
    │   line 12                  │
    ╰ ↑ 2 ↓ 3 lines ─────────────╯
    cursor 1 4
    ");
}
