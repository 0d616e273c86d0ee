//! Paths as `file://` addresses, and back.

use std::fmt::Write as _;

const SCHEME: &str = "file://";

/// The address of an absolute path, with everything escaped that could mean something else.
pub(crate) fn of_path(path: &str) -> String {
    let mut uri = SCHEME.to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

/// The absolute path of an address on this machine.
pub(crate) fn to_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(SCHEME)?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? * 16 + hex(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains('\0'))
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

/// What stands below `root`; none if the path is elsewhere.
pub(crate) fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_path() {
        for path in ["/", "/a/b.rs", "/a b/ü#?%25.txt", "/a\nb"] {
            assert_eq!(to_path(&of_path(path)).as_deref(), Some(path));
        }
        assert_eq!(of_path("/a b/%.rs"), "file:///a%20b/%25.rs");
        assert_eq!(to_path("file://localhost/a").as_deref(), Some("/a"));
    }

    #[test]
    fn what_is_not_a_path_of_this_machine_is_none() {
        let others = ["file://host/a", "file:/a", "http://a/b", "file:///a?b", "file:///a#b", "/a"];
        for uri in others.into_iter().chain([
            "file:///%",
            "file:///%4",
            "file:///%zz",
            "file:///%00",
            "file:///%ff",
        ]) {
            assert_eq!(to_path(uri), None, "{uri}");
        }
    }

    #[test]
    fn only_what_is_within_a_root_is_below_it() {
        assert_eq!(below("/p/a/b", "/p"), Some("a/b"));
        assert_eq!(below("/p/a/b", "/p/"), Some("a/b"));
        assert_eq!(below("/project/a", "/p"), None);
        assert_eq!(below("/p", "/p"), None);
        assert_eq!(below("/a", "/"), Some("a"));
    }
}
