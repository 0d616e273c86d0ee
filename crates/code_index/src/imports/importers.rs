//! Who imports something, by path, package or symbol.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use workspace::RelPath;

use super::by_text;
use super::extract::Dialect;
use super::graph::{Edge, Graph};
use super::mentions::Mentions;
use super::project_files::{ProjectFiles, dir_of, name_of, stem_of};
use super::reexports::{WantedNames, takers};
use super::resolve::ImportResolver;
use super::target::{ImportTarget, interpret};
use super::{ALL_NAMES, ImportKind, ImportPlace};

/// The most files that are followed because they hand on what is asked for.
const MAX_PASSAGES: usize = 64;

/// The most files of a directory that are asked for.
const MAX_FILES: usize = 500;

/// How many near names are given.
const MAX_NEAR: usize = 3;

/// One statement that imports what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Importer {
    /// The file with the statement.
    pub path: RelPath,
    /// Its line, from 1.
    pub line: u32,
    /// The statement on one line, shortened.
    pub statement: String,
    /// The way it imports; none if this is only known by the text of the line.
    pub kind: Option<ImportKind>,
    /// The names it takes, as they are called in the module.
    pub names: Vec<String>,
    /// Which of the targets it imports.
    pub target: usize,
    /// The file that hands on what is imported, if it is not imported directly.
    pub via: Option<RelPath>,
}

impl Importer {
    /// Whether this only looks like an import, in a language without resolution.
    pub fn by_text(&self) -> bool {
        self.kind.is_none()
    }
}

/// All importers of what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Importers {
    /// What was understood: files, or descriptions of packages and symbols.
    pub targets: Vec<String>,
    /// The statements, by path and line.
    pub importers: Vec<Importer>,
    /// Names like the one asked for, if nothing was found.
    pub near: Vec<String>,
}

/// The files that import `asked`: a path as it is or as written in an import, a file's name, a
/// package, or a symbol.
pub fn find_importers(files: Arc<dyn ProjectFiles>, asked: &str) -> Importers {
    let mut graph = Graph::new(files);
    let targets = interpret(&graph.resolver, asked);
    let mut found = Importers::default();
    let has_files = targets.iter().any(|target| matches!(target, ImportTarget::File(_)));
    for target in targets {
        let mut importers = of_target(&mut graph, &target, found.targets.len());
        // A symbol is of interest beside files only where they do not define it.
        if has_files && matches!(target, ImportTarget::Symbol(_)) {
            importers.retain(|one| !found.importers.iter().any(|known| is_same(known, one)));
        }
        let is_certain = matches!(target, ImportTarget::File(_) | ImportTarget::Directory(_));
        if is_certain || !importers.is_empty() {
            found.targets.push(target.text());
            found.importers.append(&mut importers);
        }
    }
    if found.importers.is_empty() || found.importers.iter().all(|one| one.kind.is_none()) {
        found.near = near(&graph.resolver, asked);
    }
    let text = by_text::mentioned(&*graph.resolver.files, &text_words(asked));
    found.importers.extend(text.into_iter().map(|line| Importer {
        path: line.path,
        line: line.line,
        statement: line.text,
        kind: None,
        names: Vec::new(),
        target: 0,
        via: None,
    }));
    found.importers.sort_by(|a, b| (&a.path, a.line, a.target).cmp(&(&b.path, b.line, b.target)));
    found
}

fn is_same(one: &Importer, other: &Importer) -> bool {
    one.path == other.path && one.line == other.line
}

fn of_target(graph: &mut Graph, target: &ImportTarget, index: usize) -> Vec<Importer> {
    let found = match target {
        ImportTarget::File(path) => of_file(graph, path, WantedNames::Everything),
        ImportTarget::NameIn(path, name) => of_file(graph, path, names([name.clone()])),
        ImportTarget::Directory(dir) => of_directory(graph, dir),
        ImportTarget::Symbol(name) => of_symbol(graph, name),
        ImportTarget::Outside(name) => of_package(graph, name),
    };
    merged(found, index)
}

/// An import that counts, before rows of one statement are put together.
struct ImportHit {
    from: RelPath,
    edge: Edge,
    via: Option<RelPath>,
}

/// The importers of a file, or of some names in it, directly and through files that hand it on.
fn of_file(graph: &mut Graph, path: &RelPath, wanted: WantedNames) -> Vec<ImportHit> {
    let mut hits = Vec::new();
    let mut passed: BTreeMap<RelPath, BTreeSet<String>> = BTreeMap::new();
    let mut open = VecDeque::from([(path.clone(), wanted)]);
    while let Some((here, wanted)) = open.pop_front() {
        load_importers(graph, &here);
        let via = (here != *path).then(|| here.clone());
        for taker in takers(graph, &here, &wanted) {
            // Behind a file that hands on many things, only who names this one counts.
            if via.is_some() && taker.perhaps {
                continue;
            }
            hits.push(ImportHit {
                from: taker.from.clone(),
                edge: taker.edge.clone(),
                via: via.clone(),
            });
            let has_room = passed.len() < MAX_PASSAGES || passed.contains_key(taker.from);
            if taker.passes.is_empty() || taker.from == path || !has_room {
                continue;
            }
            let known = passed.entry(taker.from.clone()).or_default();
            if !taker.passes.is_subset(known) {
                known.extend(taker.passes.iter().cloned());
                open.push_back((taker.from.clone(), WantedNames::Names(taker.passes)));
            }
        }
    }
    hits
}

/// Makes all direct importers of a file known.
pub(super) fn load_importers(graph: &mut Graph, path: &RelPath) {
    graph.note_target(path);
    let mentions = Mentions::of_file(&graph.resolver, path);
    graph.load(&mentions);
    let renamed = other_names(graph, path);
    if !renamed.is_empty() {
        graph.load(&Mentions::of_words(renamed));
    }
}

/// The names of a Rust module whose file is called otherwise, by `#[path]`.
fn other_names(graph: &Graph, path: &RelPath) -> Vec<String> {
    let declared = graph.importers_of(path).into_iter().filter_map(|(_, edge)| {
        let name = edge.import.specifier.strip_prefix("self::")?;
        (edge.import.kind == ImportKind::Module && name != stem_of(path)).then(|| name.to_owned())
    });
    declared.collect()
}

fn of_directory(graph: &mut Graph, dir: &RelPath) -> Vec<ImportHit> {
    let inside = graph.resolver.files.paths().beneath(dir);
    let inside: Vec<RelPath> =
        inside.filter(|path| Dialect::of(path).is_some()).take(MAX_FILES).cloned().collect();
    let mut mentions = Mentions::default();
    for path in &inside {
        graph.note_target(path);
        mentions.add(Mentions::of_file(&graph.resolver, path));
    }
    graph.load(&mentions);
    let mut hits = Vec::new();
    let mut seen = BTreeSet::new();
    for path in &inside {
        for (from, edge) in graph.importers_of(path) {
            let is_new = seen.insert((from.clone(), edge.import.line, edge.to.place.clone()));
            // A test of another package beside the files imports them as others do.
            let is_beside = edge.to.place == ImportPlace::Directory(dir_of(from));
            if is_new && (is_beside || !from.starts_with(dir)) {
                hits.push(ImportHit { from: from.clone(), edge: edge.clone(), via: None });
            }
        }
    }
    hits
}

/// Who imports a name from a file that defines it, or from one that hands it on; if no file does,
/// who imports it from outside.
fn of_symbol(graph: &mut Graph, name: &str) -> Vec<ImportHit> {
    graph.load(&Mentions::of_words([name.to_owned()]));
    let as_default = format!("default:{name}");
    let mut defining = Vec::new();
    for path in graph.loaded() {
        let facts = graph.resolver.facts(path);
        let mut taken: Vec<String> = Vec::new();
        if facts.defines.iter().any(|defined| defined == name) {
            taken.push(name.to_owned());
        }
        if facts.defines.contains(&as_default) {
            taken.push("default".to_owned());
        }
        if !taken.is_empty() {
            defining.push((path.clone(), taken));
        }
    }
    let mut hits = Vec::new();
    for (path, taken) in &defining {
        hits.extend(of_file(graph, path, names(taken.iter().cloned())));
    }
    if defining.is_empty() {
        let outside = graph.all_edges().filter(|(_, edge)| {
            matches!(edge.to.place, ImportPlace::Outside { .. })
                && edge.to.names.iter().any(|taken| taken == name)
                && edge.import.kind != ImportKind::Path
        });
        hits.extend(outside.map(|(from, edge)| ImportHit {
            from: from.clone(),
            edge: edge.clone(),
            via: None,
        }));
    }
    hits
}

fn names(names: impl IntoIterator<Item = String>) -> WantedNames {
    WantedNames::Names(names.into_iter().collect())
}

/// Who imports a package from outside, or something in it.
fn of_package(graph: &mut Graph, name: &str) -> Vec<ImportHit> {
    let name = name.strip_prefix("node:").unwrap_or(name).trim_end_matches(".h");
    let first = name.split(['.', ':', '\\']).find(|part| !part.is_empty()).unwrap_or(name);
    let other = first.replace('-', "_");
    let words = [first.to_owned(), other.clone(), name.to_owned()];
    graph.load(&Mentions::of_words(words));
    let spelled = [name.to_owned(), name.replacen(first, &other, 1)];
    let hits = graph.all_edges().filter(|(_, edge)| {
        let ImportPlace::Outside { package, name } = &edge.to.place else { return false };
        spelled.iter().any(|asked| is_part(asked, package, name, &edge.to.names))
    });
    let hit = |(from, edge): (&RelPath, &Edge)| ImportHit {
        from: from.clone(),
        edge: edge.clone(),
        via: None,
    };
    hits.map(hit).collect()
}

/// Whether what is imported is `asked` or lies in it.
fn is_part(asked: &str, package: &str, name: &str, names: &[String]) -> bool {
    let within = |whole: &str| match whole.strip_prefix(asked) {
        Some(rest) => rest.is_empty() || rest.starts_with(['/', '.', ':', '\\']),
        None => false,
    };
    package == asked
        || within(name)
        || names.iter().any(|taken| {
            let all = taken == ALL_NAMES
                && asked.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            all || ["::", ".", "/", "\\"]
                .iter()
                .any(|between| within(&format!("{name}{between}{taken}")))
        })
}

/// One row for each statement and target: names of one line come together.
fn merged(hits: Vec<ImportHit>, target: usize) -> Vec<Importer> {
    let mut rows: BTreeMap<(RelPath, u32, Arc<str>), Importer> = BTreeMap::new();
    for ImportHit { from, edge, via } in hits {
        let import = &edge.import;
        let key = (from.clone(), import.line, Arc::clone(&import.statement));
        let row = rows.entry(key).or_insert_with(|| Importer {
            path: from,
            line: import.line,
            statement: import.statement.to_string(),
            kind: Some(import.kind),
            names: Vec::new(),
            target,
            via: via.clone(),
        });
        if via.is_none() {
            row.via = None;
        }
        for name in &edge.to.names {
            if !row.names.contains(name) {
                row.names.push(name.clone());
            }
        }
    }
    // A path written out says nothing that a `use` of the same file has not said.
    let used: BTreeSet<RelPath> = rows
        .values()
        .filter(|row| row.kind != Some(ImportKind::Path))
        .map(|row| row.path.clone())
        .collect();
    let mut shown = BTreeSet::new();
    rows.into_values()
        .filter(|row| {
            row.kind != Some(ImportKind::Path)
                || (!used.contains(&row.path) && shown.insert(row.path.clone()))
        })
        .collect()
}

/// What a line in another language would mention.
fn text_words(asked: &str) -> Vec<String> {
    let asked = asked.trim().trim_matches(['"', '\'', '`', '<', '>', '/']);
    let last = asked.rsplit(['/', '\\']).next().unwrap_or(asked);
    let name = match RelPath::parse(last) {
        Ok(path) if path.extension().is_some_and(|ending| ending.len() <= 5) => stem_of(&path),
        _ => last.to_owned(),
    };
    let words = [last.to_owned(), name];
    words.into_iter().filter(|word| word.len() > 1).collect()
}

/// Files and packages with a name like the one asked for.
fn near(resolver: &ImportResolver, asked: &str) -> Vec<String> {
    let name = asked.trim_matches('/').rsplit(['/', '\\', ':']).next().unwrap_or(asked);
    let wanted = match RelPath::parse(name) {
        Ok(path) if Dialect::of(&path).is_some() => stem_of(&path),
        _ => name.to_owned(),
    }
    .to_lowercase();
    let mut ranked: Vec<(f64, &RelPath)> = resolver
        .files
        .paths()
        .iter()
        .filter(|path| Dialect::of(path).is_some())
        .filter_map(|path| {
            let stem = stem_of(path).to_lowercase();
            if stem == wanted && path.to_text() == asked {
                return None;
            }
            let likeness = strsim::normalized_damerau_levenshtein(&wanted, &stem);
            (likeness >= 0.6).then_some((likeness, path))
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let asked_name = name_of(&RelPath::parse(asked).unwrap_or_else(|_| RelPath::root()));
    ranked
        .into_iter()
        .map(|(_, path)| path.to_text())
        .filter(|path| *path != asked && !asked_name.is_empty())
        .take(MAX_NEAR)
        .collect()
}
