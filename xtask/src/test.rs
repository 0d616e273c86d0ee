//! `cargo xtask test`: everything a change must pass.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;
use testkit::POSTGRES_VARIABLE;

use crate::house::House;
use crate::interop::{installed_modules, typescript_sdk};
use crate::python::Script;
use crate::step::{self, Outcome, SideStep, Steps, one_line};
use crate::{
    confined, conformance, differential, history, imports, page, postgres, symbols, telemetry,
};

/// Where tests outside of cargo's own find the debug binary.
const BINARY_VARIABLE: &str = "TOOLKILN_BIN";

/// The MCP client that other people's programs use; pinned, so that a new release cannot break us
/// on a day of its own choosing.
const PYTHON_REQUIREMENT: &str = "mcp==2.3.0";

/// The SDKs whose types and whose reading of streams ours are compared with.
const SDK_REQUIREMENTS: [&str; 2] = ["anthropic==2.8.0", "openai==3.49.0"];

const PYTHON_SDKS: &str = "crates/providers/tests/python_sdks.py";
const PYTHON_CLIENT: &str = "crates/mcp/tests/python_client.py";
const PYTHON_HTTP_CLIENT: &str = "crates/mcp/tests/python_http_client.py";

const ACP_PYTHON: Script = Script {
    path: "crates/acp/tests/clients/python_client.py",
    cache: "python-acp",
    requirements: &["agent-client-protocol==0.12.1"],
};

const ACP_TYPESCRIPT: &str = "crates/acp/tests/clients/typescript_sdk.mjs";
const ACP_PACKAGES: [&str; 1] = ["@agentclientprotocol/sdk@2.4.0"];

/// Runs all steps and stops at the first that fails.
pub(crate) fn run() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let cargo = |words: &str| {
        let mut command = house.cargo();
        command.args(words.split(' '));
        command
    };
    let mut steps = Steps::new(is_ci());

    steps
        .command("lints", &mut cargo("clippy --workspace --all-targets --locked -- -D warnings"))?;
    // With the test targets in the selection, features resolve as they do for `cargo test`, which
    // then finds everything built.
    steps.command("build", &mut cargo("build --workspace --bins --tests --examples --locked"))?;
    let mut postgres = None;
    steps.step("PostgreSQL for tests", || match postgres::server() {
        Ok(server) => {
            postgres = Some(server);
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: "tests on PostgreSQL".to_owned(),
            why: one_line(&format!("{why:#}")),
        }),
    })?;
    let mut tests = cargo("test --workspace --locked");
    if let Some(server) = &postgres {
        tests.env(POSTGRES_VARIABLE, server.url());
    }
    steps.command("tests", tests.env(BINARY_VARIABLE, &binary))?;
    let documentation = || {
        let mut command = cargo("doc --workspace --no-deps --locked");
        step::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
        Ok(Outcome::Passed)
    };
    // The longest come first.
    steps.side_by_side(vec![
        side("differential with ripgrep", || differential::ripgrep(&house)),
        side("real projects, confined", || confined::projects(&house, &binary)),
        side("imports against other resolvers", || imports::edges(&house)),
        side("symbols against universal-ctags", || symbols::accuracy(&house)),
        side("web service against its description", || described(&house, &binary)),
        side("documentation", documentation),
        side("official Python SDKs", || python_sdks(&house)),
        side("Python MCP client", || python_client(&house, &binary)),
        side("Python MCP client over HTTP", || python_http_client(&house, &binary)),
        side("MCP conformance suite", || conformance::both(&house, &binary)),
        side("TypeScript MCP client", || typescript_sdk(&house, &binary, "sdk")),
        side("MCP Inspector", || typescript_sdk(&house, &binary, "inspector")),
        side("Python ACP client", || ACP_PYTHON.run(&house, &binary)),
        side("TypeScript ACP client", || acp_typescript(&house, &binary)),
        side("OpenTelemetry's types", || telemetry::otlp(&house, &binary)),
        side("replay of real history", || history::replay(&house)),
    ])?;
    // Alone, because it has two browsers of its own.
    steps.step("page in a browser", || page::tests(&house, &binary))?;

    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

fn side<'a>(
    name: &'static str,
    work: impl FnOnce() -> Result<Outcome> + Send + 'a,
) -> SideStep<'a> {
    SideStep { name, work: Box::new(work) }
}

/// Runs only the step with the real projects.
pub(crate) fn projects() -> Result<ExitCode> {
    only("real projects, confined", confined::projects)
}

/// Runs only the tests of the page.
pub(crate) fn page() -> Result<ExitCode> {
    only("page in a browser", page::tests)
}

/// Builds the binary and runs one step with it.
fn only(name: &'static str, work: fn(&House, &Path) -> Result<Outcome>) -> Result<ExitCode> {
    let house = House::find()?;
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut house.build_command("debug"))?;
    steps.step(name, || work(&house, &house.binary("debug")))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

/// Whether this machine guards the main branch.
pub(crate) fn is_ci() -> bool {
    is_set(std::env::var("CI").ok().as_deref())
}

fn is_set(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("" | "0" | "false"))
}

/// Drives the binary with the official Python client.
pub(crate) fn python_client(house: &House, binary: &Path) -> Result<Outcome> {
    let script =
        Script { path: PYTHON_CLIENT, cache: "python", requirements: &[PYTHON_REQUIREMENT] };
    script.run(house, binary)
}

/// The same over HTTP.
fn python_http_client(house: &House, binary: &Path) -> Result<Outcome> {
    let script = Script {
        path: PYTHON_HTTP_CLIENT,
        cache: "python-http",
        requirements: &[PYTHON_REQUIREMENT],
    };
    script.run(house, binary)
}

/// Drives the binary as an editor that is made with the official TypeScript SDK.
fn acp_typescript(house: &House, binary: &Path) -> Result<Outcome> {
    match installed_modules(&house.cache("typescript-acp"), &ACP_PACKAGES) {
        Ok(modules) => {
            let mut node = Command::new("node");
            node.current_dir(&house.root).arg(ACP_TYPESCRIPT).arg(binary).arg(modules);
            step::run(&mut node)?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{ACP_TYPESCRIPT} with {}", ACP_PACKAGES.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// Lets the official SDKs check our requests, and compares how they and we read streams.
fn python_sdks(house: &House) -> Result<Outcome> {
    let script =
        Script { path: PYTHON_SDKS, cache: "python-sdks", requirements: &SDK_REQUIREMENTS };
    script.run(house, &house.example("debug", "sdk_exchange"))
}

/// Makes requests from the OpenAPI description and compares the answers with it.
fn described(house: &House, binary: &Path) -> Result<Outcome> {
    let script = Script {
        path: "crates/cli/tests/api/described.py",
        cache: "schemathesis",
        requirements: &["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"],
    };
    script.run(house, binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_set_by_any_affirmative_value() {
        let table = [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("false"), false),
            (Some("1"), true),
            (Some("true"), true),
        ];
        for (value, expected) in table {
            assert_eq!(is_set(value), expected, "{value:?}");
        }
    }
}
