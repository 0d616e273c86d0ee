//! Patterns on commands: which programs with which arguments a rule is about.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Assignment, CommandLine, CommandWord, SimpleCommand, WordKind, environment, git::Git};
use crate::policy::InvalidPattern;

/// A pattern on simple commands, such as `cargo test*`, written as the command would be typed.
///
/// Words are compared one by one, without their quotes. A `*` at the end stands for whatever
/// follows: behind a space for any further arguments, behind a word for its rest as well. Everything
/// else is taken literally. `*` alone is every command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandPattern {
    written: String,
    assignments: Vec<Assignment>,
    words: Vec<CommandWord>,
    tail: Tail,
}

/// What may follow the words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tail {
    Nothing,
    /// Any words.
    Words,
    /// A word that begins so, and any words.
    Rest(String),
}

impl CommandPattern {
    /// Checks the pattern.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidPattern> {
        let written = text.into();
        let wrong = |problem: &str| Err(InvalidPattern::new(&written, problem));
        let trimmed = written.trim();
        if trimmed.is_empty() {
            return wrong("a command pattern cannot be empty; `*` matches every command");
        }
        if trimmed == "*" {
            return Ok(Self {
                written,
                assignments: Vec::new(),
                words: Vec::new(),
                tail: Tail::Words,
            });
        }
        let line = super::syntax::read(trimmed);
        let [command] = line.commands.as_slice() else {
            return wrong(
                "a command pattern is one program with its arguments; write one for each",
            );
        };
        if !command.redirects.is_empty() || command.input.is_some() {
            return wrong("redirections are judged separately and cannot be part of a pattern");
        }
        if !line.doubts.is_empty() {
            return wrong("it is not a simple command");
        }
        let SimpleCommand { assignments, mut words, .. } = command.clone();
        let tail = take_tail(&mut words);
        let first = words.first();
        if first.is_none_or(|word| word.kind != WordKind::Plain) {
            return wrong("the program has to be named in full; `ls *` is ls with any arguments");
        }
        if words.iter().any(|word| word.kind == WordKind::Opaque) {
            return wrong("variables and substitutions cannot be part of a pattern");
        }
        Ok(Self { written, assignments, words, tail })
    }

    /// Exactly this command and no other; `None` if no pattern can say so.
    pub(in crate::policy) fn exactly(command: &SimpleCommand) -> Option<Self> {
        let plain = SimpleCommand { redirects: Vec::new(), input: None, ..command.clone() };
        let pattern = Self::new(plain.to_string()).ok()?;
        let same = pattern.words == plain.words
            && pattern.assignments == plain.assignments
            && pattern.tail == Tail::Nothing;
        same.then_some(pattern)
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether a rule that allows by this pattern allows `command`: to the letter.
    pub(in crate::policy) fn allows(&self, command: &SimpleCommand) -> bool {
        let named = |set: &Assignment| {
            self.assignments.contains(set) || environment::is_indifferent(&set.name)
        };
        command.assignments.iter().all(named)
            && self.assignments.iter().all(|set| command.assignments.contains(set))
            && self.fits(&command.words)
    }

    /// Whether a rule that narrows by this pattern is about `command`: under any name, wherever the
    /// program lies and whatever stands before its subcommand.
    pub(in crate::policy) fn concerns(&self, command: &SimpleCommand) -> bool {
        let mut words = command.words.clone();
        if let (Some(first), Some(program)) = (words.first_mut(), command.program()) {
            program.clone_into(&mut first.text);
        }
        if self.fits(&words) || self.fits(&command.words) {
            return true;
        }
        let Ok(Some(git)) = Git::of(command) else { return false };
        let bare = [CommandWord::plain("git"), CommandWord::plain(git.subcommand)];
        self.fits(&bare.into_iter().chain(git.args.iter().cloned()).collect::<Vec<_>>())
    }

    fn fits(&self, words: &[CommandWord]) -> bool {
        let Some((head, rest)) = words.split_at_checked(self.words.len()) else { return false };
        let known = |(own, word): (&CommandWord, &CommandWord)| {
            own == word && word.kind != WordKind::Opaque
        };
        let same = self.words.iter().zip(head).all(known);
        same && match &self.tail {
            Tail::Nothing => rest.is_empty(),
            Tail::Words => true,
            Tail::Rest(start) => rest
                .first()
                .is_some_and(|word| word.kind != WordKind::Opaque && word.text.starts_with(start)),
        }
    }
}

/// Takes what ends in a star off the words.
fn take_tail(words: &mut Vec<CommandWord>) -> Tail {
    let star = |word: &&mut CommandWord| word.kind == WordKind::Pattern && word.text.ends_with('*');
    let Some(last) = words.last_mut().filter(star) else { return Tail::Nothing };
    let start = last.text[..last.text.len() - 1].to_owned();
    let rest = start.contains(['*', '?', '[', '{']) || start.starts_with('~');
    if rest {
        // Only the last star is a sign of its own; the word before it is kept as it is.
        return Tail::Nothing;
    }
    words.pop();
    if start.is_empty() { Tail::Words } else { Tail::Rest(start) }
}

/// Whether an example of a rule is one that the rule is about.
pub(in crate::policy) fn fits_example(
    patterns: &[CommandPattern],
    example: &str,
    allows: bool,
) -> bool {
    let line = CommandLine::parse(example);
    let mut judged = line.commands.iter().filter(|command| !command.transparent);
    if allows {
        let allowed = |command| patterns.iter().any(|pattern| pattern.allows(command));
        line.is_understood() && !line.commands.is_empty() && judged.all(allowed)
    } else {
        line.commands.iter().any(|command| patterns.iter().any(|pattern| pattern.concerns(command)))
    }
}

impl TryFrom<String> for CommandPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        Self::new(text)
    }
}

impl From<CommandPattern> for String {
    fn from(pattern: CommandPattern) -> String {
        pattern.written
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> SimpleCommand {
        CommandLine::parse(text).commands.swap_remove(0)
    }

    #[test]
    fn words_are_compared_one_by_one_and_a_star_takes_the_rest() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "cargo test*",
                &["cargo test", "cargo test --release", "cargo  'test' x", "RUST_LOG=1 cargo test"],
                &["cargo", "cargo build", "./cargo test", "FOO=1 cargo test", "cargo $x"],
            ),
            ("cargo test *", &["cargo test", "cargo test a b", "cargo test $X"], &["cargo tests"]),
            ("git status", &["git status", "git 'status'"], &["git status -s", "git"]),
            ("npm run test:*", &["npm run test:unit"], &["npm run test", "npm run build"]),
            ("FOO=1 make", &["FOO=1 make"], &["make", "FOO=2 make", "FOO=1 BAR=1 make"]),
            ("eslint src/*.ts x", &["eslint src/*.ts x"], &["eslint 'src/*.ts' x"]),
            ("echo 'a b'", &["echo \"a b\"", r"echo a' 'b"], &["echo a b"]),
            ("*", &["anything at all"], &[]),
        ];
        for (text, yes, no) in cases {
            let pattern = CommandPattern::new(*text).unwrap();
            for command in *yes {
                assert!(pattern.allows(&one(command)), "{text} should allow {command}");
            }
            for command in *no {
                assert!(!pattern.allows(&one(command)), "{text} should not allow {command}");
            }
        }
    }

    #[test]
    fn a_rule_that_narrows_sees_through_other_spellings() {
        let cases = [
            ("rm *", "/bin/rm -rf x"),
            ("git push*", "git -C sub -c color.ui=never push origin"),
            ("git push*", "FOO=1 git push"),
        ];
        for (text, command) in cases {
            assert!(CommandPattern::new(text).unwrap().concerns(&one(command)), "{command}");
        }
    }

    #[test]
    fn patterns_that_are_no_simple_command_are_refused() {
        for wrong in ["", " ", "ls*", "ls | wc", "a; b", "$X", "ls > x", "echo $X", "(", "*x"] {
            assert!(CommandPattern::new(wrong).is_err(), "{wrong}");
        }
        let error = CommandPattern::new("ls*").unwrap_err().to_string();
        assert_eq!(
            error,
            "`ls*`: the program has to be named in full; `ls *` is ls with any arguments"
        );
    }

    #[test]
    fn an_exact_pattern_is_made_only_where_it_is_exact() {
        let exact = |text: &str| CommandPattern::exactly(&one(text)).map(|it| it.to_string());
        assert_eq!(exact("cargo  test 'a b'").as_deref(), Some("cargo test 'a b'"));
        assert_eq!(exact("echo '*'").as_deref(), Some("echo '*'"));
        assert_eq!(exact("ls *"), None);
        assert_eq!(exact("make $X"), None);
    }
}
