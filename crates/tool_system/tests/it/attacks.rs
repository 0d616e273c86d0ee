//! Command lines that would change the project, run with nobody to ask: nothing changes.

mod control;
mod fuzz;
mod grammar;
mod kills;
mod line;
mod random;
mod soak;
mod stage;

use serde_json::json;

use line::{Line, Way};
use stage::{Stage, User, Worker, differences};

/// Fewer lines than this would not deserve the name.
const FEWEST_LINES: usize = 200;

#[test]
fn what_nobody_approved_leaves_nothing_behind_as_root() {
    if User::all().contains(&User::Root) {
        attack(User::Root);
    }
}

#[test]
fn what_nobody_approved_leaves_nothing_behind_as_an_ordinary_user() {
    attack(User::Nobody);
}

fn attack(user: User) {
    let Some(stage) = Stage::new(user) else { return };
    stage.listen();
    let mut worker = stage.start().expect("it started before");
    let before = stage.snapshot();
    let mut bitten = 0;
    for line in Line::all() {
        let answer = run(&mut worker, &line);
        let after = stage.snapshot();
        let found = differences(&before, &after);
        assert!(found.is_empty(), "{user:?}, {line:?}: {found:#?}\n{answer:#}");
        let says = answer.to_string();
        bitten += usize::from(says.contains("\"changes\""));
    }
    // Programs may be missing; but most lines find what they would change.
    assert!(bitten >= FEWEST_LINES, "only {bitten} lines changed their copy");
    drop(worker);
    assert_eq!(differences(&before, &stage.snapshot()), [""; 0]);
}

fn run(worker: &mut Worker, line: &Line) -> serde_json::Value {
    let text = line.text.as_str();
    match line.way {
        Way::Bash => worker.call("bash", json!({"command": text, "timeout": 10})),
        Way::Code => {
            worker.call("run_code", json!({"language": "bash", "code": text, "timeout": 10}))
        }
        Way::Python => {
            worker.call("run_code", json!({"language": "python", "code": text, "timeout": 10}))
        }
        Way::Tests => worker.call("run_tests", json!({"path": text})),
        Way::Job => worker.job(text),
    }
}

#[test]
fn there_are_many_lines() {
    assert!(Line::all().len() >= FEWEST_LINES);
}

#[test]
fn without_confinement_the_same_lines_change_something() {
    let (possible, missing): (Vec<Line>, Vec<Line>) =
        Line::all().into_iter().partition(|line| line.needs.iter().all(|it| control::is_there(it)));
    for Line { text, needs, .. } in missing {
        eprintln!("not shown, since there is no {}: {text}", needs.unwrap_or_default());
    }
    let harmless = |lines: &[Line]| {
        let mut control = control::Control::new();
        let harmless = lines.iter().filter(|line| control.changes(line).is_empty());
        harmless.cloned().collect::<Vec<Line>>()
    };
    let (some, others) = possible.split_at(possible.len() / 2);
    let harmless = std::thread::scope(|scope| {
        let some = scope.spawn(|| harmless(some));
        let others = harmless(others);
        [some.join().expect("the other half is run"), others].concat()
    });
    assert!(harmless.is_empty(), "{} lines do nothing: {harmless:#?}", harmless.len());
    assert!(possible.len() >= FEWEST_LINES, "{} lines are shown to work", possible.len());
}
