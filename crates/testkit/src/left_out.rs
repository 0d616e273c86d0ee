//! Tests that a machine cannot run.

/// Says what a test leaves out, and why. Where everything has to be tested, with `CI=true`, that is a
/// failure.
#[allow(clippy::print_stderr, reason = "what is left out has to be said")]
pub fn left_out(what: &str) {
    let ci = std::env::var("CI");
    let is_ci = !matches!(ci.as_deref(), Err(_) | Ok("" | "0" | "false"));
    assert!(!is_ci, "left out: {what}; with CI=true that is a failure");
    eprintln!("left out: {what}");
}
