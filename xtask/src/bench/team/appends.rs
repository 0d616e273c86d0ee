//! How fast logs are written, by the example `append_rate` of the crate `store`.

use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use testkit::Postgres;

use crate::bench::Effort;
use crate::fetch::output;
use crate::house::House;
use crate::step::run;

const EXAMPLE: &str = "append_rate";
/// One session, and as many as two cores can keep busy.
const WRITERS: [usize; 3] = [1, 16, 64];

/// What writers to one store achieved.
pub(super) struct AppendFigures {
    pub(super) store: String,
    pub(super) writers: usize,
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// The line that the example prints.
#[derive(Deserialize)]
struct Printed {
    appends_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// Measures every store that there is.
pub(super) fn appends(house: &House, effort: Effort, profile: &str) -> Result<Vec<AppendFigures>> {
    let mut build = house.cargo();
    build.args(["build", "--locked", "-p", "store", "--example", EXAMPLE]);
    if profile == "release" {
        build.arg("--release");
    }
    run(&mut build)?;
    let total = match effort {
        Effort::Full => 32_000,
        Effort::Quick => 3_200,
    };
    let directory = tempfile::tempdir()?;
    let mut figures = Vec::new();
    for writers in WRITERS {
        let file = directory.path().join(format!("{writers}.db"));
        let place = file.to_str().context("the temporary directory has a plain name")?;
        figures.push(measured(house, profile, ("SQLite", place), writers, total / writers)?);
    }
    // As it is installed: every commit is on the disk.
    let Some(server) = Postgres::start(&[]) else { return Ok(figures) };
    for writers in WRITERS {
        let database = server.database();
        let place = ("PostgreSQL", database.url());
        figures.push(measured(house, profile, place, writers, total / writers)?);
    }
    Ok(figures)
}

fn measured(
    house: &House,
    profile: &str,
    (store, place): (&str, &str),
    writers: usize,
    appends: usize,
) -> Result<AppendFigures> {
    println!("measuring appends on {store} with {writers} writers");
    let mut command = Command::new(house.example(profile, EXAMPLE));
    command.arg(place).args([writers.to_string(), appends.to_string()]);
    let printed: Printed = serde_json::from_slice(&output(&mut command)?)?;
    let Printed { appends_per_second: rate, p50_ms, p99_ms } = printed;
    Ok(AppendFigures { store: store.to_owned(), writers, rate, p50_ms, p99_ms })
}
