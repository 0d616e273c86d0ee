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
    insta::assert_snapshot!(lines(&mut busy(), 200), @"");
    insta::assert_snapshot!(lines(&mut busy(), 100), @"");
    insta::assert_snapshot!(lines(&mut busy(), 60), @"");
    insta::assert_snapshot!(lines(&mut busy(), 20), @"");
}

#[test]
fn commands_with_descriptions() {
    let mut input = InputBox::new(InputHistory::default());
    input.set_commands(commands());
    write(&mut input, "/re");
    insta::assert_snapshot!(lines(&mut input, 60), @"");
    press(&mut input, "Down");
    insta::assert_snapshot!(lines(&mut input, 20), @"");
    write(&mut input, "sume");
    press(&mut input, "Tab");
    insta::assert_snapshot!(lines(&mut input, 60), @"");
}

#[test]
fn a_search_and_a_note() {
    let mut input = with_history(&["cargo test", "git status"]);
    press(&mut input, "C-r t e s");
    insta::assert_snapshot!(lines(&mut input, 60), @"");
    press(&mut input, "Enter");
    input.note("shot.tiff cannot be attached: models read png, jpeg, gif and webp");
    insta::assert_snapshot!(lines(&mut input, 60), @"");
}

#[test]
fn a_long_text_scrolls_inside() {
    let mut input = InputBox::new(InputHistory::default());
    for line in 1..=14 {
        write(&mut input, &format!("line {line}"));
        press(&mut input, "C-j");
    }
    insta::assert_snapshot!(lines(&mut input, 30), @"");
    press(&mut input, "Up Up Up Up Up Up Up Up Up Up Up Up");
    insta::assert_snapshot!(lines(&mut input, 30), @"");
}
