//! How a directory is built, tested and formatted, seen from the files in it.

use std::collections::BTreeSet;

use protocol::{ErrorCode, ToolError};
use serde_json::Value;
use workspace::{EntryKind, RelPath, Workspace};

use crate::ToolContext;

/// Manifests larger than this are not looked into.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// Files that say how a project is built or tested.
const MANIFESTS: [&str; 12] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "requirements.txt",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Makefile",
    "pytest.ini",
    "tox.ini",
];
/// Directories at the top that are looked into.
const MOST_DIRECTORIES: usize = 64;

/// Whether anything at the top of the project, or one level below, says how it is built or tested.
pub(crate) fn is_built(project: &Workspace) -> bool {
    let has = |directory: &RelPath| {
        MANIFESTS.iter().any(|name| {
            directory.join(name.as_bytes()).is_ok_and(|path| project.metadata(&path).is_ok())
        })
    };
    let top = RelPath::root();
    if has(&top) {
        return true;
    }
    let entries = project.list_dir(&top, false).map(|listing| listing.entries).unwrap_or_default();
    let directories = entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    let paths = directories.filter_map(|entry| top.join(&entry.name).ok());
    paths.take(MOST_DIRECTORIES).any(|path| has(&path))
}

/// What lies in one directory, as far as it tells how the directory is built.
#[derive(Debug, Default)]
pub(crate) struct Manifests {
    names: BTreeSet<String>,
    package_json: Value,
    pyproject: String,
    makefile: String,
    /// Whether there is a Python environment in the directory.
    pub(crate) has_venv: bool,
}

/// A directory with manifests, and what was asked about as seen from there.
#[derive(Debug)]
pub(crate) struct ManifestDirectory {
    pub(crate) directory: RelPath,
    /// The asked path from there; empty for the directory itself.
    pub(crate) rest: String,
    pub(crate) manifests: Manifests,
}

impl Manifests {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The first of these that is there.
    pub(crate) fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    /// The names that end so, in order.
    pub(crate) fn with_extension<'a>(
        &'a self,
        extension: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(String::as_str).filter(move |name| name.ends_with(extension))
    }

    /// A script of `package.json`; the one that `npm init` makes is none.
    pub(crate) fn script(&self, name: &str) -> Option<&str> {
        let script = self.package_json["scripts"][name].as_str()?;
        (!script.contains("no test specified")).then_some(script)
    }

    /// Whether a Node package is needed, for running or for developing.
    pub(crate) fn needs_package(&self, name: &str) -> bool {
        ["dependencies", "devDependencies"]
            .iter()
            .any(|list| self.package_json[list].get(name).is_some())
    }

    /// Whether `pyproject.toml` has a section that begins so.
    pub(crate) fn configures(&self, section: &str) -> bool {
        let heading = format!("[{section}");
        self.pyproject.lines().any(|line| line.trim_start().starts_with(&heading))
    }

    /// The first of these that `make` can make.
    pub(crate) fn make_target(&self, targets: &[&'static str]) -> Option<&'static str> {
        let makes = |target: &&&str| {
            self.makefile.lines().any(|line| {
                line.strip_prefix(**target).is_some_and(|rest| rest.trim_start().starts_with(':'))
            })
        };
        targets.iter().find(makes).copied()
    }

    /// The package manager of a Node project, by its lock file.
    pub(crate) fn node_manager(&self) -> &'static str {
        let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")];
        locks.iter().find(|(lock, _)| self.has(lock)).map_or("npm", |(_, manager)| manager)
    }

    /// The interpreter of a Python project: that of its environment, if it has one.
    pub(crate) fn python(&self) -> &'static str {
        if self.has_venv { ".venv/bin/python" } else { "python3" }
    }

    /// Whether Python code is tested here.
    pub(crate) fn tests_python(&self) -> bool {
        let files =
            ["pytest.ini", "conftest.py", "tox.ini", "setup.py", "setup.cfg", "pyproject.toml"];
        let is_test = |name: &str| name.starts_with("test_") || name.ends_with("_test.py");
        self.first_of(&files).is_some() || self.with_extension(".py").any(is_test)
    }

    #[cfg(test)]
    pub(crate) fn sketch(
        names: &[&str],
        package_json: &str,
        pyproject: &str,
        makefile: &str,
    ) -> Self {
        Self {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            package_json: serde_json::from_str(package_json).unwrap_or_default(),
            pyproject: pyproject.to_owned(),
            makefile: makefile.to_owned(),
            has_venv: false,
        }
    }

    fn read(cx: &ToolContext, directory: &RelPath) -> Result<Self, ToolError> {
        let workspace = cx.workspace();
        let listing = workspace.list_dir(directory, true)?;
        let names = listing.entries.iter();
        let names: BTreeSet<String> =
            names.map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        let text = |name: &str| -> String {
            let file = directory.join(name.as_bytes()).ok().filter(|_| names.contains(name));
            let file = file.and_then(|path| workspace.open_file(&path).ok());
            let bytes = file.and_then(|mut file| file.read_all(MAX_MANIFEST_BYTES).ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let venv = directory.join(b".venv").and_then(|venv| venv.join(b"bin"));
        let has_venv = venv.is_ok_and(|venv| workspace.metadata(&venv).is_ok());
        Ok(Self {
            package_json: serde_json::from_str(&text("package.json")).unwrap_or_default(),
            pyproject: text("pyproject.toml"),
            makefile: text("Makefile"),
            has_venv,
            names,
        })
    }
}

/// The nearest directory, from `path` upwards, of which `knows` makes something.
pub(crate) fn nearest<T>(
    cx: &ToolContext,
    path: Option<&str>,
    knows: impl Fn(&ManifestDirectory) -> Option<T>,
) -> Result<Option<(ManifestDirectory, T)>, ToolError> {
    let asked = cx.workspace().resolve(path.unwrap_or("."))?;
    let meta = cx.workspace().metadata(&asked)?;
    let mut directory = match meta.kind {
        EntryKind::Directory => Some(asked.clone()),
        _ => asked.parent(),
    };
    while let Some(here) = directory {
        let manifests = Manifests::read(cx, &here)?;
        let place = ManifestDirectory { rest: beneath(&here, &asked), manifests, directory: here };
        if let Some(found) = knows(&place) {
            return Ok(Some((place, found)));
        }
        directory = place.directory.parent();
    }
    Ok(None)
}

fn beneath(directory: &RelPath, path: &RelPath) -> String {
    let names: Vec<_> =
        path.components().skip(directory.depth()).map(String::from_utf8_lossy).collect();
    names.join("/")
}

/// Refuses a value that a program would take for an option.
pub(crate) fn no_option(what: &str, value: &str) -> Result<(), ToolError> {
    if value.starts_with('-') || value.contains('\0') {
        let message = format!("{what} `{value}` would be taken for an option");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest(format!("Give a {what} that does not begin with a dash.")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_tell_scripts_managers_sections_and_targets() {
        let package = r#"{"scripts": {"test": "jest", "lint": "eslint ."}, "devDependencies": {"prettier": "3"}}"#;
        let pyproject = "[tool.ruff.lint]\nselect = []\n";
        let makefile = "all: x\n\ncheck : all\n\tcargo test\n.PHONY: test\n";
        let here =
            Manifests::sketch(&["package.json", "yarn.lock", "a.py"], package, pyproject, makefile);
        assert_eq!(here.script("test"), Some("jest"));
        assert_eq!(here.node_manager(), "yarn");
        assert!(here.needs_package("prettier") && !here.needs_package("jest"));
        assert!(here.configures("tool.ruff") && !here.configures("tool.black"));
        assert_eq!(here.make_target(&["test", "check"]), Some("check"));
        assert!(!here.tests_python());
        let empty = Manifests::sketch(
            &["test_a.py"],
            r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
            "",
            "",
        );
        assert_eq!((empty.script("test"), empty.node_manager()), (None, "npm"));
        assert!(empty.tests_python() && empty.make_target(&["test"]).is_none());
    }

    #[test]
    fn what_looks_like_an_option_is_refused() {
        assert!(no_option("filter", "--exec=x").is_err() && no_option("filter", "a-b").is_ok());
    }
}
