//! Tools as commands: `/grep pattern=TODO path=src`, `grep TODO src`, `grep TODO --path src`,
//! `/grep {"pattern": "TODO"}`.
//!
//! A leading `/` always makes a command. Without it, a line is a command only if its first word is
//! the name of a tool and the rest can be nothing but arguments: `read src/main.rs` is a command and
//! `read the file …` is English. Whether the values are right is for the tool to say.

use std::iter::Peekable;

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Map, Value, json};

use crate::nearest::nearest;
use crate::tools::Tools;
use crate::words::{InputWord, words};

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

/// The JSON type of a value; nothing where it may have several.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        // `["string", "null"]` is a string that may be left out.
        Value::Array(types) => {
            let mut types = types.iter().filter_map(Value::as_str).filter(|one| *one != "null");
            types.next().filter(|_| types.next().is_none()).unwrap_or_default()
        }
        one => one.as_str().unwrap_or_default(),
    }
}

/// The value that a word stands for. Whether it is right is for the tool to say.
fn value(schema: &Value, text: &str, quoted: bool) -> Value {
    let json = parse_strict_json(text).ok();
    match (kind(schema), text) {
        ("string", _) => json!(text),
        ("boolean", "yes" | "on") => json!(true),
        ("boolean", "no" | "off") => json!(false),
        ("array", _) => json.filter(Value::is_array).unwrap_or_else(|| {
            let is_one = quoted || text.contains('{');
            let parts = if is_one { vec![text] } else { text.split(',').collect() };
            parts.into_iter().map(|part| value(&schema["items"], part, quoted)).collect()
        }),
        _ => json.unwrap_or_else(|| json!(text)),
    }
}

/// How a tool is called as a command: ``Usage: `/grep pattern=string [path=string]` ``.
pub(crate) fn usage(tool: &ToolSpec) -> String {
    let parts = parameters(tool).into_iter().map(|one| {
        let choices = one.schema["enum"].as_array().into_iter().flatten();
        let choices: Vec<&str> = choices.filter_map(Value::as_str).collect();
        let given = if choices.is_empty() { kind(one.schema) } else { &choices.join("|") };
        let part = format!("{}={given}", one.name);
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
    let topic = rest.trim_start_matches('/');
    if name.eq_ignore_ascii_case("help") && (rest.is_empty() || tools.named(topic).is_some()) {
        return Some(Command::Help((!rest.is_empty()).then(|| topic.to_owned())));
    }
    match tools.named(name).or_else(|| tools.counterpart(name)) {
        Some(tool) if slashed.is_some() || reads_as_arguments(tool, rest) => {
            Some(arguments(tool, rest).map_or_else(Command::Problem, |all| Command::Run(tool, all)))
        }
        None if slashed.is_some() => {
            let name = if name == "help" { topic } else { name };
            let meant = nearest_tool(name, tools);
            let meant = meant.map(|meant| format!("; did you mean `{meant}`? "));
            let meant = meant.as_deref().unwrap_or(". ");
            Some(Command::Problem(format!(
                "`{name}` is not a tool of this session{meant}`help` lists the tools."
            )))
        }
        _ => None,
    }
}

fn nearest_tool<'a>(name: &str, tools: Tools<'a>) -> Option<&'a str> {
    nearest(name, tools.0.iter().map(|tool| tool.name.as_str()))
}

/// The line with the name of its tool corrected, if it then is a command.
pub(crate) fn corrected(line: &str, tools: Tools<'_>) -> Option<String> {
    let line = line.trim();
    let name = line.split(char::is_whitespace).next()?;
    let meant = format!("{}{}", nearest_tool(name, tools)?, &line[name.len()..]);
    matches!(parse(&meant, tools), Some(Command::Run(..))).then_some(meant)
}

/// Whether what follows the name of a tool can only be meant as its arguments: JSON, or words that
/// all have a parameter to go to and do not belong to a sentence.
fn reads_as_arguments(tool: &ToolSpec, rest: &str) -> bool {
    let words = words(rest);
    let is_english = |word: &InputWord| {
        word.is_any_of(ENGLISH) || word.text.ends_with(['?', '!']) && !word.is_path()
    };
    // `undo` and `redo` are words of English as well, `list_directory` is not.
    let is_prose = !tool.name.contains('_') && parameters(tool).iter().all(|one| !one.required);
    let is_argument = |word: &InputWord| !is_english(word) && (!is_prose || word.is_name());
    parse_object(rest).is_some() || words.iter().all(is_argument)
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match text.starts_with('{').then(|| parse_strict_json(text)) {
        Some(Ok(Value::Object(arguments))) => Some(arguments),
        _ => None,
    }
}

/// The arguments that `rest` stands for, or what is wrong with it. Words without a name go to the
/// required parameters in their order, then to the first of the others.
fn arguments(tool: &ToolSpec, rest: &str) -> Result<Map<String, Value>, String> {
    if let Some(arguments) = parse_object(rest) {
        return Ok(arguments);
    }
    let parameters = parameters(tool);
    let required = parameters.iter().filter(|one| one.required).count();
    let mut filled: Map<String, Value> = Map::new();
    let mut all = words(rest).into_iter().peekable();
    while let Some(word) = all.next() {
        let word = match flag(&word, &parameters) {
            Some(schema) => with_value(word, schema, &mut all)?,
            None => word,
        };
        let name = word.name.as_deref().map(parameter_name);
        let is_named = |one: &&Parameter<'_>| name.as_deref() == Some(one.name);
        let is_open = |one: &&Parameter<'_>| {
            !filled.contains_key(one.name)
                || kind(one.schema) == "array"
                || GATHERING.contains(&one.name)
        };
        let named = parameters.iter().find(is_named);
        let open = || parameters.iter().take(required + 1).find(is_open);
        let Some(parameter) = named.or_else(open) else {
            return Err(format!("`{}` is one word too many. {}", word.whole(), usage(tool)));
        };
        // Commands and prose may have such words of their own.
        let is_prose = VERBATIM.contains(&parameter.name) || GATHERING.contains(&parameter.name);
        if named.is_none() && !is_prose {
            misspelled(&word, &parameters).map_or(Ok(()), |(written, meant)| {
                let (name, usage) = (&tool.name, usage(tool));
                Err(format!("{name} has no `{written}`; did you mean `{meant}`? {usage}"))
            })?;
        }
        if VERBATIM.contains(&parameter.name) && named.is_none() && !word.quoted {
            filled.insert(parameter.name.to_owned(), json!(rest[word.start..]));
            break;
        }
        let text = if named.is_some() { word.text.clone() } else { word.whole() };
        match (filled.get_mut(parameter.name), value(parameter.schema, &text, word.quoted)) {
            (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
            (Some(Value::String(all)), Value::String(more))
                if GATHERING.contains(&parameter.name) =>
            {
                *all += &format!(" {more}");
            }
            (_, value) => {
                filled.insert(parameter.name.to_owned(), value);
            }
        }
    }
    let missing = parameters.iter().filter(|one| one.required && !filled.contains_key(one.name));
    let missing: Vec<_> = missing.map(|one| format!("`{}`", one.name)).collect();
    match missing.is_empty() {
        true => Ok(filled),
        false => Err(format!("{} needs {}. {}", tool.name, missing.join(" and "), usage(tool))),
    }
}

/// `--case-sensitive` is the parameter `case_sensitive`.
fn parameter_name(written: &str) -> String {
    written.strip_prefix("--").map_or(written.to_owned(), |flag| flag.replace('-', "_"))
}

/// The name in `pth=src`, `--pth=src` or `--pth`, and the parameter that may be meant by it.
fn misspelled<'a>(word: &InputWord, parameters: &[Parameter<'a>]) -> Option<(String, &'a str)> {
    let is_flag = !word.quoted && word.text.starts_with("--");
    let name = word.name.as_deref().or(is_flag.then_some(word.text.as_str()))?;
    let name = parameter_name(name);
    let meant = nearest(&name, parameters.iter().map(|one| one.name))?;
    Some((name, meant))
}

/// The schema of the parameter that a word like `--path` announces.
fn flag<'a>(word: &InputWord, parameters: &[Parameter<'a>]) -> Option<&'a Value> {
    let is_flag = word.name.is_none() && !word.quoted && word.text.starts_with("--");
    let name = is_flag.then(|| parameter_name(&word.text))?;
    parameters.iter().find(|one| one.name == name).map(|one| one.schema)
}

/// The word after a flag as its value. `--hidden` alone is true.
fn with_value(
    flag: InputWord,
    schema: &Value,
    rest: &mut Peekable<impl Iterator<Item = InputWord>>,
) -> Result<InputWord, String> {
    let is_switch = kind(schema) == "boolean";
    let is_value = |word: &InputWord| {
        !is_switch || word.is_any_of("true|false|yes|no|on|off") && word.name.is_none()
    };
    match rest.next_if(is_value) {
        Some(value) => Ok(InputWord {
            name: Some(flag.text),
            text: value.whole(),
            quoted: value.quoted,
            start: flag.start,
        }),
        None if is_switch => {
            Ok(InputWord { name: Some(flag.text), text: "true".to_owned(), ..flag })
        }
        None => Err(format!("`{}` needs a value after it.", flag.text)),
    }
}

#[cfg(test)]
mod tests;
