//! What a client of the proxy asks for: the head of an HTTP request, read strictly.

use net::Authority;

/// Of an address without a port.
const HTTP_PORT: u16 = 80;

/// Headers that are meant for the next machine only, and that we say ourselves.
const NOT_PASSED_ON: [&str; 9] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// A request, without its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) authority: Authority,
    pub(super) wants: Wants<'a>,
}

/// What is to be done with the connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wants<'a> {
    /// Nothing but bytes, back and forth.
    Tunnel,
    /// A request to be passed on.
    Plain(Plain<'a>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain<'a> {
    method: &'a str,
    path: &'a str,
    version: &'a str,
    headers: Vec<(&'a str, &'a str)>,
}

/// Who reads a request that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Server,
    /// Another proxy.
    Proxy,
}

/// How a body says where it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    Bytes(u64),
    /// In some way that is not a number of bytes.
    Other,
}

impl<'a> Request<'a> {
    /// Reads a head, up to and with its empty line. Nothing if it is malformed.
    pub(super) fn parse(head: &'a [u8]) -> Option<Request<'a>> {
        let head = std::str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?;
        let is_text =
            |line: &str| !line.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
        let mut lines = head.split("\r\n");
        let mut words = lines.next().filter(|line| is_text(line))?.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        if !is_token(method) || !["HTTP/1.0", "HTTP/1.1"].contains(&version) {
            return None;
        }
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').filter(|_| is_text(line))?;
            is_token(name).then_some((name, value.trim_matches([' ', '\t'])))
        });
        let headers: Vec<_> = headers.collect::<Option<_>>()?;
        if method == "CONNECT" {
            return Some(Request {
                authority: Authority::parse(target, None)?,
                wants: Wants::Tunnel,
            });
        }
        let (scheme, rest) = target.split_at_checked("http://".len())?;
        if !scheme.eq_ignore_ascii_case("http://") {
            return None;
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = Authority::parse(authority, Some(HTTP_PORT))?;
        let plain = Plain { method, path, version, headers };
        Some(Request { authority, wants: Wants::Plain(plain) })
    }
}

impl Plain<'_> {
    /// The head to be passed on. The connection ends with the answer: a second request could ask for
    /// another host.
    pub(super) fn head(&self, authority: &Authority, route: Route) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        let host = match authority.port {
            HTTP_PORT => authority.host.to_string(),
            _ => authority.to_string(),
        };
        let scheme = match route {
            Route::Server => String::new(),
            Route::Proxy => format!("http://{host}"),
        };
        let (method, path, version) = (self.method, self.path, self.version);
        let mut head = format!("{method} {scheme}{slash}{path} {version}\r\nHost: {host}\r\n");
        let kept = self.headers.iter().filter(|(name, _)| {
            !NOT_PASSED_ON.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
        });
        for (name, value) in kept {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("Connection: close\r\n\r\n");
        head
    }

    /// Where the body ends; nothing if the request contradicts itself.
    pub(super) fn body(&self) -> Option<BodyLength> {
        let named = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
        let mut lengths = self.headers.iter().filter(|(name, _)| named(name, "content-length"));
        if self.headers.iter().any(|(name, _)| named(name, "transfer-encoding")) {
            return lengths.next().is_none().then_some(BodyLength::Other);
        }
        match (lengths.next(), lengths.next()) {
            (None, _) => Some(BodyLength::Bytes(0)),
            (Some((_, text)), None) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().ok().map(BodyLength::Bytes)
            }
            _ => None,
        }
    }
}

fn is_token(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_known)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Option<Request<'_>> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn tunnels_and_plain_requests_are_understood() {
        let tunnel =
            parse("CONNECT X.org:443 HTTP/1.1\r\nHost: y.org:443\r\n\r\n").expect("a request");
        assert_eq!(
            (tunnel.authority.to_string().as_str(), tunnel.wants),
            ("x.org:443", Wants::Tunnel)
        );
        let text = "POST http://x.org:81?q=1 HTTP/1.1\r\nHOST: y.org\r\nProxy-Connection: keep-alive\r\n\
                    Proxy-Authorization: Basic x\r\nAccept:\t*/*\r\nContent-Length: 5\r\n\r\n";
        let request = parse(text).expect("a request");
        let Wants::Plain(plain) = &request.wants else { panic!("{request:?}") };
        assert_eq!(plain.body(), Some(BodyLength::Bytes(5)));
        let end = "Accept: */*\r\nContent-Length: 5\r\n";
        let direct =
            format!("POST /?q=1 HTTP/1.1\r\nHost: x.org:81\r\n{end}Connection: close\r\n\r\n");
        assert_eq!(plain.head(&request.authority, Route::Server), direct);
        let through = plain.head(&request.authority, Route::Proxy);
        let expected = direct.replace("POST /", "POST http://x.org:81/");
        assert_eq!(through, expected);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let start = "GET http://x.org/ HTTP/1.1\r\n";
        for headers in ["A : b", "A", " folded", "A: b\rc", "A: \0", ": x", "A: b\nC: d", "A\t: b"]
        {
            assert_eq!(parse(&format!("{start}{headers}\r\n\r\n")), None, "{headers:?}");
        }
        for line in [
            "GET / HTTP/1.1",
            "GET https://x.org/ HTTP/1.1",
            "GET http://x.org/",
            "CONNECT x.org HTTP/1.1",
            "CONNECT x.org:443 HTTP/2",
            "CONNECT x.org:0 HTTP/1.1",
            "CONNECT x.org:+80 HTTP/1.1",
            "CONNECT ::1:80 HTTP/1.1",
            "CONNECT [::1]80 HTTP/1.1",
            "GET http://a@x.org/ HTTP/1.1",
            "GET  http://x.org/ HTTP/1.1",
            "G(T http://x.org/ HTTP/1.1",
            "CONNECT http://x.org:80 HTTP/1.1",
            "GET http://x.org\\@y.org/ HTTP/1.1",
            "GET http:///x HTTP/1.1",
            "GET http://x.org#y/ HTTP/1.1",
        ] {
            assert_eq!(parse(&format!("{line}\r\n\r\n")), None, "{line}");
        }
        for headers in [
            "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: 1, 1",
            "Content-Length: +1",
            "Content-Length: ",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
        ] {
            let text = format!("{start}{headers}\r\n\r\n");
            let Some(Request { wants: Wants::Plain(plain), .. }) = parse(&text) else {
                panic!("{text}")
            };
            assert_eq!(plain.body(), None, "{headers}");
        }
    }

    proptest! {
        #[test]
        fn no_head_ends_us(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Request::parse(&[&bytes[..], b"\r\n\r\n"].concat());
        }

        /// Whatever a client writes into a head, the one that is passed on has one empty line: its
        /// end.
        #[test]
        fn nothing_slips_into_the_next_request(value in ".{0,40}", path in "[!-~]{0,20}") {
            let text = format!("GET http://x.org/{path} HTTP/1.1\r\nA: {value}\r\n\r\n");
            if let Some(Request { authority, wants: Wants::Plain(plain) }) = parse(&text) {
                let head = plain.head(&authority, Route::Server);
                prop_assert_eq!(head.find("\r\n\r\n"), Some(head.len() - 4));
                prop_assert_eq!(head.matches('\n').count(), head.matches("\r\n").count());
            }
        }
    }
}
