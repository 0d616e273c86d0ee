//! Where a project's compiler looks for headers, as its build files say.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protocol::ContentHash;
use serde_json::Value;
use workspace::RelPath;

use crate::imports::project_files::{PathList, ProjectFiles, ancestors, dir_of, join};

/// Where `compile_commands.json` is written, besides places that are not ignored.
const DATABASES: [&str; 4] = [
    "compile_commands.json",
    "build/compile_commands.json",
    "out/compile_commands.json",
    "builddir/compile_commands.json",
];
/// Files of CMake that are read for directories of other targets.
const MAX_CMAKE_FILES: usize = 256;
/// Options before a directory, in the order in which compilers prefer them.
const OPTIONS: [&str; 4] = ["-iquote", "-I", "-isystem", "-idirafter"];

/// The directories for includes of one project, found out as far as a question needs them.
#[derive(Default)]
pub(in crate::imports) struct IncludePaths {
    database: OnceLock<Arc<CompileDatabase>>,
    cmake: Mutex<BTreeMap<RelPath, Arc<Vec<RelPath>>>>,
    all_cmake: OnceLock<Vec<RelPath>>,
}

/// A database that was read, by its content.
type KnownDatabase = (ContentHash, Arc<CompileDatabase>);

/// What a compilation database says.
#[derive(Debug, Default)]
struct CompileDatabase {
    by_file: HashMap<RelPath, Vec<RelPath>>,
    /// The directories of all files, for headers, which have no entry.
    all: Vec<RelPath>,
}

impl IncludePaths {
    /// The directories that the compilation database has for a file.
    pub(super) fn compiled(&self, files: &dyn ProjectFiles, from: &RelPath) -> Vec<RelPath> {
        let database = self.database.get_or_init(|| read_database(files));
        database.by_file.get(from).unwrap_or(&database.all).clone()
    }

    /// The directories that files of CMake in the directories around have, innermost first.
    pub(super) fn around(&self, files: &dyn ProjectFiles, dir: &RelPath) -> Vec<RelPath> {
        ancestors(dir).flat_map(|around| self.cmake_in(files, &around).to_vec()).collect()
    }

    /// The directories of all files of CMake, for what targets in other directories offer.
    pub(super) fn everywhere(&self, files: &dyn ProjectFiles) -> &[RelPath] {
        self.all_cmake.get_or_init(|| {
            let places = files.paths().named(b"CMakeLists.txt").take(MAX_CMAKE_FILES);
            places.flat_map(|path| self.cmake_in(files, &dir_of(path)).to_vec()).collect()
        })
    }

    fn cmake_in(&self, files: &dyn ProjectFiles, dir: &RelPath) -> Arc<Vec<RelPath>> {
        if let Some(known) = self.cmake.lock().unwrap_or_else(PoisonError::into_inner).get(dir) {
            return Arc::clone(known);
        }
        let text = join(dir, "CMakeLists.txt")
            .filter(|path| files.paths().contains(path))
            .and_then(|path| files.read(&path));
        let directories = text.map(|text| cmake_directories(&String::from_utf8_lossy(&text), dir));
        let directories = Arc::new(directories.unwrap_or_default());
        let mut known = self.cmake.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(dir.clone(), Arc::clone(&directories));
        directories
    }
}

/// The first database that there is. What it says is kept by its content, since it can be large.
fn read_database(files: &dyn ProjectFiles) -> Arc<CompileDatabase> {
    static LAST: Mutex<Option<KnownDatabase>> = Mutex::new(None);
    let usual = DATABASES.iter().filter_map(|path| RelPath::parse(path).ok());
    let listed = files.paths().named(b"compile_commands.json").cloned();
    let text = usual.chain(listed).find_map(|path| files.read(&path));
    let Some(text) = text else { return Arc::default() };
    let hash = ContentHash::of(&text);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = last.as_ref().filter(|(known, _)| *known == hash) {
        return Arc::clone(known);
    }
    let read = Arc::new(parse_database(&text, files.paths()));
    *last = Some((hash, Arc::clone(&read)));
    read
}

fn parse_database(text: &[u8], paths: &PathList) -> CompileDatabase {
    let mut database = CompileDatabase::default();
    let Ok(Value::Array(entries)) = serde_json::from_slice::<Value>(text) else { return database };
    let mut root: Option<String> = None;
    for entry in &entries {
        let (Some(directory), Some(file)) = (entry["directory"].as_str(), entry["file"].as_str())
        else {
            continue;
        };
        let file = absolute(directory, file);
        // Where the project was when it was built; that is another place on another machine.
        let root = root.get_or_insert_with(|| root_of(&file, paths).unwrap_or_default());
        let within = |path: &str| {
            let path = absolute(directory, path);
            let rest = path.strip_prefix(root.as_str())?;
            RelPath::parse(rest.trim_start_matches('/')).ok()
        };
        let Some(file) = within(&file) else { continue };
        let mut directories = Vec::new();
        for directory in include_options(&arguments(entry)).iter().filter_map(|path| within(path)) {
            if !database.all.contains(&directory) {
                database.all.push(directory.clone());
            }
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        database.by_file.entry(file).or_insert(directories);
    }
    database
}

/// A path without `.` and `..`, as seen from a directory.
fn absolute(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// What stands before the path of a file of the project; the longest path that is one decides.
fn root_of(file: &str, paths: &PathList) -> Option<String> {
    let starts = file.match_indices('/').map(|(at, _)| at);
    starts
        .filter_map(|at| Some((at, RelPath::parse(&file[at + 1..]).ok()?)))
        .find(|(_, path)| paths.contains(path))
        .map(|(at, _)| file[..at].to_owned())
}

/// The arguments of an entry, which has them as a list or as one line.
fn arguments(entry: &Value) -> Vec<String> {
    match (&entry["arguments"], &entry["command"]) {
        (Value::Array(list), _) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        (_, Value::String(line)) => split_line(line),
        _ => Vec::new(),
    }
}

/// The words of a command line, quotes and backslashes taken away.
fn split_line(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The directories that options name, in the order in which they are searched.
fn include_options(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for option in OPTIONS {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.strip_prefix(option) {
                Some("") => found.extend(rest.next().cloned()),
                Some(directory) => found.push(directory.trim_start_matches('=').to_owned()),
                None => {}
            }
        }
    }
    found
}

/// What `include_directories` and `target_include_directories` of a file of CMake name.
fn cmake_directories(text: &str, dir: &RelPath) -> Vec<RelPath> {
    let mut found = Vec::new();
    let text: String = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let lower = text.to_ascii_lowercase();
    for (at, command) in lower.match_indices("include_directories") {
        let rest = &text[at + command.len()..];
        let Some(inside) = rest.trim_start().strip_prefix('(') else { continue };
        let inside = inside.split_once(')').map_or(inside, |(inside, _)| inside);
        // `$<BUILD_INTERFACE:dir>` is how a target says that a directory is in the sources.
        let words = inside.split_whitespace().map(|word| word.trim_matches('"'));
        for word in words {
            let word = word.trim_start_matches("$<BUILD_INTERFACE:").trim_end_matches('>');
            let (from, rest) = match word.strip_prefix("${") {
                Some(variable) => {
                    let Some((name, rest)) = variable.split_once('}') else { continue };
                    let is_root = name.ends_with("_SOURCE_DIR") && !name.contains("CURRENT");
                    let from = if is_root { RelPath::root() } else { dir.clone() };
                    if !name.ends_with("SOURCE_DIR") && !name.ends_with("LIST_DIR") {
                        continue;
                    }
                    (from, rest.trim_start_matches('/'))
                }
                None => (dir.clone(), word),
            };
            let is_word =
                matches!(rest, "PUBLIC" | "PRIVATE" | "INTERFACE" | "SYSTEM" | "BEFORE" | "AFTER");
            if is_word || rest.contains('$') || rest.starts_with('/') {
                continue;
            }
            let directory = if rest.is_empty() { Some(from) } else { join(&from, rest) };
            found.extend(directory.filter(|it| !found.contains(it)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_database_says_where_each_file_looks() {
        let paths = PathList::new(["src/a.c", "src/b.c", "lib/c.c"].map(path).to_vec());
        let text = br#"[
            {"directory": "/home/x/proj/build", "file": "../src/a.c",
             "command": "cc -I../include -isystem '/home/x/proj/third party' -I /usr/include -c a.c"},
            {"directory": "/home/x/proj", "file": "/home/x/proj/lib/c.c",
             "arguments": ["cc", "-I", "lib/inc", "-iquote", "lib/own"]},
            {"file": 1}, 7]"#;
        let database = parse_database(text, &paths);
        assert_eq!(database.by_file[&path("src/a.c")], [path("include"), path("third party")]);
        assert_eq!(database.by_file[&path("lib/c.c")], [path("lib/own"), path("lib/inc")]);
        assert_eq!(database.all.len(), 4);
        assert!(parse_database(b"{", &paths).all.is_empty());
    }

    #[test]
    fn cmake_says_where_targets_look() {
        let text = "include_directories(inc \"${CMAKE_CURRENT_SOURCE_DIR}/own\") # not(this)\n\
            TARGET_INCLUDE_DIRECTORIES(lib\n  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>\n\
            $<INSTALL_INTERFACE:include> PRIVATE ${OTHER_DIR} /usr/include .)\n";
        let found = cmake_directories(text, &path("sub"));
        let texts: Vec<_> = found.iter().map(RelPath::to_text).collect();
        assert!(texts.starts_with(&["sub/inc".into(), "sub/own".into()]), "{texts:?}");
        assert!(texts.contains(&"include".to_owned()) && texts.contains(&"sub".to_owned()));
        assert!(!texts.iter().any(|it| it.contains("usr") || it.contains('$')), "{texts:?}");
    }

    proptest! {
        #[test]
        fn any_line_and_any_build_file_are_read(line in "[ \\\\\"'a-z-]{0,40}", text in "(include_directories|\\(|\\)|\\$\\{|\\}|[a-z ./#>]){0,30}") {
            for word in split_line(&line) {
                prop_assert!(word.len() <= line.len());
            }
            cmake_directories(&text, &RelPath::root());
        }
    }
}
