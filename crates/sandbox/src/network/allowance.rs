//! What the user allows besides the public Internet.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::NetworkRules;
use super::address::{AddressKind, Range, judge};
use super::request::RequestHost;

/// HTTP and HTTPS.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// A host, an address, a range of addresses or `*` for every public address; with a port, only that
/// one, and without, the ports of HTTP and HTTPS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Allowance {
    target: Target,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    AnyPublic,
    Name(String),
    Range(Range),
}

/// A text that is not an allowance.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host, an address or a range of addresses; write for example `registry.internal`, \
     `10.1.2.0/24`, `10.1.2.3:8080`, `[fd00::1]:8080` or `*:8080`"
)]
pub struct InvalidAllowance(String);

impl Allowance {
    fn is_for_port(&self, port: u16) -> bool {
        self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    fn names(&self, host: &RequestHost) -> bool {
        matches!((&self.target, host), (Target::Name(own), RequestHost::Name(name)) if own == name)
    }

    fn covers(&self, host: &RequestHost, address: IpAddr) -> bool {
        match &self.target {
            Target::AnyPublic => true,
            Target::Name(_) => self.names(host),
            Target::Range(range) => range.contains(address.to_canonical()),
        }
    }

    /// Whether an address that is not public may be reached all the same.
    fn lifts(&self, host: &RequestHost, address: IpAddr, kind: AddressKind) -> bool {
        match &self.target {
            Target::AnyPublic => false,
            Target::Name(_) => self.names(host) && kind.is_allowed_by_name(),
            Target::Range(range) => range.contains(address.to_canonical()),
        }
    }
}

impl FromStr for Allowance {
    type Err = InvalidAllowance;

    fn from_str(text: &str) -> Result<Allowance, InvalidAllowance> {
        let invalid = || InvalidAllowance(text.to_owned());
        // An IPv6 address has colons of its own; with a port it stands in brackets.
        if let Ok(range) = text.parse() {
            return Ok(Allowance { target: Target::Range(range), port: None });
        }
        let (target, port) = match text.rsplit_once(':') {
            Some((target, port)) => (target, Some(super::request::port(port).ok_or_else(invalid)?)),
            None => (text, None),
        };
        let bare = target.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let target = match (bare, target) {
            (Some(bare), _) => Target::Range(bare.parse().map_err(|()| invalid())?),
            (None, "*") if port.is_some() => Target::AnyPublic,
            (None, target) if target.contains(':') => return Err(invalid()),
            (None, target) => match target.parse() {
                Ok(range) => Target::Range(range),
                Err(()) => match RequestHost::parse(target) {
                    Some(RequestHost::Name(name)) => Target::Name(name),
                    _ => return Err(invalid()),
                },
            },
        };
        Ok(Allowance { target, port })
    }
}

impl TryFrom<String> for Allowance {
    type Error = InvalidAllowance;

    fn try_from(text: String) -> Result<Allowance, InvalidAllowance> {
        text.parse()
    }
}

impl From<Allowance> for String {
    fn from(allowance: Allowance) -> String {
        allowance.to_string()
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match &self.target {
            Target::AnyPublic => "*".to_owned(),
            Target::Name(name) => name.clone(),
            Target::Range(range) if self.port.is_some() && range.to_string().contains(':') => {
                format!("[{range}]")
            }
            Target::Range(range) => range.to_string(),
        };
        f.write_str(&target)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl NetworkRules {
    /// Judges one address that `host` stands for. `is_own` says that it is one of this machine's.
    pub(super) fn judge(
        &self,
        host: &RequestHost,
        address: IpAddr,
        port: u16,
        is_own: bool,
    ) -> Result<(), String> {
        let kind = judge(address).or(is_own.then_some(AddressKind::OwnMachine));
        let mut allowed = self.allow.iter().filter(|one| one.is_for_port(port));
        match kind {
            None if USUAL_PORTS.contains(&port) => Ok(()),
            None if allowed.any(|one| one.covers(host, address)) => Ok(()),
            None => Err(wrong_port(port)),
            Some(kind) if allowed.any(|one| one.lifts(host, address, kind)) => Ok(()),
            Some(kind) => Err(format!("{address} is {kind}")),
        }
    }

    /// Judges a host that another proxy resolves: an address as above, and a name by its form.
    pub(super) fn judge_unresolved(&self, host: &RequestHost, port: u16) -> Result<(), String> {
        let name = match host {
            RequestHost::Address(address) => return self.judge(host, *address, port, false),
            RequestHost::Name(name) => name,
        };
        let mut allowed = self.allow.iter().filter(|one| one.is_for_port(port));
        let is_named = allowed.clone().any(|one| one.names(host));
        if is_named {
            return Ok(());
        }
        if is_local_name(name) {
            return Err(format!("`{name}` is a name of a private network"));
        }
        let any_public = allowed.any(|one| one.target == Target::AnyPublic);
        if USUAL_PORTS.contains(&port) || any_public { Ok(()) } else { Err(wrong_port(port)) }
    }
}

fn wrong_port(port: u16) -> String {
    format!("port {port} is not allowed")
}

/// Names that mean something only where they are asked for.
fn is_local_name(name: &str) -> bool {
    const LOCAL: [&str; 6] = ["localhost", "local", "internal", "home", "lan", "arpa"];
    name.rsplit_once('.').is_none_or(|(_, last)| LOCAL.contains(&last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str]) -> NetworkRules {
        let allow = allow.iter().map(|text| text.parse().expect("an allowance")).collect();
        NetworkRules { allow, ..NetworkRules::default() }
    }

    fn verdict(allow: &[&str], host: &str, address: &str, port: u16) -> String {
        let host = RequestHost::parse(host).expect("a host");
        let judged = rules(allow).judge(&host, address.parse().expect("an address"), port, false);
        judged.err().unwrap_or_else(|| "allowed".to_owned())
    }

    #[test]
    fn allowances_are_written_as_they_were_read() {
        for good in [
            "10.1.2.0/24",
            "10.1.2.3",
            "10.1.2.3:8080",
            "10.0.0.0/8:8080",
            "registry.internal",
            "registry.internal:4873",
            "fd00::/8",
            "[fd00::1]:8080",
            "*:8080",
            "localhost:1",
        ] {
            let allowance: Allowance = good.parse().expect(good);
            assert_eq!(allowance.to_string(), good);
        }
        for bad in [
            "",
            "*",
            "a b",
            "http://x",
            "x:0",
            "x:",
            "x:65536",
            "x:1:2",
            "10.0.0",
            "0x7f.1",
            "[x]:1",
            "fd00::/8:80x",
            "a..b",
            "user@host",
            "-",
            "10.0.0.0/40",
        ] {
            assert!(bad.parse::<Allowance>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_allowance_lifts_what_it_names_and_nothing_else() {
        let cases: [(&[&str], &str, &str, u16, &str); 22] = [
            (&[], "x.org", "8.8.8.8", 443, "allowed"),
            (&[], "x.org", "8.8.8.8", 22, "port 22 is not allowed"),
            (&["*:22"], "x.org", "8.8.8.8", 22, "allowed"),
            (&["*:22"], "x.org", "10.0.0.1", 22, "10.0.0.1 is an address of a private network"),
            (&["x.org:22"], "x.org", "8.8.8.8", 22, "allowed"),
            (&["x.org:22"], "y.org", "8.8.8.8", 22, "port 22 is not allowed"),
            (
                &["x.org:22"],
                "x.org",
                "10.0.0.1",
                443,
                "10.0.0.1 is an address of a private network",
            ),
            (&["x.org"], "x.org", "10.0.0.1", 443, "allowed"),
            (&["x.org"], "X.org.", "10.0.0.1", 80, "allowed"),
            (&["x.org"], "x.org", "10.0.0.1", 8080, "10.0.0.1 is an address of a private network"),
            (&["x.org"], "y.org", "10.0.0.1", 443, "10.0.0.1 is an address of a private network"),
            (&["x.org"], "x.org", "127.0.0.1", 443, "127.0.0.1 is a loopback address"),
            (
                &["x.org"],
                "x.org",
                "169.254.169.254",
                80,
                "169.254.169.254 is the address of a metadata service",
            ),
            (&["x.org"], "x.org", "fe80::1", 80, "fe80::1 is a link-local address"),
            (&["10.0.0.0/8"], "x.org", "10.9.9.9", 443, "allowed"),
            (&["10.0.0.0/8"], "x.org", "::ffff:10.9.9.9", 443, "allowed"),
            (&["10.0.0.0/8"], "x.org", "11.9.9.9", 22, "port 22 is not allowed"),
            (
                &["10.0.0.0/8"],
                "x.org",
                "192.168.1.1",
                443,
                "192.168.1.1 is an address of a private network",
            ),
            (&["127.0.0.1:8080"], "127.0.0.1", "127.0.0.1", 8080, "allowed"),
            (&["127.0.0.1:8080"], "127.0.0.1", "127.0.0.1", 80, "127.0.0.1 is a loopback address"),
            (
                &["127.0.0.1:8080"],
                "127.0.0.2",
                "127.0.0.2",
                8080,
                "127.0.0.2 is a loopback address",
            ),
            (&["[::1]:8080"], "x", "::1", 8080, "allowed"),
        ];
        for (allow, host, address, port, expected) in cases {
            assert_eq!(verdict(allow, host, address, port), expected, "{allow:?} {host} {address}");
        }
    }

    #[test]
    fn an_address_of_this_machine_has_to_be_allowed_by_address() {
        let host = RequestHost::parse("x.org").expect("a host");
        let address = "8.8.8.8".parse().expect("an address");
        let own = |allow: &[&str]| rules(allow).judge(&host, address, 443, true);
        assert_eq!(own(&[]), Err("8.8.8.8 is an address of this machine".to_owned()));
        assert!(own(&["x.org"]).is_err() && own(&["*:443"]).is_err() && own(&["8.8.8.8"]).is_ok());
    }

    #[test]
    fn names_that_another_proxy_resolves_are_judged_by_their_form() {
        let judge = |allow: &[&str], host: &str, port| {
            let host = RequestHost::parse(host).expect("a host");
            rules(allow).judge_unresolved(&host, port).is_ok()
        };
        for (host, port, expected) in [
            ("x.org", 443, true),
            ("x.org", 22, false),
            ("8.8.8.8", 443, true),
            ("10.0.0.1", 443, false),
            ("[::1]", 443, false),
            ("localhost", 80, false),
            ("a.localhost", 80, false),
            ("box", 80, false),
            ("metadata.google.internal", 80, false),
        ] {
            assert_eq!(judge(&[], host, port), expected, "{host}:{port}");
        }
        assert!(judge(&["box"], "box", 80) && !judge(&["box"], "box", 81));
        assert!(judge(&["*:22"], "x.org", 22) && !judge(&["*:22"], "box", 22));
        assert!(judge(&["10.0.0.0/8"], "10.0.0.1", 443));
    }
}
