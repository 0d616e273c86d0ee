//! Python: packages, modules, namespaces, relative imports.

use std::collections::BTreeMap;

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::project_files::{PathList, ancestors, dir_of, join, name_of, nearest};
use crate::imports::{ALL_NAMES, Import, Resolution};

/// Directories that often stand on the path beside the directories around a file.
const ROOTS: [&str; 3] = ["src", "lib", "python"];

/// Where the packages of a project are, by name.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// Directories that hold an outermost package of this name.
    by_package: BTreeMap<String, Vec<RelPath>>,
}

impl Roots {
    pub(super) fn find(paths: &PathList) -> Roots {
        let mut roots = Roots::default();
        for init in paths.named(b"__init__.py").chain(paths.named(b"__init__.pyi")) {
            let package = dir_of(init);
            let Some(root) = package.parent() else { continue };
            if !is_package(paths, &root) {
                roots.by_package.entry(name_of(&package)).or_default().push(root);
            }
        }
        for places in roots.by_package.values_mut() {
            places.sort();
            places.dedup();
        }
        roots
    }
}

fn is_package(paths: &PathList, dir: &RelPath) -> bool {
    ["__init__.py", "__init__.pyi"]
        .iter()
        .any(|name| dir.join(name.as_bytes()).is_ok_and(|init| paths.contains(&init)))
}

/// What a dotted name stands for.
#[derive(Debug, PartialEq, Eq)]
enum Module {
    /// A module, or a package by its `__init__`.
    File(RelPath),
    /// A directory without one.
    Namespace(RelPath),
}

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let spelled = import.specifier.as_str();
    let name = spelled.trim_start_matches('.');
    let dots = spelled.len() - name.len();
    let parts: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    let module = if dots > 0 {
        let Some(base) = ancestors(&dir_of(from)).nth(dots - 1) else { return Vec::new() };
        find(resolver, &base, &parts)
    } else {
        absolute(resolver, from, &parts)
    };
    let found = module.map(|module| taken(resolver, module, &import.names)).unwrap_or_default();
    if found.is_empty() && dots == 0 {
        // A directory of this name without anything to import does not hide what is installed.
        let package = parts.first().copied().unwrap_or_default();
        return vec![Resolution::outside(package, name, &import.names)];
    }
    found
}

/// A name that is a module itself leads there; the others are taken from the module.
fn taken(resolver: &ImportResolver, module: Module, names: &[String]) -> Vec<Resolution> {
    let (file, dir) = match &module {
        Module::File(file) => {
            let is_package = name_of(file).starts_with("__init__.");
            (Some(file), is_package.then(|| dir_of(file)))
        }
        Module::Namespace(dir) => (None, Some(dir.clone())),
    };
    let mut found = Vec::new();
    let mut own = Vec::new();
    for name in names {
        let inner = dir.as_ref().filter(|_| name != ALL_NAMES);
        match inner.and_then(|dir| find(resolver, dir, &[name.as_str()])) {
            Some(Module::File(path)) => found.push(Resolution::file(path, &[])),
            Some(Module::Namespace(_)) => {}
            None => own.push(name.clone()),
        }
    }
    if let Some(file) = file.filter(|_| !own.is_empty() || names.is_empty()) {
        found.push(Resolution::file(file.clone(), &own));
    }
    found
}

/// A dotted name as seen from the roots that a file can have.
fn absolute(resolver: &ImportResolver, from: &RelPath, parts: &[&str]) -> Option<Module> {
    let paths = resolver.files.paths();
    let dir = dir_of(from);
    let mut namespace = None;
    let mut inside_package = is_package(paths, &dir);
    for around in ancestors(&dir) {
        // A directory inside of a package is not a root: its modules are named with the package.
        if inside_package {
            inside_package = is_package(paths, &around);
        }
        if inside_package {
            continue;
        }
        let more = ROOTS.iter().filter_map(|root| around.join(root.as_bytes()).ok());
        let more = more.filter(|root| paths.has_dir(root));
        for root in std::iter::once(around.clone()).chain(more) {
            match find(resolver, &root, parts) {
                Some(Module::Namespace(dir)) => namespace = namespace.or(Some(dir)),
                Some(file) => return Some(file),
                None => {}
            }
        }
    }
    let places = resolver.python().by_package.get(*parts.first()?);
    let places: Vec<&RelPath> = places.into_iter().flatten().collect();
    let root = if places.len() == 1 { Some(places[0]) } else { nearest(&places, from) };
    match root.and_then(|root| find(resolver, root, parts)) {
        Some(found @ Module::File(_)) => Some(found),
        other => other.or(namespace.map(Module::Namespace)),
    }
}

/// A dotted name beneath a directory, as Python's own finder goes: package, module, namespace.
fn find(resolver: &ImportResolver, root: &RelPath, parts: &[&str]) -> Option<Module> {
    let mut here = root.clone();
    let file = |dir: &RelPath, name: &str| {
        ["py", "pyi"].iter().find_map(|extension| {
            let path = join(dir, &format!("{name}.{extension}"))?;
            resolver.files.is_file(&path).then_some(path)
        })
    };
    for (index, part) in parts.iter().enumerate() {
        let inner = here.join(part.as_bytes()).ok()?;
        if file(&inner, "__init__").is_none() {
            if let Some(module) = file(&here, part) {
                return (index + 1 == parts.len()).then_some(Module::File(module));
            }
            if !resolver.files.paths().has_dir(&inner) {
                return None;
            }
        }
        here = inner;
    }
    match file(&here, "__init__") {
        Some(init) => Some(Module::File(init)),
        None => Some(Module::Namespace(here)),
    }
}
