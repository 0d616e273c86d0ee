//! HTML as Markdown: the article of a page, or all of it where that would leave too much out.

use dom_smoothie::{CandidateSelectMode, Config, Readability, TextMode};
use net::WebUrl;

use super::nesting::{nesting_of, without_tags};

/// Of an article with less of the page's words than this, in hundredths, the whole page is shown.
const ENOUGH_PERCENT: usize = 70;
/// Elements above which no article is looked for.
const MOST_ELEMENTS: usize = 100_000;
/// A document with more elements inside each other is not parsed.
const MOST_NESTED: usize = 256;
/// Elements that hold no text for readers.
const NOT_TEXT: [&str; 10] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head", "form", "button",
];
/// Parts around the text of a page, as their roles name them.
const AROUND: &str = "nav, footer, [role=navigation], [role=search], [role=contentinfo], \
                      [aria-hidden=true], [hidden]";

/// What a page says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlText {
    pub(super) title: Option<String>,
    pub(super) markdown: String,
}

/// The text of an HTML document at `url`, to which links are made absolute.
pub(super) fn markdown_of(html: &str, url: &str) -> HtmlText {
    let config = Config {
        text_mode: TextMode::Markdown,
        max_elements_to_parse: MOST_ELEMENTS,
        candidate_select_mode: CandidateSelectMode::DomSmoothie,
        ..Config::default()
    };
    if nesting_of(html) > MOST_NESTED {
        return HtmlText { title: None, markdown: tidy(&without_tags(html)) };
    }
    let whole = whole_page(html, url);
    let document = dom_query::Document::from(html);
    document.select(AROUND).remove();
    let article = Readability::with_document(document, Some(url), Some(config)).ok();
    let article = article.and_then(|mut page| page.parse().ok());
    match article {
        Some(article) => {
            let title = Some(article.title).filter(|title| !title.trim().is_empty());
            let text = article.text_content.to_string();
            let is_enough = words(&text) * 100 >= words(&whole) * ENOUGH_PERCENT;
            HtmlText { title, markdown: tidy(if is_enough { &text } else { &whole }) }
        }
        None => HtmlText { title: None, markdown: tidy(&whole) },
    }
}

/// All of a page but for what is around its text.
fn whole_page(html: &str, url: &str) -> String {
    let document = dom_query::Document::from(html);
    let body = document.select("body");
    if let Ok(base) = WebUrl::parse(url) {
        for link in body.select("a[href]").iter() {
            let place = link.attr("href").and_then(|place| base.join_link(&place));
            place.into_iter().for_each(|place| link.set_attr("href", &place));
        }
    }
    body.select(AROUND).remove();
    let main = body.select("main, [role=main]");
    let text = |node: &dom_query::Selection<'_>| {
        let parts = node.nodes().iter().map(|node| node.md(Some(&NOT_TEXT)).to_string());
        parts.collect::<Vec<_>>().join("\n\n")
    };
    let all = text(&body);
    let main = text(&main);
    // A page whose main part is most of it has the rest for menus.
    if words(&main) * 2 > words(&all) { main } else { all }
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// Without spaces at the ends of lines, and with at most one empty line between two others.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim().lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidied.push_str(line);
            tidied.push('\n');
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_without_what_is_around_its_text() {
        let html = "<html><head><title>Kilns</title><script>evil()</script></head><body>\
            <nav><a href=/>Home</a></nav><main><h1>Kilns</h1><p>A <b>kiln</b> is hot: see \
            <a href='/more'>more</a>.</p><pre><code>fire --now\n  x</code></pre><ul><li>one<li>two</ul>\
            <table><tr><th>a<th>b<tr><td>1<td>2</table></main><footer>(c)</footer></body></html>";
        insta::assert_snapshot!(markdown_of(html, "https://x.org/a/").markdown, @"
        A **kiln** is hot: see [more](https://x.org/more).

        ```
        fire --now
          x
        ```

        - one
        - two

        | a | b |
        | - | - |
        | 1 | 2 |
        ");
    }

    #[test]
    fn no_page_is_lost_and_none_ends_us() {
        for html in ["", "<p>", "plain words", "<html><body><p>few</p>", "<frameset>", "\0<a<b<c"] {
            let text = markdown_of(html, "https://x.org/").markdown;
            assert_eq!(text.contains("few"), html.contains("few"), "{html}");
        }
        let deep = |tags: &str, times: usize| {
            markdown_of(&(tags.repeat(times) + "deep"), "https://x.org/").markdown
        };
        for tags in
            ["<div>", "<div></b>", "<ul><li>", "<b id=x><p>", "<div><table><td></div>", "<svg><g>"]
        {
            assert_eq!(deep(tags, 20_000).trim(), "deep", "{tags}");
            assert!(deep(tags, 100).contains("deep"), "{tags}");
        }
    }
}
