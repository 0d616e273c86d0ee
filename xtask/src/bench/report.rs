//! The table of the front ends, and whether they meet their targets.

use std::fmt::Write as _;

use super::client::Memory;
use super::peers::{NODE_PEER, RUST_PEER};
use super::stats::Times;
use super::verdict::{Verdict, below};

const START_MS: f64 = 10.0;
const CALL_MS: f64 = 10.0;
const MEMORY_MB: f64 = 25.0;
const MOST_TIMES_RUST_PEER: f64 = 1.2;
const LEAST_TIMES_FASTER_THAN_NODE_PEER: f64 = 1.8;

/// What was measured of one server.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) start: Times,
    pub(crate) tool_list_bytes: usize,
    pub(crate) memory: Option<Memory>,
    pub(crate) read: Times,
}

/// Every target that can be checked with the figures at hand.
pub(crate) fn judge(ours: &Figures, peers: &[Figures], call: &Times) -> Vec<Verdict> {
    let mut verdicts = vec![
        below("start to `initialize`, p50", ours.start.median(), START_MS, "ms"),
        below("whole process `toolkiln call`, p50", call.median(), CALL_MS, "ms"),
    ];
    if let Some(memory) = ours.memory {
        verdicts.push(below("peak memory", megabytes(memory.peak), MEMORY_MB, "MB"));
    }
    let read = ours.read.median();
    for peer in peers {
        if peer.name == RUST_PEER {
            let ratio = read / peer.read.median();
            verdicts.push(Verdict {
                what: format!("read takes {ratio:.2} × {RUST_PEER} (≤ {MOST_TIMES_RUST_PEER})"),
                passed: ratio <= MOST_TIMES_RUST_PEER,
            });
        } else if peer.name == NODE_PEER {
            let ratio = peer.read.median() / read;
            verdicts.push(Verdict {
                what: format!(
                    "read is {ratio:.2} × faster than {NODE_PEER} \
                     (≥ {LEAST_TIMES_FASTER_THAN_NODE_PEER})"
                ),
                passed: ratio >= LEAST_TIMES_FASTER_THAN_NODE_PEER,
            });
        }
    }
    verdicts
}

/// One row a server; ratios are to the first row.
pub(crate) fn table(rows: &[&Figures]) -> String {
    let mut text = String::from(
        "| MCP server, stdio | start → initialize p50, ms | tools/list, bytes \
         | memory now / peak, MB | read 4 KB p50 / p90 / p99, ms | start ratio | read ratio |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let memory = row.memory.map_or("–".to_owned(), |memory| {
            format!("{:.1} / {:.1}", megabytes(memory.now), megabytes(memory.peak))
        });
        let _ = writeln!(
            text,
            "| {} | {:.2} | {} | {memory} | {:.3} / {:.3} / {:.3} | {:.2} | {:.2} |",
            row.name,
            row.start.median(),
            row.tool_list_bytes,
            row.read.percentile(50),
            row.read.percentile(90),
            row.read.percentile(99),
            row.start.median() / rows[0].start.median(),
            row.read.median() / rows[0].read.median(),
        );
    }
    text
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn times(microseconds: u64) -> Times {
        Times::new(vec![Duration::from_micros(microseconds)])
    }

    fn figures(name: &'static str, start: u64, read: u64, peak: u64) -> Figures {
        let memory = Some(Memory { now: peak / 2, peak });
        let (start, read) = (times(start), times(read));
        Figures { name, start, tool_list_bytes: 9000, memory, read }
    }

    #[test]
    fn targets_are_judged() {
        let ours = figures("toolkiln", 4_000, 360, 30 * 1024);
        let peers = [figures(RUST_PEER, 3_000, 350, 8), figures(NODE_PEER, 300_000, 600, 8)];
        let verdicts = judge(&ours, &peers, &times(11_000));
        let shown: Vec<(&str, bool)> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("start to `initialize`, p50: 4.00 ms (< 10 ms)", true),
                ("whole process `toolkiln call`, p50: 11.00 ms (< 10 ms)", false),
                ("peak memory: 30.00 MB (< 25 MB)", false),
                ("read takes 1.03 × rust-mcp-filesystem (≤ 1.2)", true),
                ("read is 1.67 × faster than server-filesystem (npm) (≥ 1.8)", false),
            ]
        );
    }

    #[test]
    fn a_peer_that_is_not_there_is_not_judged() {
        let ours = figures("toolkiln", 4_000, 360, 1024);
        assert_eq!(judge(&ours, &[], &times(1)).len(), 3);
    }

    #[test]
    fn the_table_holds_medians_and_ratios() {
        let ours = figures("toolkiln", 4_000, 400, 2048);
        let peer = figures(RUST_PEER, 3_000, 300, 4096);
        let text = table(&[&ours, &peer]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| toolkiln | 4.00 | 9000 | 1.0 / 2.0 | 0.400 / 0.400 / 0.400 | 1.00 | 1.00 |",
                "| rust-mcp-filesystem | 3.00 | 9000 | 2.0 / 4.0 | 0.300 / 0.300 / 0.300 | 0.75 | 0.75 |",
            ]
        );
    }
}
