//! An address of the web, read once by one parser.

use std::fmt;

use url::Url;

use crate::authority::{Authority, RequestHost};

/// No address is longer.
const MAX_LENGTH: usize = 8 * 1024;

/// An `http` or `https` address without user, password and fragment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebUrl {
    url: Url,
    authority: Authority,
}

/// A text that is not an address of the web, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWebUrl(String);

impl WebUrl {
    /// Reads an address. Numbers that stand for addresses (`2130706433`, `0x7f.1`) become those.
    pub fn parse(text: &str) -> Result<WebUrl, InvalidWebUrl> {
        check_text(text)?;
        let url =
            Url::parse(text).map_err(|error| invalid(format!("it cannot be read: {error}")))?;
        Self::of(url)
    }

    /// The address that a server names relative to this one.
    pub fn join(&self, text: &str) -> Result<WebUrl, InvalidWebUrl> {
        check_text(text)?;
        let url = self.url.join(text);
        Self::of(url.map_err(|error| invalid(format!("it cannot be read: {error}")))?)
    }

    /// A link in a page at this address, with its fragment; none if it is one within the page.
    pub fn join_link(&self, text: &str) -> Option<String> {
        let is_own = text.starts_with('#');
        self.url.join(text).ok().filter(|_| !is_own).map(String::from)
    }

    fn of(mut url: Url) -> Result<WebUrl, InvalidWebUrl> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("only http and https addresses can be fetched"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("an address with a user name or password is not fetched"));
        }
        url.set_fragment(None);
        let host = url.host_str().unwrap_or_default();
        let not_host = || invalid(format!("`{host}` is not a valid host"));
        let host = RequestHost::parse(host).ok_or_else(not_host)?;
        let port = url.port_or_known_default().filter(|port| *port != 0);
        let port = port.ok_or_else(|| invalid("port 0 cannot be reached"))?;
        // One spelling: without the dot that ends a name.
        if let RequestHost::Name(name) = &host {
            let set = url.set_host(Some(name));
            set.map_err(|error| invalid(format!("its host cannot be read: {error}")))?;
        }
        if url.as_str().len() > MAX_LENGTH {
            return Err(invalid(format!("it is longer than {MAX_LENGTH} bytes")));
        }
        Ok(WebUrl { url, authority: Authority { host, port } })
    }

    /// Host and port.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether it is an `https` address.
    pub fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Scheme, host and port, such as `https://docs.rs`.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The path, which begins with `/`.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Another path at the same origin, without a query.
    #[must_use]
    pub fn at_path(&self, path: &str) -> Self {
        let mut other = self.clone();
        other.url.set_path(path);
        other.url.set_query(None);
        other
    }

    /// The fields of the query, as a browser reads them.
    pub fn query_fields(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()))
    }

    /// Adds fields to the query.
    #[must_use]
    pub fn with_query<'a>(mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.url.query_pairs_mut().extend_pairs(fields);
        self
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Fields as the body of a form (`application/x-www-form-urlencoded`).
pub fn form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Parsers drop or rewrite these, so that a reader would see another address than is fetched.
fn check_text(text: &str) -> Result<(), InvalidWebUrl> {
    if text.len() > MAX_LENGTH {
        return Err(invalid(format!("it is longer than {MAX_LENGTH} bytes")));
    }
    let is_hidden = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    match text.chars().find(|c| is_hidden(*c)) {
        Some(c) => Err(invalid(format!("it holds the character {}", c.escape_debug()))),
        None => Ok(()),
    }
}

fn invalid(why: impl Into<String>) -> InvalidWebUrl {
    InvalidWebUrl(why.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        match WebUrl::parse(text) {
            Ok(url) => format!("{url} at {}", url.authority()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_spelling_of_a_host_becomes_one() {
        let table = [
            ("https://Docs.RS/x?q=1#f", "https://docs.rs/x?q=1 at docs.rs:443"),
            ("HTTP://x.org.:80/", "http://x.org/ at x.org:80"),
            ("http://2130706433/", "http://127.0.0.1/ at 127.0.0.1:80"),
            ("http://0x7f000001/", "http://127.0.0.1/ at 127.0.0.1:80"),
            ("http://0177.0.0.1/", "http://127.0.0.1/ at 127.0.0.1:80"),
            ("http://127.1/", "http://127.0.0.1/ at 127.0.0.1:80"),
            ("http://0/", "http://0.0.0.0/ at 0.0.0.0:80"),
            ("http://0xa9fea9fe/", "http://169.254.169.254/ at 169.254.169.254:80"),
            ("http://%31%32%37.0.0.1/", "http://127.0.0.1/ at 127.0.0.1:80"),
            (
                "http://[::ffff:7f00:1]:8080/",
                "http://[::ffff:7f00:1]:8080/ at [::ffff:127.0.0.1]:8080",
            ),
            ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/ at [::1]:80"),
            ("http:x.org", "http://x.org/ at x.org:80"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_could_deceive_is_refused() {
        let table = [
            ("file:///etc/passwd", "only http and https addresses can be fetched"),
            ("gopher://x", "only http and https addresses can be fetched"),
            ("javascript:alert(1)", "only http and https addresses can be fetched"),
            ("http://a@b.org", "an address with a user name or password is not fetched"),
            ("http://a:b@c.org", "an address with a user name or password is not fetched"),
            ("http://x.org\\@y.org", "it holds the character \\\\"),
            ("http://x.org/\r\nHost: y", "it holds the character \\r"),
            ("http://x .org", "it holds the character  "),
            ("http://x\t.org", "it holds the character \\t"),
            ("http://x.org/\0", "it holds the character \\0"),
            ("http://x.org:0/", "port 0 cannot be reached"),
            ("http://x.org:65536/", "it cannot be read: invalid port number"),
            ("http://", "it cannot be read: empty host"),
            ("/relative", "it cannot be read: relative URL without a base"),
            ("http://256.256.256.256/", "it cannot be read: invalid IPv4 address"),
            ("http://[fe80::1%25eth0]/", "it cannot be read: invalid IPv6 address"),
            ("http://-x.org/", "`-x.org` is not a valid host"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(WebUrl::parse(&format!("http://x.org/{}", "a".repeat(MAX_LENGTH))).is_err());
    }

    #[test]
    fn a_redirect_is_read_as_strictly() {
        let from = WebUrl::parse("https://x.org/a/b?q").expect("an address");
        let joined = |text: &str| from.join(text).map(|url| url.to_string());
        assert_eq!(joined("../c"), Ok("https://x.org/c".into()));
        assert_eq!(joined("//y.org/z"), Ok("https://y.org/z".into()));
        assert_eq!(joined("http://2130706433/"), Ok("http://127.0.0.1/".into()));
        assert!(joined("//u@y.org").is_err() && joined("file:///x").is_err());
    }

    proptest! {
        /// What is read once is the same when it is read again, so what is shown is what is fetched.
        #[test]
        fn reading_is_stable(text in "https?://[a-z0-9.\\[\\]:@%/?#&=+äß-]{1,40}") {
            if let Ok(url) = WebUrl::parse(&text) {
                prop_assert_eq!(WebUrl::parse(url.as_str()), Ok(url.clone()));
                prop_assert!(url.as_str().is_ascii());
            }
        }
    }
}
