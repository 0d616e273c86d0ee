//! Markdown of a model, made harmless: no raw HTML, no image from elsewhere, no link that runs a script,
//! no character reference that stands for what may not be written as it is.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::safe_text::{harmless, is_harmless};

/// How often what was found is escaped, which may make more of it visible. More is an attack.
const MAX_ROUNDS: usize = 4;
/// Schemes that a link may have.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The same Markdown with everything escaped that does more than to look like text. `None` if it
/// cannot be done.
pub(super) fn hardened(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..MAX_ROUNDS {
        let places = hazards(&text);
        if places.is_empty() {
            return Some(text);
        }
        for at in places.into_iter().rev() {
            text.insert(at, '\\');
        }
    }
    None
}

/// Where a backslash makes text of something else, in ascending order.
fn hazards(text: &str) -> Vec<usize> {
    let parser = Parser::new_ext(text, options());
    // A definition holds for the whole document, so that one message could make a link of another.
    let definitions = parser.reference_definitions().iter();
    let mut places: Vec<usize> = definitions.map(|(_, defined)| defined.span.start).collect();
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let special = |c: char| matches!(c, '<' | '[' | '`' | '~');
                places.extend(all_in(text, range, special));
            }
            Event::Start(Tag::Image { .. }) => places.push(range.start),
            Event::Start(Tag::Link { dest_url, link_type, title, .. })
                if !is_safe(&dest_url, link_type) || !is_harmless(&title) =>
            {
                places.push(range.start);
            }
            // `&#x202E;`; in any other form it was written out before.
            Event::Text(said) if text[range.clone()].starts_with('&') && !is_harmless(&said) => {
                places.push(range.start);
            }
            _ => {}
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}

fn all_in(text: &str, range: Range<usize>, special: impl Fn(char) -> bool) -> Vec<usize> {
    let found = text[range.clone()].char_indices().filter(|(_, c)| special(*c));
    found.map(|(at, _)| range.start + at).collect()
}

fn is_safe(destination: &str, kind: LinkType) -> bool {
    if !is_harmless(destination) {
        return false;
    }
    let destination = destination.to_ascii_lowercase();
    kind == LinkType::Email || SCHEMES.iter().any(|scheme| destination.starts_with(scheme))
}

/// Markdown as HTML.
pub(super) fn rendered(text: &str) -> String {
    let mut kept = Vec::new();
    let events = Parser::new_ext(text, options()).filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        // Nothing is loaded from elsewhere; the description stays.
        Event::Start(Tag::Image { .. }) => Some(Event::Text(CowStr::Borrowed("image: "))),
        Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { link_type, ref dest_url, .. }) => {
            let safe = is_safe(dest_url, link_type);
            kept.push(safe);
            safe.then_some(event)
        }
        Event::End(TagEnd::Link) => kept.pop().unwrap_or(false).then_some(event),
        // The text of the block is made text above, and stands in a paragraph of its own.
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        other => Some(other),
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    // Markdown can write any character as a reference, which is resolved now.
    harmless(&html)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_stays_as_it_is_but_for_what_is_not_text() {
        let table = [
            ("**a** [b](https://c) `<i>`", "**a** [b](https://c) `<i>`"),
            ("a <b>c</b>", "a \\<b>c\\</b>"),
            ("</style><script>x</script>", "\\</style>\\<script>x\\</script>"),
            ("[a](javascript:x)", "\\[a](javascript:x)"),
            ("![a](https://b)", "\\![a](https://b)"),
            ("<!--\n[a](javascript:x)\n-->", "\\<!--\n\\[a](javascript:x)\n-->"),
            ("```\n<b>\n```", "```\n<b>\n```"),
            ("[a]\n\n> [a]: https://b", "[a]\n\n> \\[a]: https://b"),
            ("a &#x202E;b &rlm; &amp; `&#x202E;`", "a \\&#x202E;b \\&rlm; &amp; `&#x202E;`"),
            ("[a](https://b \"&#x202E;\")", "\\[a](https://b \"\\&#x202E;\")"),
            ("[a](https://b&#x202E;c)", "\\[a](https://b\\&#x202E;c)"),
        ];
        for (text, expected) in table {
            assert_eq!(hardened(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn html_has_the_form_of_the_markdown_and_no_other() {
        let table = [
            ("**a** `<i>`", "<p><strong>a</strong> <code>&lt;i&gt;</code></p>\n"),
            ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n"),
            ("[a](javascript:x) [b](http://c)", "<p>a <a href=\"http://c\">b</a></p>\n"),
            ("![a](https://b/c.png)", "<p>image: a</p>\n"),
            ("&#x202E;a &#27; &zwj; &lt;", "<p>\\u{202E}a \\x1B \\u{200D} &lt;</p>\n"),
            (
                "[a](https://b \"&#x202E;\")",
                "<p><a href=\"https://b\" title=\"\\u{202E}\">a</a></p>\n",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(rendered(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_left_in_hardened_markdown(text in "[-a<>/!\\[\\]()`~&:\\\\\\n \"=#*_]{0,60}") {
            if let Some(hard) = hardened(&text) {
                prop_assert!(hazards(&hard).is_empty());
            }
            let html = rendered(&text);
            prop_assert!(!html.contains("<a>") && !html.contains("<img"), "{}", html);
        }
    }
}
