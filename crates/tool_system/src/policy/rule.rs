//! One rule: a decision, what it is about, and how long it holds.

use std::fmt;

use globset::GlobSet;
use jiff::Timestamp;
use protocol::ContentHash;
use serde::{Deserialize, Serialize};

use super::command::fits_example;
use super::pattern::{CaseOf, PathReach, compile};
use super::{CommandPattern, Decision, Effect, PathPattern, ToolPattern, expiry};

/// Hexadecimal digits of a rule's id: short enough to type, long enough to tell rules apart.
const ID_DIGITS: usize = 8;

/// Where a rule comes from.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// The user's configuration.
    #[default]
    #[strum(to_string = "your configuration")]
    User,
    /// The command line of this run.
    #[strum(to_string = "the command line or /allow")]
    CommandLine,
    /// The project's own configuration, which can only narrow.
    #[strum(to_string = "the project's configuration")]
    Project,
    /// An answer that the user asked to be remembered.
    #[strum(to_string = "a remembered answer")]
    Remembered,
}

/// A decision about some tools, paths and roles. In TOML it is a table of `[[policy.rules]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it decides.
    pub decision: Decision,
    /// The tools it is about, by their standard names.
    #[serde(default = "ToolPattern::any")]
    pub tool: ToolPattern,
    /// The paths it is about. Without any, it is about every effect of the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathPattern>,
    /// The commands it is about, each judged by itself. With these and without paths, the rule is
    /// about commands only.
    #[serde(default, with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<CommandPattern>,
    /// The definition of a foreign tool that it is about. With another one it is about nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<ContentHash>,
    /// The roles it is about; all of them if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// From when on it no longer counts.
    #[serde(default, with = "expiry", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Why it exists; part of explanations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Paths or commands that it must match, checked by the self-test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Paths or commands that it must not match, checked by the self-test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    /// Where it comes from. A file cannot set this itself.
    #[serde(skip)]
    pub source: RuleSource,
}

impl RuleSource {
    /// The source in words, to follow "from".
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Rule {
    /// A rule about everything; the fields say what differs.
    pub fn new(decision: Decision, source: RuleSource) -> Self {
        Self {
            decision,
            tool: ToolPattern::any(),
            paths: Vec::new(),
            command: Vec::new(),
            definition: None,
            roles: Vec::new(),
            expires: None,
            note: None,
            matches: Vec::new(),
            never: Vec::new(),
            source,
        }
    }

    /// The name of the rule for listing and revoking: a short hash of what it decides, about what,
    /// until when and by whom. Notes and examples may change without changing it.
    pub fn id(&self) -> String {
        let content = Rule { note: None, matches: Vec::new(), never: Vec::new(), ..self.clone() };
        // Plain data that cannot fail to serialise.
        let bytes = serde_json::to_vec(&(self.source, content)).unwrap_or_default();
        let mut id = ContentHash::of(&bytes).to_string();
        id.truncate(ID_DIGITS);
        id
    }

    /// Whether the rule has ended.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// The rule in a few words: `allow edit_lines on src/**`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.decision, self.tool)?;
        for (index, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if index == 0 { " on " } else { ", " })?;
        }
        for (index, command) in self.command.iter().enumerate() {
            write!(f, "{}`{command}`", if index == 0 { " of " } else { ", " })?;
        }
        if self.definition.is_some() {
            write!(f, " as it is defined now")?;
        }
        if !self.roles.is_empty() {
            write!(f, " for {}", self.roles.join(", "))?;
        }
        Ok(())
    }
}

/// A rule with its matchers. A matcher that could not be built is `None`, and the rule then errs on
/// the narrow side.
#[derive(Clone, Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    pub(super) id: String,
    tool: Option<GlobSet>,
    paths: Option<GlobSet>,
}

/// Stands for whatever may lie somewhere beneath a directory; no file is called so.
const ANYTHING_BENEATH: &str = "\u{1}/\u{1}";

impl CompiledRule {
    pub(super) fn new(rule: Rule) -> Self {
        let case = match rule.decision {
            Decision::Allow => CaseOf::Pattern,
            Decision::Ask | Decision::Deny => CaseOf::None,
        };
        let (tool, paths) = (rule.tool.compile(), compile(&rule.paths, case));
        Self { id: rule.id(), rule, tool, paths }
    }

    /// Whether the rule is about this tool and role.
    pub(super) fn concerns(&self, tool: &str, role: &str) -> bool {
        let roles = &self.rule.roles;
        let tool_matches = match &self.tool {
            Some(set) => set.is_match(tool),
            None => self.narrows(),
        };
        tool_matches && (roles.is_empty() || roles.iter().any(|name| name == role))
    }

    /// Whether the rule's patterns match `path`.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        match &self.paths {
            _ if self.rule.paths.is_empty() => true,
            Some(set) => set.is_match(path),
            None => self.narrows(),
        }
    }

    /// Whether the rule is about this effect itself.
    pub(super) fn hits(&self, effect: &Effect) -> bool {
        let Rule { paths, command: patterns, .. } = &self.rule;
        match (&effect.path, &effect.run) {
            _ if self.rule.definition.is_some() => {
                effect.foreign.as_ref().map(|foreign| foreign.definition) == self.rule.definition
            }
            _ if paths.is_empty() && patterns.is_empty() => true,
            (Some(path), _) => !paths.is_empty() && self.matches_path(path),
            (None, Some(run)) if self.narrows() => run.is_meant_by(patterns),
            (None, Some(run)) => run.is_allowed_by(patterns),
            (None, None) => false,
        }
    }

    /// Whether the rule is about single commands and narrows, so that a line that is not understood
    /// may be a matter for it.
    pub(super) fn may_miss_commands(&self) -> bool {
        self.narrows() && !self.rule.command.is_empty()
    }

    /// Whether an example of the rule is one that it is about.
    pub(super) fn matches_example(&self, example: &str) -> bool {
        let Rule { paths, command: patterns, .. } = &self.rule;
        let as_command = || fits_example(patterns, example, !self.narrows());
        match patterns.is_empty() {
            true => self.matches_path(example),
            false => as_command() || (!paths.is_empty() && self.matches_path(example)),
        }
    }

    /// Whether the rule may be about something beneath the directory that the effect is on.
    pub(super) fn reach(&self, effect: &Effect) -> Option<PathReach> {
        let path = effect.path.as_deref().filter(|_| effect.tree)?;
        self.rule.paths.iter().filter_map(|pattern| pattern.reach(path)).max()
    }

    /// Whether the rule, if it allows, allows all of this effect.
    pub(super) fn covers(&self, effect: &Effect) -> bool {
        let remembered = self.rule.source == RuleSource::Remembered;
        // "Always" said to an edit does not hold for a deletion by the same tool.
        let is_grave = effect.kind.is_grave()
            || effect.foreign.as_ref().is_some_and(|foreign| foreign.is_destructive);
        if remembered && is_grave {
            return false;
        }
        let beneath = |path: &str| self.matches_path(&format!("{path}/{ANYTHING_BENEATH}"));
        let whole = !effect.tree || effect.path.as_deref().is_some_and(beneath);
        self.hits(effect) && whole
    }

    fn narrows(&self) -> bool {
        self.rule.decision != Decision::Allow
    }
}

/// A list that may be written as its only element.
mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::CommandPattern;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(String),
        Many(Vec<String>),
    }

    pub(super) fn serialize<S: Serializer>(
        patterns: &[CommandPattern],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        patterns.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<CommandPattern>, D::Error> {
        let wrong = |_| serde::de::Error::custom("command is a pattern or a list of patterns");
        let texts = match Written::deserialize(deserializer).map_err(wrong)? {
            Written::One(text) => vec![text],
            Written::Many(texts) => texts,
        };
        let patterns = texts.into_iter().map(CommandPattern::new);
        patterns.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }
}
