//! A command as the approver sees it before it runs: all of it, and nothing that only looks like it.

use std::fmt::Write as _;

use crate::{CommandSpec, ProjectMode, RunMode, visible};

/// The whole command, one fact a line. Nothing is cut, and characters that could deceive are escaped.
pub fn describe_command(command: &CommandSpec) -> String {
    let mut text = String::new();
    if let Some(shown) = &command.shown {
        text = shown.lines().map(|line| visible(line) + "\n").collect();
    }
    let mut lines = command_line(command).into_iter();
    let mut fact = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} {value}");
    };
    if command.shown.is_none() {
        fact("$", &lines.next().unwrap_or_default());
        lines.for_each(|line| fact(">", &line));
    }
    if !matches!(command.working_dir.as_str(), "" | ".") {
        fact("in", &visible(&command.working_dir));
    }
    for (name, value) in &command.env {
        fact("with", &format!("{}={}", visible(name), visible(value)));
    }
    for line in command.stdin.iter().flat_map(|input| input.lines()) {
        fact("input", &visible(line));
    }
    match &command.run {
        RunMode::Wait => {}
        RunMode::Job => fact("as", "a job that goes on"),
        RunMode::Tell(job) => fact("to", &format!("the running job {}", visible(job))),
        RunMode::Stop(job) => fact("ending", &format!("the running job {}", visible(job))),
    }
    if command.network {
        fact("with", "the network");
    }
    if command.project == ProjectMode::Direct {
        fact("on", "the files themselves");
    }
    for name in &command.writable {
        fact("may change", &visible(name));
    }
    for name in &command.keep {
        fact("keeping", &visible(name));
    }
    text
}

/// The lines of what a shell is given, or program and arguments with quotes where they need them.
fn command_line(command: &CommandSpec) -> Vec<String> {
    if let [shell, flag, script] = command.argv.as_slice()
        && matches!(shell.as_str(), "bash" | "sh")
        && flag == "-c"
    {
        return script.split('\n').map(visible).collect();
    }
    let words: Vec<String> = command.argv.iter().map(|word| quoted(word)).collect();
    words.join(" ").split('\n').map(visible).collect()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(argv: &[&str]) -> CommandSpec {
        CommandSpec {
            argv: argv.iter().map(ToString::to_string).collect(),
            working_dir: ".".into(),
            ..CommandSpec::default()
        }
    }

    #[test]
    fn all_of_a_command_is_shown() {
        insta::assert_snapshot!(describe_command(&command(&["bash", "-c", "cd a\nrm -r b\u{202e}"])), @r"
        $ cd a
        > rm -r b\u{202E}
        ");
        let whole = CommandSpec {
            working_dir: "sub".into(),
            env: [("A".to_owned(), "b c".to_owned())].into(),
            stdin: Some("yes\nno\n".into()),
            network: true,
            project: ProjectMode::Direct,
            run: RunMode::Job,
            writable: vec![".git".into()],
            keep: vec!["dist".into()],
            ..command(&["python3", "-c", "print('x')\nexit()", ""])
        };
        insta::assert_snapshot!(describe_command(&whole), @r"
        $ python3 -c 'print('\''x'\'')
        > exit()' ''
        in sub
        with A=b c
        input yes
        input no
        as a job that goes on
        with the network
        on the files themselves
        may change .git
        keeping dist
        ");
    }

    #[test]
    fn words_take_the_place_of_the_programs() {
        let shown = Some("Commit to main\n\n    Add a\u{202e}\n".to_owned());
        let writable = vec![".git".into()];
        let commit = CommandSpec { shown, writable, ..command(&["git", "commit-tree"]) };
        insta::assert_snapshot!(describe_command(&commit), @r"
        Commit to main

            Add a\u{202E}
        may change .git
        ");
    }
}
