use insta::assert_snapshot;
use protocol::{Base, Change, ContentHash, FileBytes};

use super::*;

fn diff(path: &str, old: &str, new: &str) -> FileDiff {
    let base = if old.is_empty() {
        Base::Absent
    } else {
        Base::File { hash: ContentHash::of(old.as_bytes()), size: old.len() as u64, mode: 0o644 }
    };
    let content = FileBytes(new.as_bytes().to_vec());
    let change = Change::Write { path: path.into(), base, content, mode: None };
    FileDiff::of(&change, Some(old.as_bytes()))
}

fn cart() -> Vec<FileDiff> {
    let before: String = (1..=8).map(|line| format!("// line {line}\n")).collect();
    let old = format!(
        "{before}  total(): string {{\n    let sum = 0;\n    return sum.toString();\n  }}\n"
    );
    let new = format!(
        "{before}  total(): string {{\n    const sum = 1;\n\tlog(sum);\n    return sum.toFixed(2);\n  }}\n"
    );
    vec![diff("src/cart.ts", &old, &new), diff("test/cart.test.ts", "", "test('漢字');\n")]
}

fn shown(diffs: &[FileDiff], width: usize) -> String {
    let view = DiffView::new(diffs, OutputStyle::terminal(width).without_colours());
    view.lines(0..view.len()).iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn files_are_listed_and_lines_have_numbers() {
    assert_snapshot!(shown(&cart(), 100), @"
    src/cart.ts  +3 −2    test/cart.test.ts  new +1
    src/cart.ts  +3 −2
      7    // line 7
      8    // line 8
      9      total(): string {
     10  -     let sum = 0;
     11  -     return sum.toString();
     10  +     const sum = 1;
     11  +     log(sum);
     12  +     return sum.toFixed(2);
     13      }
    test/cart.test.ts  new +1
      1  + test('漢字');
    ");
}

#[test]
fn a_narrow_screen_hides_nothing() {
    assert_snapshot!(shown(&cart()[..1], 24), @"
    src/cart.ts  +3 −2
      7    // line 7
      8    // line 8
      9      total(): string
            {
     10  -     let sum = 0;
     11  -     return sum.to
           String();
     10  +     const sum = 1
           ;
     11  +     log(sum);
     12  +     return sum.to
           Fixed(2);
     13      }
    ");
}

#[test]
fn on_a_wide_screen_both_sides_stand_beside_each_other() {
    assert_snapshot!(shown(&cart(), 160), @"
    src/cart.ts  +3 −2    test/cart.test.ts  new +1
    src/cart.ts  +3 −2
      7    // line 7                                                               │   7    // line 7
      8    // line 8                                                               │   8    // line 8
      9      total(): string {                                                     │   9      total(): string {
     10  -     let sum = 0;                                                        │  10  +     const sum = 1;
     11  -     return sum.toString();                                              │  11  +     log(sum);
                                                                                   │  12  +     return sum.toFixed(2);
     12      }                                                                     │  13      }
    test/cart.test.ts  new +1
                                                                                   │   1  + test('漢字');
    ");
}

#[test]
fn colours_tell_syntax_and_the_words_that_differ() {
    let diffs = [diff("a.rs", "fn a() { 1 }\n", "fn a() { 2 }\n")];
    let view = DiffView::new(&diffs, OutputStyle::terminal(60));
    let lines: Vec<String> =
        view.lines(1..view.len()).iter().map(|line| line.replace('\x1b', "^")).collect();
    assert_snapshot!(lines.join("\n"), @"
    ^[31m  1  ^[0m^[31m- ^[0m^[35mfn^[0m^[31m ^[0m^[34ma^[0m^[31m() { ^[0m^[7;31m1^[0m^[31m }^[0m
    ^[32m  1  ^[0m^[32m+ ^[0m^[35mfn^[0m^[32m ^[0m^[34ma^[0m^[32m() { ^[0m^[7;32m2^[0m^[32m }^[0m
    ");
}

#[test]
fn every_line_is_traced_back_to_its_source() {
    let view = DiffView::new(&cart(), OutputStyle::PIPE);
    let find = |text: &str| {
        let found = (0..view.len()).find(|line| view.lines(*line..*line + 1)[0].contains(text));
        found.unwrap_or_else(|| panic!("{text} is shown"))
    };
    let gone = view.source_line_at(find("let sum")).expect("it is a line");
    assert_eq!((gone.file, gone.hunk, gone.old, gone.new), (0, 0, Some(10), None));
    let come = view.source_line_at(find("toFixed")).expect("it is a line");
    assert_eq!((come.old, come.new), (None, Some(12)));
    let other = find("漢字");
    assert_eq!((view.file_at(other), view.hunk_at(other)), (Some(1), Some(0)));
    assert_eq!(view.source_line_at(0), None);
    assert_eq!(view.lines(view.len()..view.len() + 5), Vec::<String>::new());
}

#[test]
fn a_long_diff_is_cut_and_the_rest_counted() {
    let text: String = (1..=50).map(|line| format!("line {line}\n")).collect();
    let view = DiffView::new(&[diff("a.txt", "", &text)], OutputStyle::PIPE);
    let cut = view.cut(view.first_change(), 10);
    assert_eq!((cut.len(), &*cut[10]), (11, "… 40 more lines"));
    assert_eq!(view.cut(view.len() - 11, 10).len(), 11);
}

#[test]
fn a_diff_that_is_only_text_looks_the_same() {
    let diffs = cart();
    let read = read_unified(&protocol::unified(&diffs));
    assert_eq!(shown(&read, 100), shown(&diffs, 100));
    assert!(read_unified("no diff\nat all").iter().all(|file| file.hunks.is_empty()));
}
