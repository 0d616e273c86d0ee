//! How many of the definitions that universal-ctags reports are found by us, at the same line.
//!
//! ```sh
//! cargo run --release -p code_index --example symbol_accuracy -- [--misses 20] [--asked 150] [--others] DIRECTORY…
//! cargo run --release -p code_index --example symbol_accuracy -- --truth PLACES DIRECTORY
//! ```
//!
//! Counted are functions, methods, classes, structs, enums, traits and interfaces, each language
//! apart. A definition counts as found if we have a symbol of the same name at the same line of the
//! same file. Where ctags is mistaken, `explained` says so; those are shown apart, with the reason.
//! Other kinds (macros, constants, fields and so on) are shown as well, but no bar is set for them; `--others` lists what is missed.
//! Then some of the names are asked for, as the tool `find_definition` does, and the first place of the
//! answer is compared with what is meant. With `--truth`, what is meant is not what ctags says but what
//! stands in a file: path, line, name and rank, with tabs between.
//! The program fails if a language or the total is below the bar.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

mod first;
mod tags;

use code_index::{Language, file_symbols};
use first::{FirstPlaces, Right};
use tags::{Tag, tags};
use workspace::RelPath;

/// What must be found.
const BAR: f64 = 0.98;
/// The share of names whose definition must come first, and that of names that must be found.
const FIRST_BAR: f64 = 0.95;
const FOUND_BAR: f64 = 0.99;
/// How many names of a language are asked for in each directory unless told.
const ASKED: usize = 150;
/// How many misses are shown for each language unless told.
const MISSES: usize = 10;
/// Larger files are not parsed elsewhere either.
const MAX_BYTES: usize = 1 << 20;
/// Time for one file; far more than any takes.
const FILE_TIME: Duration = Duration::from_secs(20);

/// What became of the tags of one language.
#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    time: Duration,
    tags: u64,
    found: u64,
    other_tags: u64,
    other_found: u64,
    explained: BTreeMap<&'static str, u64>,
    misses: Vec<String>,
    other_misses: Vec<String>,
    other_kinds: BTreeMap<String, (u64, u64)>,
}

fn main() -> ExitCode {
    let mut misses = MISSES;
    let mut asked = ASKED;
    let mut others = false;
    let mut truth = None;
    let mut directories = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |usual| arguments.next().and_then(|it| it.parse().ok()).unwrap_or(usual);
        match argument.as_str() {
            "--others" => others = true,
            "--misses" => misses = number(MISSES),
            "--asked" => asked = number(ASKED),
            "--truth" => truth = arguments.next().map(PathBuf::from),
            _ => directories.push(PathBuf::from(argument)),
        }
    }
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut places: BTreeMap<&'static str, FirstPlaces> = BTreeMap::new();
    if let Some(truth) = truth {
        return judged_by(&truth, &directories, misses, asked);
    }
    for directory in &directories {
        let compared = compare(directory, &mut tallies).map_err(Into::into);
        let judged =
            compared.and_then(|rights| first::measure(directory, &rights, asked, &mut places));
        if let Err(error) = judged {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::from(2);
        }
    }
    let failed = report(&tallies, misses, others);
    let misplaced = first::report(&places, misses, (FIRST_BAR, FOUND_BAR));
    ExitCode::from(u8::from(failed || misplaced))
}

/// Asks for names that another parser found in one directory.
fn judged_by(truth: &Path, directories: &[PathBuf], misses: usize, asked: usize) -> ExitCode {
    let mut places: BTreeMap<&'static str, FirstPlaces> = BTreeMap::new();
    let judged = first::read(truth).and_then(|rights| match directories {
        [directory] => first::measure(directory, &rights, asked, &mut places),
        _ => Err("--truth is about one directory".into()),
    });
    if let Err(error) = judged {
        eprintln!("{}: {error}", truth.display());
        return ExitCode::from(2);
    }
    let failed = first::report(&places, misses, (FIRST_BAR, FOUND_BAR));
    ExitCode::from(u8::from(failed || places.is_empty()))
}

/// Compares file by file, and gives back what ctags says and is not mistaken about.
fn compare(
    directory: &Path,
    tallies: &mut BTreeMap<&'static str, Tally>,
) -> Result<Vec<Right>, std::io::Error> {
    let files = source_files(directory);
    let tags = tags(&files)?;
    let mut rights = Vec::new();
    let mut others_meant = Vec::new();
    for (path, language) in &files {
        let text = fs::read(path)?;
        let tally = tallies.entry(language.name()).or_default();
        let start = Instant::now();
        let symbols = file_symbols(*language, &text, start + FILE_TIME);
        tally.time += start.elapsed();
        tally.files += 1;
        tally.bytes += text.len() as u64;
        let ours: HashSet<(String, u32)> =
            symbols.symbols.iter().map(|one| (comparable(&one.name), one.line)).collect();
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        for tag in tags.get(path).map(Vec::as_slice).unwrap_or_default() {
            let found = ours.contains(&(tag.name.clone(), tag.line));
            if !tag.counts {
                tally.other_tags += 1;
                tally.other_found += u64::from(found);
                let kind = tally.other_kinds.entry(tag.kind.clone()).or_default();
                kind.0 += 1;
                kind.1 += u64::from(found);
                if !found {
                    tally.other_misses.push(shown(path, tag, &lines));
                }
                if is_bound_to_name(*language, tag, &lines) {
                    others_meant.push(right(directory, path, *language, tag));
                }
                continue;
            }
            if !found && let Some(reason) = explained(*language, tag, &lines) {
                *tally.explained.entry(reason).or_default() += 1;
                continue;
            }
            tally.tags += 1;
            tally.found += u64::from(found);
            if !found {
                tally.misses.push(shown(path, tag, &lines));
            }
            rights.push(right(directory, path, *language, tag));
        }
    }
    let names: HashSet<String> = rights.iter().map(|right| right.name.clone()).collect();
    rights.extend(others_meant.into_iter().filter(|right| names.contains(&right.name)));
    Ok(rights)
}

/// Whether a tag of a kind that does not count is meant as well where its name also is that of a
/// function or a type. In JavaScript, ctags does not look at arrow functions and calls behind the sign;
/// in C and C++, an alias or a macro can be what a type or a function is under another condition.
fn is_bound_to_name(language: Language, tag: &Tag, lines: &[&[u8]]) -> bool {
    let line = lines.get(tag.line as usize - 1).copied().unwrap_or_default();
    match language {
        Language::JavaScript => {
            tag.scope.is_empty()
                && matches!(tag.kind.as_str(), "constant" | "variable")
                && !String::from_utf8_lossy(line).contains("require(")
        }
        Language::C | Language::Cpp => matches!(tag.kind.as_str(), "typedef" | "alias" | "macro"),
        _ => false,
    }
}

/// A tag as one of the places that may be meant. A type comes before its constructors and, in
/// JavaScript, what a file has for others before what stands in something else.
fn right(directory: &Path, path: &Path, language: Language, tag: &Tag) -> Right {
    let path = path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned();
    let around = tag.scope.rsplit(['.', ':']).next().unwrap_or_default();
    let is_later = around == tag.name || language == Language::JavaScript && !around.is_empty();
    let order = first::order_of_path(&path) * 2 + u8::from(is_later);
    Right { name: tag.name.clone(), path, line: tag.line, language, order }
}

/// Our name as ctags would write it, without the `#` of private names in JavaScript and without
/// blanks in operators.
fn comparable(name: &str) -> String {
    match name.trim_start_matches('#') {
        operator if operator.starts_with("operator") => operator.replace(' ', ""),
        name => name.to_owned(),
    }
}

fn shown(path: &Path, tag: &Tag, lines: &[&[u8]]) -> String {
    let line = lines.get(tag.line as usize - 1).copied().unwrap_or_default();
    let line: String = String::from_utf8_lossy(line).trim().chars().take(90).collect();
    format!("{}:{}: {} {}: {line}", path.display(), tag.line, tag.kind, tag.name)
}

/// Why ctags is mistaken, if it is.
fn explained(language: Language, tag: &Tag, lines: &[&[u8]]) -> Option<&'static str> {
    let line = String::from_utf8_lossy(lines.get(tag.line as usize - 1)?).into_owned();
    let is_c = matches!(language, Language::C | Language::Cpp);
    let is_script = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    if !line.contains(&tag.name) {
        Some("the name does not stand on that line")
    } else if is_c && is_macro(&tag.name) && line.contains(&format!("{}(", tag.name)) {
        Some("a macro that defines something is not what it defines")
    } else if is_c && is_keyword(&tag.name) {
        Some("a keyword is no name")
    } else if language == Language::CSharp && line.contains(" where ") {
        Some("a type parameter is no class")
    } else if is_script && (tag.name == "if" || tag.name == "extends" || tag.name == "as") {
        Some("a keyword is no name")
    } else if language == Language::Bash && line.contains(&format!("{}()", tag.name)) {
        Some("an empty array is no function")
    } else if is_script && tag.kind == "class" && !line.contains("class ") {
        Some("an object, or a use of a prototype, is no class")
    } else if is_script && line.contains(&format!(".{}.call(", tag.name)) {
        Some("a call is no definition")
    } else if is_script && assigned_to_member(&line, &tag.name) {
        Some("what is assigned is a member of that, not that")
    } else {
        None
    }
}

/// Capitals and underscores, as macros are written.
fn is_macro(name: &str) -> bool {
    name.len() > 2 && name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

/// Words of C++/CLI and C++/CX behind the name of a class.
fn is_keyword(name: &str) -> bool {
    matches!(name, "abstract" | "sealed")
}

/// Whether the line has `name[…] = `, `name.x[…] = ` or `name.member = `, which defines no `name`.
fn assigned_to_member(line: &str, name: &str) -> bool {
    [format!("{name}["), format!("{name}.")].iter().any(|use_of| line.contains(use_of.as_str()))
}

/// The files below a directory that we have a grammar for.
fn source_files(directory: &Path) -> Vec<(PathBuf, Language)> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(path),
                Ok(kind) if kind.is_file() => {
                    if let Some(language) = language_of(&path) {
                        files.push((path, language));
                    }
                }
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn language_of(path: &Path) -> Option<Language> {
    let name = RelPath::parse(path.file_name()?.to_str()?).ok()?;
    let text = fs::read(path).ok()?;
    let language = Language::of_file(&name, &text)?;
    // Files made by machines for machines have lines that no one reads.
    let is_minified =
        text.len() > 5000 && text.split(|byte| *byte == b'\n').count() * 500 < text.len();
    (text.len() <= MAX_BYTES && !is_minified).then_some(language)
}

fn report(tallies: &BTreeMap<&'static str, Tally>, misses: usize, others: bool) -> bool {
    let share = |found: u64, all: u64| if all == 0 { 1.0 } else { found as f64 / all as f64 };
    let mut failed = false;
    println!(
        "{:11} {:>6} {:>7} {:>7} {:>7} {:>7} {:>9} {:>8} {:>7}",
        "language", "files", "kB", "tags", "found", "share", "explained", "others", "MB/s"
    );
    let (mut tags, mut found) = (0, 0);
    for (language, tally) in tallies {
        tags += tally.tags;
        found += tally.found;
        let ours = share(tally.found, tally.tags);
        failed |= ours < BAR;
        println!(
            "{language:11} {:>6} {:>7} {:>7} {:>7} {:>6.2}% {:>9} {:>7.2}% {:>7.1}",
            tally.files,
            tally.bytes / 1000,
            tally.tags,
            tally.found,
            ours * 100.0,
            tally.explained.values().sum::<u64>(),
            share(tally.other_found, tally.other_tags) * 100.0,
            tally.bytes as f64 / 1e6 / tally.time.as_secs_f64().max(1e-9),
        );
    }
    failed |= share(found, tags) < BAR;
    println!("{:11} {:>14} {tags:>7} {found:>7} {:>6.2}%", "total", "", share(found, tags) * 100.0);
    for (language, tally) in tallies {
        for (reason, count) in &tally.explained {
            println!("\n{language}: {count} where ctags is mistaken: {reason}");
        }
        for (what, list) in [("missed", &tally.misses), ("others missed", &tally.other_misses)] {
            if list.is_empty() || what != "missed" && !others {
                continue;
            }
            println!("\n{language}: {} {what}", list.len());
            for miss in list.iter().take(misses) {
                println!("  {miss}");
            }
        }
        if others {
            println!("{language}: {:?}", tally.other_kinds);
        }
    }
    if tags == 0 {
        println!("no definitions at all: is ctags universal-ctags with JSON?");
    }
    failed || tags == 0
}
