//! What each weight of the ranking adds: the figures with it, and with nothing in its place.
//!
//! ```sh
//! cargo run --release -p code_index --example ranking_ablation < cases.jsonl
//! ```
//!
//! Each line of the input is a case: `{"half": "judge", "root": "…", "query": "…", "right": ["…"]}`.
//! `cargo xtask bench ranking DIR --ablation` makes them from its list of commits and runs this. A line
//! with a dot says that a case is done, so that its files may change; the table comes at the end.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{CodeBase, FileFilter, RankedQuery, RankingWeights, SearchScope, search_ranked};
use serde::Deserialize;
use workspace::{RelPath, Workspace};

/// Files of an answer that are looked at.
const LOOKED_AT: usize = 50;
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Far more than any question takes.
const TIME: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Case {
    half: String,
    root: String,
    query: String,
    right: Vec<String>,
}

/// Sums over cases: how many, one over the place of the first right file, right files that are first.
#[derive(Default, Clone, Copy)]
struct Sums {
    cases: f64,
    reciprocal: f64,
    first: f64,
}

/// The ranking with one thing changed.
struct Variant {
    name: &'static str,
    weights: RankingWeights,
    natural: bool,
}

/// Everything as it is, then each weight without effect.
fn variants() -> Vec<Variant> {
    let usual = RankingWeights::default();
    let of = |name, weights| Variant { name, weights, natural: false };
    vec![
        of("all weights", usual),
        of("length of files", RankingWeights { length: 0.0, ..usual }),
        of("definitions", RankingWeights { definition: 0.0, ..usual }),
        of("file names", RankingWeights { file_name: 0.0, ..usual }),
        of("blocks", RankingWeights { block: 0.0, ..usual }),
        of("coverage of the query", RankingWeights { coverage: 0.0, ..usual }),
        of("weak words", RankingWeights { weak_word: 1.0, ..usual }),
        of("identifiers as a whole", RankingWeights { identifier: 0.0, ..usual }),
        of("neighbouring words", RankingWeights { neighbours: 0.0, ..usual }),
        of("tests behind code", RankingWeights { test: 1.0, ..usual }),
        of("prose and data behind code", RankingWeights { behind_code: 1.0, ..usual }),
        Variant { name: "(with synonyms)", weights: usual, natural: true },
    ]
}

fn main() {
    let variants = variants();
    let mut sums: BTreeMap<(usize, String), Sums> = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input is text");
        let case: Case = serde_json::from_str(&line).expect("each line is a case");
        let workspace = Workspace::open(Path::new(&case.root)).expect("the root is a directory");
        let code = CodeBase::new(Arc::new(workspace));
        for (index, variant) in variants.iter().enumerate() {
            let place = first_right(&code, &case, variant);
            let sums = sums.entry((index, case.half.clone())).or_default();
            sums.cases += 1.0;
            sums.reciprocal += place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
            sums.first += f64::from(u8::from(place == Some(0)));
        }
        println!(".");
    }
    println!("| without | tuned half | judged half |\n|---|---|---|");
    for (index, variant) in variants.iter().enumerate() {
        let shown = |half: &str| {
            let one = sums.get(&(index, half.to_owned())).copied().unwrap_or_default();
            let count = one.cases.max(1.0);
            format!("{:.3}; {:.2}", one.reciprocal / count, one.first / count)
        };
        println!("| {} | {} | {} |", variant.name, shown("tune"), shown("judge"));
    }
}

/// The place of the first right file, from 0.
fn first_right(code: &CodeBase, case: &Case, variant: &Variant) -> Option<usize> {
    let query = RankedQuery {
        text: case.query.clone(),
        natural: variant.natural,
        snippet_lines: 1,
        max_line_chars: 80,
        weights: variant.weights,
    };
    let scope = SearchScope {
        start: RelPath::root(),
        filter: FileFilter::new(&[], &[], &[]).expect("no filter is a filter"),
        hidden: false,
        max_depth: 32,
        max_entries: usize::MAX,
        deadline: Instant::now() + TIME,
        max_results: LOOKED_AT,
        max_file_bytes: MAX_FILE_BYTES,
        file_time: TIME,
    };
    let found = search_ranked(code, &query, &scope, &|| false).expect("the tree is readable");
    let is_right = |path: String| case.right.contains(&path);
    found.files.iter().position(|file| is_right(file.path.to_text()))
}
