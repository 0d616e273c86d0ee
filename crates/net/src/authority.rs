//! Hosts and ports, in one spelling each.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the domain name system allows for a name and for each part of it, in bytes.
const MAX_NAME_LENGTH: usize = 253;
const MAX_LABEL_LENGTH: usize = 63;

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestHost {
    /// In lower case, without a final dot.
    Name(String),
    Address(IpAddr),
}

impl RequestHost {
    /// IPv6 addresses stand in brackets. Other spellings of IPv4 addresses than four decimal numbers
    /// are refused, since programs read them differently.
    pub fn parse(text: &str) -> Option<RequestHost> {
        if let Some(bare) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return Some(RequestHost::Address(bare.parse::<Ipv6Addr>().ok()?.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(RequestHost::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=MAX_LABEL_LENGTH).contains(&label.len())
                && label.bytes().all(is_known)
                && !label.starts_with('-')
        };
        let ends_in_number = name.rsplit('.').next().is_some_and(|last| {
            let hexadecimal = last.strip_prefix("0x");
            last.bytes().all(|byte| byte.is_ascii_digit())
                || hexadecimal.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        });
        let is_name = name.len() <= MAX_NAME_LENGTH && name.split('.').all(is_label);
        (is_name && !ends_in_number).then_some(RequestHost::Name(name))
    }
}

impl fmt::Display for RequestHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestHost::Name(name) => f.write_str(name),
            RequestHost::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            RequestHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host with a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// The name or address.
    pub host: RequestHost,
    /// Never 0.
    pub port: u16,
}

impl Authority {
    /// `HOST:PORT`, or only `HOST` where there is a usual port.
    pub fn parse(text: &str, usual_port: Option<u16>) -> Option<Authority> {
        let (host, port_text) = match text.rsplit_once(':') {
            // The colon belongs to the address.
            Some(_) if text.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = match port_text {
            Some(text) => port(text)?,
            None => usual_port?,
        };
        Some(Authority { host: RequestHost::parse(host)?, port })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A port in decimal digits, which is never 0.
pub(crate) fn port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_spelling() {
        for bad in [
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.0.0.0x1",
            "1.2.3.4.",
            "127.0.0.1.5",
            "[127.0.0.1]",
            "[fe80::1%25lo]",
            "",
            ".",
            "a..b",
            "a b",
            "-a",
            "[::1",
            "x/",
            "ä.org",
            "a:1",
            "0x",
            "foo.0x",
        ] {
            assert_eq!(RequestHost::parse(bad), None, "{bad}");
        }
        assert_eq!(
            RequestHost::parse("[::ffff:127.0.0.1]"),
            Some(RequestHost::Address("::ffff:127.0.0.1".parse().expect("one")))
        );
        assert_eq!(
            RequestHost::parse("My_host-1.Org."),
            Some(RequestHost::Name("my_host-1.org".into()))
        );
    }
}
