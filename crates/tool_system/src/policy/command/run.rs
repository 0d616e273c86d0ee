//! What a command line does, as effects that a policy can judge.

use protocol::{CommandSpec, RunMode};
use serde::{Deserialize, Serialize};

use super::danger::{FORK_BOMB, danger_of};
use super::read_only::only_looks;
use super::target::Scene;
use super::wrapper::{Inner, shell_script};
use super::{CommandLine, CommandPattern, Danger, SimpleCommand, TreeFacts, Weight, Word, ruin};
use crate::policy::{Effect, EffectKind};

/// What is known about a command that would be run. It belongs to an [`Effect`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The command as rules see it.
    #[serde(skip, default = "nothing")]
    command: SimpleCommand,
    /// Whether it only looks, so that it passes in every mode.
    pub only_looks: bool,
    /// What could go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub danger: Option<Danger>,
    /// Why it is not fully understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

fn nothing() -> SimpleCommand {
    SimpleCommand::at(0..0)
}

impl Run {
    /// Whether a rule that allows by one of these patterns allows it.
    pub(in crate::policy) fn is_allowed_by(&self, patterns: &[CommandPattern]) -> bool {
        patterns.iter().any(|pattern| pattern.allows(&self.command))
    }

    /// Whether a rule that names exactly this command allows it, danger and all.
    pub(in crate::policy) fn is_named_by(&self, patterns: &[CommandPattern]) -> bool {
        patterns.iter().any(|pattern| pattern.is_exact() && pattern.allows(&self.command))
    }

    /// Whether a rule that narrows by one of these patterns is about it.
    pub(in crate::policy) fn is_meant_by(&self, patterns: &[CommandPattern]) -> bool {
        patterns.iter().any(|pattern| pattern.concerns(&self.command))
    }

    /// The pattern that remembers exactly this command; `None` if it must be asked each time.
    pub(in crate::policy) fn memory(&self) -> Option<CommandPattern> {
        let asked_each_time = self.danger.is_some()
            || self.doubt.is_some()
            || self.command.written().next().is_some();
        if asked_each_time { None } else { CommandPattern::exactly(&self.command) }
    }
}

/// One effect for each simple command; one for the line as a whole if it is not understood.
pub(in crate::policy) fn effects_of_command(spec: &CommandSpec, facts: &TreeFacts) -> Vec<Effect> {
    if let RunMode::Stop(job) = &spec.run {
        // Ending what was allowed to begin does nothing new.
        let run = Run { command: nothing(), only_looks: true, danger: None, doubt: None };
        return vec![Effect::run(format!("the end of job {job}"), run)];
    }
    if let Some(shown) = &spec.shown {
        // Toolkiln wrote it, so there is nothing to find out; it is asked about by what it does.
        let title = shown.lines().next().unwrap_or_default();
        let danger = network_danger(spec);
        let run = Run { command: nothing(), only_looks: false, danger, doubt: None };
        return vec![Effect::run(title, run)];
    }
    let line = CommandLine::of(spec);
    let scene = Scene::new(&line, &spec.working_dir, facts);
    let mut effects: Vec<_> = line.commands.iter().map(|command| effect(command, &scene)).collect();
    let danger = whole_danger(&line, spec);
    let doubt = (!line.is_understood()).then(|| line.doubts.join("; "));
    // A line without commands, such as a bare test, is an effect too: one that only looks.
    let only_looks = danger.is_none() && doubt.is_none();
    if !only_looks || effects.is_empty() {
        let run = Run { command: nothing(), only_looks, danger, doubt };
        effects.push(Effect::run(shown(spec), run));
    }
    effects
}

/// Whether what is known about the tree would change the effects of this command.
pub(in crate::policy) fn needs_facts(spec: &CommandSpec) -> bool {
    if spec.shown.is_some() {
        return false;
    }
    let line = CommandLine::of(spec);
    let clean = TreeFacts::from_porcelain("");
    let unknown = TreeFacts::default();
    let removes = |command: &SimpleCommand| matches!(command.program(), Some("rm" | "unlink"));
    line.commands.iter().any(|command| {
        let loss = |facts| ruin::loss(command, &Scene::new(&line, &spec.working_dir, facts));
        removes(command) || loss(&clean) != loss(&unknown)
    })
}

fn effect(command: &SimpleCommand, scene: &Scene<'_>) -> Effect {
    let danger = danger_of(command, scene);
    // What only runs others is judged by them, unless the shell writes for it.
    let writes_itself = matches!(command.program(), Some("find" | "gfind" | "flock"));
    let quiet = command.transparent && !writes_itself && command.written().next().is_none();
    let only_looks = danger.is_none() && (quiet || only_looks(command, scene));
    let run = Run { command: command.clone(), only_looks, danger, doubt: None };
    Effect::run(command.to_string(), run)
}

/// What is dangerous about the line as a whole.
fn whole_danger(line: &CommandLine, spec: &CommandSpec) -> Option<Danger> {
    if line.multiplies {
        return Danger::refused(FORK_BOMB);
    }
    network_danger(spec)
}

fn network_danger(spec: &CommandSpec) -> Option<Danger> {
    spec.network
        .then(|| Danger { weight: Weight::AlwaysAsked, reason: "may reach the network".to_owned() })
}

/// The line as it was given: the text of a shell, or the words.
fn shown(spec: &CommandSpec) -> String {
    let words: Vec<_> = spec.argv.iter().map(Word::plain).collect();
    let command = SimpleCommand { words, ..nothing() };
    match shell_script(&command) {
        Some(Inner::Script(text)) => text,
        _ => command.to_string(),
    }
}

impl Effect {
    /// A program is run.
    pub(super) fn run(text: impl Into<String>, run: Run) -> Self {
        Self { run: Some(Box::new(run)), ..Self::outside(EffectKind::Run, text) }
    }

    /// Whether nothing can differ afterwards.
    pub(in crate::policy) fn only_looks(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.only_looks)
    }

    /// What could go wrong.
    pub(in crate::policy) fn danger(&self) -> Option<&Danger> {
        self.run.as_ref()?.danger.as_ref()
    }

    /// Why it is not fully understood.
    pub(in crate::policy) fn doubt(&self) -> Option<&str> {
        self.run.as_ref()?.doubt.as_deref()
    }
}
