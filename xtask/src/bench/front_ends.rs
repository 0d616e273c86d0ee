//! `cargo xtask bench front_ends`: what a start and a call cost over MCP and by `toolkiln call`.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use testkit::Fixture;

use super::Effort;
use super::client::{Client, Memory};
use super::peers::{self, Server};
use super::report::{Figures, judge, table};
use super::stats::Times;
use super::verdict::pronounce;
use crate::house::House;

const FILE: &str = "f.txt";
const FILE_BYTES: usize = 4096;
const OTHER_FILES: usize = 200;
/// The point at which memory is read: past every lazy initialisation, before the long run.
const CALLS_BEFORE_MEMORY: usize = 200;
/// Calls to one server before it is the next one's turn. A few in a row are how clients call; a
/// short turn lets the noise of the machine fall on all servers alike.
const CALLS_IN_A_TURN: usize = 20;

struct Counts {
    starts: usize,
    reads: usize,
    calls: usize,
}

impl Effort {
    fn counts(self) -> Counts {
        match self {
            Effort::Full => Counts { starts: 40, reads: 4000, calls: 150 },
            Effort::Quick => Counts { starts: 10, reads: 400, calls: 30 },
        }
    }
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build("release")?;
    let project = project();
    let root = project.root();

    let mut servers = vec![peers::toolkiln(&binary, root, FILE)];
    for (name, peer) in [
        (peers::RUST_PEER, peers::rust_peer(&house, root, FILE)),
        (peers::NODE_PEER, peers::node_peer(&house, root, FILE)),
    ] {
        match peer {
            Ok(server) => servers.push(server),
            Err(why) => println!("SKIPPED: {name} ({why:#})"),
        }
    }

    let counts = effort.counts();
    let figures = measure(&servers, &counts)?;
    let call = whole_process_calls(&binary, root, counts.calls)?;
    let (ours, peers) = figures.split_first().context("our own server is measured")?;

    println!("\n{}", table(&figures.iter().collect::<Vec<_>>()));
    println!(
        "`toolkiln call read_file`, whole process: p50 {:.2} ms, p90 {:.2} ms",
        call.median(),
        call.percentile(90)
    );
    println!(
        "{} starts, {} reads, {} calls each, in turns in one run.\n",
        counts.starts, counts.reads, counts.calls
    );
    Ok(pronounce(&judge(ours, peers, &call)))
}

/// A small project: the file that is read and enough others that listing is not free.
fn project() -> Fixture {
    let project = Fixture::new("");
    let line = "The quick brown fox jumps over the lazy dog, line after line.\n";
    let mut text = line.repeat(FILE_BYTES.div_ceil(line.len()));
    text.truncate(FILE_BYTES - 1);
    project.write(FILE, text + "\n");
    for number in 0..OTHER_FILES {
        project.write(format!("src/module_{number:03}.rs"), format!("pub fn f{number}() {{}}\n"));
    }
    project
}

fn measure(servers: &[Server], counts: &Counts) -> Result<Vec<Figures>> {
    let mut starts = vec![Vec::with_capacity(counts.starts); servers.len()];
    for _ in 0..counts.starts {
        for (server, times) in servers.iter().zip(&mut starts) {
            let (_client, time) = started(server)?;
            times.push(time);
        }
    }

    let mut guests = Vec::with_capacity(servers.len());
    for server in servers {
        guests.push(Guest::settled(server)?);
    }
    let mut reads = vec![Vec::with_capacity(counts.reads); servers.len()];
    for _ in 0..counts.reads.div_ceil(CALLS_IN_A_TURN) {
        for (guest, times) in guests.iter_mut().zip(&mut reads) {
            for _ in 0..CALLS_IN_A_TURN {
                times.push(guest.read()?);
            }
        }
    }

    let figures = guests.iter().zip(starts).zip(reads).map(|((guest, start), read)| Figures {
        name: guest.server.name,
        start: Times::new(start),
        tool_list_bytes: guest.tool_list_bytes,
        memory: guest.memory,
        read: Times::new(read),
    });
    Ok(figures.collect())
}

fn started(server: &Server) -> Result<(Client, Duration)> {
    Client::start(&mut server.command()).with_context(|| server.name)
}

/// A running server that has been warmed up.
struct Guest<'a> {
    server: &'a Server,
    client: Client,
    tool_list_bytes: usize,
    memory: Option<Memory>,
}

impl<'a> Guest<'a> {
    fn settled(server: &'a Server) -> Result<Guest<'a>> {
        let (mut client, _) = started(server)?;
        client.call("tools/list", &json!({})).with_context(|| server.name)?;
        client.result().with_context(|| server.name)?;
        let tool_list_bytes = client.size();
        let mut guest = Guest { server, client, tool_list_bytes, memory: None };
        for _ in 0..CALLS_BEFORE_MEMORY {
            guest.read()?;
        }
        guest.memory = guest.client.memory();
        Ok(guest)
    }

    /// One read, checked after the clock has stopped.
    fn read(&mut self) -> Result<Duration> {
        let name = self.server.name;
        let time = self.client.call("tools/call", &self.server.read).with_context(|| name)?;
        self.client.result().with_context(|| name)?;
        ensure!(self.client.size() > FILE_BYTES, "{name}: the answer does not hold the file");
        Ok(time)
    }
}

/// `toolkiln call`, from before the start of the process to its end.
fn whole_process_calls(binary: &Path, root: &Path, count: usize) -> Result<Times> {
    let arguments = json!({"path": FILE}).to_string();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let mut command = Command::new(binary);
        command.args(["call", "read_file", &arguments, "--root"]).arg(root).stdin(Stdio::null());
        let start = Instant::now();
        let output = command.output().context("cannot start toolkiln call")?;
        times.push(start.elapsed());
        ensure!(
            output.status.success() && output.stdout.len() > FILE_BYTES,
            "toolkiln call: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(Times::new(times))
}
