use insta::assert_snapshot;

use super::*;
use crate::FileBytes;

mod selecting;

const MODE: u32 = 0o644;

fn file(bytes: &[u8]) -> Base {
    Base::File { hash: ContentHash::of(bytes), size: bytes.len() as u64, mode: MODE }
}

fn bytes(content: &[u8]) -> FileBytes {
    FileBytes(content.to_vec())
}

fn change(before: &[u8], after: &[u8], mode: Option<u32>) -> Change {
    Change::Write { path: "src/a.txt".into(), base: file(before), content: bytes(after), mode }
}

fn write(before: &[u8], after: &[u8]) -> FileDiff {
    FileDiff::of(&change(before, after, None), Some(before))
}

fn shown(before: &[u8], after: &[u8]) -> String {
    unified(&[write(before, after)])
}

fn create(after: &[u8]) -> Change {
    Change::Write { path: "new.sh".into(), base: Base::Absent, content: bytes(after), mode: None }
}

#[test]
fn changes_far_apart_are_hunks_of_their_own_with_three_lines_around() {
    let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let after = before.replace("line 3\n", "line three\nand more\n").replace("line 17\n", "");
    let diff = write(before.as_bytes(), after.as_bytes());
    assert_eq!((diff.hunks.len(), diff.parts(), diff.added, diff.removed), (2, 2, 2, 2));
    assert_snapshot!(unified(&[diff]), @"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,6 +1,7 @@
     line 1
     line 2
    -line 3
    +line three
    +and more
     line 4
     line 5
     line 6
    @@ -14,7 +15,6 @@
     line 14
     line 15
     line 16
    -line 17
     line 18
     line 19
     line 20
    ");
}

#[test]
fn a_new_file_and_a_deleted_one_have_nothing_on_the_other_side() {
    let created = FileDiff::of(&create(b"#!/bin/sh\nexit\n"), None);
    let deletion = Change::Delete { path: "old.txt".into(), base: file(b"one") };
    let deleted = FileDiff::of(&deletion, Some(b"one"));
    assert_snapshot!(unified(&[created, deleted]), @r#"
    diff --git a/new.sh b/new.sh
    new file mode 100644
    --- /dev/null
    +++ b/new.sh
    @@ -0,0 +1,2 @@
    +#!/bin/sh
    +exit
    diff --git a/old.txt b/old.txt
    deleted file mode 100644
    --- a/old.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -one
    \ No newline at end of file
    "#);
}

#[test]
fn a_change_of_mode_alone_is_visible() {
    let diff = FileDiff::of(&change(b"x\n", b"x\n", Some(0o4755)), Some(b"x\n"));
    assert_eq!(diff.parts(), 1);
    assert_snapshot!(unified(&[diff]), @"
    diff --git a/src/a.txt b/src/a.txt
    old mode 100644
    new mode 104755
    warning: the file becomes executable
    warning: the file will run with the rights of its owner or group
    ");
}

#[test]
fn a_change_of_line_endings_alone_is_visible() {
    assert_snapshot!(shown(b"a\nb\n", b"a\r\nb\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: line endings change from LF to mixed
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
    -a
    +a\r
     b
    "#);
    assert_snapshot!(shown(b"a\r\nb\r\n", b"a\nb\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: line endings change from CRLF to LF
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
    -a\r
    -b\r
    +a
    +b
    "#);
}

#[test]
fn carriage_returns_that_all_lines_have_are_not_in_the_way() {
    let diff = write(b"a\r\nb\r\n", b"a\r\nc\r\n");
    assert_eq!(diff.new_endings, Some(LineEndingStyle::CrLf));
    assert_snapshot!(unified(&[diff]), @"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
     a
    -b
    +c
    ");
}

#[test]
fn a_missing_newline_at_the_end_is_visible() {
    assert_snapshot!(shown(b"a\nb", b"a\nb\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
     a
    -b
    \ No newline at end of file
    +b
    "#);
}

#[test]
fn white_space_at_the_end_of_changed_lines_is_visible() {
    let diff = write(b"a\nb\nc \n", b"a\t \nb\nc\n");
    assert_eq!(diff.hunks[0].lines[1].text, "a\t ");
    assert_snapshot!(unified(&[diff]), @"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,3 +1,3 @@
    -a
    +a→·
     b
    -c·
    +c
    ");
}

#[test]
fn what_misleads_is_written_out_with_a_warning() {
    let before = "fn main() {\n\u{A0}\n}\n";
    let after = "fn main() {\n\u{A0}\n    /*\u{202E} } \u{2066}if admin\u{2069} */\n    a\u{200B}b\x1B[2K\rok\n}\n";
    let diff = write(before.as_bytes(), after.as_bytes());
    let escapes = diff.hunks[0].lines[2].marks.iter().filter(|mark| mark.kind == MarkKind::Escape);
    assert_eq!(escapes.count(), 3);
    assert_snapshot!(unified(&[diff]), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: control characters on 1 added line, first on line 4: a terminal would interpret them
    warning: characters that reorder text on 1 added line, first on line 3: it runs in another order than it would read
    warning: invisible characters on 1 added line, first on line 4: names that look equal may differ
    warning: unusual spaces on 1 unchanged line, first on line 2: they look like a space but are not
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,3 +1,5 @@
     fn main() {
     \u{00A0}
    +    /*\u{202E} } \u{2066}if admin\u{2069} */
    +    a\u{200B}b\x1B[2K\rok
     }
    "#);
}

#[test]
fn text_in_other_encodings_is_shown_as_far_as_it_is_known() {
    assert_snapshot!(shown(b"caf\xE9\n", b"caf\xE9s\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: bytes that are not UTF-8 on 1 added line, first on line 1: they are shown as numbers
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1 +1 @@
    -caf\xE9
    +caf\xE9s
    "#);
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        b"\xFF\xFE".iter().copied().chain(units).collect()
    };
    assert_snapshot!(shown(&utf16("a\r\nb\r\n"), &utf16("a\r\nß\r\n")), @"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
     a
    -b
    +ß
    ");
    assert_snapshot!(shown(&utf16("a\n"), b"a\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: the encoding changes from UTF-16LE to UTF-8
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1 +1 @@
    -\u{FEFF}a
    +a
    "#);
    assert_snapshot!(shown(b"a\nb\n", b"\xEF\xBB\xBFa\nb\n"), @r#"
    diff --git a/src/a.txt b/src/a.txt
    warning: invisible characters on 1 added line, first on line 1: names that look equal may differ
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -1,2 +1,2 @@
    -a
    +\u{FEFF}a
     b
    "#);
}

#[test]
fn binary_content_is_shown_by_size_and_hash() {
    let diff = write(b"\0\x01", b"\0\x02\x03");
    assert_eq!((diff.hunks.len(), diff.parts()), (0, 1));
    assert_snapshot!(unified(&[diff]), @"
    diff --git a/src/a.txt b/src/a.txt
    Binary content: 2 bytes, 7b7015bb92cf -> 3 bytes, f3218cb578bf
    ");
}

#[test]
fn a_file_too_large_to_read_is_shown_by_size_and_hash() {
    let long = vec![b'\n'; 300_000];
    let diff = FileDiff::of(&create(&long), None);
    assert_eq!(diff.binary.unwrap().new.unwrap().size, 300_000);
    assert_eq!(diff.warnings, ["too large to be shown line by line"]);
    let mut one_change_in_it = long.clone();
    one_change_in_it[150_000] = b'x';
    assert_eq!(write(&long, &one_change_in_it).added, 1);
    let mut changed_at_both_ends = one_change_in_it.clone();
    (changed_at_both_ends[0], changed_at_both_ends[299_998]) = (b'x', b'x');
    assert!(write(&long, &changed_at_both_ends).binary.is_some());
    assert_eq!(apply_selected(&long, &changed_at_both_ends, &[0]), changed_at_both_ends);
}

#[test]
fn moves_links_and_directories_have_headers_of_their_own() {
    let moved =
        |base: Base, target: Base| Change::Move { from: "a".into(), to: "b".into(), base, target };
    let link = |base: Base| Change::Link { path: "l".into(), base, target: bytes(b"../x") };
    let changes = [
        moved(file(b"x"), Base::Absent),
        moved(file(b"x"), file(b"y")),
        moved(Base::Directory { mode: 0o755 }, Base::Absent),
        link(Base::Absent),
        link(Base::Link { target: bytes(b"y") }),
        Change::Delete { path: "l".into(), base: Base::Link { target: bytes(b"y") } },
        Change::MakeDir { path: "d".into(), mode: None },
        Change::RemoveDir { path: "d".into(), mode: 0o755 },
    ];
    let diffs = changes.map(|change| FileDiff::of(&change, None));
    assert_snapshot!(unified(&diffs), @r#"
    diff --git a/a b/b
    rename from a
    rename to b
    diff --git a/a b/b
    rename from a
    rename to b
    warning: the file that is there now is replaced (1 byte, 08112a9e334c)
    diff --git a/a b/b
    rename from a
    rename to b
    warning: everything in the directory moves with it
    diff --git a/l b/l
    link mode 120000
    warning: the link may lead out of the project
    --- a/l
    +++ b/l
    @@ -0,0 +1 @@
    +../x
    \ No newline at end of file
    diff --git a/l b/l
    link mode 120000
    warning: the link may lead out of the project
    --- a/l
    +++ b/l
    @@ -1 +1 @@
    -y
    \ No newline at end of file
    +../x
    \ No newline at end of file
    diff --git a/l b/l
    deleted link mode 120000
    warning: there is a symbolic link to y now
    --- a/l
    +++ /dev/null
    @@ -1 +0,0 @@
    -y
    \ No newline at end of file
    diff --git a/d b/d
    new directory
    diff --git a/d b/d
    deleted directory
    "#);
}

#[test]
fn names_that_are_not_what_they_look_like_are_flagged() {
    for (path, warnings) in [
        ("src/a.rs", 0),
        ("src/привет.rs", 0),
        ("src/m\u{0430}in.rs", 1),
        ("src/a\u{202E}sr.exe", 1),
    ] {
        let change = Change::MakeDir { path: path.into(), mode: None };
        assert_eq!(FileDiff::of(&change, None).warnings.len(), warnings, "{path}");
    }
}

#[test]
fn bytes_that_are_not_the_base_are_noticed() {
    let stale = FileDiff::of(&change(b"a\n", b"b\n", None), Some(b"other\n"));
    assert_eq!(stale.warnings, ["the file is no longer what this change was made from"]);
    let unknown = FileDiff::of(&change(b"a\n", b"b\n", None), None);
    assert_eq!(unknown.warnings.len(), 1);
}

#[test]
fn an_inserted_function_is_shown_whole() {
    let before = "fn a() {\n    x();\n}\n--\nfn c() {\n    x();\n}\n";
    let after = "fn a() {\n    x();\n}\n--\nfn b() {\n    x();\n}\n--\nfn c() {\n    x();\n}\n";
    assert_snapshot!(shown(before.as_bytes(), after.as_bytes()), @"
    diff --git a/src/a.txt b/src/a.txt
    --- a/src/a.txt
    +++ b/src/a.txt
    @@ -2,6 +2,10 @@
         x();
     }
     --
    +fn b() {
    +    x();
    +}
    +--
     fn c() {
         x();
     }
    ");
}

#[test]
fn a_diff_survives_json() {
    let diff = write(b"a\nb", b"a\nc \x1B\n");
    let json = serde_json::to_string(&diff).unwrap();
    assert_eq!(serde_json::from_str::<FileDiff>(&json).unwrap(), diff);
}
