//! Every package we build upon comes from the default registry under a licence on our list.

use std::process::Command;

use serde_json::Value;

use crate::crates::text;
use crate::repository::{assert_none, cargo_metadata, read};
use crate::spdx;

const DEFAULT_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn every_licence_is_on_the_list() {
    let allowed = allowed_licences();
    let mut problems = Vec::new();
    for package in built_packages() {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let Some(licence) = package["license"].as_str() else {
            problems.push(format!("{name} {version}: no licence expression"));
            continue;
        };
        match spdx::is_satisfied(licence, |id| allowed.iter().any(|known| known == id)) {
            Ok(true) => {}
            Ok(false) => problems.push(format!("{name} {version}: {licence}")),
            Err(why) => problems.push(format!("{name} {version}: {licence}: {why}")),
        }
    }
    assert_none(
        &problems,
        "choose another package; a licence that suits us goes to the list in deny.toml",
    );
}

#[test]
fn every_package_comes_from_the_default_registry() {
    let packages = built_packages();
    let foreign = packages.iter().filter(|package| {
        package["source"].as_str().is_some_and(|source| source != DEFAULT_REGISTRY)
    });
    let problems: Vec<String> =
        foreign.map(|package| format!("{} from {}", package["name"], package["source"])).collect();
    assert_none(&problems, "use a published version");
}

pub(crate) fn allowed_licences() -> Vec<String> {
    let source = read("deny.toml").expect("there is a list of licences");
    let table: toml::Table = source.parse().expect("deny.toml is TOML");
    let list = table["licenses"]["allow"].as_array().expect("licenses.allow is a list");
    list.iter().map(|id| id.as_str().expect("a licence is a string").to_owned()).collect()
}

/// Packages for this system only, because cargo need not have fetched those for others. Cargo may
/// still fetch a few that the lock file names and no build needs, so this is not `--offline`.
fn built_packages() -> Vec<Value> {
    let host = host();
    let mut metadata = cargo_metadata(&["--filter-platform", &host]);
    match metadata["packages"].take() {
        Value::Array(packages) if !packages.is_empty() => packages,
        other => panic!("cargo metadata names no packages: {other}"),
    }
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc can be started");
    let answer = String::from_utf8_lossy(&output.stdout);
    let host = answer.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap_or_else(|| panic!("rustc -vV names no host: {answer}")).to_owned()
}
