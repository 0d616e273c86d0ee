//! The languages whose files are understood beyond their text.

use workspace::RelPath;

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Bash and other shells of its family.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript, JSX included.
    JavaScript,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
}

impl Language {
    /// Every language, built in or not.
    pub const ALL: [Language; 13] = [
        Language::Bash,
        Language::C,
        Language::Cpp,
        Language::CSharp,
        Language::Go,
        Language::Java,
        Language::JavaScript,
        Language::Php,
        Language::Python,
        Language::Ruby,
        Language::Rust,
        Language::Tsx,
        Language::TypeScript,
    ];

    /// The language of a file, by its name. Headers ending in `.h` are C.
    pub fn of(path: &RelPath) -> Option<Language> {
        if let Some(language) = path.file_name().and_then(by_whole_name) {
            return Some(language);
        }
        Some(match path.extension()? {
            b"bash" | b"bats" | b"sh" => Language::Bash,
            b"c" | b"h" => Language::C,
            b"cc" | b"cpp" | b"cxx" | b"c++" | b"hh" | b"hpp" | b"hxx" | b"h++" | b"ipp"
            | b"tpp" | b"inl" => Language::Cpp,
            b"cs" => Language::CSharp,
            b"go" => Language::Go,
            b"java" => Language::Java,
            b"cjs" | b"js" | b"jsx" | b"mjs" => Language::JavaScript,
            b"php" | b"phtml" => Language::Php,
            b"py" | b"pyi" | b"pyw" => Language::Python,
            b"gemspec" | b"rake" | b"rb" | b"ru" => Language::Ruby,
            b"rs" => Language::Rust,
            b"tsx" => Language::Tsx,
            b"cts" | b"mts" | b"ts" => Language::TypeScript,
            _ => return None,
        })
    }

    /// The language of a file by its name and, where the name does not decide, by its text: the
    /// first line of a script names its interpreter, and a header may be C++. `text` is the file or
    /// as much of its beginning as is at hand.
    pub fn of_file(path: &RelPath, text: &[u8]) -> Option<Language> {
        match Language::of(path) {
            Some(Language::C) if path.extension() == Some(b"h") && is_cpp_header(text) => {
                Some(Language::Cpp)
            }
            Some(language) => Some(language),
            None if path.extension().is_none() => by_first_line(text),
            None => None,
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Bash => "Bash",
            Language::C => "C",
            Language::Cpp => "C++",
            Language::CSharp => "C#",
            Language::Go => "Go",
            Language::Java => "Java",
            Language::JavaScript => "JavaScript",
            Language::Php => "PHP",
            Language::Python => "Python",
            Language::Ruby => "Ruby",
            Language::Rust => "Rust",
            Language::Tsx => "TSX",
            Language::TypeScript => "TypeScript",
        }
    }

    /// The grammar, if it is built in.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        match self {
            #[cfg(feature = "bash")]
            Language::Bash => Some(tree_sitter_bash::LANGUAGE.into()),
            #[cfg(feature = "c")]
            Language::C => Some(tree_sitter_c::LANGUAGE.into()),
            #[cfg(feature = "cpp")]
            Language::Cpp => Some(tree_sitter_cpp::LANGUAGE.into()),
            #[cfg(feature = "csharp")]
            Language::CSharp => Some(tree_sitter_c_sharp::LANGUAGE.into()),
            #[cfg(feature = "go")]
            Language::Go => Some(tree_sitter_go::LANGUAGE.into()),
            #[cfg(feature = "java")]
            Language::Java => Some(tree_sitter_java::LANGUAGE.into()),
            #[cfg(feature = "javascript")]
            Language::JavaScript => Some(tree_sitter_javascript::LANGUAGE.into()),
            #[cfg(feature = "php")]
            Language::Php => Some(tree_sitter_php::LANGUAGE_PHP.into()),
            #[cfg(feature = "python")]
            Language::Python => Some(tree_sitter_python::LANGUAGE.into()),
            #[cfg(feature = "ruby")]
            Language::Ruby => Some(tree_sitter_ruby::LANGUAGE.into()),
            #[cfg(feature = "rust")]
            Language::Rust => Some(tree_sitter_rust::LANGUAGE.into()),
            #[cfg(feature = "typescript")]
            Language::Tsx => Some(tree_sitter_typescript::LANGUAGE_TSX.into()),
            #[cfg(feature = "typescript")]
            Language::TypeScript => Some(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
            #[allow(unreachable_patterns, reason = "reached when a language is left out")]
            _ => None,
        }
    }
}

/// Files that are known by their whole name.
fn by_whole_name(name: &[u8]) -> Option<Language> {
    Some(match name {
        b"Brewfile" | b"Capfile" | b"Gemfile" | b"Guardfile" | b"Podfile" | b"Rakefile"
        | b"Vagrantfile" => Language::Ruby,
        b".bash_aliases" | b".bash_login" | b".bash_logout" | b".bash_profile" | b".bashrc"
        | b".profile" | b"PKGBUILD" | b"APKBUILD" => Language::Bash,
        b"SConscript" | b"SConstruct" => Language::Python,
        _ => return None,
    })
}

/// The interpreter that a script asks for, or the mode that an editor is told to use.
fn by_first_line(text: &[u8]) -> Option<Language> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    if line.starts_with(b"#!") {
        let mut words = line[2..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut program = base_name(words.next()?);
        if program == b"env" {
            // `env -S program -x` and `env NAME=value program`.
            let is_program = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
            program = base_name(words.find(is_program)?);
        }
        return by_interpreter(program);
    }
    let is_shell = |mode: &[u8]| memchr::memmem::find(line, mode).is_some();
    [&b"-*- shell-script -*-"[..], b"-*- sh -*-"]
        .into_iter()
        .any(is_shell)
        .then_some(Language::Bash)
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn by_interpreter(program: &[u8]) -> Option<Language> {
    // `python3.12` is Python.
    let is_version = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let end = program.iter().rposition(|byte| !is_version(byte)).map_or(0, |last| last + 1);
    Some(match &program[..end] {
        b"ash" | b"bash" | b"bats" | b"dash" | b"ksh" | b"mksh" | b"sh" | b"zsh" => Language::Bash,
        b"bun" | b"node" | b"nodejs" => Language::JavaScript,
        b"deno" | b"ts-node" | b"tsx" => Language::TypeScript,
        b"php" => Language::Php,
        b"pypy" | b"python" => Language::Python,
        b"jruby" | b"rake" | b"ruby" => Language::Ruby,
        b"rust-script" => Language::Rust,
        _ => return None,
    })
}

/// Whether a header has what only C++ has, at the beginning of a line and as code would have it.
fn is_cpp_header(text: &[u8]) -> bool {
    let words: [&[u8]; 5] = [b"class", b"namespace", b"template", b"public:", b"private:"];
    words.into_iter().any(|word| {
        memchr::memmem::find_iter(text, word).any(|at| {
            let line = text[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let rest = text[at + word.len()..].split(|byte| *byte == b'\n').next();
            let before = line.trim_ascii();
            (before.is_empty() || before == b"inline" || before == b"using")
                && is_cpp_line(word, rest.unwrap_or_default().trim_ascii_end())
        })
    })
}

/// Whether a line that begins with `word` is C++ and not a sentence of a comment.
fn is_cpp_line(word: &[u8], rest: &[u8]) -> bool {
    match word {
        b"template" => rest.trim_ascii_start().starts_with(b"<"),
        b"public:" | b"private:" => rest.is_empty(),
        _ => {
            rest.starts_with(b" ") && matches!(rest.last(), Some(b'{' | b';' | b':' | b'}' | b','))
                || rest.trim_ascii_start().iter().all(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'{' | b' ')
                }) && rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count()
                    == 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).expect("a path")
    }

    #[test]
    fn names_decide_first() {
        let table = [
            ("src/a.rs", Some(Language::Rust)),
            ("a.tsx", Some(Language::Tsx)),
            ("a.d.ts", Some(Language::TypeScript)),
            ("Rakefile", Some(Language::Ruby)),
            (".bashrc", Some(Language::Bash)),
            ("a.h", Some(Language::C)),
            ("README", None),
            ("a.txt", None),
        ];
        for (name, language) in table {
            assert_eq!(Language::of(&path(name)), language, "{name}");
        }
    }

    #[test]
    fn scripts_say_what_they_are() {
        let table = [
            ("#!/bin/sh\n", Some(Language::Bash)),
            ("#! /usr/bin/env bash", Some(Language::Bash)),
            ("#!/usr/bin/env -S python3.12 -u\n", Some(Language::Python)),
            ("#!/usr/bin/env A=1 node\n", Some(Language::JavaScript)),
            ("#!/usr/bin/perl\n", None),
            ("#!", None),
            ("#!/usr/bin/env", None),
            ("#   -*- shell-script -*-\n", Some(Language::Bash)),
            ("", None),
        ];
        for (text, language) in table {
            assert_eq!(Language::of_file(&path("bin/tool"), text.as_bytes()), language, "{text}");
        }
        assert_eq!(Language::of_file(&path("a.txt"), b"#!/bin/sh\n"), None);
    }

    #[test]
    fn a_header_with_classes_is_cpp() {
        let table = [
            ("int f(void);\n", Language::C),
            ("/*\n * class of device\n   class of its own, said he\n */\n", Language::C),
            ("struct class { int a; };\n", Language::C),
            ("class Foo;\n", Language::Cpp),
            ("class Foo : public Bar {\n", Language::Cpp),
            ("class Foo\n{\n", Language::Cpp),
            ("namespace a::b {\n", Language::Cpp),
            ("  template <typename T>\nT f();\n", Language::Cpp),
            ("struct A {\n public:\n  A();\n};\n", Language::Cpp),
            ("using namespace std;\n", Language::Cpp),
        ];
        for (text, language) in table {
            assert_eq!(Language::of_file(&path("a.h"), text.as_bytes()), Some(language), "{text}");
        }
    }
}
