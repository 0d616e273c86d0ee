//! Real output of each program, read.

use proptest::prelude::*;

use super::*;

/// Counts, then each failing test with the first and last line of what it said.
fn shown(text: &str) -> String {
    let Some(report) = read(text, "") else { return "not recognised".into() };
    let TestReport { passed, failed, skipped, failures } = report;
    let mut lines = vec![format!("{passed} passed, {failed} failed, {skipped} skipped")];
    for FailedTest { name, output } in failures {
        let mut said = output.lines().map(str::trim);
        let first = said.next().unwrap_or_default();
        let last = said.next_back().unwrap_or_default();
        lines.push(format!("{name}: {first} … {last}").trim_end().to_owned());
    }
    lines.join("\n")
}

macro_rules! captured {
    ($name:literal) => {
        shown(include_str!(concat!("captured/", $name, ".txt")))
    };
}

#[test]
fn cargo_with_several_programs_and_documentation() {
    insta::assert_snapshot!(captured!("cargo"), @r#"
    2 passed, 4 failed, 1 skipped
    tests::breaks: looking … note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
    tests::errs: Error: "no" …
    whole_bad: thread 'whole_bad' (15710) panicked at tests/it.rs:1:48: … note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
    src/lib.rs - add (line 3): Test executable failed (exit status: 101). … note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
    "#);
}

#[test]
fn pytest_and_unittest() {
    insta::assert_snapshot!(captured!("pytest"), @r#"
    2 passed, 3 failed, 1 skipped
    test_a.py::test_err: test_a.py:9: in broken … E   RuntimeError: no db
    test_a.py::test_bad: test_a.py:5: in test_bad … E   assert 1 == 2
    test_a.py::TestK::test_p[2]: test_a.py:15: in test_p … n is 2
    "#);
    insta::assert_snapshot!(captured!("unittest"), @r#"
    1 passed, 2 failed, 1 skipped
    test_err (__main__.T.test_err): Traceback (most recent call last): … ValueError: boom
    test_bad (__main__.T.test_bad): Traceback (most recent call last): … AssertionError: 1 != 2
    "#);
}

#[test]
fn go_as_json_and_plain() {
    insta::assert_snapshot!(captured!("go_json"), @r#"
    3 passed, 3 failed, 1 skipped
    shop/bad: # shop/bad [shop/bad.test] … bad/x_test.go:2:12: undefined: y
    shop TestBreaks: a_test.go:4: looking … a_test.go:4: got 2
    shop TestGroup/bad: a_test.go:6: boom …
    "#);
    insta::assert_snapshot!(captured!("go_plain"), @r#"
    1 passed, 3 failed, 0 skipped
    TestBreaks: a_test.go:4: looking … a_test.go:4: got 2
    TestGroup/bad: a_test.go:6: boom …
    shop/bad: bad/x_test.go:2:12: undefined: y …
    "#);
}

#[test]
fn jest_vitest_and_mocha() {
    insta::assert_snapshot!(captured!("jest"), @r#"
    1 passed, 2 failed, 2 skipped
    group › breaks: expect(received).toBe(expected) // Object.is equality … at Object.toBe (j/a.test.js:4:60)
    v/a.test.mjs: Test suite failed to run: Must use import to load ES Module: /project/v/a.test.mjs … at createRequireEsmError (node_modules/jest-runtime/build/index.js:452:17)
    "#);
    insta::assert_snapshot!(captured!("vitest"), @r#"
    1 passed, 1 failed, 1 skipped
    v/a.test.mjs > group > breaks: AssertionError: expected 2 to be 3 // Object.is equality … 5|
    "#);
    insta::assert_snapshot!(captured!("mocha"), @r#"
    1 passed, 1 failed, 1 skipped
    group breaks: AssertionError [ERR_ASSERTION]: 2 == 3 … at process.processImmediate (node:internal/timers:483:21)
    "#);
}

#[test]
fn node_in_both_its_forms() {
    insta::assert_snapshot!(captured!("node_tap"), @r#"
    2 passed, 2 failed, 1 skipped
    breaks: location: '/project/a.test.js:3:1' … async Test.processPendingSubtests (node:internal/test_runner/test:526:7)
    group > inner bad: location: '/project/a.test.js:5:27' … Array.map (<anonymous>)
    "#);
    insta::assert_snapshot!(captured!("node_spec"), @r#"
    2 passed, 2 failed, 1 skipped
    breaks: AssertionError [ERR_ASSERTION]: 2 == 3 … }
    inner bad: Error: boom … at Array.map (<anonymous>)
    "#);
}

/// These two were written after the documentation of the programs; the others were captured.
#[test]
fn surefire_and_gradle() {
    insta::assert_snapshot!(captured!("surefire"), @r#"
    3 passed, 2 failed, 1 skipped
    ShopTest.breaks: java.lang.AssertionError: sum expected:<3> but was:<2> … at ShopTest.breaks(ShopTest.java:4)
    ShopTest.errs: java.lang.IllegalStateException: boom … at ShopTest.errs(ShopTest.java:6)
    "#);
    insta::assert_snapshot!(captured!("gradle"), @r#"
    3 passed, 2 failed, 1 skipped
    ShopTest > breaks: java.lang.AssertionError at ShopTest.java:4 …
    ShopTest > errs: java.lang.IllegalStateException at ShopTest.java:6 …
    "#);
}

#[test]
fn what_is_no_report_is_not_taken_for_one() {
    for text in
        ["", "ok\n", "make: *** [all] Error 2\n", "{\"Action\":\"pass\"}\n", "1 passing thought\n"]
    {
        assert_eq!(read(text, ""), None, "{text}");
    }
}

#[test]
fn several_reports_are_added_up_wherever_they_were_printed() {
    let cargo = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n";
    let report = read(cargo, "============ 2 passed in 0.04s ============\n").unwrap();
    assert_eq!((report.passed, report.failed, report.skipped), (5, 0, 1));
    let coloured = "\u{1b}[32m2 passed\u{1b}[0m\u{1b}[32m in 0.04s\u{1b}[0m\n";
    assert_eq!(read(coloured, "").unwrap().passed, 2);
}

#[test]
fn a_long_failure_keeps_its_beginning_and_its_end() {
    let long = format!("first\n{}\nlast", "é".repeat(9000));
    let kept = both_ends(&long, 100);
    assert!(kept.len() < 140 && kept.starts_with("first") && kept.ends_with("last"));
    assert!(kept.contains("bytes) left out"));
}

proptest! {
    /// Whatever a program prints is read without a panic, in pieces of real reports too.
    #[test]
    fn anything_can_be_read(start in 0_usize..4000, text in "(ok 1 - |not ok|    |--- FAIL: a/b \\(|1\\) |FAIL\t|●|Ran 1 test in |[a-z\n:é]){0,30}") {
        let real = include_str!("captured/node_tap.txt");
        let cut = real.get(real.floor_char_boundary(start)..).unwrap_or_default();
        read(&format!("TAP version 13\n{text}\n1..1\n{cut}"), &text);
    }
}
