//! What a request becomes as a question, and an answer as a response.

mod panels;

use protocol::{Base, ChangeSet, CommandSpec, ContentHash, RunMode, WebRequest};
use serde_json::{Map, json};
use testkit::Fixture;

use super::*;

type Variables<'a> = &'a [(&'a str, &'a str)];

fn base(text: &[u8]) -> Base {
    Base::File { hash: ContentHash::of(text), size: text.len() as u64, mode: 0o644 }
}

fn write(path: &str, before: Option<&str>, after: &[u8]) -> (Change, Option<Vec<u8>>) {
    let before = before.map(|text| text.as_bytes().to_vec());
    let base = before.as_deref().map_or(Base::Absent, base);
    let content = FileBytes(after.to_vec());
    (Change::Write { path: path.into(), base, content, mode: None }, before)
}

fn edit_of(path: &str, before: &str, after: &str) -> (Change, Option<Vec<u8>>) {
    write(path, Some(before), after.as_bytes())
}

fn create(path: &str, text: &[u8]) -> (Change, Option<Vec<u8>>) {
    write(path, None, text)
}

fn delete(path: &str, text: &str) -> (Change, Option<Vec<u8>>) {
    let change = Change::Delete { path: path.into(), base: base(text.as_bytes()) };
    (change, Some(text.as_bytes().to_vec()))
}

fn rename(from: &str, to: &str) -> (Change, Option<Vec<u8>>) {
    let (from, to) = (from.to_owned(), to.to_owned());
    (Change::Move { from, to, base: base(b"x\n"), target: Base::Absent }, None)
}

fn make_dir(path: &str) -> (Change, Option<Vec<u8>>) {
    (Change::MakeDir { path: path.into(), mode: None }, None)
}

fn request(proposal: Proposal, diffs: Vec<FileDiff>) -> ApprovalRequest {
    ApprovalRequest {
        step_id: "s1".into(),
        tool: "apply_changes".into(),
        args: Map::new(),
        reason: "apply_changes changes it: needs approval: no rule allows it.".into(),
        is_routine: true,
        proposal_hash: proposal.hash(),
        proposal,
        diffs,
        remembers: None,
        expires_in_ms: 1,
    }
}

fn changes(changes: Vec<(Change, Option<Vec<u8>>)>) -> ApprovalRequest {
    let diffs = changes.iter().map(|(change, before)| FileDiff::of(change, before.as_deref()));
    let diffs = diffs.collect();
    let changes = changes.into_iter().map(|(change, _)| change).collect();
    request(Proposal::Changes(ChangeSet { changes }), diffs)
}

fn command(spec: CommandSpec) -> ApprovalRequest {
    request(Proposal::Command(spec), Vec::new())
}

fn shell(script: &str) -> CommandSpec {
    let argv = ["bash", "-c", script].map(str::to_owned).to_vec();
    CommandSpec { argv, working_dir: ".".into(), ..CommandSpec::default() }
}

/// Lines `1` to `count`, some of them with another text.
fn numbered(count: usize, other: &[(usize, &str)]) -> String {
    let text = |n: usize| other.iter().find(|(at, _)| *at == n).map(|(_, text)| *text);
    (1..=count).map(|n| text(n).map_or(format!("{n}\n"), str::to_owned)).collect()
}

fn asked(request: &ApprovalRequest) -> PanelQuestion {
    panel_question(request, OutputStyle::terminal(100).without_colours(), (1, 1))
}

#[test]
fn titles_say_what_would_happen() {
    let edit = || edit_of("a.rs", "1\n2\n", "1\n3\n4\n");
    let created = || create("new/b.rs", b"1\n2\n");
    let of_command = |text: &str| {
        let mut request = changes(vec![edit()]);
        request.args.insert("command".into(), json!(text));
        request
    };
    let job = |run, stdin: Option<&str>| {
        let stdin = stdin.map(str::to_owned);
        command(CommandSpec { run, stdin, ..shell("make serve") })
    };
    let many = CommandSpec { stdin: Some("1\n2\n3\n4\n".into()), ..shell("wc") };
    let web = WebRequest {
        method: "GET".into(),
        url: "https://example.org/\u{1b}[2J".into(),
        ..WebRequest::default()
    };
    let table = [
        (changes(vec![edit()]), "Edit a.rs, +2 −1?"),
        (changes(vec![edit(), edit_of("c.rs", "1\n", "")]), "Edit 2 files, +2 −2?"),
        (changes(vec![make_dir("new"), created()]), "Create new/b.rs, +2?"),
        (changes(vec![edit(), created()]), "Change 2 files, +4 −1?"),
        (changes(vec![delete("a\u{202e}.rs", "1\n")]), "Delete a\\u{202E}.rs, −1?"),
        (changes(vec![rename("a.rs", "b.rs")]), "Rename a.rs to b.rs?"),
        (changes(vec![rename("a", "b"), rename("c", "d")]), "Rename 2 files?"),
        (changes(vec![make_dir("new")]), "Make the directory new?"),
        (changes(vec![create("logo.png", b"\x89PNG\0\0")]), "Create logo.png?"),
        (of_command("npm run fmt\n"), "Keep what `npm run fmt` did: edit a.rs, +2 −1?"),
        (of_command("a\nb\n"), "Keep what `a` and 1 more line did: edit a.rs, +2 −1?"),
        (command(shell("npm test")), "Run `npm test`?"),
        (command(shell("cd a\nmake\nmake install")), "Run `cd a` and 2 more lines?"),
        (
            command(CommandSpec { working_dir: "sub".into(), network: true, ..shell("npm ci") }),
            "Run `npm ci`, in sub, with the network?",
        ),
        (command(many), "Run `wc` and 4 more lines?"),
        (job(RunMode::Job, None), "Run `make serve`, as a job that goes on?"),
        (job(RunMode::Stop("j1".into()), None), "End the running job j1?"),
        (job(RunMode::Tell("j1".into()), Some("y\n")), "Tell the running job j1: y?"),
        (request(Proposal::Web(web), Vec::new()), "Send GET https://example.org/\\x1B[2J?"),
    ];
    for (request, title) in table {
        assert_eq!(asked(&request).title, title);
    }
}

#[test]
fn a_reason_is_shown_if_it_says_something() {
    let mut request = changes(vec![edit_of("a", "1\n", "2\n")]);
    assert_eq!(asked(&request).reason, None);
    request.is_routine = false;
    request.reason = "needs approval because of rule 1\u{1b}[2J".into();
    let reason = asked(&request).reason;
    assert_eq!(reason.as_deref(), Some("needs approval because of rule 1\\x1B[2J"));
    request.reason.clear();
    assert_eq!(asked(&request).reason, None);
    assert_eq!(asked(&request).rule, None);
    request.remembers = Some("from now on edit_lines may change `a`".into());
    assert_eq!(asked(&request).rule.as_deref(), Some("from now on edit_lines may change `a`"));
}

#[test]
fn parts_are_counted_as_answers_count_them() {
    let two_hunks = edit_of("a", &numbered(40, &[]), &numbered(40, &[(5, "five\n"), (30, "")]));
    let all = changes(vec![
        two_hunks,
        make_dir("new"),
        create("new/b", b"1\n"),
        delete("c", "1\n2\n"),
        rename("d", "e"),
        create("f.png", b"\x89PNG\0\0"),
    ]);
    let question = asked(&all);
    let parts: Vec<(&str, Vec<&str>)> = question
        .files
        .iter()
        .map(|file| (&*file.path, file.parts.iter().map(|part| &*part.title).collect()))
        .collect();
    assert_eq!(
        parts,
        [
            ("a", vec!["line 5", "line 30"]),
            ("new/b", vec!["line 1"]),
            ("c", vec!["line 1"]),
            ("e", vec!["the whole file"]),
            ("f.png", vec!["the whole file"]),
        ]
    );
    for file in &question.files {
        let diff = all.diffs.iter().find(|diff| diff.path == file.path).unwrap();
        assert_eq!(file.parts.len(), diff.parts(), "{}", file.path);
        assert!(file.parts.iter().zip(&diff.hunks).all(|(part, _)| !part.lines.is_empty()));
    }
    let twice = changes(vec![rename("a", "b"), edit_of("b", "1\n", "2\n")]);
    assert!(asked(&twice).files.is_empty(), "a path would name two changes");
}

#[test]
fn comments_name_the_line_after_the_change() {
    let places = |request: &ApprovalRequest, width| {
        let style = OutputStyle::terminal(width).without_colours();
        let lines = panel_question(request, style, (1, 1)).diff;
        let places = lines.into_iter().filter_map(|line| Some((line.drawn, line.place?.line)));
        places.map(|(drawn, line)| format!("{} @{line}", drawn.trim_end())).collect::<Vec<_>>()
    };
    let edit = changes(vec![edit_of("a", "1\n2\n3\n4\n", "1\ntwo\n4\n")]);
    let expected = ["  1    1 @1", "  2  - 2 @2", "  3  - 3 @2", "  2  + two @2", "  4    4 @3"];
    // The numbers in the margin are those of the side that has the line.
    let drawn = places(&edit, 100);
    let numbers = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.rsplit('@').next().unwrap().to_owned()).collect()
    };
    assert_eq!(numbers(&drawn), numbers(&expected.map(str::to_owned)), "{drawn:#?}");
    let emptied = changes(vec![edit_of("a", "1\n2\n", "")]);
    assert_eq!(numbers(&places(&emptied, 100)), ["1", "1"]);
    let deleted = changes(vec![delete("a", "1\n2\n")]);
    assert_eq!(numbers(&places(&deleted, 100)), ["1", "2"]);
    assert_eq!(places(&edit, 200).len(), 4, "both sides of a changed line are one row");
}

#[test]
fn answers_become_responses_to_exactly_this_request() {
    let request = changes(vec![edit_of("a", "1\n", "2\n"), edit_of("b", "1\n", "2\n")]);
    let parts = BTreeMap::from([("a".to_owned(), Vec::new())]);
    let place = CommentPlace { path: "a".into(), line: 7 };
    let comment = LineComment { path: "a".into(), line: 7, text: "why?".into() };
    let table = [
        (PanelAnswer::Yes, Some(request.approve())),
        (PanelAnswer::No(None), Some(ApprovalResponse::no(None))),
        (PanelAnswer::No(Some("x".into())), Some(ApprovalResponse::no(Some("x".into())))),
        (PanelAnswer::Parts(parts.clone()), Some(request.with_hunks(parts))),
        (
            PanelAnswer::Comment { place, text: "why?".into() },
            Some(ApprovalResponse::no(None).commenting(comment)),
        ),
        (
            PanelAnswer::Always(RuleLifetime::Session),
            Some(request.approve_and_remember(Remember::Session)),
        ),
        (PanelAnswer::Always(RuleLifetime::ForGood), Some(request.approve_always())),
        (PanelAnswer::Edit, None),
    ];
    for (answer, expected) in table {
        let approves = answer.approves();
        let response = response(&request, answer);
        assert_eq!(response, expected);
        if let Some(response) = response {
            assert_eq!(response.approves(request.proposal_hash), approves);
        }
    }
}

#[test]
fn each_proposed_text_is_edited_and_only_those_that_changed_are_sent() {
    let all = changes(vec![
        edit_of("dir/a.rs", "1\n", "x\n"),
        create("b.rs", b"y\n"),
        create("c.png", b"x\0\n"),
        delete("d.rs", "x\n"),
    ]);
    let edited = edit(&all, "sed -i s/x/z/", &EditorRun::default()).unwrap().unwrap();
    let files = BTreeMap::from([("dir/a.rs".to_owned(), FileBytes(b"z\n".to_vec()))]);
    assert_eq!(edited, all.with_files(files));
    assert_eq!(edit(&all, "true", &EditorRun::default()).unwrap(), None);
    assert!(edit(&all, "false", &EditorRun::default()).unwrap_err().message.contains("false"));
    assert!(asked(&all).can_edit);
    for fixed in [changes(vec![create("c.png", b"x\0\n")]), command(shell("x"))] {
        assert!(!asked(&fixed).can_edit);
        assert_eq!(
            edit(&fixed, "false", &EditorRun::default()).unwrap(),
            None,
            "there is nothing to edit"
        );
    }
}

#[test]
fn a_message_is_edited_without_the_line_end_that_editors_add() {
    assert_eq!(edit_prompt("sed -i s/a/b/", "a a", &EditorRun::default()).unwrap(), "b a");
    assert_eq!(
        edit_prompt("sed -i $a\\last", "first", &EditorRun::default()).unwrap(),
        "first\nlast"
    );
    assert_eq!(edit_prompt("true", "kept\n", &EditorRun::default()).unwrap(), "kept\n");
    assert!(edit_prompt("false", "x", &EditorRun::default()).is_err());
}

#[test]
fn the_editor_is_what_the_user_named_or_one_that_is_there() {
    let places = Fixture::new(
        "//- /bin/nano mode=755\nx\n//- /both/vi mode=755\nx\n//- /both/nano mode=755\nx\n",
    );
    let found = |variables: Variables<'_>| {
        editor(|name| {
            let value = variables.iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| (*value).to_owned())
        })
    };
    let at = |path: &str| places.path(path).into_os_string().into_string().unwrap();
    let (bin, both) = (at("bin"), at("both"));
    let table: [(Variables<'_>, Option<String>); 6] = [
        (&[("VISUAL", "code -w"), ("EDITOR", "ed")], Some("code -w".into())),
        (&[("VISUAL", " "), ("EDITOR", "ed"), ("PATH", &both)], Some("ed".into())),
        (&[("PATH", &both)], Some(at("both/vi"))),
        (&[("PATH", &bin)], Some(at("bin/nano"))),
        (&[("PATH", "/nowhere")], None),
        (&[], None),
    ];
    for (variables, expected) in table {
        assert_eq!(found(variables), expected, "{variables:?}");
    }
}
