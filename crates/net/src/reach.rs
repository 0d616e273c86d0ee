//! Where a connection may lead.

use std::net::IpAddr;

use crate::address::{AddressKind, judge};
use crate::allowance::{Allowance, USUAL_PORTS};
use crate::authority::{Authority, RequestHost};

/// What may be connected to. It is asked about every address that a name stands for, before any of
/// them is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses, on the ports of HTTP and HTTPS.
    Public,
    /// Those, and what the user allows besides.
    Besides(Vec<Allowance>),
    /// Only these servers, wherever they are: the user's configuration names them.
    Named(Vec<Authority>),
}

impl Reach {
    /// Judges one address that `host` stands for. `is_own` says that it is one of this machine's.
    /// The error is the reason, as a part of a sentence.
    pub fn judge(
        &self,
        host: &RequestHost,
        address: IpAddr,
        port: u16,
        is_own: bool,
    ) -> Result<(), String> {
        if let Reach::Named(servers) = self {
            return is_among(servers, host, port);
        }
        let kind = judge(address).or(is_own.then_some(AddressKind::OwnMachine));
        let mut allowed = self.allowed(port);
        match kind {
            None if USUAL_PORTS.contains(&port) => Ok(()),
            None if allowed.any(|one| one.covers(host, address)) => Ok(()),
            None => Err(wrong_port(port)),
            Some(kind) if allowed.any(|one| one.lifts(host, address, kind)) => Ok(()),
            Some(kind) => Err(format!("{address} is {kind}")),
        }
    }

    /// Judges a host that a proxy resolves: an address as above, and a name by its form.
    pub fn judge_unresolved(&self, host: &RequestHost, port: u16) -> Result<(), String> {
        if let Reach::Named(servers) = self {
            return is_among(servers, host, port);
        }
        let name = match host {
            RequestHost::Address(address) => return self.judge(host, *address, port, false),
            RequestHost::Name(name) => name,
        };
        if self.allowed(port).any(|one| one.names(host)) {
            return Ok(());
        }
        if is_local_name(name) {
            return Err(format!("`{name}` is a name of a private network"));
        }
        let any_public = self.allowed(port).any(Allowance::is_any_public);
        if USUAL_PORTS.contains(&port) || any_public { Ok(()) } else { Err(wrong_port(port)) }
    }

    fn allowed(&self, port: u16) -> impl Iterator<Item = &Allowance> {
        let all = match self {
            Reach::Besides(all) => all.as_slice(),
            Reach::Public | Reach::Named(_) => &[],
        };
        all.iter().filter(move |one| one.is_for_port(port))
    }
}

fn is_among(servers: &[Authority], host: &RequestHost, port: u16) -> Result<(), String> {
    if servers.iter().any(|server| server.host == *host && server.port == port) {
        return Ok(());
    }
    Err(format!("`{host}:{port}` is not the configured server"))
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

    fn rules(allow: &[&str]) -> Reach {
        match allow {
            [] => Reach::Public,
            _ => Reach::Besides(
                allow.iter().map(|text| text.parse().expect("an allowance")).collect(),
            ),
        }
    }

    fn verdict(allow: &[&str], host: &str, address: &str, port: u16) -> String {
        let host = RequestHost::parse(host).expect("a host");
        let judged = rules(allow).judge(&host, address.parse().expect("an address"), port, false);
        judged.err().unwrap_or_else(|| "allowed".to_owned())
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

    #[test]
    fn a_server_that_the_user_names_is_reached_wherever_it_is_and_no_other() {
        let named = Reach::Named(vec![Authority::parse("box:11434", None).expect("a server")]);
        let judge = |host: &str, address: &str, port| {
            let host = RequestHost::parse(host).expect("a host");
            named.judge(&host, address.parse().expect("an address"), port, true).is_ok()
        };
        assert!(judge("box", "127.0.0.1", 11434) && judge("BOX.", "10.0.0.1", 11434));
        assert!(!judge("box", "127.0.0.1", 80) && !judge("other", "8.8.8.8", 11434));
        let host = RequestHost::parse("box").expect("a host");
        assert!(named.judge_unresolved(&host, 11434).is_ok());
        assert!(named.judge_unresolved(&host, 443).is_err());
    }
}
