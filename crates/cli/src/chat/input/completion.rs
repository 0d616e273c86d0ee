//! What Tab offers: commands after a slash, files after an `@`.

use super::FindFiles;
use crate::chat::slash_commands::{OfferedCommand, offered};
use crate::user_commands::UserCommands;
use terminal::{mention_can_begin, mention_of};

/// More candidates than this are not helpful.
const MOST_CANDIDATES: usize = 200;

/// Something that can be inserted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompletionCandidate {
    /// How it is listed.
    pub(super) shown: String,
    /// What stands in the line afterwards.
    pub(super) inserted: String,
}

/// Offers commands and files.
pub(super) struct Completion {
    find_files: FindFiles,
    commands: Vec<OfferedCommand>,
}

/// The unfinished word before the cursor.
#[derive(Debug, PartialEq, Eq)]
enum TypedWord<'a> {
    Command(&'a str),
    File { start: usize, typed: &'a str },
}

impl Completion {
    pub(super) fn new(find_files: FindFiles) -> Self {
        Self { find_files, commands: offered(&UserCommands::default()) }
    }

    /// What may follow the command that stands in the line.
    pub(super) fn usage_hint(&self, line: &str) -> Option<String> {
        let typed = line.strip_prefix('/')?;
        let command = self.commands.iter().find(|command| typed.trim_end() == command.name)?;
        let usage = command.argument_usage();
        let usage = if typed.ends_with(' ') { usage.trim_start() } else { usage };
        (!usage.is_empty()).then(|| usage.to_owned())
    }

    /// What could stand in the line from the returned position to the cursor.
    pub(super) fn candidates(
        &self,
        line: &str,
        cursor: usize,
    ) -> (usize, Vec<CompletionCandidate>) {
        match word_before(&line[..cursor]) {
            None => (cursor, Vec::new()),
            Some(TypedWord::Command(typed)) => (0, commands(typed, &self.commands)),
            Some(TypedWord::File { start, typed }) => {
                let files = (self.find_files)(typed).into_iter().take(MOST_CANDIDATES);
                let candidate =
                    |path: String| CompletionCandidate { inserted: mention_of(&path), shown: path };
                (start, files.map(candidate).collect())
            }
        }
    }
}

fn word_before(text: &str) -> Option<TypedWord<'_>> {
    if let Some(typed) = text.strip_prefix('/')
        && !typed.contains(char::is_whitespace)
    {
        return Some(TypedWord::Command(typed));
    }
    let begins = |start: &usize| mention_can_begin(&text[..*start]);
    let start = text.match_indices('@').map(|(at, _)| at).rfind(begins)?;
    let typed = &text[start + 1..];
    match typed.strip_prefix('"') {
        Some(quoted) => {
            (!quoted.contains(['"', '\n'])).then_some(TypedWord::File { start, typed: quoted })
        }
        None => (!typed.contains(char::is_whitespace)).then_some(TypedWord::File { start, typed }),
    }
}

fn commands(typed: &str, offered: &[OfferedCommand]) -> Vec<CompletionCandidate> {
    let matching: Vec<&OfferedCommand> =
        offered.iter().filter(|command| command.name.starts_with(typed)).collect();
    let width = matching.iter().map(|command| command.usage.len()).max().unwrap_or(0);
    let candidate = |command: &&OfferedCommand| CompletionCandidate {
        shown: format!("{:width$}  {}", command.usage, command.about),
        inserted: match command.argument_usage() {
            "" => format!("/{}", command.name),
            _ => format!("/{} ", command.name),
        },
    };
    matching.iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        Completion::new(Box::new(|typed: &str| {
            let files = ["src/main.rs", "src/my file.rs", "README.md"];
            files.iter().filter(|file| file.starts_with(typed)).map(|file| (*file).into()).collect()
        }))
    }

    fn inserted(line: &str) -> (usize, Vec<String>) {
        let (start, candidates) = completion().candidates(line, line.len());
        (start, candidates.into_iter().map(|candidate| candidate.inserted).collect())
    }

    #[test]
    fn commands_and_files_are_offered_where_they_can_stand() {
        let table: [(&str, usize, &[&str]); 8] = [
            ("/mo", 0, &["/model "]),
            ("/re", 0, &["/redo", "/resume ", "/rename "]),
            ("/model x", 8, &[]),
            ("see @src/ma", 4, &["@src/main.rs"]),
            ("@src/my", 0, &["@\"src/my file.rs\""]),
            ("@\"src/my f", 0, &["@\"src/my file.rs\""]),
            ("me@src", 6, &[]),
            ("@src/main.rs and", 16, &[]),
        ];
        for (line, start, expected) in table {
            assert_eq!(
                inserted(line),
                (start, expected.iter().map(|s| (*s).to_owned()).collect()),
                "{line}"
            );
        }
        let (_, described) = completion().candidates("/und", 4);
        assert_eq!(described[0].shown, "/undo [CHANGE]  take back the last change");
    }

    #[test]
    fn a_hint_tells_what_may_follow() {
        let table = [
            ("/model", Some(" [NAME]")),
            ("/model ", Some("[NAME]")),
            ("/model x", None),
            ("/help", None),
            ("model", None),
        ];
        for (line, expected) in table {
            assert_eq!(completion().usage_hint(line).as_deref(), expected, "{line}");
        }
    }
}
