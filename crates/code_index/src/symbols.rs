//! Symbols: what a file defines, and where names occur in it.
//!
//! Files are parsed by tree-sitter and read by our own queries, one file for each language in
//! `symbols/queries/`; C and C++ are read by a walk over the tree, see `c_family.rs`. Everything here
//! is a pure function of bytes: any bytes are welcome, unfinished code gives what can be recognised
//! in it, and a deadline bounds the time.

mod assemble;
mod c_family;
mod cut_bodies;
mod cut_macros;
mod kind;
mod occurrences;
mod parsers;
mod queries;

use std::ops::Range;

pub use kind::SymbolKind;
pub(crate) use parsers::Parsers;
pub use parsers::file_symbols;
#[cfg(test)]
pub(crate) use queries::check as check_queries;

/// A name and the place that gives it its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name alone.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The line of the name, from 1.
    pub line: u32,
    /// The column of the name in bytes, from 1.
    pub column: u32,
    /// The bytes of the name.
    pub name_at: Range<u32>,
    /// The bytes of the whole definition, attributes and decorators included.
    pub extent: Range<u32>,
    /// What it stands in, joined by dots whatever the language: `Outer.Inner`. For a method of Rust
    /// or Go this is the type it belongs to.
    pub container: Option<String>,
}

/// What a file defines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSymbols {
    /// By place in the file.
    pub symbols: Vec<Symbol>,
    /// False if time ran out before the end, or if there is no grammar for the language.
    pub complete: bool,
}

/// A place where a name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occurrence {
    /// The bytes of the name.
    pub(crate) at: Range<u32>,
    /// Its line, from 1.
    pub(crate) line: u32,
    /// Its column in bytes, from 1.
    pub(crate) column: u32,
    /// What the name does there.
    pub(crate) role: Role,
}

/// What a name does where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It is defined.
    Definition,
    /// It is used.
    Reference,
    /// It is brought into the file.
    Import,
    /// It is mentioned in a comment.
    Comment,
    /// It is part of a string or of other text that is not code.
    Text,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Definition => "definition",
            Role::Reference => "reference",
            Role::Import => "import",
            Role::Comment => "comment",
            Role::Text => "text",
        }
    }
}

#[cfg(test)]
mod tests;
