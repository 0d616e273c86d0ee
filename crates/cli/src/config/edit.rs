//! Writes values into the user's file and leaves everything else in it, comments included, as it is.

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::file::{Author, FileValue, read};
use super::schema::{Schema, join};

/// The section that is written.
const SECTION: &str = "model";

/// A key of the section, and its value; none removes it.
pub(super) type KeyEdit<'a> = (&'a str, Option<&'a str>);

/// `text` with these values in its section `model`; none if the section is written in a way that
/// cannot be edited safely, such as an inline table.
pub(super) fn with_model(text: &str, entries: &[KeyEdit<'_>]) -> Option<String> {
    let edited = edited(text, entries)?;
    says_the_same(text, &edited, entries).then_some(edited)
}

/// The values as they stand in a file.
pub(super) fn section(entries: &[KeyEdit<'_>]) -> String {
    let lines = entries.iter().filter_map(|(name, value)| Some(line(name, (*value)?)));
    [format!("[{SECTION}]\n")].into_iter().chain(lines).collect()
}

fn line(name: &str, value: &str) -> String {
    format!("{name} = {}\n", Value::from(value))
}

fn edited(text: &str, entries: &[KeyEdit<'_>]) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let model = match table.get_ref().get(SECTION).map(|value| value.get_ref()) {
        Some(DeValue::Table(model)) => Some(model),
        Some(_) => return None,
        None => None,
    };
    let mut edits = Vec::new();
    let mut missing = Vec::new();
    for (name, value) in entries {
        let present = model.and_then(|model| model.get_key_value(*name));
        match (present, value) {
            (Some((_, old)), Some(value)) => {
                edits.push((old.span(), Value::from(*value).to_string()))
            }
            (Some((key, old)), None) => {
                edits.push((whole_line(text, key.span().start, old.span().end)?, String::new()));
            }
            (None, Some(_)) => missing.push((*name, *value)),
            (None, None) => {}
        }
    }
    if !missing.is_empty() {
        let lines = section(&missing);
        match end_of_header(text) {
            Some(at) => {
                let (_, lines) = lines.split_once('\n')?;
                let break_before = if text[..at].ends_with('\n') { "" } else { "\n" };
                edits.push((at..at, format!("{break_before}{lines}")));
            }
            None => {
                let break_before = match text {
                    "" => "",
                    text if text.ends_with('\n') => "\n",
                    _ => "\n\n",
                };
                edits.push((text.len()..text.len(), format!("{break_before}{lines}")));
            }
        }
    }
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut edited = text.to_owned();
    for (range, with) in edits {
        edited.get(range.clone())?;
        edited.replace_range(range, &with);
    }
    Some(edited)
}

/// The line of a key and its value, if there is nothing else in it but a comment.
fn whole_line(text: &str, key: usize, value_end: usize) -> Option<std::ops::Range<usize>> {
    let start = text.get(..key)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(value_end..)?.find('\n').map_or(text.len(), |at| value_end + at + 1);
    let before = text[start..key].trim();
    let after = text[value_end..end].trim();
    let is_alone = before.is_empty() && (after.is_empty() || after.starts_with('#'));
    is_alone.then_some(start..end)
}

/// Where the line `[model]` ends.
fn end_of_header(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let code = line.split('#').next().unwrap_or_default();
        let name = code.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if name.is_some_and(|name| name.trim() == SECTION) {
            return Some(at);
        }
    }
    None
}

/// Whether a file says what it said before, but for `entries`. A line that looks like a header may lie
/// in a text of several lines, so the result is judged by what it means.
fn says_the_same(before: &str, after: &str, entries: &[KeyEdit<'_>]) -> bool {
    let schema = Schema::new();
    let (Ok(before), Ok(after)) =
        (read(before, &schema, Author::User), read(after, &schema, Author::User))
    else {
        return false;
    };
    let is_ours = |key: &str| entries.iter().any(|(name, _)| join(SECTION, name) == key);
    let said = |leaves: Vec<FileValue>| {
        let mut said: Vec<_> = leaves.into_iter().map(|leaf| (leaf.key, leaf.value)).collect();
        said.sort_by(|(left, _), (right, _)| left.cmp(right));
        said
    };
    let mut expected = before;
    expected.retain(|leaf| !is_ours(&leaf.key));
    expected.extend(entries.iter().filter_map(|(name, value)| {
        let value = Value::from((*value)?);
        Some(FileValue { key: join(SECTION, name), value, line: 0 })
    }));
    said(expected) == said(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLLAMA: [KeyEdit<'_>; 4] = [
        ("provider", Some("ollama")),
        ("name", Some("qwen3:8b")),
        ("base_url", None),
        ("key_env", None),
    ];

    #[test]
    fn a_file_keeps_what_is_not_about_the_model() {
        let text = "\
# mine
[agent]
turn_limit = 20 # enough

[model] # the model
effort = \"low\"
provider = \"openai\" # for now
base_url = \"http://h/v1\"

[model.prices]
input = 3
";
        insta::assert_snapshot!(with_model(text, &OLLAMA).unwrap(), @r#"
        # mine
        [agent]
        turn_limit = 20 # enough

        [model] # the model
        name = "qwen3:8b"
        effort = "low"
        provider = "ollama" # for now

        [model.prices]
        input = 3
        "#);
    }

    #[test]
    fn the_section_is_added_where_there_is_none() {
        let ours = "[model]\nprovider = \"ollama\"\nname = \"qwen3:8b\"\n";
        let prices = "[model.prices]\ninput = 3\n";
        let cases = [
            ("", ours.to_owned()),
            ("[agent]\nturn_limit = 2", format!("[agent]\nturn_limit = 2\n\n{ours}")),
            (prices, format!("{prices}\n{ours}")),
            ("[model]", ours.to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(with_model(text, &OLLAMA).as_deref(), Some(expected.as_str()), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        let cases = [
            "model = { effort = \"low\" }\n",
            "model.effort = \"low\"\n",
            "model = { base_url = \"http://h\", provider = \"openai\", name = \"x\" }\n",
            "[agent]\ninstructions = \"\"\"\n[model]\n\"\"\"\n",
            "[model\n",
            "[nonsense]\na = 1\n",
        ];
        for text in cases {
            assert_eq!(with_model(text, &OLLAMA), None, "{text:?}");
        }
        // Values that are there can be replaced, wherever they stand.
        let inline = "model = { provider = \"openai\", name = \"x\" }\n";
        let expected = "model = { provider = \"ollama\", name = \"qwen3:8b\" }\n";
        assert_eq!(with_model(inline, &OLLAMA).as_deref(), Some(expected));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_read_again(
            lines in proptest::collection::vec(
                "(\\[model\\]|\\[agent\\]|provider = \"openai\"|name = 'x'|base_url = \"http://h\"|turn_limit = 3|# \\PC{0,9}|instructions = \"\\[model\\]\")", 0..8),
            name in "\\PC{0,12}",
        ) {
            let text = lines.join("\n");
            let entries = [("provider", Some("ollama")), ("name", Some(name.as_str())), ("base_url", None)];
            if let Some(edited) = with_model(&text, &entries) {
                let leaves = read(&edited, &Schema::new(), Author::User).unwrap();
                let said = |key: &str| leaves.iter().find(|leaf| leaf.key == key).map(|leaf| leaf.value.clone());
                proptest::prop_assert_eq!(said("model.provider"), Some(Value::from("ollama")));
                proptest::prop_assert_eq!(said("model.name"), Some(Value::from(name.as_str())));
                proptest::prop_assert_eq!(said("model.base_url"), None);
            }
        }
    }
}
