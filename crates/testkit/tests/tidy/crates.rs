//! Rules about the crates of the workspace: who may depend on whom, and what each inherits.

use std::path::Path;

use serde_json::Value;

use crate::repository::{assert_none, cargo_metadata, read};

/// The crates of the workspace that a library may use as normal or build dependencies. Development
/// dependencies are free: they do not ship. A crate that is not in this table is a front end, which may
/// use every library. Only `cli` can use a front end.
const MAY_USE: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("context_manager", &["protocol"]),
    ("workspace", &["protocol"]),
    ("code_index", &["protocol", "workspace"]),
    ("net", &[]),
    ("sandbox", &["protocol", "net"]),
    ("tool_system", &["protocol", "workspace", "code_index", "net", "sandbox"]),
    ("providers", &["protocol", "context_manager", "net"]),
    ("guide", &["protocol", "context_manager"]),
    ("store", &["protocol", "team"]),
    ("team", &["protocol", "net"]),
    ("timeline", &["protocol"]),
    ("terminal", &["protocol", "workspace", "code_index", "timeline"]),
    ("session", BELOW_SESSION),
    ("mcp", &["protocol", "workspace", "tool_system"]),
    ("mcp_client", &["protocol", "net", "sandbox", "tool_system"]),
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

/// Crates of the table that are not libraries: a front end with fewer rights, and what does not ship.
const NO_LIBRARIES: [&str; 3] = ["mcp", "testkit", "xtask"];
const NOT_SHIPPED: [&str; 2] = ["testkit", "xtask"];

/// Whether the crate `name` may use the crate `other`.
fn may_use(name: &str, other: &str) -> bool {
    let row = |name: &str| MAY_USE.iter().find(|(listed, _)| *listed == name);
    match row(name) {
        Some((_, allowed)) => allowed.contains(&other),
        None if name == "cli" => !NOT_SHIPPED.contains(&other),
        None => row(other).is_some() && !NO_LIBRARIES.contains(&other),
    }
}

#[test]
fn front_ends_use_libraries_and_only_the_binary_uses_them() {
    assert!(may_use("web", "session") && may_use("web", "timeline") && may_use("cli", "web"));
    assert!(!may_use("web", "acp") && !may_use("web", "mcp") && !may_use("web", "testkit"));
    assert!(!may_use("session", "web") && !may_use("mcp", "session"));
}

/// Libraries have typed errors.
const MAY_USE_ANYHOW: [&str; 3] = ["cli", "testkit", "xtask"];

#[test]
fn dependencies_run_one_way() {
    let mut problems = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        for dependency in shipping_dependencies(&package) {
            let is_ours = dependency["path"].is_string();
            let other = text(&dependency["name"]);
            if is_ours && !may_use(name, other) {
                problems.push(format!("{name} uses {other}"));
            }
        }
    }
    assert_none(
        &problems,
        "move the shared type down to `protocol`, or take what you need as an argument or a trait; \
         a deliberate change of the graph changes `MAY_USE` in testkit/tests/tidy/crates.rs and \
         ARCHITECTURE.md together; a crate that is not in that table counts as a front end",
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
