//! Import statements from syntax trees.

mod c;
mod csharp;
mod go;
mod java;
mod javascript;
pub(super) mod php;
mod python;
mod ruby;
mod rust;
mod syntax;

use workspace::RelPath;

use super::Import;
use crate::Language;
use syntax::SourceText;

/// What a file says about itself as far as imports go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileFacts {
    /// What it imports, in the order of the text.
    pub(super) imports: Vec<Import>,
    /// The names it defines for others.
    pub(super) defines: Vec<String>,
    /// The modules it declares; only Rust has them.
    pub(super) modules: Vec<DeclaredModule>,
    /// The package that a Go file says it belongs to.
    pub(super) package: Option<String>,
    /// What a C# file defines.
    pub(super) types: Vec<DefinedType>,
    /// The namespaces of a C# file and those around them.
    pub(super) around: Vec<String>,
    /// The namespaces whose types a C# file can name without a directive.
    pub(super) visible: Vec<String>,
    /// The names in a C# file that may be types, in order.
    pub(super) used: Vec<String>,
    /// The names behind a dot in a C# file, in order.
    pub(super) members: Vec<String>,
}

/// A type of C#, or a method that its class adds to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinedType {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) is_extension: bool,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredModule {
    pub(super) name: String,
    /// The inline modules around it, outermost first.
    pub(super) scope: Vec<String>,
    pub(super) path: Option<String>,
    /// Whether its content stands right there.
    pub(super) inline: bool,
}

/// How the imports of a file are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    JavaScript,
    Python,
    Rust,
    Go,
    Java,
    C,
    CSharp,
    Php,
    Ruby,
}

impl Dialect {
    /// The dialect of a file, by its name.
    pub(super) fn of(path: &RelPath) -> Option<Dialect> {
        if is_component(path) {
            return Language::TypeScript.grammar().map(|_| Dialect::JavaScript);
        }
        Language::parsed(path)?.spec().imports
    }
}

/// Whether the file holds scripts between other things.
pub(super) fn is_component(path: &RelPath) -> bool {
    matches!(path.extension(), Some(b"vue" | b"svelte"))
}

/// The facts of the file at `path`; none if they are not known in time or its language has none.
pub(crate) fn extract(
    path: &RelPath,
    bytes: &[u8],
    is_over: &dyn Fn() -> bool,
) -> Option<FileFacts> {
    let dialect = Dialect::of(path)?;
    let scripts;
    let (language, bytes) = if is_component(path) {
        scripts = javascript::only_scripts(bytes);
        (Language::TypeScript, scripts.as_slice())
    } else {
        (Language::of_file(path, bytes)?, bytes)
    };
    let tree = syntax::parse(language, bytes, is_over)?;
    let source = SourceText::new(bytes);
    let root = tree.root_node();
    Some(match dialect {
        Dialect::JavaScript => javascript::facts(&source, root),
        Dialect::Python => python::facts(&source, root, path),
        Dialect::Rust => rust::facts(&source, root),
        Dialect::Go => go::facts(&source, root),
        Dialect::Java => java::facts(&source, root),
        Dialect::C => c::facts(&source, root),
        Dialect::CSharp => csharp::facts(&source, root),
        Dialect::Php => php::facts(&source, root),
        Dialect::Ruby => ruby::facts(&source, root),
    })
}
