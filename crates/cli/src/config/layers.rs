//! Values from several sources, laid over each other, each with where it came from.

use std::fmt;

use toml::Value;

use super::narrowing::{Narrowing, narrowed};
use super::schema::Schema;

/// Where a project keeps its configuration.
pub(crate) const PROJECT_FILE: &str = ".toolkiln/config.toml";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigSource {
    Default,
    UserFile {
        path: String,
        line: usize,
    },
    ProjectFile {
        line: usize,
    },
    /// A variable of the environment.
    Variable {
        name: &'static str,
    },
    /// An option of the command line.
    Flag {
        name: &'static str,
    },
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigSource::Default => f.write_str("default"),
            ConfigSource::UserFile { path, line } => write!(f, "{path}:{line}"),
            ConfigSource::ProjectFile { line } => write!(f, "{PROJECT_FILE}:{line}"),
            ConfigSource::Variable { name } | ConfigSource::Flag { name } => f.write_str(name),
        }
    }
}

/// A value that a source gives to a key.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) source: ConfigSource,
}

/// What one source says about a key.
#[derive(Debug)]
pub(crate) struct LayerValue {
    pub(crate) value: Value,
    pub(crate) source: ConfigSource,
    /// Whether it is part of the value in the end.
    pub(crate) counts: bool,
}

/// A key with its value and everything that was said about it, the last word last.
#[derive(Debug)]
pub(crate) struct LayeredSetting {
    pub(crate) key: String,
    pub(crate) value: Option<Value>,
    pub(crate) said: Vec<LayerValue>,
}

/// All keys, in the order in which they are declared.
#[derive(Debug)]
pub(crate) struct Layers {
    settings: Vec<LayeredSetting>,
}

/// What was said about one provider or model is not true of another: a layer that names another one
/// starts these keys anew. So nothing is sent to an address that was meant for another provider. A
/// name that ends with a dot stands for all keys in that section.
const BELONGS_TO: [(&str, &[&str]); 3] = [
    (
        "model.provider",
        &[
            "model.name",
            "model.base_url",
            "model.key_env",
            "model.max_tokens",
            "model.tools",
            "model.tool_list",
            "model.images",
            "model.context_tokens",
            "model.prices.",
        ],
    ),
    (
        "model.name",
        &[
            "model.max_tokens",
            "model.context_tokens",
            "model.tools",
            "model.tool_list",
            "model.images",
            "model.prices.",
        ],
    ),
    ("model.base_url", &["model.key_env"]),
];

impl Layers {
    /// The defaults.
    pub(super) fn new(schema: Schema) -> Self {
        let setting = |(key, default): (String, Option<Value>)| {
            let said = default.clone().map(|value| LayerValue {
                value,
                source: ConfigSource::Default,
                counts: true,
            });
            LayeredSetting { key, value: default, said: said.into_iter().collect() }
        };
        Self { settings: schema.into_keys().into_iter().map(setting).collect() }
    }

    pub(crate) fn settings(&self) -> &[LayeredSetting] {
        &self.settings
    }

    pub(crate) fn setting(&self, key: &str) -> Option<&LayeredSetting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// Lays values over those that are there.
    pub(super) fn lay(&mut self, layer: Vec<Given>) {
        for (owner, belongings) in BELONGS_TO {
            self.start_anew(owner, belongings, &layer);
        }
        for given in layer {
            if let Some(setting) = self.settings.iter_mut().find(|known| known.key == given.key) {
                setting.replace(given.value, given.source);
            }
        }
    }

    fn start_anew(&mut self, owner: &str, belongings: &[&str], layer: &[Given]) {
        let before = self.setting(owner).and_then(|setting| setting.value.as_ref());
        let named = layer.iter().find(|given| given.key == owner).map(|given| &given.value);
        if before.is_none() || named.is_none() || before == named {
            return;
        }
        for setting in &mut self.settings {
            let belongs = |name: &&str| match name.ends_with('.') {
                true => setting.key.starts_with(name),
                false => setting.key == *name,
            };
            if belongings.iter().any(belongs) {
                setting.reset();
            }
        }
    }

    /// Lets a project narrow a value.
    pub(super) fn narrow(&mut self, narrow: Narrowing, given: Given) {
        if let Some(setting) = self.settings.iter_mut().find(|known| known.key == given.key) {
            setting.narrow(narrow, given.value, given.source);
        }
    }
}

impl LayeredSetting {
    /// The sources that the value comes from; none if it has no value.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &ConfigSource> {
        self.said.iter().filter(|said| said.counts).map(|said| &said.source)
    }

    /// What was said in vain: it was replaced, did not belong to the model, or did not narrow.
    /// Replacing a default is nothing to talk about.
    pub(crate) fn overridden(&self) -> impl Iterator<Item = &LayerValue> {
        self.said.iter().filter(|said| !said.counts && said.source != ConfigSource::Default)
    }

    fn replace(&mut self, value: Value, source: ConfigSource) {
        self.said.iter_mut().for_each(|said| said.counts = false);
        self.value = Some(value.clone());
        self.said.push(LayerValue { value, source, counts: true });
    }

    fn narrow(&mut self, narrow: Narrowing, value: Value, source: ConfigSource) {
        let result = narrowed(narrow, self.value.as_ref(), &value);
        let counts = result.is_some();
        if let Some(result) = result {
            let joined = matches!(narrow, Narrowing::Add | Narrowing::AddRules);
            for said in &mut self.said {
                said.counts &= joined && said.source != ConfigSource::Default;
            }
            self.value = Some(result);
        }
        self.said.push(LayerValue { value, source, counts });
    }

    /// Forgets what was said, but for the default.
    fn reset(&mut self) {
        self.value = None;
        for said in &mut self.said {
            said.counts = said.source == ConfigSource::Default;
            if said.counts {
                self.value = Some(said.value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(name: &'static str, values: &[(&str, Value)]) -> Vec<Given> {
        let given = |(key, value): &(&str, Value)| Given {
            key: (*key).to_owned(),
            value: value.clone(),
            source: ConfigSource::Flag { name },
        };
        values.iter().map(given).collect()
    }

    /// A setting as `value from source, not: overridden`.
    fn told(layers: &Layers, key: &str) -> String {
        let setting = layers.setting(key).unwrap();
        let value = setting.value.as_ref().map_or("nothing".into(), Value::to_string);
        let list = |names: Vec<String>| names.join(" and ");
        let from = list(setting.sources().map(ConfigSource::to_string).collect());
        let not = list(setting.overridden().map(|said| said.source.to_string()).collect());
        format!("{value} from [{from}], not [{not}]")
    }

    #[test]
    fn the_last_word_counts_and_the_others_are_remembered() {
        let mut layers = Layers::new(Schema::new());
        assert_eq!(told(&layers, "agent.turn_limit"), "50 from [default], not []");
        layers.lay(by("first", &[("agent.turn_limit", 20.into())]));
        layers.lay(by("second", &[("agent.turn_limit", 30.into())]));
        assert_eq!(told(&layers, "agent.turn_limit"), "30 from [second], not [first]");
        assert_eq!(told(&layers, "model.name"), "nothing from [], not []");
    }

    #[test]
    fn a_project_narrows_or_is_not_heard() {
        let mut layers = Layers::new(Schema::new());
        let disabled = |name: &str| Value::from(vec![name]);
        layers.lay(by("user", &[("tools.disabled", disabled("grep"))]));
        let asked = [
            (Narrowing::Lower, "agent.turn_limit", 5.into()),
            (Narrowing::Lower, "limits.grep_results", 5000.into()),
            (Narrowing::Add, "tools.disabled", disabled("glob")),
        ];
        for (narrow, key, value) in asked {
            layers.narrow(narrow, by("project", &[(key, value)]).remove(0));
        }
        assert_eq!(told(&layers, "agent.turn_limit"), "5 from [project], not []");
        assert_eq!(told(&layers, "limits.grep_results"), "100 from [default], not [project]");
        assert_eq!(
            told(&layers, "tools.disabled"),
            "[\"grep\", \"glob\"] from [user and project], not []"
        );
    }

    #[test]
    fn another_provider_does_not_inherit_address_model_and_prices() {
        let file = [
            ("model.provider", "openai".into()),
            ("model.base_url", "http://localhost:1".into()),
            ("model.name", "small".into()),
            ("model.prices.input", 1.into()),
            ("model.effort", "low".into()),
        ];
        let told_after = |layer: &[(&str, Value)]| {
            let mut layers = Layers::new(Schema::new());
            layers.lay(by("file", &file));
            layers.lay(by("flag", layer));
            let keys = ["model.base_url", "model.name", "model.prices.input", "model.effort"];
            keys.map(|key| layers.setting(key).unwrap().value.as_ref().map(Value::to_string))
        };
        let url = || Some("\"http://localhost:1\"".to_owned());
        let effort = || Some("\"low\"".to_owned());
        let text = |text: &str| Some(format!("\"{text}\""));
        let price = || Some("1".to_owned());
        assert_eq!(
            told_after(&[("model.provider", "anthropic".into())]),
            [None, None, None, effort()]
        );
        assert_eq!(
            told_after(&[("model.provider", "openai".into())]),
            [url(), text("small"), price(), effort()]
        );
        assert_eq!(
            told_after(&[("model.name", "large".into())]),
            [url(), text("large"), None, effort()]
        );
        assert_eq!(
            told_after(&[("model.provider", "anthropic".into()), ("model.name", "c".into())]),
            [None, text("c"), None, effort()]
        );
    }
}
