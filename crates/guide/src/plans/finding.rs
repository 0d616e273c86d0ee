//! Plans that look for something.

use serde_json::{Value, json};

use super::{paths, read};
use crate::results::{describe, indented, told};
use crate::script::{Script, Stop, Told};
use crate::tools::{
    DEFINITION, FIND_FILES, IMPACT, IMPORTERS, LIST, OUTLINE, READ, REFERENCES, SEARCH,
};

/// Lines shown before a definition, and in all.
const LINES_BEFORE: u64 = 2;
const LINES_SHOWN: usize = 14;
/// The most other definitions that are named.
const MAX_OTHERS: usize = 5;
/// Words by which users call files of a language.
const LANGUAGES: [(&str, &str); 18] = [
    ("rust", "*.rs"),
    ("python", "*.py"),
    ("javascript|js", "*.js,*.mjs,*.cjs,*.jsx"),
    ("typescript|ts", "*.ts,*.mts,*.cts,*.tsx"),
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

/// Where a symbol is defined, or imported.
struct DefinitionPlace<'a> {
    path: &'a str,
    line: u64,
    kind: Option<&'a str>,
}

fn places(found: &Value) -> Vec<DefinitionPlace<'_>> {
    let lists = ["definitions", "matches", "results"];
    let list = lists.iter().find_map(|key| found[*key].as_array());
    let places = list.into_iter().flatten().filter_map(|one| {
        let [path, kind] = ["path", "kind"].map(|key| one[key].as_str());
        Some(DefinitionPlace { path: path?, line: one["line"].as_u64()?, kind })
    });
    places.collect()
}

/// An import names the symbol too, but what it names is elsewhere.
fn is_no_import(place: &&DefinitionPlace<'_>) -> bool {
    place.kind != Some("import")
}

pub(super) fn definition(script: &mut Script<'_>, symbol: &str) -> Told {
    let by_text = !script.tools.can(DEFINITION);
    let found = if by_text {
        let say = format!("No tool knows definitions here; searching for `{symbol}`.");
        let keywords =
            r"\b(fn|function|class|struct|enum|trait|interface|def|func|type|const|let|var|mod)\s+";
        let is_regex = script.tools.takes_regex();
        let (before, after) = if is_regex { (keywords, r"\b") } else { ("", "") };
        let pattern = format!("{before}{}{after}", literal(script, symbol));
        search_text(script, &say, &pattern, None)?
    } else {
        looked_up(script, symbol)?
    };
    let places = places(found);
    let first = places.iter().find(is_no_import).or_else(|| places.first());
    let Some(&DefinitionPlace { path, line, kind }) = first else {
        return mentions(script, symbol, found);
    };
    let offset = line.saturating_sub(LINES_BEFORE).max(1);
    let say = format!("Reading {path} around line {line}.");
    let arguments = json!({"path": path, "offset": offset, "limit": LINES_SHOWN});
    let excerpt = script.ask(READ, &say, arguments)?["content"].as_str().unwrap_or_default();
    let what = match kind {
        _ if by_text => "seems to be defined".to_owned(),
        Some(kind) if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => {
            format!("is defined as an {kind}")
        }
        Some(kind) => format!("is defined as a {kind}"),
        None => "is defined".to_owned(),
    };
    let others = places.iter().filter(|place| (place.path, place.line) != (path, line));
    let others: Vec<_> = others.map(|place| format!("{}:{}", place.path, place.line)).collect();
    let also = match others.len() {
        0 => String::new(),
        1..=MAX_OTHERS => format!("\n\nAlso found: {}.", others.join(", ")),
        all => {
            let more = all - MAX_OTHERS;
            format!("\n\nAlso found: {} and {more} more.", others[..MAX_OTHERS].join(", "))
        }
    };
    Ok(format!(
        "`{symbol}` {what} in {path}:{line}:\n\n{}{also}",
        indented(excerpt, LINES_SHOWN + 1)
    ))
}

fn looked_up<'a>(script: &mut Script<'a>, symbol: &str) -> Result<&'a Value, Stop> {
    let say = format!("Looking up where `{symbol}` is defined.");
    script.ask(DEFINITION, &say, json!({"symbol": symbol}))
}

/// Without a definition the next best thing is where the word occurs.
fn mentions(script: &mut Script<'_>, symbol: &str, found: &Value) -> Told {
    let missing = describe(found);
    if !script.tools.can(SEARCH) {
        return Ok(missing);
    }
    let say = format!("{missing}\n\nSearching for the word.");
    let result = search_text(script, &say, &literal(script, symbol), None)?;
    Ok(format!(
        "`{symbol}` is not defined in this project, as far as I can tell. {}",
        describe(result)
    ))
}

/// `text` as the search tool has to be given it.
fn literal(script: &Script<'_>, text: &str) -> String {
    let is_special = |char: char| r"\.+*?()|[]{}^$".contains(char);
    let escape = |char| is_special(char).then_some('\\').into_iter().chain([char]);
    if script.tools.takes_regex() {
        text.chars().flat_map(escape).collect()
    } else {
        text.to_owned()
    }
}

fn search_text<'a>(
    script: &mut Script<'a>,
    say: &str,
    pattern: &str,
    within: Option<&str>,
) -> Result<&'a Value, Stop> {
    // `TODO` is a mark, `todo` is a word: capitals in a request are meant.
    let case = pattern.chars().any(char::is_uppercase).then_some(true);
    let arguments = json!({"pattern": pattern, "path": within, "case_sensitive": case});
    script.ask(SEARCH, say, arguments)
}

pub(super) fn search(script: &mut Script<'_>, text: &str, within: Option<&str>) -> Told {
    let place = within.map_or("the project".to_owned(), |path| format!("`{path}`"));
    let say = format!("Searching {place} for `{text}`.");
    search_text(script, &say, &literal(script, text), within).map(describe)
}

pub(super) fn files(script: &mut Script<'_>, name: &str) -> Told {
    let is_meant = |words: &str| words.split('|').any(|word| name.eq_ignore_ascii_case(word));
    let language = LANGUAGES.iter().find(|(words, _)| is_meant(words));
    let pattern = match language {
        Some((_, pattern)) => (*pattern).to_owned(),
        None if name.contains(['*', '.', '?', '/']) => name.to_owned(),
        None => format!("*{name}*"),
    };
    let say = format!("Looking for files like `{pattern}`.");
    script.tell(FIND_FILES, &say, json!({"pattern": pattern}))
}

pub(super) fn list(script: &mut Script<'_>) -> Told {
    let path = script.slot("path").filter(|path| *path != ".");
    if !script.tools.can(LIST) {
        return files(script, &path.map_or("*".to_owned(), |path| format!("{path}/*")));
    }
    let say = format!("Listing {}.", path.unwrap_or("the project"));
    let result = script.ask(LIST, &say, json!({"path": path.unwrap_or(".")}))?;
    Ok(told(&format!("{} holds:", path.unwrap_or("The project")), result))
}

pub(super) fn references(script: &mut Script<'_>, symbol: &str) -> Told {
    if !script.tools.can(REFERENCES) {
        return search(script, symbol, None);
    }
    let say = format!("Looking for the uses of `{symbol}`.");
    script.tell(REFERENCES, &say, json!({"symbol": symbol}))
}

pub(super) fn users(script: &mut Script<'_>, symbol: &str) -> Told {
    if !script.tools.can(IMPORTERS) {
        return references(script, symbol);
    }
    let target = module_of(script, symbol)?;
    let say = format!("Looking for the files that import {target}.");
    let found = script.attempt(IMPORTERS, &say, json!({"target": target}))?;
    let is_some = |found: &&Value| found["importers"].as_array().is_some_and(|all| !all.is_empty());
    let Some(found) = found.ok().filter(is_some) else {
        return Ok(format!("No file imports {target}. {}", references(script, symbol)?));
    };
    let files = found["files"].as_u64().unwrap_or(0);
    let verb = if files == 1 { "1 file imports" } else { &format!("{files} files import") };
    let module = if symbol == target { String::new() } else { format!(" ({target})") };
    Ok(told(&format!("{verb} `{symbol}`{module}:"), found))
}

/// The file whose importers are the users of `symbol`; the symbol itself if there is none.
fn module_of(script: &mut Script<'_>, symbol: &str) -> Result<String, Stop> {
    let is_path = symbol.contains('/') || symbol.contains("::") || symbol.contains('.');
    if is_path || !script.tools.can(DEFINITION) {
        return Ok(symbol.to_owned());
    }
    let places = places(looked_up(script, symbol)?);
    if let Some(place) = places.iter().find(is_no_import) {
        return Ok(place.path.to_owned());
    }
    if !script.tools.can(FIND_FILES) {
        return Ok(symbol.to_owned());
    }
    let say = format!("`{symbol}` is not defined here; looking for a file of that name.");
    let found = script.ask(FIND_FILES, &say, json!({"pattern": format!("{symbol}.*")}))?;
    Ok(paths(found).next().unwrap_or(symbol).to_owned())
}

pub(super) fn impact(script: &mut Script<'_>, target: &str) -> Told {
    if !script.tools.can(IMPACT) {
        return users(script, target);
    }
    let say = format!("Working out what depends on `{target}`.");
    let result = script.ask(IMPACT, &say, json!({"target": target}))?;
    let tests = result["tests"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let tests = tests.take(MAX_OTHERS).collect::<Vec<_>>().join(", ");
    let tests = if tests.is_empty() { tests } else { format!("\n\nTests among them: {tests}.") };
    Ok(format!("{}{tests}", describe(result)))
}

pub(super) fn outline(script: &mut Script<'_>, file: &str) -> Told {
    let found = read(script, file)?;
    let path = &found.path;
    if !script.tools.can(OUTLINE) {
        return Ok(told(&format!("{path} reads:"), found.result));
    }
    let say = format!("Asking for the outline of {path}.");
    let outline = script.ask(OUTLINE, &say, json!({"path": path}))?;
    let heading = format!("I cannot say what code means, but this is what {path} defines:");
    Ok(told(&heading, outline))
}
