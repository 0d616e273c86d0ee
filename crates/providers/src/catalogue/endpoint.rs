//! The providers that are known by name, and what is known about each.

use std::net::IpAddr;

use context_manager::Deferral;
use net::Network;

use crate::{Api, HttpConfig, Quirks, Secret, Timeouts};

/// The name of the provider that needs neither network nor model.
pub const OFFLINE: &str = "offline";

/// A provider of models, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The name in configuration and on the command line.
    pub name: &'static str,
    /// The format of its requests and answers.
    pub api: Api,
    /// Where it is found, if nothing else is said.
    pub base_url: &'static str,
    /// The environment variable that usually holds the key.
    pub key_variable: Option<&'static str>,
    /// The environment variable that usually holds another address.
    pub url_variable: Option<&'static str>,
    /// Whether it answers only with a key.
    pub needs_key: bool,
    /// The model, if nothing else is said. Servers on one's own machine have whatever was loaded.
    pub default_model: Option<&'static str>,
    /// How models there learn of tools that are not listed. What is served at another address may
    /// know none of it.
    pub deferral: Deferral,
}

/// All that have a name of their own, in the order in which they are looked for.
pub static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
        url_variable: Some("ANTHROPIC_BASE_URL"),
        needs_key: true,
        default_model: Some("claude-sonnet-5-5"),
        deferral: Deferral::Native,
    },
    Endpoint {
        name: "openai",
        api: Api::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        url_variable: Some("OPENAI_BASE_URL"),
        needs_key: true,
        default_model: Some("gpt-5.5"),
        deferral: Deferral::Native,
    },
    Endpoint {
        name: "openai-chat",
        api: Api::OpenAiChat,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        url_variable: Some("OPENAI_BASE_URL"),
        needs_key: true,
        default_model: Some("gpt-5.5"),
        deferral: Deferral::Append,
    },
    Endpoint {
        name: "openrouter",
        api: Api::OpenAiChat,
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        url_variable: None,
        needs_key: true,
        default_model: Some("openrouter/auto"),
        deferral: Deferral::Append,
    },
    Endpoint { url_variable: Some("OLLAMA_HOST"), ..local("ollama", "http://localhost:11434/v1") },
    local("llamacpp", "http://localhost:8080/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("lmstudio", "http://localhost:1234/v1"),
];

/// Any other server that talks like OpenAI's Chat Completions, at an address that has to be given.
///
/// Its key has a variable of its own: no other provider's key goes to a server that is known by its
/// address alone.
pub static COMPATIBLE: Endpoint = Endpoint {
    key_variable: Some("TOOLKILN_API_KEY"),
    deferral: Deferral::ListAll,
    ..local("compatible", "")
};

const fn local(name: &'static str, base_url: &'static str) -> Endpoint {
    Endpoint {
        name,
        api: Api::OpenAiChat,
        base_url,
        key_variable: None,
        url_variable: None,
        needs_key: false,
        default_model: None,
        deferral: Deferral::Append,
    }
}

/// The one with this name.
pub fn endpoint(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}

impl Endpoint {
    /// How it differs from others that talk the same way.
    pub fn quirks(&self) -> Quirks {
        let compatible = Quirks::compatible();
        match self.name {
            "openai" | "openai-chat" => Quirks::openai(),
            "openrouter" => Quirks {
                reasoning_effort: true,
                usage_on_request: true,
                reasoning_details: true,
                ..compatible
            },
            // Models that were not trained for calls write them into their text.
            "ollama" => Quirks {
                reasoning_effort: true,
                usage_on_request: true,
                calls_as_text: true,
                ..compatible
            },
            "lmstudio" => Quirks { usage_on_request: true, calls_as_text: true, ..compatible },
            "llamacpp" => Quirks {
                usage_on_request: true,
                returned_reasoning: Some("reasoning_content".into()),
                ..compatible
            },
            "vllm" => Quirks { usage_on_request: true, ..compatible },
            _ => compatible,
        }
    }

    /// Whether it runs on one's own machine, where a model is loaded when it is first asked.
    pub fn is_local(&self) -> bool {
        !self.needs_key
    }

    /// How models there learn of tools that are not listed, if the user wants that at any address.
    pub fn on_demand(&self) -> Deferral {
        match self.deferral {
            Deferral::ListAll => Deferral::Append,
            deferral => deferral,
        }
    }

    /// A configuration to reach it, at its own address or another.
    pub fn config(&self, base_url: Option<&str>, key: Option<Secret>) -> HttpConfig {
        let timeouts = if self.is_local() { Timeouts::local() } else { Timeouts::default() };
        let base_url = base_url.unwrap_or(self.base_url);
        let is_known = base_url.trim_end_matches('/') == self.base_url || self.is_local();
        let deferral = if is_known { self.deferral } else { Deferral::ListAll };
        let quirks = Quirks { nine_character_ids: is_mistral(base_url), ..self.quirks() };
        HttpConfig {
            name: self.name.to_owned(),
            api: self.api,
            base_url: base_url.to_owned(),
            key,
            key_source: self.key_variable.map(str::to_owned),
            headers: Vec::new(),
            quirks,
            timeouts,
            network: Network::default(),
            deferral,
        }
    }
}

/// The scheme and the host of an address.
fn scheme_and_host(base_url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = base_url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => authority.split(':').next()?,
    };
    Some((scheme, host))
}

/// Whether this is Mistral's own service, which is reached by its address alone.
fn is_mistral(base_url: &str) -> bool {
    let host = scheme_and_host(base_url).map(|(_, host)| host.to_ascii_lowercase());
    host.is_some_and(|host| host.ends_with(".mistral.ai"))
}

/// The host of an address to which everything goes unencrypted, keys included; none if that is this
/// machine.
pub fn unencrypted_host(base_url: &str) -> Option<String> {
    let (scheme, host) = scheme_and_host(base_url)?;
    let is_local = match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => address.to_canonical().is_loopback(),
        Ok(address) => address.is_loopback(),
        Err(_) => {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    };
    (scheme.eq_ignore_ascii_case("http") && !is_local).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_other_machines_are_unencrypted() {
        let cases = [
            ("http://example.org/v1", Some("example.org")),
            ("HTTP://Example.org:8080", Some("Example.org")),
            ("http://user:word@example.org/v1", Some("example.org")),
            ("http://localhost@example.org/", Some("example.org")),
            ("http://192.168.1.2:11434/v1", Some("192.168.1.2")),
            ("http://[2001:db8::1]:80/", Some("2001:db8::1")),
            ("http://localhost.example.org/", Some("localhost.example.org")),
            ("http://127.0.0.1.example.org/", Some("127.0.0.1.example.org")),
            ("https://example.org/v1", None),
            ("http://localhost:11434/v1", None),
            ("http://api.localhost/v1", None),
            ("http://127.0.0.1:1/", None),
            ("http://127.9.9.9/", None),
            ("http://[::1]:1/", None),
            ("http://[::ffff:127.0.0.1]/", None),
            ("example.org", None),
        ];
        for (address, host) in cases {
            assert_eq!(unencrypted_host(address).as_deref(), host, "{address}");
        }
    }
    use crate::HttpProvider;

    #[test]
    fn mistral_is_known_by_its_address() {
        let nine = |url: &str| COMPATIBLE.config(Some(url), None).quirks.nine_character_ids;
        assert!(nine("https://api.mistral.ai/v1") && nine("https://Codestral.Mistral.ai:443"));
        assert!(
            !nine("https://mistral.ai.example.org/v1") && !nine("http://localhost/.mistral.ai")
        );
        assert!(!ENDPOINTS[0].config(None, None).quirks.nine_character_ids);
    }

    #[test]
    fn each_can_be_found_and_reached() {
        for endpoint_ in ENDPOINTS {
            assert_eq!(endpoint(endpoint_.name), Some(endpoint_));
            assert!(HttpProvider::new(endpoint_.config(None, None)).is_ok(), "{}", endpoint_.name);
            assert_eq!(endpoint_.needs_key, endpoint_.key_variable.is_some());
        }
        assert_eq!(endpoint(OFFLINE), None);
    }
}
