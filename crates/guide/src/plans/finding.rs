//! Plans that look for something.

use serde_json::{Value, json};

use super::read;
use crate::plan_run::{PlanResult, PlanRun, PlanStop};
use crate::results::{
    FoundAt, MAX_ROWS, below, describe, found_in, indented, names_in, paths_in, text_of,
    without_notes,
};
use crate::sentence::directory;
use crate::tools::{
    DEFINITION, FIND_FILES, IMPACT, IMPORTERS, LIST, OUTLINE, READ, REFERENCES, SEARCH,
};

/// Lines shown before a definition, and in all.
const LINES_BEFORE: u64 = 2;
const LINES_SHOWN: usize = 14;
/// The most other definitions that are named.
const MAX_OTHERS: usize = 5;
/// Words by which users call files of a language, and the files.
const LANGUAGES: &str = "rust=*.rs python=*.py javascript=*.js,*.mjs,*.cjs,*.jsx \
    js=*.js,*.mjs,*.cjs,*.jsx typescript=*.ts,*.mts,*.cts,*.tsx ts=*.ts,*.mts,*.cts,*.tsx go=*.go \
    java=*.java c=*.c,*.h c++=*.cc,*.cpp,*.cxx,*.hpp,*.hh,*.h c#=*.cs ruby=*.rb php=*.php \
    shell=*.sh,*.bash markdown=*.md css=*.css html=*.html,*.htm json=*.json yaml=*.yaml,*.yml \
    toml=*.toml";

/// An import names the symbol too, but what it names is elsewhere.
fn is_import(found: &FoundAt<'_>) -> bool {
    ["import ", "use ", "pub use ", "from "].iter().any(|word| found.text.starts_with(word))
}

pub(crate) fn definition(script: &mut PlanRun<'_>) -> PlanResult {
    let symbol = script.text("symbol");
    let knows_definitions = script.tools.can(DEFINITION);
    let result = if knows_definitions {
        look_up(script, symbol)?
    } else {
        let say = format!("No tool knows definitions here; searching for `{symbol}`.");
        let keywords =
            r"\b(fn|function|class|struct|enum|trait|interface|def|func|type|const|let|var|mod)\s+";
        let is_regex = script.tools.takes_regex();
        let (before, after) = if is_regex { (keywords, r"\b") } else { ("", "") };
        let pattern = format!("{before}{}{after}", literal(script, symbol));
        search_text(script, &say, &pattern, None)?
    };
    let text = text_of(result);
    let mut found = found_in(&text);
    // Imports only count where there is nothing else.
    found.sort_by_key(is_import);
    let Some((&FoundAt { path, line, .. }, others)) = found.split_first() else {
        if !knows_definitions || !script.tools.can(SEARCH) {
            return Ok(describe(result));
        }
        let say = format!("There is no definition of `{symbol}` here; searching for the text.");
        let pattern = literal(script, symbol);
        let mentions = describe(search_text(script, &say, &pattern, None)?);
        return Ok(format!("`{symbol}` is not defined in this project. {mentions}"));
    };
    let offset = line.saturating_sub(LINES_BEFORE).max(1);
    let say = format!("Reading {path} around line {line}.");
    let arguments = json!({"path": path, "offset": offset, "limit": LINES_SHOWN});
    let excerpt = without_notes(&text_of(script.ask(READ, &say, arguments)?));
    let others = others.iter().filter(|other| !is_import(other)).take(MAX_OTHERS);
    let also: String =
        others.map(|other| format!("\nAlso: {}:{}", other.path, other.line)).collect();
    let is_defined = if knows_definitions { "is defined" } else { "seems to be defined" };
    let excerpt = indented(&excerpt, LINES_SHOWN + 1);
    Ok(format!("`{symbol}` {is_defined} in {path}:{line}:\n\n{excerpt}\n{also}"))
}

fn look_up<'a>(script: &mut PlanRun<'a>, symbol: &str) -> Result<&'a Value, PlanStop> {
    let say = format!("Looking up where `{symbol}` is defined.");
    script.ask(DEFINITION, &say, json!({"symbol": symbol}))
}

/// `text` as the search tool has to be given it.
fn literal(script: &PlanRun<'_>, text: &str) -> String {
    let is_special = |char: char| r"\.+*?()|[]{}^$".contains(char);
    let escape = |char| is_special(char).then_some('\\').into_iter().chain([char]);
    if script.tools.takes_regex() {
        text.chars().flat_map(escape).collect()
    } else {
        text.to_owned()
    }
}

fn search_text<'a>(
    script: &mut PlanRun<'a>,
    say: &str,
    pattern: &str,
    within: Option<&str>,
) -> Result<&'a Value, PlanStop> {
    // `TODO` is a mark, `todo` is a word: capitals in a request are meant.
    let case = pattern.chars().any(char::is_uppercase).then_some(true);
    let arguments = json!({"pattern": pattern, "path": within, "case_sensitive": case});
    script.ask(SEARCH, say, arguments)
}

pub(crate) fn search(script: &mut PlanRun<'_>) -> PlanResult {
    let within = script.slot("within").map(directory).filter(|path| path != ".");
    search_for(script, script.text("text"), within.as_deref())
}

pub(crate) fn todos(script: &mut PlanRun<'_>) -> PlanResult {
    let within = script.slot("within").map(directory).filter(|path| path != ".");
    search_for(script, "TODO", within.as_deref())
}

fn search_for(script: &mut PlanRun<'_>, text: &str, within: Option<&str>) -> PlanResult {
    let place = within.map_or("the project".to_owned(), |path| format!("`{path}`"));
    let say = format!("Searching {place} for `{text}`.");
    search_text(script, &say, &literal(script, text), within).map(describe)
}

pub(crate) fn files(script: &mut PlanRun<'_>) -> PlanResult {
    let name = script.text("file");
    let mut languages = LANGUAGES.split(' ').filter_map(|row| row.split_once('='));
    let language = languages.find(|(word, _)| name.eq_ignore_ascii_case(word));
    let pattern = match language {
        Some((_, pattern)) => pattern.to_owned(),
        None if name.contains(['*', '.', '?', '/']) => name.to_owned(),
        None => format!("*{name}*"),
    };
    files_like(script, &pattern)
}

fn files_like(script: &mut PlanRun<'_>, pattern: &str) -> PlanResult {
    let say = format!("Looking for files like `{pattern}`.");
    let text = text_of(script.ask(FIND_FILES, &say, json!({"pattern": pattern}))?);
    let paths = paths_in(&text);
    Ok(match paths.len() {
        0 => text,
        1 => format!("There is one: {}.", paths[0]),
        all => format!("{all} files:\n\n{}", indented(&paths.join("\n"), MAX_ROWS)),
    })
}

pub(crate) fn list(script: &mut PlanRun<'_>) -> PlanResult {
    let path = script.slot("path").filter(|path| *path != ".");
    if !script.tools.can(LIST) {
        return files_like(script, &path.map_or("*".to_owned(), |path| format!("{path}/*")));
    }
    let say = format!("Listing {}.", path.unwrap_or("the project"));
    let result = script.ask(LIST, &say, json!({"path": path.unwrap_or(".")}))?;
    let names = indented(&names_in(&text_of(result)).join("\n"), MAX_ROWS);
    Ok(format!("{} holds:\n\n{names}", path.unwrap_or("The project")))
}

pub(crate) fn references(script: &mut PlanRun<'_>) -> PlanResult {
    let symbol = script.text("symbol");
    if !script.tools.can(REFERENCES) {
        return search_for(script, symbol, None);
    }
    let say = format!("Looking for the uses of `{symbol}`.");
    script.tell(REFERENCES, &say, json!({"symbol": symbol}))
}

pub(crate) fn users(script: &mut PlanRun<'_>) -> PlanResult {
    if !script.tools.can(IMPORTERS) {
        return references(script);
    }
    let symbol = script.text("symbol");
    let target = module_of(script, symbol)?;
    let say = format!("Looking for the files that import {target}.");
    let found = match script.ask(IMPORTERS, &say, json!({"target": target})) {
        Err(PlanStop::Answer(_)) => None,
        asked => Some(asked?).filter(|found| !found_in(&text_of(found)).is_empty()),
    };
    let Some(found) = found else {
        return Ok(format!("No file imports {target}. {}", references(script)?));
    };
    let module = if symbol == target { String::new() } else { format!(" ({target})") };
    Ok(below(&format!("Files that import `{symbol}`{module}:"), found))
}

/// The file whose importers are the users of `symbol`; the symbol itself if there is none.
fn module_of(script: &mut PlanRun<'_>, symbol: &str) -> Result<String, PlanStop> {
    let is_path = symbol.contains('/') || symbol.contains("::") || symbol.contains('.');
    if is_path || !script.tools.can(DEFINITION) {
        return Ok(symbol.to_owned());
    }
    let text = text_of(look_up(script, symbol)?);
    let found = found_in(&text).into_iter().find(|found| !is_import(found));
    Ok(found.map_or(symbol, |found| found.path).to_owned())
}

pub(crate) fn impact(script: &mut PlanRun<'_>) -> PlanResult {
    if !script.tools.can(IMPACT) {
        return users(script);
    }
    let target = script.text("symbol");
    let say = format!("Working out what depends on `{target}`.");
    script.tell(IMPACT, &say, json!({"target": target}))
}

pub(crate) fn show(script: &mut PlanRun<'_>) -> PlanResult {
    read(script, script.text("file")).map(|found| describe(found.result))
}

pub(crate) fn outline(script: &mut PlanRun<'_>) -> PlanResult {
    let found = read(script, script.text("file"))?;
    let path = &found.path;
    if !script.tools.can(OUTLINE) {
        return Ok(below(&format!("{path} reads:"), found.result));
    }
    let say = format!("Asking for the outline of {path}.");
    let outline = script.ask(OUTLINE, &say, json!({"path": path}))?;
    Ok(below(&format!("I cannot say what code means, but this is what {path} defines:"), outline))
}
