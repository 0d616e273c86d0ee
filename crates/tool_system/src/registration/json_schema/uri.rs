//! Addresses of schemas inside a document, resolved by RFC 3986.

/// The parts before the path (scheme and authority) and the path with its query.
fn split(uri: &str) -> (&str, &str) {
    let scheme = scheme_length(uri);
    let rest = &uri[scheme..];
    let authority = match rest.strip_prefix("//") {
        Some(inner) => 2 + inner.find(['/', '?']).unwrap_or(inner.len()),
        None => 0,
    };
    uri.split_at(scheme + authority)
}

/// How many bytes the scheme takes, with its colon.
fn scheme_length(uri: &str) -> usize {
    match uri.find([':', '/', '?']) {
        Some(end) if end > 0 && uri[end..].starts_with(':') => end + 1,
        _ => 0,
    }
}

/// The address that `reference`, without its fragment, means in a document at `base`.
pub(super) fn resolved(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    if scheme_length(reference) > 0 {
        return reference.to_owned();
    }
    let (origin, path) = split(base);
    if reference.starts_with("//") {
        return format!("{}{reference}", &base[..scheme_length(base)]);
    }
    let path = path.split('?').next().unwrap_or_default();
    if reference.starts_with('?') {
        return format!("{origin}{path}{reference}");
    }
    let folder = match path.rfind('/') {
        _ if reference.starts_with('/') => "",
        Some(end) => &path[..=end],
        None if origin.contains("//") => "/",
        None => "",
    };
    let (reference, query) = match reference.find('?') {
        Some(at) => reference.split_at(at),
        None => (reference, ""),
    };
    format!("{origin}{}{query}", without_dots(&format!("{folder}{reference}")))
}

/// A path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let last = path.split('/').next_back();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.last().is_some_and(|last| !last.is_empty()) => drop(kept.pop()),
            ".." => {}
            other => kept.push(other),
        }
    }
    if matches!(last, Some("." | "..")) {
        kept.push("");
    }
    kept.join("/")
}

/// A fragment as it is meant: `%25` is `%`. What is not UTF-8 then stays as it was written.
pub(super) fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.filter(|_| first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_in_a_browser() {
        let table = [
            ("", "a.json", "a.json"),
            ("http://h/x/y.json", "z.json", "http://h/x/z.json"),
            ("http://h/x/y.json?q", "../z.json", "http://h/z.json"),
            ("http://h/x/y.json", "/z", "http://h/z"),
            ("http://h/x/y.json", "//i/z", "http://i/z"),
            ("http://h/x/y.json", "", "http://h/x/y.json"),
            ("http://h/x/y.json", "./a/..", "http://h/x/"),
            ("http://h", "a?b/c", "http://h/a?b/c"),
            ("urn:a:b", "urn:c", "urn:c"),
            ("http://h/x", "?q=1", "http://h/x?q=1"),
        ];
        for (base, reference, expected) in table {
            assert_eq!(resolved(base, reference), expected, "{base} {reference}");
        }
        assert_eq!(decoded("/a%25b%7"), "/a%b%7");
    }
}
