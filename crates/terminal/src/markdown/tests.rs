//! Whole messages as they look, and what holds for all of them.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn style(width: usize) -> OutputStyle {
    OutputStyle { links: false, ..OutputStyle::terminal(width) }
}

fn drawn(text: &str, width: usize) -> String {
    drawn_in(text, style(width))
}

fn drawn_in(text: &str, style: OutputStyle) -> String {
    let mut markdown = Markdown::new(style, Ink::PLAIN);
    let mut out = markdown.push(text);
    out.push_str(&markdown.finish());
    out
}

/// What is left without colours and weights.
fn bare(styled: &str) -> String {
    let mut bare = String::new();
    let mut parts = styled.split("\x1b[");
    bare.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (_, text) = part.split_once('m').expect("only colours and weights are written");
        bare.push_str(text);
    }
    bare
}

const MESSAGE: &str = "\
# What I found

There are **two** places that read the `config` file, and they do *not* agree on what a missing one means.
1. `load()` in [setup](src/setup.rs)
2. `reload()`, which is called by the watcher whenever the file has been saved
   - it panics
   - ~~it logs~~


> The default is
> *documented*.

```rust
fn load() -> Config {

    Config::default()
}
```
| file | lines |
|:-----|------:|
| `a.rs` | 7 |
| 漢字.rs | 1200 |

---
Done.";

#[test]
fn a_message_is_drawn() {
    assert_snapshot!(bare(&drawn(MESSAGE, 48)), @"
    What I found

    There are two places that read the config file,
    and they do not agree on what a missing one
    means.
    1. load() in setup (src/setup.rs)
    2. reload(), which is called by the watcher
       whenever the file has been saved
       • it panics
       • it logs

    │ The default is
    │ documented.

    ─── rust
      fn load() -> Config {

          Config::default()
      }
    ───
    file    │ lines
    ────────┼──────
    a.rs    │     7
    漢字.rs │  1200

    ────────────────────────────────────────
    Done.
    ");
}

#[test]
fn colours_and_weights_follow_the_marks() {
    let text = "## Hi\n**b** `c` [d](e)\n```diff\n-a\n+b\n```\n> q";
    let visible = drawn(text, 40).replace('\x1b', "^");
    assert_snapshot!(visible, @"
    ^[1mHi^[0m

    ^[1mb^[0m ^[36mc^[0m ^[4md^[0m ^[2m(e)^[0m
    ^[2m─── diff^[0m
      ^[31m-a^[0m
      ^[32m+b^[0m
    ^[2m───^[0m
    ^[2m│ ^[0mq
    ");
}

#[test]
fn unusual_blocks_keep_their_text() {
    let text = "\
1. ```sh
   cargo test
   ```
2. next

after the list:

    let indented = *code*;

| no | table |
then text
> ```
> quoted code
after
";
    let drawn = bare(&drawn(text, 40));
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    assert_snapshot!(lines.join("\n"), @"
    1.
       ─── sh
         cargo test
       ───
    2. next

    after the list:

      let indented = *code*;

    | no | table |
    then text
    │ ───
    │   quoted code
    │ ───
    after
    ");
}

const TABLE: &str = "| name | what it does | cost |\n|---|---|--:|\n\
    | grep | finds text in **many** files, by regular expression | 7 |\n| glob | finds files | 1200 |\n";

#[test]
fn a_table_that_is_too_wide_has_narrower_columns() {
    assert_snapshot!(bare(&drawn(TABLE, 40)), @"
    name │ what it does               │ cost
    ─────┼────────────────────────────┼─────
    grep │ finds text in many files,  │    7
         │ by regular expression      │
    ─────┼────────────────────────────┼─────
    glob │ finds files                │ 1200
    ");
}

#[test]
fn a_table_of_too_many_columns_has_a_line_a_cell() {
    let text =
        "| a | b | c | d |\n|---|---|---|---|\n| one two | three four | five six | seven |\n";
    assert_snapshot!(bare(&drawn(text, 20)), @"
    a: one two
    b: three four
    c: five six
    d: seven
    ");
}

#[test]
fn code_has_the_colours_of_its_language() {
    let text = "```rust,ignore\nlet a = \"b\"; // c\n```\n```unknown\nlet a\n```";
    assert_snapshot!(drawn(text, 40).replace('\x1b', "^"), @r#"
    ^[2m─── rust,ignore^[0m
      ^[35mlet^[0m a = ^[32m"b"^[0m; ^[2m// c^[0m
    ^[2m───^[0m
    ^[2m─── unknown^[0m
      ^[36mlet a^[0m
    ^[2m───^[0m
    "#);
}

#[test]
fn a_long_block_of_code_goes_on_without_colours() {
    let lines = "let a = 1;\n".repeat(600);
    let drawn = drawn(&format!("```rust\n{lines}```\n"), 40);
    let coloured = drawn.lines().filter(|line| line.contains("\x1b[35mlet")).count();
    assert_eq!((drawn.lines().count(), coloured), (602, 500));
}

#[test]
fn headings_stand_apart_and_differ_by_weight() {
    let text = "text\n# One\ntext\n## Two\n### Three\n\ntext";
    assert_snapshot!(drawn(text, 40).replace('\x1b', "^"), @"
    text

    ^[1;4mOne^[0m

    text

    ^[1mTwo^[0m

    ^[1;3mThree^[0m

    text
    ");
}

#[test]
fn links_can_be_followed_where_the_terminal_can() {
    let text = "See [the docs](https://a.b) and [x](y.rs).";
    let drawn = drawn_in(text, OutputStyle::terminal(60)).replace('\x1b', "^");
    assert_snapshot!(drawn, @r"See ^]8;;https://a.b^\^[4mthe^[0m^]8;;^\ ^]8;;https://a.b^\^[4mdocs^[0m^]8;;^\ and ^[4mx^[0m ^[2m(y.rs)^[0m.");
}

#[test]
fn without_colours_the_layout_is_the_same() {
    let text = format!("{MESSAGE}\n\n{TABLE}");
    let without = drawn_in(&text, OutputStyle::terminal(48).without_colours());
    assert_eq!(without, bare(&drawn(&text, 48)));
}

#[test]
fn text_that_comes_after_a_resize_has_the_new_width() {
    let mut markdown = Markdown::new(style(40), Ink::PLAIN);
    let mut out = markdown.push("- one two three four five six seven eight ");
    markdown.set_width(20);
    out.push_str(&markdown.push("nine ten eleven twelve\n\n```\n0123456789012345678901234\n"));
    out.push_str(&markdown.finish());
    assert_snapshot!(bare(&out), @"
    • one two three four five six seven
      eight nine ten
      eleven twelve

    ───
      012345678901234567
      8901234
    ───
    ");
}

#[test]
fn words_are_written_as_soon_as_they_are_certain() {
    let mut markdown = Markdown::new(style(40), Ink::PLAIN);
    let table = [
        ("Look", ""),
        (" at", "Look"),
        (" **this", " at"),
        (" one**", ""),
        (" and", " this one"),
        (" that\n", " and that"),
        ("- ", ""),
        ("item ", "\n• item"),
        ("\n```\nx = 1", "\n───\n"),
        ("\n", "  x = 1\n"),
    ];
    for (piece, expected) in table {
        assert_eq!(bare(&markdown.push(piece)), expected, "after {piece:?}");
    }
    assert_eq!(bare(&markdown.finish()), "───\n");
}

#[test]
fn without_a_terminal_text_stays_as_it_is() {
    let mut markdown = Markdown::new(OutputStyle::PIPE, Ink::PLAIN);
    assert_eq!(markdown.push("# a **b**\r\n\x1b[2J"), "# a **b**\n\\x1B[2J");
    assert_eq!(markdown.finish(), "\n");
    assert_eq!(Markdown::new(OutputStyle::PIPE, Ink::PLAIN).finish(), "");
}

/// Text made of what Markdown finds special, and words.
fn markdown_like() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "*",
        "**",
        "***",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "```",
        "~~~",
        "[",
        "](",
        ")",
        "!",
        "<",
        ">",
        "\\",
        "#",
        "## ",
        "- ",
        "1. ",
        "> ",
        "|",
        "| a | b |\n|---|---|\n",
        "---",
        "\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "\t",
        "a",
        "bc",
        "word",
        "7",
        "漢字",
        "👩\u{200D}🚀",
        "\r\n",
        "```rust\n",
        "&",
        ";",
        "[a](https://b.c)",
        "e\u{301}",
        "123456789. ",
        "longwordwithoutanybreakinit",
    ];
    prop::collection::vec(prop::sample::select(PARTS), 0..40).prop_map(|parts| parts.concat())
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_letter_is_lost_or_moved(text in markdown_like()) {
        let shown = bare(&drawn(&text, 10_000));
        prop_assert_eq!(letters(&shown), letters(&text));
    }

    #[test]
    fn wherever_the_text_is_cut_the_same_comes_out(
        text in markdown_like(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        width in 1_usize..60,
    ) {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&ends)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut markdown = Markdown::new(style(width), Ink::PLAIN);
        let (mut out, mut start) = (String::new(), 0);
        for cut in cuts {
            out.push_str(&markdown.push(&text[start..cut]));
            start = cut;
        }
        out.push_str(&markdown.finish());
        prop_assert_eq!(out, drawn(&text, width));
    }

    #[test]
    fn lines_fit_and_nothing_but_our_own_marks_reaches_the_terminal(text in any::<String>()) {
        let shown = bare(&drawn(&text, 30));
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    fn no_line_is_wider_than_the_screen(
        text in prop_oneof![markdown_like(), any::<String>()],
        width in 20_usize..200,
    ) {
        for line in bare(&drawn(&text, width)).lines() {
            prop_assert!(crate::columns::columns(line) <= width, "{line:?} in {width}");
        }
    }
}
