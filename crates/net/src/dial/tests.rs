use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;

/// Gives other addresses each time it is asked, as an attacker's name server does.
#[derive(Debug)]
struct Rebinding(Mutex<VecDeque<Vec<IpAddr>>>);

impl Rebinding {
    fn dialer(answers: &[&[&str]]) -> (Dialer, Arc<Rebinding>) {
        let parse = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|all| all.iter().map(parse).collect()).collect();
        let resolver = Arc::new(Rebinding(Mutex::new(answers)));
        (Dialer::new(resolver.clone()), resolver)
    }

    fn left(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }
}

impl NameResolver for Rebinding {
    fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(self.0.lock().expect("no panic").pop_front().unwrap_or_default())
    }
}

fn dial(dialer: &Dialer, host: &str, port: u16, reach: &Reach) -> Result<SocketAddr, NotReached> {
    let authority = Authority { host: RequestHost::parse(host).expect("a host"), port };
    let signal = Signal::new().expect("a signal");
    let deadline = Instant::now() + Duration::from_secs(20);
    let socket = dialer.dial(&authority, reach, &signal, deadline)?;
    Ok(socket.peer_addr().expect("it is connected"))
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

fn besides(allow: &str) -> Reach {
    Reach::Besides(vec![allow.parse().expect("an allowance")])
}

#[test]
fn a_name_is_resolved_once_and_the_judged_address_is_dialled() {
    let (_listener, port) = listener();
    let reach = besides(&format!("127.0.0.1:{port}"));
    let (dialer, resolver) = Rebinding::dialer(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let reached = dial(&dialer, "x.org", port, &reach).expect("it is allowed");
    assert_eq!(reached, SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    assert_eq!(resolver.left(), 1, "asked once");
    let refused = dial(&dialer, "x.org", port, &reach).expect_err("it is not allowed");
    let why = "169.254.169.254 is the address of a metadata service";
    assert_eq!(refused, NotReached::Refused(why.into()));
}

#[test]
fn one_refused_address_among_many_refuses_the_name() {
    let (_listener, port) = listener();
    let reach = besides(&format!("127.0.0.1:{port}"));
    let mixed: &[&str] = &["127.0.0.1", "::ffff:10.0.0.1", "127.0.0.1"];
    let (dialer, _) = Rebinding::dialer(&[mixed, &["127.0.0.1", "127.0.0.1"]]);
    let refused = dial(&dialer, "x.org", port, &reach).expect_err("one of them is private");
    let why = "::ffff:10.0.0.1 is an address of a private network";
    assert_eq!(refused, NotReached::Refused(why.into()));
    assert!(dial(&dialer, "x.org", port, &reach).is_ok());
}

#[test]
fn a_name_without_addresses_and_a_closed_port_are_failures() {
    let (dialer, _) = Rebinding::dialer(&[&[]]);
    let failed = dial(&dialer, "x.org", 443, &Reach::Public);
    assert_eq!(failed, Err(NotReached::Failed("`x.org` has no address".into())));
    let (listener, port) = listener();
    drop(listener);
    let reach = besides(&format!("127.0.0.1:{port}"));
    let failed = dial(&Dialer::default(), "127.0.0.1", port, &reach).expect_err("it is closed");
    assert!(matches!(&failed, NotReached::Failed(why) if why.contains("refused")), "{failed:?}");
}

#[test]
fn an_address_that_refuses_does_not_hide_the_next() {
    let (_listener, port) = listener();
    let reach = besides(&format!("127.0.0.0/8:{port}"));
    let (dialer, _) = Rebinding::dialer(&[&["127.0.0.2", "127.0.0.3", "127.0.0.1"]]);
    let reached = dial(&dialer, "x.org", port, &reach).expect("the third answers");
    assert_eq!(reached.ip(), IpAddr::from(Ipv4Addr::LOCALHOST));
}

#[test]
fn an_attempt_that_is_no_longer_wanted_ends() {
    let (dialer, _) = Rebinding::dialer(&[]);
    let authority = Authority::parse("127.0.0.1:1", None).expect("an authority");
    let ended = Signal::new().expect("a signal");
    ended.give();
    let authority = Authority { host: RequestHost::Name("x.org".into()), ..authority };
    let deadline = Instant::now() + Duration::from_secs(20);
    let stopped = dialer.dial(&authority, &Reach::Public, &ended, deadline);
    assert_eq!(stopped.expect_err("it is stopped"), NotReached::Stopped(Stop::Ended));
}

#[test]
fn the_two_families_take_turns() {
    let parse = |text: &str| text.parse::<IpAddr>().expect("an address");
    let all = ["::1", "::2", "::3", "1.1.1.1", "1.1.1.2"].map(parse);
    assert_eq!(in_turns(all.to_vec()), ["::1", "1.1.1.1", "::2", "1.1.1.2", "::3"].map(parse));
    assert_eq!(in_turns(Vec::new()), Vec::<IpAddr>::new());
}

#[test]
fn an_address_of_this_machine_is_known_by_where_packets_to_it_come_from() {
    for (address, expected) in
        [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false)]
    {
        assert_eq!(is_own(address.parse().expect("an address")), expected, "{address}");
    }
}

/// Addresses around the ranges that matter, wrapped or not.
fn any_address() -> impl Strategy<Value = IpAddr> {
    let near = prop::sample::select(vec![
        0x0000_0000_u32,
        0x0a00_0000,
        0x6440_0000,
        0x7f00_0000,
        0xa9fe_0000,
        0xac10_0000,
        0xc0a8_0000,
        0xe000_0000,
        0xf000_0000,
        0xffff_ff00,
    ]);
    let v4 = prop_oneof![
        any::<u32>(),
        (near, any::<u16>()).prop_map(|(start, more)| start.wrapping_add(more.into()))
    ];
    let v4 = v4.prop_map(Ipv4Addr::from_bits);
    let v6 = any::<u128>().prop_map(std::net::Ipv6Addr::from_bits);
    prop_oneof![
        v4.clone().prop_map(IpAddr::from),
        v4.prop_map(|v4| v4.to_ipv6_mapped().into()),
        v6.prop_map(IpAddr::from),
    ]
}

/// Whether an address is global unicast, written down a second time and from other sources: the
/// registries of IANA, as the standard library knows them.
fn is_global(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.is_documentation()
                || v4.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (18..20).contains(&b))
                || (a, b, c) == (192, 0, 0))
        }
        IpAddr::V6(v6) => {
            let [a, b, ..] = v6.segments();
            a & 0xe000 == 0x2000 && (a, b) != (0x2001, 0xdb8) && a != 0x2002
        }
    }
}

proptest! {
    /// Whatever a name server says, nothing but global unicast is dialled: every other address is
    /// refused before a socket is made.
    #[test]
    fn no_address_outside_global_unicast_is_dialled(
        addresses in prop::collection::vec(any_address(), 1..6), port in any::<u16>(),
    ) {
        let host = RequestHost::Name("x.org".into());
        let judged = |address: &IpAddr| Reach::Public.judge(&host, *address, port, false);
        for address in &addresses {
            let nat64 = matches!(address, IpAddr::V6(v6) if v6.segments()[0] == 0x64);
            if judged(address).is_ok() && !nat64 {
                prop_assert!(is_global(*address), "{address}");
            }
        }
        // The dialler itself, with a deadline that is over: it judges before it waits.
        if addresses.iter().any(|address| judged(address).is_err()) {
            let resolver = Rebinding(Mutex::new([addresses].into()));
            let refused = dial(&Dialer::new(Arc::new(resolver)), "x.org", port.max(1), &Reach::Public);
            prop_assert!(matches!(refused, Err(NotReached::Refused(_))), "{refused:?}");
        }
    }
}
