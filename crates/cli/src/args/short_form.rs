//! `toolkiln "PROMPT"`: a message in place of a command. At a terminal it opens a conversation, elsewhere
//! it is worked on as by `toolkiln run`.
//!
//! A single word is taken for a mistyped command, because a typing error must not be sent to a model.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

use super::{Arguments, Command};
use crate::commands::run::RunArgs;

/// A name is suggested if so much of it is typed right, transposed letters counting as one mistake …
const SIMILAR: f64 = 0.6;
/// … or if it begins like the word.
const BEGINS_ALIKE: f64 = 0.85;

/// The command that a command line asks for. `words` begin with the name of the program.
pub(super) fn command_of(words: Vec<OsString>, is_terminal: bool) -> Result<Command, Error> {
    let mut program = Arguments::command();
    // This comes before parsing: options after a mistyped command would be named as the mistake.
    let is_print = |word: &OsString| word == "-p" || word == "--print";
    let first = words.get(1).map(|word| word.to_string_lossy());
    if let Some(first) = first
        && !first.starts_with('-')
        && !is_command(&program, &first)
        && !is_message(&first)
        && !words.iter().any(is_print)
    {
        let rest = words.iter().skip(1).map(|word| word.to_string_lossy());
        let line: Vec<_> = rest.take_while(|word| !word.starts_with('-')).collect();
        return Err(unrecognized(&mut program, &first, &line.join(" ")));
    }
    let mut rest = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    // A command that comes first is where it belongs; what conflicts are its own options.
    let misplaced = rest.position(|word| is_command(&program, &word)).filter(|place| *place > 0);
    let misplaced = misplaced.and_then(|place| words.get(place + 1));
    let misplaced = misplaced.map(|word| word.to_string_lossy().into_owned());
    let mut matches = program.try_get_matches_from_mut(words).map_err(|error| {
        // `--root . run "fix it"`: the parser would take the message for the command.
        match misplaced.filter(|_| error.kind() == ErrorKind::ArgumentConflict) {
            Some(word) => unrecognized(&mut Arguments::command(), &word, &word),
            None => error,
        }
    })?;
    let Arguments { command, mut chat, print, continue_last } =
        Arguments::from_arg_matches_mut(&mut matches)?;
    if continue_last {
        // An empty name means the last one.
        chat.resume = Some(String::new());
    }
    match (command, &chat.prompt) {
        (Some(command), _) => Ok(command),
        (None, Some(word)) if !print && !is_message(word) => {
            Err(unrecognized(&mut program, word, word))
        }
        (None, Some(prompt)) if print || !is_terminal => Ok(Command::Run(RunArgs {
            prompt: prompt.clone(),
            json: false,
            resume: chat.resume,
            attach: chat.attach,
            scope: chat.scope,
            approval: chat.approval,
            model: chat.model,
        })),
        (None, _) => Ok(Command::Chat(chat)),
    }
}

fn is_command(program: &clap::Command, word: &str) -> bool {
    word == "help" || program.find_subcommand(word).is_some()
}

fn is_message(text: &str) -> bool {
    text.trim().contains(char::is_whitespace)
}

/// The error for a word that is neither a command nor a message. `line` is the word with those that
/// follow it.
fn unrecognized(program: &mut clap::Command, word: &str, line: &str) -> Error {
    let tip = match closest(program, word) {
        _ if word.trim().is_empty() => "a message to a model is not empty".to_owned(),
        _ if is_command(program, word) => {
            format!("a command comes before all options: toolkiln {word} …")
        }
        Some(meant) => format!("did you mean '{meant}'?"),
        None if line != word => format!("a message is one argument, in quotes: toolkiln '{line}'"),
        None => format!("a message of one word needs -p: toolkiln -p '{word}'"),
    };
    let mut error = Error::new(ErrorKind::InvalidSubcommand);
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word.to_owned()));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(program.render_usage()));
    error.with_cmd(program)
}

fn closest<'a>(program: &'a clap::Command, word: &str) -> Option<&'a str> {
    let word = word.to_lowercase();
    let names = program.get_subcommands().map(clap::Command::get_name);
    let scored = names.map(|name| {
        let right = strsim::normalized_damerau_levenshtein(&word, name);
        (right, right >= SIMILAR || strsim::jaro_winkler(&word, name) >= BEGINS_ALIKE, name)
    });
    let alike = scored.filter(|(_, is_alike, _)| *is_alike);
    alike.max_by(|(left, ..), (right, ..)| left.total_cmp(right)).map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(session: Option<String>) -> String {
        session.map(|session| format!(" on {session:?}")).unwrap_or_default()
    }

    /// What a command line asks for, in short.
    fn asked(line: &[&str], is_terminal: bool) -> String {
        let words = ["toolkiln"].iter().chain(line).map(OsString::from).collect();
        match command_of(words, is_terminal) {
            Ok(Command::Chat(chat)) => {
                format!("chat {:?}{}", chat.prompt.unwrap_or_default(), on(chat.resume))
            }
            Ok(Command::Run(run)) => format!("run {:?}{}", run.prompt, on(run.resume)),
            Ok(other) => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
            Err(error) => {
                let text = error.render().to_string();
                let told = text.lines().take_while(|line| !line.starts_with("Usage"));
                told.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
            }
        }
    }

    #[test]
    fn a_message_is_told_apart_from_a_command_and_a_typing_error() {
        let table: &[(&[&str], &str, &str)] = &[
            (&[], r#"chat """#, r#"chat """#),
            (&["fix the bug"], r#"chat "fix the bug""#, r#"run "fix the bug""#),
            (&["fix the bug", "--yes"], r#"chat "fix the bug""#, r#"run "fix the bug""#),
            (&["--yes", "fix the bug"], r#"chat "fix the bug""#, r#"run "fix the bug""#),
            (&["run these tests"], r#"chat "run these tests""#, r#"run "run these tests""#),
            (&["-p", "fix it"], r#"run "fix it""#, r#"run "fix it""#),
            (&["-p", "explain"], r#"run "explain""#, r#"run "explain""#),
            (&["explain", "--print"], r#"run "explain""#, r#"run "explain""#),
            (&["-p", "run"], r#"run "run""#, r#"run "run""#),
            (&["run", "explain"], r#"run "explain""#, r#"run "explain""#),
            (&["chat", "explain"], r#"chat "explain""#, r#"chat "explain""#),
            (&["doctor"], "Doctor", "Doctor"),
            (&["-c"], r#"chat "" on """#, r#"chat "" on """#),
            (&["--continue", "go on now"], r#"chat "go on now" on """#, r#"run "go on now" on """#),
            (&["resume"], "Resume", "Resume"),
            (&["resume", "3f9a"], "Resume", "Resume"),
        ];
        for (line, at_terminal, elsewhere) in table {
            assert_eq!(asked(line, true), *at_terminal, "{line:?}");
            assert_eq!(asked(line, false), *elsewhere, "{line:?}");
        }
    }

    #[test]
    fn a_word_that_is_neither_is_answered_with_what_was_meant() {
        let lines: &[&[&str]] = &[
            &["rnu"],
            &["rnu", "fix the bug", "--json"],
            &["Doctro"],
            &["hist"],
            &["session", "list"],
            &["--yes", "rnu"],
            &["--root", ".", "run"],
            &["--root", ".", "run", "fix it"],
            &["--provider", "offline", "sessions", "list"],
            &["explain"],
            &["explain", "the", "parser"],
            &[""],
            &["  "],
        ];
        let told: Vec<_> = lines.iter().map(|line| asked(line, true)).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        error: unrecognized subcommand 'rnu'; tip: did you mean 'run'?
        error: unrecognized subcommand 'rnu'; tip: did you mean 'run'?
        error: unrecognized subcommand 'Doctro'; tip: did you mean 'doctor'?
        error: unrecognized subcommand 'hist'; tip: did you mean 'history'?
        error: unrecognized subcommand 'session'; tip: did you mean 'sessions'?
        error: unrecognized subcommand 'rnu'; tip: did you mean 'run'?
        error: unrecognized subcommand 'run'; tip: a command comes before all options: toolkiln run …
        error: unrecognized subcommand 'run'; tip: a command comes before all options: toolkiln run …
        error: unrecognized subcommand 'sessions'; tip: a command comes before all options: toolkiln sessions …
        error: unrecognized subcommand 'explain'; tip: a message of one word needs -p: toolkiln -p 'explain'
        error: unrecognized subcommand 'explain'; tip: a message is one argument, in quotes: toolkiln 'explain the parser'
        error: unrecognized subcommand ''; tip: a message to a model is not empty
        error: unrecognized subcommand '  '; tip: a message to a model is not empty
        ");
    }

    proptest::proptest! {
        #[test]
        fn no_single_word_reaches_a_model_by_accident(word in "[a-z0-9_./@!?]{1,12}") {
            let command = command_of(vec!["toolkiln".into(), word.clone().into()], false);
            proptest::prop_assert!(!matches!(command, Ok(Command::Run(_))), "{word}");
        }
    }
}
