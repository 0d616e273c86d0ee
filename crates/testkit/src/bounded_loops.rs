//! Loops that end: one that would go on for ever hangs the test and names nothing.

use std::panic::Location;
use std::time::{Duration, Instant};

/// How long a test waits for what must come; a healthy program never needs it.
const WATCHDOG: Duration = Duration::from_secs(60);

/// The rounds of a loop that ends by `break` or `return`, such as one through the pages of an answer. One more than
/// `most` fails the test. `what` names what has to end: "the pages of grep".
#[track_caller]
pub fn at_most(most: usize, what: &str) -> impl Iterator<Item = usize> {
    let caller = Location::caller();
    let has_ended =
        move || -> Option<usize> { panic!("{caller}: {what} did not end after {most} rounds") };
    (0..most).chain(std::iter::from_fn(has_ended))
}

/// The rounds of a loop that looks again and again for what nothing announces, and ends by `break` or `return`. It
/// fails the test when what it waits for is long overdue. `what` names that: "the list of names".
///
/// What announces itself is waited for where it does, with a time limit.
#[track_caller]
pub fn in_time(what: &str) -> impl Iterator<Item = usize> {
    rounds_until(Instant::now() + WATCHDOG, Location::caller(), what)
}

fn rounds_until(end: Instant, caller: &Location<'_>, what: &str) -> impl Iterator<Item = usize> {
    (0..).inspect(move |_| assert!(Instant::now() < end, "{caller}: {what} did not come in time"))
}

#[test]
fn what_ends_in_time_is_not_bounded() {
    let mut rounds = Vec::new();
    for round in at_most(3, "the rounds") {
        rounds.push(round);
        if round == 2 {
            break;
        }
    }
    assert_eq!(rounds, [0, 1, 2]);
    assert!(in_time("the hundredth round").any(|round| round == 100));
}

#[test]
fn what_does_not_end_or_come_is_named_with_its_place() {
    let told = |rounds: Box<dyn Iterator<Item = usize>>| {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rounds.count()));
        *failed.unwrap_err().downcast::<String>().unwrap()
    };
    let (line, rounds) = (line!(), at_most(3, "the pages"));
    let place = format!("{}:{line}:", file!());
    let endless = told(Box::new(rounds));
    assert!(endless.starts_with(&place), "{endless}");
    assert!(endless.ends_with(": the pages did not end after 3 rounds"), "{endless}");
    let late = told(Box::new(rounds_until(Instant::now(), Location::caller(), "the answer")));
    assert!(late.ends_with(": the answer did not come in time"), "{late}");
}
