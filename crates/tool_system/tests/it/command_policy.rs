//! What is asked about commands, looking at the project as it is.

use protocol::ErrorCode;
use serde_json::json;
use tool_system::ExecutorOptions;

use crate::git_tools::{git, repository};
use crate::harness::{self, Bench, Person, Reply, allowing, always};

fn no() -> Reply {
    harness::no(Some("not now"))
}

#[tokio::test]
async fn the_question_says_what_would_be_lost() {
    let Some(bench) = repository(vec![no(), no(), no(), no()]) else { return };
    bench.err("bash", json!({"command": "git reset --hard"})).await;
    bench.project.write("a.txt", "two\n");
    bench.project.write("notes.txt", "n\n");
    for command in ["git reset --hard", "git clean -fd", "rm notes.txt"] {
        let error = bench.err("bash", json!({"command": command})).await;
        assert_eq!(error.code, ErrorCode::Rejected);
    }
    let asked = bench.person.asked();
    let reasons: Vec<_> = asked.iter().map(|request| request.reason.as_str()).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    bash runs `git reset --hard`: a person is asked, because no rule allows it and the mode strict does not let it pass.
    bash runs `git reset --hard`: a person is asked, because it would discard uncommitted changes in a.txt; only a rule that names exactly this command can allow it.
    bash runs `git clean -fd`: a person is asked, because it would delete notes.txt, which git does not hold; only a rule that names exactly this command can allow it.
    bash runs `rm notes.txt`: a person is asked, because it deletes notes.txt; git does not hold notes.txt; only a rule that names exactly this command can allow it.
    ");
    assert_eq!(git(&bench, &["status", "--short"]), " M a.txt\n?? notes.txt\n");
}

#[tokio::test]
async fn looking_passes_unasked_and_damage_is_refused_whatever_is_allowed() {
    let Some(bench) =
        Bench::running("//- /a.txt\none\n", Person::answering(vec![]), allowing(&["bash"]))
    else {
        return;
    };
    let command = format!("cat {}/a.txt | wc -l", bench.project.root().display());
    bench.ok("bash", json!({"command": command})).await;
    let refused = bench.err("bash", json!({"command": "true && rm -rf ."})).await;
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    assert!(refused.message.contains("deletes ., with everything in it"), "{}", refused.message);
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn always_means_this_command_only() {
    let person = Person::answering(vec![always(), no(), no(), no()]);
    let Some(bench) =
        Bench::running("//- /a.txt\none\n//- /dir/b.txt\nb\n", person, ExecutorOptions::default())
    else {
        return;
    };
    for _ in 0..2 {
        bench.ok("bash", json!({"command": "expr 1 + 1"})).await;
    }
    let words = "from now on bash may run exactly `expr 1 + 1` in the project's directory without a question";
    assert_eq!(bench.person.asked()[0].remembers.as_deref(), Some(words));
    // The same words with another input, directory or neighbour are another command.
    for other in ["expr 1 + 2", "cd dir && expr 1 + 1", "expr 1 + 1 < a.txt"] {
        bench.err("bash", json!({"command": other})).await;
        let asked = bench.person.asked();
        assert_eq!(asked.len(), 1, "{other}");
        let offered = asked[0].remembers.as_deref();
        assert_eq!(offered.is_some(), other == "expr 1 + 2", "{offered:?}");
    }
}
