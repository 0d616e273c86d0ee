//! What can be chosen: providers whose key is there, and servers that answer on this machine.

use std::time::Duration;

use futures_util::future::join_all;
use providers::catalogue::{ENDPOINTS, Endpoint, endpoint_at};
use providers::{probe_models, probe_ollama};

use super::selection::Selection;
use crate::chat::safe_text::one_line;
use crate::config::{Config, Keys};
use crate::environment::Environment;

/// How long a server may take to list its models.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Names that are shown of a server's models.
const SHOWN_MODELS: usize = 4;

/// What to do if nothing is found.
pub(super) const HOW_TO_GET_ONE: &str = "neither a key nor a server was found. Set a key \
    (export ANTHROPIC_API_KEY=…, OPENAI_API_KEY or OPENROUTER_API_KEY), or start Ollama, llama.cpp or \
    LM Studio";

/// Something that can be chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelOffer {
    pub(super) selection: Selection,
    /// The models that a server has; empty if the provider is not asked.
    pub(super) models: Vec<String>,
}

/// A server that was looked for.
#[derive(Debug)]
struct LocalServer {
    endpoint: &'static Endpoint,
    address: String,
    /// None if it does not answer.
    models: Option<Vec<String>>,
}

/// Everything that was looked for.
#[derive(Debug)]
pub(super) struct SetupFindings {
    /// Providers that have a key, with the place where it was found.
    keys: Vec<(&'static Endpoint, String)>,
    servers: Vec<LocalServer>,
    /// The variable that the configuration names for a key, which has to stay in it.
    key_env: Option<String>,
}

impl SetupFindings {
    /// Looks for keys and asks the servers of this machine.
    pub(super) async fn gather(environment: &Environment, config: &Config, keys: &Keys) -> Self {
        let mut with_key: Vec<(&'static Endpoint, String)> = Vec::new();
        for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.needs_key) {
            // Providers that share a variable are one offer.
            let is_listed =
                with_key.iter().any(|(known, _)| known.key_variable == endpoint.key_variable);
            if let Some(key) = keys.of(endpoint).filter(|_| !is_listed) {
                with_key.push((endpoint, key.source.clone()));
            }
        }
        let local = ENDPOINTS.iter().filter(|endpoint| endpoint.is_local());
        let servers = local.map(|endpoint| async move {
            let usual = environment.usual_base_url(endpoint.name).map(|found| found.value.clone());
            let address = usual.unwrap_or_else(|| endpoint.base_url.to_owned());
            let models = models_of(endpoint, &address).await;
            LocalServer { endpoint, address, models }
        });
        Self {
            keys: with_key,
            servers: join_all(servers).await,
            key_env: config.model.key_env.clone(),
        }
    }

    /// What can be chosen, the best first.
    pub(super) fn offers(&self) -> Vec<ModelOffer> {
        let selection = |endpoint: &Endpoint| Selection {
            provider: Some(endpoint.name.to_owned()),
            ..Selection::default()
        };
        let keys = self.keys.iter().map(|(endpoint, source)| ModelOffer {
            selection: Selection {
                key_env: self.key_env.clone().filter(|variable| variable == source),
                ..selection(endpoint)
            },
            models: Vec::new(),
        });
        let servers = self.usable().map(|(server, models)| ModelOffer {
            selection: selection(server.endpoint),
            models: models.to_vec(),
        });
        keys.chain(servers).collect()
    }

    fn usable(&self) -> impl Iterator<Item = (&LocalServer, &[String])> {
        let servers = self.servers.iter();
        let listed = servers.filter_map(|server| Some((server, server.models.as_deref()?)));
        listed.filter(|(_, models)| !models.is_empty())
    }

    /// What was found, numbered like [`offers`](Self::offers), and what was not.
    pub(super) fn shown(&self) -> String {
        let keys = self.keys.iter().map(|(endpoint, source)| {
            let model = endpoint.default_model.unwrap_or_default();
            format!("{}: the key is in {source}; {model} unless you name another", endpoint.name)
        });
        let servers = self.usable().map(|(server, models)| {
            format!(
                "{}: {} at {}",
                server.endpoint.name,
                some_of(models),
                one_line(&server.address)
            )
        });
        let rest = ["another server, by its address", "no model: the built-in guide answers"];
        let choices = keys.chain(servers).chain(rest.map(str::to_owned));
        let mut lines: Vec<String> =
            (1..).zip(choices).map(|(number, choice)| format!("  {number}) {choice}")).collect();
        let empty = self.servers.iter().filter(|server| server.models.as_deref() == Some(&[]));
        lines.extend(empty.map(|server| {
            format!(
                "{} answers at {} but has no model yet.",
                server.endpoint.name,
                one_line(&server.address)
            )
        }));
        let silent = self.servers.iter().filter(|server| server.models.is_none());
        let silent: Vec<String> = silent
            .map(|server| format!("{} ({})", server.endpoint.name, one_line(&server.address)))
            .collect();
        if !silent.is_empty() {
            lines.push(format!("No answer from {}.", silent.join(", ")));
        }
        if self.offers().is_empty() {
            lines.push(format!("So far {HOW_TO_GET_ONE}."));
        }
        lines.join("\n")
    }
}

/// The first models of a list.
pub(super) fn some_of(models: &[String]) -> String {
    let mut names: Vec<String> =
        models.iter().take(SHOWN_MODELS).map(|name| one_line(name)).collect();
    if models.len() > SHOWN_MODELS {
        names.push(format!("and {} more", models.len() - SHOWN_MODELS));
    }
    names.join(", ")
}

/// The models of the server at an address; none if it does not answer.
pub(super) async fn models_at(address: &str) -> Option<Vec<String>> {
    models_of(endpoint_at(address), address).await
}

async fn models_of(endpoint: &Endpoint, address: &str) -> Option<Vec<String>> {
    match endpoint.name {
        "ollama" => probe_ollama(address, PATIENCE).await,
        _ => probe_models(address, PATIENCE).await,
    }
}

#[cfg(test)]
mod tests {
    use providers::catalogue::endpoint;

    use super::*;

    fn findings(keys: &[&str], servers: &[(&str, Option<&[&str]>)]) -> SetupFindings {
        let known = |name: &str| endpoint(name).unwrap();
        let key = |name: &&str| (known(name), known(name).key_variable.unwrap().to_owned());
        let server = |(name, models): &(&str, Option<&[&str]>)| LocalServer {
            endpoint: known(name),
            address: known(name).base_url.to_owned(),
            models: models.map(|models| models.iter().map(ToString::to_string).collect()),
        };
        SetupFindings {
            keys: keys.iter().map(key).collect(),
            servers: servers.iter().map(server).collect(),
            key_env: None,
        }
    }

    #[test]
    fn what_was_found_is_shown_with_numbers_and_what_was_not_is_named() {
        let models: &[&str] = &["a", "b\u{1b}[2J", "c", "d", "e", "f"];
        let found = findings(
            &["anthropic", "openai"],
            &[("ollama", Some(models)), ("llamacpp", None), ("lmstudio", Some(&[]))],
        );
        insta::assert_snapshot!(found.shown(), @r"
          1) anthropic: the key is in ANTHROPIC_API_KEY; claude-sonnet-5-5 unless you name another
          2) openai: the key is in OPENAI_API_KEY; gpt-5.5 unless you name another
          3) ollama: a, b\x1B[2J, c, d, and 2 more at http://localhost:11434/v1
          4) another server, by its address
          5) no model: the built-in guide answers
        lmstudio answers at http://localhost:1234/v1 but has no model yet.
        No answer from llamacpp (http://localhost:8080/v1).
        ");
        let providers: Vec<_> =
            found.offers().into_iter().map(|offer| offer.selection.provider.unwrap()).collect();
        assert_eq!(providers, ["anthropic", "openai", "ollama"]);
        insta::assert_snapshot!(findings(&[], &[("ollama", None)]).shown(), @"
          1) another server, by its address
          2) no model: the built-in guide answers
        No answer from ollama (http://localhost:11434/v1).
        So far neither a key nor a server was found. Set a key (export ANTHROPIC_API_KEY=…, OPENAI_API_KEY or OPENROUTER_API_KEY), or start Ollama, llama.cpp or LM Studio.
        ");
    }

    #[test]
    fn a_variable_that_the_configuration_names_stays_with_its_provider() {
        let mut found = findings(&["anthropic", "openai"], &[]);
        found.keys[1].1 = "MY_KEY".into();
        found.key_env = Some("MY_KEY".into());
        let named: Vec<_> =
            found.offers().into_iter().map(|offer| offer.selection.key_env).collect();
        assert_eq!(named, [None, Some("MY_KEY".into())]);
    }

    #[tokio::test]
    async fn servers_are_asked_in_their_own_way() {
        let server = testkit::ModelServer::start([]).with_models(&["qwen3"]);
        let url = server.base_url();
        let expected = Some(vec!["qwen3".to_owned()]);
        for name in ["ollama", "llamacpp", "lmstudio"] {
            assert_eq!(models_of(endpoint(name).unwrap(), &url).await, expected, "{name}");
        }
    }
}
