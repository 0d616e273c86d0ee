//! What an import passes on to others.

use std::collections::BTreeSet;

use workspace::RelPath;

use super::extract::Dialect;
use super::graph::{Edge, Graph};
use super::project_files::{dir_of, name_of, stem_of};
use super::{ALL_NAMES, ImportKind};

/// What of a file is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WantedNames {
    /// The file as such: importers of anything from it.
    Everything,
    /// Some of its names: importers of one of them.
    Names(BTreeSet<String>),
}

/// An import that takes what is wanted.
pub(super) struct Taker<'g> {
    pub(super) from: &'g RelPath,
    pub(super) edge: &'g Edge,
    /// The names under which it can be imported from there in turn.
    pub(super) passes: BTreeSet<String>,
    /// Whether it takes the module as a whole, and so only perhaps what is wanted.
    pub(super) perhaps: bool,
}

impl Taker<'_> {
    /// Whether the file only hands on what it imports, or only declares it.
    pub(super) fn is_passage(&self) -> bool {
        let import = &self.edge.import;
        match import.kind {
            ImportKind::ReExport | ImportKind::Module => true,
            _ => Dialect::of(self.from) == Some(Dialect::Python) && !import.exposed.is_empty(),
        }
    }
}

/// The imports among those known that take `wanted` from the file at `path`.
pub(super) fn takers<'g>(graph: &'g Graph, path: &RelPath, wanted: &WantedNames) -> Vec<Taker<'g>> {
    let provided = match wanted {
        WantedNames::Everything => provided(graph, path),
        WantedNames::Names(names) => names.clone(),
    };
    let takes = |edge: &Edge| match wanted {
        WantedNames::Everything => Some(false),
        WantedNames::Names(names) if edge.to.names.iter().any(|name| names.contains(name)) => {
            Some(false)
        }
        WantedNames::Names(_) => {
            let all = edge.to.names.iter().any(|name| name == ALL_NAMES);
            (all && edge.import.kind != ImportKind::Module).then_some(true)
        }
    };
    let found = graph.importers_of(path).into_iter().filter_map(|(from, edge)| {
        let perhaps = takes(edge)?;
        let passes = passed(path, edge, wanted, &provided);
        Some(Taker { from, edge, passes, perhaps })
    });
    found.collect()
}

/// The names that a file has for others, as far as they do not come by `export *`.
fn provided(graph: &Graph, path: &RelPath) -> BTreeSet<String> {
    let facts = graph.resolver.facts(path);
    let exposed = facts.imports.iter().flat_map(|import| &import.exposed).map(|(_, here)| here);
    let names = facts.defines.iter().chain(exposed).filter(|name| *name != ALL_NAMES);
    names.cloned().collect()
}

fn passed(
    path: &RelPath,
    edge: &Edge,
    wanted: &WantedNames,
    provided: &BTreeSet<String>,
) -> BTreeSet<String> {
    let module = match &*stem_of(path) {
        "__init__" | "mod" => name_of(&dir_of(path)),
        stem => stem.to_owned(),
    };
    let mut passes = BTreeSet::new();
    for (there, here) in &edge.import.exposed {
        // One statement can lead to several files; the name must belong to this one.
        let belongs = edge.to.names.contains(there)
            || (edge.to.names.is_empty() && (*there == module || edge.import.names.len() <= 1));
        if !belongs {
            continue;
        }
        let is_wanted = match wanted {
            WantedNames::Everything => true,
            WantedNames::Names(names) => names.contains(there) || there == ALL_NAMES,
        };
        if !is_wanted {
            continue;
        }
        if there == ALL_NAMES && here == ALL_NAMES {
            passes.extend(provided.iter().filter(|name| *name != "default").cloned());
        } else {
            passes.insert(here.clone());
        }
    }
    passes
}
