//! The projects: what they are made of and what people do in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::fetch::{from_pypi, output};
use crate::house::House;

/// Versions are pinned, so that a new release cannot break us on a day of its own choosing.
const PYTHON_PROJECT: &str = "itsdangerous==2.2.0";
const PYTHON_PACKAGES: [&str; 2] = ["pytest==8.2.2", "freezegun==1.5.1"];
const PYTHON_TESTS: &str = "tests/test_itsdangerous/test_encoding.py";

/// It builds before it tests, and only what is older than its source.
const NODE_BUILD: &str = "\
const fs = require('node:fs');
const time = (file) => (fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0);
if (time('src/versions.js') > time('dist/versions.js')) {
  fs.mkdirSync('dist', { recursive: true });
  fs.copyFileSync('src/versions.js', 'dist/versions.js');
  console.log('rebuilt versions');
}
";

const NODE_FILES: [(&str, &str); 5] = [
    (
        "package.json",
        r#"{"name": "versions", "private": true, "scripts": {"pretest": "node build.js", "test": "mocha"},
            "dependencies": {"semver": "7.6.2"}, "devDependencies": {"mocha": "10.4.0"}}"#,
    ),
    ("build.js", NODE_BUILD),
    ("src/versions.js", "exports.newer = require('semver').gt;\n"),
    (
        "test/versions.js",
        "const { equal } = require('node:assert');\nconst { newer } = require('../dist/versions');\n\
         it('compares versions', () => equal(newer('1.10.0', '1.9.0'), true));\n",
    ),
    (".gitignore", "node_modules\ndist\n"),
];

const RUST_FILES: [(&str, &str); 3] = [
    (
        "Cargo.toml",
        "[package]\nname = \"points\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n\
         serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n",
    ),
    (
        "src/lib.rs",
        "#[derive(serde::Serialize)]\npub struct Point {\n    pub x: u32,\n}\n\n#[test]\nfn is_written() {\n    \
         assert_eq!(serde_json::to_string(&Point { x: 1 }).unwrap(), r#\"{\"x\":1}\"#);\n}\n",
    ),
    (".gitignore", "target\n"),
];

/// What a project is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Python,
    Node,
    Rust,
}

/// A project on the disk.
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) root: PathBuf,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Python, Kind::Node, Kind::Rust];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Python => "python",
            Kind::Node => "node",
            Kind::Rust => "rust",
        }
    }

    /// Makes the project, with its dependencies and a repository, as it was before any work in it.
    pub(super) fn make(self, house: &House) -> Result<Place> {
        let cache = house.cache("confined");
        let root = match self {
            Kind::Python => from_pypi(&cache, PYTHON_PROJECT)?,
            Kind::Node | Kind::Rust => cache.join(self.name()),
        };
        match self {
            Kind::Python => make_python(&root)?,
            Kind::Node => {
                write(&root, &NODE_FILES)?;
                let mut install = Command::new("npm");
                output(install.args(["install", "--silent", "--no-audit"]).current_dir(&root))?;
            }
            Kind::Rust => {
                write(&root, &RUST_FILES)?;
                output(house.cargo().args(["fetch", "--quiet"]).current_dir(&root))?;
            }
        }
        let place = Place { kind: self, root };
        place.reset()?;
        Ok(place)
    }

    /// How its user, and the agent, builds and tests it.
    pub(super) fn command(self) -> &'static str {
        match self {
            Kind::Python => ".venv/bin/python -m pytest -q",
            Kind::Node => "npm test",
            Kind::Rust => "cargo test",
        }
    }

    /// How many tests it has at least.
    pub(super) fn tests(self) -> u64 {
        match self {
            Kind::Python => 200,
            Kind::Node | Kind::Rust => 1,
        }
    }

    /// What one edit adds to which files: one more test, and a change of a source.
    pub(super) fn edit(self, number: usize) -> Vec<(&'static str, String)> {
        match self {
            Kind::Python => {
                vec![(PYTHON_TESTS, format!("\n\ndef test_added_{number}():\n    pass\n"))]
            }
            Kind::Node => vec![
                ("src/versions.js", format!("// {number}\n")),
                ("test/versions.js", format!("it('is added {number}', () => {{}});\n")),
            ],
            Kind::Rust => vec![("src/lib.rs", format!("\n#[test]\nfn added_{number}() {{}}\n"))],
        }
    }

    /// A file, a line that makes its tests fail, and one that changes nothing.
    pub(super) fn lines(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::Python => (PYTHON_TESTS, "def test_broken(): assert False", "# edited"),
            Kind::Node => ("test/versions.js", "it(`is broken`, () => equal(1, 2));", "// edited"),
            Kind::Rust => ("src/lib.rs", "#[test] fn is_broken() { panic!() }", "// edited"),
        }
    }

    /// What was built anew, as its output tells. Python does not tell.
    pub(super) fn rebuilt(self, output: &str) -> Option<usize> {
        let count = |word: &str| Some(output.matches(word).count());
        match self {
            Kind::Python => None,
            Kind::Node => count("rebuilt versions"),
            Kind::Rust => count("Compiling "),
        }
    }

    /// Whether a file is what a build makes and a second one does not make again.
    pub(super) fn is_built(self, path: &Path) -> bool {
        match self {
            Kind::Python => path.extension().is_some_and(|ending| ending == "pyc"),
            Kind::Node => path.starts_with("dist"),
            Kind::Rust => path.starts_with("target/debug/deps"),
        }
    }
}

/// A source distribution with a virtual environment in it.
fn make_python(root: &Path) -> Result<()> {
    let pip = root.join(".venv/bin/pip");
    if !pip.is_file() {
        output(Command::new("python3").args(["-m", "venv", ".venv"]).current_dir(root))?;
    }
    let mut install = Command::new(pip);
    install.args(["install", "--quiet", "--disable-pip-version-check", "--editable", "."]);
    output(install.args(PYTHON_PACKAGES).current_dir(root))?;
    write(root, &[(".gitignore", ".venv\n__pycache__\n.pytest_cache\n")])
}

impl Place {
    /// Takes back all edits, by the repository, which is made if it is not there.
    pub(super) fn reset(&self) -> Result<()> {
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=user", "-c", "user.email=user@example.org"]);
            output(command.args(words).current_dir(&self.root))
        };
        if !self.root.join(".git").is_dir() {
            git(&["init", "--quiet"])?;
            git(&["add", "--all"])?;
            git(&["commit", "--quiet", "--message", "as it was made"])?;
        }
        git(&["reset", "--quiet", "--hard"])?;
        git(&["clean", "--quiet", "--force", "-d"])?;
        Ok(())
    }
}

fn write(root: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (name, text) in files {
        let path = root.join(name);
        let parent = path.parent().context("a file lies in a directory")?;
        fs::create_dir_all(parent).context("cannot make a directory")?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
