//! JavaScript and TypeScript: Node's and TypeScript's own rules, by `oxc_resolver`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use globset::{Glob, GlobSetBuilder};
use oxc_resolver::{ResolveError, ResolveOptions, ResolverGeneric, TsConfig, TsconfigDiscovery};
use serde_json::Value;
use workspace::RelPath;

use super::virtual_disk::VirtualDisk;
use crate::imports::project_files::{ProjectFiles, ancestors, dir_of, join, name_of};
use crate::imports::{Import, ImportPlace, Resolution};

/// Endings that an import may leave out, as a TypeScript file means them.
const TYPED: [&str; 14] = [
    ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".json", ".mts", ".cts", ".d.mts", ".d.cts", ".mjs",
    ".cjs", ".vue", ".svelte",
];

/// The same as a JavaScript file means them.
const UNTYPED: [&str; 14] = [
    ".js", ".jsx", ".mjs", ".cjs", ".json", ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".d.mts",
    ".d.cts", ".vue", ".svelte",
];

/// Conditions of `exports` and `imports`; what a project says first counts.
const CONDITIONS: [&str; 9] =
    ["source", "development", "types", "import", "require", "module", "node", "browser", "default"];

/// Where the sources of a package are when what it publishes is not built.
const SOURCE_DIRS: [&str; 4] = ["src", "lib", "source", "."];

/// The JavaScript and TypeScript of a project.
pub(in crate::imports) struct JavaScript {
    files: Arc<dyn ProjectFiles>,
    typed: ResolverGeneric<VirtualDisk>,
    untyped: ResolverGeneric<VirtualDisk>,
    /// For files whose configuration is broken.
    unconfigured: ResolverGeneric<VirtualDisk>,
    /// The packages of the workspace: name and directory.
    packages: BTreeMap<String, RelPath>,
}

impl JavaScript {
    pub(super) fn new(files: Arc<dyn ProjectFiles>) -> JavaScript {
        let packages = workspace_packages(&*files);
        let disk = VirtualDisk::of(Arc::clone(&files), packages.clone());
        let typed = ResolverGeneric::new_with_file_system(disk, options(&TYPED, true));
        JavaScript {
            untyped: typed.clone_with_options(options(&UNTYPED, true)),
            unconfigured: typed.clone_with_options(options(&TYPED, false)),
            typed,
            files,
            packages,
        }
    }

    pub(super) fn resolve(&self, from: &RelPath, import: &Import) -> Vec<Resolution> {
        let specifier = import.specifier.as_str();
        if is_relative(specifier) && join(&dir_of(from), &without_query(specifier)).is_none() {
            return Vec::new();
        }
        let place = self.place(from, specifier);
        place.map(|place| Resolution { place, names: import.names.clone() }).into_iter().collect()
    }

    fn place(&self, from: &RelPath, specifier: &str) -> Option<ImportPlace> {
        let found = self.found(from, specifier);
        let package = package_of(specifier);
        let local = package.and_then(|package| self.packages.get(package));
        // What a workspace package has built is not its source.
        let is_source = found.as_ref().is_some_and(|path| self.files.paths().contains(path));
        if let (Some(dir), false) = (local, is_source) {
            let inner = specifier[package.unwrap_or_default().len()..].trim_start_matches('/');
            if let Some(path) = self.source(dir, inner) {
                return Some(ImportPlace::File(path));
            }
        }
        match found.filter(|path| !path.components().any(|name| name == b"node_modules")) {
            Some(path) => Some(ImportPlace::File(path)),
            None => package.map(|package| ImportPlace::Outside {
                package: package.to_owned(),
                name: specifier.strip_prefix("node:").unwrap_or(specifier).to_owned(),
            }),
        }
    }

    fn found(&self, from: &RelPath, specifier: &str) -> Option<RelPath> {
        let is_typed = !matches!(from.extension(), Some(b"js" | b"jsx" | b"mjs" | b"cjs"));
        let resolver = if is_typed { &self.typed } else { &self.untyped };
        let file = VirtualDisk::absolute(from);
        let dir = VirtualDisk::absolute(&dir_of(from));
        let mut found = resolver.resolve_file(&file, specifier);
        if let Err(error) = &found {
            if is_about_configuration(error) {
                found = self.unconfigured.resolve(&dir, specifier);
            } else if !is_relative(specifier)
                && let Some(config) = self.config_around(resolver, from)
            {
                // A file that no configuration lists, such as a test, still means the same names.
                found = resolver.resolve_with_context(
                    &dir,
                    specifier,
                    Some(&config),
                    &mut Default::default(),
                );
            }
        }
        VirtualDisk::relative(found.ok()?.path())
    }

    fn config_around(
        &self,
        resolver: &ResolverGeneric<VirtualDisk>,
        from: &RelPath,
    ) -> Option<Arc<TsConfig>> {
        ancestors(&dir_of(from)).find_map(|dir| {
            let config = dir.join(b"tsconfig.json").ok()?;
            let other = dir.join(b"jsconfig.json").ok()?;
            let is_there = self.files.is_file(&config) || self.files.is_file(&other);
            is_there.then(|| resolver.resolve_tsconfig(VirtualDisk::absolute(&config)).ok())?
        })
    }

    /// The source behind an entry of a workspace package.
    fn source(&self, dir: &RelPath, inner: &str) -> Option<RelPath> {
        let inner = if inner.is_empty() { "index" } else { inner };
        let package = VirtualDisk::absolute(dir);
        SOURCE_DIRS.iter().find_map(|place| {
            let found = self.unconfigured.resolve(&package, &format!("./{place}/{inner}")).ok()?;
            let path = VirtualDisk::relative(found.path())?;
            self.files.paths().contains(&path).then_some(path)
        })
    }

    /// The names under which what is in `path` can be imported without naming it: those of the
    /// package around it, and exact aliases of configurations.
    pub(in crate::imports) fn aliases(&self, path: &RelPath) -> Vec<String> {
        let mut names = Vec::new();
        if let Some((dir, manifest)) = self.manifest_around(path) {
            names.extend(manifest["name"].as_str().map(str::to_owned));
            let inner = manifest["imports"].as_object().into_iter().flatten();
            names.extend(inner.map(|(alias, _)| alias.replace('*', "")));
            if !dir.is_root() {
                names.push(name_of(&dir));
            }
        }
        for name in ["tsconfig", "jsconfig"] {
            let configs = self.files.paths().iter().filter(|config| {
                let config = name_of(config);
                config.starts_with(name) && config.ends_with(".json")
            });
            for config in configs {
                names.extend(self.mapped(config, path));
            }
        }
        names.retain(|name| !name.is_empty());
        names
    }

    /// The aliases of one configuration whose target may be `path`, as far as the rest of the
    /// specifier does not name it.
    fn mapped(&self, config: &RelPath, path: &RelPath) -> Vec<String> {
        let at = VirtualDisk::absolute(config);
        let json = self.files.read(config).and_then(|bytes| String::from_utf8(bytes).ok());
        let parsed = json.and_then(|json| TsConfig::parse(true, &at, &at, json).ok());
        let paths = parsed.and_then(|config| config.compiler_options.paths);
        let mut names = Vec::new();
        for (alias, targets) in paths.into_iter().flatten() {
            if !alias.contains('*') {
                names.push(alias);
                continue;
            }
            for target in targets {
                let target = target.to_string_lossy().into_owned();
                let Some((_, after)) = target.split_once('*') else { continue };
                // `src/*/main.ts`: what the star stands for is a directory of the path.
                if !after.is_empty() {
                    let dirs = ancestors(&dir_of(path)).filter(|dir| !dir.is_root());
                    names.extend(dirs.map(|dir| name_of(&dir)));
                }
            }
        }
        names
    }

    fn manifest_around(&self, path: &RelPath) -> Option<(RelPath, Value)> {
        ancestors(&dir_of(path)).find_map(|dir| {
            let bytes = self.files.read(&dir.join(b"package.json").ok()?)?;
            Some((dir, serde_json::from_slice(&bytes).ok()?))
        })
    }

    /// The directory of the package around a file.
    pub(in crate::imports) fn package_dir(&self, path: &RelPath) -> Option<RelPath> {
        self.manifest_around(path).map(|(dir, _)| dir)
    }

    /// The entry of a workspace package by its name.
    pub(in crate::imports) fn package_entry(&self, name: &str) -> Option<RelPath> {
        self.packages.get(name)?;
        match self.place(&RelPath::parse("index.ts").ok()?, name)? {
            ImportPlace::File(path) => Some(path),
            _ => None,
        }
    }
}

fn options(extensions: &[&str], configured: bool) -> ResolveOptions {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let typed_first = extensions[0] == ".ts";
    let alias = |ending: &str, typed: &[&str]| {
        let own = ending.to_owned();
        let mut all = texts(typed);
        if typed_first {
            all.push(own.clone())
        } else {
            all.insert(0, own.clone())
        }
        (own, all)
    };
    ResolveOptions {
        cwd: Some(VirtualDisk::absolute(&RelPath::root())),
        tsconfig: configured.then_some(TsconfigDiscovery::Auto),
        condition_names: texts(&CONDITIONS),
        extension_alias: vec![
            alias(".js", &[".ts", ".tsx", ".d.ts", ".jsx"]),
            alias(".jsx", &[".tsx", ".d.ts"]),
            alias(".mjs", &[".mts", ".d.mts"]),
            alias(".cjs", &[".cts", ".d.cts"]),
        ],
        extensions: texts(extensions),
        main_fields: texts(&["source", "types", "typings", "module", "main"]),
        roots: vec![VirtualDisk::absolute(&RelPath::root())],
        // Libraries never read the environment.
        node_path: false,
        builtin_modules: true,
        ..ResolveOptions::default()
    }
}

fn is_about_configuration(error: &ResolveError) -> bool {
    matches!(
        error,
        ResolveError::TsconfigNotFound(_)
            | ResolveError::TsconfigSelfReference(_)
            | ResolveError::TsconfigCircularExtend(_)
            | ResolveError::TsconfigLoadFailed { .. }
            | ResolveError::Json(_)
    )
}

fn is_relative(specifier: &str) -> bool {
    matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../")
}

fn without_query(specifier: &str) -> String {
    specifier.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// The package that a specifier names: the first part of it, or two if the first is a scope.
pub(in crate::imports) fn package_of(specifier: &str) -> Option<&str> {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    if bare.starts_with(['.', '/', '#']) || bare.contains(':') || bare.is_empty() {
        return None;
    }
    let parts = if bare.starts_with('@') { 2 } else { 1 };
    let end = bare.match_indices('/').nth(parts - 1).map_or(bare.len(), |(at, _)| at);
    Some(&bare[..end])
}

/// The packages that the project says belong together: `workspaces` of npm, Yarn and Bun, pnpm's
/// own file, and Lerna's.
fn workspace_packages(files: &dyn ProjectFiles) -> BTreeMap<String, RelPath> {
    let mut globs = GlobSetBuilder::new();
    let mut any = false;
    let mut add = |dir: &RelPath, pattern: &str| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let whole = if dir.is_root() { pattern.to_owned() } else { format!("{dir}/{pattern}") };
        if let (false, Ok(glob)) = (pattern.starts_with('!'), Glob::new(&whole)) {
            globs.add(glob);
            any = true;
        }
    };
    let json = |path: &RelPath| {
        files.read(path).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
    };
    for manifest in files.paths().named(b"package.json") {
        let Some(json) = json(manifest) else { continue };
        let listed = &json["workspaces"];
        let listed = listed.as_array().or_else(|| listed["packages"].as_array());
        for pattern in listed.into_iter().flatten().filter_map(Value::as_str) {
            add(&dir_of(manifest), pattern);
        }
    }
    for manifest in files.paths().named(b"lerna.json") {
        let Some(json) = json(manifest) else { continue };
        for pattern in json["packages"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            add(&dir_of(manifest), pattern);
        }
    }
    for manifest in files.paths().named(b"pnpm-workspace.yaml") {
        let text = files.read(manifest).unwrap_or_default();
        for pattern in pnpm_packages(&String::from_utf8_lossy(&text)) {
            add(&dir_of(manifest), &pattern);
        }
    }
    let Some(globs) = any.then(|| globs.build().ok()).flatten() else { return BTreeMap::new() };
    let manifests = files.paths().named(b"package.json");
    manifests
        .filter(|manifest| globs.is_match(Path::new(dir_of(manifest).as_path())))
        .filter_map(|manifest| {
            let name = json(manifest)?["name"].as_str()?.to_owned();
            Some((name, dir_of(manifest)))
        })
        .collect()
}

/// The patterns under `packages:`. The file is YAML, of which a list of strings is all it needs.
fn pnpm_packages(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| line.trim_end() != "packages:").skip(1);
    let listed = lines
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map_while(|line| line.strip_prefix('-'));
    listed.map(|item| item.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specifier_names_its_package() {
        let table = [
            ("lodash", Some("lodash")),
            ("lodash/map", Some("lodash")),
            ("@a/b", Some("@a/b")),
            ("@a/b/c/d", Some("@a/b")),
            ("node:fs/promises", Some("fs")),
            ("./x", None),
            ("/x", None),
            ("#internal", None),
            ("https://x.y/z.js", None),
        ];
        for (specifier, package) in table {
            assert_eq!(package_of(specifier), package, "{specifier}");
        }
    }

    #[test]
    fn the_packages_of_pnpm_are_a_list() {
        let text = "# all\npackages:\n  - 'packages/*'\n\n  # more\n  - apps/**\ncatalog:\n  - x\n";
        assert_eq!(pnpm_packages(text), ["packages/*", "apps/**"]);
    }
}
