//! A server as the user's configuration describes it.

use std::collections::BTreeMap;
use std::fmt;

use net::Allowance;
use protocol::ContentHash;
use serde::{Deserialize, Serialize};

/// Seconds that a call may take without a sign of progress, unless configured.
const TIMEOUT_S: u64 = 60;
/// Characters of a server's name: with them and a tool's name 64 are rarely exceeded.
const MAX_NAME: usize = 24;

/// The name of a server: the part of its tools' names before `__`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ServerName(String);

impl ServerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.0
    }
}

impl TryFrom<String> for ServerName {
    type Error = String;

    /// The two underscores that end it must be the first ones in the name of a tool: otherwise two
    /// servers could share a name.
    fn try_from(name: String) -> Result<Self, Self::Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_good = (1..=MAX_NAME).contains(&name.len())
            && name.chars().all(is_plain)
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !name.contains("__")
            && !name.ends_with('_');
        match is_good {
            true => Ok(Self(name)),
            false => Err(format!(
                "a server is named by 1 to {MAX_NAME} ASCII letters, digits, - and single _ between them, \
                 not `{}`",
                protocol::visible(&name)
            )),
        }
    }
}

/// Whether calls of a server's tools need the user's approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerApproval {
    /// The user is asked.
    #[default]
    Ask,
    /// Tools whose definitions the user has approved are called without asking.
    Allow,
    /// None is called.
    Deny,
}

/// Whose consent tokens are granted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OAuthGrant {
    /// The user's, given in a browser.
    #[default]
    AuthorizationCode,
    /// No user's: the client acts for itself.
    ClientCredentials,
}

/// How a server over HTTP is logged in to, where that cannot be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// The client that the user has registered at the authorization server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The name of the variable with its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// The https address of a document that describes us as a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The only authorization server that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What is asked for in any case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Whose consent is asked for.
    #[serde(skip_serializing_if = "is_of_user")]
    pub grant: OAuthGrant,
    /// The port that the browser comes back to; any that is free if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
    /// Authorization servers that may be reached though they are not public.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_allow: Vec<Allowance>,
}

fn is_of_user(grant: &OAuthGrant) -> bool {
    *grant == OAuthGrant::AuthorizationCode
}

impl OAuthConfig {
    fn mistake(&self) -> Option<&'static str> {
        let is_document = |url: &String| {
            let rest = url.strip_prefix("https://");
            rest.and_then(|rest| rest.split_once('/')).is_some_and(|(_, path)| !path.is_empty())
        };
        let has_secret = self.client_secret_env.is_some();
        match self.client_metadata_url.as_ref() {
            Some(url) if !is_document(url) => {
                Some("`oauth.client_metadata_url` is an https address with a path")
            }
            _ if has_secret && self.client_id.is_none() => {
                Some("`oauth.client_secret_env` needs `oauth.client_id`")
            }
            // A server could otherwise name another place to send it to.
            _ if has_secret && self.issuer.is_none() => {
                Some("`oauth.client_secret_env` needs `oauth.issuer`, the only place it is sent to")
            }
            _ if self.grant == OAuthGrant::ClientCredentials && !has_secret => {
                Some("`oauth.grant = \"client_credentials\"` needs `oauth.client_secret_env`")
            }
            _ if self.redirect_port == Some(0) => Some("`oauth.redirect_port` is at least 1"),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The program that serves on its standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments; `{project}` stands for the path of the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The address of a server that is reached over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the variable with the token that a server with an address is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// How a server with an address is logged in to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthConfig>,
    /// Names of variables that are passed to it. Its environment is otherwise built from nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Variables with their values, which are not secret.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Seconds that a call may take without a sign of progress.
    #[serde(skip_serializing_if = "is_usual_timeout")]
    pub timeout: u64,
    /// The only tools that are used, as the server names them; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Whether calls need approval.
    #[serde(skip_serializing_if = "is_ask")]
    pub approval: ServerApproval,
    /// Whether it can reach the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Whether it can read the project. A server with the network cannot, unless this says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<bool>,
    /// Directories and files that it can read besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
}

fn is_usual_timeout(seconds: &u64) -> bool {
    *seconds == TIMEOUT_S
}

fn is_ask(approval: &ServerApproval) -> bool {
    *approval == ServerApproval::Ask
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            url: None,
            token_env: None,
            oauth: None,
            env: Vec::new(),
            set: BTreeMap::new(),
            timeout: TIMEOUT_S,
            tools: None,
            approval: ServerApproval::Ask,
            network: false,
            project: None,
            read: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// What is wrong with it, if anything.
    pub fn mistake(&self) -> Option<&'static str> {
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => Some("a server has either `command` or `url`, not both"),
            (None, None) => Some("a server needs `command` or `url`"),
            (Some(command), None) if command.trim().is_empty() => Some("`command` is empty"),
            (None, Some(url)) if !url.starts_with("https://") && !url.starts_with("http://") => {
                Some("`url` begins with https:// or http://")
            }
            _ if self.timeout == 0 => Some("`timeout` is at least 1 second"),
            (Some(_), None) if self.oauth.is_some() => Some("`oauth` is for a server with `url`"),
            _ if self.oauth.is_some() && self.token_env.is_some() => {
                Some("a server has either `token_env` or `oauth`, not both")
            }
            _ => self.oauth.as_ref()?.mistake(),
        }
    }

    /// Whether calls may reach the network.
    pub fn reaches_network(&self) -> bool {
        self.network || self.url.is_some()
    }

    /// Whether the server can read the project.
    pub fn reads_project(&self) -> bool {
        self.url.is_none() && self.project.unwrap_or(!self.network)
    }

    /// What is run or asked, and with which rights: another program or more rights are another
    /// server, and nothing that was approved for this one holds for it.
    pub(crate) fn identity(&self, origin: &str) -> ContentHash {
        let Self { command, args, url, token_env, env, set, network, read, .. } = self;
        let address = (url, token_env);
        let facts = (origin, command, args, address, env, set, network, read, self.reads_project());
        // Plain data that cannot fail to serialise.
        let mut facts = serde_json::to_vec(&facts).unwrap_or_default();
        if let Some(oauth) = &self.oauth {
            facts.extend(serde_json::to_vec(oauth).unwrap_or_default());
        }
        ContentHash::of(&facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_end_where_the_first_two_underscores_are() {
        let is_good = |name: &str| ServerName::try_from(name.to_owned()).is_ok();
        for name in ["a", "github", "my-notes", "a_b", "9", "x".repeat(24).as_str()] {
            assert!(is_good(name), "{name}");
        }
        let long = "x".repeat(25);
        for name in ["", "a__b", "a_", "_a", "-a", "a b", "ä", "a.b", "a\u{200b}", &long] {
            assert!(!is_good(name), "{name}");
        }
    }

    #[test]
    fn another_program_or_another_right_is_another_server() {
        let one = ServerConfig { command: Some("a".into()), ..ServerConfig::default() };
        let others = [
            ServerConfig { command: Some("b".into()), ..one.clone() },
            ServerConfig { args: vec!["x".into()], ..one.clone() },
            ServerConfig { network: true, ..one.clone() },
            ServerConfig { project: Some(false), ..one.clone() },
            ServerConfig { env: vec!["TOKEN".into()], ..one.clone() },
        ];
        for other in others {
            assert_ne!(one.identity("user"), other.identity("user"), "{other:?}");
        }
        assert_ne!(one.identity("user"), one.identity("/a/project"));
        let slower = ServerConfig { timeout: 5, approval: ServerApproval::Allow, ..one.clone() };
        assert_eq!(one.identity("user"), slower.identity("user"));
    }

    #[test]
    fn a_server_with_the_network_does_not_read_the_project_unless_told() {
        let local = ServerConfig { command: Some("a".into()), ..ServerConfig::default() };
        let online = ServerConfig { network: true, ..local.clone() };
        let told = ServerConfig { project: Some(true), ..online.clone() };
        assert!(local.reads_project() && !online.reads_project() && told.reads_project());
    }

    #[test]
    fn mistakes_are_named() {
        let command = |text: &str| Some(text.to_owned());
        let url = |text: &str| Some(text.to_owned());
        let base = ServerConfig::default;
        let oauth = |text: &str| Some(serde_json::from_str(text).unwrap());
        for (text, is_wrong) in [
            ("{}", false),
            (r#"{"client_id": "a", "redirect_port": 8000}"#, false),
            (r#"{"client_id": "a", "client_secret_env": "S", "issuer": "https://a"}"#, false),
            (r#"{"client_id": "a", "client_secret_env": "S"}"#, true),
            (r#"{"client_secret_env": "S", "issuer": "https://a"}"#, true),
            (r#"{"grant": "client_credentials", "client_id": "a"}"#, true),
            (r#"{"client_metadata_url": "https://a.org/me.json"}"#, false),
            (r#"{"client_metadata_url": "https://a.org/"}"#, true),
            (r#"{"client_metadata_url": "http://a.org/me.json"}"#, true),
        ] {
            let config = ServerConfig { url: url("https://b/mcp"), oauth: oauth(text), ..base() };
            assert_eq!(config.mistake().is_some(), is_wrong, "{text}");
            let both = ServerConfig { token_env: Some("T".into()), ..config };
            assert!(both.mistake().is_some());
        }
        let table = [
            (base(), true),
            (ServerConfig { command: command("a"), url: url("https://b"), ..base() }, true),
            (ServerConfig { command: command(" "), ..base() }, true),
            (ServerConfig { url: url("ftp://b"), ..base() }, true),
            (ServerConfig { command: command("a"), timeout: 0, ..base() }, true),
            (ServerConfig { command: command("a"), ..base() }, false),
            (ServerConfig { url: url("https://b/mcp"), ..base() }, false),
            (ServerConfig { command: command("a"), oauth: oauth("{}"), ..base() }, true),
        ];
        for (config, is_wrong) in table {
            assert_eq!(config.mistake().is_some(), is_wrong, "{config:?}");
        }
    }
}
