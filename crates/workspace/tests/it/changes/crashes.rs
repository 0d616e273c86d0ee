//! A process that ends after any one of its system calls.

use workspace::Faults;

use super::project::{Project, Snapshot, label, set};
use super::scenarios::{ALL, Scenario};

/// Runs the scenario until the simulated death; none once it survives.
fn crash_at(scenario: &Scenario, faults: Faults) -> Option<(Project, bool)> {
    let project = scenario.project();
    let (journal, faults) = project.faulty(faults);
    let said_ok = journal.is_ok_and(|journal| scenario.act(&project, &journal).is_ok());
    faults.died().then_some((project, said_ok))
}

/// All or nothing, nothing left behind, and the journal works.
fn check(context: &str, project: &Project, said_ok: bool, (before, after): &(Snapshot, Snapshot)) {
    let journal = project.quick();
    assert_eq!(journal.recovery().conflicts, [], "{context}");
    assert_eq!(journal.recovery().failed, [], "{context}");
    let now = project.snapshot();
    assert!(now == *after || (now == *before && !said_ok), "{context}: {now:#?}");
    assert!(project.quick().recovery().is_empty(), "{context}: recovery is not idempotent");
    assert_eq!(project.snapshot(), now, "{context}");
    journal.apply(&set([project.write("after.txt", "works")]), &label("after")).unwrap();
    assert_eq!(project.left_overs(), Vec::<std::path::PathBuf>::new(), "{context}");
}

fn every_crash(faults: impl Fn(usize) -> Faults) -> usize {
    let mut crashes = 0;
    for scenario in ALL {
        let outcome = scenario.outcome();
        for n in 0.. {
            let Some((project, said_ok)) = crash_at(scenario, faults(n)) else { break };
            check(&format!("{} at call {n}", scenario.name), &project, said_ok, &outcome);
            crashes += 1;
        }
    }
    crashes
}

#[test]
fn a_crash_at_any_call_leaves_all_or_nothing() {
    let crashes = every_crash(Faults::die_at);
    assert!(crashes > 400, "{crashes}");
}

#[test]
fn a_crash_at_any_call_leaves_all_or_nothing_where_names_cannot_be_swapped() {
    let crashes = every_crash(|n| Faults::die_at(n).no_exchange());
    assert!(crashes > 400, "{crashes}");
}

#[test]
fn a_crash_at_any_call_of_recovery_changes_nothing_about_the_outcome() {
    let mut crashes = 0;
    for scenario in ALL.iter().filter(|s| ["edit", "move over a file", "mixed"].contains(&s.name)) {
        let outcome = scenario.outcome();
        for n in 0.. {
            let mut first = crash_at(scenario, Faults::die_at(n));
            if first.is_none() {
                break;
            }
            for m in 0.. {
                let again = || crash_at(scenario, Faults::die_at(n));
                let Some((project, said_ok)) = first.take().or_else(again) else { break };
                let (_, faults) = project.faulty(Faults::die_at(m));
                let context = format!("{} at call {n}, recovery at call {m}", scenario.name);
                check(&context, &project, said_ok, &outcome);
                if !faults.died() {
                    break;
                }
                crashes += 1;
            }
        }
    }
    assert!(crashes > 1000, "{crashes}");
}
