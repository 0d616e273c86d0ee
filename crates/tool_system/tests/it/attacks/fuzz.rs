//! Random command lines.

use std::time::{Duration, Instant};

use serde_json::json;

use super::grammar::Grammar;
use super::random::Random;
use super::soak::Soak;
use super::stage::{Stage, User, differences};

/// How long each user is fuzzed without a longer wish.
const SECONDS: u64 = 5;
/// And how many lines at most, so that a quick machine does not do more than another.
const MOST_LINES: u64 = 300;
/// Lines of which a quarter has to change something; too few say nothing.
const ENOUGH_TO_JUDGE: u64 = 40;
/// Lines after which a new process begins.
const LINES_A_PROCESS: u64 = 200;

#[test]
fn whatever_the_shell_is_told_the_project_never_changes() {
    let soak = Soak::wanted();
    for user in User::all() {
        fuzz(user, soak);
    }
}

fn fuzz(user: User, soak: Option<Soak>) {
    let Some(stage) = Stage::new(user) else { return };
    stage.listen();
    let users = User::all().len() as u64;
    let (seconds, most) = match soak {
        Some(soak) => (soak.seconds / users, u64::MAX),
        None => (SECONDS, MOST_LINES),
    };
    let seed = soak.map_or(0, |soak| soak.seed) ^ (user as u64) << 32;
    let end = Instant::now() + Duration::from_secs(seconds);
    let before = stage.snapshot();
    let (mut lines, mut bitten) = (0, 0);
    while lines < most && Instant::now() < end {
        let mut worker = stage.start().expect("it started before");
        for _ in 0..LINES_A_PROCESS.min(most - lines) {
            let line = Grammar::line(&mut Random::new(seed.wrapping_add(lines)));
            let answer = worker.call("bash", json!({"command": line, "timeout": 1}));
            let found = differences(&before, &stage.snapshot());
            assert!(
                found.is_empty(),
                "{user:?}, seed {seed}, line {lines}: {found:#?}\n{line}\n{answer:#}"
            );
            bitten += u64::from(answer.to_string().contains("\"changes\""));
            lines += 1;
            if Instant::now() >= end {
                break;
            }
        }
    }
    eprintln!("{user:?}, seed {seed}: {bitten} of {lines} lines changed their copy");
    assert!(
        lines < ENOUGH_TO_JUDGE || bitten * 4 >= lines,
        "{bitten} of {lines} lines do anything"
    );
}
