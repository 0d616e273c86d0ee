//! `cargo xtask vendor`: the libraries of the page, compared with the packages they come from.
//!
//! `manifest.json` beside them is the list. A tidy test compares files and list without the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512};

use crate::fetch::output;
use crate::house::House;

const DIRECTORY: &str = "crates/web_service/ui/vendor";
const MANIFEST: &str = "manifest.json";
/// How npm writes the hash of an archive.
const INTEGRITY_KIND: &str = "sha512-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The files must be those of the packages.
    Check,
    /// The files become those of the versions in the list.
    Update,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorList {
    packages: Vec<VendoredPackage>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendoredPackage {
    package: String,
    version: String,
    /// npm's hash of the archive.
    integrity: String,
    /// An SPDX expression.
    licence: String,
    files: Vec<VendoredFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendoredFile {
    /// Where it is, from the list.
    file: String,
    /// Where it is in the package.
    from: String,
    blake3: String,
}

/// Fetches every package anew and compares or takes its files.
pub(crate) fn run(purpose: Purpose) -> Result<ExitCode> {
    let directory = House::find()?.root.join(DIRECTORY);
    let text = fs::read_to_string(directory.join(MANIFEST)).context(MANIFEST)?;
    let mut list: VendorList = serde_json::from_str(&text).context(MANIFEST)?;
    for package in &mut list.packages {
        let fetched = tempfile::tempdir()?;
        let root = unpacked(package, purpose, fetched.path())?;
        for file in &mut package.files {
            compare(file, &root, &directory, purpose)?;
        }
        let VendoredPackage { package, version, files, .. } = package;
        println!("{package} {version}: {} files", files.len());
    }
    if purpose == Purpose::Update {
        let text = serde_json::to_string_pretty(&list)? + "\n";
        fs::write(directory.join(MANIFEST), text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Fetches and unpacks a package after a look at its hash.
fn unpacked(package: &mut VendoredPackage, purpose: Purpose, place: &Path) -> Result<PathBuf> {
    let name = format!("{}@{}", package.package, package.version);
    output(Command::new("npm").args(["pack", "--silent", &name]).current_dir(place))?;
    let archive = fs::read_dir(place)?.flatten().next().context("npm has fetched nothing")?.path();
    let fetched = integrity(&fs::read(&archive)?);
    if purpose == Purpose::Update {
        package.integrity.clone_from(&fetched);
    }
    ensure!(
        package.integrity == fetched,
        "{name} is another archive than the listed one: {fetched} instead of {}",
        package.integrity
    );
    let mut tar = Command::new("tar");
    output(tar.args(["xz", "--no-same-owner", "-f"]).arg(&archive).current_dir(place))?;
    let root = place.join("package");
    let about: serde_json::Value = serde_json::from_slice(&fs::read(root.join("package.json"))?)?;
    ensure!(
        about["license"].as_str() == Some(&package.licence),
        "{name} has the licence {}, and the list says {}",
        about["license"],
        package.licence
    );
    Ok(root)
}

fn compare(file: &mut VendoredFile, root: &Path, ours: &Path, purpose: Purpose) -> Result<()> {
    let theirs = fs::read(root.join(&file.from)).with_context(|| file.from.clone())?;
    let place = ours.join(&file.file);
    if purpose == Purpose::Update {
        file.blake3 = blake3::hash(&theirs).to_hex().to_string();
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&place, &theirs)?;
    }
    if fs::read(&place).with_context(|| file.file.clone())? != theirs {
        bail!(
            "{} is not the package's {}; take it with: cargo xtask vendor --update",
            file.file,
            file.from
        );
    }
    Ok(())
}

fn integrity(archive: &[u8]) -> String {
    format!("{INTEGRITY_KIND}{}", STANDARD.encode(Sha512::digest(archive)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_as_npm_writes_it() {
        let known = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
        assert_eq!(integrity(b""), known);
    }
}
