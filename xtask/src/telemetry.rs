//! Telemetry and metrics under other people's readers: OpenTelemetry's types, Prometheus' parser, and a real backend.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::house::House;
use crate::python::Script;
use crate::step::{Outcome, Steps};
use crate::test::is_ci;

const OTLP: Script = Script {
    path: "crates/telemetry/tests/judges/otlp.py",
    cache: "python-otlp",
    requirements: &[
        "opentelemetry-proto==1.45.2",
        "opentelemetry-semantic-conventions==0.66b2",
        "prometheus_client==0.26.0",
    ],
};

/// It brings some hundred megabytes of packages.
const PHOENIX: Script = Script {
    path: "crates/telemetry/tests/judges/phoenix.py",
    cache: "python-phoenix",
    requirements: &["arize-phoenix==20.26.1"],
};

/// What is sent, decoded by the official types; and `/metrics`.
pub(crate) fn otlp(house: &House, binary: &Path) -> Result<Outcome> {
    OTLP.run(house, binary)
}

/// `cargo xtask interop telemetry`: traces in a real backend.
pub(crate) fn interop() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut house.build_command("debug"))?;
    steps.step("OpenTelemetry's types and Prometheus' parser", || otlp(&house, &binary))?;
    steps.step("Traces in Arize Phoenix", || PHOENIX.run(&house, &binary))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}
