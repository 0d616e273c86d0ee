//! What is found in shell texts, and what is doubted.

use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<String> {
    CommandLine::parse(text).commands.iter().map(SimpleCommand::to_string).collect()
}

#[test]
fn every_command_is_found_wherever_it_stands() {
    let cases: &[(&str, &[&str])] = &[
        ("cargo test", &["cargo test"]),
        ("a | b |& c", &["a", "b", "c"]),
        ("a && b || c; d & e", &["a", "b", "c", "d", "e"]),
        ("a\nb\n# c\nd", &["a", "b", "d"]),
        ("(a; b)", &["a", "b"]),
        ("{ a; b; }", &["a", "b"]),
        ("! a", &["a"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for f in x y; do a \"$f\"; done", &["a \"$f\""]),
        ("while a; do b; done < in", &["a", "b < in"]),
        ("until a; do b; done", &["a", "b"]),
        ("case x in y) a;; *) b;; esac", &["a", "b"]),
        ("f() { a; }; f", &["a", "f"]),
        ("echo $(a | b)", &["echo $(a | b)", "a", "b"]),
        ("echo \"x $(a)\"", &["echo \"x $(a)\"", "a"]),
        ("echo `a`", &["echo `a`", "a"]),
        ("X=$(a) b", &["X=$(a) b", "a"]),
        ("X=$(a)", &["a"]),
        ("diff <(a) <(b)", &["diff <(a) <(b)", "a", "b"]),
        ("a > out 2>&1", &["a > out 2>&1"]),
        ("a &> out", &["a &> out"]),
        ("a >> out < in", &["a >> out < in"]),
        ("> out", &["> out"]),
        ("a | b > out", &["a", "b > out"]),
        ("cat <<EOF\n$(a)\nEOF", &["cat", "a"]),
        ("cat <<'EOF'\n$(a)\nEOF", &["cat"]),
        ("cat <<EOF | b > out\nx\nEOF", &["cat", "b > out"]),
        ("cat <<EOF && b\nx\nEOF", &["cat", "b"]),
        ("FOO=1 BAR='x y' a", &["FOO=1 BAR='x y' a"]),
        ("[[ -f x ]] && a", &["a"]),
        ("[ -f x ] && a", &["a"]),
        ("(( x = 1 )); a", &["a"]),
        ("export A=1; b", &["export A=1", "b"]),
        ("a \\\n  b", &["a b"]),
        ("'a' \"b c\" d\\;e", &["a 'b c' 'd;e'"]),
        ("a ${x:-$(b)}", &["a ${x:-$(b)}", "b"]),
        ("a $((1 + $(b)))", &["a $((1 + $(b)))", "b"]),
        ("time a", &["time a", "a"]),
        ("a # b\nc", &["a", "c"]),
        ("a #' \n b #'", &["a", "b"]),
        ("read -r x y; printf '%s' \"$x\"", &["read -r x y", "printf %s \"$x\""]),
        ("[[ $x == 'a' ]] && b", &["b"]),
    ];
    for (text, expected) in cases {
        assert_eq!(found(text), *expected, "{text}");
        let doubts = CommandLine::parse(text).doubts;
        assert!(doubts.is_empty(), "{text}: {doubts:?}");
    }
}

#[test]
fn programs_that_run_others_are_looked_through() {
    let cases: &[(&str, &[&str])] = &[
        ("env A=1 a b", &["env A=1 a b", "A=1 a b"]),
        ("env -u X a", &["env -u X a", "a"]),
        ("sudo -u root rm x", &["sudo -u root rm x", "rm x"]),
        ("timeout -k 5 60 a b", &["timeout -k 5 60 a b", "a b"]),
        ("timeout --signal=KILL 60 a", &["timeout --signal=KILL 60 a", "a"]),
        ("nice -n 10 a", &["nice -n 10 a", "a"]),
        ("nice -n10 nohup a", &["nice -n10 nohup a", "nohup a", "a"]),
        ("ls | xargs -0 -n 1 rm", &["ls", "xargs -0 -n 1 rm", "rm …"]),
        (
            "ls | xargs -I{} sh -c 'a; b'",
            &["ls", "xargs -I{} sh -c 'a; b'", "sh -c 'a; b' …", "a", "b"],
        ),
        ("sh -c 'a | b'", &["sh -c 'a | b'", "a", "b"]),
        ("bash -lc \"a && b\"", &["bash -lc 'a && b'", "a", "b"]),
        ("bash -euo pipefail -c 'a'", &["bash -euo pipefail -c a", "a"]),
        ("eval 'a; b'", &["eval 'a; b'", "a", "b"]),
        ("eval a b", &["eval a b", "a b"]),
        ("watch -n 1 'a | b'", &["watch -n 1 'a | b'", "a", "b"]),
        ("find . -name x -exec rm {} \\;", &["find . -name x -exec rm {} ';'", "rm {}"]),
        ("find . -exec a {} + -exec b ';'", &["find . -exec a {} + -exec b ';'", "a {}", "b"]),
        ("bash <<'EOF'\na\nb\nEOF", &["bash", "a", "b"]),
        ("sh <<< 'a; b'", &["sh", "a", "b"]),
        ("command rm x", &["command rm x", "rm x"]),
        ("exec a", &["exec a", "a"]),
        ("/usr/bin/env a", &["/usr/bin/env a", "a"]),
        ("stdbuf -oL a", &["stdbuf -oL a", "a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(found(text), *expected, "{text}");
    }
    let understood = ["find . -exec a {} +", "sh -c 'a | b'", "timeout 60 a", "bash x.sh"];
    assert!(understood.iter().all(|text| CommandLine::parse(text).is_understood()));
}

#[test]
fn what_is_not_fully_understood_is_doubted() {
    let texts = [
        "$CMD x",
        "\"$CMD\" x",
        "$(echo rm) x",
        "`echo rm` x",
        "r$X x",
        "*/x",
        "~/x",
        "{rm,-rf,x}",
        "$'rm' x",
        "''",
        "PATH=. ls",
        "export PATH=.:$PATH; ls",
        "LD_PRELOAD=./x.so ls",
        "GIT_SSH_COMMAND=x git fetch",
        "env PATH=. ls",
        "IFS=/; ls",
        "ls\r-la",
        "ls\u{a0}-la",
        "ls \u{200b}-la",
        "ls\\ -la",
        "l\\\ns",
        "if true; then",
        "echo 'open",
        "a ))",
        "sh -c \"$X\"",
        "sh -c \"$(curl x)\"",
        "bash -s",
        "curl x | sh",
        "echo a | bash",
        "bash <<EOF\n$X\nEOF",
        "eval \"$X\"",
        "eval $(x)",
        "trap 'rm x' EXIT",
        "alias ls=rm",
        "git -c core.pager=x log",
        "git -c alias.x='!rm y' x",
        "git --exec-path=. log",
        "git $X",
        "git submodule foreach 'rm x'",
        "git clone 'ext::sh -c x'",
        "git rebase -x 'rm y' main",
        "env -S 'rm x'",
        "sudo -i",
        "xargs --foo rm",
        "fd -x rm",
        "parallel rm ::: a",
        "PATH+=:.; ls",
        "PATH[0]=.; ls",
        "export \"PATH=.\"; ls",
        "export $X; ls",
        "printf -v PATH .; ls",
        "read PATH <<< .; ls",
        "read -r a LD_PRELOAD",
        "for PATH in .; do ls; done",
        "[[ 'a[$(rm x)]' -eq 1 ]]",
        "test -v 'a[$(rm x)]'",
        "unset 'a[$(rm x)]'",
    ];
    for text in texts {
        assert!(!CommandLine::parse(text).is_understood(), "{text}: {:?}", found(text));
    }
}

#[test]
fn what_looks_like_arithmetic_hides_no_command() {
    let found = |text: &str| {
        let line = CommandLine::parse(text);
        let programs = line.commands.iter().filter_map(SimpleCommand::program);
        match line.is_understood() {
            true => programs.collect::<Vec<_>>().join(" "),
            false => "doubted".to_owned(),
        }
    };
    let table = ["((rm x); (ls))", "((rm x) ; ls )", "( (rm x))", "(( $(rm x) ))"]
        .map(|text| format!("{text}: {}", found(text)));
    insta::assert_snapshot!(table.join("\n"), @r"
    ((rm x); (ls)): doubted
    ((rm x) ; ls ): doubted
    ( (rm x)): rm
    (( $(rm x) )): rm
    ");
}

#[test]
fn a_text_that_is_too_deep_or_too_long_is_doubted() {
    for depth in [200, 2000] {
        let deep = format!("{}a{}", "( ".repeat(depth), " )".repeat(depth));
        assert!(!CommandLine::parse(&deep).is_understood());
    }
    assert!(!CommandLine::parse(&"a|".repeat(300)).is_understood());
    let nested = format!("{}a", "nice ".repeat(40));
    assert!(!CommandLine::parse(&nested).is_understood());
    assert!(!CommandLine::parse(&"a;".repeat(64 * 1024)).is_understood());
}

#[test]
fn a_specification_is_looked_into_where_it_is_a_shell() {
    let spec = |argv: &[&str], stdin: Option<&str>| CommandSpec {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        stdin: stdin.map(str::to_owned),
        ..serde_json::from_str(r#"{"argv":[],"working_dir":"","timeout_ms":1}"#).unwrap()
    };
    let found = |spec: &CommandSpec| {
        let line = CommandLine::of(spec);
        line.commands.iter().map(SimpleCommand::to_string).collect::<Vec<_>>().join(" ¦ ")
    };
    assert_eq!(found(&spec(&["bash", "-c", "a | b"], None)), "a ¦ b");
    assert_eq!(found(&spec(&["bash", "-s", "--", "x"], Some("a\nb"))), "a ¦ b");
    assert_eq!(found(&spec(&["cargo", "test", "a b; c"], None)), "cargo test 'a b; c'");
    assert_eq!(found(&spec(&["bash", "x.sh"], None)), "bash x.sh");
    let mut sly = spec(&["cargo", "test"], None);
    sly.env.insert("LD_PRELOAD".into(), "x".into());
    assert!(!CommandLine::of(&sly).is_understood());
}

/// A shell text with the commands that are in it.
fn script() -> impl Strategy<Value = (String, Vec<String>)> {
    let name = "[a-f]{1,4}";
    let arg = prop_oneof![
        "[a-z0-9./-]{1,6}".prop_map(|text| (text, Vec::new())),
        "[a-z ;|&$()]{0,6}".prop_map(|text| (format!("'{text}'"), Vec::new())),
        name.prop_map(|inner| (format!("$(q{inner})"), vec![format!("q{inner}")])),
        name.prop_map(|inner| (format!("\"x $(q{inner} y)\""), vec![format!("q{inner}")])),
    ];
    let simple = (name, prop::collection::vec(arg, 0..3)).prop_map(|(name, args)| {
        let program = format!("p{name}");
        let mut text = program.clone();
        let mut commands = vec![program];
        for (arg, inner) in args {
            text = format!("{text} {arg}");
            commands.extend(inner);
        }
        (text, commands)
    });
    simple.prop_recursive(4, 24, 3, |inner| {
        let two = (
            inner.clone(),
            inner.clone(),
            prop::sample::select(vec![" | ", " && ", " || ", "; ", "\n", " & "]),
        );
        prop_oneof![
            two.prop_map(|((a, mut x), (b, y), sign)| {
                x.extend(y);
                (format!("{a}{sign}{b}"), x)
            }),
            inner.clone().prop_map(|(a, x)| (format!("( {a} )"), x)),
            inner.clone().prop_map(|(a, x)| (format!("{{ {a}; }}"), x)),
            (inner.clone(), inner.clone()).prop_map(|((a, mut x), (b, y))| {
                x.extend(y);
                (format!("if {a}; then {b}; fi"), x)
            }),
            inner.clone().prop_map(|(a, x)| (format!("for i in 1 2; do {a}; done"), x)),
            inner.prop_map(|(a, x)| (format!("while true; do {a}; done"), x)),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|[\\n\\t|&;<>()$`\"'\\\\{}*?=!#]|if|then|fi|for|do|done|EOF|<<|git|sudo|-c|find|-exec){0,40}") {
        let line = CommandLine::parse(&text);
        for command in &line.commands {
            prop_assert!(text.get(command.range.clone()).is_some());
        }
    }

    #[test]
    fn every_command_of_a_generated_text_is_found((text, expected) in script()) {
        let line = CommandLine::parse(&text);
        prop_assert!(line.is_understood(), "{text}: {:?}", line.doubts);
        let programs: Vec<_> = line.commands.iter().filter_map(SimpleCommand::program).collect();
        for program in &expected {
            let wanted = expected.iter().filter(|other| *other == program).count();
            let got = programs.iter().filter(|other| **other == program).count();
            prop_assert!(got >= wanted, "{program} in {text}: {programs:?}");
        }
        for command in &line.commands {
            let written = &text[command.range.clone()];
            prop_assert!(written.contains(command.program().unwrap_or_default()), "{written}");
        }
    }

    #[test]
    fn what_stands_between_commands_is_no_word((text, _) in script()) {
        let line = CommandLine::parse(&text);
        prop_assert!(line.is_understood(), "{text}: {:?}", line.doubts);
        let mut rest = text.clone().into_bytes();
        for command in &line.commands {
            rest[command.range.clone()].fill(b' ');
        }
        let rest = String::from_utf8(rest).unwrap();
        let left = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let keywords = ["if", "then", "fi", "for", "i", "in", "1", "2", "do", "done", "while"];
        for word in left {
            prop_assert!(keywords.contains(&word), "{word} in {text}");
        }
    }
}
