//! Packages of other people, fetched and unpacked once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The unpacked package of npm.
pub(crate) fn from_npm(cache: &Path, package: &str) -> Result<PathBuf> {
    let place = cache.join(package.replace('/', "-"));
    let root = place.join("package");
    if !root.join("package.json").is_file() {
        fs::create_dir_all(&place).context("cannot make the directory for a package")?;
        output(Command::new("npm").args(["pack", "--silent", package]).current_dir(&place))?;
        unpack(&place, ".tgz")?;
    }
    Ok(root)
}

/// The unpacked source distribution of PyPI.
pub(crate) fn from_pypi(cache: &Path, requirement: &str) -> Result<PathBuf> {
    let place = cache.join(requirement);
    let unpacked = || -> Option<PathBuf> {
        let entries = fs::read_dir(&place).ok()?;
        entries.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
    };
    if unpacked().is_none() {
        fs::create_dir_all(&place).context("cannot make the directory for a package")?;
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"]);
        command.args(["--no-deps", "--no-binary", ":all:", "--dest", ".", requirement]);
        output(command.current_dir(&place))?;
        unpack(&place, ".tar.gz")?;
    }
    unpacked().with_context(|| format!("{requirement} holds no directory"))
}

fn unpack(place: &Path, ending: &str) -> Result<()> {
    let entries = fs::read_dir(place).context("cannot list a package")?;
    let mut names = entries.flatten().map(|entry| entry.file_name());
    let archive = names.find(|name| name.to_string_lossy().ends_with(ending));
    let archive = archive.with_context(|| format!("no {ending} was fetched"))?;
    // Ours, whoever packed it.
    let mut tar = Command::new("tar");
    output(tar.args(["xz", "--no-same-owner", "-f"]).arg(archive).current_dir(place))?;
    Ok(())
}

/// Installs a package of Debian, where that is allowed.
pub(crate) fn install_debian(package: &str) -> Result<()> {
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["--quiet", "--yes", "-o", "Acquire::Retries=3"]).args(words);
        output(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = || apt(&["install", "--no-install-recommends", package]);
    // A new machine may not know the present list of packages.
    if install().is_err() {
        apt(&["update"])?;
        install()?;
    }
    Ok(())
}

/// What a command printed, if it ended well.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&said));
    Ok(output.stdout)
}
