//! Reads one configuration file and finds every mistake in it.

use std::borrow::Cow;
use std::fmt;

use protocol::visible;
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use toml::de::{DeTable, DeValue, Error};
use toml::{Spanned, Value};
use tool_system::policy::ProjectPolicyTable;

use super::narrowing::{Narrowing, of_project};
use super::schema::{Named, Schema, closest, join};
use super::settings::ConfigSettings;

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The user, who may say everything.
    User,
    /// The project, which may only narrow.
    Project,
}

#[derive(Debug, PartialEq)]
pub(super) struct FileValue {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) line: usize,
}

/// Something in a file that cannot stay as it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileMistake {
    line: usize,
    column: usize,
    message: String,
}

impl fmt::Display for FileMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A project's file may hold anything, and this goes to a terminal.
        write!(f, "line {}, column {}: {}", self.line, self.column, visible(&self.message))
    }
}

/// The values of a file in the order of its lines, or everything that is wrong with it.
pub(super) fn read(
    text: &str,
    schema: &Schema,
    author: Author,
) -> Result<Vec<FileValue>, Vec<FileMistake>> {
    let mut reader = FileReader { text, schema, author, leaves: Vec::new(), mistakes: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        reader.table("", table.get_ref());
    }
    for error in &errors {
        reader.mistake(error.span().map_or(0, |span| span.start), error.message().to_owned());
    }
    let FileReader { mut leaves, mut mistakes, .. } = reader;
    if mistakes.is_empty() {
        leaves.sort_by_key(|leaf| leaf.line);
        Ok(leaves)
    } else {
        mistakes.sort();
        Err(mistakes)
    }
}

struct FileReader<'t> {
    text: &'t str,
    schema: &'t Schema,
    author: Author,
    leaves: Vec<FileValue>,
    mistakes: Vec<FileMistake>,
}

impl<'t> FileReader<'t> {
    fn table(&mut self, section: &str, table: &DeTable<'t>) {
        for (name, value) in table {
            let key = join(section, name.get_ref());
            let start = name.span().start;
            match (self.schema.named(&key), value.get_ref()) {
                (Named::Key, _) => self.leaf(key, start, value),
                (Named::Section, DeValue::Table(inner)) => self.table(&key, inner),
                (Named::Section, _) => {
                    let message = format!("`{key}` is a section and holds no value: `[{key}]`");
                    self.mistake(start, message);
                }
                (Named::Unknown, _) => self.unknown(&key, start),
            }
        }
    }

    fn unknown(&mut self, key: &str, start: usize) {
        let known = match self.schema.suggestion(key) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`toolkiln config show` lists all".to_owned(),
        };
        self.mistake(start, format!("there is no setting `{key}`; {known}"));
    }

    fn leaf(&mut self, key: String, start: usize, value: &Spanned<DeValue<'t>>) {
        let narrow = match self.author {
            Author::User => None,
            Author::Project => match of_project(&key) {
                Ok(narrow) => Some(narrow),
                Err(why) => {
                    let message = format!(
                        "a project's file cannot set `{key}`: {why}; it belongs into your own \
                         configuration"
                    );
                    return self.mistake(start, message);
                }
            },
        };
        let checked = match narrow {
            Some(Narrowing::AddRules) => check::<NarrowingRules>(&key, value),
            _ => check::<ConfigSettings>(&key, value),
        };
        let line = self.place(start).0;
        match checked.and_then(|()| Value::deserialize(value.clone().into_deserializer())) {
            Ok(value) => self.leaves.push(FileValue { key, value, line }),
            Err(error) => {
                let start = error.span().unwrap_or_else(|| value.span()).start;
                self.mistake(start, format!("`{key}`: {}", in_words(error.message())));
            }
        }
    }

    fn mistake(&mut self, start: usize, message: String) {
        let (line, column) = self.place(start);
        self.mistakes.push(FileMistake { line, column, message });
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        place(self.text, offset)
    }
}

/// The line and column of a place in a text, from one.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The rules of a project's file, none of which may allow.
#[derive(Deserialize)]
struct NarrowingRules {
    #[serde(rename = "policy")]
    _policy: ProjectPolicyTable,
}

/// Whether the value alone, in its place, is what the settings expect there.
fn check<'t, T: Deserialize<'t>>(key: &str, value: &Spanned<DeValue<'t>>) -> Result<(), Error> {
    let mut value = value.clone();
    for name in key.rsplit('.') {
        let mut table = DeTable::new();
        let span = value.span();
        let name = Spanned::new(span.clone(), Cow::Owned(name.to_owned()));
        table.insert(name, value);
        value = Spanned::new(span, DeValue::Table(table));
    }
    T::deserialize(value.into_deserializer()).map(drop)
}

/// Words of serde, and plain ones for the user.
const PLAIN_WORDS: [(&str, &str); 7] = [
    ("expected a nonzero u32", "expected a whole number above 0"),
    ("expected a nonzero u64", "expected a whole number above 0"),
    ("expected u32", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list"),
    ("expected a boolean", "expected true or false"),
];

/// A message of serde in plain words, with a suggestion where it names what it expected.
pub(super) fn in_words(message: &str) -> String {
    let words = PLAIN_WORDS.iter().find(|(theirs, _)| message.ends_with(theirs));
    let mut text = match words {
        Some((theirs, ours)) => format!("{}{ours}", message.trim_end_matches(theirs)),
        None => message.to_owned(),
    };
    if message.starts_with("unknown ") {
        let mut names = message.split('`').skip(1).step_by(2);
        if let Some(meant) = names.next().and_then(|given| closest(given, names)) {
            text.push_str(&format!("; did you mean `{meant}`?"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::provider;

    fn mistakes(text: &str, author: Author) -> String {
        let mistakes = read(text, &Schema::new(), author).unwrap_err();
        mistakes.iter().map(FileMistake::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_mistake_of_a_file_is_told_with_its_place_and_what_was_meant() {
        let text = r#"
turn_limit = 3
agent = 4
[model]
provider = "antropic"
effort = "hgih"
max_tokens = 0
base_url = "localhost:8080"
naem = "x"
[model.prices]
input = -1
[limits]
grep_results = "many"
grep_result = 1
[tools]
disabled = "grep"
[nonsense]
a = 1
b = 2
[[policy.rules]]
decision = "deny"
[[policy.rules]]
desicion = "deny"
[roles.guest]
permissions = ["ReadFlies"]
"#;
        let told = mistakes(text, Author::User).replace(&provider::listed(), "PROVIDERS");
        insta::assert_snapshot!(told, @r#"
        line 2, column 1: there is no setting `turn_limit`; did you mean `agent.turn_limit`?
        line 3, column 1: `agent` is a section and holds no value: `[agent]`
        line 5, column 12: `model.provider`: unknown provider `antropic`, expected one of PROVIDERS; did you mean `anthropic`?
        line 6, column 10: `model.effort`: unknown variant `hgih`, expected one of `low`, `medium`, `high`; did you mean `high`?
        line 7, column 14: `model.max_tokens`: invalid value: integer `0`, expected a whole number above 0
        line 8, column 12: `model.base_url`: an address begins with http:// or https://, such as http://localhost:8080/v1
        line 9, column 1: there is no setting `model.naem`; did you mean `model.name`?
        line 11, column 9: `model.prices.input`: -1 is not an amount of dollars
        line 13, column 16: `limits.grep_results`: invalid type: string "many", expected a whole number
        line 14, column 1: there is no setting `limits.grep_result`; did you mean `limits.grep_results`?
        line 16, column 12: `tools.disabled`: invalid type: string "grep", expected a list
        line 17, column 2: there is no setting `nonsense`; `toolkiln config show` lists all
        line 23, column 1: `policy.rules`: unknown field `desicion`, expected one of `decision`, `tool`, `paths`, `command`, `definition`, `hosts`, `roles`, `expires`, `note`, `matches`, `never`; did you mean `decision`?
        line 25, column 16: `roles`: unknown variant `ReadFlies`, expected one of `ReadFiles`, `WriteFiles`, `CreateFiles`, `DeleteFiles`, `ExecuteCommands`, `NetworkAccess`; did you mean `ReadFiles`?
        "#);
    }

    #[test]
    fn a_project_is_told_why_it_may_not() {
        let text = r#"
[model]
base_url = "https://elsewhere.example"
[agent]
turn_limit = 5
instructions = "obey"
[[policy.rules]]
decision = "allow"
[roles.guest]
permissions = ["ReadFiles"]
"#;
        insta::assert_snapshot!(mistakes(text, Author::Project), @"
        line 3, column 1: a project's file cannot set `model.base_url`: a project cannot choose where your requests and keys go or what they cost; it belongs into your own configuration
        line 6, column 1: a project's file cannot set `agent.instructions`: a project cannot speak to the model in your name; it belongs into your own configuration
        line 7, column 1: `policy.rules`: a project's rules may deny or ask, not allow (`allow *`): a project must not widen what you allow; put the rule into your own configuration
        line 9, column 2: a project's file cannot set `roles`: a project must not widen what you allow; it belongs into your own configuration
        ");
    }

    #[test]
    fn what_is_not_toml_is_told_line_by_line_and_cannot_drive_a_terminal() {
        insta::assert_snapshot!(mistakes("a = \n[model\nname = \"x", Author::User), @"
        line 1, column 5: string values must be quoted, expected literal string
        line 2, column 7: unclosed table, expected `]`
        ");
        insta::assert_snapshot!(mistakes("\"\\u001b[2J\" = 1\n", Author::Project), @r#"line 1, column 1: there is no setting `\x1B[2J`; `toolkiln config show` lists all"#);
    }

    #[test]
    fn values_come_with_their_lines_and_dates_stay_dates() {
        let text = "[[policy.rules]]\ndecision = \"deny\"\nexpires = 2027-01-01\n\n[model]\n\
                    prices = { input = 3 }\n";
        let leaves = read(text, &Schema::new(), Author::User).unwrap();
        let found: Vec<_> = leaves.iter().map(|leaf| (leaf.key.as_str(), leaf.line)).collect();
        assert_eq!(found, [("policy.rules", 1), ("model.prices.input", 6)]);
        assert!(leaves[0].value[0]["expires"].is_datetime());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[\\[\\]=.\"\n{}]|model|policy|rules|limits|name){0,40}") {
            for author in [Author::User, Author::Project] {
                if let Err(mistakes) = read(&text, &Schema::new(), author) {
                    proptest::prop_assert!(!mistakes.is_empty());
                }
            }
        }
    }
}
