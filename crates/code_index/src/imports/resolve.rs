//! Where an import leads, by the rules of its language.

mod c;
mod cargo;
mod composer;
mod csharp;
mod go;
mod include_paths;
mod java;
mod javascript;
mod php;
mod python;
mod ruby;
mod rust;
mod virtual_disk;

use std::sync::{Arc, OnceLock};

use workspace::RelPath;

use super::extract::{Dialect, FileFacts};
use super::parsed::ParsedFiles;
use super::project_files::ProjectFiles;
use super::{Import, ImportPlace, Resolution};

pub(super) use cargo::Crates;
pub(super) use go::GoModules;
pub(super) use javascript::JavaScript;

/// Resolves the imports of one project for one question. What a language needs to know about the
/// project is found out when its first import is met.
pub(super) struct ImportResolver {
    pub(super) files: Arc<dyn ProjectFiles>,
    pub(super) parsed: ParsedFiles,
    javascript: OnceLock<JavaScript>,
    crates: OnceLock<Crates>,
    go: OnceLock<GoModules>,
    python: OnceLock<python::Roots>,
    composer: OnceLock<composer::Prefixes>,
    includes: include_paths::IncludePaths,
    csharp_types: csharp::KnownTypes,
}

impl ImportResolver {
    pub(super) fn new(files: Arc<dyn ProjectFiles>) -> ImportResolver {
        ImportResolver {
            parsed: ParsedFiles::new(Arc::clone(&files)),
            files,
            javascript: OnceLock::new(),
            crates: OnceLock::new(),
            go: OnceLock::new(),
            python: OnceLock::new(),
            composer: OnceLock::new(),
            includes: include_paths::IncludePaths::default(),
            csharp_types: csharp::KnownTypes::default(),
        }
    }

    /// What the import in the file `from` leads to: nothing if it is unknown, or if it is the
    /// file itself.
    pub(super) fn resolve(&self, from: &RelPath, import: &Import) -> Vec<Resolution> {
        let mut found = match Dialect::of(from) {
            Some(Dialect::JavaScript) => self.javascript().resolve(from, import),
            Some(Dialect::Python) => python::resolve(self, from, import),
            Some(Dialect::Rust) => rust::resolve(self, from, import),
            Some(Dialect::Go) => self.go().resolve(import),
            Some(Dialect::Java) => java::resolve(self, from, import),
            Some(Dialect::C) => c::resolve(self, from, import),
            Some(Dialect::CSharp) => csharp::resolve(self, from, import),
            Some(Dialect::Php) => php::resolve(self, from, import),
            Some(Dialect::Ruby) => ruby::resolve(self, from, import),
            None => Vec::new(),
        };
        found.retain(|one| one.place != ImportPlace::File(from.clone()));
        found
    }

    pub(super) fn facts(&self, path: &RelPath) -> Arc<FileFacts> {
        self.parsed.facts(path)
    }

    pub(super) fn javascript(&self) -> &JavaScript {
        self.javascript.get_or_init(|| JavaScript::new(Arc::clone(&self.files)))
    }

    pub(super) fn crates(&self) -> &Crates {
        self.crates.get_or_init(|| Crates::find(&*self.files))
    }

    pub(super) fn go(&self) -> &GoModules {
        self.go.get_or_init(|| GoModules::find(&self.files))
    }

    fn python(&self) -> &python::Roots {
        self.python.get_or_init(|| python::Roots::find(self.files.paths()))
    }

    fn includes(&self) -> &include_paths::IncludePaths {
        &self.includes
    }

    pub(super) fn csharp_types(&self) -> &csharp::KnownTypes {
        &self.csharp_types
    }

    fn composer(&self) -> &composer::Prefixes {
        self.composer.get_or_init(|| composer::Prefixes::find(&*self.files))
    }
}

impl Resolution {
    fn file(path: RelPath, names: &[String]) -> Resolution {
        Resolution { place: ImportPlace::File(path), names: names.to_vec() }
    }

    fn outside(package: &str, name: &str, names: &[String]) -> Resolution {
        let place = ImportPlace::Outside { package: package.to_owned(), name: name.to_owned() };
        Resolution { place, names: names.to_vec() }
    }
}
