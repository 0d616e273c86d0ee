//! Comments at the top of a file: how they are written, where they go, what they say.

/// How a file is commented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    open: &'static str,
    close: &'static str,
}

/// By the end of the name, or the whole of it. Formats without comments are not here.
const STYLES: &[(&str, &str, &[&str])] = &[
    ("//! ", "", &["rs"]),
    (
        "// ",
        "",
        &[
            "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "c", "h", "cc", "cpp",
            "cxx", "hpp", "hh", "cs", "java", "kt", "kts", "swift", "scala", "php", "dart", "zig",
            "proto", "groovy", "gradle", "m", "mm", "scss", "less", "jsonc", "json5", "v", "sol",
        ],
    ),
    (
        "# ",
        "",
        &[
            "py",
            "pyi",
            "rb",
            "sh",
            "bash",
            "zsh",
            "fish",
            "pl",
            "pm",
            "r",
            "jl",
            "ex",
            "exs",
            "nim",
            "yaml",
            "yml",
            "toml",
            "conf",
            "cfg",
            "tf",
            "nix",
            "cmake",
            "mk",
            "makefile",
            "ps1",
            "dockerfile",
            "justfile",
            "gemfile",
            "rakefile",
            "gitignore",
            "graphql",
            "cmakelists.txt",
        ],
    ),
    ("-- ", "", &["sql", "lua", "hs", "elm", "ada", "adb", "ads", "vhd"]),
    ("; ", "", &["ini", "asm", "s", "lisp", "clj", "cljs", "scm", "el"]),
    ("% ", "", &["tex", "erl", "hrl", "pro"]),
    ("/* ", " */", &["css"]),
    ("<!-- ", " -->", &["html", "htm", "xml", "svg", "md", "markdown", "vue", "svelte", "xhtml"]),
    ("(* ", " *)", &["ml", "mli", "pas"]),
];

/// How the file of this name is commented, if it can be.
pub(super) fn style(path: &str) -> Option<Style> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name.rsplit('.').next().unwrap_or(&name);
    let style =
        STYLES.iter().find(|(.., all)| all.contains(&extension) || all.contains(&name.as_str()));
    style.map(|(open, close, _)| Style { open, close })
}

impl Style {
    /// The text as a comment, with a line of its own for each of its lines.
    pub(super) fn comment(self, text: &str) -> String {
        let Style { open, close } = self;
        // The text may come from anybody: it must not end the comment.
        let text = if close.is_empty() { text.to_owned() } else { text.replace(close.trim(), "") };
        let lines = text.lines().map(|line| format!("{open}{line}{close}").trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// How many lines have to stay above a comment at the top: an interpreter, an encoding, an opening
/// tag, a document type, front matter.
pub(super) fn lines_before(path: &str, lines: &[String]) -> usize {
    let line =
        |at: usize| lines.get(at).map_or("", |line| line.trim_start_matches('\u{FEFF}').trim());
    let mut at = usize::from(line(0).starts_with("#!") && !line(0).starts_with("#!["));
    let lower = line(at).to_lowercase();
    let is_coding = lower.starts_with('#') && lower.contains("coding");
    let is_directive = lower.starts_with("# syntax=") || lower.starts_with("# escape=");
    let is_opening = lower.starts_with("<?php") || lower.starts_with("<?xml");
    if is_coding || is_directive || is_opening || lower.starts_with("@charset") {
        at += 1;
    }
    if line(at).to_lowercase().starts_with("<!doctype") {
        at += 1;
    }
    let is_markdown = path.ends_with(".md") || path.ends_with(".markdown");
    if is_markdown && at == 0 && line(0) == "---" {
        let end = lines.iter().skip(1).position(|line| line.trim() == "---");
        at = end.map_or(0, |end| end + 2);
    }
    at
}

/// Whether a blank line has to follow: a comment right above `package` documents the package.
pub(super) fn needs_distance(path: &str) -> bool {
    path.ends_with(".go")
}

/// Words that may stand before a name that is being defined.
const KEYWORDS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "function",
    "fn",
    "class",
    "struct",
    "enum",
    "trait",
    "def",
    "const",
    "let",
    "var",
    "type",
    "interface",
    "mod",
    "module",
    "static",
    "abstract",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "func",
    "unsafe",
    "extern",
    "crate",
    "super",
    "self",
    "in",
    "union",
    "macro_rules",
    "namespace",
    "record",
    "object",
    "data",
    "sealed",
    "open",
    "override",
    "inline",
    "virtual",
    "void",
    "int",
    "declare",
    "local",
    "readonly",
    "partial",
    "constexpr",
    "template",
    "typedef",
    "unsigned",
    "signed",
    "char",
    "bool",
    "long",
    "short",
    "float",
    "double",
];

/// Keywords that begin what is worth naming, where only the text of the file is known.
const DEFINING: &[&str] = &[
    "fn",
    "function",
    "class",
    "struct",
    "enum",
    "trait",
    "def",
    "interface",
    "func",
    "module",
    "namespace",
    "record",
    "type",
];

/// The name that a line defines: the word before a bracket, or the first that is no keyword.
fn defined_name(signature: &str) -> Option<&str> {
    let signature = signature.trim();
    if signature.starts_with("impl") || signature.starts_with("import") {
        return None;
    }
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    let is_name = |word: &&str| {
        !KEYWORDS.contains(word)
            && word.starts_with(|char: char| is_part(char) && !char.is_numeric())
    };
    // What follows an equals sign is a value, which may be a call.
    let declared = signature.split('=').next().unwrap_or(signature);
    let mut before_brackets = declared.match_indices('(').filter_map(|(at, _)| {
        let before = declared[..at].trim_end();
        let before = before.split(['<', '[']).next().unwrap_or(before);
        before.rsplit(|char| !is_part(char)).next()
    });
    let mut words = declared.split(|char: char| !is_part(char));
    before_brackets.find(is_name).or_else(|| words.find(is_name))
}

/// The names at the top level of an outline, `4: export function main()` and so on.
pub(super) fn outlined_names(outline: &str) -> Vec<&str> {
    let top_level = outline.lines().filter_map(|line| {
        let (number, signature) = line.split_once(": ")?;
        let is_number = number.chars().all(|char| char.is_ascii_digit() || char == '-');
        (is_number && !signature.starts_with([' ', '\t'])).then_some(signature)
    });
    distinct(top_level.filter_map(defined_name))
}

/// The names that lines without indentation define.
pub(super) fn names_in(lines: &[String]) -> Vec<&str> {
    let defining = lines.iter().filter(|line| {
        let mut words = line.split(|char: char| !char.is_alphanumeric() && char != '_').take(4);
        !line.starts_with([' ', '\t', '#', '/', '*']) && words.any(|word| DEFINING.contains(&word))
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

/// The most names a comment lists.
const MAX_NAMES: usize = 6;

/// What can honestly be said about a file of which only the names are known.
pub(super) fn explanation(path: &str, names: &[&str], lines: usize) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    // Constants say least about a file.
    let is_constant = |name: &&str| !name.chars().any(char::is_lowercase);
    let (constants, mut names): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(is_constant);
    names.extend(constants);
    let text = match &names[..] {
        [] => format!("{file}: {lines} lines that define no function or type."),
        [only] => format!("{file}: defines {only}."),
        [all @ .., last] if names.len() <= MAX_NAMES => {
            format!("{file}: defines {} and {last}.", all.join(", "))
        }
        _ => {
            let (shown, rest) = names.split_at(MAX_NAMES);
            format!("{file}: defines {} and {} more.", shown.join(", "), rest.len())
        }
    };
    wrapped(&text)
}

/// The text in lines of a bearable width.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 90;
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 {
            let fits = width + 1 + length <= WIDTH;
            lines.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        lines.push_str(word);
        width += length;
    }
    lines
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
            ("package.json", None),
            ("data", None),
        ];
        for (path, expected) in cases {
            let comment = style(path).map(|style| style.comment("a\nb"));
            assert_eq!(comment.as_deref(), expected, "{path}");
        }
        let css = style("a.css").unwrap();
        assert_eq!(css.comment("x */ body {} /* y"), "/* x  body {} /* y */");
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
        assert_eq!(
            explanation("src/a.rs", &[], 3),
            "a.rs: 3 lines that define no function or type."
        );
        assert_eq!(explanation("a.rs", &["x"], 3), "a.rs: defines x.");
        assert_eq!(explanation("a.rs", &["x", "y", "z"], 3), "a.rs: defines x, y and z.");
        assert_eq!(explanation("a.rs", &["MAX_X", "y"], 3), "a.rs: defines y and MAX_X.");
        let long = [
            "a_rather_long_name_of_a_function",
            "another_one_of_the_same_length_",
            "third_name_that_has_no_room_here",
        ];
        assert_eq!(
            explanation("a.rs", &long, 3),
            "a.rs: defines a_rather_long_name_of_a_function, another_one_of_the_same_length_ and\n\
             third_name_that_has_no_room_here."
        );
        let many = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(explanation("a.rs", &many, 3), "a.rs: defines a, b, c, d, e, f and 2 more.");
    }
}
