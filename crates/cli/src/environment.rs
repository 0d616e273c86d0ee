//! The only place that reads environment variables.

pub(crate) mod git_identity;
mod telemetry_variables;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use net::{Network, Roots, Upstream};
use providers::catalogue::{COMPATIBLE, ENDPOINTS, endpoint};
use providers::{NoKey, Secret};
use sandbox::{Profile, Toolchains};

use crate::config::{ConfigSource, Given};
pub(crate) use telemetry_variables::TelemetryVariables;

/// The variables of our own that set a key of the configuration.
const SETTINGS: [(&str, &str); 3] = [
    ("TOOLKILN_PROVIDER", "model.provider"),
    ("TOOLKILN_MODEL", "model.name"),
    ("TOOLKILN_BASE_URL", "model.base_url"),
];

/// The variable that Ollama has for its own address.
const OLLAMA_HOST: &str = "OLLAMA_HOST";
/// The port that Ollama listens on unless told otherwise.
const OLLAMA_PORT: u16 = 11434;

/// Where the home directory of a user without one lies for confined commands.
const NO_HOME: &str = "/home/user";

/// What the environment says about configuration, as plain data.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// The user's configuration directory, if it can be told.
    pub(crate) config_dir: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// The variables that set a key of the configuration.
    pub(crate) layer: Vec<Given>,
    /// Keys of providers by variable.
    pub(crate) keys: BTreeMap<&'static str, Result<Secret, NoKey>>,
    /// Addresses of providers by variable.
    pub(crate) base_urls: BTreeMap<&'static str, FoundVariable>,
    /// How the network is reached.
    pub(crate) network: NetworkVariables,
    /// Where telemetry goes.
    pub(crate) telemetry: TelemetryVariables,
}

/// How the network is reached.
#[derive(Debug, Default)]
pub(crate) struct NetworkVariables {
    /// A file with the certificates to trust, in place of the system's.
    pub(crate) certificates: Option<FoundVariable>,
    /// The proxy for requests to `https` addresses.
    pub(crate) proxy: Option<FoundVariable>,
    /// The proxy for requests to `http` addresses.
    pub(crate) http_proxy: Option<FoundVariable>,
    /// The hosts that are reached without a proxy.
    pub(crate) no_proxy: Option<FoundVariable>,
}

/// A variable that is set, and its value.
#[derive(Debug)]
pub(crate) struct FoundVariable {
    pub(crate) variable: &'static str,
    pub(crate) value: String,
}

impl Environment {
    /// Everything, from the environment of this process.
    pub(crate) fn gather() -> Self {
        let found = Self::from(|name| env::var(name).ok());
        Self { config_dir: config_dir(), home: absolute("HOME"), ..found }
    }

    /// What the variables say, but for directories. An empty variable counts as absent.
    pub(crate) fn from(read: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| read(name).filter(|value| !value.trim().is_empty());
        let given = |(name, key): (&'static str, &str)| {
            let value = read(name)?.into();
            Some(Given { key: key.to_owned(), value, source: ConfigSource::Variable { name } })
        };
        let found =
            |variable: &'static str| Some(FoundVariable { variable, value: read(variable)? });
        let first = |names: &[&'static str]| names.iter().copied().find_map(found);
        let keys =
            ENDPOINTS.iter().chain([&COMPATIBLE]).filter_map(|endpoint| endpoint.key_variable);
        let key = |variable: &'static str| Some((variable, Secret::new(&read(variable)?)));
        let urls = ENDPOINTS.iter().filter_map(|endpoint| endpoint.url_variable);
        let url = |variable: &'static str| {
            let value = read(variable)?;
            let value = if variable == OLLAMA_HOST { ollama_url(&value) } else { value };
            Some((variable, FoundVariable { variable, value }))
        };
        Self {
            layer: SETTINGS.into_iter().filter_map(given).collect(),
            keys: keys.filter_map(key).collect(),
            base_urls: urls.filter_map(url).collect(),
            network: NetworkVariables {
                certificates: found("SSL_CERT_FILE"),
                proxy: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
                http_proxy: first(&["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"]),
                no_proxy: first(&["NO_PROXY", "no_proxy"]),
            },
            telemetry: TelemetryVariables::from(read),
            ..Self::default()
        }
    }

    /// The address that the usual variable of a provider holds.
    pub(crate) fn usual_base_url(&self, provider: &str) -> Option<&FoundVariable> {
        self.base_urls.get(endpoint(provider)?.url_variable?)
    }
}

/// The address of Ollama's OpenAI-like interface from what its own variable holds: a host, a port or
/// both, with or without a scheme. The address to listen on everywhere is reached at this machine.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.to_owned()),
        _ => match (host.contains("://"), scheme) {
            (true, "https") => (authority, "443".to_owned()),
            (true, _) => (authority, "80".to_owned()),
            (false, _) => (authority, OLLAMA_PORT.to_string()),
        },
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    match path {
        "" | "v1" => format!("{scheme}://{name}:{port}/v1"),
        path => format!("{scheme}://{name}:{port}/{}/v1", path.trim_end_matches("/v1")),
    }
}

/// The key in a variable that the configuration names; none if the variable is not set or empty.
pub(crate) fn key_in(variable: &str) -> Option<Result<Secret, NoKey>> {
    let value = env::var(variable).ok().filter(|value| !value.trim().is_empty())?;
    Some(Secret::new(&value))
}

/// The user's configuration directory, if it can be told.
fn config_dir() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(base.join("toolkiln"))
}

/// The directory for what Toolkiln has to remember, if it can be told.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let own = || Some(absolute("HOME")?.join(".local/state"));
    Some(absolute("XDG_STATE_HOME").or_else(own)?.join("toolkiln"))
}

/// The directory for what can be made again, if it can be told.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("toolkiln"))
}

/// The directory for what programs that Toolkiln runs keep for themselves, if it can be told.
pub(crate) fn data_dir() -> Option<PathBuf> {
    let own = || Some(absolute("HOME")?.join(".local/share"));
    Some(absolute("XDG_DATA_HOME").or_else(own)?.join("toolkiln"))
}

/// What confined commands of the project at `root` see of this machine: the system, the user's
/// toolchains, and the repository that the project is a worktree of.
pub(crate) fn confinement(root: &Path) -> Profile {
    // A user without a home directory has no toolchains in it either.
    let home = absolute("HOME").unwrap_or_else(|| NO_HOME.into());
    let search_path = env::var_os("PATH").unwrap_or_default();
    let toolchains = Toolchains::find(&home, &search_path, |name| env::var(name).ok());
    let mut profile = Profile::new(root, home).with_toolchains(toolchains).with_repository();
    let network = Environment::from(|name| env::var(name).ok()).network;
    profile.network.upstream = network.upstream(network.proxy.as_ref());
    let certificates = network.certificates.map(|found| PathBuf::from(found.value));
    profile.network.certificates = certificates.filter(|file| file.is_absolute());
    profile
}

impl NetworkVariables {
    /// A proxy, with the hosts that are reached without it.
    fn upstream(&self, proxy: Option<&FoundVariable>) -> Option<Upstream> {
        let no_proxy = self.no_proxy.as_ref().map_or("", |found| found.value.as_str());
        Some(Upstream::new(&proxy?.value).except(no_proxy))
    }

    /// How model providers are reached. They have no proxy for `http` addresses: such a provider is
    /// on this machine or near it. Certificates that the system's variables name are found when they
    /// are needed.
    pub(crate) fn for_providers(&self) -> Network {
        let https_proxy = self.upstream(self.proxy.as_ref());
        Network { https_proxy, roots: Roots::System, ..Network::default() }
    }

    /// How the web is reached.
    pub(crate) fn for_web(&self) -> Network {
        Network { http_proxy: self.upstream(self.http_proxy.as_ref()), ..self.for_providers() }
    }
}

pub(crate) fn home_dir() -> Option<PathBuf> {
    absolute("HOME")
}

pub(crate) fn editor() -> Option<String> {
    let named = |name| env::var(name).ok().filter(|command| !command.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// A variable that is text.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Whether the terminal cannot move its cursor.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb")
}

/// Whether the user asked for no colours.
pub(crate) fn no_colour() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// A variable that holds an absolute path; others are ignored, as the base directory
/// specification demands.
fn absolute(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(name)?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_variables_are_found_and_empty_ones_are_none() {
        let variables = BTreeMap::from([
            ("TOOLKILN_MODEL", "small"),
            ("TOOLKILN_PROVIDER", ""),
            ("ANTHROPIC_API_KEY", "sk-1"),
            ("OPENAI_BASE_URL", "http://localhost:1/v1"),
            ("OLLAMA_HOST", "box"),
            ("all_proxy", "http://proxy:3128"),
        ]);
        let found = Environment::from(|name| variables.get(name).map(|&value| value.to_owned()));
        let layer: Vec<_> = found.layer.iter().map(|given| given.key.as_str()).collect();
        assert_eq!(layer, ["model.name"]);
        let keys: Vec<_> = found.keys.iter().collect();
        assert_eq!(format!("{keys:?}"), r#"[("ANTHROPIC_API_KEY", Ok(***))]"#);
        let url = |name| found.usual_base_url(name).map(|found| found.value.as_str());
        assert_eq!(url("openai"), Some("http://localhost:1/v1"));
        assert_eq!(url("ollama"), Some("http://box:11434/v1"));
        assert_eq!((url("anthropic"), url("vllm")), (None, None));
        let network = found.network.for_web();
        let proxies = format!("{:?}", (network.https_proxy, network.http_proxy));
        assert_eq!(proxies, "(Some(Upstream(proxy:3128)), Some(Upstream(proxy:3128)))");
        assert!(found.network.for_providers().http_proxy.is_none());
        let proxy = found.network.proxy.unwrap();
        assert_eq!((proxy.variable, proxy.value.as_str()), ("all_proxy", "http://proxy:3128"));
    }

    #[test]
    fn ollamas_own_variable_is_understood_in_all_its_spellings() {
        let cases = [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("box", "http://box:11434/v1"),
            ("https://box.example", "https://box.example:443/v1"),
            ("http://box.example/", "http://box.example:80/v1"),
            ("http://box:1/ollama", "http://box:1/ollama/v1"),
            ("http://box:1/ollama/v1", "http://box:1/ollama/v1"),
            ("http://box:1/v1/", "http://box:1/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::]:8080", "http://127.0.0.1:8080/v1"),
        ];
        for (host, url) in cases {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }
}
