//! What a command line does, as effects that a policy can judge.

use protocol::{CommandSpec, ProjectMode, RunMode};
use serde::{Deserialize, Serialize};

use super::wrapper::{Inner, shell_script};
use super::{CommandLine, CommandPattern, CommandWord, SimpleCommand, danger};
use crate::policy::{Effect, EffectKind};

/// What is known about a command that would be run. It belongs to an [`Effect`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalysedCommand {
    /// The command as rules see it.
    #[serde(skip, default = "nothing")]
    command: SimpleCommand,
    /// What it can reach, whatever its text says.
    pub reach: CommandReach,
    /// Why it is not done at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why rules about commands may not recognise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// What a command can reach. This is how it would be run, not what its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandReach {
    /// Nothing: it works on a copy, or sees the project without being able to write.
    Nothing,
    /// Files of the project.
    Files,
    Network,
}

fn nothing() -> SimpleCommand {
    SimpleCommand::at(0..0)
}

impl CommandReach {
    fn of(spec: &CommandSpec) -> CommandReach {
        match spec.project {
            _ if spec.network => CommandReach::Network,
            ProjectMode::Direct => CommandReach::Files,
            ProjectMode::Live if !spec.writable.is_empty() => CommandReach::Files,
            ProjectMode::Live | ProjectMode::Copy | ProjectMode::Look => CommandReach::Nothing,
        }
    }
}

impl AnalysedCommand {
    /// Whether a rule that allows by one of these patterns allows it.
    pub(in crate::policy) fn is_allowed_by(&self, patterns: &[CommandPattern]) -> bool {
        patterns.iter().any(|pattern| pattern.allows(&self.command))
    }

    /// Whether a rule that narrows by one of these patterns is about it.
    pub(in crate::policy) fn is_meant_by(&self, patterns: &[CommandPattern]) -> bool {
        patterns.iter().any(|pattern| pattern.concerns(&self.command))
    }

    /// The pattern that remembers exactly this command; `None` if no pattern can say all of it.
    pub(in crate::policy) fn memory(&self) -> Option<CommandPattern> {
        let SimpleCommand { redirects, input, .. } = &self.command;
        let is_plain = self.refusal.is_none()
            && self.doubt.is_none()
            && self.reach != CommandReach::Network
            && redirects.is_empty()
            && input.is_none();
        if is_plain { CommandPattern::exactly(&self.command) } else { None }
    }
}

/// One effect for each simple command, and one for the line as a whole if it is not understood.
pub(in crate::policy) fn effects_of_command(spec: &CommandSpec) -> Vec<Effect> {
    if let RunMode::Stop(_) = &spec.run {
        // Ending what was allowed to begin does nothing new.
        return Vec::new();
    }
    let reach = CommandReach::of(spec);
    let run = |command: &SimpleCommand| AnalysedCommand {
        command: command.clone(),
        reach,
        refusal: None,
        doubt: None,
    };
    if let Some(shown) = &spec.shown {
        // Toolkiln wrote it, so there is nothing to find out; it is asked about by what it does.
        let title = shown.lines().next().unwrap_or_default();
        return vec![Effect::run(title, run(&nothing()))];
    }
    let line = CommandLine::of(spec);
    let each = line.commands.iter().map(|command| Effect::run(command.to_string(), run(command)));
    let mut effects: Vec<_> = each.collect();
    let refusal = danger::refusal(&line);
    let doubt = (!line.is_understood()).then(|| line.doubts.join("; "));
    if refusal.is_some() || doubt.is_some() || effects.is_empty() {
        let whole = AnalysedCommand { refusal, doubt, ..run(&nothing()) };
        effects.push(Effect::run(shown(spec), whole));
    }
    effects
}

/// The line as it was given: the text of a shell, or the words.
fn shown(spec: &CommandSpec) -> String {
    let words: Vec<_> = spec.argv.iter().map(CommandWord::plain).collect();
    let command = SimpleCommand { words, ..nothing() };
    match shell_script(&command) {
        Some(Inner::Script(text)) => text,
        _ => command.to_string(),
    }
}

impl Effect {
    /// A program is run.
    fn run(text: impl Into<String>, run: AnalysedCommand) -> Self {
        Self { run: Some(Box::new(run)), ..Self::outside(EffectKind::Run, text) }
    }

    /// Whether nothing can differ afterwards.
    pub(in crate::policy) fn reaches_nothing(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.reach == CommandReach::Nothing)
    }
}
