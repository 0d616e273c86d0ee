//! PHP: classes by autoloading, files by their path.

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::extract::php::OWN_DIRECTORY;
use crate::imports::project_files::{ancestors, dir_of, join};
use crate::imports::{Import, ImportKind, Resolution};

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let dir = dir_of(from);
    let name = import.specifier.as_str();
    let is_file = |path: &RelPath| resolver.files.is_file(path);
    if import.kind != ImportKind::Require {
        if let Some(path) = resolver.composer().candidates(name).find(is_file) {
            return vec![Resolution::file(path, &import.names)];
        }
        // Without a rule for it: the one file whose path ends like the name, namespace included.
        let suffix = format!("{}.php", name.replace('\\', "/"));
        if name.contains('\\')
            && let [only] = resolver.files.paths().ending_in(&suffix)[..]
        {
            return vec![Resolution::file(only.clone(), &import.names)];
        }
        let package = name.split('\\').next().unwrap_or(name);
        return vec![Resolution::outside(package, name, &import.names)];
    }
    let found = match name.strip_prefix(OWN_DIRECTORY) {
        Some(rest) => join(&dir, rest.trim_start_matches('/')).filter(is_file),
        // A plain path is looked for in the include path, which usually has the root, and then
        // beside the file.
        None => {
            let around = ancestors(&dir).filter_map(|around| join(&around, name));
            around.into_iter().find(is_file)
        }
    };
    found.map(|path| Resolution::file(path, &[])).into_iter().collect()
}
