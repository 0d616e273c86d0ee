//! The keys of providers: from the environment, or from a file that only the user can read.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use providers::Secret;
use providers::catalogue::{COMPATIBLE, ENDPOINTS, Endpoint, endpoint, endpoint_at};
use toml::de::{DeTable, DeValue};
use workspace::{Workspace, real_user_file};

use super::file::place;
use super::schema::closest;
use super::{Config, MAX_FILE_BYTES};
use crate::environment::{self, Environment};

/// The user's file with keys, in the configuration directory.
const KEY_FILE: &str = "keys.toml";
/// The permissions of everyone but the owner.
const OTHERS: u32 = 0o077;

/// A key and where it was found.
#[derive(Debug)]
pub(crate) struct ProviderKey {
    pub(crate) secret: Secret,
    /// The variable or the place in a file.
    pub(crate) source: String,
    endpoint: &'static Endpoint,
}

/// All keys that were found.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    found: Vec<ProviderKey>,
}

impl Keys {
    /// Looks into the environment and the key file. A file that others could read is refused.
    pub(crate) fn load(environment: &Environment, config: &Config) -> anyhow::Result<Self> {
        let mut found = Vec::new();
        if let Some(variable) = &config.model.key_env
            && let Some(secret) = environment::key_in(variable)
        {
            let secret = secret.with_context(|| variable.clone())?;
            found.push(ProviderKey {
                secret,
                source: variable.clone(),
                endpoint: configured(config),
            });
        }
        for endpoint in ENDPOINTS.iter().chain([&COMPATIBLE]) {
            let Some(variable) = endpoint.key_variable else { continue };
            let Some(secret) = environment.keys.get(variable) else { continue };
            let secret = secret.clone().context(variable)?;
            found.push(ProviderKey { secret, source: variable.to_owned(), endpoint });
        }
        if let Some(path) = key_file(environment, config.model.key_file.as_deref())
            && let Some(text) = read(&path)?
        {
            let shown = path.display().to_string();
            found.extend(parse(&text, &shown).with_context(|| shown.clone())?);
        }
        Ok(Self { found })
    }

    /// The same with keys that a user of a team has kept, by the names of providers. They count before all others; one
    /// for a provider that is not known is left out.
    pub(crate) fn with_own(mut self, own: &[(String, team::ProviderKey)]) -> Self {
        let own = own.iter().filter_map(|(provider, key)| {
            let secret = Secret::new(key.expose()).ok()?;
            let source = "the user's own keys".to_owned();
            Some(ProviderKey { secret, source, endpoint: endpoint(provider)? })
        });
        self.found.splice(..0, own.collect::<Vec<_>>());
        self
    }

    /// The variables of all keys that were found, wherever they were found. One for a server without
    /// a name does not choose a provider.
    pub(crate) fn variables(&self) -> Vec<String> {
        let named = self.found.iter().filter(|key| key.endpoint.name != COMPATIBLE.name);
        named.filter_map(|key| key.endpoint.key_variable).map(str::to_owned).collect()
    }

    /// The key for a provider: the environment's before the file's.
    pub(crate) fn of(&self, wanted: &Endpoint) -> Option<&ProviderKey> {
        // Providers that share a variable share the key, under whichever name the file has it.
        let fits = |key: &&ProviderKey| {
            key.endpoint.name == wanted.name
                || wanted.key_variable.is_some() && key.endpoint.key_variable == wanted.key_variable
        };
        self.found.iter().find(fits)
    }
}

/// The provider that the configuration is about.
fn configured(config: &Config) -> &'static Endpoint {
    let named = config.model.provider.as_ref().and_then(|name| endpoint(name.as_ref()));
    let at = || Some(endpoint_at(config.model.base_url.as_ref()?.as_str()));
    named.or_else(at).unwrap_or(&COMPATIBLE)
}

/// Where the keys are kept, if that can be told.
pub(crate) fn key_file(environment: &Environment, configured: Option<&str>) -> Option<PathBuf> {
    let dir = environment.config_dir.as_ref()?;
    match configured {
        None => Some(dir.join(KEY_FILE)),
        Some(path) => match (path.strip_prefix("~/"), &environment.home) {
            (Some(below), Some(home)) => Some(home.join(below)),
            // A path that is absolute stays what it is.
            _ => Some(dir.join(path)),
        },
    }
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let real = real_user_file(path)?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name()) else { return Ok(None) };
    let Ok(dir) = Workspace::open(dir) else { return Ok(None) };
    let name = dir.resolve(&workspace::bytes_to_text(name.as_encoded_bytes()))?;
    let mut file = match dir.open_file(&name) {
        Ok(file) => file,
        Err(workspace::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let owner = file.file.metadata().with_context(|| path.display().to_string())?.uid();
    private(path, file.meta.mode, owner, rustix::process::geteuid().as_raw())?;
    let text = String::from_utf8(file.read_all(MAX_FILE_BYTES)?);
    // The error itself would repeat what is in the file.
    Ok(Some(text.map_err(|_| anyhow::anyhow!("{} is not UTF-8", path.display()))?))
}

/// Refuses a file that is not the user's own and only theirs.
fn private(path: &Path, mode: u32, owner: u32, user: u32) -> anyhow::Result<()> {
    let path = path.display();
    if owner != user {
        bail!(
            "{path} belongs to the user {owner}, not to you ({user}): make it yours with `chown`, or \
             name another file as `model.key_file`"
        );
    }
    if mode & OTHERS != 0 {
        bail!("others can read the keys in {path} (mode {mode:04o}): run `chmod 600 {path}`");
    }
    Ok(())
}

/// Reads `provider = "key"` lines. No error repeats anything from the file, because a key may stand
/// anywhere in one that is wrong.
fn parse(text: &str, shown: &str) -> anyhow::Result<Vec<ProviderKey>> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = place(text, error.span().map_or(0, |span| span.start)).0;
        anyhow::anyhow!("line {line} cannot be read; a line is like anthropic = \"KEY\"")
    })?;
    let mut keys = Vec::new();
    for (name, value) in table.get_ref() {
        let line = place(text, name.span().start).0;
        let Some(endpoint) = endpoint(name.get_ref()) else {
            let names = || ENDPOINTS.iter().map(|endpoint| endpoint.name);
            match closest(name.get_ref(), names()) {
                Some(meant) => bail!("line {line} names no provider; did you mean `{meant}`?"),
                None => bail!(
                    "line {line} names no provider; there are {}",
                    names().collect::<Vec<_>>().join(", ")
                ),
            }
        };
        let DeValue::String(key) = value.get_ref() else {
            bail!("line {line}: the key of {} is a text in quotes", endpoint.name);
        };
        let secret = Secret::new(key).with_context(|| format!("line {line}"))?;
        keys.push(ProviderKey { secret, source: format!("{shown}:{line}"), endpoint });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[(&'static str, &str)], file: &str) -> Keys {
        let mut found = Vec::new();
        for (variable, text) in environment {
            let mut known = ENDPOINTS.iter().chain([&COMPATIBLE]);
            let endpoint = known.find(|known| known.key_variable == Some(variable)).unwrap();
            let secret = Secret::new(text).unwrap();
            found.push(ProviderKey { secret, source: (*variable).to_owned(), endpoint });
        }
        found.extend(parse(file, "keys.toml").unwrap());
        Keys { found }
    }

    #[test]
    fn the_environment_comes_before_the_file_and_one_account_is_one_key() {
        let keys =
            found(&[("OPENAI_API_KEY", "a")], "openai = \"b\"\nanthropic = \"c\"\nvllm = 'd'\n");
        let of =
            |name| keys.of(endpoint(name)?).map(|key| (key.secret.expose(), key.source.as_str()));
        assert_eq!(of("openai"), Some(("a", "OPENAI_API_KEY")));
        assert_eq!(of("openai-chat"), Some(("a", "OPENAI_API_KEY")));
        assert_eq!(of("anthropic"), Some(("c", "keys.toml:2")));
        assert_eq!(of("vllm"), Some(("d", "keys.toml:3")));
        assert_eq!((of("ollama"), of("unknown")), (None, None));
    }

    #[test]
    fn a_server_without_a_name_gets_its_own_key_and_no_other() {
        let vendors = found(&[("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b")], "vllm = 'd'\n");
        assert!(vendors.of(&COMPATIBLE).is_none());
        let own = found(&[("TOOLKILN_API_KEY", "e")], "");
        assert_eq!(own.of(&COMPATIBLE).map(|key| key.secret.expose()), Some("e"));
        assert!(ENDPOINTS.iter().all(|endpoint| own.of(endpoint).is_none()));
        assert!(own.variables().is_empty(), "it does not choose a provider");
    }

    #[test]
    fn a_file_that_others_can_read_or_own_is_refused_with_the_command_that_repairs_it() {
        let refused = |mode, owner| {
            private(Path::new("/c/keys.toml"), mode, owner, 1000).err().map(|why| why.to_string())
        };
        assert_eq!(refused(0o600, 1000), None);
        assert_eq!(refused(0o400, 1000), None);
        insta::assert_snapshot!(refused(0o640, 1000).unwrap(), @"others can read the keys in /c/keys.toml (mode 0640): run `chmod 600 /c/keys.toml`");
        insta::assert_snapshot!(refused(0o600, 0).unwrap(), @"/c/keys.toml belongs to the user 0, not to you (1000): make it yours with `chown`, or name another file as `model.key_file`");
    }

    #[test]
    fn no_mistake_in_the_file_shows_what_is_in_it() {
        let cases = [
            "sk-secret",
            "anthropic = sk-secret",
            "antropic = \"sk-secret\"",
            "sk-secret = \"anthropic\"",
            "anthropic = [\"sk-secret\"]",
            "anthropic = \"sk-secret",
            "anthropic = \"sk-secret and more\"",
            "anthropic = \"sk-secret\"\nanthropic = \"sk-secret\"",
        ];
        let told: Vec<_> = cases
            .iter()
            .map(|text| format!("{:#}", parse(text, "keys.toml").unwrap_err()))
            .collect();
        assert!(!told.iter().any(|message| message.contains("secret")), "{told:?}");
        let names: Vec<_> = ENDPOINTS.iter().map(|endpoint| endpoint.name).collect();
        let told = told.join("\n").replace(&names.join(", "), "PROVIDERS");
        insta::assert_snapshot!(told, @r#"
        line 1 cannot be read; a line is like anthropic = "KEY"
        line 1 cannot be read; a line is like anthropic = "KEY"
        line 1 names no provider; did you mean `anthropic`?
        line 1 names no provider; there are PROVIDERS
        line 1: the key of anthropic is a text in quotes
        line 1 cannot be read; a line is like anthropic = "KEY"
        line 1: a key is one word of printable ASCII characters
        line 2 cannot be read; a line is like anthropic = "KEY"
        "#);
    }
}
