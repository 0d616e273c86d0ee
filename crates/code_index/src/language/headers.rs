//! The language of headers ending in `.h`, which C and C++ share.
//!
//! A header says itself that it is C++ if it has what C does not have. One that could be either is
//! what the sources of the project are, which is found out once for each project.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use workspace::RelPath;

use super::Language;

/// Sources after which the language of a project is decided. Larger projects have no other mixture in
/// their first sources than in all of them.
const ENOUGH_SOURCES: usize = 2000;
/// Bytes of a build file that are looked at; what languages a project has is said at its beginning.
pub(crate) const BUILD_FILE_BYTES: u64 = 64 * 1024;

/// What only C++ has. Each is looked at where it stands, since comments have the same words.
const MARKS: [&[u8]; 22] = [
    b"class",
    b"namespace",
    b"template",
    b"public:",
    b"private:",
    b"protected:",
    b"constexpr",
    b"virtual",
    b"std::",
    b"using",
    b"operator",
    b"nullptr",
    b"noexcept",
    b"override",
    b"explicit",
    b"typename",
    b"friend",
    b"enum class",
    b"enum struct",
    b"static_cast<",
    b"[[nodiscard]]",
    b"#include <",
];

/// What a header says about its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderLook {
    Cpp,
    /// It has parts for C++ behind a condition, and so is made for both.
    Both,
    Either,
}

/// The language of a header, where `project` tells the language of the project's sources.
pub(crate) fn header_language(text: &[u8], project: impl FnOnce() -> Language) -> Language {
    match look(text) {
        HeaderLook::Cpp => Language::Cpp,
        HeaderLook::Both | HeaderLook::Either => project(),
    }
}

fn look(text: &[u8]) -> HeaderLook {
    static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(MARKS).ok());
    let Some(marked) = MARKED.as_ref() else { return HeaderLook::Either };
    // What stands behind a condition for C++ does not make C++ of the rest.
    let guarded = parts_for_cpp(text);
    let is_guarded = |at: usize| {
        let before = guarded.partition_point(|part| part.start <= at);
        before > 0 && at < guarded[before - 1].end
    };
    let has_mark = marked.find_overlapping_iter(text).any(|found| {
        is_code(text, found.start())
            && !is_guarded(found.start())
            && is_mark(MARKS[found.pattern()], text, found.range())
    });
    match has_mark {
        true => HeaderLook::Cpp,
        false if guarded.is_empty() => HeaderLook::Either,
        false => HeaderLook::Both,
    }
}

/// What stands between `#ifdef __cplusplus` and its `#else` or `#endif`, in order.
fn parts_for_cpp(text: &[u8]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if memchr::memmem::find(text, b"__cplusplus").is_none() {
        return parts;
    }
    // For each open condition, where a part for C++ began, if it did.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        let Some(directive) = line.trim_ascii().strip_prefix(b"#") else { continue };
        let directive = directive.trim_ascii_start();
        if directive.starts_with(b"if") {
            open.push(asks_for_cpp(directive).then_some(at));
        } else if directive.starts_with(b"el") || directive.starts_with(b"endif") {
            let ends = directive.starts_with(b"endif");
            let began =
                if ends { open.pop().flatten() } else { open.last_mut().and_then(Option::take) };
            parts.extend(began.map(|began| began..start));
        }
    }
    parts.sort_by_key(|part| (part.start, part.end));
    // Parts within parts say nothing new.
    let mut outermost: Vec<Range<usize>> = Vec::new();
    for part in parts {
        if outermost.last().is_none_or(|last| last.end <= part.start) {
            outermost.push(part);
        }
    }
    outermost
}

/// Whether a condition holds in C++ alone. A comparison of versions is made where it is C++ anyway.
fn asks_for_cpp(directive: &[u8]) -> bool {
    let condition = directive.strip_prefix(b"ifdef").map(<[u8]>::trim_ascii_start);
    if let Some(name) = condition {
        return name.starts_with(b"__cplusplus");
    }
    ["defined(__cplusplus", "defined (__cplusplus", "defined __cplusplus"].iter().any(|asked| {
        memchr::memmem::find(directive, asked.as_bytes())
            .is_some_and(|at| !directive[..at].trim_ascii_end().ends_with(b"!"))
    })
}

/// Whether the place is not in a comment, as far as its line shows.
fn is_code(text: &[u8], at: usize) -> bool {
    let line = line_start(text, at);
    let before = &text[line..at];
    let is_comment = before.trim_ascii_start().starts_with(b"*")
        || memchr::memmem::find(before, b"//").is_some()
        || memchr::memmem::find(before, b"/*").is_some();
    !is_comment
}

/// Whether what looks like C++ at a place is C++.
fn is_mark(mark: &[u8], text: &[u8], at: Range<usize>) -> bool {
    let line = line_start(text, at.start);
    let end = memchr::memchr(b'\n', &text[at.end..]).map_or(text.len(), |length| at.end + length);
    let before = text[line..at.start].trim_ascii();
    let rest = text[at.end..end].trim_ascii_end();
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_');
    let is_whole = !is_word(text[line..at.start].last())
        && (!is_word(mark.last()) || !is_word(text.get(at.end)));
    if !is_whole {
        return false;
    }
    let follows = rest.trim_ascii_start();
    match mark {
        b"class" | b"namespace" => {
            (before.is_empty()
                || matches!(before, b"inline" | b"using" | b"friend" | b"typedef")
                || before.ends_with(b">"))
                && is_head(rest)
        }
        b"template" => before.is_empty() && follows.starts_with(b"<"),
        b"public:" | b"private:" | b"protected:" => before.is_empty() && rest.is_empty(),
        b"using" => before.is_empty() && rest.ends_with(b";") && rest.contains(&b'='),
        b"#include <" => {
            let name = rest.split(|byte| *byte == b'>').next().unwrap_or_default();
            before.is_empty()
                && name.len() > 2
                && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
                && rest.contains(&b'>')
        }
        b"std::" => is_word(rest.first()) && ends_code(rest),
        b"operator" => {
            matches!(
                follows.first(),
                Some(b'=' | b'<' | b'>' | b'+' | b'-' | b'*' | b'(' | b'[' | b'!')
            ) && follows.contains(&b'(')
        }
        b"noexcept" => matches!(follows.first(), Some(b';' | b'{' | b'(' | b'=')),
        b"nullptr" => matches!(follows.first(), Some(b';' | b')' | b',')),
        b"override" => before.ends_with(b")") || before.ends_with(b"const"),
        b"enum class" | b"enum struct" => before.is_empty() && is_word(follows.first()),
        b"static_cast<" | b"[[nodiscard]]" => true,
        b"constexpr" => is_word(follows.first()) && ends_code(rest),
        // The words that begin a member.
        _ => before.is_empty() && is_word(follows.first()) && ends_code(rest),
    }
}

fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1)
}

/// Whether a line ends as code does and sentences seldom do.
fn ends_code(rest: &[u8]) -> bool {
    matches!(rest.last(), Some(b'{' | b';' | b',' | b'}' | b')' | b'(' | b'>' | b'&' | b'\\'))
}

/// Whether the rest of a line is that of a type or a namespace and not of a sentence.
fn is_head(rest: &[u8]) -> bool {
    let words = || rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let is_plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'{' | b' ' | b'(' | b')')
    };
    let shouts = |word: &[u8]| !word.iter().any(u8::is_ascii_lowercase);
    let ends = matches!(rest.last(), Some(b'{' | b';' | b':' | b'}' | b','));
    rest.starts_with(b" ")
        && (ends
            || rest.iter().all(is_plain)
                && (words().count() == 1
                    || words().next().is_some_and(shouts) && words().count() == 2
                    || words().next_back() == Some(b"final")))
}

/// The language of a project's headers, counted from its sources.
#[derive(Debug, Default)]
pub(crate) struct SourceCount {
    c: usize,
    cpp: usize,
}

impl SourceCount {
    /// Counts a file. True once the language is decided.
    pub(crate) fn add(&mut self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let extension = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        match extension {
            b"c" => self.c += 1,
            b"cc" | b"cpp" | b"cxx" | b"c++" | b"C" | b"hpp" | b"hxx" | b"hh" | b"h++" => {
                self.cpp += 1;
            }
            _ => {}
        }
        self.c + self.cpp >= ENOUGH_SOURCES
    }

    /// What most sources are; if there are none, what the build files at the root say, which `read`
    /// gives.
    pub(crate) fn language(&self, read: impl Fn(&RelPath) -> Option<Vec<u8>>) -> Language {
        if self.c + self.cpp > 0 {
            return if self.cpp > self.c { Language::Cpp } else { Language::C };
        }
        let says_cpp = |(name, mark): &(&str, &[u8])| {
            let text = RelPath::parse(name).ok().and_then(|path| read(&path));
            text.is_some_and(|text| memchr::memmem::find(&text, mark).is_some())
        };
        if BUILD_FILES.iter().any(says_cpp) { Language::Cpp } else { Language::C }
    }
}

/// Build files, and what they have if the project is C++.
const BUILD_FILES: [(&str, &[u8]); 5] = [
    ("CMakeLists.txt", b"CXX"),
    ("CMakeLists.txt", b"cxx_std_"),
    ("meson.build", b"'cpp'"),
    ("configure.ac", b"AC_PROG_CXX"),
    ("configure.in", b"AC_PROG_CXX"),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_only_cpp_has_makes_a_header_cpp() {
        let table: [(&str, HeaderLook); 38] = [
            ("int f(void);\n", HeaderLook::Either),
            ("/*\n * class of device\n   class of its own, said he\n */\n", HeaderLook::Either),
            ("struct class { int a; };\n", HeaderLook::Either),
            ("struct a { int private; int virtual; };\n", HeaderLook::Either),
            ("// std::string is not used\n", HeaderLook::Either),
            ("/* operator == (a, b) */\n", HeaderLook::Either),
            ("int operator = 1; int using; int template;\n", HeaderLook::Either),
            ("#include <stdio.h>\n#include <sys/types.h>\n", HeaderLook::Either),
            ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n", HeaderLook::Both),
            ("#ifdef __cplusplus\nclass Foo;\n#endif\n", HeaderLook::Both),
            (
                "#if defined(__cplusplus) && 1\n# if A\nclass Foo;\n# endif\n#endif\n",
                HeaderLook::Both,
            ),
            ("#ifdef __cplusplus\nclass A;\n#else\nint a;\n#endif\nclass B;\n", HeaderLook::Cpp),
            ("#if __cplusplus >= 201402L\nclass Foo;\n#endif\n", HeaderLook::Cpp),
            ("#if !defined(__cplusplus)\nint class;\n#endif\n#endif\n#else\n", HeaderLook::Either),
            ("class Foo;\n", HeaderLook::Cpp),
            ("class Foo : public Bar {\n", HeaderLook::Cpp),
            ("class Foo\n{\n", HeaderLook::Cpp),
            ("class EXPORT Foo\n{\n", HeaderLook::Cpp),
            ("class EXPORT(x) Foo final\n{\n", HeaderLook::Cpp),
            ("namespace a::b {\n", HeaderLook::Cpp),
            ("inline namespace a {\n", HeaderLook::Cpp),
            ("  template <typename T>\nT f();\n", HeaderLook::Cpp),
            ("struct A {\n public:\n  A();\n};\n", HeaderLook::Cpp),
            ("using namespace std;\n", HeaderLook::Cpp),
            ("using A = int;\n", HeaderLook::Cpp),
            ("enum class A { B };\n", HeaderLook::Cpp),
            ("enum class A : int\n{ B };\n", HeaderLook::Cpp),
            ("#include <vector>\n", HeaderLook::Cpp),
            ("#include <string_view>  // for it\n", HeaderLook::Cpp),
            ("struct A {\n  virtual void f();\n};\n", HeaderLook::Cpp),
            ("struct A : B {\n  void f() override;\n};\n", HeaderLook::Cpp),
            ("void f(std::string a);\n", HeaderLook::Cpp),
            ("constexpr int a = 1;\n", HeaderLook::Cpp),
            ("bool operator==(A a, A b);\n", HeaderLook::Cpp),
            ("int f() noexcept;\n", HeaderLook::Cpp),
            ("[[nodiscard]] int f();\n", HeaderLook::Cpp),
            ("struct A { explicit A(int); };\n", HeaderLook::Either),
            ("  explicit A(int);\n", HeaderLook::Cpp),
        ];
        for (text, expected) in table {
            assert_eq!(look(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_header_of_either_language_is_what_the_sources_are() {
        let table = [
            (&["a.c", "b.c", "c.cc"][..], "", Language::C),
            (&["a.c", "src/b.cpp", "c.cc", "a.py"], "", Language::Cpp),
            (&["a.hpp", "a.h"], "", Language::Cpp),
            (&["a.h"], "project(x LANGUAGES CXX)", Language::Cpp),
            (&["a.h"], "project(x C)", Language::C),
            (&["a.h"], "", Language::C),
        ];
        for (files, cmake, expected) in table {
            let mut count = SourceCount::default();
            for file in files {
                count.add(file.as_bytes());
            }
            let read = |path: &RelPath| (path.to_text() == "CMakeLists.txt").then(|| cmake.into());
            let language = count.language(read);
            assert_eq!(language, expected, "{files:?} {cmake}");
            assert_eq!(header_language(b"int f(void);", || language), expected);
            assert_eq!(header_language(b"class A;", || language), Language::Cpp);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_language(text in "(class|template|std::|operator|using|#include <|//|\\*|[ a-z<>;{}()=\n]){0,40}") {
            let decided = header_language(text.as_bytes(), || Language::C);
            prop_assert!(matches!(decided, Language::C | Language::Cpp));
            // A sentence in a comment decides nothing.
            let comment: String = text.lines().map(|line| format!("// {line}\n")).collect();
            prop_assert_eq!(header_language(comment.as_bytes(), || Language::C), Language::C);
        }
    }
}
