//! The step "page": the page in a real browser, against the real service.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use testkit::{POSTGRES_VARIABLE, Postgres};

use crate::fetch::{from_npm, install_debian};
use crate::house::House;
use crate::postgres;
use crate::python::Script;
use crate::step::{Outcome, one_line};

/// Finds what is hard to read, to reach or to hear. Only tests use it.
const AXE: &str = "axe-core@4.14.0";

/// Programs that are Chromium, on this and that system.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

const TESTS: Script = Script {
    path: "crates/cli/tests/page/run.py",
    cache: "playwright",
    requirements: &["playwright==1.65.0"],
};

/// Runs all tests of the page. Only their preparation may be skipped.
pub(crate) fn tests(house: &House, binary: &Path) -> Result<Outcome> {
    match prepared(house) {
        Ok((browser, axe, postgres)) => TESTS.run_with(
            house,
            binary,
            &[
                ("PAGE_BROWSER", browser.as_os_str()),
                ("PAGE_AXE", axe.as_os_str()),
                (POSTGRES_VARIABLE, OsStr::new(postgres.url())),
            ],
        ),
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{} in a browser", TESTS.path),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// A Python that has Playwright.
pub(crate) fn interpreter(house: &House) -> Result<PathBuf> {
    TESTS.interpreter(&house.cache(TESTS.cache))
}

/// A browser, axe, and a server for the databases of teams.
fn prepared(house: &House) -> Result<(PathBuf, PathBuf, Postgres)> {
    let axe = from_npm(&house.cache("axe"), AXE)?.join("axe.min.js");
    Ok((browser()?, axe, postgres::server()?))
}

/// A Chromium that is there, or Debian's.
pub(crate) fn browser() -> Result<PathBuf> {
    program(&BROWSERS, "chromium")
}

/// A program that is there, or the one of Debian's package, installed where that is allowed.
pub(crate) fn program(names: &[&str], package: &str) -> Result<PathBuf> {
    if let Some(found) = installed(names) {
        return Ok(found);
    }
    let why = match install_debian(package) {
        Ok(()) => String::new(),
        Err(error) => format!(", and it cannot be installed: {error:#}"),
    };
    installed(names).with_context(|| format!("none of {} is installed{why}", names.join(", ")))
}

fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| directories.iter().map(move |at| at.join(name)));
    places.into_iter().find(|place| place.is_file())
}
