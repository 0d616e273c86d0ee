//! What is asked about commands before they run.

use protocol::{ErrorCode, Proposal};
use serde_json::json;
use tool_system::ExecutorOptions;
use tool_system::policy::{CommandMode, Policy};

use crate::harness::{self, Bench, Reply, ScriptedApprover, allowing, always};

fn no() -> Reply {
    harness::no(Some("not now"))
}

fn asking_for_commands() -> ExecutorOptions {
    let policy = Policy::default().with_commands(CommandMode::Ask);
    ExecutorOptions { policy: policy.into(), ..ExecutorOptions::default() }
}

#[tokio::test]
async fn who_wants_to_be_asked_before_anything_runs_is() {
    let approver = ScriptedApprover::answering(vec![no()]);
    let Some(bench) = Bench::running("//- /a.txt\none\n", approver, asking_for_commands()) else {
        return;
    };
    let error = bench.err("bash", json!({"command": "cat a.txt"})).await;
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Rejected, "not now"));
    let asked = bench.approver.asked();
    assert!(matches!(asked.as_slice(), [one] if matches!(one.proposal, Proposal::Command(_))));
}

#[tokio::test]
async fn dangerous_commands_are_refused_whatever_is_allowed() {
    let approver = ScriptedApprover::answering(vec![]);
    let Some(bench) = Bench::running("//- /a.txt\none\n", approver, allowing(&["bash"])) else {
        return;
    };
    let refused = bench.err("bash", json!({"command": "true && rm -rf /"})).await;
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    assert!(refused.message.contains("deletes / with everything in it"), "{}", refused.message);
}

#[tokio::test]
async fn always_means_this_command_only() {
    let approver = ScriptedApprover::answering(vec![always(), no(), no(), no()]);
    let files = "//- /a.txt\none\n//- /dir/b.txt\nb\n";
    let Some(bench) = Bench::running(files, approver, asking_for_commands()) else { return };
    for _ in 0..2 {
        bench.ok("bash", json!({"command": "expr 1 + 1"})).await;
    }
    let words = "from now on bash may run exactly `expr 1 + 1` in the project's directory without a question";
    assert_eq!(bench.approver.asked()[0].remembers.as_deref(), Some(words));
    // The same words with another input, directory or neighbour are another command.
    for other in ["expr 1 + 2", "cd dir && expr 1 + 1", "expr 1 + 1 < a.txt"] {
        bench.err("bash", json!({"command": other})).await;
        let asked = bench.approver.asked();
        assert_eq!(asked.len(), 1, "{other}");
        let offered = asked[0].remembers.as_deref();
        assert_eq!(offered.is_some(), other == "expr 1 + 2", "{offered:?}");
    }
}
