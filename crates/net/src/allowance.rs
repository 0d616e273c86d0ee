//! What the user allows besides the public Internet.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressKind, AddressRange};
use crate::authority::{RequestHost, port};

/// HTTP and HTTPS.
pub(crate) const USUAL_PORTS: [u16; 2] = [80, 443];

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
    Range(AddressRange),
}

/// A text that is not an allowance.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host, an address or a range of addresses; write for example `registry.internal`, \
     `10.1.2.0/24`, `10.1.2.3:8080`, `[fd00::1]:8080` or `*:8080`"
)]
pub struct InvalidAllowance(String);

impl Allowance {
    pub(crate) fn is_for_port(&self, port: u16) -> bool {
        self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    pub(crate) fn names(&self, host: &RequestHost) -> bool {
        matches!((&self.target, host), (Target::Name(own), RequestHost::Name(name)) if own == name)
    }

    pub(crate) fn covers(&self, host: &RequestHost, address: IpAddr) -> bool {
        match &self.target {
            Target::AnyPublic => true,
            Target::Name(_) => self.names(host),
            Target::Range(range) => range.contains(address.to_canonical()),
        }
    }

    pub(crate) fn is_any_public(&self) -> bool {
        self.target == Target::AnyPublic
    }

    /// Whether an address that is not public may be reached all the same.
    pub(crate) fn lifts(&self, host: &RequestHost, address: IpAddr, kind: AddressKind) -> bool {
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
            Some((target, port)) => (target, Some(self::port(port).ok_or_else(invalid)?)),
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
