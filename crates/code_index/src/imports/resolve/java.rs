//! Java: a qualified name is a path beneath some source root.

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::project_files::{dir_of, join, name_of, nearest, stem_of};
use crate::imports::{ALL_NAMES, Import, ImportKind, Resolution};

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let name = import.specifier.as_str();
    if import.kind == ImportKind::Path {
        return beside(resolver, from, name);
    }
    let all = import.names.first().is_some_and(|first| first == ALL_NAMES);
    if let Some((path, inner)) = class_file(resolver, from, name) {
        let names = if inner.is_empty() { import.names.clone() } else { vec![inner] };
        let names: Vec<_> = if all { vec![ALL_NAMES.to_owned()] } else { names };
        return vec![Resolution::file(path, &names)];
    }
    let outside = |names: &[String]| vec![Resolution::outside(package_of(name), name, names)];
    if !all {
        return outside(&import.names);
    }
    // Everything in a package: the classes of it that the file uses.
    let used: Vec<Resolution> = directories(resolver, name)
        .iter()
        .flat_map(|dir| resolver.files.paths().directly_in(dir).cloned().collect::<Vec<_>>())
        .filter(|path| path.extension() == Some(b"java"))
        .filter(|path| import.names.contains(&stem_of(path)))
        .map(|path| Resolution::file(path.clone(), &[stem_of(&path)]))
        .collect();
    match used.is_empty() && directories(resolver, name).is_empty() {
        true => outside(&[ALL_NAMES.to_owned()]),
        false => used,
    }
}

/// A class of the own package that is used without an import: in the own directory or, as tests have
/// it, in the same package of another source root.
fn beside(resolver: &ImportResolver, from: &RelPath, name: &str) -> Vec<Resolution> {
    let simple = name.rsplit('.').next().unwrap_or(name);
    let here = join(&dir_of(from), &format!("{simple}.java"));
    let path = match here.filter(|path| resolver.files.is_file(path)) {
        Some(path) => Some(path),
        None if !name.contains('.') => None,
        None => {
            let found =
                resolver.files.paths().ending_in(&format!("{}.java", name.replace('.', "/")));
            nearest(&found, from).cloned()
        }
    };
    path.into_iter().map(|path| Resolution::file(path, &[simple.to_owned()])).collect()
}

/// The file of a class, and the name inside of it if the class is an inner one.
fn class_file(resolver: &ImportResolver, from: &RelPath, name: &str) -> Option<(RelPath, String)> {
    let mut outer = name;
    loop {
        let suffix = format!("{}.java", outer.replace('.', "/"));
        let found = resolver.files.paths().ending_in(&suffix);
        let one = if found.len() == 1 { Some(found[0]) } else { nearest(&found, from) };
        if let Some(path) = one.filter(|_| outer.contains('.') || !name.contains('.')) {
            let inner = name[outer.len()..].trim_start_matches('.');
            return Some((path.clone(), inner.rsplit('.').next().unwrap_or_default().to_owned()));
        }
        // Classes begin with a capital letter; what is left of the last one is a package.
        let (rest, _) = outer.rsplit_once('.')?;
        let last = rest.rsplit('.').next().unwrap_or_default();
        if !last.starts_with(char::is_uppercase) {
            return None;
        }
        outer = rest;
    }
}

/// The directories that hold the classes of a package.
fn directories(resolver: &ImportResolver, package: &str) -> Vec<RelPath> {
    let path = package.replace('.', "/");
    let last = path.rsplit('/').next().unwrap_or_default();
    let mut found: Vec<RelPath> = resolver
        .files
        .paths()
        .iter()
        .filter(|path| path.extension() == Some(b"java"))
        .map(dir_of)
        .filter(|dir| name_of(dir) == last)
        .filter(|dir| {
            let rest = dir.as_bytes().strip_suffix(path.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
        })
        .collect();
    found.dedup();
    found
}

/// The part of a qualified name before the first class.
fn package_of(name: &str) -> &str {
    let class = name.split('.').find(|part| part.starts_with(char::is_uppercase));
    let Some(class) = class else { return name };
    let at = class.as_ptr() as usize - name.as_ptr() as usize;
    name[..at].trim_end_matches('.')
}
