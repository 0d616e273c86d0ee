//! Go: import paths are module paths with a directory behind them.

use std::collections::HashSet;
use std::sync::Arc;

use workspace::RelPath;

use crate::imports::project_files::{ProjectFiles, dir_of, join};
use crate::imports::{Import, ImportPlace, Resolution};

/// The modules of a project: those with a `go.mod`, and what `replace` leads to them.
#[derive(Debug, Default)]
pub(in crate::imports) struct GoModules {
    /// Module path and directory, longest path first.
    modules: Vec<(String, RelPath)>,
    /// Directories with Go files.
    packages: HashSet<RelPath>,
}

impl GoModules {
    pub(super) fn find(files: &Arc<dyn ProjectFiles>) -> GoModules {
        let mut found = GoModules::default();
        for manifest in files.paths().named(b"go.mod") {
            let Some(bytes) = files.read(manifest) else { continue };
            let dir = dir_of(manifest);
            let text = String::from_utf8_lossy(&bytes);
            for (module, place) in declared(&text) {
                let place = match place {
                    None => Some(dir.clone()),
                    Some(local) => join(&dir, &local),
                };
                found.modules.extend(place.map(|place| (module, place)));
            }
        }
        found.modules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        let sources = files.paths().iter().filter(|path| path.extension() == Some(b"go"));
        found.packages = sources.map(dir_of).collect();
        found
    }

    pub(super) fn resolve(&self, import: &Import) -> Vec<Resolution> {
        let path = import.specifier.as_str();
        if let Some(dir) = self.directory(path) {
            return vec![Resolution { place: ImportPlace::Directory(dir), names: Vec::new() }];
        }
        vec![Resolution::outside(package_of(path), path, &[])]
    }

    /// The directory of an import path, if it is one of the project's.
    pub(in crate::imports) fn directory(&self, path: &str) -> Option<RelPath> {
        self.modules.iter().find_map(|(module, dir)| {
            let rest = path.strip_prefix(module.as_str())?;
            let inside = match rest {
                "" => Some(dir.clone()),
                rest => join(dir, rest.strip_prefix('/')?),
            };
            inside.filter(|inside| self.packages.contains(inside))
        })
    }

    /// The module paths under which the package in `dir` can be imported without naming a
    /// directory.
    pub(in crate::imports) fn module_paths<'a>(
        &'a self,
        dir: &'a RelPath,
    ) -> impl Iterator<Item = &'a str> {
        self.modules.iter().filter(move |(_, place)| place == dir).map(|(path, _)| path.as_str())
    }
}

/// What a `go.mod` declares: its own module path, and local replacements of others.
fn declared(text: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let line = match (line, block) {
            (")", _) => {
                block = "";
                continue;
            }
            ("replace (", _) => {
                block = "replace";
                continue;
            }
            (line, "replace") => format!("replace {line}"),
            (line, _) => line.to_owned(),
        };
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('"')).collect();
        match words[..] {
            ["module", path] => found.push((path.to_owned(), None)),
            ["replace", old, "=>", local] | ["replace", old, _, "=>", local]
                if local.starts_with('.') =>
            {
                found.push((old.to_owned(), Some(local.to_owned())));
            }
            _ => {}
        }
    }
    found
}

/// The module of a path from outside: `host/owner/name` for the usual hosts, else the first part.
fn package_of(path: &str) -> &str {
    let parts = if path.split('/').next().is_some_and(|host| host.contains('.')) { 3 } else { 1 };
    let end = path.match_indices('/').nth(parts - 1).map_or(path.len(), |(at, _)| at);
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_declares_its_module_and_local_replacements() {
        let text = "module example.com/app // the app\ngo 1.22\nreplace a.b/c => ./c\n\
                    replace (\n\tx.y/z v1.2.3 => ../z\n\tq.r/s => q.r/t v2\n)\n";
        let expected = [("example.com/app", None), ("a.b/c", Some("./c")), ("x.y/z", Some("../z"))];
        let expected = expected.map(|(path, place)| (path.to_owned(), place.map(str::to_owned)));
        assert_eq!(declared(text), expected);
        assert_eq!(package_of("github.com/a/b/c"), "github.com/a/b");
        assert_eq!(package_of("net/http"), "net");
    }
}
