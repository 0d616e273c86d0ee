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
        Some(match path.extension()? {
            b"bash" | b"sh" => Language::Bash,
            b"c" | b"h" => Language::C,
            b"cc" | b"cpp" | b"cxx" | b"c++" | b"hh" | b"hpp" | b"hxx" | b"h++" | b"ipp"
            | b"tpp" | b"inl" => Language::Cpp,
            b"cs" => Language::CSharp,
            b"go" => Language::Go,
            b"java" => Language::Java,
            b"cjs" | b"js" | b"jsx" | b"mjs" => Language::JavaScript,
            b"php" | b"phtml" => Language::Php,
            b"py" | b"pyi" | b"pyw" => Language::Python,
            b"rake" | b"rb" => Language::Ruby,
            b"rs" => Language::Rust,
            b"tsx" => Language::Tsx,
            b"cts" | b"mts" | b"ts" => Language::TypeScript,
            _ => return None,
        })
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
        Some(match self {
            #[cfg(feature = "bash")]
            Language::Bash => tree_sitter_bash::LANGUAGE.into(),
            #[cfg(feature = "c")]
            Language::C => tree_sitter_c::LANGUAGE.into(),
            #[cfg(feature = "cpp")]
            Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            #[cfg(feature = "csharp")]
            Language::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            #[cfg(feature = "go")]
            Language::Go => tree_sitter_go::LANGUAGE.into(),
            #[cfg(feature = "java")]
            Language::Java => tree_sitter_java::LANGUAGE.into(),
            #[cfg(feature = "javascript")]
            Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            #[cfg(feature = "php")]
            Language::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            #[cfg(feature = "python")]
            Language::Python => tree_sitter_python::LANGUAGE.into(),
            #[cfg(feature = "ruby")]
            Language::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            #[cfg(feature = "rust")]
            Language::Rust => tree_sitter_rust::LANGUAGE.into(),
            #[cfg(feature = "typescript")]
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            #[cfg(feature = "typescript")]
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            #[allow(unreachable_patterns, reason = "reached when a language is left out")]
            _ => return None,
        })
    }
}
