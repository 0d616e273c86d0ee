//! Plain technical English, and one name for one thing.

use std::collections::BTreeMap;

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

/// Words that cost a reader a translation, and what to write instead. They are put together here so
/// that the rule does not find them in its own table.
const METAPHORS: [(&str, &str); 19] = [
    (concat!("do", "or"), "front end, port, or the name of the trait"),
    (concat!("do", "ors"), "front ends, ports"),
    (concat!("wal", "ls"), "sandbox"),
    (concat!("behind wal", "ls"), "confined"),
    (concat!("per", "son"), "a user, an approver"),
    (concat!("any", "body"), "every client, any user"),
    (concat!("some", "body"), "the subject itself: the user, another process"),
    (concat!("no", "body"), "the subject itself: no process, without an approver"),
    (concat!("men", "d"), "repair"),
    (concat!("men", "ded"), "repaired"),
    (concat!("men", "ds"), "repairs"),
    (concat!("is no", " json"), "is not valid JSON"),
    (concat!("is no", " tool"), "is not a tool"),
    (concat!("stands ", "back"), "has a low priority"),
    (concat!("stand ", "back"), "lower the priority"),
    (concat!("carry ", "over"), "copy back"),
    (concat!("carried ", "over"), "copied back"),
    (concat!("who ", "answers"), "the approver"),
    (concat!("who ", "watches"), "the user, the front end"),
];

/// Names of types that may stand in more places than one: each is private to its module, and what it
/// is follows from the module's name.
const MOST_PLACES: usize = 2;

#[test]
fn words_are_plain() {
    let mut problems = Vec::new();
    let written = files_ending(&[
        ".rs", ".md", ".js", ".mjs", ".py", ".toml", ".css", ".html", ".scm", ".sh",
    ]);
    for path in written.into_iter().filter(|path| !path.contains("/vendor/")) {
        let text = read(&path).expect("a source file is UTF-8");
        for (at, line) in text.lines().enumerate() {
            for (word, instead) in metaphors(line) {
                problems.push(format!("{path}:{}: `{word}`, write: {instead}", at + 1));
            }
        }
    }
    assert_none(&problems, "name the thing itself; the table says how");
}

fn metaphors(line: &str) -> Vec<(&'static str, &'static str)> {
    let (text, names) = (line.to_lowercase(), separate_words(line));
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let is_in = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            // After "there" the phrase is plain English.
            let says_there_is_none = word.starts_with("is no ") && line[..at].ends_with("there ");
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter) && !says_there_is_none
        })
    };
    // A verb of two words is looked for in sentences only: in a name they may belong to different parts of it.
    let is_in_names = |word: &str| !word.ends_with(" back") && is_in(&names, word);
    METAPHORS.into_iter().filter(|(word, _)| is_in(&text, word) || is_in_names(word)).collect()
}

/// In lower case, with the words of `snake_case` and `CamelCase` names apart.
fn separate_words(line: &str) -> String {
    let mut words = String::with_capacity(line.len());
    let mut was_small = false;
    for c in line.chars() {
        if c.is_uppercase() && was_small {
            words.push(' ');
        }
        was_small = c.is_lowercase();
        words.extend(if c == '_' { ' ' } else { c }.to_lowercase());
    }
    words
}

#[test]
fn a_metaphor_is_found_as_a_whole_word() {
    let found = |line: &str| metaphors(line).iter().map(|(word, _)| *word).collect::<Vec<_>>();
    assert_eq!(found(concat!("through this Do", "or.")), [concat!("do", "or")]);
    assert!(found(concat!("re", "commend an in", "do", "or plant")).is_empty());
    assert_eq!(found(concat!("fn it_has_a_do", "or()")), [concat!("do", "or")]);
    assert_eq!(found(concat!("struct OpenDo", "or;")), [concat!("do", "or")]);
    assert!(found("there is no tool called `x`").is_empty());
    assert_eq!(found(concat!("`x`, which is no", " tool")), [concat!("is no", " tool")]);
}

#[test]
fn a_name_of_a_type_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut public: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files_ending(&[".rs"]).into_iter().filter(|path| ships(path)) {
        let source = read(&path).expect("a source file is UTF-8");
        for (name, is_public) in types(&rust_text::split(&rust_text::shipped(&source)).code) {
            places.entry(name.clone()).or_default().push(path.clone());
            if is_public {
                public.entry(name).or_default().push(path.clone());
            }
        }
    }
    let often = places.iter().filter(|(_, paths)| paths.len() > MOST_PLACES);
    let twice = public.iter().filter(|(_, paths)| paths.len() > 1);
    let problems: Vec<String> =
        often.chain(twice).map(|(name, paths)| format!("{name}: {}", paths.join(", "))).collect();
    assert_none(
        &problems,
        "say what it is in the whole workspace: `SymbolPlace`, not one more `Place`",
    );
}

/// The types that code defines at the outermost level or, for others to use, within macros and modules, and whether
/// each is public outside its crate.
fn types(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for line in code.lines() {
        let item = line.trim_start();
        let is_public = item.starts_with("pub ");
        let is_local = item.len() < line.len() && !item.starts_with("pub");
        let item = item.strip_prefix("pub").map_or(item, |rest| {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |it| it.1)
        });
        let mut words = item.split_whitespace();
        if let Some("struct" | "enum" | "trait" | "type") = words.next()
            && let Some(name) = words.next()
            && !is_local
        {
            let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
            // A name that a macro is given is found where the macro is used, if at all.
            if end > 0 {
                found.push((name[..end].to_owned(), is_public));
            }
        }
    }
    found
}

#[test]
fn types_are_found_in_macros_too() {
    let code = "pub struct A;\nenum B {}\nmacro_rules! m {\n    ($n:ident) => {\n        pub struct C;\n        \
                pub enum $n {}\n    };\n}\nfn f() {\n    struct D;\n}\nmod m {\n    pub(crate) trait E {}\n}\n";
    let found = types(code);
    let found: Vec<_> = found.iter().map(|(name, is_public)| (name.as_str(), *is_public)).collect();
    assert_eq!(found, [("A", true), ("B", false), ("C", true), ("E", false)]);
}

/// Whether a file is part of the program. Test code has a vocabulary of its own.
fn ships(path: &str) -> bool {
    let in_source = path.starts_with("crates/") && path.contains("/src/");
    in_source
        && !path.starts_with("crates/testkit/")
        && !path.contains("/tests")
        && !path.contains("/testing")
}
