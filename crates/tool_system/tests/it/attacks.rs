//! Command lines that would change the project, run without an approver: nothing changes.
#![allow(clippy::print_stderr, reason = "what is left out or was done has to be said")]

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
use tool_system::{EditCheck, ExecutorOptions};

use crate::harness::{Bench, ScriptedApprover, allowing, no};

/// Fewer lines than this would not deserve the name.
const FEWEST_LINES: usize = 200;

#[test]
fn what_was_not_approved_leaves_nothing_behind_as_root() {
    if User::all().contains(&User::Root) {
        attack(User::Root);
    }
}

#[test]
fn what_was_not_approved_leaves_nothing_behind_as_an_ordinary_user() {
    attack(User::Ordinary);
}

fn attack(user: User) {
    let Some(stage) = Stage::new(user) else { return };
    stage.listen();
    let before = stage.snapshot();
    let mut bitten = 0;
    for family in Line::all().chunk_by(|line, next| line.family == next.family) {
        // What other families did to ignored files is forgotten.
        let _ = std::fs::remove_dir_all(stage.state());
        let mut worker = stage.start().expect("it started before");
        for line in family {
            let answer = run(&mut worker, line);
            let found = differences(&before, &stage.snapshot());
            assert!(found.is_empty(), "{user:?}, {line:?}: {found:#?}\n{answer:#}");
            bitten += usize::from(answer.to_string().contains("\"changes\""));
        }
    }
    // Programs may be missing; but most lines find what they would change.
    assert!(bitten >= FEWEST_LINES, "only {bitten} lines changed their copy");
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
        Way::Tests => match text.split_once(' ') {
            Some((path, framework)) => {
                worker.call("run_tests", json!({"path": path, "framework": framework}))
            }
            None => worker.call("run_tests", json!({"path": text})),
        },
        Way::Job => worker.job(text),
    }
}

#[tokio::test]
async fn checks_after_an_edit_change_nothing_more() {
    let lines = [
        "rm -rf .git target b.txt",
        "echo x > b.txt; echo x > target/built; echo x > new",
        "echo /b.txt > .gitignore; (sleep 0.05; rm b.txt) > /dev/null 2>&1 &",
    ];
    let checks = lines.iter().enumerate().map(|(at, line)| {
        let command = ["bash", "-c", line].map(str::to_owned).to_vec();
        EditCheck::new(format!("check {at}"), command, &[], 10).unwrap()
    });
    let options = ExecutorOptions { checks: checks.collect(), ..allowing(&["write_file"]) };
    let files = "//- /a.txt\none\n//- /b.txt\nb\n//- /.gitignore\n/target\n//- /target/built\nx\n\
                 //- /.git/HEAD\nref: refs/heads/main\n";
    let refusing = ScriptedApprover::answering([no(None), no(None)]);
    let Some(bench) = Bench::running(files, refusing, options) else { return };
    let before = testkit::Snapshot::of(bench.project.root());
    let edited = bench.ok("write_file", json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(edited["checks"].as_array().map(Vec::len), Some(lines.len()), "{edited}");
    let found = before.differences(&testkit::Snapshot::of(bench.project.root()));
    let others: Vec<_> = found.iter().filter(|line| !line.starts_with("~ a.txt: ")).collect();
    // The root has seen a new file put into place of the old one.
    assert!(matches!(&others[..], [root] if root.starts_with("~ : ")), "{found:#?}");
    assert!(bench.approver.asked().is_empty());
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
