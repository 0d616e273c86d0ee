//! Which provider and which model, from what was asked for and what is there.

use super::endpoint::{COMPATIBLE, ENDPOINTS, Endpoint, OFFLINE, endpoint};
use super::model::model_info;
use crate::Api;

/// Which model the command line or the configuration asks for. All of it may be left open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSelection {
    /// The name of a provider.
    pub provider: Option<String>,
    /// The name of a model.
    pub model: Option<String>,
    /// The address of a server.
    pub base_url: Option<String>,
}

/// What is available on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The variables, or entries of the key file under the same names, that hold a key.
    pub keys: Vec<String>,
    /// The models that Ollama has on this machine; none if it does not answer.
    pub ollama: Option<Vec<String>>,
}

/// The model that is going to answer, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A model behind HTTP.
    Model {
        /// The provider that offers it.
        endpoint: &'static Endpoint,
        /// Its name.
        model: String,
        /// Where it is found.
        base_url: String,
        /// Why, in one line for the user.
        why: String,
    },
    /// No model at all.
    Offline {
        /// Why, in one line for the user.
        why: String,
    },
}

/// What was asked for cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// There is no such provider.
    #[error("there is no provider called `{name}`; known are {known}", known = names())]
    UnknownProvider {
        /// As it was given.
        name: String,
    },
    /// The provider answers only with a key.
    #[error("{provider} needs a key, and {variable} is not set")]
    NoKey {
        /// Its name.
        provider: &'static str,
        /// Where a key is looked for.
        variable: &'static str,
    },
    /// The provider has no default model.
    #[error("{provider} offers many models; say which one with --model or in the configuration")]
    NoModel {
        /// Its name.
        provider: &'static str,
    },
    /// No known provider offers the model.
    #[error(
        "no known provider offers the model `{model}`; choose one with --provider or --base-url"
    )]
    UnknownModel {
        /// As it was given.
        model: String,
    },
}

fn names() -> String {
    let names = ENDPOINTS.iter().map(|endpoint| endpoint.name).chain([OFFLINE]);
    names.collect::<Vec<_>>().join(", ")
}

/// Chooses. The command line counts before the configuration, and what was asked for before what
/// happens to be there.
pub fn choose(
    flags: &ModelSelection,
    config: &ModelSelection,
    facts: &MachineFacts,
) -> Result<Choice, ChoiceError> {
    let wanted = merged(flags, config);
    if let Some(name) = &wanted.provider {
        if name == OFFLINE {
            return Ok(Choice::Offline { why: "it was asked for".into() });
        }
        let found = endpoint(name);
        let found = found.ok_or_else(|| ChoiceError::UnknownProvider { name: name.clone() })?;
        return model_of(found, &wanted, facts, "it was asked for".into());
    }
    if let Some(url) = &wanted.base_url {
        let found = endpoint_at(url);
        return model_of(found, &wanted, facts, format!("{url} was asked for"));
    }
    if let Some(model) = &wanted.model {
        let found = endpoint_of(model, facts);
        let found = found.ok_or_else(|| ChoiceError::UnknownModel { model: model.clone() })?;
        return model_of(found, &wanted, facts, format!("it offers {model}"));
    }
    for endpoint in ENDPOINTS {
        if endpoint.key_variable.is_some_and(|variable| facts.has(variable)) {
            // The key may be in a file.
            let why = format!("there is a key for {}", endpoint.name);
            return model_of(endpoint, &wanted, facts, why);
        }
    }
    match (endpoint("ollama"), &facts.ollama) {
        (Some(ollama), Some(models)) if !models.is_empty() => {
            model_of(ollama, &wanted, facts, "it answers on this machine".into())
        }
        _ => Ok(Choice::Offline { why: "no key is set, and no Ollama answers".into() }),
    }
}

/// A model or an address of the configuration belongs to its provider: if the command line names
/// another one, they do not count.
fn merged(flags: &ModelSelection, config: &ModelSelection) -> ModelSelection {
    let elsewhere = flags.base_url.is_some()
        || flags.provider.is_some()
            && config.provider.is_some()
            && flags.provider != config.provider;
    if elsewhere {
        return flags.clone();
    }
    let or = |first: &Option<String>, second: &Option<String>| first.clone().or(second.clone());
    ModelSelection {
        provider: or(&flags.provider, &config.provider),
        model: or(&flags.model, &config.model),
        base_url: or(&flags.base_url, &config.base_url),
    }
}

fn model_of(
    endpoint: &'static Endpoint,
    wanted: &ModelSelection,
    facts: &MachineFacts,
    why: String,
) -> Result<Choice, ChoiceError> {
    // Another address may belong to a proxy that has the key.
    if let Some(variable) = endpoint.key_variable
        && wanted.base_url.is_none()
        && !facts.has(variable)
    {
        return Err(ChoiceError::NoKey { provider: endpoint.name, variable });
    }
    let loaded = facts.ollama.as_ref().filter(|_| endpoint.name == "ollama");
    let model = wanted.model.clone().or_else(|| loaded?.first().cloned());
    let model = model.or_else(|| endpoint.default_model.map(str::to_owned));
    let model = model.ok_or(ChoiceError::NoModel { provider: endpoint.name })?;
    let base_url = wanted.base_url.clone().unwrap_or_else(|| endpoint.base_url.to_owned());
    Ok(Choice::Model { endpoint, model, base_url, why })
}

/// The provider at an address; [`COMPATIBLE`] if it is none that is known.
pub fn endpoint_at(url: &str) -> &'static Endpoint {
    let host = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default().replace("127.0.0.1", "localhost")
    };
    let same = |endpoint: &&Endpoint| host(endpoint.base_url) == host(url);
    ENDPOINTS.iter().find(same).unwrap_or(&COMPATIBLE)
}

/// Who offers a model, as far as its name tells.
fn endpoint_of(model: &str, facts: &MachineFacts) -> Option<&'static Endpoint> {
    let loaded = facts
        .ollama
        .iter()
        .flatten()
        .any(|name| name == model || name.strip_suffix(":latest") == Some(model));
    if loaded {
        return endpoint("ollama");
    }
    if model.contains('/') && facts.has("OPENROUTER_API_KEY") {
        return endpoint("openrouter");
    }
    match model_info(model).api? {
        Api::Anthropic => endpoint("anthropic"),
        Api::OpenAiResponses | Api::OpenAiChat => endpoint("openai"),
    }
}

impl MachineFacts {
    fn has(&self, variable: &str) -> bool {
        self.keys.iter().any(|key| key == variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `provider model url` with `-` for what is left open.
    fn wanted(text: &str) -> ModelSelection {
        let mut words = text
            .split(' ')
            .map(|word| (word != "-").then(|| word.to_owned()))
            .chain([None, None, None]);
        let mut next = || words.next().flatten().filter(|word| !word.is_empty());
        ModelSelection { provider: next(), model: next(), base_url: next() }
    }

    fn chosen(flags: &str, config: &str, keys: &[&str], ollama: Option<&[&str]>) -> String {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let facts = MachineFacts { keys: owned(keys), ollama: ollama.map(owned) };
        match choose(&wanted(flags), &wanted(config), &facts) {
            Ok(Choice::Model { endpoint, model, base_url, why }) => {
                let own =
                    if base_url == endpoint.base_url { "" } else { &format!(" at {base_url}") };
                format!("{} {model}{own}: {why}", endpoint.name)
            }
            Ok(Choice::Offline { why }) => format!("offline: {why}"),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn what_is_there_decides_if_nothing_is_asked_for() {
        let (a, o, r) = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY");
        type Names<'a> = &'a [&'a str];
        let cases: [(Names<'_>, Option<Names<'_>>, &str); 7] = [
            (&[o, a], None, "anthropic claude-sonnet-5-5: there is a key for anthropic"),
            (&[o, r], Some(&["q"]), "openai gpt-5.5: there is a key for openai"),
            (&[r], None, "openrouter openrouter/auto: there is a key for openrouter"),
            (&[], Some(&["qwen3:8b", "x"]), "ollama qwen3:8b: it answers on this machine"),
            (&[], Some(&[]), "offline: no key is set, and no Ollama answers"),
            (&[], None, "offline: no key is set, and no Ollama answers"),
            (&["SOMETHING_ELSE"], None, "offline: no key is set, and no Ollama answers"),
        ];
        for (keys, ollama, expected) in cases {
            assert_eq!(chosen("", "", keys, ollama), expected, "{keys:?} {ollama:?}");
        }
    }

    #[test]
    fn what_is_asked_for_counts_first() {
        let all: &[&str] = &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"];
        let ollama: Option<&[&str]> = Some(&["qwen3:8b", "llama3:latest"]);
        let asked = "it was asked for";
        let cases = [
            ("openai", "", format!("openai gpt-5.5: {asked}")),
            ("openai gpt-6-sol", "", format!("openai gpt-6-sol: {asked}")),
            ("ollama", "", format!("ollama qwen3:8b: {asked}")),
            ("offline", "openai", format!("offline: {asked}")),
            ("", "openai gpt-6-sol", format!("openai gpt-6-sol: {asked}")),
            ("- m", "openai gpt-6-sol", format!("openai m: {asked}")),
            ("anthropic", "openai gpt-6-sol", format!("anthropic claude-sonnet-5-5: {asked}")),
            ("anthropic", "- claude-opus-5", format!("anthropic claude-opus-5: {asked}")),
            ("- claude-opus-5", "", "anthropic claude-opus-5: it offers claude-opus-5".into()),
            ("- o3", "", "openai o3: it offers o3".into()),
            ("- llama3", "", "ollama llama3: it offers llama3".into()),
            ("- meta/llama", "", "openrouter meta/llama: it offers meta/llama".into()),
            (
                "- m http://h:1",
                "openai",
                "compatible m at http://h:1: http://h:1 was asked for".into(),
            ),
            (
                "- m http://127.0.0.1:11434",
                "",
                "ollama m at http://127.0.0.1:11434: http://127.0.0.1:11434 was asked for".into(),
            ),
            ("anthropic m http://h", "", format!("anthropic m at http://h: {asked}")),
        ];
        for (flags, config, expected) in cases {
            assert_eq!(chosen(flags, config, all, ollama), expected, "{flags:?} {config:?}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let cases = [
            (
                "nowhere",
                "there is no provider called `nowhere`; known are anthropic, openai, openai-chat, openrouter, ollama, llamacpp, vllm, lmstudio, offline",
            ),
            ("anthropic", "anthropic needs a key, and ANTHROPIC_API_KEY is not set"),
            ("- claude-opus-5", "anthropic needs a key, and ANTHROPIC_API_KEY is not set"),
            (
                "llamacpp",
                "llamacpp offers many models; say which one with --model or in the configuration",
            ),
            (
                "- qwen3",
                "no known provider offers the model `qwen3`; choose one with --provider or --base-url",
            ),
        ];
        for (flags, expected) in cases {
            assert_eq!(chosen(flags, "", &[], None), format!("error: {expected}"));
        }
    }
}
