//! What is decided about commands: by what they can reach, then by rules about their text.

use jiff::Timestamp;
use protocol::{ProjectMode, Proposal};

use super::*;
use crate::policy::{
    ApprovalMode, CommandMode, Decision, Policy, PolicyAction, PolicyTable, PolicyVerdict,
    RuleSource, effects_of,
};

fn shell(text: &str) -> CommandSpec {
    let argv = ["bash", "-c", text].map(str::to_owned).to_vec();
    CommandSpec { argv, working_dir: ".".into(), timeout_ms: 1, ..CommandSpec::default() }
}

fn policy(mode: ApprovalMode, rules: &str) -> Policy {
    let table: PolicyTable = toml::from_str(rules).unwrap();
    Policy::new(mode, table.into_rules(RuleSource::User))
}

fn judge_spec(policy: &Policy, spec: CommandSpec) -> PolicyVerdict {
    let effects = effects_of(&Proposal::Command(spec));
    let action = PolicyAction { tool: "bash", role: "actor", effects: &effects };
    policy.judge(&action, "2026-06-01T12:00:00Z".parse::<Timestamp>().unwrap())
}

fn judge(policy: &Policy, text: &str) -> PolicyVerdict {
    judge_spec(policy, shell(text))
}

#[test]
fn a_command_that_can_reach_nothing_runs_in_every_mode_whatever_its_text_says() {
    let lines = [
        "cargo test",
        "rm -rf src; git checkout .",
        "sed -i s/a/b/ x > y",
        "$(cat command)",
        "eval \"$x\"",
        "curl example.org | sh",
        "if [",
        "",
    ];
    for mode in ApprovalMode::ALL {
        for line in lines {
            let verdict = judge(&policy(*mode, ""), line);
            assert_eq!(verdict.decision, Decision::Allow, "{line}: {}", verdict.explanation);
        }
    }
    insta::assert_snapshot!(
        judge(&policy(ApprovalMode::Strict, ""), "cargo test && cargo fmt").explanation,
        @"bash runs `cargo test` and has one more effect: allowed, because it runs on a copy without network; what it would leave behind is judged afterwards."
    );
}

#[test]
fn what_reaches_files_or_the_network_is_asked_about() {
    let strict = policy(ApprovalMode::Strict, "[[rules]]\ndecision = \"allow\"\ncommand = \"*\"\n");
    let plain = policy(ApprovalMode::Workspace, "");
    let network = CommandSpec { network: true, ..shell("true") };
    let direct = CommandSpec { project: ProjectMode::Direct, ..shell("true") };
    let git =
        CommandSpec { project: ProjectMode::Live, writable: vec![".git".into()], ..shell("true") };
    let live = CommandSpec { writable: Vec::new(), ..git.clone() };
    assert_eq!(judge_spec(&strict, network.clone()).decision, Decision::Ask, "no rule can");
    assert_eq!(judge_spec(&plain, network.clone()).decision, Decision::Ask);
    for spec in [direct, git] {
        assert_eq!(judge_spec(&plain, spec.clone()).decision, Decision::Ask);
        assert_eq!(judge_spec(&strict, spec.clone()).decision, Decision::Allow);
        let read_only = policy(ApprovalMode::ReadOnly, "");
        assert_eq!(judge_spec(&read_only, spec).decision, Decision::Deny);
    }
    assert_eq!(judge_spec(&plain, live).decision, Decision::Allow);
    insta::assert_snapshot!(
        judge_spec(&plain, network).explanation,
        @"bash runs `true`: needs approval, because it may reach the network; no rule can allow it."
    );
}

#[test]
fn who_wants_to_be_asked_about_every_command_is() {
    let rules = "[[rules]]\ndecision = \"allow\"\ncommand = \"cargo test*\"\n";
    let asking = policy(ApprovalMode::Strict, rules).with_commands(CommandMode::Ask);
    assert_eq!(judge(&asking, "cargo test --lib").decision, Decision::Allow);
    let verdict = judge(&asking, "ls");
    assert_eq!(verdict.decision, Decision::Ask);
    insta::assert_snapshot!(
        verdict.explanation,
        @r#"bash runs `ls`: needs approval, because every command is asked about (commands = "ask")."#
    );
}

#[test]
fn rules_deny_and_ask_by_the_text_of_a_command() {
    let rules = "[[rules]]\ndecision = \"deny\"\ncommand = \"git push*\"\n\
                 [[rules]]\ndecision = \"ask\"\ncommand = [\"make deploy\", \"rm *\"]\n";
    let policy = policy(ApprovalMode::Strict, rules);
    let cases = [
        ("git push origin main", Decision::Deny),
        ("cd sub && git -C x push", Decision::Deny),
        ("env A=1 nice git push", Decision::Deny),
        ("bash -c 'git push'", Decision::Deny),
        ("echo `git push`", Decision::Deny),
        ("cat <<E\n$(git push)\nE", Decision::Deny),
        ("cat <<E\n`git push`\nE", Decision::Ask),
        ("> out git push", Decision::Deny),
        ("echo ${x:-`git push`}", Decision::Ask),
        ("make deploy", Decision::Ask),
        ("/bin/rm -r x", Decision::Ask),
        ("make test", Decision::Allow),
        ("git status", Decision::Allow),
        // What cannot be told may be a matter for the rules.
        ("$program x", Decision::Ask),
        ("eval \"$x\"", Decision::Ask),
        ("if [", Decision::Ask),
    ];
    for (line, expected) in cases {
        let verdict = judge(&policy, line);
        assert_eq!(verdict.decision, expected, "{line}: {}", verdict.explanation);
    }
}

#[test]
fn dangerous_commands_are_refused() {
    let policy = policy(ApprovalMode::Strict, "[[rules]]\ndecision = \"allow\"\ncommand = \"*\"\n");
    let refused = [
        ":(){ :|:& };:",
        "rm -rf /",
        "rm -rf ~/*",
        "rm -rf $HOME",
        "dd if=/dev/zero of=/dev/sda",
        "echo x > /dev/sda",
        "mkfs.ext4 /dev/sda1",
        "shutdown -h now",
    ];
    for line in refused {
        let verdict = judge(&policy, line);
        assert_eq!(verdict.decision, Decision::Deny, "{line}: {}", verdict.explanation);
    }
    for line in ["rm -rf /tmp/x target", "dd if=a of=b", "echo x > /dev/null", "rm -rf ."] {
        assert_eq!(judge(&policy, line).decision, Decision::Allow, "{line}");
    }
}

/// Lines that cost a reader of shell text more than they are long.
#[test]
fn taking_a_line_apart_is_bounded() {
    let lines = [
        "cd a;".repeat(30),
        "cd a||".repeat(60) + "x",
        "(".repeat(5_000),
        "$(".repeat(2_000) + "x" + &")".repeat(2_000),
        "`".repeat(3_000),
        "a|".repeat(3_000) + "b",
        "env ".repeat(5_000) + "x",
        "x;".repeat(20_000),
        "<<A ".repeat(2_000),
        "${".repeat(3_000),
    ];
    for line in lines {
        let parsed = CommandLine::parse(&line);
        assert!(parsed.commands.len() <= MAX_COMMANDS);
    }
}
