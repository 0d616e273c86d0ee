//! C#: types are found by their name in the namespaces that a file sees. Where a type is defined only
//! its file says, so files are noted as they are read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::extract::{DefinedType, FileFacts};
use crate::imports::{ALL_NAMES, Import, ImportKind, Resolution};

/// The types of the files that were read for a question, by name.
#[derive(Debug, Default)]
pub(in crate::imports) struct KnownTypes {
    by_name: Mutex<HashMap<String, Vec<(DefinedType, RelPath)>>>,
}

impl KnownTypes {
    /// Notes what a file defines; true if any of it is new.
    pub(in crate::imports) fn note(&self, path: &RelPath, facts: &FileFacts) -> bool {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        for defined in &facts.types {
            let places = by_name.entry(defined.name.clone()).or_default();
            if !places.iter().any(|(known, file)| known == defined && file == path) {
                places.push((defined.clone(), path.clone()));
                is_new = true;
            }
        }
        is_new
    }

    /// The files that define `name` as is `wanted`.
    fn files(&self, name: &str, wanted: impl Fn(&DefinedType) -> bool) -> Vec<RelPath> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let places = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter(|(known, _)| wanted(known)).map(|(_, file)| file.clone()).collect()
    }
}

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let facts = resolver.facts(from);
    let types = resolver.csharp_types();
    let mut found: BTreeMap<RelPath, BTreeSet<String>> = BTreeMap::new();
    let mut add = |names: &[String], wanted: &dyn Fn(&DefinedType) -> bool| {
        for name in names {
            for file in types.files(name, wanted) {
                found.entry(file).or_default().insert(name.clone());
            }
        }
    };
    let is_visible =
        |known: &DefinedType| facts.visible.contains(&known.namespace) && !known.is_extension;
    // Within a namespace, a directive may leave out what is around.
    let is_named = |known: &DefinedType| {
        known.namespace == import.specifier
            || facts.around.iter().any(|around| {
                let rest = known.namespace.strip_prefix(around.as_str());
                rest.and_then(|rest| rest.strip_prefix('.')) == Some(import.specifier.as_str())
            })
    };
    let is_all = import.names.first().is_some_and(|first| first == ALL_NAMES);
    match import.kind {
        ImportKind::Path => add(&import.names, &is_visible),
        _ if is_all => {
            add(&facts.used, &|known| is_named(known) && !known.is_extension);
            add(&facts.members, &|known| is_named(known) && known.is_extension);
        }
        _ => add(&import.names, &|known| is_named(known) && !known.is_extension),
    }
    if found.is_empty() && import.kind != ImportKind::Path {
        let package = import.specifier.split('.').next().unwrap_or_default();
        return vec![Resolution::outside(package, &import.specifier, &[])];
    }
    let file = |(file, names): (RelPath, BTreeSet<String>)| {
        Resolution::file(file, &names.into_iter().collect::<Vec<_>>())
    };
    found.into_iter().map(file).collect()
}
