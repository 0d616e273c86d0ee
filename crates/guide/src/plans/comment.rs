//! Comments at the top of a file: how they are written, where they go, what they say.

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
pub(super) fn as_comment(path: &str, text: &str) -> Option<String> {
    let name = file_name(path).to_lowercase();
    let extension = name.rsplit('.').next()?;
    let is_meant = |one: &str| one == extension || one == name;
    let (open, close, _) = STYLES.iter().find(|(.., all)| all.split(' ').any(is_meant))?;
    // The text must not end the comment.
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
pub(super) fn lines_before(lines: &[String]) -> usize {
    const FIRST: [&str; 8] =
        ["#!/", "# -*-", "# syntax=", "# escape=", "<?php", "<?xml", "@charset", "<!doctype"];
    if lines.first().is_some_and(|line| line == "---") {
        let end = lines.iter().skip(1).position(|line| line == "---");
        return end.map_or(0, |end| end + 2);
    }
    let stays = |line: &&String| FIRST.iter().any(|first| line.to_lowercase().starts_with(first));
    lines.iter().take_while(stays).count()
}

/// Keywords before the name of a function or a type.
const DEFINING: &str =
    "fn function class struct enum trait def interface func module namespace record type";
/// The most names a comment lists.
const MAX_NAMES: usize = 6;

/// The name that a line defines, if it is not indented: the word after a keyword.
fn defined_name(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '#', '/', '*']) || line.starts_with("import") {
        return None;
    }
    let words = line.split(|char: char| !char.is_alphanumeric() && !"_$".contains(char));
    let mut words = words.filter(|word| !word.is_empty());
    let is_keyword = |word: &str| DEFINING.split(' ').any(|keyword| keyword == word);
    // Few words stand before it, as in `pub(crate) async fn`.
    words.by_ref().take(4).find(|word| is_keyword(word))?;
    words.find(|word| !is_keyword(word))
}

/// What can honestly be said about a file: the names that it defines.
pub(super) fn explanation(path: &str, lines: &[String]) -> String {
    let file = file_name(path);
    let mut names: Vec<&str> = Vec::new();
    for name in lines.iter().filter_map(|line| defined_name(line)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match &names[..] {
        [] => format!("{file}: {} lines that define no function or type.", lines.len()),
        [only] => format!("{file}: defines {only}."),
        [all @ .., last] if all.len() < MAX_NAMES => {
            format!("{file}: defines {} and {last}.", all.join(", "))
        }
        all => {
            let (shown, rest) = all.split_at(MAX_NAMES);
            format!("{file}: defines {} and {} more.", shown.join(", "), rest.len())
        }
    }
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
            assert_eq!(as_comment(path, "a\nb").as_deref(), expected, "{path}");
        }
        let css = as_comment("a.css", "x */ body {} /* y");
        assert_eq!(css.as_deref(), Some("/* x  body {} /* y */"));
    }

    #[test]
    fn what_has_to_be_first_stays_first() {
        let cases = [
            ("#!/usr/bin/env node\nimport x", 1),
            ("#![allow(x)]\nfn f() {}", 0),
            ("#!/usr/bin/python\n# -*- coding: utf-8 -*-\nimport x", 2),
            ("<?php\necho 1;", 1),
            ("<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<x/>", 2),
            ("<!doctype html>\n<p>", 1),
            ("---\ntitle: x\n---\ntext", 3),
            ("---\nnever closed", 0),
            ("", 0),
        ];
        for (text, expected) in cases {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(lines_before(&lines), expected, "{text}");
        }
    }

    #[test]
    fn the_explanation_lists_what_the_file_defines() {
        let cases = [
            (
                "use x;\n  fn inner() {}\n// a class C",
                "a.rs: 3 lines that define no function or type.",
            ),
            ("export function main()", "a.rs: defines main."),
            ("pub(crate) async fn run<T: Into<X>>(x: T) -> Y", "a.rs: defines run."),
            ("export default class App extends React.Component {", "a.rs: defines App."),
            (
                "impl Display for Kiln {\npub struct Kiln(u8);\ntype Heat = u32;",
                "a.rs: defines Kiln and Heat.",
            ),
            ("def x():\ndef y():\ndef x():\nclass Z:", "a.rs: defines x, y and Z."),
            (
                "fn a\nfn b\nfn c\nfn d\nfn e\nfn f\nfn g\nfn h",
                "a.rs: defines a, b, c, d, e, f and 2 more.",
            ),
        ];
        for (text, expected) in cases {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(explanation("src/a.rs", &lines), expected);
        }
    }
}
