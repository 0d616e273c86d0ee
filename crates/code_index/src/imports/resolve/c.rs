//! C and C++: what an include names, by the directories of the build files and, where these say
//! nothing, by where headers usually are.

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::project_files::{ancestors, dir_of, join, nearest};
use crate::imports::{Import, Resolution};

/// Where headers usually are, beside the directories around the file themselves.
const ROOTS: [&str; 4] = ["", "include", "src", "inc"];

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let spelled = import.specifier.as_str();
    let name = spelled.trim_matches(['"', '<', '>']).trim();
    if let Some(path) = header(resolver, from, spelled, name) {
        return vec![Resolution::file(path, &[])];
    }
    let package = name.split('/').next().unwrap_or(name);
    vec![Resolution::outside(package, name, &[])]
}

fn header(resolver: &ImportResolver, from: &RelPath, spelled: &str, name: &str) -> Option<RelPath> {
    let files = &*resolver.files;
    let dir = dir_of(from);
    let beside = join(&dir, name).filter(|path| files.is_file(path));
    if spelled.starts_with('"') && beside.is_some() {
        return beside;
    }
    // A file that no header of the project is called like is not worth a look at its build files.
    let last = name.rsplit('/').next().unwrap_or(name);
    files.paths().named(last.as_bytes()).next()?;
    let in_one_of = |directories: &[RelPath]| {
        directories.iter().find_map(|root| join(root, name).filter(|path| files.is_file(path)))
    };
    let includes = resolver.includes();
    in_one_of(&includes.compiled(files, from))
        .or_else(|| in_one_of(&includes.around(files, &dir)))
        .or_else(|| by_convention(resolver, &dir, spelled, name))
        .or_else(|| in_one_of(includes.everywhere(files)))
        .or_else(|| only_one(resolver, from, spelled, name))
}

fn by_convention(
    resolver: &ImportResolver,
    dir: &RelPath,
    spelled: &str,
    name: &str,
) -> Option<RelPath> {
    ancestors(dir).find_map(|around| {
        ROOTS.iter().find_map(|root| {
            let path = join(&around, &format!("{root}/{name}"))?;
            // The own directory is not an include root unless quotes say so.
            let is_own = spelled.starts_with('<') && root.is_empty() && around == *dir;
            (!is_own && resolver.files.is_file(&path)).then_some(path)
        })
    })
}

/// The header of that name, if there is one or one is nearer than all others.
fn only_one(
    resolver: &ImportResolver,
    from: &RelPath,
    spelled: &str,
    name: &str,
) -> Option<RelPath> {
    if name.contains("..") || !name.contains('/') && !spelled.starts_with('"') {
        return None;
    }
    match resolver.files.paths().ending_in(name)[..] {
        [] => None,
        [only] => Some(only.clone()),
        ref several => nearest(several, from).filter(|_| name.contains('/')).cloned(),
    }
}
