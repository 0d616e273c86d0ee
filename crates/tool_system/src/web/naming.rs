//! Whether a text names an address.

use net::WebUrl;

/// Whether `text` names this address: as it is, without its scheme, or without a final slash. An
/// address that only begins like one in the text is another one.
pub(crate) fn is_named_in(text: &str, url: &WebUrl) -> bool {
    let whole = url.as_str();
    let bare = whole.split_once("://").map_or(whole, |(_, rest)| rest);
    let shorter = bare.strip_suffix('/').unwrap_or(bare);
    occurs(text, shorter)
}

/// Whether `wanted` stands in `text` with nothing around it that would make it another address. Host
/// names are the same in any case; so are, for this question, paths.
fn occurs(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.to_ascii_lowercase(), wanted.to_ascii_lowercase());
    text.match_indices(&wanted).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after =
            text[at + wanted.len()..].strip_prefix('/').unwrap_or(&text[at + wanted.len()..]);
        !before.is_some_and(continues_before) && !goes_on(after)
    })
}

fn continues_before(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '=' | '%')
}

/// Whether an address that ended here would go on with this text. A dot or a comma ends a sentence
/// unless something follows it; a fragment is never sent.
fn goes_on(rest: &str) -> bool {
    let mut letters = rest.chars();
    match letters.next() {
        Some('.' | ',' | ';' | ':' | '!' | '\'' | ')' | '*') => {
            letters.next().is_some_and(|c| c.is_alphanumeric() || c == '/')
        }
        Some('?') => letters.next().is_some_and(|c| !c.is_whitespace()),
        Some(c) => c.is_alphanumeric() || "/%&=-_~@+$".contains(c),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_as_a_whole() {
        let named = |text: &str, url: &str| is_named_in(text, &WebUrl::parse(url).expect(url));
        let url = "https://docs.rs/serde/latest";
        for text in [
            "see https://docs.rs/serde/latest.",
            "docs.rs/serde/latest",
            "[docs](https://docs.rs/serde/latest#top)",
            "<https://docs.rs/serde/latest/>, please",
            "Is it at HTTPS://DOCS.RS/serde/latest? Yes",
            "\"url\":\"http://docs.rs/serde/latest\"",
        ] {
            assert!(named(text, url), "{text}");
        }
        for text in [
            "https://docs.rs/serde/latest2",
            "https://docs.rs/serde/latest/struct.X.html",
            "https://docs.rs/serde/latest?key=1",
            "https://notdocs.rs/serde/latest",
            "https://docs.rs/serde",
            "docs.rs",
            "",
        ] {
            assert!(!named(text, url), "{text}");
        }
        assert!(named("see example.org.", "https://example.org/"));
        assert!(!named("see example.org", "https://example.org/?secret=1"));
        assert!(!named("see example.org.evil.org", "https://example.org/"));
    }
}
