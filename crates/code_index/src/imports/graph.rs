//! The graph of imports, as far as it is known.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use workspace::RelPath;

use super::extract::Dialect;
use super::mentions::{MentionMatcher, Mentions};
use super::project_files::{ProjectFiles, dir_of, name_of};
use super::resolve::ImportResolver;
use super::{Import, ImportPlace, Resolution};

/// One import of one file, and one of the places it leads to.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) import: Arc<Import>,
    pub(super) to: Resolution,
}

/// Files whose imports are all resolved, and who imports whom among them.
pub(super) struct Graph {
    pub(super) resolver: ImportResolver,
    edges: BTreeMap<RelPath, Vec<Edge>>,
    importers: HashMap<RelPath, Vec<(RelPath, usize)>>,
    by_directory: HashMap<RelPath, Vec<(RelPath, usize)>>,
}

impl Graph {
    pub(super) fn new(files: Arc<dyn ProjectFiles>) -> Graph {
        Graph {
            resolver: ImportResolver::new(files),
            edges: BTreeMap::new(),
            importers: HashMap::new(),
            by_directory: HashMap::new(),
        }
    }

    /// Makes the imports of all files that mention one of the words known.
    pub(super) fn load(&mut self, mentions: &Mentions) {
        for (start, pattern) in mentions.parts() {
            let matcher = MentionMatcher::new(&pattern);
            self.load_files(&start, Some(&pattern), &|bytes| matcher.matches(bytes));
        }
    }

    fn load_files(
        &mut self,
        start: &RelPath,
        pattern: Option<&str>,
        is_candidate: &(dyn Fn(&[u8]) -> bool + Sync),
    ) {
        let found = Mutex::new(Vec::new());
        let resolver = &self.resolver;
        let known = &self.edges;
        resolver.files.visit(
            start,
            pattern,
            &|path| Dialect::of(path).is_some() && !known.contains_key(path),
            &|path, bytes| {
                if !resolver.files.is_over() && is_candidate(&bytes) {
                    resolver.parsed.learn(&path, &bytes);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push(path);
                }
            },
        );
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut found: BTreeSet<RelPath> = found.into_iter().collect();
        found.extend(self.note_types(&found));
        for path in found {
            self.add(path);
        }
    }

    /// Makes what a file defines known before the files that use it are resolved.
    pub(super) fn note_target(&mut self, path: &RelPath) {
        for path in self.note_types(&BTreeSet::from([path.clone()])) {
            self.add(path);
        }
    }

    /// Notes the types of C# files. Gives back the files that use one which was not known when their
    /// imports were resolved; they are to be resolved again.
    fn note_types(&mut self, paths: &BTreeSet<RelPath>) -> BTreeSet<RelPath> {
        let mut new = HashSet::new();
        for path in paths.iter().filter(|path| Dialect::of(path) == Some(Dialect::CSharp)) {
            let facts = self.resolver.facts(path);
            if self.resolver.csharp_types().note(path, &facts) {
                new.extend(facts.defines.iter().cloned());
            }
        }
        if new.is_empty() {
            return BTreeSet::new();
        }
        let uses_new = |path: &&RelPath| {
            let facts = self.resolver.facts(path);
            facts.used.iter().chain(&facts.members).any(|name| new.contains(name))
        };
        let again: BTreeSet<RelPath> = self.edges.keys().filter(uses_new).cloned().collect();
        for list in self.importers.values_mut() {
            list.retain(|(from, _)| !again.contains(from));
        }
        again
    }

    fn add(&mut self, path: RelPath) {
        let mut edges = Vec::new();
        for import in &self.resolver.facts(&path).imports {
            let found = self.resolver.resolve(&path, import);
            if found.is_empty() {
                continue;
            }
            let import = Arc::new(import.clone());
            edges.extend(found.into_iter().map(|to| Edge { import: Arc::clone(&import), to }));
        }
        for (index, edge) in edges.iter().enumerate() {
            let list = match &edge.to.place {
                ImportPlace::File(file) => self.importers.entry(file.clone()).or_default(),
                ImportPlace::Directory(dir) => self.by_directory.entry(dir.clone()).or_default(),
                ImportPlace::Outside { .. } => continue,
            };
            list.push((path.clone(), index));
        }
        self.edges.insert(path, edges);
    }

    /// The imports that lead to a file, by path and line.
    pub(super) fn importers_of(&self, file: &RelPath) -> Vec<(&RelPath, &Edge)> {
        let direct = self.importers.get(file).into_iter().flatten();
        let dir = dir_of(file);
        let is_go = Dialect::of(file) == Some(Dialect::Go);
        // Only the tests beside it see what a test file has, and only of the package itself.
        let is_test = is_go && name_of(file).ends_with("_test.go");
        let is_outer = is_test && self.is_external_test(file);
        let package = self.by_directory.get(&dir).filter(|_| is_go && !is_outer);
        let package =
            package.into_iter().flatten().filter(|(from, _)| !is_test || dir_of(from) == dir);
        let mut found: Vec<(&RelPath, &Edge)> = direct
            .chain(package)
            .filter_map(|(from, index)| {
                let (from, edges) = self.edges.get_key_value(from)?;
                Some((from, edges.get(*index)?))
            })
            .collect();
        found.sort_by_key(|(from, edge)| (*from, edge.import.line));
        found
    }

    /// Whether a Go file is of the package `x_test` beside `x`, which it can only import.
    fn is_external_test(&self, file: &RelPath) -> bool {
        self.resolver.facts(file).package.as_ref().is_some_and(|name| name.ends_with("_test"))
    }

    /// All imports that are known.
    pub(super) fn all_edges(&self) -> impl Iterator<Item = (&RelPath, &Edge)> {
        self.edges.iter().flat_map(|(from, edges)| edges.iter().map(move |edge| (from, edge)))
    }

    /// The files whose imports are known.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &RelPath> {
        self.edges.keys()
    }
}

/// Every import of a project that leads to one of its files: importer, line and imported file or
/// directory. This parses everything; it is for comparing with other tools.
pub fn every_import(files: Arc<dyn ProjectFiles>) -> Vec<(RelPath, u32, RelPath)> {
    let mut graph = Graph::new(files);
    graph.load_files(&RelPath::root(), None, &|_| true);
    let edges = graph.all_edges().filter_map(|(from, edge)| match &edge.to.place {
        ImportPlace::File(to) | ImportPlace::Directory(to) => {
            Some((from.clone(), edge.import.line, to.clone()))
        }
        ImportPlace::Outside { .. } => None,
    });
    edges.collect()
}
