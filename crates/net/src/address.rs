//! Which addresses belong to the public Internet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why an address is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum AddressKind {
    /// `0.0.0.0/8` and `::`.
    #[strum(to_string = "an unspecified address")]
    Unspecified,
    /// The machine itself.
    #[strum(to_string = "a loopback address")]
    Loopback,
    /// Public, and of this machine.
    #[strum(to_string = "an address of this machine")]
    OwnMachine,
    /// The machines on the same link.
    #[strum(to_string = "a link-local address")]
    LinkLocal,
    /// Where clouds tell machines their credentials.
    #[strum(to_string = "the address of a metadata service")]
    Metadata,
    /// Many machines.
    #[strum(to_string = "a multicast address")]
    Multicast,
    /// All machines on the link.
    #[strum(to_string = "a broadcast address")]
    Broadcast,
    /// RFC 1918, and its old counterpart in IPv6.
    #[strum(to_string = "an address of a private network")]
    Private,
    /// RFC 6598.
    #[strum(to_string = "an address of a carrier's private network")]
    SharedByCarrier,
    /// RFC 4193.
    #[strum(to_string = "a unique local address")]
    UniqueLocal,
    /// Means nothing outside of books.
    #[strum(to_string = "an address for documentation")]
    Documentation,
    /// RFC 2544 and RFC 5180.
    #[strum(to_string = "an address for benchmarks")]
    Benchmarking,
    /// Holds an IPv4 address that another machine would take out.
    #[strum(to_string = "an address that stands for an IPv4 address")]
    Translated,
    /// For nothing yet, or no longer.
    #[strum(to_string = "a reserved address")]
    Reserved,
}

impl AddressKind {
    /// Whether a user who allows a name allows it to lead to such an address. The machine itself and
    /// its neighbours on the link have to be allowed by address: a name server must not choose them.
    pub(crate) fn is_allowed_by_name(self) -> bool {
        use AddressKind::{Benchmarking, Documentation, Private, SharedByCarrier, UniqueLocal};
        matches!(self, Private | SharedByCarrier | UniqueLocal | Documentation | Benchmarking)
    }
}

/// Addresses with a common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    start: IpAddr,
    bits: u8,
}

impl AddressRange {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> AddressRange {
        AddressRange { start: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(a: u16, b: u16, c: u16, bits: u8) -> AddressRange {
        AddressRange { start: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), bits }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        match (self.start, address) {
            (IpAddr::V4(start), IpAddr::V4(address)) => {
                let differing = start.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V6(start), IpAddr::V6(address)) => {
                let differing = start.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.bits.into()
            }
            _ => false,
        }
    }
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> AddressRange {
        let start = address.to_canonical();
        AddressRange { start, bits: if start.is_ipv4() { 32 } else { 128 } }
    }
}

/// `ADDRESS` or `ADDRESS/BITS`.
impl FromStr for AddressRange {
    type Err = ();

    fn from_str(text: &str) -> Result<AddressRange, ()> {
        let Some((start, bits)) = text.split_once('/') else {
            return text.parse::<IpAddr>().map(AddressRange::from).map_err(drop);
        };
        let whole = AddressRange::from(start.parse::<IpAddr>().map_err(drop)?);
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits: u8 = bits.parse().map_err(drop)?;
        let is_plain = start.parse() == Ok(whole.start);
        if is_number && is_plain && bits <= whole.bits {
            Ok(AddressRange { bits, ..whole })
        } else {
            Err(())
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if AddressRange::from(self.start) == *self {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}/{}", self.start, self.bits)
        }
    }
}

/// What of IPv4 is not public. The first range that contains an address tells its kind.
const V4: [(AddressRange, AddressKind); 19] = [
    (AddressRange::v4(169, 254, 169, 254, 32), AddressKind::Metadata),
    (AddressRange::v4(168, 63, 129, 16, 32), AddressKind::Metadata),
    (AddressRange::v4(100, 100, 100, 200, 32), AddressKind::Metadata),
    (AddressRange::v4(192, 0, 0, 192, 32), AddressKind::Metadata),
    (AddressRange::v4(0, 0, 0, 0, 8), AddressKind::Unspecified),
    (AddressRange::v4(10, 0, 0, 0, 8), AddressKind::Private),
    (AddressRange::v4(100, 64, 0, 0, 10), AddressKind::SharedByCarrier),
    (AddressRange::v4(127, 0, 0, 0, 8), AddressKind::Loopback),
    (AddressRange::v4(169, 254, 0, 0, 16), AddressKind::LinkLocal),
    (AddressRange::v4(172, 16, 0, 0, 12), AddressKind::Private),
    (AddressRange::v4(192, 0, 0, 0, 24), AddressKind::Reserved),
    (AddressRange::v4(192, 0, 2, 0, 24), AddressKind::Documentation),
    (AddressRange::v4(192, 88, 99, 0, 24), AddressKind::Reserved),
    (AddressRange::v4(192, 168, 0, 0, 16), AddressKind::Private),
    (AddressRange::v4(198, 18, 0, 0, 15), AddressKind::Benchmarking),
    (AddressRange::v4(198, 51, 100, 0, 24), AddressKind::Documentation),
    (AddressRange::v4(203, 0, 113, 0, 24), AddressKind::Documentation),
    (AddressRange::v4(224, 0, 0, 0, 4), AddressKind::Multicast),
    (AddressRange::v4(255, 255, 255, 255, 32), AddressKind::Broadcast),
];

/// After these, what is not in 2000::/3 is not public either.
const V6: [(AddressRange, AddressKind); 11] = [
    (AddressRange::v6(0x64, 0xff9b, 1, 48), AddressKind::Translated),
    (AddressRange::v6(0x2001, 0xdb8, 0, 32), AddressKind::Documentation),
    (AddressRange::v6(0x3fff, 0, 0, 20), AddressKind::Documentation),
    (AddressRange::v6(0x2001, 2, 0, 48), AddressKind::Benchmarking),
    // Teredo.
    (AddressRange::v6(0x2001, 0, 0, 32), AddressKind::Translated),
    (AddressRange::v6(0x2001, 0, 0, 23), AddressKind::Reserved),
    // 6to4.
    (AddressRange::v6(0x2002, 0, 0, 16), AddressKind::Translated),
    (AddressRange::v6(0xfc00, 0, 0, 7), AddressKind::UniqueLocal),
    (AddressRange::v6(0xfe80, 0, 0, 10), AddressKind::LinkLocal),
    (AddressRange::v6(0xfec0, 0, 0, 10), AddressKind::Private),
    (AddressRange::v6(0xff00, 0, 0, 8), AddressKind::Multicast),
];

const V6_METADATA: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];
const V6_PUBLIC: AddressRange = AddressRange::v6(0x2000, 0, 0, 3);
/// The well-known prefix by which networks without IPv4 reach it.
const NAT64: AddressRange = AddressRange::v6(0x64, 0xff9b, 0, 96);
/// IPv4-compatible addresses, which nothing uses any more.
const COMPATIBLE: AddressRange = AddressRange::v6(0, 0, 0, 96);
const V4_RESERVED: AddressRange = AddressRange::v4(240, 0, 0, 0, 4);

/// Why an address is not public; nothing if it is.
pub fn judge(address: IpAddr) -> Option<AddressKind> {
    let address = address.to_canonical();
    let listed = |table: &[(AddressRange, AddressKind)]| {
        table.iter().find(|(range, _)| range.contains(address)).map(|(_, kind)| *kind)
    };
    match address {
        IpAddr::V4(_) => {
            listed(&V4).or_else(|| V4_RESERVED.contains(address).then_some(AddressKind::Reserved))
        }
        IpAddr::V6(v6) if v6.is_unspecified() => Some(AddressKind::Unspecified),
        IpAddr::V6(v6) if v6.is_loopback() => Some(AddressKind::Loopback),
        IpAddr::V6(v6) if V6_METADATA.contains(&v6) => Some(AddressKind::Metadata),
        IpAddr::V6(v6) if NAT64.contains(address) => judge(embedded(v6).into()),
        IpAddr::V6(v6) if COMPATIBLE.contains(address) => {
            judge(embedded(v6).into()).or(Some(AddressKind::Translated))
        }
        IpAddr::V6(_) => {
            let outside = || (!V6_PUBLIC.contains(address)).then_some(AddressKind::Reserved);
            listed(&V6).or_else(outside)
        }
    }
}

/// The IPv4 address in the last bits.
fn embedded(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(text: &str) -> String {
        let address = text.parse().expect("an address");
        judge(address).map_or("public".to_owned(), |kind| format!("{kind:?}"))
    }

    #[test]
    fn every_special_range_is_known_at_both_ends() {
        let cases = [
            ("Unspecified", "0.0.0.0 0.255.255.255 :: ::ffff:0.0.0.0 64:ff9b::0.0.0.0"),
            (
                "Loopback",
                "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::127.0.0.1 ::127.0.0.1",
            ),
            ("LinkLocal", "169.254.0.0 169.254.255.255 fe80:: febf:ffff::1 ::ffff:169.254.1.1"),
            (
                "Metadata",
                "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 \
                 fd20:ce::254 ::ffff:169.254.169.254 64:ff9b::169.254.169.254",
            ),
            ("Multicast", "224.0.0.0 239.255.255.255 ff00:: ff02::1 ffff:ffff::"),
            ("Broadcast", "255.255.255.255 ::ffff:255.255.255.255"),
            (
                "Private",
                "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 \
                 fec0:: feff::1 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::10.0.0.1",
            ),
            ("SharedByCarrier", "100.64.0.0 100.127.255.255"),
            ("UniqueLocal", "fc00:: fdff:ffff::1"),
            (
                "Documentation",
                "192.0.2.0 198.51.100.255 203.0.113.1 2001:db8:: 2001:db8:ffff::1 3fff:: 3fff:fff::1",
            ),
            ("Benchmarking", "198.18.0.0 198.19.255.255 2001:2::1"),
            (
                "Translated",
                "64:ff9b:1:: 64:ff9b:1:ffff::8.8.8.8 2001::1 2002:: 2002:808:808::1 ::8.8.8.8",
            ),
            (
                "Reserved",
                "192.0.0.1 192.88.99.1 240.0.0.0 255.255.255.254 2001:1::1 2001:1ff:ffff::1 100::1 \
                 4000::1 1fff:ffff::1 5f00::1 0:0:1::",
            ),
            (
                "public",
                "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
                 128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 \
                 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 \
                 2001:200::1 2606:4700::1 2a00::1 3ffe::1 64:ff9b::8.8.8.8 ::ffff:8.8.8.8",
            ),
        ];
        for (expected, addresses) in cases {
            for address in addresses.split_whitespace() {
                assert_eq!(kind(address), expected, "{address}");
            }
        }
    }

    #[test]
    fn ranges_are_read_strictly() {
        for good in ["10.0.0.0/8", "10.1.2.3", "fd00::/8", "::1", "0.0.0.0/0", "10.1.2.3/24"] {
            let range: AddressRange = good.parse().expect(good);
            assert_eq!(range.to_string(), good);
        }
        for bad in [
            "10.0.0.0/33",
            "10.0.0/8",
            "fd00::/129",
            "x",
            "",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "/8",
            "010.0.0.1",
            "::ffff:10.0.0.0/104",
            "fe80::1%eth0",
        ] {
            assert!(bad.parse::<AddressRange>().is_err(), "{bad}");
        }
        let range: AddressRange = "10.1.2.3/24".parse().expect("a range");
        assert!(range.contains(Ipv4Addr::new(10, 1, 2, 255).into()));
        assert!(!range.contains(Ipv4Addr::new(10, 1, 3, 0).into()));
        let all: AddressRange = "0.0.0.0/0".parse().expect("a range");
        assert!(
            all.contains(Ipv4Addr::new(1, 1, 1, 1).into())
                && !all.contains(Ipv6Addr::LOCALHOST.into())
        );
    }

    proptest! {
        /// However an IPv4 address is wrapped, it is never less restricted than it is itself.
        #[test]
        fn a_wrapped_address_is_not_more_public(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = v4.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            let wrapped = [
                v4.to_ipv6_mapped(),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, !high, !low),
            ];
            for address in wrapped {
                prop_assert!(judge(v4.into()).is_none() || judge(address.into()).is_some(), "{address}");
            }
        }
    }
}
