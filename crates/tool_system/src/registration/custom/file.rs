//! Reads the file of a custom tool and finds the mistakes in it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use protocol::{PermissionSet, ToolPermission, visible};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::DeTable;

use super::template::{self, Template};
use crate::Category;

/// Seconds that a tool may run unless its file says otherwise.
const TIMEOUT_S: u64 = 60;
/// The most seconds that a file may ask for.
const MAX_TIMEOUT_S: u64 = 600;
/// Longer names are refused by providers of models.
const MAX_NAME: usize = 64;

/// Something in a file that cannot stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The file may hold anything, and this goes to a terminal.
        write!(f, "line {}, column {}: {}", self.line, self.column, visible(&self.message))
    }
}

/// What a right file says.
#[derive(Clone, Debug)]
pub(super) struct CustomDefinition {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) category: Category,
    pub(super) permissions: PermissionSet,
    pub(super) approval: CustomApproval,
    pub(super) template: Template,
    pub(super) timeout: u64,
    pub(super) network: bool,
    pub(super) working_dir: String,
    /// Whether requests may leave it out until the model asks for it.
    pub(super) on_demand: bool,
    /// The schema of the arguments.
    pub(super) parameters: Value,
    pub(super) example: Value,
}

/// Whether the approver is asked each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CustomApproval {
    #[default]
    Always,
    /// The policy allows it, because the user has trusted the file.
    Never,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    description: Spanned<String>,
    command: Option<Spanned<Vec<Spanned<String>>>>,
    shell: Option<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, Parameter>,
    #[serde(default)]
    permissions: Vec<ToolPermission>,
    #[serde(default)]
    approval: CustomApproval,
    category: Option<Spanned<String>>,
    timeout: Option<Spanned<u64>>,
    #[serde(default)]
    network: bool,
    working_dir: Option<Spanned<String>>,
    #[serde(default)]
    on_demand: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    #[serde(rename = "type")]
    kind: ParameterKind,
    description: Option<String>,
    #[serde(default = "yes")]
    required: bool,
    #[serde(rename = "enum")]
    choices: Option<Vec<Value>>,
}

fn yes() -> bool {
    true
}

/// The types of JSON schema that can be written on a command line; a list is one of texts.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ParameterKind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
}

/// Reads the text of a file; all its mistakes in the order of the text, if it has any.
pub(super) fn read(text: &str) -> Result<CustomDefinition, Vec<Mistake>> {
    understood(text).map_err(|mut mistakes| {
        mistakes.sort();
        mistakes
    })
}

fn understood(text: &str) -> Result<CustomDefinition, Vec<Mistake>> {
    let mut reader = ToolFileReader { text, mistakes: Vec::new() };
    for error in DeTable::parse_recoverable(text).1 {
        reader.mistake(error.span().unwrap_or_default(), error.message().to_owned());
    }
    if !reader.mistakes.is_empty() {
        return Err(reader.mistakes);
    }
    let file: File = toml::from_str(text).map_err(|error| {
        reader.mistake(error.span().unwrap_or_default(), error.message().to_owned());
        std::mem::take(&mut reader.mistakes)
    })?;
    let template = reader.template(&file);
    reader.check(&file);
    let category = reader.category(file.category.as_ref());
    let permissions = file.permissions.iter().copied();
    let needed = [ToolPermission::ReadFiles, ToolPermission::ExecuteCommands];
    let network = file.network.then_some(ToolPermission::NetworkAccess);
    match (template, reader.mistakes.is_empty()) {
        (Some(template), true) => Ok(CustomDefinition {
            parameters: schema(&file.parameters),
            example: example(&file.parameters),
            name: file.name.into_inner(),
            description: file.description.into_inner(),
            category,
            permissions: permissions.chain(needed).chain(network).collect(),
            approval: file.approval,
            template,
            timeout: file.timeout.map_or(TIMEOUT_S, Spanned::into_inner),
            network: file.network,
            on_demand: file.on_demand,
            working_dir: file.working_dir.map_or_else(|| ".".to_owned(), Spanned::into_inner),
        }),
        _ => Err(reader.mistakes),
    }
}

struct ToolFileReader<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
}

impl ToolFileReader<'_> {
    fn mistake(&mut self, span: Range<usize>, message: String) {
        let before = &self.text[..self.text.floor_char_boundary(span.start)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.mistakes.push(Mistake { line, column, message });
    }

    fn check(&mut self, file: &File) {
        let name = file.name.get_ref();
        if !is_name(name) || name.len() > MAX_NAME {
            let message = format!(
                "`{name}` is not a tool name; one is made of a-z, 0-9 and _, begins with a letter, and has at \
                 most {MAX_NAME} characters"
            );
            self.mistake(file.name.span(), message);
        }
        if file.description.get_ref().trim().is_empty() {
            let message =
                "the description is what the model chooses the tool by; it cannot be empty";
            self.mistake(file.description.span(), message.to_owned());
        }
        for name in file.parameters.keys().filter(|name| !is_name(name.get_ref())) {
            let message = format!("`{}` is not a parameter name: a-z, 0-9 and _", name.get_ref());
            self.mistake(name.span(), message);
        }
        if let Some(timeout) = &file.timeout
            && !(1..=MAX_TIMEOUT_S).contains(timeout.get_ref())
        {
            let message = format!("the timeout is 1 to {MAX_TIMEOUT_S} seconds");
            self.mistake(timeout.span(), message);
        }
        if let Some(dir) = &file.working_dir
            && workspace::RelPath::parse(dir.get_ref()).is_err()
        {
            let message =
                "working_dir is a directory of the project, given from its root".to_owned();
            self.mistake(dir.span(), message);
        }
    }

    fn template(&mut self, file: &File) -> Option<Template> {
        match (&file.command, &file.shell) {
            (Some(command), None) => Some(self.argv(command, &file.parameters)),
            (None, Some(script)) => Some(Template::Shell(script.get_ref().clone())),
            (None, None) => {
                let message = "there is nothing to run: `command = [\"program\", \"{parameter}\"]`, or \
                               `shell = \"script\"`";
                self.mistake(file.name.span(), message.to_owned());
                None
            }
            (Some(_), Some(script)) => {
                let message =
                    "there is a command already; a tool has `command` or `shell`".to_owned();
                self.mistake(script.span(), message);
                None
            }
        }
    }

    fn argv(
        &mut self,
        command: &Spanned<Vec<Spanned<String>>>,
        parameters: &BTreeMap<Spanned<String>, Parameter>,
    ) -> Template {
        let words = command.get_ref();
        if words.first().is_none_or(|program| program.get_ref().is_empty()) {
            self.mistake(command.span(), "the command names no program".to_owned());
        }
        for (index, word) in words.iter().enumerate() {
            match template::names(word.get_ref()) {
                Err(why) => self.mistake(word.span(), why.to_owned()),
                Ok(names) if index == 0 && !names.is_empty() => {
                    let message = "the program itself cannot be an argument".to_owned();
                    self.mistake(word.span(), message);
                }
                Ok(names) => {
                    let is_known = |name: &&str| parameters.keys().any(|key| key.get_ref() == name);
                    for name in names.iter().filter(|name| !is_known(name)) {
                        let message = format!(
                            "there is no parameter `{name}`; describe it under [parameters.{name}]"
                        );
                        self.mistake(word.span(), message);
                    }
                }
            }
        }
        Template::Argv(words.iter().map(|word| word.get_ref().clone()).collect())
    }

    fn category(&mut self, given: Option<&Spanned<String>>) -> Category {
        let Some(given) = given else { return Category::Execution };
        // What a project's file defines is not the tool of a foreign server.
        let all = || Category::ALL.into_iter().filter(|one| *one != Category::External);
        let found = all().find(|category| category.title().eq_ignore_ascii_case(given.get_ref()));
        found.unwrap_or_else(|| {
            let titles: Vec<_> = all().map(|category| category.title()).collect();
            let message = format!("there is no such category; there are {}", titles.join(", "));
            self.mistake(given.span(), message);
            Category::Execution
        })
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(is_part)
}

fn schema(parameters: &BTreeMap<Spanned<String>, Parameter>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, parameter) in parameters {
        let mut property = match parameter.kind {
            ParameterKind::String => json!({"type": "string"}),
            ParameterKind::Integer => json!({"type": "integer"}),
            ParameterKind::Number => json!({"type": "number"}),
            ParameterKind::Boolean => json!({"type": "boolean"}),
            ParameterKind::Array => json!({"type": "array", "items": {"type": "string"}}),
        };
        if let Some(description) = &parameter.description {
            property["description"] = description.as_str().into();
        }
        if let Some(choices) = &parameter.choices {
            property["enum"] = choices.clone().into();
        }
        if parameter.required {
            required.push(name.get_ref().as_str());
        }
        properties.insert(name.get_ref().clone(), property);
    }
    let mut schema =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A call with everything that is required.
fn example(parameters: &BTreeMap<Spanned<String>, Parameter>) -> Value {
    let required = parameters.iter().filter(|(_, parameter)| parameter.required);
    let values = required.map(|(name, parameter)| {
        let first = parameter.choices.as_ref().and_then(|choices| choices.first().cloned());
        let value = first.unwrap_or(match parameter.kind {
            ParameterKind::String => "text".into(),
            ParameterKind::Integer | ParameterKind::Number => 1.into(),
            ParameterKind::Boolean => true.into(),
            ParameterKind::Array => json!(["text"]),
        });
        (name.get_ref().clone(), value)
    });
    Value::Object(values.collect())
}
