//! The code base that searches are measured on: the Linux source as Debian packs it, fetched once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::peers::installed_once;
use crate::house::House;
use crate::step::run;

const PACKAGE: &str = "linux-source-6.1";
/// Changes whenever the copy is prepared in another way.
const PREPARED: &str = "linux-source-6.1, 1";

/// The directory given, or our own copy of the Linux source.
pub(crate) fn root(house: &House, given: Option<&Path>) -> Result<PathBuf> {
    let root = match given {
        Some(directory) => directory.to_owned(),
        None => own_copy(house)?,
    };
    let root = root.canonicalize().with_context(|| format!("no {}", root.display()))?;
    ensure!(root.is_dir(), "{} is not a directory", root.display());
    Ok(root)
}

fn own_copy(house: &House) -> Result<PathBuf> {
    let directory = house.cache("corpus");
    let root = directory.join(PACKAGE);
    installed_once(&directory, PREPARED, || {
        // What an interrupted attempt has left would be mixed with what comes now.
        for left in [&root, &directory.join("deb")] {
            if left.exists() {
                fs::remove_dir_all(left).context("cannot remove an unfinished corpus")?;
            }
        }
        unpack(&directory)?;
        let ignore_file = root.join(".gitignore");
        let text = fs::read_to_string(&ignore_file).context("the source has no .gitignore")?;
        fs::write(&ignore_file, without_hiding_everything(&text))?;
        track(&root)
    })?;
    Ok(root)
}

/// Leaves the source below `directory`, and nothing else.
fn unpack(directory: &Path) -> Result<()> {
    let package = directory.join("deb");
    fs::create_dir_all(&package)?;
    run(Command::new("apt-get").args(["download", PACKAGE]).current_dir(&package))?;
    let files = fs::read_dir(&package)?.collect::<Result<Vec<_>, _>>()?;
    let deb = files.first().context("apt-get has downloaded nothing")?.path();
    run(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&package))?;
    let archive = package.join("usr/src").join(format!("{PACKAGE}.tar.xz"));
    run(Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(directory))?;
    fs::remove_dir_all(&package).context("cannot remove the package")
}

/// Debian hides the whole tree from git by one line; without it the ignore file says what is
/// generated, as it does upstream.
fn without_hiding_everything(ignore_file: &str) -> String {
    let lines = ignore_file.split_inclusive('\n');
    lines.filter(|line| !matches!(line.trim(), "/*" | "*")).collect()
}

/// Puts everything under git's eyes, for comparisons with `git ls-files`.
fn track(root: &Path) -> Result<()> {
    run(git(root).args(["init", "--quiet", "."]))?;
    run(git(root).args(["-c", "core.autocrlf=false", "-c", "gc.auto=0", "add", "--all", "."]))
}

/// Git at the root, without the configuration of whoever measures.
pub(crate) fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    // Directories of other owners are refused otherwise, such as one that is mounted.
    command.arg("-c").arg("safe.directory=*").current_dir(root);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_line_that_hides_everything_is_dropped() {
        let text = "# comment\n/*\n*.o\n !/keep\n/*.tmp\n";
        assert_eq!(without_hiding_everything(text), "# comment\n*.o\n !/keep\n/*.tmp\n");
        assert_eq!(without_hiding_everything("/*"), "");
    }

    #[test]
    fn a_directory_that_was_given_has_to_be_one() {
        let project = testkit::Fixture::new("//- /a.txt\ntext\n");
        let house = House { root: "/".into(), target: "/".into() };
        assert!(root(&house, Some(project.root())).is_ok());
        assert!(root(&house, Some(&project.path("a.txt"))).is_err());
        assert!(root(&house, Some(&project.path("missing"))).is_err());
    }
}
