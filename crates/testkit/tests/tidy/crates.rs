//! Rules about the crates of the workspace: who may depend on whom, and what each inherits.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::repository::{assert_none, cargo_metadata, read};

/// The crates of the workspace a crate may use as normal or build dependencies. Development
/// dependencies are free: they do not ship.
const MAY_USE: [(&str, &[&str]); 17] = [
    ("protocol", &[]),
    ("context_manager", &["protocol"]),
    ("workspace", &["protocol"]),
    ("code_index", &["protocol", "workspace"]),
    ("sandbox", &["protocol"]),
    ("tool_system", &["protocol", "workspace", "code_index", "sandbox"]),
    ("providers", &["protocol", "context_manager"]),
    ("guide", &["protocol", "context_manager"]),
    ("store", &["protocol"]),
    ("timeline", &["protocol"]),
    ("session", BELOW_SESSION),
    ("web_service", SESSION_AND_BELOW),
    ("acp", SESSION_AND_BELOW),
    ("mcp", &["protocol", "workspace", "tool_system"]),
    ("cli", EVERYTHING_THAT_SHIPS),
    ("testkit", &["protocol"]),
    ("xtask", &["testkit"]),
];

const BELOW_SESSION: &[&str] = &[
    "protocol",
    "context_manager",
    "workspace",
    "code_index",
    "sandbox",
    "tool_system",
    "providers",
    "store",
];

const SESSION_AND_BELOW: &[&str] = &[
    "protocol",
    "context_manager",
    "workspace",
    "code_index",
    "sandbox",
    "tool_system",
    "providers",
    "store",
    "timeline",
    "session",
];

const EVERYTHING_THAT_SHIPS: &[&str] = &[
    "protocol",
    "context_manager",
    "workspace",
    "code_index",
    "sandbox",
    "tool_system",
    "providers",
    "guide",
    "store",
    "timeline",
    "session",
    "web_service",
    "acp",
    "mcp",
];

/// Libraries have typed errors.
const MAY_USE_ANYHOW: [&str; 3] = ["cli", "testkit", "xtask"];

#[test]
fn dependencies_run_one_way() {
    let table = BTreeMap::from(MAY_USE);
    let mut problems = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        let Some(allowed) = table.get(name) else {
            problems.push(format!("{name} is not in the table"));
            continue;
        };
        for dependency in shipping_dependencies(&package) {
            let is_ours = dependency["path"].is_string();
            let other = text(&dependency["name"]);
            if is_ours && !allowed.contains(&other) {
                problems.push(format!("{name} uses {other}"));
            }
        }
    }
    assert_none(
        &problems,
        "move the shared type down to `protocol`, or take what you need as an argument or a trait; \
         a deliberate change of the graph changes this table and ARCHITECTURE.md together",
    );
}

#[test]
fn libraries_do_not_use_anyhow() {
    let mut problems = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        let uses = shipping_dependencies(&package).any(|other| other["name"] == "anyhow");
        if uses && !MAY_USE_ANYHOW.contains(&name) {
            problems.push(name.to_owned());
        }
    }
    assert_none(&problems, "give the library an error type of its own with `thiserror`");
}

#[test]
fn every_folder_is_named_after_its_crate() {
    let mut problems = Vec::new();
    for package in packages() {
        let manifest = Path::new(text(&package["manifest_path"]));
        let folder = manifest.parent().and_then(Path::file_name).unwrap_or_default();
        if folder.to_str() != package["name"].as_str() {
            problems.push(format!("{} holds {}", folder.display(), package["name"]));
        }
    }
    assert_none(&problems, "rename the folder or the crate");
}

#[test]
fn every_crate_inherits_from_the_workspace() {
    let mut problems = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        let path = match name {
            "xtask" => "xtask/Cargo.toml".to_owned(),
            _ => format!("crates/{name}/Cargo.toml"),
        };
        let manifest = read(&path).and_then(|source| {
            source.parse::<toml::Table>().map_err(|error| format!("{path}: {error}"))
        });
        match manifest {
            Ok(manifest) => problems
                .extend(not_inherited(&manifest).into_iter().map(|what| format!("{path}: {what}"))),
            Err(problem) => problems.push(problem),
        }
    }
    assert_none(&problems, "write `<name>.workspace = true`, or `[lints]` with `workspace = true`");
}

fn not_inherited(manifest: &toml::Table) -> Vec<String> {
    let inherits = |value: Option<&toml::Value>| {
        value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
    };
    let mut missing = Vec::new();
    if !inherits(manifest.get("lints")) {
        missing.push("lints".to_owned());
    }
    for key in ["version", "edition", "rust-version", "license", "publish"] {
        if !inherits(manifest.get("package").and_then(|package| package.get(key))) {
            missing.push(format!("package.{key}"));
        }
    }
    missing
}

#[test]
fn what_is_not_inherited_is_named() {
    let manifest =
        "[package]\nversion.workspace = true\nedition = '2024'\n[lints]\nworkspace = false";
    let manifest: toml::Table = manifest.parse().expect("valid TOML");
    assert_eq!(
        not_inherited(&manifest),
        ["lints", "package.edition", "package.rust-version", "package.license", "package.publish"]
    );
}

/// The members of the workspace, as cargo sees them.
pub(crate) fn packages() -> Vec<Value> {
    let mut metadata = cargo_metadata(&["--no-deps", "--offline"]);
    match metadata["packages"].take() {
        Value::Array(packages) if !packages.is_empty() => packages,
        other => panic!("cargo metadata names no packages: {other}"),
    }
}

pub(crate) fn shipping_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.filter(|dependency| dependency["kind"] != "dev")
}

/// A field that cargo always fills with text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("cargo metadata: {value} is not text"))
}
