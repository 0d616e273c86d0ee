//! Rust: the module tree, and the crates of the workspace.

use std::collections::HashSet;
use std::sync::Arc;

use workspace::RelPath;

use super::ImportResolver;
use super::cargo::{Dependency, Package};
use crate::imports::project_files::{ancestors, dir_of, join, stem_of};
use crate::imports::{ALL_NAMES, Import, ImportKind, Resolution};

/// How often the first name of a path may be one that another `use` brought in.
const MAX_HOPS: usize = 4;

/// The most files that are searched for an unusual `#[path]`.
const MAX_SEARCHED: usize = 2_000;

/// Crates that are always there.
const BUILT_IN: [&str; 5] = ["std", "core", "alloc", "proc_macro", "test"];

/// A module: a file, or an inline module in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::imports) struct Module {
    pub(super) file: RelPath,
    pub(super) inline: Vec<String>,
}

impl Module {
    fn of_file(file: RelPath) -> Module {
        Module { file, inline: Vec::new() }
    }
}

/// Where a path led.
enum Reached {
    /// To a module, with the names that are left.
    Module(Vec<Module>, Vec<String>),
    /// To another project.
    Outside(String),
    Nowhere,
}

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    if let Some(included) = import.specifier.strip_prefix('"') {
        let path = join(&dir_of(from), included.trim_end_matches('"'));
        let found = path.filter(|path| resolver.files.is_file(path));
        return found.map(|path| Resolution::file(path, &[])).into_iter().collect();
    }
    let is_glob = import.names.first().is_some_and(|name| name == ALL_NAMES);
    let path = whole(import);
    match reach(resolver, from, import, &path, 0) {
        Reached::Module(way, rest) => {
            let names = match (rest.into_iter().next(), is_glob) {
                (Some(name), _) => vec![name],
                (None, true) => vec![ALL_NAMES.to_owned()],
                (None, false) => Vec::new(),
            };
            way.last()
                .map(|module| Resolution::file(module.file.clone(), &names))
                .into_iter()
                .collect()
        }
        Reached::Outside(package) => {
            let name = import.specifier.trim_start_matches("::");
            // Under the name of the package, whatever the dependency is called here.
            let first = path.first().map_or("", |first| first.trim_start_matches(':'));
            let rest = name.strip_prefix(first).unwrap_or_default();
            let package = package.replace('-', "_");
            vec![Resolution::outside(&package, &format!("{package}{rest}"), &import.names)]
        }
        Reached::Nowhere => Vec::new(),
    }
}

/// The segments of an import, its name included.
fn whole(import: &Import) -> Vec<&str> {
    let name = import.names.first().map(String::as_str).filter(|name| *name != ALL_NAMES);
    let segments = import.specifier.split("::").filter(|segment| !segment.is_empty());
    segments.chain(name).map(|segment| segment.strip_prefix("r#").unwrap_or(segment)).collect()
}

fn reach(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
    path: &[&str],
    hops: usize,
) -> Reached {
    let mut way = way_to(resolver, from).to_vec();
    for depth in 1..=import.scope.len() {
        way.push(Module { file: from.clone(), inline: import.scope[..depth].to_vec() });
    }
    let mut rest = path;
    let mut is_anchored = false;
    while let Some((first, others)) = rest.split_first() {
        match *first {
            "crate" => way.truncate(1),
            "self" => {}
            "super" => {
                way.pop();
                if way.is_empty() {
                    return Reached::Nowhere;
                }
            }
            _ => break,
        }
        is_anchored = true;
        rest = others;
    }
    if !is_anchored {
        let Some((first, others)) = rest.split_first() else { return Reached::Nowhere };
        match begin(resolver, from, import, first, &way, hops) {
            Reached::Module(begun, none_left) if none_left.is_empty() => {
                way = begun;
                rest = others;
            }
            Reached::Module(begun, left) => {
                let left = left.into_iter().chain(others.iter().map(|name| (*name).to_owned()));
                return Reached::Module(begun, left.collect());
            }
            other => return other,
        }
    }
    while let Some((first, others)) = rest.split_first() {
        let Some(inner) = way.last().and_then(|module| child(resolver, module, first)) else {
            break;
        };
        way.push(inner);
        rest = others;
    }
    Reached::Module(way, rest.iter().map(|name| (*name).to_owned()).collect())
}

/// What the first name of a path stands for.
fn begin(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
    first: &str,
    way: &[Module],
    hops: usize,
) -> Reached {
    let Some(here) = way.last() else { return Reached::Nowhere };
    let inside = |module: Module| Reached::Module([way, &[module]].concat(), Vec::new());
    let is_global = import.specifier.starts_with("::");
    if !is_global && is_declared(resolver, here, first) {
        return child(resolver, here, first).map_or(Reached::Nowhere, inside);
    }
    let crates = resolver.crates();
    let package = crates.package_of(from);
    match package.and_then(|package| package.dependency(first)) {
        Some(Dependency::Local(dir)) => {
            let lib = crates.in_dir(&dir).and_then(|package| package.lib.clone());
            let way = lib.map(|lib| vec![Module::of_file(lib)]);
            return way.map_or(Reached::Nowhere, |way| Reached::Module(way, Vec::new()));
        }
        Some(Dependency::Outside(package)) => return Reached::Outside(package),
        None => {}
    }
    if BUILT_IN.contains(&first) {
        return Reached::Outside(first.to_owned());
    }
    if let Some(reached) = brought_in(resolver, from, import, first, hops) {
        return reached;
    }
    if import.kind == ImportKind::Path {
        return Reached::Nowhere;
    }
    // A module that only a macro declares, or, before the 2018 edition, one at the crate's root.
    if let Some(module) = child(resolver, here, first) {
        return inside(module);
    }
    if let Some(root) = way.first()
        && let Some(module) = child(resolver, root, first)
    {
        return Reached::Module(vec![root.clone(), module], Vec::new());
    }
    let is_own = resolver.facts(from).defines.iter().any(|name| name == first);
    match first.starts_with(char::is_uppercase) || is_own {
        true => Reached::Nowhere,
        false => Reached::Outside(first.to_owned()),
    }
}

/// `use crate::a; use a::b;`: the first name comes from another `use` of the same module.
fn brought_in(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
    first: &str,
    hops: usize,
) -> Option<Reached> {
    if hops == MAX_HOPS {
        return None;
    }
    let facts = resolver.facts(from);
    let other = facts.imports.iter().find(|other| {
        matches!(other.kind, ImportKind::Import | ImportKind::ReExport)
            && other.scope == import.scope
            && other.names.first().is_some_and(|name| name == first)
            && !other.specifier.is_empty()
            && *other != import
    })?;
    Some(reach(resolver, from, other, &whole(other), hops + 1))
}

fn is_declared(resolver: &ImportResolver, module: &Module, name: &str) -> bool {
    let facts = resolver.facts(&module.file);
    facts.modules.iter().any(|one| one.name == name && one.scope == module.inline)
}

/// The module `name` inside of `module`.
fn child(resolver: &ImportResolver, module: &Module, name: &str) -> Option<Module> {
    let facts = resolver.facts(&module.file);
    let declared = facts.modules.iter().find(|one| one.name == name && one.scope == module.inline);
    if declared.is_some_and(|one| one.inline) {
        let inline = [module.inline.as_slice(), &[name.to_owned()]].concat();
        return Some(Module { file: module.file.clone(), inline });
    }
    let mut base = own_dir(resolver, &module.file);
    for name in &module.inline {
        base = base.join(name.as_bytes()).ok()?;
    }
    if let Some(path) = declared.and_then(|one| one.path.as_deref()) {
        let base = if module.inline.is_empty() { dir_of(&module.file) } else { base };
        let file = join(&base, path).filter(|path| resolver.files.is_file(path))?;
        return Some(Module::of_file(file));
    }
    let usual = [format!("{name}.rs"), format!("{name}/mod.rs")];
    let mut files = usual.iter().filter_map(|path| join(&base, path));
    files.find(|path| resolver.files.is_file(path)).map(Module::of_file)
}

/// The directory of the modules that a file declares.
fn own_dir(resolver: &ImportResolver, file: &RelPath) -> RelPath {
    let dir = dir_of(file);
    let stem = stem_of(file);
    if stem == "mod" || resolver.crates().is_root(file) {
        return dir;
    }
    dir.join(stem.as_bytes()).unwrap_or(dir)
}

/// The modules from a crate's root to the file, both included.
fn way_to(resolver: &ImportResolver, file: &RelPath) -> Arc<Vec<Module>> {
    let crates = resolver.crates();
    if let Some(way) = crates.known_way(file) {
        return way;
    }
    let way = match crates.package_of(file) {
        _ if crates.is_root(file) => None,
        Some(package) => package
            .roots
            .iter()
            .find_map(|root| usual_way(resolver, root, file))
            .or_else(|| searched_way(resolver, package, file)),
        None => ancestors(&dir_of(file))
            .flat_map(|dir| ["lib.rs", "main.rs"].map(|name| join(&dir, name)))
            .flatten()
            .filter(|root| resolver.files.is_file(root))
            .find_map(|root| usual_way(resolver, &root, file)),
    };
    crates.keep_way(file, way.unwrap_or_else(|| vec![Module::of_file(file.clone())]))
}

/// The way that the names of files and directories suggest, if each step is declared.
fn usual_way(resolver: &ImportResolver, root: &RelPath, file: &RelPath) -> Option<Vec<Module>> {
    let base = own_dir(resolver, root);
    if !file.starts_with(&base) || root == file {
        return None;
    }
    let mut way = vec![Module::of_file(root.clone())];
    let names: Vec<String> = file
        .components()
        .skip(base.depth())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    for name in &names {
        let name = name.strip_suffix(".rs").unwrap_or(name);
        let here = way.last()?;
        if name == "mod" && here.file == *file {
            break;
        }
        if !is_declared(resolver, here, name) {
            return None;
        }
        let next = child(resolver, here, name)?;
        way.push(next);
    }
    way.last().is_some_and(|last| last.file == *file).then_some(way)
}

/// The way through the whole module tree, for files with a `#[path]` on it.
fn searched_way(
    resolver: &ImportResolver,
    package: &Package,
    file: &RelPath,
) -> Option<Vec<Module>> {
    let mut seen = HashSet::new();
    for root in &package.roots {
        let mut open = vec![vec![Module::of_file(root.clone())]];
        while let Some(way) = open.pop() {
            let here = way.last()?;
            if here.file == *file && here.inline.is_empty() {
                return Some(way);
            }
            if seen.len() >= MAX_SEARCHED || !seen.insert(here.clone()) {
                continue;
            }
            let facts = resolver.facts(&here.file);
            for inner in facts.modules.iter().filter(|one| one.scope == here.inline) {
                let inner = child(resolver, here, &inner.name);
                open.extend(inner.map(|inner| [way.as_slice(), &[inner]].concat()));
            }
        }
    }
    None
}
