//! Comments at the top of a file: how they are written, where they go, what they say.

use crate::results::FileLines;

/// What opens and closes a comment, by the end of a file's name or the whole of it. Formats without
/// comments are not here.
const STYLES: &[(&str, &str, &str)] = &[
    ("//! ", "", "rs"),
    (
        "// ",
        "",
        "js mjs cjs jsx ts mts cts tsx go c h cc cpp cxx hpp hh cs java kt kts swift scala php dart \
         zig proto groovy gradle m mm scss less jsonc json5 v sol",
    ),
    (
        "# ",
        "",
        "py pyi rb sh bash zsh fish pl pm r jl ex exs nim yaml yml toml conf cfg tf nix cmake mk \
         makefile ps1 dockerfile justfile gemfile rakefile gitignore graphql cmakelists.txt",
    ),
    ("-- ", "", "sql lua hs elm ada adb ads vhd"),
    ("; ", "", "ini asm s lisp clj cljs scm el"),
    ("% ", "", "tex erl hrl pro"),
    ("/* ", " */", "css"),
    ("<!-- ", " -->", "html htm xml svg md markdown vue svelte xhtml"),
    ("(* ", " *)", "ml mli pas"),
];

/// The text as a comment in the file at `path`, with a line of its own for each of its lines, if
/// such a file can have comments.
pub(crate) fn comment(path: &str, text: &str) -> Option<String> {
    let name = file_name(path).to_lowercase();
    let extension = name.rsplit('.').next()?;
    let is_meant = |one: &str| one == extension || one == name;
    let (open, close, _) = STYLES.iter().find(|(.., all)| all.split(' ').any(is_meant))?;
    // The text may come from anybody: it must not end the comment.
    let text = if close.is_empty() { text.to_owned() } else { text.replace(close.trim(), "") };
    let lines = text.lines().map(|line| format!("{open}{line}{close}").trim_end().to_owned());
    let lines = lines.collect::<Vec<_>>().join("\n");
    // A comment right above `package` documents the package.
    Some(if extension == "go" { lines + "\n" } else { lines })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How many lines have to stay above a comment at the top: an interpreter, an encoding, an opening
/// tag, a document type, front matter.
pub(crate) fn lines_before(path: &str, lines: &[String]) -> usize {
    const FIRST: [&str; 6] = ["# syntax=", "# escape=", "<?php", "<?xml", "@charset", "<!doctype"];
    let line = |at: usize| {
        let line = lines.get(at).map_or("", |line| line.trim_start_matches('\u{FEFF}').trim());
        line.to_lowercase()
    };
    if (path.ends_with(".md") || path.ends_with(".markdown")) && line(0) == "---" {
        let end = lines.iter().skip(1).position(|line| line.trim() == "---");
        return end.map_or(0, |end| end + 2);
    }
    let is_interpreter = line(0).starts_with("#!") && !line(0).starts_with("#![");
    let stays = |at: &usize| {
        let line = line(*at);
        let is_coding = line.starts_with('#') && line.contains("coding");
        is_coding || FIRST.iter().any(|first| line.starts_with(first))
    };
    let start = usize::from(is_interpreter);
    start + (start..lines.len()).take_while(stays).count()
}

/// Words that may stand before a name that is being defined.
const KEYWORDS: &str = "pub export default async function fn class struct enum trait def const let \
    var type interface mod module static abstract public private protected internal final func \
    unsafe extern crate super self in union macro_rules namespace record object data sealed open \
    override inline virtual void int declare local readonly partial constexpr template typedef \
    unsigned signed char bool long short float double";

/// Keywords that begin what is worth naming, where only the text of the file is known.
const DEFINING: &str =
    "fn function class struct enum trait def interface func module namespace record type";

/// The name that a line defines: the word before a bracket, or the first that is not a keyword.
fn defined_name(signature: &str) -> Option<&str> {
    let signature = signature.trim();
    if signature.starts_with("impl") || signature.starts_with("import") {
        return None;
    }
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let is_name = |word: &&str| {
        word.starts_with(|char: char| is_part(char) && !char.is_numeric())
            && !KEYWORDS.split_whitespace().any(|keyword| keyword == *word)
    };
    // What follows an equals sign is a value, which may be a call.
    let declared = signature.split('=').next().unwrap_or(signature);
    let mut before_brackets = declared.match_indices('(').filter_map(|(at, _)| {
        let before = declared[..at].split(['<', '[']).next()?.trim_end();
        before.rsplit(|char| !is_part(char)).next()
    });
    let mut words = declared.split(|char: char| !is_part(char));
    before_brackets.find(is_name).or_else(|| words.find(is_name))
}

/// The names at the top level of an outline, `4: export function main()` and so on.
fn outlined_names(outline: &str) -> Vec<&str> {
    let top_level = outline.lines().filter_map(|line| {
        let (number, signature) = line.split_once(": ")?;
        let is_number = number.chars().all(|char| char.is_ascii_digit() || char == '-');
        (is_number && !signature.starts_with([' ', '\t'])).then_some(signature)
    });
    distinct(top_level.filter_map(defined_name))
}

/// The names that lines without indentation define.
fn names_in(lines: &[String]) -> Vec<&str> {
    let is_defining = |word| DEFINING.split(' ').any(|keyword| keyword == word);
    let defining = lines.iter().filter(|line| {
        let mut words = line.split(|char: char| !char.is_alphanumeric() && char != '_').take(4);
        !line.starts_with([' ', '\t', '#', '/', '*']) && words.any(is_defining)
    });
    distinct(defining.filter_map(|line| defined_name(line)))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// What can honestly be said about a file: the names in its outline or, without one, in its text.
pub(crate) fn explanation(path: &str, outline: Option<&str>, file: &FileLines) -> String {
    let names = outline.map_or_else(|| names_in(&file.lines), outlined_names);
    about(file_name(path), names, file.lines.len())
}

/// The most names a comment lists.
const MAX_NAMES: usize = 6;

fn about(file: &str, mut names: Vec<&str>, lines: usize) -> String {
    // Constants say least about a file.
    names.sort_by_key(|name| !name.chars().any(char::is_lowercase));
    wrapped(&match &names[..] {
        [] => format!("{file}: {lines} lines that define no function or type."),
        [only] => format!("{file}: defines {only}."),
        [all @ .., last] if all.len() < MAX_NAMES => {
            format!("{file}: defines {} and {last}.", all.join(", "))
        }
        all => {
            let (shown, rest) = all.split_at(MAX_NAMES);
            format!("{file}: defines {} and {} more.", shown.join(", "), rest.len())
        }
    })
}

fn wrapped(text: &str) -> String {
    const WIDTH: usize = 90;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_written_as_the_language_wants_them() {
        let cases = [
            ("src/main.js", Some("// a\n// b")),
            ("lib.rs", Some("//! a\n//! b")),
            ("x/Makefile", Some("# a\n# b")),
            ("CMakeLists.txt", Some("# a\n# b")),
            ("a.html", Some("<!-- a -->\n<!-- b -->")),
            ("a.CSS", Some("/* a */\n/* b */")),
            ("main.go", Some("// a\n// b\n")),
            ("package.json", None),
            ("data", None),
        ];
        for (path, expected) in cases {
            assert_eq!(comment(path, "a\nb").as_deref(), expected, "{path}");
        }
        let css = comment("a.css", "x */ body {} /* y");
        assert_eq!(css.as_deref(), Some("/* x  body {} /* y */"));
    }

    #[test]
    fn what_has_to_be_first_stays_first() {
        let cases = [
            ("a.js", "#!/usr/bin/env node\nimport x", 1),
            ("a.rs", "#![allow(x)]\nfn f() {}", 0),
            ("a.py", "#!/usr/bin/python\n# -*- coding: utf-8 -*-\nimport x", 2),
            ("a.php", "<?php\necho 1;", 1),
            ("a.xml", "<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<x/>", 2),
            ("a.html", "<!doctype html>\n<p>", 1),
            ("a.md", "---\ntitle: x\n---\ntext", 3),
            ("a.md", "---\nnever closed", 0),
            ("a.rs", "", 0),
        ];
        for (path, text, expected) in cases {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(lines_before(path, &lines), expected, "{text}");
        }
    }

    #[test]
    fn names_are_found_in_signatures_of_many_languages() {
        let cases = [
            ("export function main()", Some("main")),
            ("pub(crate) async fn run<T: Into<X>>(x: T) -> Y", Some("run")),
            ("export default class App extends React.Component {", Some("App")),
            ("pub struct Kiln(u8);", Some("Kiln")),
            ("def fire(self, heat=(1, 2)):", Some("fire")),
            ("char *make_name(int x)", Some("make_name")),
            ("const MAX: usize = f(3);", Some("MAX")),
            ("type Heat = u32;", Some("Heat")),
            ("impl Display for Kiln {", None),
            ("}", None),
            ("", None),
        ];
        for (signature, expected) in cases {
            assert_eq!(defined_name(signature), expected, "{signature}");
        }
    }

    #[test]
    fn the_explanation_lists_what_there_is() {
        let outline = "4: export class Kiln\n5:   fire()\n8: function stop()\n9: function stop()\n";
        assert_eq!(outlined_names(outline), ["Kiln", "stop"]);
        let lines = ["use x;", "pub fn a() {", "  fn inner() {", "class B:", "// a class C"];
        let lines: Vec<String> = lines.map(str::to_owned).into();
        assert_eq!(names_in(&lines), ["a", "B"]);
        let file = FileLines { lines, ..FileLines::default() };
        assert_eq!(explanation("src/a.rs", None, &file), "a.rs: defines a and B.");
        assert_eq!(explanation("src/a.rs", Some(outline), &file), "a.rs: defines Kiln and stop.");
        let long = [
            "a_rather_long_name_of_a_function",
            "another_one_of_the_same_length_",
            "third_name_that_has_no_room_here",
        ];
        let cases = [
            (&[][..], "a.rs: 3 lines that define no function or type."),
            (&["x"], "a.rs: defines x."),
            (&["x", "y", "z"], "a.rs: defines x, y and z."),
            (&["MAX_X", "y"], "a.rs: defines y and MAX_X."),
            (
                &long,
                "a.rs: defines a_rather_long_name_of_a_function, another_one_of_the_same_length_ \
                 and\nthird_name_that_has_no_room_here.",
            ),
            (&["a", "b", "c", "d", "e", "f"], "a.rs: defines a, b, c, d, e and f."),
            (
                &["a", "b", "c", "d", "e", "f", "g", "h"],
                "a.rs: defines a, b, c, d, e, f and 2 more.",
            ),
        ];
        for (names, expected) in cases {
            assert_eq!(about("a.rs", names.to_vec(), 3), expected);
        }
    }
}
