//! How deeply the elements of a document are nested, before it is parsed: parsers take time that grows
//! with the square of it, and what walks over their trees needs stack for each level.

use std::collections::HashMap;

/// Elements that have no end tag, or whose end may be left out, so that they do not nest by themselves.
const NOT_COUNTED: [&str; 34] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "frame", "head", "hr",
    "html", "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "path", "rp",
    "rt", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// Elements whose content is not markup.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];

/// The most elements that may be open at the same time. An end tag that ends nothing does not count.
pub(super) fn nesting_of(html: &str) -> usize {
    let mut open: HashMap<String, usize> = HashMap::new();
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let (is_end, after) = match rest.strip_prefix('/') {
            Some(after) => (true, after),
            None => (false, rest),
        };
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let name = after[..end.unwrap_or(after.len())].to_ascii_lowercase();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_name || NOT_COUNTED.contains(&name.as_str()) {
            continue;
        }
        let count = open.entry(name.clone()).or_default();
        match is_end {
            true if *count > 0 => (*count, depth) = (*count - 1, depth - 1),
            true => {}
            false if RAW.contains(&name.as_str()) => rest = after_raw(after, &name),
            false => {
                (*count, depth) = (*count + 1, depth + 1);
                deepest = deepest.max(depth);
            }
        }
    }
    deepest
}

/// What follows the end tag of an element whose content is not markup.
pub(super) fn after_raw<'h>(html: &'h str, name: &str) -> &'h str {
    let mut rest = html;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return rest;
        }
    }
    ""
}

/// The text of a document that is not parsed: without tags, and without what is not text.
pub(super) fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let raw = RAW.iter().find(|name| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        if let Some(name) = raw {
            rest = after_raw(rest, name);
        }
        rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn open_elements_are_counted_and_others_are_not() {
        for (html, expected) in [
            ("", 0),
            ("<div><p>x<p>y</div><div></div>", 1),
            ("<div><span><b>x</b></span></div>", 3),
            ("<DIV><Div>", 2),
            ("<ul><li>a<li>b<li>c</ul>", 1),
            ("<script>'<div><div><div>'</script><div>", 1),
            ("<!-- x --><div>1 < 2", 1),
        ] {
            assert_eq!(nesting_of(html), expected, "{html}");
        }
        assert_eq!(nesting_of(&"<div></b>".repeat(500)), 500, "ends of nothing do not count");
        assert_eq!(nesting_of(&"<div></div>".repeat(500)), 1);
        assert_eq!(nesting_of(&"<div><table><tr><td></div>".repeat(500)), 501);
    }

    #[test]
    fn text_is_left_without_tags() {
        assert_eq!(without_tags("a<b>c</b>d<script>x<y</script>e<"), "a\nc\nd\ne\n");
    }

    proptest! {
        #[test]
        fn nothing_ends_us(html in "(<|>|/|div|script|ä| |\"){0,60}") {
            nesting_of(&html);
            without_tags(&html);
        }
    }
}
