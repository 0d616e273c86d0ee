//! Tools as commands: `/grep pattern=TODO path=src`, `grep TODO src`, `/grep {"pattern": "TODO"}`.
//!
//! A leading `/` always makes a command. Without it, a line is a command only if its first word is
//! the name of a tool and the rest can be nothing but arguments: `read src/main.rs` is a command and
//! `read the file …` is English. Whether the values are right is for the tool to say.

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Map, Value, json};

use crate::tools::Tools;
use crate::words::{Word, words};

#[derive(Debug, PartialEq)]
pub(crate) enum Command<'a> {
    Run(&'a ToolSpec, Map<String, Value>),
    /// Explain all tools, or the one of this name.
    Help(Option<String>),
    /// Something is wrong with it, and this is what.
    Problem(String),
}

/// Words that occur in sentences and hardly ever as an argument.
const ENGLISH: &str = "a|about|all|am|an|and|any|are|as|at|but|can|do|does|don't|for|from|how|i|if|in|\
                       into|is|it|me|my|not|of|on|or|our|please|so|that|the|then|these|this|those|\
                       to|we|what|where|with|you";

/// Parameters that take all the rest of a line as it stands.
const VERBATIM: [&str; 2] = ["command", "code"];

/// Parameters that take all words that have no name.
const GATHERING: [&str; 6] = ["query", "content", "message", "text", "prompt", "task"];

/// What a tool takes, as its JSON schema has it.
#[derive(Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    pub(crate) schema: &'a Value,
}

/// The parameters of a tool: the required ones in their order, then the others in theirs.
pub(crate) fn parameters(tool: &ToolSpec) -> Vec<Parameter<'_>> {
    let required = tool.parameters["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rank = |name: &str| required.iter().position(|one| one == name);
    let known = tool.parameters["properties"].as_object().into_iter().flatten();
    // The loop of the session understands `terminate`, no tool does.
    let known = known.filter(|(name, _)| *name != "terminate");
    let all =
        known.map(|(name, schema)| Parameter { name, required: rank(name).is_some(), schema });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|parameter| rank(parameter.name).unwrap_or(usize::MAX));
    all
}

impl Parameter<'_> {
    /// Its JSON type; nothing where it may have several.
    fn kind(&self) -> &str {
        kind_of(self.schema)
    }

    fn takes_more(&self) -> bool {
        self.kind() == "array" || GATHERING.contains(&self.name)
    }

    fn value(&self, text: &str, quoted: bool) -> Value {
        let list = || {
            let whole = quoted || text.contains('{');
            let parts = if whole { vec![text] } else { text.split(',').collect() };
            parts.into_iter().map(|part| plain_value(&self.schema["items"], part)).collect()
        };
        match self.kind() {
            "array" => parse_strict_json(text).ok().filter(Value::is_array).unwrap_or_else(list),
            _ => plain_value(self.schema, text),
        }
    }

    /// What may be given for it: `integer`, `lines|files|count`.
    fn placeholder(&self) -> String {
        let choices = self.schema["enum"].as_array().into_iter().flatten();
        let choices: Vec<&str> = choices.filter_map(Value::as_str).collect();
        if choices.is_empty() { self.kind().to_owned() } else { choices.join("|") }
    }
}

fn kind_of(schema: &Value) -> &str {
    match &schema["type"] {
        // `["string", "null"]` is a string that may be left out.
        Value::Array(types) => {
            let mut types = types.iter().filter_map(Value::as_str).filter(|one| *one != "null");
            types.next().filter(|_| types.next().is_none()).unwrap_or_default()
        }
        one => one.as_str().unwrap_or_default(),
    }
}

fn plain_value(schema: &Value, text: &str) -> Value {
    match (kind_of(schema), text) {
        ("string", text) => json!(text),
        ("boolean", "yes" | "on") => json!(true),
        ("boolean", "no" | "off") => json!(false),
        (_, text) => parse_strict_json(text).unwrap_or_else(|_| json!(text)),
    }
}

/// How a tool is called as a command, as in ``Usage: `/grep pattern=string [path=string]` ``.
pub(crate) fn usage(tool: &ToolSpec) -> String {
    let parts = parameters(tool).into_iter().map(|one| {
        let part = format!("{}={}", one.name, one.placeholder());
        if one.required { format!(" {part}") } else { format!(" [{part}]") }
    });
    format!("Usage: `/{}{}`", tool.name, parts.collect::<String>())
}

/// The command that a line is, if it is one.
pub(crate) fn parse<'a>(line: &str, tools: Tools<'a>) -> Option<Command<'a>> {
    let line = line.trim();
    let slashed = line.strip_prefix('/');
    let text = slashed.unwrap_or(line);
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let tool = tools.named(name).or_else(|| tools.counterpart(name));
    let is_help = name.eq_ignore_ascii_case("help") || slashed.is_some() && name.is_empty();
    let topic = rest.trim_start_matches('/');
    match tool {
        Some(tool) if slashed.is_some() || reads_as_arguments(tool, rest) => {
            Some(arguments(tool, rest).map_or_else(Command::Problem, |all| Command::Run(tool, all)))
        }
        None if is_help && (rest.is_empty() || tools.named(topic).is_some()) => {
            Some(Command::Help((!rest.is_empty()).then(|| topic.to_owned())))
        }
        None if is_help && slashed.is_some() => Some(Command::Problem(unknown_tool(topic))),
        None if slashed.is_some() => Some(Command::Problem(unknown_tool(name))),
        _ => None,
    }
}

fn unknown_tool(name: &str) -> String {
    format!("There is no tool `{name}`. `help` lists the tools.")
}

/// Whether what follows the name of a tool can only be meant as its arguments: JSON, or words that
/// all have a parameter to go to and do not belong to a sentence.
fn reads_as_arguments(tool: &ToolSpec, rest: &str) -> bool {
    let words = words(rest);
    if words.is_empty() || parse_object(rest).is_some() {
        return true;
    }
    let parameters = parameters(tool);
    let places = places(&parameters);
    let loose: Vec<_> = words.iter().filter(|word| named(word, &parameters).is_none()).collect();
    let is_english =
        |word: &Word| word.is_any_of(ENGLISH) || word.text.ends_with(['?', '!']) && !word.is_path();
    let takes_many = |one: &&Parameter<'_>| VERBATIM.contains(&one.name) || one.takes_more();
    // `undo` and `redo` are words of English as well, `list_directory` is not.
    let is_prose = !tool.name.contains('_') && places.first().is_none_or(|one| !one.required);
    !words.iter().any(is_english)
        && (loose.len() <= places.len() || places.iter().any(takes_many))
        && (!is_prose || loose.iter().all(|word| word.is_name()))
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match text.starts_with('{').then(|| parse_strict_json(text)) {
        Some(Ok(Value::Object(arguments))) => Some(arguments),
        _ => None,
    }
}

/// The parameters that words without a name go to: the required ones, then `path`; the first one
/// if none is required.
fn places<'p, 's>(parameters: &'p [Parameter<'s>]) -> Vec<&'p Parameter<'s>> {
    let mut places: Vec<_> = parameters.iter().filter(|one| one.required).collect();
    let more =
        parameters.iter().find(|one| !one.required && (places.is_empty() || one.name == "path"));
    places.extend(more);
    places
}

/// The parameter that a word names, as `path=src` does.
fn named<'p, 's>(word: &Word, parameters: &'p [Parameter<'s>]) -> Option<&'p Parameter<'s>> {
    let name = word.name.as_deref()?;
    parameters.iter().find(|one| one.name == name)
}

/// The arguments that `rest` stands for, or what is wrong with it.
fn arguments(tool: &ToolSpec, rest: &str) -> Result<Map<String, Value>, String> {
    if let Some(arguments) = parse_object(rest) {
        return Ok(arguments);
    }
    let parameters = parameters(tool);
    let places = places(&parameters);
    let mut filled = Map::new();
    for word in words(rest) {
        if let Some(parameter) = named(&word, &parameters) {
            put(&mut filled, parameter, parameter.value(&word.text, word.quoted));
            continue;
        }
        let is_open = |one: &&&Parameter<'_>| !filled.contains_key(one.name) || one.takes_more();
        let Some(place) = places.iter().find(is_open) else {
            return Err(format!(
                "`{}` is one word too many for {}; put quotes around what belongs together. {}",
                word.whole(),
                tool.name,
                usage(tool)
            ));
        };
        if VERBATIM.contains(&place.name) && !word.quoted {
            put(&mut filled, place, json!(rest[word.start..]));
            break;
        }
        put(&mut filled, place, place.value(&word.whole(), word.quoted));
    }
    let missing = parameters.iter().filter(|one| one.required && !filled.contains_key(one.name));
    let missing: Vec<_> = missing.map(|one| format!("`{}`", one.name)).collect();
    match missing.is_empty() {
        true => Ok(filled),
        false => Err(format!("{} needs {}. {}", tool.name, missing.join(" and "), usage(tool))),
    }
}

/// Sets a parameter, or adds to one that takes more than one word.
fn put(filled: &mut Map<String, Value>, parameter: &Parameter<'_>, value: Value) {
    match (filled.get_mut(parameter.name), value) {
        (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
        (Some(Value::String(text)), Value::String(more)) if parameter.takes_more() => {
            *text += &format!(" {more}");
        }
        (_, value) => {
            filled.insert(parameter.name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
