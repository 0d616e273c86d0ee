//! Imports: which file uses which, by real resolution.
//!
//! Import statements are taken from syntax trees ([`extract`]), led to files or packages by each
//! language's own rules ([`resolve`]), and gathered into a graph that grows as far as a question
//! needs it ([`graph`]): only files that mention a target's name are parsed. A file that mentions
//! the name and imports something else is not an importer.

mod by_text;
mod drawing;
mod extract;
mod graph;
mod impact;
mod importers;
mod mentions;
mod on_disk;
mod parsed;
mod project_files;
mod reexports;
mod resolve;
mod target;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use workspace::RelPath;

pub(crate) use extract::Dialect;
pub use impact::{Impact, ImpactNode, ImpactQuery, impact};
pub use importers::{Importer, Importers, find_importers};
pub use on_disk::FilesOnDisk;
pub use project_files::{PathList, ProjectFiles};

/// The way a file brings something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    /// An import statement, an include or a `use`.
    Import,
    /// An import that only types need.
    Type,
    /// An import that makes the same names available to others.
    ReExport,
    /// A call that loads a module.
    Require,
    /// A call that loads a module while the program runs.
    Dynamic,
    /// A module declared as part of this one, as `mod` does.
    Module,
    /// A name written with its whole path.
    Path,
    /// A reference that makes another file part of the compilation.
    Reference,
}

impl fmt::Display for ImportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImportKind::Import => "import",
            ImportKind::Type => "type",
            ImportKind::ReExport => "re-export",
            ImportKind::Require => "require",
            ImportKind::Dynamic => "dynamic",
            ImportKind::Module => "module",
            ImportKind::Path => "path",
            ImportKind::Reference => "reference",
        })
    }
}

/// The name that stands for all names, and for a module as a whole.
const ALL_NAMES: &str = "*";

/// One import as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    /// The number of its line, from 1.
    line: u32,
    /// The statement on one line, shortened.
    statement: Arc<str>,
    /// What is imported from, as the language spells it.
    specifier: String,
    /// The names taken from there; [`ALL_NAMES`] for all of them. Empty if the module as such is
    /// imported.
    names: Vec<String>,
    /// What others can import from here because of this: the name there and the name here.
    exposed: Vec<(String, String)>,
    kind: ImportKind,
    /// The inline modules around it, outermost first.
    scope: Vec<String>,
}

/// Where an import leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ImportPlace {
    /// A file of the project.
    File(RelPath),
    /// All files of one language directly in a directory of the project.
    Directory(RelPath),
    /// Something from outside the project: the package, and the whole name of what is imported.
    Outside { package: String, name: String },
}

/// One thing that an import leads to, and the names taken from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    place: ImportPlace,
    names: Vec<String>,
}

#[doc(hidden)]
pub use graph::every_import;
