//! Runs and attacks the sandbox for its tests.
//!
//! `sandbox-testbed run` runs the command that JSON on the standard input describes and prints
//! JSON. `attempt NAME …` tries something that must not work inside; exit code 0 means that it did.
//! `control NAME …` makes the same attempt without the sandbox, but with throwaway mounts and
//! processes, since some attempts do real harm. `stay` is a victim. `probe` says what the system
//! can do, `storm` runs many commands and ends them at odd times, `network-storm` the same with
//! commands that download something, `stopped` has a helper that does not answer. `without-overlays
//! run` is `run` on a kernel that refuses to mount overlays.
#![allow(clippy::print_stdout, reason = "it answers on the standard output")]
#![allow(clippy::disallowed_methods, reason = "it attacks what the lint protects")]

mod attempts;
mod bombs;
mod escapes;
mod network;
mod no_overlays;
mod runner;
mod stopped;
mod storm;

use std::process::ExitCode;

fn main() -> ExitCode {
    sandbox::hidden_entry();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run"] => runner::run(),
        ["without-overlays", "run"] => match no_overlays::forget_overlays() {
            Ok(()) => runner::run(),
            Err(why) => {
                println!("{why}");
                ExitCode::from(2)
            }
        },
        ["attempt", name, arguments @ ..] => attempts::attempt(name, arguments),
        ["control", rest @ ..] => attempts::control(rest),
        ["stay", _mark] => {
            escapes::stay();
            ExitCode::SUCCESS
        }
        ["probe", root, home] => runner::probe(root.as_ref(), home.as_ref()),
        ["stopped", root] => stopped::run(root.as_ref()),
        ["storm", root, count] => storm::run(root.as_ref(), count.parse().unwrap_or(0), None),
        ["network-storm", root, count, authority] => {
            storm::run(root.as_ref(), count.parse().unwrap_or(0), Some(authority))
        }
        _ => {
            println!(
                "usage: sandbox-testbed run | attempt … | control … | probe … | stopped … | storm …"
            );
            ExitCode::from(2)
        }
    }
}
