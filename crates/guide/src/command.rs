//! Tools as commands: `/grep pattern=TODO path=src`, `grep TODO src`, `/grep {"pattern": "TODO"}`.
//!
//! A leading `/` always makes a command. Without it, a line is a command only if its first word is
//! exactly the name of an offered tool and the rest can be nothing but arguments: see
//! [`reads_as_arguments`]. So `read src/main.rs` is a command and `read the file …` is English.

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Map, Value};

use super::schema::{Kind, Parameter, example_command, parameters, usage};
use super::toolbox::Toolbox;
use super::words::{OpenQuote, Word, command_words};

/// A line that is a command.
#[derive(Debug, PartialEq)]
pub(super) enum Command<'a> {
    /// Run a tool.
    Run(&'a ToolSpec, Map<String, Value>),
    /// Explain all tools, or the one of this name.
    Help(Option<String>),
    /// Something is wrong with it, and this is what.
    Problem(String),
}

/// Words that occur in sentences and hardly ever as an argument.
const ENGLISH: [&str; 44] = [
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "but", "can", "do", "does",
    "for", "from", "how", "i", "if", "in", "into", "is", "it", "me", "my", "not", "of", "on", "or",
    "our", "please", "so", "that", "the", "then", "these", "this", "those", "to", "we", "what",
    "where", "with", "you",
];

/// Parameters that take all the rest of a line as it stands.
const VERBATIM: [&str; 2] = ["command", "code"];

/// Parameters that take all words that have no name.
const GATHERING: [&str; 6] = ["query", "content", "message", "text", "prompt", "task"];

/// The command that a line is, if it is one.
pub(super) fn parse<'a>(line: &str, tools: Toolbox<'a>) -> Option<Command<'a>> {
    let line = line.trim();
    if let Some(line) = line.strip_prefix('/') {
        let (name, rest) = split_name(line);
        return Some(match tools.named(name) {
            Some(tool) => run(tool, rest),
            None if matches!(name, "help" | "?" | "") => help(rest),
            None => Command::Problem(unknown_tool(name, tools)),
        });
    }
    let (name, rest) = split_name(line);
    if name.eq_ignore_ascii_case("help") && rest.split_whitespace().count() <= 1 {
        let known = rest.is_empty() || tools.named(rest.trim_start_matches('/')).is_some();
        return known.then(|| help(rest));
    }
    let tool = tools.named(name)?;
    reads_as_arguments(tool, rest).then(|| run(tool, rest))
}

/// What to say about a tool that is not offered, if a tool for the same is.
pub(super) fn foreign_name(line: &str, tools: Toolbox<'_>) -> Option<String> {
    let (name, rest) = split_name(line.trim());
    let words = command_words(rest).ok()?;
    let is_english = words.iter().any(is_english);
    let known = !is_english && tools.counterpart(name).is_some();
    known.then(|| unknown_tool(name, tools))
}

fn split_name(line: &str) -> (&str, &str) {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (name, rest.trim())
}

fn help(rest: &str) -> Command<'static> {
    let name = rest.trim_start_matches('/');
    Command::Help((!name.is_empty()).then(|| name.to_owned()))
}

fn unknown_tool(name: &str, tools: Toolbox<'_>) -> String {
    if let Some(tool) = tools.counterpart(name) {
        return format!(
            "There is no tool `{name}` in this session; `{}` does that here. {}",
            tool.name,
            example(tool)
        );
    }
    let names = tools.all().iter().map(|tool| tool.name.as_str());
    match closest(name, names) {
        Some(near) => format!("There is no tool `{name}`. Did you mean `/{near}`?"),
        None => format!("There is no tool `{name}`. `help` lists those there are."),
    }
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
    if words.iter().any(is_english) || words.last().is_some_and(ends_a_sentence) {
        return false;
    }
    let parameters = parameters(tool);
    let slots = slots(&parameters);
    let loose: Vec<&Word> = words.iter().filter(|word| !is_named(word, &parameters)).collect();
    let takes_many = |slot: &&Parameter<'_>| {
        slot.kind == Kind::List || is_one_of(slot, &VERBATIM) || is_one_of(slot, &GATHERING)
    };
    let unlimited = slots.iter().any(takes_many);
    let needs_nothing = slots.first().is_none_or(|slot| !slot.required);
    let is_word_of_english = !tool.name.contains('_');
    (unlimited || loose.len() <= slots.len())
        && (!needs_nothing || !is_word_of_english || loose.iter().all(|word| is_technical(word)))
}

fn is_english(word: &Word) -> bool {
    !word.quoted && ENGLISH.contains(&word.text.to_lowercase().as_str())
}

/// `why?` ends a sentence, `*.r?` does not.
fn ends_a_sentence(word: &Word) -> bool {
    let stem = word.text.trim_end_matches(['?', '!', '.']);
    let is_word = !stem.is_empty() && stem.chars().all(|char| char.is_alphabetic());
    !word.quoted && is_word && stem.len() < word.text.len()
}

fn is_technical(word: &Word) -> bool {
    let unlike_prose = |char: char| !char.is_lowercase() && char != '-';
    word.quoted || word.text.chars().any(unlike_prose)
}

/// Whether the word says itself which parameter it is for.
fn is_named(word: &Word, parameters: &[Parameter<'_>]) -> bool {
    let key = &word.text[..word.equals.unwrap_or(word.text.len())];
    let known = |kinds: &[Kind], key: &str| {
        let mut all = parameters.iter();
        all.any(|one| one.name == key && (kinds.is_empty() || kinds.contains(&one.kind)))
    };
    let is_switch = !word.quoted && known(&[Kind::Switch], key);
    key.starts_with("--") || is_switch || (word.equals.is_some() && known(&[], key))
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

fn run<'a>(tool: &'a ToolSpec, rest: &str) -> Command<'a> {
    match arguments(tool, rest) {
        Ok(arguments) => Command::Run(tool, arguments),
        Err(problem) => Command::Problem(problem),
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
    let parameters = parameters(tool);
    let mut filled = Filled { tool, rest, parameters: &parameters, arguments: Map::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if filled.take(word, &mut words)? {
            break;
        }
    }
    filled.finish()
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match text.starts_with('{').then(|| parse_strict_json(text)) {
        Some(Ok(Value::Object(arguments))) => Some(arguments),
        _ => None,
    }
}

/// Arguments on the way.
struct Filled<'a> {
    tool: &'a ToolSpec,
    rest: &'a str,
    parameters: &'a [Parameter<'a>],
    arguments: Map<String, Value>,
}

impl<'a> Filled<'a> {
    /// Takes a word, and the next one as its value if need be. Answers whether it took all.
    fn take(
        &mut self,
        word: &'a Word,
        more: &mut std::slice::Iter<'_, Word>,
    ) -> Result<bool, String> {
        let flag = word.text.strip_prefix("--").filter(|name| !name.is_empty());
        let shift = if flag.is_some() { 2 } else { 0 };
        let (key, value) = match word.equals.filter(|at| *at >= shift) {
            Some(at) => (&word.text[shift..at], Some(&word.text[at + 1..])),
            None => (&word.text[shift..], None),
        };
        let known = self.parameters.iter().find(|one| one.name == key);
        match (known, value) {
            (Some(parameter), Some(value)) => self.put(parameter, value, word.quoted)?,
            (Some(one), None) if one.kind == Kind::Switch && !word.quoted => {
                self.put(one, "true", false)?;
            }
            (Some(parameter), None) if flag.is_some() => {
                let value = more.next().ok_or_else(|| self.no_value(parameter))?;
                self.put(parameter, &value.text, value.quoted)?;
            }
            _ => return self.take_loose(word, key, value.is_some() || flag.is_some()),
        }
        Ok(false)
    }

    /// Takes a word that is for no parameter by name.
    fn take_loose(&mut self, word: &Word, key: &str, named: bool) -> Result<bool, String> {
        let slots = slots(self.parameters);
        let is_open = |one: &&&Parameter<'_>| {
            let is_empty = !self.arguments.contains_key(one.name);
            is_empty || one.kind == Kind::List || is_one_of(one, &GATHERING)
        };
        let slot = slots.iter().find(is_open).copied();
        match slot {
            Some(slot) if is_one_of(slot, &VERBATIM) && !word.quoted => {
                self.put(slot, &self.rest[word.start..], true)?;
                return Ok(true);
            }
            Some(slot) if is_one_of(slot, &GATHERING) => self.gather(slot, &word.text),
            _ if named && is_name(key) => return Err(self.unknown(key)),
            Some(slot) => self.put(slot, &word.text, word.quoted)?,
            None => {
                return Err(format!(
                    "`{}` is one word too many for {}; put quotes around what belongs together. {}",
                    word.text,
                    self.tool.name,
                    usage(self.tool)
                ));
            }
        }
        Ok(false)
    }

    fn gather(&mut self, parameter: &Parameter<'_>, word: &str) {
        let text = match self.arguments.get(parameter.name) {
            Some(Value::String(before)) => format!("{before} {word}"),
            _ => word.to_owned(),
        };
        self.arguments.insert(parameter.name.to_owned(), Value::String(text));
    }

    fn put(&mut self, parameter: &Parameter<'_>, text: &str, quoted: bool) -> Result<(), String> {
        let value = parameter.value(text, quoted)?;
        match (self.arguments.get_mut(parameter.name), value) {
            (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
            (_, value) => {
                self.arguments.insert(parameter.name.to_owned(), value);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Map<String, Value>, String> {
        let is_missing =
            |one: &&Parameter<'_>| one.required && !self.arguments.contains_key(one.name);
        let missing: Vec<_> = self.parameters.iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(self.arguments);
        }
        let names: Vec<_> = missing.iter().map(|one| format!("`{}`", one.name)).collect();
        Err(format!("{} needs {}. {}", self.tool.name, names.join(" and "), example(self.tool)))
    }

    fn no_value(&self, parameter: &Parameter<'_>) -> String {
        let Parameter { name, .. } = parameter;
        format!("`--{name}` needs a value after it. {}", usage(self.tool))
    }

    fn unknown(&self, key: &str) -> String {
        let name = &self.tool.name;
        let near = closest(key, self.parameters.iter().map(|one| one.name));
        let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        format!(
            "{name} has no parameter `{key}`.{near} Put quotes around a text that contains `=`. {}",
            usage(self.tool)
        )
    }
}

/// Whether `key` can be meant as the name of a parameter.
fn is_name(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

fn example(tool: &ToolSpec) -> String {
    format!("Example: `{}`", example_command(tool))
}

/// The name most like `wanted`, if one is like it at all.
fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const ALIKE: f64 = 0.75;
    let scored = names.map(|name| (strsim::jaro_winkler(wanted, name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= ALIKE).then_some(best.1)
}

#[cfg(test)]
mod tests;
