//! Finds what a user means by a module, a package or a symbol.

use std::collections::BTreeSet;

use workspace::RelPath;

use super::extract::Dialect;
use super::project_files::{PathList, dir_of, name_of, stem_of};
use super::resolve::ImportResolver;
use super::{Import, ImportKind, ImportPlace};

/// Something that can be imported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ImportTarget {
    /// A file of the project.
    File(RelPath),
    /// The files beneath a directory.
    Directory(RelPath),
    /// A name that a file defines.
    NameIn(RelPath, String),
    /// A name, wherever it is defined.
    Symbol(String),
    /// Something from outside the project, spelled as its language does.
    Outside(String),
}

impl ImportTarget {
    pub(super) fn text(&self) -> String {
        match self {
            ImportTarget::File(path) => path.to_text(),
            ImportTarget::Directory(path) => format!("{path}/"),
            ImportTarget::NameIn(path, name) => format!("{name} in {path}"),
            ImportTarget::Symbol(name) => format!("symbol {name}"),
            ImportTarget::Outside(name) => format!("package {name}"),
        }
    }
}

/// Files that stand for the directory they are in.
const ENTRIES: [&str; 3] = ["index", "__init__", "mod"];

/// Everything that `asked` can mean, likely or not; what no file imports is dropped later.
pub(super) fn interpret(resolver: &ImportResolver, asked: &str) -> Vec<ImportTarget> {
    let asked = asked.trim().trim_end_matches(';').trim_matches(['"', '\'', '`', '<', '>']);
    let paths = resolver.files.paths();
    if asked.is_empty() {
        return Vec::new();
    }
    let exact = RelPath::parse(asked.trim_start_matches('/')).ok();
    if let Some(path) = exact.as_ref().filter(|path| resolver.files.is_file(path)) {
        return vec![ImportTarget::File(path.clone())];
    }
    let mut found = BTreeSet::new();
    if asked.contains("::") {
        qualified_rust(resolver, asked, &mut found);
    } else if asked.contains('/') {
        slashed(resolver, asked, exact.as_ref(), &mut found);
    } else if asked.contains('\\') {
        found.extend(by_suffix(paths, &asked.replace('\\', "/")).map(ImportTarget::File));
    } else if asked.contains('.') {
        dotted(paths, asked, &mut found);
    } else {
        found.extend(by_suffix(paths, asked).map(ImportTarget::File));
        found.extend(resolver.crates().library(asked).cloned().map(ImportTarget::File));
        found.extend(resolver.javascript().package_entry(asked).map(ImportTarget::File));
        found.insert(ImportTarget::Symbol(asked.to_owned()));
    }
    let is_bare = !asked.contains(['/', '.', '\\']) && !asked.contains("::");
    if found.is_empty() || is_bare {
        found.insert(ImportTarget::Outside(asked.to_owned()));
    }
    if is_bare && found.len() == 2 {
        // Neither file nor package of ours: perhaps a directory without an entry.
        let dir = exact.filter(|dir| paths.has_dir(dir));
        found.extend(dir.map(ImportTarget::Directory));
    }
    found.into_iter().collect()
}

/// `../services/DatabaseService`, `src/services`, `@app/x`, `package/sub`.
fn slashed(
    resolver: &ImportResolver,
    asked: &str,
    exact: Option<&RelPath>,
    found: &mut BTreeSet<ImportTarget>,
) {
    let paths = resolver.files.paths();
    if let Some(path) = exact {
        let beside = by_path(paths, path);
        if !beside.is_empty() {
            found.extend(beside.into_iter().map(ImportTarget::File));
            return;
        }
        if paths.has_dir(path) {
            found.insert(ImportTarget::Directory(path.clone()));
            return;
        }
    }
    if !asked.starts_with('.') && !asked.starts_with('/') {
        // As a file at the root would import it.
        let import = plain_import(asked, None);
        let root = RelPath::parse("index.ts").ok();
        for one in root.into_iter().flat_map(|root| resolver.resolve(&root, &import)) {
            if let ImportPlace::File(path) = one.place {
                found.insert(ImportTarget::File(path));
            }
        }
        if let Some(dir) = resolver.go().directory(asked) {
            found.insert(ImportTarget::Directory(dir));
        }
    }
    if found.is_empty() {
        let climbed = asked.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
        let suffix = climbed.collect::<Vec<_>>().join("/");
        let suffix = suffix.trim_start_matches("@/").trim_start_matches("~/");
        found.extend(by_suffix(paths, suffix).map(ImportTarget::File));
    }
}

/// `os.path`, `java.util.List`, `package.module.name`, `file.ext`.
fn dotted(paths: &PathList, asked: &str, found: &mut BTreeSet<ImportTarget>) {
    found.extend(paths.named(asked.as_bytes()).cloned().map(ImportTarget::File));
    if !found.is_empty() {
        return;
    }
    found.extend(by_suffix(paths, asked).map(ImportTarget::File));
    let slashed = asked.trim_start_matches('.').replace('.', "/");
    found.extend(by_suffix(paths, &slashed).map(ImportTarget::File));
    if found.is_empty()
        && let Some((module, name)) = slashed.rsplit_once('/')
        && module.contains('/')
    {
        let files = by_suffix(paths, module);
        found.extend(files.map(|file| ImportTarget::NameIn(file, name.to_owned())));
    }
}

/// `crate::module::name`, `my_crate::module`, `serde::de`.
fn qualified_rust(resolver: &ImportResolver, asked: &str, found: &mut BTreeSet<ImportTarget>) {
    let (path, name) = asked.rsplit_once("::").unwrap_or(("", asked));
    let import = plain_import(path, Some(name));
    for root in resolver.files.paths().iter() {
        let is_root = matches!(&*name_of(root), "lib.rs" | "main.rs");
        let owns = resolver.crates().package_of(root).is_some_and(|one| one.roots.contains(root));
        if !is_root || !owns {
            continue;
        }
        for one in resolver.resolve(root, &import) {
            let ImportPlace::File(path) = one.place else { continue };
            match one.names.first() {
                None => found.insert(ImportTarget::File(path)),
                Some(name) => found.insert(ImportTarget::NameIn(path, name.clone())),
            };
        }
    }
}

fn plain_import(specifier: &str, name: Option<&str>) -> Import {
    Import {
        line: 0,
        statement: "".into(),
        specifier: specifier.to_owned(),
        names: name.map(str::to_owned).into_iter().collect(),
        exposed: Vec::new(),
        kind: ImportKind::Import,
        scope: Vec::new(),
    }
}

/// The files at a path that has no ending or another one, or that stand for the directory.
fn by_path(paths: &PathList, path: &RelPath) -> Vec<RelPath> {
    let dir = dir_of(path);
    let name = name_of(path);
    let stem = known_stem(path);
    let mut found: Vec<RelPath> = paths
        .directly_in(&dir)
        .filter(|other| Dialect::of(other).is_some())
        .filter(|other| stem_of(other) == name || stem.as_ref() == Some(&stem_of(other)))
        .cloned()
        .collect();
    if found.is_empty() {
        found.extend(entries(paths, path));
    }
    found
}

/// The stem of a name that ends like a source file.
fn known_stem(path: &RelPath) -> Option<String> {
    Dialect::of(path).map(|_| stem_of(path))
}

fn entries(paths: &PathList, dir: &RelPath) -> Vec<RelPath> {
    let is_entry =
        |path: &&RelPath| Dialect::of(path).is_some() && ENTRIES.contains(&stem_of(path).as_str());
    paths.directly_in(dir).filter(is_entry).cloned().collect()
}

/// The files whose path ends in `suffix`, their ending left out, and those that stand for a
/// directory whose path does.
fn by_suffix(paths: &PathList, suffix: &str) -> impl Iterator<Item = RelPath> {
    let Ok(wanted) = RelPath::parse(suffix) else { return Vec::new().into_iter() };
    let name = name_of(&wanted);
    let stem = known_stem(&wanted);
    let around = dir_of(&wanted);
    let ends_in = |path: &RelPath, suffix: &RelPath| {
        let own: Vec<_> = path.components().collect();
        let end: Vec<_> = suffix.components().collect();
        own.ends_with(&end)
    };
    let mut found = Vec::new();
    for path in paths.iter().filter(|path| Dialect::of(path).is_some()) {
        let own = stem_of(path);
        let dir = dir_of(path);
        let is_it = own == name || stem.as_ref() == Some(&own);
        let is_entry = ENTRIES.contains(&own.as_str()) && name_of(&dir) == name;
        if (is_it && ends_in(&dir, &around)) || (is_entry && ends_in(&dir, &wanted)) {
            found.push(path.clone());
        }
    }
    found.into_iter()
}
