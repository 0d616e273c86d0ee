//! Servers as rules name them.

use std::fmt;

use net::{Authority, RequestHost, WebUrl};
use serde::{Deserialize, Serialize};

/// The port of `https` where an address names none.
const HTTPS_PORT: u16 = 443;
/// The port of `http` where an address names none.
const HTTP_PORT: u16 = 80;

/// A server that a request goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebTarget {
    pub encrypted: bool,
    /// The name or address, in one spelling.
    pub host: String,
    pub port: u16,
    /// Whether more is sent than the address: a body, or headers of the caller's own.
    pub sends: bool,
    /// Whether the model has made the address up.
    #[serde(default)]
    pub unnamed: bool,
}

impl WebTarget {
    /// The server of an address.
    pub(crate) fn of(url: &WebUrl) -> Self {
        let Authority { host, port } = url.authority();
        let (host, port, encrypted) = (host.to_string(), *port, url.is_encrypted());
        Self { encrypted, host, port, sends: false, unnamed: false }
    }
}

/// A server: `docs.rs`, `*.python.org` for the names below one, `http://localhost:8080`. Without a
/// scheme it is `https`, and without a port the usual one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    text: String,
    encrypted: bool,
    below: bool,
    host: String,
    port: u16,
}

/// A text that is not a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a server; write for example `docs.rs`, `*.python.org`, `example.org:8443` or \
     `http://localhost:8080`"
)]
pub struct InvalidHost(String);

impl HostPattern {
    /// Reads a pattern.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidHost> {
        let text = text.into();
        let (encrypted, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return Err(InvalidHost(text)),
            None => (true, text.as_str()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let usual = if encrypted { HTTPS_PORT } else { HTTP_PORT };
        let authority = Authority::parse(rest, Some(usual));
        // No name lies below an address.
        let is_name = |authority: &Authority| matches!(authority.host, RequestHost::Name(_));
        match authority.filter(|authority| !below || is_name(authority)) {
            Some(Authority { host, port }) => {
                let host = host.to_string();
                Ok(Self { text, encrypted, below, host, port })
            }
            None => Err(InvalidHost(text)),
        }
    }

    /// The server of an address, and no other.
    pub(crate) fn exactly(target: &WebTarget) -> Result<Self, InvalidHost> {
        let (scheme, usual) = match target.encrypted {
            true => ("", HTTPS_PORT),
            false => ("http://", HTTP_PORT),
        };
        let port = if target.port == usual { String::new() } else { format!(":{}", target.port) };
        Self::new(format!("{scheme}{}{port}", target.host))
    }

    /// Whether a request to this server is meant.
    pub fn covers(&self, target: &WebTarget) -> bool {
        let is_host = match self.below {
            true => target.host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.')),
            false => target.host == self.host,
        };
        is_host && self.encrypted == target.encrypted && self.port == target.port
    }

    /// Whether an address is at this server.
    pub(crate) fn covers_address(&self, address: &str) -> bool {
        WebUrl::parse(address).is_ok_and(|url| self.covers(&WebTarget::of(&url)))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        Self::new(text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> String {
        pattern.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_scheme_host_and_port() {
        let covers = |pattern: &str, url: &str| {
            HostPattern::new(pattern).expect(pattern).covers_address(url)
        };
        for (pattern, url) in [
            ("docs.rs", "https://docs.rs/x?q#f"),
            ("Docs.RS", "https://docs.rs:443/"),
            ("https://docs.rs/", "https://DOCS.rs./"),
            ("*.python.org", "https://docs.python.org/"),
            ("*.python.org", "https://a.b.python.org/"),
            ("http://localhost:8080", "http://localhost:8080/x"),
            ("http://127.0.0.1", "http://2130706433/"),
            ("x.org:8443", "https://x.org:8443/"),
        ] {
            assert!(covers(pattern, url), "{pattern} {url}");
        }
        for (pattern, url) in [
            ("docs.rs", "http://docs.rs/"),
            ("docs.rs", "https://docs.rs:8443/"),
            ("docs.rs", "https://evildocs.rs/"),
            ("docs.rs", "https://docs.rs.evil.org/"),
            ("docs.rs", "https://a.docs.rs/"),
            ("*.python.org", "https://python.org/"),
            ("*.python.org", "https://evilpython.org/"),
            ("docs.rs", "https://evil.org/docs.rs"),
            ("docs.rs", "https://evil.org#docs.rs"),
            ("docs.rs", "https://docs.rs@evil.org/"),
        ] {
            assert!(!covers(pattern, url), "{pattern} {url}");
        }
        for bad in ["", "*", "*.", "ftp://x.org", "x.org/path", "a@b", "*.1.1.1.1", "x.org:0"] {
            assert!(HostPattern::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_server_of_an_address_covers_it() {
        for url in ["https://a.org/", "http://a.org/", "https://a.org:1/", "http://[::1]:8080/"] {
            let target = WebTarget::of(&WebUrl::parse(url).expect(url));
            let pattern = HostPattern::exactly(&target).expect(url);
            assert!(pattern.covers(&target), "{pattern}");
        }
    }
}
