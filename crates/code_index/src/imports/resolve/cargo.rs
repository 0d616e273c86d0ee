//! The crates of a project as its `Cargo.toml` files describe them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use toml::{Table, Value};
use workspace::RelPath;

use super::rust::Module;
use crate::imports::project_files::{PathList, ProjectFiles, ancestors, dir_of, join, name_of};

/// Directories whose files are crates of their own.
const TARGET_DIRS: [&str; 4] = ["src/bin", "tests", "examples", "benches"];

/// All crates of a project.
#[derive(Debug, Default)]
pub(in crate::imports) struct Crates {
    packages: Vec<Package>,
    by_dir: HashMap<RelPath, usize>,
    roots: BTreeSet<RelPath>,
    /// The modules on the way to a file, once they are known.
    ways: Mutex<HashMap<RelPath, Arc<Vec<Module>>>>,
}

/// One package: a library and programs that share a manifest.
#[derive(Debug)]
pub(in crate::imports) struct Package {
    pub(in crate::imports) dir: RelPath,
    /// The library as other crates name it.
    pub(in crate::imports) lib_name: String,
    pub(in crate::imports) lib: Option<RelPath>,
    /// The first file of every crate of the package, the library's first.
    pub(in crate::imports) roots: Vec<RelPath>,
    dependencies: HashMap<String, Dependency>,
}

/// What a name that is a dependency leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dependency {
    /// The package in this directory of the project.
    Local(RelPath),
    /// A package from elsewhere.
    Outside(String),
}

impl Crates {
    pub(super) fn find(files: &dyn ProjectFiles) -> Crates {
        let manifests: HashMap<RelPath, Table> = files
            .paths()
            .named(b"Cargo.toml")
            .filter_map(|path| {
                let text = String::from_utf8(files.read(path)?).ok()?;
                Some((dir_of(path), text.parse().ok()?))
            })
            .collect();
        let mut crates = Crates::default();
        let mut dirs: Vec<&RelPath> = manifests.keys().collect();
        dirs.sort();
        for dir in dirs {
            let manifest = &manifests[dir];
            if let Some(name) = text(manifest.get("package"), "name") {
                let package = Package::read(files.paths(), dir, name, manifest, &manifests);
                crates.by_dir.insert(dir.clone(), crates.packages.len());
                crates.roots.extend(package.roots.iter().cloned());
                crates.packages.push(package);
            }
        }
        crates
    }

    /// The package that a file belongs to.
    pub(in crate::imports) fn package_of(&self, path: &RelPath) -> Option<&Package> {
        let index = ancestors(&dir_of(path)).find_map(|dir| self.by_dir.get(&dir))?;
        self.packages.get(*index)
    }

    pub(super) fn in_dir(&self, dir: &RelPath) -> Option<&Package> {
        self.packages.get(*self.by_dir.get(dir)?)
    }

    pub(in crate::imports) fn is_root(&self, path: &RelPath) -> bool {
        self.roots.contains(path) || matches!(&*name_of(path), "lib.rs" | "main.rs" | "build.rs")
    }

    /// Every name under which the library with this first file is used.
    pub(in crate::imports) fn names_of(&self, lib: &RelPath) -> Vec<String> {
        let Some(package) = self.packages.iter().find(|package| package.lib.as_ref() == Some(lib))
        else {
            return Vec::new();
        };
        let here = Dependency::Local(package.dir.clone());
        let renamed = self.packages.iter().flat_map(|other| {
            other.dependencies.iter().filter(|(_, place)| **place == here).map(|(name, _)| name)
        });
        let names: BTreeSet<String> = renamed.cloned().chain([package.lib_name.clone()]).collect();
        names.into_iter().collect()
    }

    /// The library named `name`, if it is one of the project's.
    pub(in crate::imports) fn library(&self, name: &str) -> Option<&RelPath> {
        let name = name.replace('-', "_");
        let package = self.packages.iter().find(|package| package.lib_name == name)?;
        package.lib.as_ref()
    }

    pub(super) fn known_way(&self, path: &RelPath) -> Option<Arc<Vec<Module>>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    pub(super) fn keep_way(&self, path: &RelPath, way: Vec<Module>) -> Arc<Vec<Module>> {
        let way = Arc::new(way);
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.insert(path.clone(), Arc::clone(&way));
        way
    }
}

impl Package {
    fn read(
        paths: &PathList,
        dir: &RelPath,
        name: &str,
        manifest: &Table,
        all: &HashMap<RelPath, Table>,
    ) -> Package {
        let lib = manifest.get("lib");
        let lib_path = text(lib, "path").unwrap_or("src/lib.rs");
        let mut package = Package {
            dir: dir.clone(),
            lib_name: text(lib, "name").unwrap_or(name).replace('-', "_"),
            lib: join(dir, lib_path).filter(|path| paths.contains(path)),
            roots: Vec::new(),
            dependencies: HashMap::new(),
        };
        package.roots.extend(package.lib.clone());
        package.find_roots(paths, manifest);
        let targets = manifest.get("target").and_then(Value::as_table);
        let tables = targets.into_iter().flat_map(|targets| targets.values());
        for table in std::iter::once(manifest).chain(tables.filter_map(Value::as_table)) {
            for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
                let section = table.get(section).and_then(Value::as_table);
                for (name, value) in section.into_iter().flatten() {
                    let place = dependency(dir, name, value, all);
                    package.dependencies.insert(name.replace('-', "_"), place);
                }
            }
        }
        package
    }

    fn find_roots(&mut self, paths: &PathList, manifest: &Table) {
        let build = text(manifest.get("package"), "build").unwrap_or("build.rs");
        let mut roots: Vec<RelPath> =
            ["src/main.rs", build].iter().filter_map(|path| join(&self.dir, path)).collect();
        for kind in ["bin", "test", "example", "bench"] {
            let listed = manifest.get(kind).and_then(Value::as_array);
            let named = listed.into_iter().flatten().filter_map(|one| text(Some(one), "path"));
            roots.extend(named.filter_map(|path| join(&self.dir, path)));
        }
        for place in TARGET_DIRS {
            let Some(place) = join(&self.dir, place) else { continue };
            let depth = place.depth();
            roots.extend(
                paths
                    .beneath(&place)
                    .filter(|path| match path.depth() - depth {
                        1 => path.extension() == Some(b"rs"),
                        2 => path.file_name() == Some(b"main.rs"),
                        _ => false,
                    })
                    .cloned(),
            );
        }
        for root in roots {
            if paths.contains(&root) && !self.roots.contains(&root) {
                self.roots.push(root);
            }
        }
    }

    /// What the crates of this package mean by a first name.
    pub(super) fn dependency(&self, name: &str) -> Option<Dependency> {
        if let Some(found) = self.dependencies.get(name) {
            return Some(found.clone());
        }
        (self.lib.is_some() && name == self.lib_name).then(|| Dependency::Local(self.dir.clone()))
    }
}

/// A line such as `name = { path = "…", package = "…" }` or `name.workspace = true`.
fn dependency(
    dir: &RelPath,
    name: &str,
    value: &Value,
    all: &HashMap<RelPath, Table>,
) -> Dependency {
    let inherits = value.get("workspace").and_then(Value::as_bool) == Some(true);
    let (dir, value) = match inherits.then(|| inherited(dir, name, all)).flatten() {
        Some((root, value)) => (root, value),
        None => (dir.clone(), value),
    };
    let local = text(Some(value), "path").and_then(|path| join(&dir, path));
    match local.filter(|local| all.contains_key(local)) {
        Some(local) => Dependency::Local(local),
        None => Dependency::Outside(text(Some(value), "package").unwrap_or(name).to_owned()),
    }
}

/// What the workspace around `dir` says about a dependency.
fn inherited<'a>(
    dir: &RelPath,
    name: &str,
    all: &'a HashMap<RelPath, Table>,
) -> Option<(RelPath, &'a Value)> {
    ancestors(dir).find_map(|around| {
        let workspace = all.get(&around)?.get("workspace")?;
        Some((around, workspace.get("dependencies")?.get(name)?))
    })
}

fn text<'a>(value: Option<&'a Value>, key: &str) -> Option<&'a str> {
    value?.get(key)?.as_str()
}
