//! A doc comment says more than the name it stands over.

use std::collections::BTreeSet;

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

/// Words that add nothing to a name.
const SMALL: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "each", "for", "from", "had", "has", "have",
    "in", "is", "it", "its", "itself", "of", "on", "one", "or", "that", "the", "their", "these",
    "this", "those", "to", "was", "which", "with",
];
/// Also small, and only at the beginning of a sentence about a yes or no.
const WHETHER: &str = "whether";

/// Endings in which two forms of a word may differ, the longest first.
const ENDINGS: [&str; 10] = ["ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y", "d"];
/// The fewest letters that remain of a word without its ending.
const SHORTEST_STEM: usize = 3;

/// Their items' comments are read: by models and clients as a schema, by users as help.
const READ: [&str; 5] = ["JsonSchema", "Parser", "Args", "Subcommand", "ValueEnum"];

/// What stands between the beginning of an item and its name.
const BEFORE_NAMES: [&str; 14] = [
    "pub",
    "async",
    "unsafe",
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "mod",
    "const",
    "static",
    "union",
    "macro_rules!",
    "mut",
];

#[test]
fn a_doc_comment_says_more_than_the_name() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs"]) {
        let source = read(&path).expect("a source file is UTF-8");
        let found = repeating(&source).into_iter();
        problems.extend(found.map(|(line, comment)| format!("{path}:{line}: {comment}")));
    }
    assert_none(
        &problems,
        "say why it exists, what its user must know, or its unit; if there is nothing to say, delete the comment",
    );
}

/// The doc comments that only repeat a name, each with the number of its first line. Formatted text is expected.
fn repeating(source: &str) -> Vec<(usize, String)> {
    let comments: BTreeSet<usize> =
        rust_text::split(source).comments.into_iter().map(|(line, _)| line).collect();
    let mut found = Vec::new();
    let mut doc: Option<(usize, String)> = None;
    let (mut is_read, mut attribute_is_open) = (false, false);
    let mut lines = (1..).zip(source.lines());
    while let Some((at, line)) = lines.next() {
        let text = line.trim();
        if let Some(words) = text.strip_prefix("///").filter(|_| comments.contains(&at)) {
            let (_, doc) = doc.get_or_insert_with(|| (at, String::new()));
            doc.push_str(words);
        } else if attribute_is_open || text.starts_with("#[") {
            attribute_is_open = !text.ends_with(']');
            is_read |= text.split(|c: char| !c.is_alphanumeric()).any(|word| READ.contains(&word));
        } else {
            let doc = doc.take();
            if std::mem::take(&mut is_read) {
                if text.ends_with('{') {
                    let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
                    lines.by_ref().find(|(_, line)| line.starts_with(&end));
                }
            } else if let Some((first, doc)) = doc
                && says_nothing(&doc, name(text))
            {
                found.push((first, format!("`{}` over `{text}`", doc.trim())));
            }
        }
    }
    found
}

/// The name of the item that begins with this line.
fn name(item: &str) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = item.split_whitespace().filter(|word| !word.starts_with("pub("));
    let word = words.find(|word| !BEFORE_NAMES.contains(word)).unwrap_or_default();
    let word = word.strip_prefix("r#").unwrap_or(word);
    &word[..word.find(|c| !is_name(c)).unwrap_or(word.len())]
}

fn says_nothing(doc: &str, name: &str) -> bool {
    let known: BTreeSet<String> = words(name).iter().map(|word| stem(word)).collect();
    let doc = doc.replace("'s ", " ");
    let doc = words(&doc);
    let is_small = |at: usize, word: &str| SMALL.contains(&word) || (at == 0 && word == WHETHER);
    let mut said = doc.iter().enumerate().filter(|(at, word)| !is_small(*at, word));
    !name.is_empty() && said.all(|(_, word)| known.contains(&stem(word)))
}

/// The words of a text in lower case, those of `snake_case` and `CamelCase` names apart.
fn words(text: &str) -> Vec<String> {
    let mut apart = String::with_capacity(text.len());
    let mut was_small = false;
    for c in text.chars() {
        if c.is_uppercase() && was_small {
            apart.push(' ');
        }
        was_small = c.is_lowercase() || c.is_ascii_digit();
        apart.extend(c.to_lowercase());
    }
    let parts = apart.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn stem(word: &str) -> String {
    let mut stems = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    stems.find(|stem| stem.len() >= SHORTEST_STEM).unwrap_or(word).to_owned()
}

#[test]
fn a_comment_that_repeats_the_name_is_found() {
    for (doc, item) in [
        ("The session.", "session: SessionId,"),
        ("Its titles.", "pub title: Option<String>,"),
        ("Sets a budget.", "async fn set_budget(&self);"),
        ("The kind of a symbol.", "pub(crate) enum SymbolKind {"),
        ("Whether it is a directory.", "pub fn is_directory(&self) -> bool {"),
        ("OpenAI's Responses.", "OpenAiResponses,"),
        ("A row as it was found.", "#[derive(Clone)]\nstruct FoundRow {"),
    ] {
        assert_eq!(repeating(&format!("/// {doc}\n{item}\n")).len(), 1, "{item}");
    }
    for (doc, item) in [
        ("How long it took.", "duration: Duration,"),
        ("The session whether open or not.", "session: SessionId,"),
        ("US dollars, where prices are known.", "usd: f64,"),
        (
            "The path.",
            "#[derive(Debug, JsonSchema)]\nstruct Path {\n    /// The path.\n    path: P,\n}",
        ),
    ] {
        assert_eq!(repeating(&format!("/// {doc}\n{item}\n")), [], "{item}");
    }
    assert_eq!(repeating("let text = \"\n/// Its id.\nid: u8\n\";\n"), []);
}
