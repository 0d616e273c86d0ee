//! What is measured: our server, and the servers and programs people would use instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::house::House;
use crate::step::run;

/// A server, and how it is asked to read a file.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    /// The parameters of `tools/call` that read the file.
    pub(crate) read: Value,
}

impl Server {
    /// A fresh command, ready to be started.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

pub(crate) const TOOLKILN: &str = "toolkiln";
/// The fastest we know.
pub(crate) const RUST_PEER: &str = "rust-mcp-filesystem";
/// The one most people use.
pub(crate) const NODE_PEER: &str = "server-filesystem (npm)";

const RUST_PEER_VERSION: &str = "0.4.5";
const NODE_PEER_PACKAGE: &str = "@modelcontextprotocol/server-filesystem";
const NODE_PEER_VERSION: &str = "2026.8.31";

/// Our own server on the project.
pub(crate) fn toolkiln(binary: &Path, project: &Path, file: &str) -> Server {
    Server {
        name: TOOLKILN,
        program: binary.to_owned(),
        arguments: vec!["mcp".into(), "--root".into(), project.display().to_string()],
        read: json!({"name": "read_file", "arguments": {"path": file}}),
    }
}

/// A Rust server, built once.
pub(crate) fn rust_peer(house: &House, project: &Path, file: &str) -> Result<Server> {
    let program = built_program(house, RUST_PEER, RUST_PEER_VERSION, RUST_PEER)?;
    Ok(Server {
        name: RUST_PEER,
        program,
        arguments: vec![project.display().to_string()],
        read: read_text_file(project, file),
    })
}

/// The reference server in TypeScript, installed once.
pub(crate) fn node_peer(house: &House, project: &Path, file: &str) -> Result<Server> {
    let modules = node_modules(house, "server-filesystem", NODE_PEER_PACKAGE, NODE_PEER_VERSION)?;
    let script = modules.join(NODE_PEER_PACKAGE).join("dist/index.js");
    Ok(Server {
        name: NODE_PEER,
        // The script itself, because a launcher would cost us its own start.
        program: "node".into(),
        arguments: vec![script.display().to_string(), project.display().to_string()],
        read: read_text_file(project, file),
    })
}

/// A package of npm, installed once under a name of ours; the directory that it and all it needs are in.
pub(crate) fn node_modules(
    house: &House,
    name: &str,
    package: &str,
    version: &str,
) -> Result<PathBuf> {
    let directory = house.cache("peers").join(name);
    installed_once(&directory, version, || {
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&directory);
        run(install.arg(format!("{package}@{version}")))
    })?;
    Ok(directory.join("node_modules"))
}

/// A program of crates.io, built once; the path of its binary.
pub(crate) fn built_program(
    house: &House,
    package: &str,
    version: &str,
    binary: &str,
) -> Result<PathBuf> {
    let directory = house.cache("peers").join(package);
    installed_once(&directory, version, || {
        let mut install = house.cargo();
        install.args(["install", package, "--version", version, "--locked", "--root"]);
        install.arg(&directory);
        // Beside our own artefacts its dependencies would only take the lock and the space.
        run(install.env("CARGO_TARGET_DIR", directory.join("build")))?;
        fs::remove_dir_all(directory.join("build")).context("cannot remove the build directory")
    })?;
    Ok(directory.join("bin").join(binary))
}

fn read_text_file(project: &Path, file: &str) -> Value {
    json!({"name": "read_text_file", "arguments": {"path": project.join(file)}})
}

/// Does the work unless a stamp of the same version lies there.
pub(crate) fn installed_once(
    directory: &Path,
    version: &str,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = directory.join("version.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|kept| kept == version) {
        return Ok(());
    }
    fs::create_dir_all(directory).context("cannot make the directory for peers")?;
    install()?;
    fs::write(&stamp, version).context("cannot write the stamp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_installed_once() {
        let project = testkit::Fixture::new("");
        let mut count = 0;
        for version in ["1", "1", "2", "2"] {
            let install = || {
                count += 1;
                Ok(())
            };
            installed_once(project.root(), version, install).expect("it installs");
        }
        assert_eq!(count, 2);
    }

    #[test]
    fn a_failed_installation_leaves_no_stamp() {
        let project = testkit::Fixture::new("");
        assert!(installed_once(project.root(), "1", || anyhow::bail!("no network")).is_err());
        assert!(!project.path("version.stamp").exists());
    }
}
