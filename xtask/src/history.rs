//! The step "replay of real history": published packages, from version to version, by our tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::house::House;
use crate::step::{Outcome, one_line, run as run_command};

/// A package and some of its versions, oldest first.
type Package = (&'static str, &'static [&'static str]);

/// Small, well known, and with real changes from version to version. The first three go from LF to
/// CR LF and back, or mix them; `bitflags` adds and removes many files.
const PACKAGES: [Package; 6] = [
    ("allocator-api2", &["0.2.16", "0.2.18", "0.2.20", "0.2.21"]),
    ("ansi_term", &["0.10.2", "0.11.0", "0.12.1"]),
    ("generic-array", &["0.13.2", "0.14.2", "0.14.4", "0.14.5", "0.14.6", "0.14.7"]),
    ("bitflags", &["1.2.1", "1.3.2", "2.0.2", "2.4.0"]),
    ("either", &["1.5.0", "1.6.1", "1.8.0", "1.10.0", "1.15.0"]),
    ("smallvec", &["0.6.14", "1.0.0", "1.6.1", "1.10.0", "1.11.2"]),
];

/// Memory that is mounted as a directory. Whether the disk keeps what it is given is a question for
/// other tests, and waiting for it takes a good part of the time.
const MEMORY: &str = "/dev/shm";

/// Runs the example that replays. Only fetching the packages may be skipped.
pub(crate) fn replay(house: &House) -> Result<Outcome> {
    let directories = match version_directories(&house.cache("history")) {
        Ok(directories) => directories,
        Err(why) => {
            return Ok(Outcome::Skipped {
                what: "replay of real history".into(),
                why: one_line(&format!("{why:#}")),
            });
        }
    };
    // The program that the tests have built, and not `cargo run`: for one package alone, features
    // resolve differently and most dependencies would be built again.
    let mut command = Command::new(house.example("debug", "replay_history"));
    if Path::new(MEMORY).is_dir() {
        command.env("TMPDIR", MEMORY);
    }
    run_command(command.args(directories))?;
    Ok(Outcome::Passed)
}

/// Where cargo keeps the sources of every version, in the order of [`PACKAGES`].
fn version_directories(cache: &Path) -> Result<Vec<PathBuf>> {
    let rounds = PACKAGES.iter().map(|(_, versions)| versions.len()).max().unwrap_or(0);
    let mut found = Vec::new();
    for round in 0..rounds {
        let directory = cache.join(round.to_string());
        let metadata = fetched(&directory, &manifest(round))?;
        found.extend(metadata["packages"].as_array().cloned().unwrap_or_default());
    }
    let mut directories = Vec::new();
    for (name, versions) in PACKAGES {
        for version in versions {
            let is_it =
                |package: &&Value| package["name"] == name && package["version"] == *version;
            let package = found.iter().find(is_it);
            let path = package.and_then(|package| package["manifest_path"].as_str());
            let path = Path::new(path.with_context(|| format!("no sources of {name} {version}"))?);
            directories.push(path.parent().context("a manifest lies in a directory")?.to_owned());
        }
    }
    Ok(directories)
}

/// A package that depends on one version of each. Cargo allows only one of several compatible
/// versions in a workspace, so that every round is a workspace of its own.
fn manifest(round: usize) -> String {
    let versions = PACKAGES
        .iter()
        .filter_map(|(name, versions)| Some(format!("{name} = \"={}\"\n", versions.get(round)?)));
    format!(
        "[package]\nname = \"history\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = \"nothing.rs\"\n\n[workspace]\n\n[dependencies]\n{}",
        versions.collect::<String>()
    )
}

/// What cargo says about the packages of a manifest. The network is asked only if the manifest is
/// another than the last time, or if the sources have gone meanwhile.
pub(crate) fn fetched(directory: &Path, manifest: &str) -> Result<Value> {
    let file = directory.join("Cargo.toml");
    if fs::read_to_string(&file).is_ok_and(|kept| kept == manifest)
        && let Ok(metadata) = metadata(directory)
    {
        return Ok(metadata);
    }
    fs::create_dir_all(directory).context("cannot make the directory for history")?;
    fs::write(directory.join("nothing.rs"), "").context("cannot write the library")?;
    fs::write(&file, manifest).context("cannot write the manifest")?;
    // Without a platform, cargo fetches what others need as well.
    output(Command::new("cargo").args(["fetch", "--target", "host-tuple"]).current_dir(directory))?;
    metadata(directory)
}

fn metadata(directory: &Path) -> Result<Value> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--offline", "--format-version", "1"]);
    command.args(["--filter-platform", "host-tuple"]).current_dir(directory);
    serde_json::from_slice(&output(&mut command)?).context("cargo metadata")
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().context("cannot start cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_holds_one_version_of_each_package() {
        let first = manifest(0);
        for (name, versions) in PACKAGES {
            assert!(first.contains(&format!("{name} = \"={}\"\n", versions[0])), "{first}");
        }
        let last = manifest(5);
        assert!(last.ends_with("[dependencies]\ngeneric-array = \"=0.14.7\"\n"), "{last}");
    }

    #[test]
    fn what_cargo_cannot_fetch_is_a_reason_to_skip() {
        let project = testkit::Fixture::new("");
        let error = fetched(project.root(), "nonsense").expect_err("no manifest");
        assert!(error.to_string().contains("nonsense"), "{error}");
        // The manifest was written, but that alone does not count as fetched.
        assert!(fetched(project.root(), "nonsense").is_err());
    }
}
