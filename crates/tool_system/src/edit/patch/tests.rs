use proptest::prelude::*;
use similar::TextDiff;
use workspace::Text;

use super::*;
use crate::edit::grade::Grade;

fn hunks_of(patch: &str) -> Vec<PatchHunk> {
    match parse_patch(patch).unwrap().remove(0).action {
        PatchAction::Update { hunks, .. } | PatchAction::Delete { hunks } => hunks,
        PatchAction::Add { .. } => panic!("a new file has no hunks"),
    }
}

fn patched(body: &str, patch: &str) -> Result<(String, Vec<Grade>), ToolError> {
    let done = apply_hunks(&Text::decode(body.as_bytes()), &hunks_of(patch))?;
    let grades = done.hunks.iter().map(|hunk| hunk.grade).collect();
    Ok((String::from_utf8(done.body).unwrap(), grades))
}

fn v4a(hunks: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{hunks}*** End Patch\n")
}

fn unified(hunks: &str) -> String {
    format!("--- a/f\n+++ b/f\n{hunks}")
}

#[test]
fn both_forms_name_the_same_operations() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n+two\n*** Delete File: old.txt\n\
                 *** Update File: a.rs\n*** Move to: b.rs\n@@ fn f\n-x\n+y\n*** End Patch";
    let files = parse_patch(patch).unwrap();
    let add = PatchAction::Add { content: "one\n\ntwo\n".into(), mode: None };
    assert_eq!((files[0].path.as_str(), &files[0].action), ("new.txt", &add));
    assert_eq!(files[1].action, PatchAction::Delete { hunks: Vec::new() });
    let PatchAction::Update { move_to, hunks, .. } = &files[2].action else { panic!() };
    assert_eq!((move_to.as_deref(), hunks.len(), files[2].patch_line), (Some("b.rs"), 1, 7));

    let diff = "diff --git a/new.sh b/new.sh\nnew file mode 100755\nindex 000..111\n--- /dev/null\n\
                +++ b/new.sh\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n\
                diff --git a/x.rs b/y.rs\nsimilarity index 90%\nrename from x.rs\nrename to y.rs\n\
                --- a/x.rs\n+++ b/y.rs\n@@ -1 +1 @@\n-a\n+b\n\
                diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
                diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n\
                @@ -1 +0,0 @@\n-bye\n\
                diff --git a/empty b/empty\nnew file mode 100644\n";
    let files = parse_patch(diff).unwrap();
    let add = PatchAction::Add { content: "one\ntwo".into(), mode: Some(0o755) };
    assert_eq!((files[0].path.as_str(), &files[0].action), ("new.sh", &add));
    assert!(
        matches!(&files[1].action, PatchAction::Update { move_to: Some(to), .. } if to == "y.rs")
    );
    assert!(matches!(&files[2].action, PatchAction::Update { mode: Some(0o755), .. }));
    let PatchAction::Delete { hunks } = &files[3].action else { panic!() };
    verify_deletion(&Text::decode(b"bye\n"), hunks).unwrap();
    assert!(verify_deletion(&Text::decode(b"bye\nmore\n"), hunks).is_err());
    let empty = PatchAction::Add { content: String::new(), mode: Some(0o644) };
    assert_eq!((files[4].path.as_str(), &files[4].action), ("empty", &empty));
}

#[test]
fn a_malformed_patch_is_told_the_line_and_what_was_expected() {
    let table = [
        ("", 1, "Begin Patch"),
        ("hello", 1, "--- a/path"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", 5, "End Patch"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch", 5, "before context"),
        ("*** Begin Patch\n*** Add File: f\na\n*** End Patch", 3, "`+` before every line"),
        ("*** Begin Patch\n*** Update File:\n-a\n*** End Patch", 2, "a path"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", 2, "lines with"),
        ("*** Begin Patch\n*** Change File: f\n*** End Patch", 2, "Update File"),
        ("*** Begin Patch\n*** Update File: f\n a\n*** End Patch", 3, "`+` or `-`"),
        ("--- a/f\n@@ -1 +1 @@\n-a\n+b\n", 2, "+++ b/path"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "before the first hunk"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n*b\n", 5, "before context"),
        ("--- a/f\n+++ b/f\n", 1, "@@"),
        ("diff --git a/f b/f\nGIT binary patch\n", 2, "text changes"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n", 2, "files only"),
        ("diff --git a/m b/m\nold mode 100644\nnew mode 160000\n", 3, "files only"),
    ];
    for (patch, line, expected) in table {
        let error = parse_patch(patch).unwrap_err();
        assert_eq!(error.details["patch_line"], line, "{patch:?}: {}", error.full_message());
        assert!(error.suggestion.as_ref().unwrap().contains(expected), "{patch:?}: {error:?}");
    }
}

#[test]
fn hunks_find_their_place_by_content() {
    let table = [
        ("a\nb\nc\n", unified("@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"), "a\nx\nc\n", Grade::Exact),
        ("0\n0\na\nb\n", unified("@@ -1,2 +1,2 @@\n a\n-b\n+x\n"), "0\n0\na\nx\n", Grade::Exact),
        (
            "a\r\nb\r\n",
            unified("@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
            "a\r\nx\r\nb\r\n",
            Grade::LineEnding,
        ),
        ("a\nb", v4a("@@\n a\n-b\n+x\n"), "a\nx", Grade::LineEnding),
        (
            "a\nb",
            unified("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"),
            "a\nb\n",
            Grade::Exact,
        ),
        (
            "a\nb\n",
            unified("@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"),
            "a\nb",
            Grade::Exact,
        ),
        (
            "f {\n    a  \n}\n",
            v4a(" f {\n-    a\n+    b\n }\n"),
            "f {\n    b\n}\n",
            Grade::TrailingWhitespace,
        ),
        (
            "\tf {\n\t\ta\n\t}\n",
            v4a("   f {\n-    a\n+    b\n+    c\n   }\n"),
            "\tf {\n\t\tb\n\t\tc\n\t}\n",
            Grade::Indentation,
        ),
        // Numbers that are wrong, a lost blank before an empty line, a header without numbers.
        ("a\n\nb\n", unified("@@ -7,9 +7,9 @@\n a\n\n-b\n+x\n"), "a\n\nx\n", Grade::Exact),
        ("a\nb\n", unified("@@\n a\n-b\n+x\n"), "a\nx\n", Grade::Exact),
        (
            "a\n-- b\nc\n",
            unified("@@ -1,3 +1,3 @@\n a\n--- b\n+++ x\n c\n"),
            "a\n++ x\nc\n",
            Grade::Exact,
        ),
    ];
    for (body, patch, expected, grade) in table {
        let (made, grades) = patched(body, &patch)
            .unwrap_or_else(|error| panic!("{patch}: {}", error.full_message()));
        assert_eq!((made.as_str(), grades[0]), (expected, grade), "{patch}");
    }
}

#[test]
fn anchors_and_numbers_narrow() {
    let body = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n";
    let in_b = "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n";
    let change = "-    x = 1\n+    x = 2\n";
    for patch in [
        v4a(&format!("@@ def b():\n{change}")),
        unified(&format!("@@ -6 +6 @@\n{change}")),
        v4a("@@ def b():\n def b():\n-    x = 1\n+    x = 2\n"),
    ] {
        assert_eq!(patched(body, &patch).unwrap().0, in_b, "{patch}");
    }
    let ambiguous = patched(body, &v4a(&format!("@@\n{change}"))).unwrap_err();
    assert_eq!(ambiguous.details["lines"], serde_json::json!([2, 6]));
    let wrong_anchor = patched(body, &v4a(&format!("@@ def c():\n{change}"))).unwrap_err();
    assert!(wrong_anchor.message.contains("anchor"), "{}", wrong_anchor.message);
    // The anchored function lost the line; the same line elsewhere is not meant.
    let stale = "def a():\n    y = 1\n\ndef b():\n    x = 1\n\ndef c():\n    x = 1\n";
    assert!(patched(stale, &v4a(&format!("@@ def a():\n{change}"))).is_err());
}

#[test]
fn a_hunk_that_only_adds_goes_where_it_says_or_nowhere() {
    let body = "a\n  b\nc\n";
    let table = [
        (v4a("@@ a\n+x\n"), Some("a\nx\n  b\nc\n")),
        (v4a("@@ b\n+x\n"), Some("a\n  b\nx\nc\n")),
        (v4a("@@\n+x\n*** End of File\n"), Some("a\n  b\nc\nx\n")),
        (v4a("@@\n+x\n"), Some("a\n  b\nc\nx\n")),
        (v4a("+x\n+y\n"), Some("a\n  b\nc\nx\ny\n")),
        (v4a("@@\n+x\n\n"), Some("a\n  b\nc\nx\n")),
        (v4a("@@\n+x\n+\n"), Some("a\n  b\nc\nx\n\n")),
        (v4a("@@ a\n+x\n\n@@\n-c\n+d\n@@\n+y\n"), Some("a\nx\n  b\nd\ny\n")),
        (v4a("@@ q\n+x\n"), None),
        (unified("@@\n+x\n"), None),
        (unified("@@ -2,0 +3 @@\n+x\n"), Some("a\n  b\nx\nc\n")),
        (unified("@@ -0,0 +1 @@\n+x\n"), Some("x\na\n  b\nc\n")),
        (unified("@@ -9,0 +9 @@\n+x\n"), None),
        (unified("@@ -2,3 +2,4 @@\n+x\n"), None),
    ];
    for (patch, expected) in table {
        assert_eq!(patched(body, &patch).ok().map(|made| made.0).as_deref(), expected, "{patch}");
    }
    assert_eq!(patched("a\nb", &v4a("@@\n+x\n*** End of File\n")).unwrap().0, "a\nb\nx");
    let twice = patched("a\nx\nb\n", &v4a("@@ a\n+x\n")).unwrap_err();
    assert_eq!(twice.details["already_applied"], true);
}

#[test]
fn markers_may_be_padded() {
    let body = "def a():\n    x = 1\n\ndef b():\n    x = 1\n";
    let made = "def a():\n    x = 1\n\ndef b():\n    x = 2\n";
    let hunk = "@@ def b():\n-    x = 1\n+    x = 2\n";
    for patch in [
        format!("  *** Begin Patch\n*** Update File: f\n{hunk}*** End Patch"),
        format!("*** Begin Patch  \n *** Update File: f \n{hunk} *** End Patch "),
        format!(
            "\n```diff\n *** Begin Patch\n *** Update File: f\n{hunk} *** End of File\n *** End Patch\n```"
        ),
        format!("*** Begin Patch ***\n*** Update File: f ***\n{hunk}*** End Patch ***"),
        format!(
            "***************\n**** Begin Patch ****\n***Update File:f\n***************\n{hunk}***************\n*** End Patch\n***************"
        ),
        format!("*** Begin Patch\n*** Update File: f\n {hunk}*** End Patch"),
        format!(
            "*** Begin Patch\n*** Update File: f\n   {}*** End Patch",
            hunk.replace("@@ def", "@@   def")
        ),
        format!(" --- a/f\n +++ b/f\n @@ -5 +5 @@\n{}", &hunk[hunk.find('-').unwrap()..]),
    ] {
        assert_eq!(parse_patch(&patch).unwrap()[0].path, "f", "{patch}");
        assert_eq!(patched(body, &patch).unwrap().0, made, "{patch}");
    }
    // All lines alike, as in a list.
    let whole = format!("*** Begin Patch\n*** Update File: f\n\n{hunk}*** End Patch\n");
    let whole = whole.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n");
    assert_eq!(patched(body, &whole.collect::<String>()).unwrap().0, made);
    // Padded headers between hunks, with and without an anchor.
    let two = "*** Begin Patch\n*** Update File: f\n  @@ def a():\n-    x = 1\n+    x = 0\n @@\n @@ def b():\n-    x = 1\n+    x = 2\n @@\n+end\n*** End Patch";
    let made = "def a():\n    x = 0\n\ndef b():\n    x = 2\nend\n";
    assert_eq!(patched(body, two).unwrap().0, made);
    let diff =
        unified("@@ -2 +2 @@\n-    x = 1\n+    x = 0\n @@ -5 +5 @@\n-    x = 1\n+    x = 2\n");
    assert_eq!(patched(body, &diff).unwrap().0, made.strip_suffix("end\n").unwrap());
}

#[test]
fn a_file_may_hold_what_looks_like_a_padded_marker() {
    let body = "*** Begin Patch\n@@ x\n*** Update File: g\n*** End Patch\na\n";
    let context = " *** Begin Patch\n @@ x\n *** Update File: g\n *** End Patch\n-a\n+b\n";
    for patch in [v4a(context), unified(&format!("@@ -1,5 +1,5 @@\n{context}"))] {
        assert_eq!(parse_patch(&patch).unwrap().len(), 1, "{patch}");
        assert_eq!(patched(body, &patch).unwrap().0, body.replace("\na\n", "\nb\n"), "{patch}");
    }
}

#[test]
fn a_lone_carriage_return_is_content() {
    let table = [
        ("a\rb\nc\n", unified("@@ -1,2 +1,2 @@\n-a\rb\n+x\ry\n c\n"), "x\ry\nc\n"),
        ("a\rb\nc\n", v4a("-a\rb\n+x\r\ry\n c\n"), "x\r\ry\nc\n"),
        ("\ra\nc\n", v4a(" \ra\n-c\n+d\n"), "\ra\nd\n"),
        ("\r\r\nc\n", v4a("\r\r\n-c\n+d\n"), "\r\r\nd\n"),
        // The patch lost the CR of its line endings, and is about nothing but the last of them.
        ("a\r\n", unified("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"), "a"),
        (
            "a\r\nb",
            unified("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"),
            "a\r\nb\r\n",
        ),
        // No line feed at all: one line for diff and git.
        (
            "a\rb\r",
            unified(
                "@@ -1 +1 @@\n-a\rb\r\n\\ No newline at end of file\n+a\rc\r\n\\ No newline at end of file\n",
            ),
            "a\rc\r",
        ),
        ("a\rb", unified("@@ -1 +1,2 @@\n-a\rb\n\\ No newline at end of file\n+x\n+y\n"), "x\ny\n"),
        // Lines for all other readers.
        ("a\rb\r", v4a("-b\n+c\n"), "a\rc\r"),
    ];
    for (body, patch, expected) in table {
        let made = patched(body, &patch)
            .unwrap_or_else(|error| panic!("{patch:?}: {}", error.full_message()));
        assert_eq!(made.0, expected, "{patch:?}");
    }
}

#[test]
fn a_stale_or_applied_hunk_is_a_miss() {
    let patch = unified("@@ -1,3 +1,4 @@\n a\n b\n+x\n c\n");
    let stale = patched("a\nB\nc\n", &patch).unwrap_err();
    assert_eq!(stale.code, ErrorCode::Conflict);
    assert_eq!(stale.details["miss"]["candidates"][0]["difference"]["line"], 2);
    let (once, _) = patched("a\nb\nc\n", &patch).unwrap();
    assert_eq!(patched(&once, &patch).unwrap_err().details["already_applied"], true);
    let append = unified("@@ -1,2 +1,3 @@\n a\n b\n+c\n");
    let (once, _) = patched("a\nb\n", &append).unwrap();
    assert_eq!(patched(&once, &append).unwrap_err().details["already_applied"], true);
}

/// A text in which carriage returns stand anywhere.
fn text_with_crs() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "\r", "\n", "\r\n"]), 0..16)
        .prop_map(|pieces| pieces.concat())
}

/// A text of few different lines, so that the same context stands in many places.
fn text(endings: &'static [&'static str]) -> impl Strategy<Value = String> {
    let line = ("[ab]?[ \t]?[xy-]{0,2}", prop::sample::select(endings));
    let lines = prop::collection::vec(line, 0..16);
    (lines, any::<bool>()).prop_map(|(lines, open)| {
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        match open {
            true => text.trim_end_matches(['\r', '\n']).to_owned(),
            false => text,
        }
    })
}

/// What patches are made of, in forms that are easily mistaken for each other.
const PIECES: &[&str] = &[
    "*** End Patch\n",
    " *** End Patch\n",
    "*** Update File: f\n",
    " *** Update File: g\n",
    "***\n",
    "*** End of File\n",
    "*** Move to: g\n",
    "@@\n",
    " @@\n",
    "@@ a\n",
    "  @@ b\n",
    "@@ -1 +1 @@\n",
    " @@ -1,2 +1 @@\n",
    " a\n",
    "-a\n",
    "+b\n",
    "-b\n",
    "+a\rb\n",
    " a\r\n",
    "+\r\n",
    "\n",
    "\r\n",
    " \n",
    "\\ No newline at end of file\n",
    "```\n",
    "--- a/f\n",
    "+++ b/f\n",
    "diff --git a/f b/f\n",
];

const ALL_ENDINGS: &[&str] = &["\n", "\r\n"];

fn unified_diff(old: &str, new: &str, context: usize) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut patch = String::from("--- a/f\n+++ b/f\n");
    let diff = TextDiff::from_slices(&old, &new);
    for group in diff.grouped_ops(context) {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        let side = |from: usize, to: usize| match to - from {
            0 => format!("{from},0"),
            count => format!("{},{count}", from + 1),
        };
        patch.push_str(&format!(
            "@@ -{} +{} @@\n",
            side(first.old_range().start, last.old_range().end),
            side(first.new_range().start, last.new_range().end)
        ));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            patch.push_str(&format!("{}{}", change.tag(), change.value()));
            if !change.value().ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    patch
}

/// The whole text as the context of one hunk.
fn whole_v4a(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let lines: String = diff
        .iter_all_changes()
        .map(|change| format!("{}{}\n", change.tag(), change.value()))
        .collect();
    v4a(&format!("@@\n{lines}*** End of File\n"))
}

proptest! {
    #[test]
    fn a_unified_diff_makes_the_new_text_byte_for_byte(
        old in text(ALL_ENDINGS), new in text(ALL_ENDINGS), context in 1..4_usize,
    ) {
        prop_assume!(old != new && !old.is_empty());
        let patch = unified_diff(&old, &new, context);
        let (made, _) = patched(&old, &patch)
            .map_err(|error| TestCaseError::fail(format!("{}\n{patch}", error.full_message())))?;
        prop_assert_eq!(made, new, "{}", patch);
    }

    #[test]
    fn carriage_returns_anywhere_are_kept_byte_for_byte(
        old in text_with_crs(), new in text_with_crs(), context in 1..4_usize,
    ) {
        prop_assume!(old != new && !old.is_empty());
        let patch = unified_diff(&old, &new, context);
        let (made, _) = patched(&old, &patch)
            .map_err(|error| TestCaseError::fail(format!("{}\n{patch:?}", error.full_message())))?;
        prop_assert_eq!(made, new, "{:?}", patch);
    }

    #[test]
    fn anything_is_read_or_refused_and_changes_only_what_it_names(
        body in text_with_crs(),
        lines in prop::collection::vec(prop::sample::select(PIECES), 0..14),
        v4a: bool,
    ) {
        let head = if v4a { "*** Begin Patch\n*** Update File: f\n" } else { "--- a/f\n+++ b/f\n" };
        let patch = format!("{head}{}", lines.concat());
        for file in parse_patch(&patch).unwrap_or_default() {
            let PatchAction::Update { hunks, .. } = file.action else { continue };
            let text = Text::decode(body.as_bytes());
            if let Ok(done) = apply_hunks(&text, &hunks) {
                let kept: usize = done.hunks.iter().map(|hunk| hunk.changed.before.len()).sum();
                let made: usize = done.hunks.iter().map(|hunk| hunk.changed.after.len()).sum();
                prop_assert_eq!(done.body.len() - made, body.len() - kept, "{:?}", patch);
            }
        }
    }

    #[test]
    fn a_diff_that_lost_its_crs_still_makes_the_new_text(
        old in text(&["\r\n"]), new in text(&["\r\n"]),
    ) {
        prop_assume!(old != new && old.contains('\n'));
        let patch = unified_diff(&old, &new, 3).replace('\r', "");
        let (made, _) = patched(&old, &patch)
            .map_err(|error| TestCaseError::fail(format!("{}\n{patch}", error.full_message())))?;
        prop_assert_eq!(made, new, "{}", patch);
    }

    #[test]
    fn a_v4a_patch_makes_the_new_text(
        old in text(&["\n"]), new in text(&["\n"]), crlf: bool,
    ) {
        // The form cannot say that a final newline comes or goes.
        let (old, new) = (format!("{}z\n", old), format!("{}z\n", new));
        prop_assume!(old != new);
        let patch = whole_v4a(&old, &new);
        let with = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let (made, _) = patched(&with(&old), &patch)
            .map_err(|error| TestCaseError::fail(format!("{}\n{patch}", error.full_message())))?;
        prop_assert_eq!(made, with(&new), "{}", patch);
    }

    #[test]
    fn a_patch_for_another_text_is_refused_or_changes_only_what_it_names(
        old in text(ALL_ENDINGS), new in text(ALL_ENDINGS), other in text(ALL_ENDINGS),
    ) {
        prop_assume!(old != new && !old.is_empty());
        let hunks = hunks_of(&unified_diff(&old, &new, 3));
        let text = Text::decode(other.as_bytes());
        if let Ok(done) = apply_hunks(&text, &hunks) {
            let mut rest = (0, 0);
            let mut changes: Vec<_> = done.hunks.iter().map(|hunk| hunk.changed.clone()).collect();
            changes.sort_by_key(|changed| changed.before.start);
            for changed in changes {
                prop_assert_eq!(
                    &text.body()[rest.0..changed.before.start],
                    &done.body[rest.1..changed.after.start]
                );
                rest = (changed.before.end, changed.after.end);
            }
            prop_assert_eq!(&text.body()[rest.0..], &done.body[rest.1..]);
        }
    }
}
