//! The verdict on an action, and the sentence that explains it.

use jiff::Timestamp;
use protocol::visible;
use serde::Serialize;

use super::command::CommandReach;
use super::pattern::PathReach;
use super::rule::CompiledRule;
use super::{ApprovalMode, CommandMode, Decision, Effect, EffectKind, Policy, protection};

/// What is to be judged: a tool, the role that calls it, and its effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyAction<'a> {
    /// The tool, by its standard name.
    pub(crate) tool: &'a str,
    /// The name of the role that acts.
    pub(crate) role: &'a str,
    /// Everything that would happen.
    pub(crate) effects: &'a [Effect],
}

/// What a policy decides about an action, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyVerdict {
    /// What is to happen.
    pub decision: Decision,
    /// The id of the rule that decided, if one did; the first of several that allow together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, in one or two sentences.
    pub explanation: String,
    /// Whether it rests on the mode alone: no rule and nothing about the action led to it.
    #[serde(skip)]
    pub is_routine: bool,
}

/// What a decision rests on, with the effect that tipped the scales.
enum Ground<'a> {
    NoEffect,
    NotPlain(&'a Effect),
    Rule(&'a CompiledRule, &'a Effect),
    MaybeBeneath(&'a CompiledRule, &'a Effect),
    ReadOnly(&'a Effect),
    Protected(&'a Effect, &'static str),
    Link(&'a Effect),
    Refused(&'a Effect, &'a str),
    Network(&'a Effect),
    Unapproved(&'a Effect),
    Unnamed(&'a Effect),
    Doubt(&'a CompiledRule, &'a Effect, &'a str),
    Commands(&'a Effect),
    Covered(Vec<&'a CompiledRule>, &'a Effect),
    Mode(&'a Effect),
}

impl Policy {
    /// Judges `action` as of `now`. A rule that denies beats everything; then what is never done, the
    /// read-only mode, protected names and the network, rules that ask, commands that such a rule may
    /// have missed, rules that together allow every effect, and the mode.
    pub(crate) fn judge(&self, action: &PolicyAction<'_>, now: Timestamp) -> PolicyVerdict {
        let (decision, ground) = self.weigh(action, |rule| !rule.rule.is_expired(now));
        self.verdict(action, now, decision, &ground)
    }

    /// What is to be said against `action`; none if it is allowed, so that no words are made that no one reads.
    pub(crate) fn objection(
        &self,
        action: &PolicyAction<'_>,
        now: Timestamp,
    ) -> Option<PolicyVerdict> {
        let (decision, ground) = self.weigh(action, |rule| !rule.rule.is_expired(now));
        (decision != Decision::Allow).then(|| self.verdict(action, now, decision, &ground))
    }

    /// A decision with its reasons.
    fn verdict(
        &self,
        action: &PolicyAction<'_>,
        now: Timestamp,
        decision: Decision,
        ground: &Ground<'_>,
    ) -> PolicyVerdict {
        let mut explanation = self.explain(action, decision, ground);
        let mut is_routine = matches!(ground, Ground::Mode(_) | Ground::Commands(_));
        if let Some(rule) = self.expired_decider(action, now) {
            is_routine = false;
            let end = rule.rule.expires.map(|end| end.to_string()).unwrap_or_default();
            let id = &rule.id;
            explanation +=
                &format!(" Rule {id} ({}) would have decided, but expired {end}.", rule.rule);
        }
        let rule = ground.rules().first().map(|rule| rule.id.clone());
        PolicyVerdict { decision, rule, explanation, is_routine }
    }

    /// The decision about effects, without its reasons.
    pub(crate) fn decide(&self, tool: &str, role: &str, effects: &[Effect]) -> Decision {
        let action = PolicyAction { tool, role, effects };
        let now = Timestamp::now();
        self.weigh(&action, |rule| !rule.rule.is_expired(now)).0
    }

    /// The order of precedence, over the rules that are `live`.
    fn weigh<'a>(
        &'a self,
        action: &PolicyAction<'a>,
        live: impl Fn(&CompiledRule) -> bool,
    ) -> (Decision, Ground<'a>) {
        let effects = action.effects;
        let Some(first) = effects.first() else { return (Decision::Allow, Ground::NoEffect) };
        if let Some(effect) = effects.iter().find(|effect| !has_plain_path(effect)) {
            return (Decision::Deny, Ground::NotPlain(effect));
        }
        let concerns = |rule: &&CompiledRule| live(rule) && rule.concerns(action.tool, action.role);
        let rules: Vec<_> = self.rules.iter().filter(concerns).collect();
        if let Some((rule, effect)) = first_hit(&rules, effects, Decision::Deny) {
            return (Decision::Deny, Ground::Rule(rule, effect));
        }
        if let Some((effect, why)) = first_refusal(effects) {
            return (Decision::Deny, Ground::Refused(effect, why));
        }
        let writes = |effect: &&Effect| effect.kind.writes() && !effect.reaches_nothing();
        if self.mode == ApprovalMode::ReadOnly
            && let Some(effect) = effects.iter().find(writes)
        {
            return (Decision::Deny, Ground::ReadOnly(effect));
        }
        if let Some(ground) = always_asks(effects) {
            return (Decision::Ask, ground);
        }
        let is_unnamed = |effect: &&Effect| effect.web.as_ref().is_some_and(|web| web.unnamed);
        if self.asks_unnamed
            && let Some(effect) = effects.iter().find(is_unnamed)
        {
            return (Decision::Ask, Ground::Unnamed(effect));
        }
        if let Some((rule, effect)) = first_hit(&rules, effects, Decision::Ask) {
            return (Decision::Ask, Ground::Rule(rule, effect));
        }
        if let Some((rule, effect)) = first_possible(&rules, effects) {
            return (Decision::Ask, Ground::MaybeBeneath(rule, effect));
        }
        if let Some(rule) = rules.iter().find(|rule| rule.may_miss_commands())
            && let Some((effect, why)) = first_doubt(effects)
        {
            return (Decision::Ask, Ground::Doubt(rule, effect, why));
        }
        self.weigh_permissions(&rules, first, effects)
    }

    /// Each effect passes by a rule or by the mode, or else needs approval.
    fn weigh_permissions<'a>(
        &self,
        rules: &[&'a CompiledRule],
        first: &'a Effect,
        effects: &'a [Effect],
    ) -> (Decision, Ground<'a>) {
        let mut used: Vec<&CompiledRule> = Vec::new();
        for effect in effects {
            let allows = |rule: &&&CompiledRule| {
                rule.rule.decision == Decision::Allow && rule.covers(effect)
            };
            match rules.iter().find(allows) {
                Some(rule) if used.iter().any(|seen| seen.id == rule.id) => {}
                Some(rule) => used.push(rule),
                None if self.mode_passes(effect) => {}
                None if effect.reaches_nothing() => {
                    return (Decision::Ask, Ground::Commands(effect));
                }
                None => return (Decision::Ask, Ground::Mode(effect)),
            }
        }
        match used.is_empty() {
            true => (Decision::Allow, Ground::Mode(first)),
            false => (Decision::Allow, Ground::Covered(used, first)),
        }
    }

    fn mode_passes(&self, effect: &Effect) -> bool {
        if effect.reaches_nothing() {
            return self.commands == CommandMode::Run;
        }
        let adds =
            matches!(effect.kind, EffectKind::Create | EffectKind::MakeDir | EffectKind::Move);
        self.mode == ApprovalMode::Workspace && adds
    }

    /// The expired rule that would have been among the deciding ones, were it not expired.
    fn expired_decider<'a>(
        &'a self,
        action: &PolicyAction<'a>,
        now: Timestamp,
    ) -> Option<&'a CompiledRule> {
        if !self.rules.iter().any(|rule| rule.rule.is_expired(now)) {
            return None;
        }
        let (_, ground) = self.weigh(action, |_| true);
        ground.rules().into_iter().find(|rule| rule.rule.is_expired(now))
    }

    fn explain(
        &self,
        action: &PolicyAction<'_>,
        decision: Decision,
        ground: &Ground<'_>,
    ) -> String {
        let tool = action.tool;
        let outcome = match decision {
            Decision::Deny => "denied",
            Decision::Ask => "needs approval",
            Decision::Allow => "allowed",
        };
        match ground {
            Ground::NoEffect => format!("{tool} has no effect, so nothing needs approval."),
            Ground::NotPlain(effect) => format!(
                "{tool} {effect}: denied, because the path is not in plain form and no rule can be \
                 applied to it."
            ),
            Ground::Rule(rule, effect) => {
                format!("{tool} {effect}: {outcome} because of {}", described(rule))
            }
            Ground::MaybeBeneath(rule, effect) => format!(
                "{tool} {effect} with everything beneath: needs approval, because something in it may be covered by {}",
                described(rule)
            ),
            Ground::ReadOnly(effect) => format!(
                "{tool} {effect}: denied, because in the mode read-only nothing is changed."
            ),
            Ground::Protected(effect, reason) => format!(
                "{tool} {effect}: needs approval, because that path is protected ({reason}); no \
                 rule can allow it."
            ),
            Ground::Link(effect) => format!(
                "{tool} {effect}: needs approval, because later changes can land elsewhere \
                 through a link; no rule can allow it."
            ),
            Ground::Refused(effect, why) => {
                format!("{tool} {effect}: denied, because it {}.", visible(why))
            }
            Ground::Network(effect) => format!(
                "{tool} {effect}: needs approval, because it may reach the network; no rule can \
                 allow it."
            ),
            Ground::Unapproved(effect) => format!(
                "{tool} {effect}: needs approval, because what the server says about this tool is new or \
                 has changed; no rule can allow it."
            ),
            Ground::Unnamed(effect) => format!(
                "{tool} {effect}: needs approval, because the model made the address up \
                 (web.ask_unnamed)."
            ),
            Ground::Doubt(rule, effect, why) => format!(
                "{tool} {effect}: needs approval, because it is not fully understood ({}) and may be covered by {}",
                visible(why),
                described(rule)
            ),
            Ground::Commands(effect) => format!(
                "{tool} {effect}: needs approval, because every command is asked about \
                 (commands = \"ask\")."
            ),
            Ground::Covered(rules, effect) => {
                let subject = subject(action, effect);
                let others: Vec<_> = rules.iter().skip(1).map(|rule| rule.id.as_str()).collect();
                let together = match others.is_empty() {
                    true => String::new(),
                    false => format!(" Together with {}.", others.join(", ")),
                };
                format!("{subject}: allowed because of {}{together}", described(rules[0]))
            }
            Ground::Mode(effect) if action.effects.iter().all(Effect::reaches_nothing) => format!(
                "{}: allowed, because it runs on a copy without network; what it would leave behind \
                 is judged afterwards.",
                subject(action, effect)
            ),
            Ground::Mode(effect) if decision == Decision::Allow => format!(
                "{}: allowed, because in the mode {} new files, new directories and moves that \
                 replace nothing pass.",
                subject(action, effect),
                self.mode
            ),
            Ground::Mode(effect) => format!(
                "{tool} {effect}: needs approval: no rule allows it, and the mode is {}.",
                self.mode
            ),
        }
    }
}

impl<'a> Ground<'a> {
    fn rules(&self) -> Vec<&'a CompiledRule> {
        match self {
            Ground::Rule(rule, _) | Ground::MaybeBeneath(rule, _) | Ground::Doubt(rule, _, _) => {
                vec![rule]
            }
            Ground::Covered(rules, _) => rules.clone(),
            _ => Vec::new(),
        }
    }
}

/// The one effect in full, or how many there are.
fn subject(action: &PolicyAction<'_>, effect: &Effect) -> String {
    match action.effects.len() {
        1 => format!("{} {effect}", action.tool),
        2 => format!("{} {effect} and has one more effect", action.tool),
        many => format!("{} {effect} and has {} more effects", action.tool, many - 1),
    }
}

fn described(rule: &CompiledRule) -> String {
    let CompiledRule { rule, id, .. } = rule;
    let note = rule.note.as_ref().map(|note| format!(" Its note says \"{}\".", visible(note)));
    format!("rule {id} ({rule}) from {}.{}", rule.source, note.unwrap_or_default())
}

/// Rules see paths as text, so that only one spelling of each path may reach them.
fn has_plain_path(effect: &Effect) -> bool {
    let plain = |path: &str| path.split('/').all(|name| !matches!(name, "" | "." | ".."));
    effect.path.as_deref().is_none_or(plain)
}

fn always_asks(effects: &[Effect]) -> Option<Ground<'_>> {
    let named = effects.iter().find_map(|effect| {
        let reason = effect.path.as_deref().and_then(|path| protection(path, effect.tree));
        match reason {
            Some(reason) => Some(Ground::Protected(effect, reason)),
            None => (effect.kind == EffectKind::Link).then_some(Ground::Link(effect)),
        }
    });
    let reaches_network = |effect: &&Effect| {
        effect.run.as_ref().is_some_and(|run| run.reach == CommandReach::Network)
    };
    let is_unapproved =
        |effect: &&Effect| effect.foreign.as_ref().is_some_and(|foreign| foreign.is_unapproved);
    named
        .or_else(|| effects.iter().find(reaches_network).map(Ground::Network))
        .or_else(|| effects.iter().find(is_unapproved).map(Ground::Unapproved))
}

fn first_refusal(effects: &[Effect]) -> Option<(&Effect, &str)> {
    effects.iter().find_map(|effect| Some((effect, effect.run.as_ref()?.refusal.as_deref()?)))
}

fn first_doubt(effects: &[Effect]) -> Option<(&Effect, &str)> {
    effects.iter().find_map(|effect| Some((effect, effect.run.as_ref()?.doubt.as_deref()?)))
}

/// The first rule with this decision that is surely about one of the effects.
fn first_hit<'a>(
    rules: &[&'a CompiledRule],
    effects: &'a [Effect],
    decision: Decision,
) -> Option<(&'a CompiledRule, &'a Effect)> {
    let certain = |rule: &CompiledRule, effect: &Effect| {
        rule.hits(effect) || rule.reach(effect) == Some(PathReach::Named)
    };
    let mut decided = rules.iter().filter(|rule| rule.rule.decision == decision);
    decided.find_map(|rule| Some((*rule, effects.iter().find(|effect| certain(rule, effect))?)))
}

/// The first rule that narrows and may be about something in a directory that is moved whole.
fn first_possible<'a>(
    rules: &[&'a CompiledRule],
    effects: &'a [Effect],
) -> Option<(&'a CompiledRule, &'a Effect)> {
    let mut narrowing = rules.iter().filter(|rule| rule.rule.decision != Decision::Allow);
    narrowing
        .find_map(|rule| Some((*rule, effects.iter().find(|effect| rule.reach(effect).is_some())?)))
}
