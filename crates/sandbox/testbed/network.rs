//! Attempts of a command that may use the network to reach more than the public Internet.
#![allow(unsafe_code, reason = "a raw socket has no safe wrapper; being refused is safe")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::sync::Mutex;

use net::NameResolver;

use crate::attempts::Attempted;
use crate::escapes::say;

pub(crate) fn make(name: &str, arguments: &[&str]) -> Option<Attempted> {
    Some(match (name, arguments) {
        ("proxy", []) => proxy().map(drop),
        ("through-proxy", [authority]) => through_proxy(authority).map(drop),
        ("download", [authority]) => download(authority),
        ("raw-socket", []) => socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        ("packet-socket", []) => socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
        ("look-up", [name]) => {
            let found = std::net::ToSocketAddrs::to_socket_addrs(&(*name, 80));
            found.map(drop).map_err(|error| error.to_string())
        }
        _ => return None,
    })
}

/// The proxy, as the environment tells of it.
fn proxy() -> Result<TcpStream, String> {
    let told = std::env::var("HTTPS_PROXY").map_err(|error| error.to_string())?;
    let address = told.strip_prefix("http://").ok_or("it is not an HTTP proxy")?;
    TcpStream::connect(address).map_err(|error| error.to_string())
}

/// A tunnel to somewhere, through which a line comes.
fn through_proxy(authority: &str) -> Result<TcpStream, String> {
    let mut stream = proxy()?;
    let request = format!("CONNECT {authority} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = String::new();
    let mut byte = [0];
    while !answer.ends_with("\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        answer.push(byte[0].into());
    }
    if answer.starts_with("HTTP/1.1 200 ") {
        return Ok(stream);
    }
    let mut why = String::new();
    let _ = stream.read_to_string(&mut why);
    Err(format!("{} {why}", answer.lines().next().unwrap_or("no answer")))
}

/// Says when the first byte has come, and reads to the end.
fn download(authority: &str) -> Attempted {
    let mut stream = through_proxy(authority)?;
    let mut buffer = [0; 4096];
    let mut total = 0;
    loop {
        match stream.read(&mut buffer).map_err(|error| error.to_string())? {
            0 => break,
            count if total == 0 => {
                say("begun");
                total += count;
            }
            count => total += count,
        }
    }
    say(&format!("{total} bytes"));
    Ok(())
}

fn socket(family: i32, kind: i32, protocol: i32) -> Attempted {
    // SAFETY: the call takes three numbers.
    match unsafe { libc::socket(family, kind, protocol) } {
        -1 => Err(std::io::Error::last_os_error().to_string()),
        _ => Ok(()),
    }
}

/// Names with what they resolve to, one answer after the other; the last one stays.
#[derive(Debug)]
pub(crate) struct Names(pub(crate) Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>);

impl NameResolver for Names {
    fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().map_err(|_| ErrorKind::Other)?;
        let answers = names.get_mut(name).ok_or(ErrorKind::NotFound)?;
        let next = answers.first().cloned().unwrap_or_default();
        if answers.len() > 1 {
            answers.remove(0);
        }
        Ok(next)
    }
}
