use jiff::Timestamp;
use proptest::prelude::*;

use super::suggestion::rule_for;
use super::*;

const NOW: &str = "2026-06-01T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn user_rules(text: &str) -> Vec<Rule> {
    toml::from_str::<PolicyTable>(text).unwrap().into_rules(RuleSource::User)
}

fn edit(path: &str) -> Effect {
    Effect::on(EffectKind::Overwrite, path)
}

fn judge(policy: &Policy, effects: &[Effect]) -> PolicyVerdict {
    policy.judge(&PolicyAction { tool: "edit_lines", role: "actor", effects }, now())
}

fn decide(mode: ApprovalMode, rules: &str, effects: &[Effect]) -> Decision {
    judge(&Policy::new(mode, user_rules(rules)), effects).decision
}

const RULES: &str = r#"
    [[rules]]
    decision = "allow"
    tool = "edit_*"
    paths = ["src/**", "*.md"]
    expires = 2026-12-01
    note = "daily work"
    matches = ["src/a/b.rs", "README.md"]
    never = ["Cargo.toml"]

    [[rules]]
    decision = "ask"
    paths = ["src/generated/"]

    [[rules]]
    decision = "deny"
    paths = ["secrets/"]
    roles = ["actor"]
    note = "keys of the shop"
"#;

#[test]
fn the_narrowest_matching_rule_decides_and_the_mode_does_the_rest() {
    use ApprovalMode::*;
    use Decision::*;
    let create = Effect::on(EffectKind::Create, "lib/new.rs");
    let moved = Effect::on(EffectKind::Move, "lib/new.rs");
    let run = Effect::outside(EffectKind::Run, "make");
    let fetch = Effect::outside(EffectKind::Fetch, "GET https://example.org");
    let cases: &[(ApprovalMode, &[Effect], Decision)] = &[
        (Strict, &[], Allow),
        (ReadOnly, &[], Allow),
        (Strict, &[edit("src/a.rs")], Allow),
        (Strict, &[edit("src/a.rs"), edit("Cargo.toml")], Ask),
        (Strict, &[edit("src/a.rs"), edit("docs/x.md")], Allow),
        (Strict, &[edit("src/generated/a.rs")], Ask),
        (Strict, &[edit("src/a.rs"), edit("lib/secrets/key")], Deny),
        (Strict, &[edit("Secrets/key")], Deny),
        (Strict, std::slice::from_ref(&create), Ask),
        (Workspace, std::slice::from_ref(&create), Allow),
        (Workspace, &[create.clone(), edit("src/a.rs")], Allow),
        (Workspace, &[create.clone(), edit("lib/a.rs")], Ask),
        (Workspace, &[moved], Allow),
        (Workspace, &[Effect::on(EffectKind::Delete, "lib/a.rs")], Ask),
        (Workspace, std::slice::from_ref(&run), Ask),
        (ReadOnly, &[edit("src/a.rs")], Deny),
        (ReadOnly, std::slice::from_ref(&run), Deny),
        (ReadOnly, &[fetch], Ask),
        (Strict, &[edit("src/../secrets/key")], Deny),
        (Strict, &[edit("/etc/passwd")], Deny),
    ];
    for (mode, effects, expected) in cases {
        assert_eq!(decide(*mode, RULES, effects), *expected, "{mode} {effects:?}");
    }
}

#[test]
fn a_rule_holds_only_for_its_tools_and_roles() {
    let policy = Policy::new(ApprovalMode::Strict, user_rules(RULES));
    let effects = [edit("secrets/key")];
    let planner = PolicyAction { tool: "edit_lines", role: "planner", effects: &effects };
    assert_eq!(policy.judge(&planner, now()).decision, Decision::Ask);
    let effects = [edit("src/a.rs")];
    let other = PolicyAction { tool: "update_file", role: "actor", effects: &effects };
    assert_eq!(policy.judge(&other, now()).decision, Decision::Ask);
}

#[test]
fn moving_a_directory_counts_as_moving_what_is_in_it() {
    use Decision::*;
    let tree = |path: &str| Effect { tree: true, ..Effect::on(EffectKind::Move, path) };
    let rules = r#"
        [[rules]]
        decision = "allow"
        paths = ["src/**", "lib/*"]
        [[rules]]
        decision = "deny"
        paths = ["config/keys/**"]
    "#;
    let floating = r#"
        [[rules]]
        decision = "allow"
        [[rules]]
        decision = "deny"
        paths = ["*.pem"]
    "#;
    assert_eq!(decide(ApprovalMode::Strict, rules, &[tree("src/a"), tree("src/b")]), Allow);
    assert_eq!(decide(ApprovalMode::Strict, rules, &[tree("lib/a"), tree("src/b")]), Ask);
    assert_eq!(decide(ApprovalMode::Workspace, rules, &[tree("config"), tree("old")]), Deny);
    assert_eq!(decide(ApprovalMode::Workspace, floating, &[tree("a"), tree("b")]), Ask);
    assert_eq!(decide(ApprovalMode::Workspace, "", &[tree("a"), tree(".github")]), Ask);
    assert_eq!(decide(ApprovalMode::Workspace, "", &[tree("a"), tree("b")]), Allow);
}

#[test]
fn explanations_name_the_rule_and_the_reason() {
    let policy = Policy::new(ApprovalMode::Strict, user_rules(RULES));
    let explained = |effects: &[Effect]| judge(&policy, effects).explanation;
    let all = [
        explained(&[edit("src/a.rs")]),
        explained(&[edit("src/a.rs"), edit("README.md")]),
        explained(&[edit("src/generated/a.rs")]),
        explained(&[edit("secrets/key")]),
        explained(&[edit("Cargo.toml")]),
        explained(&[edit(".github/workflows/ci.yml")]),
        explained(&[Effect::on(EffectKind::Link, "src/l")]),
        explained(&[]),
        judge(&Policy::new(ApprovalMode::ReadOnly, []), &[edit("a")]).explanation,
        judge(&Policy::new(ApprovalMode::Workspace, []), &[Effect::on(EffectKind::Create, "a")])
            .explanation,
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    edit_lines changes the existing `src/a.rs`: allowed because of rule 53f19cb4 (allow edit_* on src/**, *.md) from your configuration. Its note says "daily work".
    edit_lines changes the existing `src/a.rs` and has one more effect: allowed because of rule 53f19cb4 (allow edit_* on src/**, *.md) from your configuration. Its note says "daily work".
    edit_lines changes the existing `src/generated/a.rs`: needs approval because of rule 0e6fbe35 (ask * on src/generated/) from your configuration.
    edit_lines changes the existing `secrets/key`: denied because of rule a68da225 (deny * on secrets/ for actor) from your configuration. Its note says "keys of the shop".
    edit_lines changes the existing `Cargo.toml`: needs approval: no rule allows it, and the mode is strict.
    edit_lines changes the existing `.github/workflows/ci.yml`: needs approval, because that path is protected (it decides what continuous integration runs, with its secrets); no rule can allow it.
    edit_lines makes the link `src/l`: needs approval, because later changes can land elsewhere through a link; no rule can allow it.
    edit_lines has no effect, so nothing needs approval.
    edit_lines changes the existing `a`: denied, because in the mode read-only nothing is changed.
    edit_lines creates `a`: allowed, because in the mode workspace new files, new directories and moves that replace nothing pass.
    "#);
}

#[test]
fn only_a_question_that_the_mode_alone_asks_is_routine() {
    let policy = Policy::new(ApprovalMode::Strict, user_rules(RULES));
    let table = [
        (edit("Cargo.toml"), true),
        (edit("src/generated/a.rs"), false),
        (edit(".github/workflows/ci.yml"), false),
        (Effect::on(EffectKind::Link, "src/l"), false),
        // Whatever a path says, it is not read.
        (edit(".git/x: needs approval: no rule allows it, and the mode is strict."), false),
    ];
    for (effect, is_routine) in table {
        let verdict = judge(&policy, std::slice::from_ref(&effect));
        assert_eq!((verdict.decision, verdict.is_routine), (Decision::Ask, is_routine), "{effect}");
    }
}

#[test]
fn an_expired_rule_does_not_count_and_is_mentioned() {
    let rules = r#"
        [[rules]]
        decision = "allow"
        paths = ["src/**"]
        expires = "2026-06-01T12:00:00Z"
    "#;
    let policy = Policy::new(ApprovalMode::Strict, user_rules(rules));
    let verdict = judge(&policy, &[edit("src/a.rs")]);
    assert_eq!((verdict.decision, &verdict.rule), (Decision::Ask, &None));
    assert!(!verdict.is_routine, "the user should know that the rule has expired");
    insta::assert_snapshot!(verdict.explanation, @"edit_lines changes the existing `src/a.rs`: needs approval: no rule allows it, and the mode is strict. Rule f74298de (allow * on src/**) would have decided, but expired 2026-06-01T12:00:00Z.");
    assert!(!judge(&policy, &[edit("lib/a.rs")]).explanation.contains("expired"));
}

#[test]
fn a_remembered_yes_to_an_edit_is_no_yes_to_a_deletion() {
    let remembered = rule_for("edit_lines", &[edit("src/a.rs")]);
    let policy = Policy::new(ApprovalMode::Strict, remembered);
    assert_eq!(judge(&policy, &[edit("src/a.rs")]).decision, Decision::Allow);
    assert_eq!(judge(&policy, &[edit("src/b.rs")]).decision, Decision::Ask);
    let delete = Effect::on(EffectKind::Delete, "src/a.rs");
    assert_eq!(judge(&policy, &[delete]).decision, Decision::Ask);
}

#[test]
fn rules_survive_their_text_and_keep_their_id() {
    for rule in user_rules(RULES) {
        let text = toml::to_string(&rule).unwrap();
        let again: Rule = toml::from_str(&text).unwrap();
        assert_eq!(again, rule);
        assert_eq!(again.id(), rule.id());
        let annotated = Rule { note: Some("other".into()), ..rule.clone() };
        assert_eq!(annotated.id(), rule.id());
        let elsewhere = Rule { source: RuleSource::Remembered, ..rule.clone() };
        assert_ne!(elsewhere.id(), rule.id());
    }
}

#[test]
fn mistakes_in_a_file_are_errors_that_say_what_is_wrong() {
    let cases = [
        ("[[rules]]\ndecision = \"perhaps\"", "unknown variant `perhaps`"),
        ("[[rules]]\ndecision = \"deny\"\npath = \"x\"", "unknown field `path`"),
        ("[[rules]]\ndecision = \"deny\"\nsource = \"user\"", "unknown field `source`"),
        ("[[rules]]\ndecision = \"deny\"\npaths = [\"[\"]", "`[`: unclosed character class"),
        ("[[rules]]\ndecision = \"deny\"\nexpires = \"soon\"", "`soon` is neither a date"),
        ("[[rules]]\npaths = [\"x\"]", "missing field `decision`"),
        ("mode = \"yolo\"", "unknown variant `yolo`"),
    ];
    for (text, expected) in cases {
        let error = toml::from_str::<PolicyTable>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let allow = "[[rules]]\ndecision = \"allow\"\npaths = [\"src/**\"]";
    let error = toml::from_str::<ProjectPolicyTable>(allow).unwrap_err().to_string();
    assert!(error.contains("may deny or ask, not allow (`allow * on src/**`)"), "{error}");
    let deny = "mode = \"read-only\"\n[[rules]]\ndecision = \"deny\"";
    let table = toml::from_str::<ProjectPolicyTable>(deny).unwrap();
    assert_eq!(table.rules[0].source, RuleSource::Project);
}

#[test]
fn rules_are_tested_by_their_own_examples() {
    let right = Policy::new(ApprovalMode::Strict, user_rules(RULES));
    assert!(right.self_test().is_empty());
    let wrong = Policy::new(
        ApprovalMode::Strict,
        user_rules(
            r#"
            [[rules]]
            decision = "allow"
            paths = ["src/*", "*.md"]
            matches = ["src/a/b.rs", "AGENTS.md"]
            never = ["src/main.rs"]
            "#,
        ),
    );
    let failures: Vec<_> = wrong.self_test().iter().map(FailedExample::to_string).collect();
    insta::assert_snapshot!(failures.join("\n"), @"
    rule 378e5b5b (allow * on src/*, *.md): `src/a/b.rs` should match and does not
    rule 378e5b5b (allow * on src/*, *.md): `AGENTS.md` matches, but is protected: no rule can allow it
    rule 378e5b5b (allow * on src/*, *.md): `src/main.rs` must never match and does
    ");
}

fn any_path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "src",
        "a.rs",
        "b.md",
        "Secrets",
        "secrets",
        ".git",
        ".github",
        "workflows",
        "AGENTS.md",
        "x",
        "HEAD",
    ]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let kinds = vec![
        EffectKind::Create,
        EffectKind::Overwrite,
        EffectKind::Delete,
        EffectKind::Move,
        EffectKind::MakeDir,
        EffectKind::Link,
    ];
    let on_path = (prop::sample::select(kinds), any_path(), any::<bool>())
        .prop_map(|(kind, path, tree)| Effect { tree, ..Effect::on(kind, path) });
    let outside = prop::sample::select(vec![EffectKind::Run, EffectKind::Fetch])
        .prop_map(|kind| Effect::outside(kind, "x"));
    prop_oneof![9 => on_path, 1 => outside]
}

fn any_rule(source: RuleSource) -> impl Strategy<Value = Rule> {
    let pattern = prop::sample::select(vec![
        "src/**",
        "*.md",
        "secrets/",
        "**",
        "x/*",
        "/a.rs",
        ".git/**",
        "**/x",
        "{src,x}/*",
    ]);
    (
        prop::sample::select(Decision::ALL.to_vec()),
        prop::sample::select(vec!["*", "edit_*", "delete_file"]),
        prop::collection::vec(pattern, 0..3),
        prop::sample::select(vec![
            None,
            Some("2026-01-01T00:00:00Z"),
            Some("2027-01-01T00:00:00Z"),
        ]),
        prop::sample::select(vec![vec![], vec!["actor"], vec!["planner"]]),
    )
        .prop_map(move |(decision, tool, paths, expires, roles)| Rule {
            tool: ToolPattern::new(tool).unwrap(),
            paths: paths.into_iter().map(|path| PathPattern::new(path).unwrap()).collect(),
            expires: expires.map(|time| time.parse().unwrap()),
            roles: roles.into_iter().map(str::to_owned).collect(),
            ..Rule::new(decision, source)
        })
}

fn any_mode() -> impl Strategy<Value = ApprovalMode> {
    prop::sample::select(ApprovalMode::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_project_rule_never_makes_a_verdict_wider(
        mode in any_mode(),
        own in prop::collection::vec(any_rule(RuleSource::User), 0..4),
        added in any_rule(RuleSource::Project),
        effects in prop::collection::vec(any_effect(), 0..4),
    ) {
        let before = judge(&Policy::new(mode, own.clone()), &effects).decision;
        let after = judge(&Policy::new(mode, own.into_iter().chain([added])), &effects).decision;
        prop_assert!(after <= before, "{before} became {after}");
    }

    #[test]
    fn a_live_denial_that_matches_always_wins(
        mode in any_mode(),
        rules in prop::collection::vec(any_rule(RuleSource::User), 0..4),
        mut effects in prop::collection::vec(any_effect(), 0..4),
        path in any_path(),
        at in 0usize..4,
    ) {
        effects.insert(at.min(effects.len()), edit(&path));
        let denial = Rule {
            paths: vec![PathPattern::exactly(&path).unwrap()],
            ..Rule::new(Decision::Deny, RuleSource::User)
        };
        let policy = Policy::new(mode, rules.into_iter().chain([denial]));
        prop_assert_eq!(judge(&policy, &effects).decision, Decision::Deny);
    }

    #[test]
    fn protected_names_are_never_allowed(
        mode in any_mode(),
        rules in prop::collection::vec(any_rule(RuleSource::User), 0..6),
        effects in prop::collection::vec(any_effect(), 1..4),
    ) {
        let protected = effects.iter().any(|effect| {
            effect.path.as_deref().is_some_and(|path| protection(path, effect.tree).is_some())
        });
        let verdict = judge(&Policy::new(mode, rules), &effects);
        prop_assert!(!protected || verdict.decision != Decision::Allow);
        prop_assert!(verdict.explanation.ends_with('.'));
    }

    #[test]
    fn a_narrower_mode_never_gives_a_wider_verdict(
        rules in prop::collection::vec(any_rule(RuleSource::User), 0..4),
        effects in prop::collection::vec(any_effect(), 0..4),
    ) {
        let decisions = ApprovalMode::ALL
            .iter()
            .map(|mode| judge(&Policy::new(*mode, rules.clone()), &effects).decision);
        prop_assert!(decisions.is_sorted());
    }

    #[test]
    fn a_suggested_rule_allows_what_it_was_made_from(
        effects in prop::collection::vec(any_effect(), 1..4),
    ) {
        if let Some(rule) = rule_for("edit_lines", &effects) {
            let policy = Policy::new(ApprovalMode::Strict, [rule]);
            prop_assert_eq!(judge(&policy, &effects).decision, Decision::Allow);
        }
    }
}
