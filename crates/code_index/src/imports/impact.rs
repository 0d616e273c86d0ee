//! What is affected by a change: importers, their importers, and so on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use workspace::RelPath;

use super::extract::Dialect;
use super::graph::Graph;
use super::importers::load_importers;
use super::mentions::Mentions;
use super::project_files::{ProjectFiles, name_of};
use super::reexports::{WantedNames, takers};
use super::target::{ImportTarget, interpret};

/// Names of directories that hold tests.
const TEST_DIRS: [&str; 8] =
    ["test", "tests", "__tests__", "spec", "specs", "e2e", "testing", "integration-tests"];

/// How far to look, and how much to show.
#[derive(Debug, Clone)]
pub struct ImpactQuery {
    /// A path, a file's name or a package of the project.
    pub target: String,
    /// Importers of importers of …, so many times.
    pub depth: usize,
    /// The most files to gather.
    pub max_files: usize,
}

/// Everything that imports a file, directly or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impact {
    /// The files that were asked for.
    pub targets: Vec<RelPath>,
    /// The tree, in the order in which it is read.
    pub nodes: Vec<ImpactNode>,
    /// Who imports whom, importer first.
    pub edges: BTreeSet<(RelPath, RelPath)>,
    /// The affected files, without the targets, by path.
    pub files: BTreeSet<RelPath>,
    /// Files that import a target themselves.
    pub direct: usize,
    /// Affected files that are tests.
    pub tests: Vec<RelPath>,
    /// Whether there is more than was asked for: deeper, or beyond the number of files.
    pub is_cut: bool,
}

/// A line of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpactNode {
    /// The file.
    pub path: RelPath,
    /// How deep it stands; 0 for a target.
    pub depth: usize,
    /// How many files stand beneath it, here or where it is expanded.
    pub beneath: usize,
    /// Whether it is one of the files it stands beneath.
    pub is_cycle: bool,
    /// Whether its importers are shown elsewhere.
    pub is_repeated: bool,
}

/// Who is affected by a change of `query.target`. A file that only hands on what it imports is
/// followed only to those who take just that.
pub fn impact(files: Arc<dyn ProjectFiles>, query: &ImpactQuery) -> Impact {
    let mut graph = Graph::new(files);
    let mut found = Impact::default();
    for target in interpret(&graph.resolver, &query.target) {
        match target {
            ImportTarget::File(path) | ImportTarget::NameIn(path, _) => found.targets.push(path),
            ImportTarget::Directory(dir) => {
                let inside = graph.resolver.files.paths().beneath(&dir);
                found.targets.extend(inside.filter(|path| Dialect::of(path).is_some()).cloned());
            }
            ImportTarget::Symbol(_) | ImportTarget::Outside(_) => {}
        }
    }
    found.targets.sort();
    found.targets.dedup();
    gather(&mut graph, query, &mut found);
    let targets: BTreeSet<&RelPath> = found.targets.iter().collect();
    found.files = found.edges.iter().map(|(from, _)| from.clone()).collect();
    found.files.retain(|path| !targets.contains(path));
    let direct: BTreeSet<&RelPath> = found
        .edges
        .iter()
        .filter(|(from, to)| targets.contains(to) && !targets.contains(from))
        .map(|(from, _)| from)
        .collect();
    found.direct = direct.len();
    found.tests = found.files.iter().filter(|path| is_test(path)).cloned().collect();
    found.nodes = tree(&found);
    found
}

/// Level by level, so that each level needs one look at the project.
fn gather(graph: &mut Graph, query: &ImpactQuery, found: &mut Impact) {
    let mut asked: BTreeMap<RelPath, WantedNames> = BTreeMap::new();
    let mut files: BTreeSet<RelPath> = found.targets.iter().cloned().collect();
    let mut level: Vec<(RelPath, WantedNames)> =
        found.targets.iter().map(|path| (path.clone(), WantedNames::Everything)).collect();
    for depth in 0.. {
        level.retain(|(path, wanted)| is_more(asked.get(path), wanted));
        if level.is_empty() || graph.resolver.files.is_over() {
            return;
        }
        let mut mentions = Mentions::default();
        for (path, _) in &level {
            graph.note_target(path);
            mentions.add(Mentions::of_file(&graph.resolver, path));
        }
        graph.load(&mentions);
        let mut next: BTreeMap<RelPath, WantedNames> = BTreeMap::new();
        for (path, wanted) in level {
            let wanted = joined(asked.get(&path), wanted);
            asked.insert(path.clone(), wanted.clone());
            load_renamed(graph, &path);
            for taker in takers(graph, &path, &wanted) {
                let is_new = !files.contains(taker.from);
                if is_new && (depth >= query.depth || files.len() >= query.max_files) {
                    found.is_cut = true;
                    continue;
                }
                files.insert(taker.from.clone());
                found.edges.insert((taker.from.clone(), path.clone()));
                let onward = match taker.is_passage() {
                    true => WantedNames::Names(taker.passes),
                    false => WantedNames::Everything,
                };
                let known = next.remove(taker.from);
                next.insert(taker.from.clone(), joined(known.as_ref(), onward));
            }
        }
        level = next.into_iter().collect();
    }
}

/// Only Rust has modules that are called other than their file.
fn load_renamed(graph: &mut Graph, path: &RelPath) {
    if Dialect::of(path) == Some(Dialect::Rust) {
        load_importers(graph, path);
    }
}

fn is_more(known: Option<&WantedNames>, wanted: &WantedNames) -> bool {
    match (known, wanted) {
        (Some(WantedNames::Everything), _) => false,
        (Some(WantedNames::Names(known)), WantedNames::Names(names)) => !names.is_subset(known),
        (None, WantedNames::Names(names)) => !names.is_empty(),
        (_, WantedNames::Everything) => true,
    }
}

fn joined(known: Option<&WantedNames>, wanted: WantedNames) -> WantedNames {
    match (known, wanted) {
        (Some(WantedNames::Names(known)), WantedNames::Names(mut names)) => {
            names.extend(known.iter().cloned());
            WantedNames::Names(names)
        }
        (Some(WantedNames::Everything), _) => WantedNames::Everything,
        (_, wanted) => wanted,
    }
}

/// The tree with every file expanded once, where it stands highest.
fn tree(found: &Impact) -> Vec<ImpactNode> {
    let mut importers: BTreeMap<&RelPath, Vec<&RelPath>> = BTreeMap::new();
    for (from, to) in &found.edges {
        importers.entry(to).or_default().push(from);
    }
    let level = levels(&found.targets, &importers);
    let mut nodes: Vec<ImpactNode> = Vec::new();
    let mut expanded = BTreeSet::new();
    let mut way: Vec<&RelPath> = Vec::new();
    let mut open: Vec<(&RelPath, usize)> =
        found.targets.iter().rev().map(|path| (path, 0)).collect();
    while let Some((path, depth)) = open.pop() {
        way.truncate(depth);
        let is_cycle = way.contains(&path);
        let inner = importers.get(path).map(Vec::as_slice).unwrap_or_default();
        // Where it stands deeper than it could, it is only named.
        let is_here = level.get(path) == Some(&depth) && !is_cycle && expanded.insert(path);
        nodes.push(ImpactNode {
            path: path.clone(),
            depth,
            beneath: inner.len(),
            is_cycle,
            is_repeated: !is_here && !is_cycle && !inner.is_empty(),
        });
        if is_here {
            way.push(path);
            open.extend(inner.iter().rev().map(|inner| (*inner, depth + 1)));
        }
    }
    nodes
}

/// The least depth of each file.
fn levels<'a>(
    targets: &'a [RelPath],
    importers: &BTreeMap<&'a RelPath, Vec<&'a RelPath>>,
) -> BTreeMap<&'a RelPath, usize> {
    let mut level: BTreeMap<&RelPath, usize> = targets.iter().map(|path| (path, 0)).collect();
    let mut open: Vec<&RelPath> = targets.iter().collect();
    let mut depth = 0;
    while !open.is_empty() {
        depth += 1;
        let mut next = Vec::new();
        for path in open {
            for from in importers.get(path).into_iter().flatten() {
                level.entry(from).or_insert_with(|| {
                    next.push(*from);
                    depth
                });
            }
        }
        open = next;
    }
    level
}

/// Whether a file is a test, by the usual names of files and directories.
pub(super) fn is_test(path: &RelPath) -> bool {
    let name = name_of(path);
    let stem = name.split('.').next().unwrap_or_default();
    let in_tests = path
        .components()
        .rev()
        .skip(1)
        .any(|dir| TEST_DIRS.iter().any(|known| known.as_bytes() == dir));
    in_tests
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", "Test", "Tests"].iter().any(|end| stem.ends_with(end))
        || matches!(stem, "tests" | "conftest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        let table = [
            ("src/a.test.ts", true),
            ("tests/it/main.rs", true),
            ("pkg/test_views.py", true),
            ("pkg/views_test.go", true),
            ("src/UserTest.java", true),
            ("spec/user_spec.rb", true),
            ("src/edit/tests.rs", true),
            ("src/latest.ts", false),
            ("src/contest.rs", false),
            ("src/testing_ground.ts", false),
        ];
        for (path, expected) in table {
            assert_eq!(is_test(&RelPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
