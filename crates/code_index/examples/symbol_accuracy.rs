//! How many of the definitions that universal-ctags reports are found by us, at the same line.
//!
//! ```sh
//! cargo run --release -p code_index --example symbol_accuracy -- [--misses 20] [--others] DIRECTORY…
//! ```
//!
//! Counted are functions, methods, classes, structs, enums, traits and interfaces, each language
//! apart. A definition counts as found if we have a symbol of the same name at the same line of the
//! same file. Where ctags is mistaken, `explained` says so; those are shown apart, with the reason.
//! Other kinds (macros, constants, fields and so on) are shown as well, but no bar is set for them; `--others` lists what is missed.
//! The program fails if a language or the total is below the bar.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use code_index::{Language, file_symbols};
use serde_json::Value;
use workspace::RelPath;

/// What must be found.
const BAR: f64 = 0.98;
/// How many misses are shown for each language unless told.
const MISSES: usize = 10;
/// Larger files are not parsed elsewhere either.
const MAX_BYTES: usize = 1 << 20;
/// Time for one file; far more than any takes.
const FILE_TIME: Duration = Duration::from_secs(20);

/// The kinds that count, as ctags calls them in one language or another.
const KINDS: [&str; 14] = [
    "class",
    "enum",
    "func",
    "function",
    "generator",
    "getter",
    "interface",
    "member",
    "method",
    "methodSpec",
    "setter",
    "singletonMethod",
    "struct",
    "trait",
];
/// `member` is a method in Python, and a field elsewhere.
const MEMBER: &str = "member";

/// Languages that we have no grammar for, in files that look like one of ours.
const NOT_COMPARED: [&str; 2] = ["ObjectiveC", "CPreProcessor"];

/// A definition that ctags reports.
struct Tag {
    name: String,
    line: u32,
    kind: String,
    counts: bool,
}

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
    let mut others = false;
    let mut directories = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--others" {
            others = true;
        } else if argument == "--misses" {
            misses = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(MISSES);
        } else {
            directories.push(PathBuf::from(argument));
        }
    }
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for directory in &directories {
        if let Err(error) = compare(directory, &mut tallies) {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::from(2);
        }
    }
    report(&tallies, misses, others)
}

fn compare(
    directory: &Path,
    tallies: &mut BTreeMap<&'static str, Tally>,
) -> Result<(), std::io::Error> {
    let files = source_files(directory);
    let tags = tags(&files)?;
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
        }
    }
    Ok(())
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

/// What ctags says about the files.
fn tags(files: &[(PathBuf, Language)]) -> Result<HashMap<PathBuf, Vec<Tag>>, std::io::Error> {
    let mut ctags = Command::new("ctags")
        .args(["--options=NONE", "--output-format=json", "--fields=+nKl", "--sort=no"])
        .args(["--map-TypeScript=+.tsx", "--map-JavaScript=+.cjs", "--map-JavaScript=+.mjs"])
        .args(["-L", "-", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let names: Vec<u8> =
        files.iter().flat_map(|(path, _)| format!("{}\n", path.display()).into_bytes()).collect();
    let stdin = ctags.stdin.take();
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&names)));
    let output = ctags.wait_with_output()?;
    drop(writer.join());
    let mut tags: HashMap<PathBuf, Vec<Tag>> = HashMap::new();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let Ok(tag) = serde_json::from_slice::<Value>(line) else { continue };
        let text = |key: &str| tag[key].as_str().unwrap_or_default().to_owned();
        let kind = text("kind");
        let name = match (text("language").as_str(), kind.as_str()) {
            ("C#", "method") => csharp_method(&text("name")),
            // Operators are compared without blanks.
            ("C++", "function") if text("name").starts_with("operator") => {
                text("name").replace(' ', "")
            }
            _ => text("name"),
        };
        if name.starts_with("__anon") || name.starts_with("Anonymous") || name.is_empty() {
            continue;
        }
        if NOT_COMPARED.contains(&tag["language"].as_str().unwrap_or_default())
            || kind == "implementation"
        {
            continue;
        }
        let is_method = kind != MEMBER || tag["language"] == "Python";
        let counts = KINDS.contains(&kind.as_str()) && is_method;
        let line = tag["line"].as_u64().unwrap_or(1) as u32;
        tags.entry(PathBuf::from(text("path"))).or_default().push(Tag { name, line, kind, counts });
    }
    Ok(tags)
}

/// The name of a C# method as we write it; ctags has `operator +` and `IList.Add` in one name.
fn csharp_method(name: &str) -> String {
    let name = name.trim_start_matches("operator ").trim_start_matches('~');
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

fn report(tallies: &BTreeMap<&'static str, Tally>, misses: usize, others: bool) -> ExitCode {
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
    ExitCode::from(u8::from(failed || tags == 0))
}
