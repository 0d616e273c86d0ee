//! Whole panels as they look, with the diff open.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use terminal::{DEAD_TIME, LiveStyle, QuestionPanel, columns};

use super::*;

const WIDTHS: [usize; 3] = [60, 100, 200];
/// Rows that a panel may take.
const ROWS: usize = 16;

/// The panel after some keys, pressed slowly.
fn panel(request: &ApprovalRequest, width: usize, keys: &str) -> String {
    let style = OutputStyle::terminal(width).without_colours();
    let mut now = Instant::now();
    let mut panel = QuestionPanel::open(panel_question(request, style, (1, 1)), now, None);
    for key in keys.chars() {
        now += DEAD_TIME;
        panel.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE), now, true);
    }
    let drawn = panel.draw(LiveStyle { width, colour: false }, ROWS, true, now);
    assert!(drawn.lines.iter().all(|line| columns(line) <= width), "{drawn:#?}");
    drawn.lines.join("\n")
}

/// The panel with the diff at all widths.
fn panels(request: &ApprovalRequest) -> String {
    WIDTHS.map(|width| panel(request, width, "d")).join("\n")
}

fn two_files() -> ApprovalRequest {
    let cart =
        "class Cart {\n  total(): string {\n    let sum = 0;\n    return sum.toString();\n  }\n}\n";
    let new_cart = "class Cart {\n  total(): string {\n    const sum = this.sum();\n    return sum.toFixed(2);\n  }\n}\n";
    let mut request = changes(vec![
        edit_of("src/cart.ts", cart, new_cart),
        edit_of("test/cart.test.ts", "test()\n", "test()\nexpect(cart.total())\n"),
    ]);
    request.remembers = Some("from now on apply_changes may change `src/cart.ts`".into());
    request
}

#[test]
fn an_edit_of_two_files() {
    insta::assert_snapshot!(panels(&two_files()), @"
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ src/cart.ts  +2 −2    test/cart.test.ts  +1              │
    │ src/cart.ts  +2 −2                                       │
    │   1    class Cart {                                      │
    │   2      total(): string {                               │
    │   3  -     let sum = 0;                                  │
    │   4  -     return sum.toString();                        │
    │   3  +     const sum = this.sum();                       │
    │   4  +     return sum.toFixed(2);                        │
    │   5      }                                               │
    │   6    }                                                 │
    │ test/cart.test.ts  +1                                    │
    │   1    test()                                            │
    │ 1–12 of 13   space page   g G ends   / search   q back   │
    ╰                                                          ╯
    ╭ Edit 2 files, +3 −2?                                                                             ╮
    │ src/cart.ts  +2 −2    test/cart.test.ts  +1                                                      │
    │ src/cart.ts  +2 −2                                                                               │
    │   1    class Cart {                                                                              │
    │   2      total(): string {                                                                       │
    │   3  -     let sum = 0;                                                                          │
    │   4  -     return sum.toString();                                                                │
    │   3  +     const sum = this.sum();                                                               │
    │   4  +     return sum.toFixed(2);                                                                │
    │   5      }                                                                                       │
    │   6    }                                                                                         │
    │ test/cart.test.ts  +1                                                                            │
    │   1    test()                                                                                    │
    │ 1–12 of 13   space page   g G ends   / search   q back                                           │
    ╰                                                                                                  ╯
    ╭ Edit 2 files, +3 −2?                                                                                                                                                                                 ╮
    │ src/cart.ts  +2 −2    test/cart.test.ts  +1                                                                                                                                                          │
    │ src/cart.ts  +2 −2                                                                                                                                                                                   │
    │   1    class Cart {                                                                             │   1    class Cart {                                                                                │
    │   2      total(): string {                                                                      │   2      total(): string {                                                                         │
    │   3  -     let sum = 0;                                                                         │   3  +     const sum = this.sum();                                                                 │
    │   4  -     return sum.toString();                                                               │   4  +     return sum.toFixed(2);                                                                  │
    │   5      }                                                                                      │   5      }                                                                                         │
    │   6    }                                                                                        │   6    }                                                                                           │
    │ test/cart.test.ts  +1                                                                                                                                                                                │
    │   1    test()                                                                                   │   1    test()                                                                                      │
    │                                                                                                 │   2  + expect(cart.total())                                                                        │
    │ 1–11 of 11   space page   g G ends   / search   q back                                                                                                                                               │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn an_edit_before_a_key_is_pressed_and_while_parts_are_picked() {
    let request = ApprovalRequest {
        is_routine: false,
        reason: "apply_changes changes the existing `src/cart.ts`: needs approval because of rule 1 (ask * on src/) from your configuration.".into(),
        ..two_files()
    };
    let modes = ["", "f", "h", "a", "c"].map(|keys| panel(&request, 60, keys));
    insta::assert_snapshot!(modes.join("\n"), @"
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ apply_changes changes the existing `src/cart.ts`: needs  │
    │ approval because of rule 1 (ask * on src/) from your     │
    │ configuration.                                           │
    │ y yes   n no, say why   f files   h hunks   e edit       │
    │ c comment   a always…   d diff in full                   │
    ╰                                                          ╯
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ apply_changes changes the existing `src/cart.ts`: needs  │
    │ approval because of rule 1 (ask * on src/) from your     │
    │ configuration.                                           │
    │ › [x] src/cart.ts  +2 −2                                 │
    │   [x] test/cart.test.ts  +1 −0                           │
    │   1    class Cart {                                      │
    │   2      total(): string {                               │
    │   3  -     let sum = 0;                                  │
    │   4  -     return sum.toString();                        │
    │   3  +     const sum = this.sum();                       │
    │   4  +     return sum.toFixed(2);                        │
    │   5      }                                               │
    │   6    }                                                 │
    │ space toggles · a all · enter approves the picked · esc  │
    │ back                                                     │
    ╰                                                          ╯
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ apply_changes changes the existing `src/cart.ts`: needs  │
    │ approval because of rule 1 (ask * on src/) from your     │
    │ configuration.                                           │
    │ › [x] src/cart.ts  line 3                                │
    │   [x] test/cart.test.ts  line 2                          │
    │   1    class Cart {                                      │
    │   2      total(): string {                               │
    │   3  -     let sum = 0;                                  │
    │   4  -     return sum.toString();                        │
    │   3  +     const sum = this.sum();                       │
    │   4  +     return sum.toFixed(2);                        │
    │   5      }                                               │
    │   6    }                                                 │
    │ space toggles · a all · enter approves the picked · esc  │
    │ back                                                     │
    ╰                                                          ╯
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ apply_changes changes the existing `src/cart.ts`: needs  │
    │ approval because of rule 1 (ask * on src/) from your     │
    │ configuration.                                           │
    │ from now on apply_changes may change `src/cart.ts`       │
    │ s for this session   g for good                          │
    │ esc back                                                 │
    ╰                                                          ╯
    ╭ Edit 2 files, +3 −2?                                     ╮
    │ apply_changes changes the existing `src/cart.ts`: needs  │
    │ approval because of rule 1 (ask * on src/) from your     │
    │ configuration.                                           │
    │   src/cart.ts  +2 −2    test/cart.test.ts  +1            │
    │   src/cart.ts  +2 −2                                     │
    │ ›   1    class Cart {                                    │
    │     2      total(): string {                             │
    │     3  -     let sum = 0;                                │
    │     4  -     return sum.toString();                      │
    │     3  +     const sum = this.sum();                     │
    │ ↑ ↓ line · enter comments it · esc back                  │
    ╰                                                          ╯
    ");
}

#[test]
fn a_new_file() {
    let request =
        changes(vec![make_dir("src"), create("src/run.sh", b"#!/bin/sh\nexec \x1b[2J\n")]);
    insta::assert_snapshot!(panels(&request), @r"
    ╭ Create src/run.sh, +2?                                   ╮
    │ ! src/run.sh: control characters on 1 added line, first  │
    │ on line 2: a terminal would interpret them               │
    │ src  new directory    src/run.sh  new +2                 │
    │ src  new directory                                       │
    │ src/run.sh  new +2                                       │
    │   control characters on 1 added line, first on line 2:   │
    │   a terminal would interpret them                        │
    │   1  + #!/bin/sh                                         │
    │   2  + exec \x1B[2J                                      │
    │ 1–7 of 7   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Create src/run.sh, +2?                                                                           ╮
    │ ! src/run.sh: control characters on 1 added line, first on line 2: a terminal would interpret    │
    │ them                                                                                             │
    │ src  new directory    src/run.sh  new +2                                                         │
    │ src  new directory                                                                               │
    │ src/run.sh  new +2                                                                               │
    │   control characters on 1 added line, first on line 2: a terminal would interpret them           │
    │   1  + #!/bin/sh                                                                                 │
    │   2  + exec \x1B[2J                                                                              │
    │ 1–6 of 6   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Create src/run.sh, +2?                                                                                                                                                                               ╮
    │ ! src/run.sh: control characters on 1 added line, first on line 2: a terminal would interpret them                                                                                                   │
    │ src  new directory    src/run.sh  new +2                                                                                                                                                             │
    │ src  new directory                                                                                                                                                                                   │
    │ src/run.sh  new +2                                                                                                                                                                                   │
    │   control characters on 1 added line, first on line 2: a terminal would interpret them                                                                                                               │
    │                                                                                                 │   1  + #!/bin/sh                                                                                   │
    │                                                                                                 │   2  + exec \x1B[2J                                                                                │
    │ 1–6 of 6   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_deletion() {
    insta::assert_snapshot!(panels(&changes(vec![delete("old.txt", "one\ntwo\n")])), @"
    ╭ Delete old.txt, −2?                                      ╮
    │ old.txt  deleted −2                                      │
    │   1  - one                                               │
    │   2  - two                                               │
    │ 1–3 of 3   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Delete old.txt, −2?                                                                              ╮
    │ old.txt  deleted −2                                                                              │
    │   1  - one                                                                                       │
    │   2  - two                                                                                       │
    │ 1–3 of 3   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Delete old.txt, −2?                                                                                                                                                                                  ╮
    │ old.txt  deleted −2                                                                                                                                                                                  │
    │   1  - one                                                                                      │                                                                                                    │
    │   2  - two                                                                                      │                                                                                                    │
    │ 1–3 of 3   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_rename() {
    insta::assert_snapshot!(panels(&changes(vec![rename("src/a.rs", "src/b.rs")])), @"
    ╭ Rename src/a.rs to src/b.rs?                             ╮
    │ src/b.rs  moved from src/a.rs                            │
    │ 1–1 of 1   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Rename src/a.rs to src/b.rs?                                                                     ╮
    │ src/b.rs  moved from src/a.rs                                                                    │
    │ 1–1 of 1   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Rename src/a.rs to src/b.rs?                                                                                                                                                                         ╮
    │ src/b.rs  moved from src/a.rs                                                                                                                                                                        │
    │ 1–1 of 1   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_command_with_changes() {
    let mut request = changes(vec![edit_of("a.rs", "fn a(){}\n", "fn a() {}\n")]);
    request.tool = "bash".into();
    request.args.insert("command".into(), json!("cargo fmt\necho done"));
    insta::assert_snapshot!(panels(&request), @"
    ╭                                                          ╮
    │ Keep what `cargo fmt` and 1 more line did: edit a.rs, +1 │
    │ −1?                                                      │
    │ $ cargo fmt                                              │
    │ > echo done                                              │
    │ a.rs  +1 −1                                              │
    │   1  - fn a(){}                                          │
    │   1  + fn a() {}                                         │
    │ 1–5 of 5   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Keep what `cargo fmt` and 1 more line did: edit a.rs, +1 −1?                                     ╮
    │ $ cargo fmt                                                                                      │
    │ > echo done                                                                                      │
    │ a.rs  +1 −1                                                                                      │
    │   1  - fn a(){}                                                                                  │
    │   1  + fn a() {}                                                                                 │
    │ 1–5 of 5   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Keep what `cargo fmt` and 1 more line did: edit a.rs, +1 −1?                                                                                                                                         ╮
    │ $ cargo fmt                                                                                                                                                                                          │
    │ > echo done                                                                                                                                                                                          │
    │ a.rs  +1 −1                                                                                                                                                                                          │
    │   1  - fn a(){}                                                                                 │   1  + fn a() {}                                                                                   │
    │ 1–4 of 4   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_commit_shows_no_shell_of_ours() {
    let shown =
        "Commit 1 file to main\n\n    Round totals\n\nsrc/cart.ts +1 -1\n\n@@ -1 +1 @@\n-a\n+b\n";
    let spec = CommandSpec {
        shown: Some(shown.into()),
        writable: vec![".git".into()],
        ..shell("git read-tree HEAD; git commit-tree secret-internals")
    };
    let drawn = panels(&command(spec));
    assert!(!drawn.contains("commit-tree"));
    insta::assert_snapshot!(drawn, @"
    ╭ Commit 1 file to main?                                   ╮
    │     Round totals                                         │
    │                                                          │
    │ src/cart.ts +1 -1                                        │
    │                                                          │
    │ @@ -1 +1 @@                                              │
    │ -a                                                       │
    │ +b                                                       │
    │ may change .git                                          │
    │ 1–8 of 8   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Commit 1 file to main?                                                                           ╮
    │     Round totals                                                                                 │
    │                                                                                                  │
    │ src/cart.ts +1 -1                                                                                │
    │                                                                                                  │
    │ @@ -1 +1 @@                                                                                      │
    │ -a                                                                                               │
    │ +b                                                                                               │
    │ may change .git                                                                                  │
    │ 1–8 of 8   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Commit 1 file to main?                                                                                                                                                                               ╮
    │     Round totals                                                                                                                                                                                     │
    │                                                                                                                                                                                                      │
    │ src/cart.ts +1 -1                                                                                                                                                                                    │
    │                                                                                                                                                                                                      │
    │ @@ -1 +1 @@                                                                                                                                                                                          │
    │ -a                                                                                                                                                                                                   │
    │ +b                                                                                                                                                                                                   │
    │ may change .git                                                                                                                                                                                      │
    │ 1–8 of 8   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_binary_file() {
    insta::assert_snapshot!(panels(&changes(vec![create("logo.png", b"\x89PNG\0\0\x1b[2J")])), @"
    ╭ Create logo.png?                                         ╮
    │ logo.png  new                                            │
    │   not shown as text: 0 → 10 bytes                        │
    │ 1–2 of 2   space page   g G ends   / search   q back     │
    ╰                                                          ╯
    ╭ Create logo.png?                                                                                 ╮
    │ logo.png  new                                                                                    │
    │   not shown as text: 0 → 10 bytes                                                                │
    │ 1–2 of 2   space page   g G ends   / search   q back                                             │
    ╰                                                                                                  ╯
    ╭ Create logo.png?                                                                                                                                                                                     ╮
    │ logo.png  new                                                                                                                                                                                        │
    │   not shown as text: 0 → 10 bytes                                                                                                                                                                    │
    │ 1–2 of 2   space page   g G ends   / search   q back                                                                                                                                                 │
    ╰                                                                                                                                                                                                      ╯
    ");
}

#[test]
fn a_huge_diff() {
    const LINES: usize = 5_000;
    let old: String = (0..LINES).map(|n| format!("let a{n} = {n};\n")).collect();
    let new: String = (0..LINES).map(|n| format!("let b{n} = {n};\n")).collect();
    insta::assert_snapshot!(panels(&changes(vec![edit_of("src/table.rs", &old, &new)])), @"
    ╭ Edit src/table.rs, +5000 −5000?                          ╮
    │ src/table.rs  +5000 −5000                                │
    │     1  - let a0 = 0;                                     │
    │     2  - let a1 = 1;                                     │
    │     3  - let a2 = 2;                                     │
    │     4  - let a3 = 3;                                     │
    │     5  - let a4 = 4;                                     │
    │     6  - let a5 = 5;                                     │
    │     7  - let a6 = 6;                                     │
    │     8  - let a7 = 7;                                     │
    │     9  - let a8 = 8;                                     │
    │    10  - let a9 = 9;                                     │
    │    11  - let a10 = 10;                                   │
    │ 1–12 of 10001   space page   g G ends   / search   q ba… │
    ╰                                                          ╯
    ╭ Edit src/table.rs, +5000 −5000?                                                                  ╮
    │ src/table.rs  +5000 −5000                                                                        │
    │     1  - let a0 = 0;                                                                             │
    │     2  - let a1 = 1;                                                                             │
    │     3  - let a2 = 2;                                                                             │
    │     4  - let a3 = 3;                                                                             │
    │     5  - let a4 = 4;                                                                             │
    │     6  - let a5 = 5;                                                                             │
    │     7  - let a6 = 6;                                                                             │
    │     8  - let a7 = 7;                                                                             │
    │     9  - let a8 = 8;                                                                             │
    │    10  - let a9 = 9;                                                                             │
    │    11  - let a10 = 10;                                                                           │
    │ 1–12 of 10001   space page   g G ends   / search   q back                                        │
    ╰                                                                                                  ╯
    ╭ Edit src/table.rs, +5000 −5000?                                                                                                                                                                      ╮
    │ src/table.rs  +5000 −5000                                                                                                                                                                            │
    │     1  - let a0 = 0;                                                                            │     1  + let b0 = 0;                                                                               │
    │     2  - let a1 = 1;                                                                            │     2  + let b1 = 1;                                                                               │
    │     3  - let a2 = 2;                                                                            │     3  + let b2 = 2;                                                                               │
    │     4  - let a3 = 3;                                                                            │     4  + let b3 = 3;                                                                               │
    │     5  - let a4 = 4;                                                                            │     5  + let b4 = 4;                                                                               │
    │     6  - let a5 = 5;                                                                            │     6  + let b5 = 5;                                                                               │
    │     7  - let a6 = 6;                                                                            │     7  + let b6 = 6;                                                                               │
    │     8  - let a7 = 7;                                                                            │     8  + let b7 = 7;                                                                               │
    │     9  - let a8 = 8;                                                                            │     9  + let b8 = 8;                                                                               │
    │    10  - let a9 = 9;                                                                            │    10  + let b9 = 9;                                                                               │
    │    11  - let a10 = 10;                                                                          │    11  + let b10 = 10;                                                                             │
    │ 1–12 of 5001   space page   g G ends   / search   q back                                                                                                                                             │
    ╰                                                                                                                                                                                                      ╯
    ");
}
