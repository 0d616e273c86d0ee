//! Plans that look for something.

use serde_json::{Value, json};

use super::{ReadFile, paths, read};
use crate::results::{describe, indented, told};
use crate::script::{Script, Stop, Told};
use crate::toolbox::Action;

/// Lines shown before and after a definition.
const LINES_BEFORE: u64 = 2;
const LINES_SHOWN: u64 = 14;
/// The most other definitions that are named.
const MAX_OTHERS: usize = 5;
/// Words by which people call files of a language.
const LANGUAGES: [(&str, &str); 20] = [
    ("rust", "*.rs"),
    ("python", "*.py"),
    ("javascript", "*.js,*.mjs,*.cjs,*.jsx"),
    ("typescript", "*.ts,*.mts,*.cts,*.tsx"),
    ("js", "*.js,*.mjs,*.cjs,*.jsx"),
    ("ts", "*.ts,*.mts,*.cts,*.tsx"),
    ("go", "*.go"),
    ("java", "*.java"),
    ("c", "*.c,*.h"),
    ("c++", "*.cc,*.cpp,*.cxx,*.hpp,*.hh,*.h"),
    ("c#", "*.cs"),
    ("ruby", "*.rb"),
    ("php", "*.php"),
    ("shell", "*.sh,*.bash"),
    ("markdown", "*.md"),
    ("css", "*.css"),
    ("html", "*.html,*.htm"),
    ("json", "*.json"),
    ("yaml", "*.yaml,*.yml"),
    ("toml", "*.toml"),
];

/// A place in the project.
struct Place<'a> {
    path: &'a str,
    line: u64,
    kind: Option<&'a str>,
}

pub(super) fn definition(script: &mut Script<'_>, symbol: &str) -> Told {
    let (found, by_text) = if script.tools.can(Action::Definition) {
        let say = format!("Looking up where `{symbol}` is defined.");
        (script.ask(&say, Action::Definition, &[("symbol", json!(symbol))])?, false)
    } else {
        let say = format!("No tool knows definitions here; searching for `{symbol}`.");
        (search_text(script, &say, &definition_pattern(script, symbol), None)?, true)
    };
    let places = places(found);
    // An import names the symbol too, but what it names is elsewhere.
    let is_import = |place: &&Place<'_>| place.kind == Some("import");
    let first = places.iter().find(|place| !is_import(place)).or_else(|| places.first());
    let Some(first) = first else { return mentions(script, symbol, found) };
    let Place { path, line, .. } = *first;
    let excerpt = around(script, path, line)?;
    let what = match first.kind {
        _ if by_text => format!("`{symbol}` seems to be defined"),
        Some(kind) => format!("`{symbol}` is defined as {} {kind}", article(kind)),
        None => format!("`{symbol}` is defined"),
    };
    let mut text = format!("{what} in {path}:{line}:\n\n{excerpt}");
    let others = places.iter().filter(|place| (place.path, place.line) != (path, line));
    let others: Vec<String> =
        others.map(|place| format!("{}:{}", place.path, place.line)).collect();
    if !others.is_empty() {
        let named = others.iter().take(MAX_OTHERS).cloned().collect::<Vec<_>>().join(", ");
        let more = others.len().saturating_sub(MAX_OTHERS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text += &format!("\n\nAlso found: {named}{more}.");
    }
    Ok(text)
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn places(found: &Value) -> Vec<Place<'_>> {
    let lists = ["definitions", "matches", "results"];
    let list = lists.iter().find_map(|key| found[*key].as_array());
    let places = list.into_iter().flatten().filter_map(|one| {
        let [path, kind] = ["path", "kind"].map(|key| one[key].as_str());
        Some(Place { path: path?, line: one["line"].as_u64()?, kind })
    });
    places.collect()
}

/// Without a definition the next best thing is where the word occurs.
fn mentions(script: &mut Script<'_>, symbol: &str, found: &Value) -> Told {
    let missing = describe(found);
    if !script.tools.can(Action::Search) {
        return Ok(missing);
    }
    let say = format!("{missing}\n\nSearching for the word.");
    let result = search_text(script, &say, &literal(script, symbol), None)?;
    Ok(format!(
        "`{symbol}` is not defined in this project, as far as I can tell. {}",
        describe(result)
    ))
}

/// The lines around a place, as the reading tool numbers them.
fn around(script: &mut Script<'_>, path: &str, line: u64) -> Result<String, Stop> {
    let first = line.saturating_sub(LINES_BEFORE).max(1);
    let arguments =
        [("path", json!(path)), ("offset", json!(first)), ("limit", json!(LINES_SHOWN))];
    let result =
        script.ask(&format!("Reading {path} around line {line}."), Action::Read, &arguments)?;
    let content = result["content"].as_str().unwrap_or_default();
    let most = usize::try_from(LINES_SHOWN).unwrap_or(usize::MAX);
    Ok(indented(content, most + 1))
}

/// A pattern for what defines `symbol`, for tools that know only text.
fn definition_pattern(script: &Script<'_>, symbol: &str) -> String {
    if !script.tools.takes_regex() {
        return symbol.to_owned();
    }
    let keywords = "fn|function|class|struct|enum|trait|interface|def|func|type|const|let|var|mod";
    format!(r"\b({keywords})\s+{}\b", escaped(symbol))
}

/// `text` as the search tool has to be given it.
fn literal(script: &Script<'_>, text: &str) -> String {
    if script.tools.takes_regex() { escaped(text) } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    let is_special = |char: char| r"\.+*?()|[]{}^$".contains(char);
    let parts =
        text.chars().map(|char| if is_special(char) { format!("\\{char}") } else { char.into() });
    parts.collect()
}

fn search_text<'a>(
    script: &mut Script<'a>,
    say: &str,
    pattern: &str,
    within: Option<&str>,
) -> Result<&'a Value, Stop> {
    let mut arguments = vec![("pattern", json!(pattern))];
    arguments.extend(within.map(|path| ("path", json!(path))));
    // `TODO` is a mark, `todo` is a word; who writes in capitals means capitals.
    if pattern.chars().any(char::is_uppercase) {
        arguments.push(("case_sensitive", json!(true)));
    }
    script.ask(say, Action::Search, &arguments)
}

pub(super) fn search(script: &mut Script<'_>, text: &str, within: Option<&str>) -> Told {
    let place = within.map_or("the project".to_owned(), |path| format!("`{path}`"));
    let say = format!("Searching {place} for `{text}`.");
    let result = search_text(script, &say, &literal(script, text), within)?;
    Ok(describe(result))
}

pub(super) fn files(script: &mut Script<'_>, name: &str) -> Told {
    let language = LANGUAGES.iter().find(|(word, _)| name.eq_ignore_ascii_case(word));
    let pattern = match language {
        Some((_, pattern)) => (*pattern).to_owned(),
        None if name.contains(['*', '.', '?', '/']) => name.to_owned(),
        None => format!("*{name}*"),
    };
    let say = format!("Looking for files like `{pattern}`.");
    let result = script.ask(&say, Action::FindFiles, &[("pattern", json!(pattern))])?;
    Ok(describe(result))
}

pub(super) fn list(script: &mut Script<'_>, path: &str) -> Told {
    if !script.tools.can(Action::List) {
        let pattern = if path == "." { "*".to_owned() } else { format!("{path}/*") };
        return files(script, &pattern);
    }
    let say = if path == "." { "Listing the project.".into() } else { format!("Listing {path}.") };
    let result = script.ask(&say, Action::List, &[("path", json!(path))])?;
    let heading = if path == "." { "The project holds:" } else { &format!("{path} holds:") };
    Ok(told(heading, result))
}

pub(super) fn references(script: &mut Script<'_>, symbol: &str) -> Told {
    if !script.tools.can(Action::References) {
        return search(script, symbol, None);
    }
    let say = format!("Looking for the uses of `{symbol}`.");
    let result = script.ask(&say, Action::References, &[("symbol", json!(symbol))])?;
    Ok(describe(result))
}

pub(super) fn users(script: &mut Script<'_>, symbol: &str) -> Told {
    if !script.tools.can(Action::Importers) {
        return references(script, symbol);
    }
    let target = module_of(script, symbol)?;
    let say = format!("Looking for the files that import {target}.");
    let found = script.attempt(&say, Action::Importers, &[("target", json!(target))])?;
    match found {
        Ok(found) if found["importers"].as_array().is_some_and(|all| !all.is_empty()) => {
            Ok(importers(symbol, &target, found))
        }
        _ => Ok(format!("No file imports {target}. {}", references(script, symbol)?)),
    }
}

/// The file whose importers are the users of `symbol`; the symbol itself if there is none.
fn module_of(script: &mut Script<'_>, symbol: &str) -> Result<String, Stop> {
    let is_path = symbol.contains('/') || symbol.contains("::") || symbol.contains('.');
    if is_path || !script.tools.can(Action::Definition) {
        return Ok(symbol.to_owned());
    }
    let say = format!("Looking up where `{symbol}` is defined.");
    let found = script.ask(&say, Action::Definition, &[("symbol", json!(symbol))])?;
    let places = places(found);
    let defined = places.iter().find(|place| place.kind != Some("import"));
    if let Some(place) = defined {
        return Ok(place.path.to_owned());
    }
    if !script.tools.can(Action::FindFiles) {
        return Ok(symbol.to_owned());
    }
    let say = format!("`{symbol}` is not defined here; looking for a file of that name.");
    let pattern = json!(format!("{symbol}.*"));
    let found = script.ask(&say, Action::FindFiles, &[("pattern", pattern)])?;
    Ok(paths(found).next().unwrap_or(symbol).to_owned())
}

fn importers(symbol: &str, target: &str, found: &Value) -> String {
    let files = found["files"].as_u64().unwrap_or(0);
    let verb = if files == 1 { "1 file imports" } else { &format!("{files} files import") };
    let what =
        if symbol == target { format!("`{symbol}`") } else { format!("`{symbol}` ({target})") };
    told(&format!("{verb} {what}:"), found)
}

pub(super) fn impact(script: &mut Script<'_>, target: &str) -> Told {
    if !script.tools.can(Action::Impact) {
        return users(script, target);
    }
    let say = format!("Working out what depends on `{target}`.");
    let result = script.ask(&say, Action::Impact, &[("target", json!(target))])?;
    let tests = result["tests"].as_array().map_or(0, Vec::len);
    let tests = if tests > 0 {
        format!("\n\nTests among them: {}.", names(&result["tests"]))
    } else {
        String::new()
    };
    Ok(format!("{}{tests}", describe(result)))
}

fn names(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.take(MAX_OTHERS).collect::<Vec<_>>().join(", ")
}

pub(super) fn outline(script: &mut Script<'_>, file: &str) -> Told {
    let ReadFile { path, result } = read(script, file)?;
    if !script.tools.can(Action::Outline) {
        return Ok(told(&format!("{path} reads:"), result));
    }
    let say = format!("Asking for the outline of {path}.");
    let outline = script.ask(&say, Action::Outline, &[("path", json!(path))])?;
    let heading = format!("I cannot say what code means, but this is what {path} defines:");
    Ok(told(&heading, outline))
}
