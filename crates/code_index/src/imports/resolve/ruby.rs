//! Ruby: files beneath `lib` directories, and relative ones.

use workspace::RelPath;

use super::ImportResolver;
use crate::imports::project_files::{ancestors, dir_of, join};
use crate::imports::{Import, Resolution};

/// Where required files are looked for in each directory around the file.
const ROOTS: [&str; 4] = ["lib", "", "test", "spec"];

pub(super) fn resolve(
    resolver: &ImportResolver,
    from: &RelPath,
    import: &Import,
) -> Vec<Resolution> {
    let name = import.specifier.as_str();
    let dir = dir_of(from);
    let file = |path: Option<RelPath>| path.filter(|path| resolver.files.is_file(path));
    let in_dir = |dir: &RelPath, name: &str| {
        file(join(dir, &format!("{name}.rb"))).or_else(|| {
            file(join(dir, name)).filter(|path| matches!(path.extension(), Some(b"rb" | b"rake")))
        })
    };
    if name.starts_with('.') {
        return in_dir(&dir, name)
            .map(|path| Resolution::file(path, &import.names))
            .into_iter()
            .collect();
    }
    for around in ancestors(&dir) {
        for root in ROOTS {
            let root = if root.is_empty() {
                around.clone()
            } else {
                around.join(root.as_bytes()).unwrap_or_else(|_| around.clone())
            };
            if let Some(path) = in_dir(&root, name) {
                return vec![Resolution::file(path, &import.names)];
            }
        }
    }
    // Another gem of the same repository.
    let suffix = format!("lib/{}.rb", name.trim_end_matches(".rb"));
    if let [only] = resolver.files.paths().ending_in(&suffix)[..] {
        return vec![Resolution::file(only.clone(), &import.names)];
    }
    let package = name.split('/').next().unwrap_or(name);
    vec![Resolution::outside(package, name, &import.names)]
}
