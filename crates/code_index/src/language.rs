//! The languages whose files are understood beyond their text.
//!
//! Everything that is particular to a language is in its row, a [`LanguageSpec`] in the module of that
//! language. CONTRIBUTING.md says how to add one.

mod bash;
mod c_family;
mod csharp;
mod ecmascript;
mod go;
mod headers;
mod java;
mod php;
mod python;
mod ruby;
mod rust;
mod spec;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use headers::{BUILD_FILE_BYTES, SourceCount};
pub(crate) use spec::{Dollar, LanguageSpec, SymbolSource};
use workspace::RelPath;

/// Makes the enumeration of languages and ties each to its row.
macro_rules! languages {
    ($($language:ident => $row:path,)+) => {
        /// A language with a grammar.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Language {
            $($language,)+
        }

        impl Language {
            /// Every language, built in or not.
            pub const ALL: [Language; [$(stringify!($language)),+].len()] =
                [$(Language::$language),+];

            /// What is known about it.
            pub(crate) fn spec(self) -> &'static LanguageSpec {
                match self {
                    $(Language::$language => &$row,)+
                }
            }
        }
    };
}

languages! {
    Bash => bash::ROW,
    C => c_family::C,
    Cpp => c_family::CPP,
    CSharp => csharp::ROW,
    Go => go::ROW,
    Java => java::ROW,
    JavaScript => ecmascript::JAVASCRIPT,
    Php => php::ROW,
    Python => python::ROW,
    Ruby => ruby::ROW,
    Rust => rust::ROW,
    Tsx => ecmascript::TSX,
    TypeScript => ecmascript::TYPESCRIPT,
}

impl Language {
    /// The language of a file, by its name. Headers ending in `.h` are C.
    pub fn of(path: &RelPath) -> Option<Language> {
        static FILE_NAMES: LazyLock<ByText> = LazyLock::new(|| by_text(|spec| spec.file_names));
        static EXTENSIONS: LazyLock<ByText> = LazyLock::new(|| by_text(|spec| spec.extensions));
        let known = path.file_name().and_then(|name| FILE_NAMES.get(name));
        known.or_else(|| EXTENSIONS.get(path.extension()?)).copied()
    }

    /// The language of a file by its name, if its grammar is built in.
    pub(crate) fn parsed(path: &RelPath) -> Option<Language> {
        Language::of(path).filter(|language| language.grammar().is_some())
    }

    /// Whether the grammar of a file is built in, or only its first line tells: a script may have no
    /// ending.
    pub(crate) fn may_be_parsed(path: &RelPath) -> bool {
        match Language::of(path) {
            Some(language) => language.grammar().is_some(),
            None => path.extension().is_none(),
        }
    }

    /// The language of a file by its name and, where the name does not decide, by its text: the
    /// first line of a script names its interpreter, and a header may be C++. `text` is the file or
    /// as much of its beginning as is at hand. A header that could be either is taken for C; see
    /// [`CodeBase::language_of`](crate::CodeBase::language_of) for files of a project.
    pub fn of_file(path: &RelPath, text: &[u8]) -> Option<Language> {
        Language::in_project(path, text, || Language::C)
    }

    /// The same, where `project` tells what the project's headers are unless they say themselves.
    pub(crate) fn in_project(
        path: &RelPath,
        text: &[u8],
        project: impl FnOnce() -> Language,
    ) -> Option<Language> {
        match Language::of(path) {
            Some(Language::C) if path.extension() == Some(b"h") => {
                Some(headers::header_language(text, project))
            }
            Some(language) => Some(language),
            None if path.extension().is_none() => by_first_line(text),
            None => None,
        }
    }

    /// The language that is meant by the word after a code fence or by the path of a file: `rust`,
    /// `rs`, `C++`, `src/main.rs`.
    pub fn called(name_or_path: &str) -> Option<Language> {
        let name = name_or_path.to_lowercase();
        let file = name_or_path.rsplit('/').next().unwrap_or(name_or_path);
        let extension = name.rsplit_once('.').map_or(&*name, |(_, extension)| extension);
        let is_called = |language: &Language| {
            let row = language.spec();
            row.name.to_lowercase() == name
                || row.called.contains(&&*name)
                || row.file_names.contains(&file)
                || row.extensions.contains(&extension)
        };
        Language::ALL.into_iter().find(is_called)
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The name that `written` stands for: without the `$` that some languages write before it.
    pub fn name_in(self, written: &str) -> &str {
        match self.spec().names.dollar {
            Dollar::Mark => written.strip_prefix('$').unwrap_or(written),
            Dollar::Letter | Dollar::Foreign => written,
        }
    }

    /// The grammar, if it is built in.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        (self.spec().grammar)()
    }
}

type ByText = HashMap<&'static [u8], Language>;

fn by_text(texts: fn(&LanguageSpec) -> &'static [&'static str]) -> ByText {
    let of_one = |language: Language| {
        texts(language.spec()).iter().map(move |text| (text.as_bytes(), language))
    };
    Language::ALL.into_iter().flat_map(of_one).collect()
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
    let named = |language: &Language| {
        language.spec().interpreters.iter().any(|known| known.as_bytes() == &program[..end])
    };
    Language::ALL.into_iter().find(named)
}

#[cfg(test)]
mod tests;
