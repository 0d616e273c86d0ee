//! The step "symbols beside ctags": definitions in real packages, as we and universal-ctags see them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::history::fetched;
use crate::house::House;
use crate::languages::more_sources;
use crate::step::{Outcome, one_line, run as run_command};

/// Rust, and C in the sources that a crate brings along.
const CRATES: [(&str, &str); 3] =
    [("clap_builder", "4.6.7"), ("regex", "1.13.1"), ("zstd-sys", "2.0.16")];

/// JavaScript, TypeScript with and without JSX, Bash, C++, Java.
const NPM: [&str; 11] = [
    "express@5.3.0",
    "lodash@4.18.1",
    "rxjs@7.8.2",
    "@tanstack/query-core@5.107.1",
    "@tanstack/react-query@5.107.1",
    "bats@1.13.0",
    "nan@2.30.0",
    "node-addon-api@8.9.2",
    "leveldown@6.1.1",
    "cordova-android@15.1.0",
    "react-native-maps@1.29.11",
];

/// Python, as it is installed.
const WHEELS: [&str; 3] = ["requests==2.34.2", "flask==3.1.3", "werkzeug==3.1.9"];

/// C#, in the sources of a Python package.
const SOURCES: [&str; 1] = ["pythonnet==3.2.1"];

/// Go, PHP and Ruby. Debian has one version of each, the one of the release.
const DEBIAN: [&str; 8] = [
    "golang-github-spf13-cobra-dev",
    "golang-github-gin-gonic-gin-dev",
    "golang-github-sirupsen-logrus-dev",
    "php-symfony-console",
    "php-twig",
    "ruby-activesupport",
    "ruby-rack",
    "ruby-sinatra",
];

/// The program to compare with, and the libraries that it alone needs.
const CTAGS: [&str; 3] = ["universal-ctags", "libjansson4", "libyaml-0-2"];

/// How many names of a language every test asks for in each package.
const ASKED: &str = "12";

/// Runs the example that compares, with what could be fetched.
pub(crate) fn accuracy(house: &House) -> Result<Outcome> {
    run(house, ASKED, Ok(Vec::new()))
}

/// The same with more packages, and with so many names of each.
pub(crate) fn accuracy_with(house: &House, asked: &str) -> Result<Outcome> {
    run(house, asked, more_sources(house))
}

/// One package of Debian, unpacked.
pub(crate) fn debian_package(house: &House, package: &str) -> Result<PathBuf> {
    let found = debian(&house.cache(&format!("debian-{package}")), &[package])?;
    found.into_iter().next().context("no package")
}

/// Only fetching may be skipped: what is there is judged, and the languages that are missing are named.
fn run(house: &House, asked: &str, more: Result<Vec<PathBuf>>) -> Result<Outcome> {
    let cache = house.cache("symbols");
    let ctags = match universal_ctags(&cache.join("ctags")) {
        Ok(ctags) => ctags,
        Err(why) => {
            return Ok(skipped("symbols beside ctags", &[one_line(&format!("{why:#}"))]));
        }
    };
    let mut directories = Vec::new();
    let mut reasons = Vec::new();
    let sources: [(&str, Result<Vec<PathBuf>>); 6] = [
        ("Rust and C from crates.io", crates(&cache.join("crates"), &CRATES)),
        ("JavaScript, TypeScript, Bash, C++ and Java from npm", npm(&cache.join("npm"))),
        ("Python from PyPI", python(&cache.join("wheels"), &WHEELS, "--only-binary=:all:")),
        ("C# from PyPI", python(&cache.join("sources"), &SOURCES, "--no-binary=:all:")),
        ("Go, PHP and Ruby from Debian", debian(&cache.join("debian"), &DEBIAN)),
        ("more JavaScript, C++ and C#", more),
    ];
    for (what, source) in sources {
        match source {
            Ok(found) => directories.extend(found),
            Err(why) => reasons.push(one_line(&format!("{what}: {why:#}"))),
        }
    }
    if !directories.is_empty() {
        // The program that the tests have built, as for the replay of history.
        let mut command = Command::new(house.example("debug", "symbol_accuracy"));
        command.args(["--asked", asked]).args(directories).envs(ctags);
        run_command(&mut command)?;
    }
    Ok(if reasons.is_empty() { Outcome::Passed } else { skipped("part of the packages", &reasons) })
}

fn skipped(what: &str, reasons: &[String]) -> Outcome {
    Outcome::Skipped { what: what.into(), why: reasons.join("; ") }
}

/// What has to be set for a program called `ctags` to be universal-ctags: nothing if it is, else
/// where Debian's package was unpacked. Other programs of that name cannot write JSON.
fn universal_ctags(directory: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let writes_json = |command: &mut Command| {
        let features = quiet(command.arg("--list-features"))?;
        ensure!(features.contains("json"), "this ctags cannot write JSON; universal-ctags can");
        Ok(())
    };
    if writes_json(&mut Command::new("ctags")).is_ok() {
        return Ok(Vec::new());
    }
    let packages = debian(directory, &CTAGS)?;
    let paths = |beneath: &[&str], more: Option<OsString>| {
        let own = packages.iter().flat_map(|it| beneath.iter().map(move |part| it.join(part)));
        env::join_paths(own.chain(more.iter().flat_map(env::split_paths)))
    };
    let libraries: Vec<String> = vec![format!("usr/lib/{}-linux-gnu", env::consts::ARCH)];
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    let program = packages.iter().map(|it| it.join("usr/bin/ctags-universal"));
    let program = program.into_iter().find(|it| it.exists()).context("no ctags in the package")?;
    // The package leaves the name `ctags` to a choice of the system's.
    let alias = program.with_file_name("ctags");
    if !alias.exists() {
        fs::copy(&program, &alias).context("cannot copy ctags")?;
    }
    let variables = vec![
        ("PATH", paths(&["usr/bin"], env::var_os("PATH"))?),
        ("LD_LIBRARY_PATH", paths(&libraries, env::var_os("LD_LIBRARY_PATH"))?),
    ];
    writes_json(Command::new(&alias).envs(variables.clone()))?;
    Ok(variables)
}

/// Where cargo keeps the sources of some crates, name and version.
pub(crate) fn crates(directory: &Path, wanted: &[(&str, &str)]) -> Result<Vec<PathBuf>> {
    let dependency = |(name, version): &(&str, &str)| format!("{name} = \"={version}\"\n");
    let dependencies: String = wanted.iter().map(dependency).collect();
    let manifest = format!(
        "[package]\nname = \"symbols\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = \"nothing.rs\"\n\n[workspace]\n\n[dependencies]\n{dependencies}"
    );
    let metadata = fetched(directory, &manifest)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let directory_of = |name: &str| {
        let is_it = |package: &&Value| package["name"] == name;
        let path = packages.iter().find(is_it)?["manifest_path"].as_str()?;
        Some(Path::new(path).parent()?.to_owned())
    };
    let found = wanted.iter().map(|(name, _)| {
        directory_of(name).with_context(|| format!("no sources of the crate {name}"))
    });
    found.collect()
}

fn npm(directory: &Path) -> Result<Vec<PathBuf>> {
    once(directory, &NPM, || {
        for package in NPM {
            let mut pack = Command::new("npm");
            pack.args(["pack", "--silent", package]).current_dir(directory);
            let archive = last_line(&quiet(&mut pack)?)?;
            let place = directory.join(archive.trim_end_matches(".tgz"));
            fs::create_dir_all(&place)?;
            let mut unpack = Command::new("tar");
            quiet(unpack.arg("xzf").arg(directory.join(&archive)).arg("-C").arg(place))?;
        }
        Ok(())
    })
}

/// `kind` says whether wheels or sources are wanted.
fn python(directory: &Path, packages: &[&str], kind: &str) -> Result<Vec<PathBuf>> {
    once(directory, packages, || {
        let mut download = Command::new("python3");
        download.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
        ]);
        quiet(download.arg(kind).args(packages).current_dir(directory))?;
        for archive in files_of(directory)? {
            // Wheels are zip files, sources tar files; both modules can be run alike.
            let is_wheel = archive.extension().is_some_and(|extension| extension == "whl");
            let module = if is_wheel { "zipfile" } else { "tarfile" };
            let place = archive.with_extension("unpacked");
            let mut unpack = Command::new("python3");
            quiet(unpack.args(["-m", module, "-e"]).arg(&archive).arg(place))?;
        }
        Ok(())
    })
}

fn debian(directory: &Path, packages: &[&str]) -> Result<Vec<PathBuf>> {
    once(directory, packages, || {
        let download = || {
            let mut download = Command::new("apt-get");
            quiet(download.args(["--quiet", "download"]).args(packages).current_dir(directory))
        };
        // A new machine may not know the present list of packages.
        if download().is_err() {
            quiet(Command::new("apt-get").args(["--quiet", "update"]))?;
            download()?;
        }
        for archive in files_of(directory)? {
            let place = archive.with_extension("unpacked");
            quiet(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(place))?;
        }
        Ok(())
    })
}

/// Fills a directory if it does not hold what `wanted` names already. A directory that was left half
/// filled has no stamp and is filled anew.
fn once(
    directory: &Path,
    wanted: &[&str],
    fill: impl FnOnce() -> Result<()>,
) -> Result<Vec<PathBuf>> {
    let stamp = directory.join("wanted.stamp");
    let wanted = wanted.join("\n");
    if !fs::read_to_string(&stamp).is_ok_and(|kept| kept == wanted) {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("cannot empty the directory for packages");
            }
            _ => fs::create_dir_all(directory).context("cannot make a directory for packages")?,
        }
        fill()?;
        fs::write(&stamp, wanted).context("cannot write the stamp")?;
    }
    let entries = fs::read_dir(directory).context("cannot list the packages")?;
    let mut places: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    places.sort();
    Ok(places)
}

fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).context("cannot list what was fetched")?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

fn last_line(output: &str) -> Result<String> {
    match output.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => Ok(line.trim().to_owned()),
        None => bail!("npm did not say what it fetched"),
    }
}

/// What a command prints; if it fails, what it complains about.
fn quiet(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    ensure!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("failed without a word")
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_filled_once_for_a_list() {
        let project = testkit::Fixture::new("");
        let directory = project.root().join("packages");
        let fill = |name: &'static str| {
            let place = directory.join(name);
            move || Ok(fs::create_dir_all(place)?)
        };
        let names = |places: Vec<PathBuf>| {
            places
                .iter()
                .map(|place| place.file_name().map(|name| name.to_owned()))
                .collect::<Vec<_>>()
        };
        let first = once(&directory, &["one"], fill("a")).expect("filled");
        assert_eq!(names(first), [Some("a".into())]);
        let again = once(&directory, &["one"], || bail!("not asked")).expect("kept");
        assert_eq!(names(again), [Some("a".into())]);
        let other = once(&directory, &["two"], fill("b")).expect("filled anew");
        assert_eq!(names(other), [Some("b".into())]);
        // What fails leaves no stamp.
        assert!(once(&directory, &["three"], || bail!("no network")).is_err());
        assert!(once(&directory, &["two"], || bail!("asked")).is_err());
    }

    #[test]
    fn npm_names_its_archive_last() {
        assert_eq!(last_line("npm notice\na-1.0.0.tgz\n\n").expect("a name"), "a-1.0.0.tgz");
        assert!(last_line(" \n").is_err());
    }

    #[test]
    fn what_a_command_complains_about_is_the_reason() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo no route >&2; exit 1"]);
        let error = quiet(&mut command).expect_err("it fails");
        assert_eq!(error.to_string(), "sh: no route");
    }
}
