//! The unit and the image for those who run the service.

use crate::repository::{assert_none, read};

/// With any of these systemd lets our sandbox name no host or mount no /proc, and then no command is run.
const FORBID_COMMANDS: [&str; 4] =
    ["RestrictNamespaces", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelTunables"];

#[test]
fn the_unit_lets_commands_be_confined() {
    let unit = read("contrib/toolkiln.service").expect("To repair it: restore the unit");
    let options = unit
        .lines()
        .filter(|line| FORBID_COMMANDS.iter().any(|option| line.split('=').next() == Some(option)));
    let problems: Vec<String> = options.map(str::to_owned).collect();
    assert_none(&problems, "leave them out; docs/operation.md says why");
}

#[test]
fn the_image_is_built_with_the_compiler_of_the_workspace() {
    let workspace: toml::Table = read("Cargo.toml")
        .expect("To repair it: restore Cargo.toml")
        .parse()
        .expect("a manifest is TOML");
    let version = workspace["workspace"]["package"]["rust-version"].as_str();
    let version = version.expect("To repair it: name `rust-version` in Cargo.toml");
    let image = read("contrib/Containerfile").expect("To repair it: restore the image");
    let from = format!("FROM docker.io/library/rust:{version}-bookworm AS build");
    assert!(
        image.lines().any(|line| line == from),
        "To repair it: write `{from}` in contrib/Containerfile"
    );
}
