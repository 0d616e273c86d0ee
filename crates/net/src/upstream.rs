//! The proxy through which the operator reaches the network.

use std::fmt;
use std::str::FromStr;

use crate::address::AddressRange;
use crate::authority::{Authority, RequestHost};

/// The port of a proxy whose address names none.
const USUAL_PORT: u16 = 80;

/// An HTTP proxy, and the hosts that are reached without it.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    authority: Result<Authority, InvalidUpstream>,
    /// The value of the header that it wants.
    authorization: Option<String>,
    direct: Vec<Direct>,
}

/// What is reached without the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Direct {
    All,
    /// A name and all names below it.
    Below(String),
    Range(AddressRange),
}

/// An address of a proxy that cannot be used. It is not repeated, because it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only upstream proxies such as http://user:password@host:port can be used")]
pub struct InvalidUpstream;

/// Where a proxy is, and the credentials that it wants.
struct Parts(Authority, Option<String>);

impl FromStr for Parts {
    type Err = InvalidUpstream;

    fn from_str(text: &str) -> Result<Parts, InvalidUpstream> {
        let rest = match text.trim().split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(InvalidUpstream),
            None => text.trim(),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        let authorization = match user {
            Some(user) => {
                Some(format!("Basic {}", base64(&unescaped(user).ok_or(InvalidUpstream)?)))
            }
            None => None,
        };
        let authority = Authority::parse(authority, Some(USUAL_PORT)).ok_or(InvalidUpstream)?;
        Ok(Parts(authority, authorization))
    }
}

impl Upstream {
    /// A proxy by its address. With one that cannot be used, every request through it fails and
    /// says so: the operator does not want requests to go around it.
    pub fn new(address: &str) -> Upstream {
        let (authority, authorization) = match address.parse() {
            Ok(Parts(authority, authorization)) => (Ok(authority), authorization),
            Err(invalid) => (Err(invalid), None),
        };
        Upstream { authority, authorization, direct: Vec::new() }
    }

    /// Where it is.
    pub fn authority(&self) -> Result<&Authority, InvalidUpstream> {
        self.authority.as_ref().map_err(|invalid| *invalid)
    }

    /// The value of the header `Proxy-Authorization` that it wants, if any.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Reaches what a list such as `NO_PROXY` names without the proxy. The rules hold there all the
    /// same. What is not understood in the list is reached through the proxy.
    #[must_use]
    pub fn except(mut self, list: &str) -> Upstream {
        self.direct.extend(list.split([',', ' ']).filter_map(|entry| {
            let entry = entry.trim();
            if entry == "*" {
                return Some(Direct::All);
            }
            if let Ok(range) = entry.trim_matches(['[', ']']).parse() {
                return Some(Direct::Range(range));
            }
            match RequestHost::parse(entry.trim_start_matches("*.").trim_start_matches('.')) {
                Some(RequestHost::Name(name)) => Some(Direct::Below(name)),
                _ => None,
            }
        }));
        self
    }

    /// Whether a host is reached through the proxy.
    pub fn serves(&self, host: &RequestHost) -> bool {
        !self.direct.iter().any(|direct| match (direct, host) {
            (Direct::All, _) => true,
            (Direct::Below(own), RequestHost::Name(name)) => name
                .strip_suffix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            (Direct::Range(range), RequestHost::Address(address)) => {
                range.contains(address.to_canonical())
            }
            _ => false,
        })
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.authority {
            Ok(authority) => write!(f, "Upstream({authority})"),
            Err(_) => f.write_str("Upstream(unusable)"),
        }
    }
}

/// The bytes of a text with `%` escapes.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    Some(bytes)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let three = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let bits = three[0] << 16 | three[1] << 8 | three[2];
        for digit in 0..4 {
            let is_padding = digit > chunk.len();
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if is_padding { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_understood_and_keep_their_password_to_themselves() {
        let authority = |upstream: &Upstream| upstream.authority().map(ToString::to_string);
        let upstream = Upstream::new("http://me:p%40ss@proxy.example:3128/");
        assert_eq!(authority(&upstream), Ok("proxy.example:3128".to_owned()));
        assert_eq!(upstream.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(format!("{upstream:?}"), "Upstream(proxy.example:3128)");
        let plain = Upstream::new("10.0.0.1:8080");
        assert_eq!(authority(&plain), Ok("10.0.0.1:8080".to_owned()));
        assert_eq!(plain.authorization, None);
        for bad in
            ["https://proxy:1", "socks5://proxy:1", "", "http://", "http://a b:1", "http://%zz@x:1"]
        {
            assert_eq!(authority(&Upstream::new(bad)), Err(InvalidUpstream), "{bad}");
        }
    }

    #[test]
    fn exceptions_are_names_with_what_is_below_them_and_addresses() {
        let upstream = Upstream::new("http://proxy:1")
            .except("corp.example, .lan.example,*.x.example 10.0.0.0/8,[::1],, ???");
        let serves = |host: &str| upstream.serves(&RequestHost::parse(host).expect("a host"));
        for direct in
            ["corp.example", "a.corp.example", "b.lan.example", "y.x.example", "10.1.1.1", "[::1]"]
        {
            assert!(!serves(direct), "{direct}");
        }
        for proxied in ["notcorp.example", "example", "11.1.1.1", "[::2]"] {
            assert!(serves(proxied), "{proxied}");
        }
        assert!(!upstream.except("*").serves(&RequestHost::Name("any".into())));
    }

    #[test]
    fn base64_is_right_at_every_length() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
