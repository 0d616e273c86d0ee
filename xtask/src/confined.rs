//! Tests of real projects, run by our tools: confined and without a network they pass as they do
//! outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::fetch::{from_pypi, output};
use crate::house::House;
use crate::step::{Outcome, one_line};

/// Versions are pinned, so that a new release cannot break us on a day of its own choosing.
const PYTHON_PROJECT: &str = "itsdangerous==2.2.0";
const PYTHON_PACKAGES: [&str; 2] = ["pytest==8.2.2", "freezegun==1.5.1"];

const NODE_FILES: [(&str, &str); 3] = [
    (
        "package.json",
        r#"{"name": "versions", "private": true, "scripts": {"test": "mocha", "build": "rm -rf dist && cp -r test dist"},
            "dependencies": {"semver": "7.6.2"}, "devDependencies": {"mocha": "10.4.0"}}"#,
    ),
    (
        "test/versions.js",
        "const { equal } = require('node:assert');\nconst semver = require('semver');\n\
         it('compares versions', () => equal(semver.gt('1.10.0', '1.9.0'), true));\n",
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

/// A project, and what people run in it.
struct Project {
    root: PathBuf,
    /// How many tests it has at least.
    tests: u64,
    /// Shell commands that must end well, one after the other.
    commands: &'static [&'static str],
}

/// Runs the tests of each project with `run_tests` and with `bash`.
pub(crate) fn projects(house: &House, binary: &Path) -> Result<Outcome> {
    let made = [python(house), node(house), rust(house)];
    let mut missing = Vec::new();
    for project in made {
        match project {
            Ok(project) => project.pass(binary)?,
            Err(why) => missing.push(one_line(&format!("{why:#}"))),
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Skipped { what: "tests of some real projects".into(), why: missing.join("; ") })
}

/// A source distribution with a virtual environment in it.
fn python(house: &House) -> Result<Project> {
    let root = from_pypi(&house.cache("confined"), PYTHON_PROJECT)?;
    let pip = root.join(".venv/bin/pip");
    if !pip.is_file() {
        output(Command::new("python3").args(["-m", "venv", ".venv"]).current_dir(&root))?;
    }
    let mut install = Command::new(pip);
    install.args(["install", "--quiet", "--disable-pip-version-check", "."]);
    output(install.args(PYTHON_PACKAGES).current_dir(&root))?;
    write(&root, &[(".gitignore", ".venv\n__pycache__\n.pytest_cache\n")])?;
    Ok(Project { root, tests: 200, commands: &[".venv/bin/pytest -q", ".venv/bin/pytest -q"] })
}

fn node(house: &House) -> Result<Project> {
    let root = house.cache("confined").join("node");
    write(&root, &NODE_FILES)?;
    output(Command::new("npm").args(["install", "--silent", "--no-audit"]).current_dir(&root))?;
    let commands = &["npm test", "npm run build", "npm run build"];
    Ok(Project { root, tests: 1, commands })
}

fn rust(house: &House) -> Result<Project> {
    let root = house.cache("confined").join("rust");
    write(&root, &RUST_FILES)?;
    output(house.cargo().args(["fetch", "--quiet"]).current_dir(&root))?;
    let commands = &["cargo test --quiet", "cargo clean", "cargo test --quiet"];
    Ok(Project { root, tests: 1, commands })
}

impl Project {
    fn pass(&self, binary: &Path) -> Result<()> {
        let name = self.root.display();
        let tests = self.call(binary, "run_tests", &json!({}))?;
        let passed = tests["passed"].as_u64().unwrap_or(0);
        let all_passed = tests["ok"] == true && passed >= self.tests;
        ensure!(all_passed, "{name}: run_tests answers {tests}");
        println!("{name}: {passed} tests passed");
        for command in self.commands {
            let ran = self.call(binary, "bash", &json!({"command": command, "timeout": 60}))?;
            ensure!(ran["return_code"] == 0, "{name}: `{command}` answers {ran}");
            println!("{name}: `{command}` ended well");
        }
        Ok(())
    }

    fn call(&self, binary: &Path, tool: &str, arguments: &Value) -> Result<Value> {
        let mut command = Command::new(binary);
        command.args(["call", "--yes", tool, &arguments.to_string()]).current_dir(&self.root);
        // Where our own build puts its results is nobody else's business.
        command.env_remove("CARGO_TARGET_DIR");
        serde_json::from_slice(&output(&mut command)?).context("the answer is no JSON")
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
