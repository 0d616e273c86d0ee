//! What a server wants, as its `WWW-Authenticate` headers say it.

/// Headers that are looked at.
const MAX_HEADERS: usize = 8;
/// Scopes that are taken from one text. Servers have a few dozen.
const MAX_SCOPES: usize = 64;
/// Bytes of one scope. Some are addresses.
const MAX_SCOPE: usize = 256;

/// The challenge for a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the server describes itself.
    pub(crate) resource_metadata: Option<String>,
    /// What the request needs.
    pub(crate) scopes: Vec<String>,
    /// A word such as `insufficient_scope`.
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// Reads all headers of an answer. Of several challenges the one that says more is meant.
    pub(crate) fn read(headers: &[String]) -> Option<Self> {
        let all = headers.iter().take(MAX_HEADERS).flat_map(|header| of_header(header));
        let challenges: Vec<Self> = all.collect();
        let fullest = challenges.iter().position(|one| one.resource_metadata.is_some());
        challenges.into_iter().nth(fullest.unwrap_or(0))
    }
}

/// The scopes in a text, each once. What cannot be one is left out.
pub(crate) fn scopes(text: &str) -> Vec<String> {
    let is_letter = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let is_scope = |word: &&str| word.len() <= MAX_SCOPE && word.bytes().all(is_letter);
    let mut found: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()).filter(is_scope) {
        if found.len() < MAX_SCOPES && !found.iter().any(|one| one == word) {
            found.push(word.to_owned());
        }
    }
    found
}

/// Both lists as one, each scope once.
pub(crate) fn union(one: &[String], other: &[String]) -> Vec<String> {
    scopes(&[one, other].concat().join(" "))
}

fn of_header(header: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut is_bearer = false;
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            // Nothing that stands here can be read; what follows the next comma perhaps can.
            match rest.find(',') {
                Some(comma) => rest = &rest[comma..],
                None => return found,
            }
            continue;
        }
        let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            is_bearer = word.eq_ignore_ascii_case("bearer");
            found.extend(is_bearer.then(Challenge::default));
            rest = after;
            continue;
        };
        let (value, after) = value_of(value.trim_start_matches([' ', '\t']));
        rest = after;
        if let Some(challenge) = found.last_mut().filter(|_| is_bearer) {
            match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = scopes(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
    }
}

/// The word at the beginning, and what follows it.
fn token(text: &str) -> (&str, &str) {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c| !is_letter(c)).unwrap_or(text.len()))
}

/// A value, in quotation marks or without, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(headers: &[&str]) -> Option<(String, String, String)> {
        let headers: Vec<String> = headers.iter().map(|&header| header.to_owned()).collect();
        let challenge = Challenge::read(&headers)?;
        let metadata = challenge.resource_metadata.unwrap_or_default();
        Some((metadata, challenge.scopes.join("|"), challenge.error.unwrap_or_default()))
    }

    #[test]
    fn challenges_are_read_in_every_spelling() {
        let told = |metadata: &str, scopes: &str, error: &str| {
            Some((metadata.to_owned(), scopes.to_owned(), error.to_owned()))
        };
        let table: [(&[&str], _); 11] = [
            (&[], None),
            (&["Basic realm=\"x, Bearer scope=y\""], None),
            (&["Negotiate abc==, Basic"], None),
            (&["Bearer"], told("", "", "")),
            (&["bearer scope=read"], told("", "read", "")),
            (
                &[
                    "Bearer realm=\"a \\\"b\\\", c\", resource_metadata = \"https://x/y\" ,scope=\"b a b\"",
                ],
                told("https://x/y", "b|a", ""),
            ),
            (
                &["Bearer error=\"insufficient_scope\", scope=\"w\" , Basic scope=\"no\""],
                told("", "w", "insufficient_scope"),
            ),
            (&["Basic", "BEARER resource_metadata=https://x"], told("https://x", "", "")),
            (&["Bearer error=a", "Bearer resource_metadata=\"b\""], told("b", "", "")),
            (&["Bearer scope=\"a\\"], told("", "a", "")),
            (&["Bearer scope=\"ok b\u{e9}d \u{7f} also\""], told("", "ok|also", "")),
        ];
        for (headers, expected) in table {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn scopes_are_bounded_and_kept_once() {
        let many: Vec<String> = (0..500).map(|number| format!("s{number}")).collect();
        assert_eq!(scopes(&many.join(" ")).len(), MAX_SCOPES);
        assert!(scopes(&"x".repeat(MAX_SCOPE + 1)).is_empty());
        let (one, other) = (scopes("a b"), scopes("b c"));
        assert_eq!(union(&one, &other), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn no_header_breaks_it(text in "[Bb earer=\",\\\\a-z/é ]{0,60}") {
            let challenge = Challenge::read(&[text]);
            prop_assert!(challenge.is_none_or(|one| one.scopes.len() <= MAX_SCOPES));
        }
    }
}
