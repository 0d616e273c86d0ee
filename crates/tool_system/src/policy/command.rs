//! Command lines, taken apart so that rules can match each program in them.
//!
//! [`CommandLine::parse`] finds every simple command of a shell text: in pipelines, lists, bodies,
//! substitutions, and behind programs that run others. This is a convenience for rules that deny
//! commands or ask first, and for explanations. Nothing depends on it for safety: what a command can
//! reach is decided by how it is run, and a text that is not understood runs no differently.

mod analysis;
mod danger;
mod environment;
mod git;
mod pattern;
mod syntax;
mod word;
mod wrapper;

use std::fmt;
use std::ops::Range;

use protocol::CommandSpec;

pub use analysis::{AnalysedCommand, CommandReach};
pub use pattern::CommandPattern;
pub use word::{CommandWord, WordKind};

pub(super) use analysis::effects_of_command;
pub(super) use pattern::fits_example;

/// How often a command may run a command that runs a command.
const MAX_WRAPPERS: usize = 8;
/// Commands of one line that are looked at.
const MAX_COMMANDS: usize = 1_000;
/// Characters of a text that an explanation shows.
const EXCERPT_CHARS: usize = 60;

/// A variable that is set for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: CommandWord,
}

/// A file that the shell opens for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the file is written.
    pub writes: bool,
    /// The file or the number of a descriptor.
    pub target: CommandWord,
    /// As it was written.
    pub text: String,
}

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Where it stands in the text that was parsed; what stands in quotes has the range of the
    /// command that runs it.
    pub range: Range<usize>,
    /// Variables set for it.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments. Empty if there is only a redirection.
    pub words: Vec<CommandWord>,
    /// The files that the shell opens for it.
    pub redirects: Vec<Redirect>,
    /// The text that it gets as its input, if the line says so.
    pub input: Option<CommandWord>,
    /// Whether it only runs commands that are listed as well.
    pub transparent: bool,
}

/// A shell text, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Every simple command, outer ones before those in them.
    pub commands: Vec<SimpleCommand>,
    /// Why it is not fully understood; empty if it is.
    pub doubts: Vec<String>,
    /// Whether it starts itself over and over.
    pub multiplies: bool,
}

impl SimpleCommand {
    fn at(range: Range<usize>) -> Self {
        Self {
            range,
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            input: None,
            transparent: false,
        }
    }

    /// A command of these words, at the place of this one.
    fn within(&self, words: Vec<CommandWord>) -> Self {
        let SimpleCommand { assignments, input, .. } = self.clone();
        Self { words, assignments, input, ..Self::at(self.range.clone()) }
    }

    /// The program as it is called, if that is known.
    pub fn called(&self) -> Option<&str> {
        self.words.first()?.as_plain()
    }

    /// The name of the program, without the directory it lies in.
    pub fn program(&self) -> Option<&str> {
        self.called().map(|called| called.rsplit('/').next().unwrap_or(called))
    }

    /// The words after the program.
    pub fn args(&self) -> &[CommandWord] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether one of the arguments is exactly one of these.
    fn has(&self, wanted: &[&str]) -> bool {
        self.args().iter().any(|arg| wanted.contains(&arg.text.as_str()))
    }
}

/// The command as it could be typed, without what is only quoting.
impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let assignments = self.assignments.iter().map(|set| format!("{}={}", set.name, set.value));
        let redirects = self.redirects.iter().map(|redirect| redirect.text.clone());
        let words = self.words.iter().map(CommandWord::to_string);
        let parts: Vec<_> = assignments.chain(words).chain(redirects).collect();
        f.write_str(&parts.join(" "))
    }
}

impl CommandLine {
    /// Takes a shell text apart. Never fails: what is not understood is a doubt.
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        line.add_script(text, None, 0);
        line
    }

    /// Takes apart what a specification would run.
    pub fn of(spec: &CommandSpec) -> Self {
        let mut line = Self::default();
        let words = spec.argv.iter().map(CommandWord::plain).collect();
        let input = spec.stdin.as_ref().map(CommandWord::plain);
        let command = SimpleCommand { words, input, ..SimpleCommand::at(0..0) };
        match wrapper::shell_script(&command) {
            // The tool's own shell is not judged.
            Some(wrapper::Inner::Script(text)) => line.add_script(&text, None, 0),
            _ => line.add(command, 0),
        }
        for name in spec.env.keys().filter(|name| environment::is_suspicious(name)) {
            line.doubt(format!("it sets {name}, which changes what commands mean"));
        }
        line
    }

    /// Whether all of it is understood.
    pub fn is_understood(&self) -> bool {
        self.doubts.is_empty()
    }

    /// Adds the commands of a text, which stands at the place `within` if it is part of another.
    fn add_script(&mut self, text: &str, within: Option<&Range<usize>>, depth: usize) {
        let script = syntax::read(text);
        for doubt in script.doubts {
            self.doubt(doubt);
        }
        self.multiplies |= danger::is_fork_bomb(text);
        for mut command in script.commands {
            if let Some(range) = within {
                command.range = range.clone();
            }
            self.add(command, depth);
        }
    }

    /// Adds a command and whatever it runs.
    fn add(&mut self, mut command: SimpleCommand, depth: usize) {
        if self.commands.len() >= MAX_COMMANDS {
            return self.doubt("it holds too many commands".to_owned());
        }
        if depth > MAX_WRAPPERS {
            self.doubt("its commands are nested too deeply".to_owned());
            self.commands.push(command);
            return;
        }
        for set in &command.assignments {
            if environment::is_suspicious(&set.name) {
                self.doubt(format!("it sets {}, which changes what commands mean", set.name));
            }
        }
        if let Some(word) = command.words.first()
            && (word.kind != WordKind::Plain || word.text.is_empty())
        {
            self.doubt(format!(
                "which program `{}` is, is only known when it runs",
                excerpt(&word.text)
            ));
        }
        if let Some(why) = wrapper::sets_variables(&command) {
            self.doubt(why);
        }
        let inner = wrapper::look_through(&command);
        command.transparent = !matches!(inner, wrapper::Inner::Nothing | wrapper::Inner::Doubt(_));
        let range = command.range.clone();
        self.commands.push(command);
        match inner {
            wrapper::Inner::Nothing => {}
            wrapper::Inner::Doubt(why) => self.doubt(why),
            wrapper::Inner::Script(text) => self.add_script(&text, Some(&range), depth + 1),
            wrapper::Inner::Commands(commands) => {
                for inner in commands {
                    self.add(inner, depth + 1);
                }
            }
        }
    }

    fn doubt(&mut self, why: String) {
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }
}

/// The beginning of a text on one line.
fn excerpt(text: &str) -> String {
    let line = text.split('\n').next().unwrap_or_default();
    let short: String = line.chars().take(EXCERPT_CHARS).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod verdict_tests;
