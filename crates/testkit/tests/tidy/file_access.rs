//! Only known crates use the functions that `clippy.toml` disallows: those that open files and start
//! processes.

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

const LINT: &str = "disallowed_methods";

/// Crates whose work it is to open files and start processes.
const ALLOWED: [&str; 4] = ["crates/workspace/", "crates/sandbox/", "crates/testkit/", "xtask/"];

#[test]
fn only_known_places_touch_files_and_processes() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs"]).into_iter().filter(|path| !may_open(path)) {
        let source = read(&path).expect("a source file is UTF-8");
        if rust_text::split(&source).code.contains(LINT) {
            problems.push(path);
        }
    }
    let repair = format!(
        "remove the attribute with `{LINT}`, reach files through `workspace` and processes through \
         `sandbox`, and in unit tests use `testkit::Fixture`"
    );
    assert_none(&problems, &repair);
}

/// Test binaries, benchmarks, examples and build scripts do not ship.
fn may_open(path: &str) -> bool {
    let does_not_ship = ["/tests/", "/benches/", "/examples/"].iter().any(|it| path.contains(it))
        || path.ends_with("/build.rs");
    does_not_ship || ALLOWED.iter().any(|place| path.starts_with(place))
}

#[test]
fn other_crates_that_ship_may_not_open_files() {
    for path in [
        "crates/workspace/src/root.rs",
        "crates/mcp/tests/it/main.rs",
        "crates/a/build.rs",
        "crates/a/examples/speed.rs",
    ] {
        assert!(may_open(path), "{path}");
    }
    for path in ["crates/tool_system/src/tests.rs", "crates/cli/src/main.rs"] {
        assert!(!may_open(path), "{path}");
    }
}
