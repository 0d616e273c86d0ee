//! Brings up the loopback device of a fresh network namespace, so that programs may talk to
//! themselves.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::error::{During as _, EntryError};
use crate::plan::SandboxPart;

/// Of rtnetlink: the request to change a device, and the flag that switches it on.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const IFF_UP: u32 = 1;
/// The loopback device is always the first.
const LOOPBACK_INDEX: u32 = 1;
/// A header of 16 bytes and a link message of 16.
const LENGTH: usize = 32;

/// Sets the device up. The kernel gives it its addresses.
pub(super) fn bring_up() -> Result<(), EntryError> {
    let part = SandboxPart::Namespaces;
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // The first of the netlink protocols is the one for devices and routes.
        None,
    )
    .during(part, "opening a netlink socket")?;
    rustix::net::sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
        .during(part, "bringing up loopback")?;
    let mut answer = [0_u8; 256];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty())
        .during(part, "bringing up loopback")?;
    // The answer is an error message whose number, after its header, is 0 if all is well.
    let number = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    match number {
        0 => Ok(()),
        _ => Err(EntryError::new(part, "bringing up loopback", Some(-number))),
    }
}

fn request() -> [u8; LENGTH] {
    let mut message = [0; LENGTH];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        message[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&(LENGTH as u32).to_ne_bytes());
    put(&RTM_NEWLINK.to_ne_bytes());
    put(&(NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    put(&1_u32.to_ne_bytes());
    put(&0_u32.to_ne_bytes());
    // Family, padding and type are for the kernel to know.
    put(&0_u32.to_ne_bytes());
    put(&LOOPBACK_INDEX.to_ne_bytes());
    put(&IFF_UP.to_ne_bytes());
    put(&IFF_UP.to_ne_bytes());
    message
}
