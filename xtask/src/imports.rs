//! The step "imports of real packages": who imports whom, as the compilers of TypeScript, Python, Java
//! and C++ themselves see it, and as we do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::fetch::{from_npm, from_pypi, output};
use crate::house::House;
use crate::judges::{gcc_includes, java_edges};
use crate::step::{Outcome, one_line, say};

const TYPESCRIPT_EDGES: &str = include_str!("imports/typescript_edges.cjs");
const PYTHON_EDGES: &str = include_str!("imports/python_edges.py");

/// The compiler that is asked. The versions after it have no interface for programs.
const TYPESCRIPT: &str = "typescript@5.9.3";

/// Packages of npm that ship their TypeScript sources.
const NPM: [&str; 2] = ["rxjs@7.8.2", "zod@4.6.7"];

/// Source distributions of PyPI: requirement, directory that Python would have on its path, and
/// package.
const PYPI: [(&str, &str, &str); 2] =
    [("Django==5.2", ".", "django"), ("flask==3.1.3", "src", "flask")];

/// Packages of npm with Java for Android. What they use of Android is not there, and not needed.
const JAVA: [&str; 2] = ["cordova-android@15.1.0", "react-native-maps@1.29.11"];

/// A package of npm with C++: the directory, and where its compiler looks for headers.
const CPP: (&str, &str, &[&str]) =
    ("leveldown@6.1.1", "deps/leveldb/leveldb-1.20", &[".", "include"]);

/// Edges in which we differ on purpose: project, edge, reason. Empty since we agree on all.
const EXPLAINED: [(&str, &str, &str); 0] = [];

/// How many targets of a project are asked for one by one, to compare narrowing with resolving all.
const ASKED: &str = "12";

/// Compares all edges. Only fetching may be skipped.
pub(crate) fn edges(house: &House) -> Result<Outcome> {
    let cache = house.cache("imports");
    let fetched = match fetch(&cache) {
        Ok(fetched) => fetched,
        Err(why) => {
            return Ok(Outcome::Skipped {
                what: "imports of real packages".into(),
                why: one_line(&format!("{why:#}")),
            });
        }
    };
    let program = house.example("debug", "import_edges");
    let mut missing = Vec::new();
    for project in fetched {
        let truth = match project.truth(&cache) {
            Ok(mut truth) => lines(&output(&mut truth)?),
            // A compiler that is not there judges nothing, and is named.
            Err(why) => {
                missing.push(one_line(&format!("{}: {why:#}", project.name)));
                continue;
            }
        };
        let ours = lines(&output(Command::new(&program).arg(&project.root))?);
        let ours = ours.into_iter().filter(|edge| project.counts(edge)).collect();
        compare(&project.name, &truth, &ours)?;
        output(Command::new(&program).arg(&project.root).args(["--check", ASKED]))?;
    }
    match missing.is_empty() {
        true => Ok(Outcome::Passed),
        false => Ok(Outcome::Skipped { what: "some compilers".into(), why: missing.join("; ") }),
    }
}

/// A package with its sources, and how to ask for the truth about it.
struct Project {
    name: String,
    root: PathBuf,
    oracle: Oracle,
}

enum Oracle {
    TypeScript { script: PathBuf, compiler: PathBuf },
    Python { script: PathBuf, package: &'static str },
    Java,
    Gcc { includes: &'static [&'static str] },
}

impl Project {
    fn truth(&self, cache: &Path) -> Result<Command> {
        Ok(match &self.oracle {
            Oracle::Java => java_edges(cache, &self.root)?,
            Oracle::Gcc { includes } => gcc_includes(cache, &self.root, includes)?,
            Oracle::TypeScript { script, compiler } => {
                let mut command = Command::new("node");
                command.arg(script).arg(compiler).arg(&self.root);
                command
            }
            Oracle::Python { script, package } => {
                let mut command = Command::new("python3");
                command.arg(script).arg(&self.root).arg(package);
                command
            }
        })
    }

    /// Whether an edge is one that the other side can know: it looks at one language only.
    fn counts(&self, edge: &str) -> bool {
        let from = edge.split('\t').next().unwrap_or_default();
        match &self.oracle {
            Oracle::TypeScript { .. } => {
                let ending = from.rsplit('.').next().unwrap_or_default();
                matches!(ending, "ts" | "tsx" | "mts" | "cts")
            }
            Oracle::Java => from.ends_with(".java"),
            Oracle::Gcc { .. } => true,
            Oracle::Python { package, .. } => {
                from.ends_with(".py") && from.starts_with(&format!("{package}/"))
            }
        }
    }
}

fn compare(name: &str, truth: &BTreeSet<String>, ours: &BTreeSet<String>) -> Result<()> {
    let is_explained = |edge: &&String| {
        EXPLAINED.iter().any(|(project, known, _)| *project == name && *known == edge.as_str())
    };
    let missing: Vec<_> = truth.difference(ours).filter(|edge| !is_explained(edge)).collect();
    let wrong: Vec<_> = ours.difference(truth).filter(|edge| !is_explained(edge)).collect();
    for edge in &missing {
        say(&format!("missing: {edge}"));
    }
    for edge in &wrong {
        say(&format!("wrong:   {edge}"));
    }
    say(&format!(
        "{name}: {} edges, {} missing, {} wrong",
        truth.len(),
        missing.len(),
        wrong.len()
    ));
    ensure!(!truth.is_empty(), "{name}: the other side found no edges");
    if !missing.is_empty() || !wrong.is_empty() {
        bail!("{name}: the edges differ");
    }
    Ok(())
}

fn lines(output: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(output).lines().map(str::to_owned).collect()
}

/// Everything that is needed, from the registries or from the last time.
fn fetch(cache: &Path) -> Result<Vec<Project>> {
    fs::create_dir_all(cache).context("cannot make the directory for packages")?;
    let script = |name: &str, text: &str| -> Result<PathBuf> {
        let path = cache.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
        Ok(path)
    };
    let for_typescript = script("typescript_edges.cjs", TYPESCRIPT_EDGES)?;
    let for_python = script("python_edges.py", PYTHON_EDGES)?;
    let compiler = from_npm(cache, TYPESCRIPT)?.join("lib/typescript.js");
    let mut projects = Vec::new();
    for package in NPM {
        let root = from_npm(cache, package)?;
        let (script, compiler) = (for_typescript.clone(), compiler.clone());
        let oracle = Oracle::TypeScript { script, compiler };
        projects.push(Project { name: package.into(), root, oracle });
    }
    for (requirement, path, package) in PYPI {
        let root = without_tests(cache, requirement, package)?.join(path);
        let oracle = Oracle::Python { script: for_python.clone(), package };
        projects.push(Project { name: requirement.into(), root, oracle });
    }
    for package in JAVA {
        let root = from_npm(cache, package)?;
        projects.push(Project { name: package.into(), root, oracle: Oracle::Java });
    }
    let (package, path, includes) = CPP;
    let root = from_npm(cache, package)?.join(path);
    projects.push(Project { name: package.into(), root, oracle: Oracle::Gcc { includes } });
    Ok(projects)
}

/// The unpacked source distribution of PyPI. Its own tests are not part of the package, and on no
/// import path.
fn without_tests(cache: &Path, requirement: &str, package: &str) -> Result<PathBuf> {
    let root = from_pypi(cache, requirement)?;
    for extra in ["tests", "docs"] {
        if package != extra && root.join(extra).is_dir() {
            fs::remove_dir_all(root.join(extra)).context("cannot remove what is not needed")?;
        }
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(edges: &[&str]) -> BTreeSet<String> {
        edges.iter().map(|edge| (*edge).to_owned()).collect()
    }

    #[test]
    fn edges_must_agree_in_both_directions() {
        assert!(compare("x", &set(&["a\tb"]), &set(&["a\tb"])).is_ok());
        assert!(compare("x", &set(&["a\tb", "a\tc"]), &set(&["a\tb"])).is_err());
        assert!(compare("x", &set(&["a\tb"]), &set(&["a\tb", "a\tc"])).is_err());
        assert!(compare("x", &set(&[]), &set(&[])).is_err());
    }

    #[test]
    fn only_edges_that_the_other_side_can_know_count() {
        let project = |oracle| Project { name: "x".into(), root: "x".into(), oracle };
        let (script, compiler) = (PathBuf::new(), PathBuf::new());
        let typed = project(Oracle::TypeScript { script: script.clone(), compiler });
        assert!(typed.counts("src/a.d.ts\tb.ts") && !typed.counts("src/a.js\tb.ts"));
        let python = project(Oracle::Python { script, package: "flask" });
        assert!(python.counts("flask/a.py\tflask/b.py") && !python.counts("setup.py\tflask/b.py"));
    }
}
