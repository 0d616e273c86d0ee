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

/// Of each case of a half, one over the place of the first right file.
type Reciprocals = BTreeMap<String, Vec<f64>>;

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
    let mut of_variants: Vec<Reciprocals> = vec![Reciprocals::new(); variants.len()];
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input is text");
        let case: Case = serde_json::from_str(&line).expect("each line is a case");
        let workspace = Workspace::open(Path::new(&case.root)).expect("the root is a directory");
        let code = CodeBase::new(Arc::new(workspace));
        for (variant, reciprocals) in variants.iter().zip(&mut of_variants) {
            let place = first_right(&code, &case, variant);
            let reciprocal = place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
            reciprocals.entry(case.half.clone()).or_default().push(reciprocal);
        }
        println!(".");
    }
    println!("| without | tuned half | judged half | lost on both |\n|---|---|---|---|");
    let all = of_variants.first().cloned().unwrap_or_default();
    for (variant, reciprocals) in variants.iter().zip(&of_variants) {
        let shown = |half: &str| {
            let values = reciprocals.get(half).map_or(&[][..], Vec::as_slice);
            let first = values.iter().filter(|value| **value == 1.0).count() as f64;
            format!("{:.3}; {:.2}", mean(values), first / values.len().max(1) as f64)
        };
        println!(
            "| {} | {} | {} | {} |",
            variant.name,
            shown("tune"),
            shown("judge"),
            lost(&all, reciprocals)
        );
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// How much smaller the mean is than with all weights, and how far that may be off by chance: the
/// 95 % interval of the differences case by case.
fn lost(all: &Reciprocals, without: &Reciprocals) -> String {
    let pairs = all.values().flatten().zip(without.values().flatten());
    let differences: Vec<f64> = pairs.map(|(all, without)| all - without).collect();
    let mean_lost = mean(&differences);
    let squares: Vec<f64> =
        differences.iter().map(|lost| (lost - mean_lost) * (lost - mean_lost)).collect();
    let deviation = (mean(&squares) / differences.len().max(1) as f64).sqrt();
    format!("{mean_lost:.3} ± {:.3}", 1.96 * deviation)
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
