//! Every command explains itself: help with examples, and examples that can be typed.

use clap::CommandFactory as _;

use super::*;

/// The words of the call of `toolkiln` in a line of shell; none if there is no such call. Pipes,
/// redirections, quotes and comments are all that examples use of a shell.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut()?.push(c),
        }
    }
    let is_end = |word: &String| ["#", "|", ">", "<"].contains(&word.as_str());
    let calls = words.iter().skip_while(|word| *word != "toolkiln");
    let call: Vec<String> =
        calls.take_while(|word| !is_end(word)).filter(|word| !word.is_empty()).cloned().collect();
    (!call.is_empty() && quote.is_none()).then_some(call)
}

/// Checks the examples of a command and of all commands in it.
fn check(command: &clap::Command, path: &[&str], problems: &mut Vec<String>) {
    let name = path.join(" ");
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  ")).collect();
    if !help.starts_with("Examples:\n") || examples.is_empty() {
        problems.push(format!("{name}: no examples"));
    }
    for example in examples {
        match words(example.trim()) {
            None => problems.push(format!("{name}: no call in {example:?}")),
            Some(words)
                if !words
                    .starts_with(&path.iter().map(ToString::to_string).collect::<Vec<_>>()) =>
            {
                problems.push(format!("{name}: another command in {example:?}"));
            }
            Some(words) => {
                let words = words.into_iter().map(Into::into).collect();
                if let Err(error) = short_form::command_of(words, true) {
                    problems.push(format!("{name}: {example:?}: {error}"));
                }
            }
        }
    }
    for inner in command.get_subcommands() {
        check(inner, &[path, &[inner.get_name()]].concat(), problems);
    }
}

#[test]
fn every_command_has_examples_and_every_example_can_be_typed() {
    let mut problems = Vec::new();
    check(&Arguments::command(), &["toolkiln"], &mut problems);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_command_is_in_the_read_me() {
    let read_me = include_str!("../../../../README.md");
    let missing: Vec<String> = Arguments::command()
        .get_subcommands()
        .map(|command| format!("`toolkiln {}", command.get_name()))
        .filter(|command| !read_me.contains(command.as_str()))
        .collect();
    assert!(missing.is_empty(), "add to the table of commands in README.md: {missing:?}");
}

#[test]
fn an_example_is_taken_apart_as_a_shell_would() {
    let table: &[(&str, &[&str])] = &[
        ("toolkiln run \"a b\" # why", &["toolkiln", "run", "a b"]),
        ("echo '{\"a\": 1}' | toolkiln call x - > out", &["toolkiln", "call", "x", "-"]),
        ("toolkiln call x '{\"a\": 1}'", &["toolkiln", "call", "x", "{\"a\": 1}"]),
    ];
    for (line, expected) in table {
        assert_eq!(words(line).unwrap(), *expected);
    }
    assert_eq!(words("git diff"), None);
}
