//! C and C++: what an include names, without knowing the compiler's flags.

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::project_files::{ancestors, dir_of, join};
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
    let dir = dir_of(from);
    if spelled.starts_with('"')
        && let Some(path) = join(&dir, name).filter(|path| resolver.files.is_file(path))
    {
        return vec![Resolution::file(path, &[])];
    }
    for around in ancestors(&dir) {
        for root in ROOTS {
            let path = join(&around, &format!("{root}/{name}"));
            // The own directory is not an include root unless quotes say so.
            let is_own = spelled.starts_with('<') && root.is_empty() && around == dir;
            if let Some(path) = path.filter(|path| !is_own && resolver.files.is_file(path)) {
                return vec![Resolution::file(path, &[])];
            }
        }
    }
    if !name.contains("..")
        && let [only] = resolver.files.paths().ending_in(name)[..]
        && (name.contains('/') || spelled.starts_with('"'))
    {
        return vec![Resolution::file(only.clone(), &[])];
    }
    let package = name.split('/').next().unwrap_or(name);
    vec![Resolution::outside(package, name, &[])]
}
