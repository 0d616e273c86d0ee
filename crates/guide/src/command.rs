//! Tools as commands: `/grep pattern=TODO path=src`, `grep TODO src`, `/grep {"pattern": "TODO"}`.
//!
//! A leading `/` always makes a command. Without it, a line is a command only if its first word is
//! exactly the name of an offered tool and the rest can be nothing but arguments: see
//! [`reads_as_arguments`]. So `read src/main.rs` is a command and `read the file …` is English.

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Map, Value};

use crate::parameters::{Kind, Parameter, example, parameters, usage};
use crate::tools::Tools;
use crate::words::{OpenQuote, Word, command_words};

#[derive(Debug, PartialEq)]
pub(crate) enum Command<'a> {
    Run(&'a ToolSpec, Map<String, Value>),
    /// Explain all tools, or the one of this name.
    Help(Option<String>),
    /// Something is wrong with it, and this is what.
    Problem(String),
}

/// Words that occur in sentences and hardly ever as an argument.
const ENGLISH: &str = "a|about|all|am|an|and|any|are|as|at|but|can|do|does|for|from|how|i|if|in|into|\
                       is|it|me|my|not|of|on|or|our|please|so|that|the|then|these|this|those|to|we|\
                       what|where|with|you";

/// Parameters that take all the rest of a line as it stands.
const VERBATIM: [&str; 2] = ["command", "code"];

/// Parameters that take all words that have no name.
const GATHERING: [&str; 6] = ["query", "content", "message", "text", "prompt", "task"];

/// The command that a line is, if it is one.
pub(crate) fn parse<'a>(line: &str, tools: Tools<'a>) -> Option<Command<'a>> {
    let line = line.trim();
    let (name, rest) = split_name(line.strip_prefix('/').unwrap_or(line));
    let tool = tools.named(name);
    let about = rest.trim_start_matches('/');
    let help = Command::Help((!about.is_empty()).then(|| about.to_owned()));
    if line.starts_with('/') {
        return Some(match tool {
            Some(tool) => run(tool, rest),
            None if matches!(name, "help" | "?" | "") => help,
            None => Command::Problem(unknown_tool(name, tools)),
        });
    }
    if name.eq_ignore_ascii_case("help") && rest.split_whitespace().count() <= 1 {
        return (rest.is_empty() || tools.named(about).is_some()).then_some(help);
    }
    tool.filter(|tool| reads_as_arguments(tool, rest)).map(|tool| run(tool, rest))
}

/// What to say about a tool that is not offered, if a tool for the same is.
pub(crate) fn foreign_name(line: &str, tools: Tools<'_>) -> Option<String> {
    let (name, rest) = split_name(line.trim());
    let is_english = command_words(rest).ok()?.iter().any(|word| word.is_any_of(ENGLISH));
    (!is_english && tools.counterpart(name).is_some()).then(|| unknown_tool(name, tools))
}

fn split_name(line: &str) -> (&str, &str) {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (name, rest.trim())
}

fn unknown_tool(name: &str, tools: Tools<'_>) -> String {
    if let Some(tool) = tools.counterpart(name) {
        let (here, example) = (&tool.name, example(tool));
        return format!(
            "There is no tool `{name}` in this session; `{here}` does that here. {example}"
        );
    }
    match closest(name, tools.0.iter().map(|tool| tool.name.as_str())) {
        Some(near) => format!("There is no tool `{name}`. Did you mean `/{near}`?"),
        None => format!("There is no tool `{name}`. `help` lists those there are."),
    }
}

/// The name most like `wanted`, if one is like it at all.
fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const ALIKE: f64 = 0.75;
    let scored = names.map(|name| (strsim::jaro_winkler(wanted, name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= ALIKE).then_some(best.1)
}

/// Whether what follows the name of a tool can only be meant as its arguments.
///
/// It can if it is JSON or empty, or if every word is a `name=value`, a `--flag` or the name of a
/// switch, or has a parameter to go to; and if none is a word of a sentence, or ends as sentences
/// do. A tool that needs nothing, such as `undo`, takes only words that look like a path or a
/// number.
fn reads_as_arguments(tool: &ToolSpec, rest: &str) -> bool {
    if rest.is_empty() || parse_object(rest).is_some() {
        return true;
    }
    let Ok(words) = command_words(rest) else { return false };
    let is_sentence = words.iter().any(|word| word.is_any_of(ENGLISH))
        || words.last().is_some_and(ends_a_sentence);
    let parameters = parameters(tool);
    let slots = slots(&parameters);
    let is_loose = |word: &&Word| !Address::of(word, &parameters).is_complete(word);
    let loose: Vec<&Word> = words.iter().filter(is_loose).collect();
    let takes_many = |slot: &&Parameter<'_>| is_one_of(slot, &VERBATIM) || takes_more(slot);
    let has_room = loose.len() <= slots.len() || slots.iter().any(takes_many);
    // `undo` and `redo` are words of English as well, `list_directory` is not.
    let is_prose = !tool.name.contains('_') && slots.first().is_none_or(|slot| !slot.required);
    !is_sentence && has_room && (!is_prose || loose.iter().all(|word| word.is_name()))
}

/// `why?` ends a sentence, `*.r?` does not.
fn ends_a_sentence(word: &Word) -> bool {
    let stem = word.text.trim_end_matches(['?', '!', '.']);
    let is_word = !stem.is_empty() && stem.chars().all(char::is_alphabetic);
    !word.quoted && is_word && stem.len() < word.text.len()
}

/// The parameters that words without a name go to: the required ones, then `path`; the first one
/// if none is required.
fn slots<'p, 's>(parameters: &'p [Parameter<'s>]) -> Vec<&'p Parameter<'s>> {
    let mut slots: Vec<_> = parameters.iter().filter(|one| one.required).collect();
    if slots.is_empty() {
        return parameters.iter().take(1).collect();
    }
    slots.extend(parameters.iter().find(|one| one.name == "path" && !one.required));
    slots
}

fn is_one_of(parameter: &Parameter<'_>, names: &[&str]) -> bool {
    parameter.kind == Kind::Text && names.contains(&parameter.name)
}

/// Whether a parameter that has a value takes further words.
fn takes_more(parameter: &Parameter<'_>) -> bool {
    parameter.kind == Kind::List || is_one_of(parameter, &GATHERING)
}

/// Which parameter a word says itself it is for: `path=src`, `--path=src`, `--path`, `hidden`.
struct Address<'w, 'p> {
    is_flag: bool,
    key: &'w str,
    value: Option<&'w str>,
    parameter: Option<&'p Parameter<'p>>,
}

impl<'w, 'p> Address<'w, 'p> {
    fn of(word: &'w Word, parameters: &'p [Parameter<'p>]) -> Self {
        let flag = word.text.strip_prefix("--").filter(|name| !name.is_empty());
        let start = if flag.is_some() { "--".len() } else { 0 };
        let end = word.equals.filter(|at| *at >= start);
        let key = &word.text[start..end.unwrap_or(word.text.len())];
        let value = end.map(|at| &word.text[at + 1..]);
        let parameter = parameters.iter().find(|one| one.name == key);
        Self { is_flag: flag.is_some(), key, value, parameter }
    }

    fn is_complete(&self, word: &Word) -> bool {
        let is_switch = |one: &Parameter<'_>| one.kind == Kind::Switch && !word.quoted;
        let is_known = self.parameter.is_some_and(|one| self.value.is_some() || is_switch(one));
        self.is_flag || is_known
    }
}

fn run<'a>(tool: &'a ToolSpec, rest: &str) -> Command<'a> {
    match arguments(tool, rest) {
        Ok(arguments) => Command::Run(tool, arguments),
        Err(problem) => Command::Problem(problem),
    }
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match text.starts_with('{').then(|| parse_strict_json(text)) {
        Some(Ok(Value::Object(arguments))) => Some(arguments),
        _ => None,
    }
}

/// The arguments that `rest` stands for, or what is wrong with it.
fn arguments(tool: &ToolSpec, rest: &str) -> Result<Map<String, Value>, String> {
    if let Some(arguments) = parse_object(rest) {
        return Ok(arguments);
    }
    let words = command_words(rest).map_err(|OpenQuote(quote)| {
        format!(
            "A quote {quote} is opened and never closed in `{rest}`. Close it, or write \\{quote}."
        )
    })?;
    let parameters = &parameters(tool);
    let mut filled = Map::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Address { is_flag, key, value, parameter } = Address::of(word, parameters);
        match (parameter, value) {
            (Some(one), Some(value)) => put(&mut filled, one, value, word.quoted)?,
            (Some(one), None) if one.kind == Kind::Switch && !word.quoted => {
                put(&mut filled, one, "true", false)?;
            }
            (Some(one), None) if is_flag => {
                let needs = || format!("`--{key}` needs a value after it. {}", usage(tool));
                let value = words.next().ok_or_else(needs)?;
                put(&mut filled, one, &value.text, value.quoted)?;
            }
            _ => {
                let slots = slots(parameters);
                let is_open =
                    |one: &&&Parameter<'_>| !filled.contains_key(one.name) || takes_more(one);
                match slots.iter().find(is_open) {
                    Some(slot) if is_one_of(slot, &VERBATIM) && !word.quoted => {
                        put(&mut filled, slot, &rest[word.start..], true)?;
                        break;
                    }
                    Some(slot) if is_one_of(slot, &GATHERING) => gather(&mut filled, slot, word),
                    _ if (value.is_some() || is_flag) && is_identifier(key) => {
                        return Err(unknown_parameter(tool, parameters, key));
                    }
                    Some(slot) => put(&mut filled, slot, &word.text, word.quoted)?,
                    None => return Err(too_many(tool, word)),
                }
            }
        }
    }
    let missing = parameters.iter().filter(|one| one.required && !filled.contains_key(one.name));
    let missing: Vec<_> = missing.map(|one| format!("`{}`", one.name)).collect();
    match missing.is_empty() {
        true => Ok(filled),
        false => Err(format!("{} needs {}. {}", tool.name, missing.join(" and "), example(tool))),
    }
}

fn put(
    filled: &mut Map<String, Value>,
    parameter: &Parameter<'_>,
    text: &str,
    quoted: bool,
) -> Result<(), String> {
    let value = parameter.value(text, quoted)?;
    match (filled.get_mut(parameter.name), value) {
        (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
        (_, value) => {
            filled.insert(parameter.name.to_owned(), value);
        }
    }
    Ok(())
}

fn gather(filled: &mut Map<String, Value>, parameter: &Parameter<'_>, word: &Word) {
    match filled.get_mut(parameter.name) {
        Some(Value::String(text)) => *text += &format!(" {}", word.text),
        _ => {
            filled.insert(parameter.name.to_owned(), word.text.clone().into());
        }
    }
}

/// Whether `key` can be meant as the name of a parameter.
fn is_identifier(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

fn unknown_parameter(tool: &ToolSpec, parameters: &[Parameter<'_>], key: &str) -> String {
    let near = closest(key, parameters.iter().map(|one| one.name));
    let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    format!(
        "{} has no parameter `{key}`.{near} Put quotes around a text that contains `=`. {}",
        tool.name,
        usage(tool)
    )
}

fn too_many(tool: &ToolSpec, word: &Word) -> String {
    format!(
        "`{}` is one word too many for {}; put quotes around what belongs together. {}",
        word.text,
        tool.name,
        usage(tool)
    )
}

#[cfg(test)]
mod tests;
