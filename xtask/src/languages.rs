//! `cargo xtask symbols` and `cargo xtask interop languages`: what we say about programs beside what
//! the compilers and the language servers of their languages say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

use crate::bench::peers::built_program;
use crate::fetch::{from_npm, from_pypi, output};
use crate::house::House;
use crate::interop::installed_modules;
use crate::judges::{self, Roslyn};
use crate::page::program;
use crate::step::{Outcome, Steps, one_line, run as run_command, say};
use crate::symbols;
use crate::test::is_ci;

/// How many names of a language are asked for in each package.
const ASKED: &str = "150";

/// JavaScript of npm: written by hand, in modules, and with what was built from them beside it.
const JAVASCRIPT: [&str; 7] = [
    "express@5.3.0",
    "lodash@4.18.1",
    "axios@1.21.1",
    "jquery@4.0.0",
    "preact@11.2.0",
    "underscore@1.13.8",
    "commander@14.0.3",
];

/// C++ of Debian: package, version, and what clang is told.
const CPP: [(&str, &str, &[&str]); 4] = [
    ("leveldb", "1.23-4", &["leveldb-1.23", "leveldb-1.23/include", "-DLEVELDB_PLATFORM_POSIX=1"]),
    ("re2", "20220601+dfsg-1", &["re2-2022-06-01"]),
    ("yaml-cpp", "0.7.0+dfsg-8", &["yaml-cpp-yaml-cpp-0.7.0/include"]),
    ("fmtlib", "9.1.0+ds1-2", &["fmtlib-9.1.0+ds1/include"]),
];

/// C# of Debian.
const CSHARP: [(&str, &str); 4] = [
    ("keepass2", "2.47+dfsg-2"),
    ("nunit", "2.6.4+dfsg-1.1"),
    ("newtonsoft-json", "6.0.8+dfsg-1.1"),
    ("dbus-sharp", "0.8.1-2.1"),
];
/// Those of them that are one program, so that one compilation can judge their imports.
const ONE_PROGRAM: [&str; 2] = ["keepass2", "dbus-sharp"];

/// The shares of Roslyn's edges that we must find, and of ours that it must know.
const LEAST_RECALL: f64 = 0.98;
const LEAST_PRECISION: f64 = 0.95;

/// A package of Debian with Go that needs nothing else, and where its module is.
const GO_PACKAGE: &str = "golang-github-gorilla-mux-dev";
const GO_MODULE: (&str, &str) = ("usr/share/gocode/src/github.com/gorilla/mux", "mux");

/// A crate with many modules that needs no other.
const RUST_CRATE: (&str, &str) = ("regex-syntax", "0.8.11");
/// The language server of Rust as crates.io has it; newer ones want a newer compiler than the workspace does.
const RUST_ANALYZER: (&str, &str) = ("ra_ap_rust-analyzer", "0.0.346");

const COMPARE: &str = "crates/code_index/tests/servers/compare.py";

/// Servers of npm.
const SERVERS: [&str; 3] =
    ["typescript-language-server@6.0.2", "typescript@5.9.3", "pyright@1.1.414"];

/// Asks for many names in all packages, judged by ctags and by each language's own parser.
pub(crate) fn symbols() -> Result<ExitCode> {
    let house = House::find()?;
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut examples(&house))?;
    steps.step("all languages beside ctags", || symbols::accuracy_with(&house, ASKED))?;
    steps.step("JavaScript beside TypeScript's parser", || javascript(&house))?;
    steps.step("C++ beside clang", || cpp(&house))?;
    steps.step("C# beside Roslyn", || csharp(&house))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

/// Compares imports of C# with Roslyn, renames and impacts with language servers.
pub(crate) fn servers() -> Result<ExitCode> {
    let house = House::find()?;
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut examples(&house))?;
    steps.step("imports of C# beside Roslyn", || csharp_imports(&house))?;
    steps.step("TypeScript beside its language server", || typescript_server(&house))?;
    steps.step("Python beside pyright", || pyright(&house))?;
    steps.step("Go beside gopls", || gopls(&house))?;
    steps.step("C++ beside clangd", || clangd(&house))?;
    steps.step("Rust beside rust-analyzer", || rust_analyzer(&house))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

fn examples(house: &House) -> Command {
    let mut build = house.cargo();
    build.args(["build", "--locked", "-p", "code_index", "--examples"]);
    build
}

fn skipped(what: &str, why: &anyhow::Error) -> Outcome {
    Outcome::Skipped { what: what.into(), why: one_line(&format!("{why:#}")) }
}

/// Asks for the names that `judge` prints.
fn judged(house: &House, name: &str, root: &Path, judge: &mut Command) -> Result<()> {
    let truth = house.cache("judges").join(format!("{}.places", name.replace('/', "-")));
    fs::write(&truth, output(judge)?).context("cannot write what a judge says")?;
    say(name);
    let mut ask = Command::new(house.example("debug", "symbol_accuracy"));
    run_command(ask.args(["--asked", ASKED, "--truth"]).arg(truth).arg(root))
}

fn javascript(house: &House) -> Result<Outcome> {
    let cache = house.cache("judges");
    for package in JAVASCRIPT {
        let prepared = from_npm(&cache, package)
            .and_then(|root| Ok((judges::javascript_places(&cache, &root)?, root)));
        match prepared {
            Ok((mut judge, root)) => judged(house, package, &root, &mut judge)?,
            Err(why) => return Ok(skipped(package, &why)),
        }
    }
    Ok(Outcome::Passed)
}

fn cpp(house: &House) -> Result<Outcome> {
    let cache = house.cache("judges");
    for (package, version, options) in CPP {
        let prepared = debian(house, package, version)
            .and_then(|root| Ok((judges::clang_places(&cache, &root, options)?, root)));
        match prepared {
            Ok((mut judge, root)) => judged(house, package, &root, &mut judge)?,
            Err(why) => return Ok(skipped(package, &why)),
        }
    }
    Ok(Outcome::Passed)
}

fn csharp(house: &House) -> Result<Outcome> {
    let roslyn = match Roslyn::prepared(&house.cache("judges")) {
        Ok(roslyn) => roslyn,
        Err(why) => return Ok(skipped("Roslyn", &why)),
    };
    for (package, version) in CSHARP {
        match debian(house, package, version) {
            Ok(root) => judged(house, package, &root, &mut roslyn.command("places", &root))?,
            Err(why) => return Ok(skipped(package, &why)),
        }
    }
    Ok(Outcome::Passed)
}

fn debian(house: &House, package: &str, version: &str) -> Result<PathBuf> {
    let found = judges::debian_sources(&house.cache("debian-sources"), &[(package, version)])?;
    found.into_iter().next().context("no sources")
}

/// The sources that `cargo xtask symbols` compares beside those of every test.
pub(crate) fn more_sources(house: &House) -> Result<Vec<PathBuf>> {
    let cpp = CPP.iter().map(|(package, version, _)| (*package, *version));
    // The scripts that configure the last one are not what is compared.
    let csharp = CSHARP.into_iter().filter(|(name, _)| *name != "dbus-sharp");
    let wanted: Vec<(&str, &str)> = cpp.chain(csharp).collect();
    let mut found = judges::debian_sources(&house.cache("debian-sources"), &wanted)?;
    for package in JAVASCRIPT {
        found.push(from_npm(&house.cache("judges"), package)?);
    }
    Ok(found)
}

fn csharp_imports(house: &House) -> Result<Outcome> {
    let roslyn = match Roslyn::prepared(&house.cache("judges")) {
        Ok(roslyn) => roslyn,
        Err(why) => return Ok(skipped("Roslyn", &why)),
    };
    for (package, version) in CSHARP.iter().filter(|(name, _)| ONE_PROGRAM.contains(name)) {
        let root = match debian(house, package, version) {
            Ok(root) => root,
            Err(why) => return Ok(skipped(package, &why)),
        };
        let truth = lines(&output(&mut roslyn.command("edges", &root))?);
        let program = house.example("debug", "import_edges");
        let ours: Vec<String> = lines(&output(Command::new(program).arg(&root))?)
            .into_iter()
            .filter(|edge| edge.split('\t').next().is_some_and(|from| from.ends_with(".cs")))
            .collect();
        let (precision, recall) = shares(&truth, &ours);
        say(&format!(
            "{package}: {} edges, {} of ours, precision {precision:.3}, recall {recall:.3}",
            truth.len(),
            ours.len()
        ));
        ensure!(
            precision >= LEAST_PRECISION && recall >= LEAST_RECALL,
            "{package}: the edges differ too much"
        );
    }
    Ok(Outcome::Passed)
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// The share of ours that is true, and that of the truth which is ours.
fn shares(truth: &[String], ours: &[String]) -> (f64, f64) {
    let common = ours.iter().filter(|edge| truth.contains(edge)).count() as f64;
    let share = |all: usize| common / all.max(1) as f64;
    (share(ours.len()), share(truth.len()))
}

/// One project and one server: name, directory, language of the protocol, endings of files.
type Compared<'a> = (&'a str, &'a Path, &'a str, &'a str);

fn compare(
    house: &House,
    compared: Compared<'_>,
    server: &[&Path],
    options: &[&str],
) -> Result<()> {
    let (name, root, language, endings) = compared;
    let mut command = Command::new("python3");
    command.current_dir(&house.root).arg(COMPARE).arg(house.example("debug", "symbol_uses"));
    command.arg(name).arg(root).args([language, endings, "--"]).args(server).args(options);
    run_command(&mut command)
}

fn typescript_server(house: &House) -> Result<Outcome> {
    let prepared = installed_modules(&house.cache("language-servers"), &SERVERS)
        .and_then(|modules| Ok((modules, from_npm(&house.cache("imports"), "zod@4.6.7")?)));
    match prepared {
        Ok((modules, zod)) => {
            let root = zod.join("src");
            let server = modules.join(".bin/typescript-language-server");
            compare(house, ("zod", &root, "typescript", ".ts"), &[&server], &["--stdio"])?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(skipped(SERVERS[0], &why)),
    }
}

fn pyright(house: &House) -> Result<Outcome> {
    let prepared = installed_modules(&house.cache("language-servers"), &SERVERS)
        .and_then(|modules| Ok((modules, from_pypi(&house.cache("imports"), "flask==3.1.3")?)));
    match prepared {
        Ok((modules, flask)) => {
            let server = modules.join(".bin/pyright-langserver");
            let root = flask.join("src");
            compare(house, ("flask", &root, "python", ".py"), &[&server], &["--stdio"])?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(skipped(SERVERS[2], &why)),
    }
}

fn gopls(house: &House) -> Result<Outcome> {
    let prepared = program(&["gopls"], "gopls")
        .and_then(|server| program(&["go"], "golang-go").map(|_| server))
        .and_then(|server| Ok((server, symbols::debian_package(house, GO_PACKAGE)?)));
    match prepared {
        Ok((server, package)) => {
            let (module, name) = GO_MODULE;
            let (path, root) = (package.join("usr/share/gocode"), package.join(module));
            // Without modules, nothing is looked for on the network.
            let path = format!("GOPATH={}", path.display());
            let server =
                [Path::new("env"), Path::new("GO111MODULE=off"), Path::new(&path), &server];
            compare(house, (name, &root, "go", ".go"), &server, &[])?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(skipped("gopls", &why)),
    }
}

fn clangd(house: &House) -> Result<Outcome> {
    let prepared = program(&["clangd"], "clangd")
        .and_then(|server| Ok((server, debian(house, "leveldb", "1.23-4")?.join("leveldb-1.23"))));
    match prepared {
        Ok((server, root)) => {
            let flags = "-xc++\n-std=c++17\n-I.\n-Iinclude\n-DLEVELDB_PLATFORM_POSIX=1\n";
            fs::write(root.join("compile_flags.txt"), flags).context("cannot write flags")?;
            compare(
                house,
                ("leveldb", &root, "cpp", ".cc,.h"),
                &[&server],
                &["--background-index=0"],
            )?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(skipped("clangd", &why)),
    }
}

fn rust_analyzer(house: &House) -> Result<Outcome> {
    let (package, version) = RUST_ANALYZER;
    let prepared = built_program(house, package, version, "rust-analyzer")
        .and_then(|server| Ok((server, own_copy(house, RUST_CRATE)?)));
    match prepared {
        Ok((server, root)) => {
            compare(house, (RUST_CRATE.0, &root, "rust", ".rs"), &[&server], &[])?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(skipped("rust-analyzer", &why)),
    }
}

/// The sources of a crate where its language server may write beside them.
fn own_copy(house: &House, package: (&str, &str)) -> Result<PathBuf> {
    let cache = house.cache("language-servers").join("crates");
    let kept = symbols::crates(&cache.join("fetched"), &[package])?;
    let kept = kept.first().context("no sources")?;
    let root = cache.join(package.0);
    if !root.is_dir() {
        output(Command::new("cp").arg("-r").arg(kept).arg(&root))?;
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_is_ours_and_of_what_is_true() {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (precision, recall) =
            shares(&texts(&["a", "b", "c", "d"]), &texts(&["a", "b", "x", "c"]));
        assert!((precision - 0.75).abs() < 1e-9 && (recall - 0.75).abs() < 1e-9);
        assert_eq!(shares(&[], &[]), (0.0, 0.0));
    }
}
