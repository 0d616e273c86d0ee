//! `cargo xtask bench ranking`: whether `search` puts those files first that a change is about.
//!
//! A case is a commit of a public history: the project as it was before, the subject as the query,
//! and the source files that it changed as the right answers. The histories are in two halves. The
//! weights of the ranking were fitted to one; the other says how good it is.

mod ablation;
mod bm25;
mod cases;
mod change;
mod figures;
mod mirror;
mod rivals;
mod speed;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::Effort;
use super::search::server::Home;
use super::verdict::{Verdict, at_least, pronounce};
use crate::house::House;
use crate::step::one_line;
use bm25::{Bm25, PLAIN, STRONG};
use cases::{Half, LIST, Repository};
use change::Change;
use figures::{Figures, LOOKED_AT, table};
use tree::Tree;

const OURS: &str = "toolkiln `search`";
const COUNTED: &str = "ripgrep, most hits";
const PROBED: &str = "probe 0.6, on the cases of `--quick`";
/// So that `probe` stands beside something that was asked the same.
const OURS_WHERE_PROBED: &str = "toolkiln `search`, on the same cases";

/// How much better than the best BM25 ours has to be.
const TIMES_BM25: f64 = 1.15;
const FIRST: f64 = 0.45;
/// Cases of each repository where it need not be exact. `probe` is asked no others: it gives up most
/// queries about larger trees, each of them when its time is over.
const QUICK_CASES: usize = 4;
/// For a new list: cases of each repository, and the commits that they are spread over.
const CHOSEN: usize = 48;
const CHOSEN_FROM: usize = 1200;

/// Figures by ranker, for one repository.
type Measured = BTreeMap<&'static str, Figures>;

/// The programs that are asked. A rival that cannot be installed is left out.
struct Rankers {
    binary: PathBuf,
    ripgrep: Option<PathBuf>,
    probe: Option<PathBuf>,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(directory: Option<&str>, effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let repositories = cases::parse(LIST)?;
    let rival = |name: &str, got: Result<PathBuf>| {
        got.map_err(|why| println!("SKIPPED: {name} ({})", one_line(&format!("{why:#}")))).ok()
    };
    let rankers = Rankers {
        binary: house.build("release")?,
        ripgrep: rival("ripgrep", rivals::ripgrep(&house)),
        probe: rival("probe", rivals::probe(&house)),
    };
    let cache = house.cache("ranking");
    let mut measured: Vec<(&Repository, Measured)> = Vec::new();
    let mut missing = Vec::new();
    let mut largest: Option<speed::Largest> = None;
    for repository in &repositories {
        let got = measure(&rankers, repository, directory.map(Path::new), &cache, effort);
        match got {
            Ok((figures, tree)) => {
                println!("{}: {}", repository.name, one_repository(&figures));
                measured.push((repository, figures));
                largest = speed::larger(largest, tree);
            }
            Err(why) => {
                println!("SKIPPED: {} ({})", repository.name, one_line(&format!("{why:#}")));
                missing.push(repository.name.as_str());
            }
        }
    }
    println!("\n{}", table(&["tuned half", "judged half"], &rows(&measured)));
    let mut verdicts = judge(&measured, &missing);
    match largest.context("there is no tree to measure times on") {
        Ok(largest) => verdicts.extend(speed::measure(&rankers.binary, &cache, &largest)?),
        Err(why) => verdicts.push(Verdict { what: format!("{why:#}"), passed: false }),
    }
    Ok(pronounce(&verdicts))
}

/// Prints a new list of cases, chosen by the rules of [`change`] from the histories at hand.
pub(crate) fn choose(directory: &str) -> Result<ExitCode> {
    let house = House::find()?;
    println!("# Commits whose subjects are queries: see docs/ranking.md.");
    for Repository { name, half, .. } in cases::parse(LIST)? {
        let cache = house.cache("ranking").join("mirrors");
        let mirror = mirror::find(Some(Path::new(directory)), &cache, &name, "HEAD")?;
        let half = if half == Half::Tune { "tune" } else { "judge" };
        println!("\n{half} {name}");
        for change in change::choose(&mirror, CHOSEN, CHOSEN_FROM)? {
            println!("{}", change.commit);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Times of the queries of the list's first history on another tree, which may be of any size.
pub(crate) fn time(directory: &str, tree: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build("release")?;
    let cache = house.cache("ranking");
    let repositories = cases::parse(LIST)?;
    let first = repositories.first().context("the list is empty")?;
    let mut queries = Vec::new();
    for_each_case(first, Some(Path::new(directory)), &cache, usize::MAX, |_, change| {
        queries.push(change.query());
        Ok(())
    })?;
    let timed =
        speed::Largest { root: tree.into(), files: speed::count(Path::new(tree))?, queries };
    Ok(pronounce(&speed::measure(&binary, &cache, &timed)?))
}

/// What each weight adds, as the example `ranking_ablation` of `code_index` finds it.
pub(crate) fn ablate(directory: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let cache = house.cache("ranking");
    let mut ablation = ablation::Ablation::start(&house)?;
    for repository in &cases::parse(LIST)? {
        let done = for_each_case(
            repository,
            Some(Path::new(directory)),
            &cache,
            usize::MAX,
            |tree, change| {
                ablation.add(repository.half, tree.root(), &change.query(), &change.answers())
            },
        );
        if let Err(why) = done {
            println!("SKIPPED: {} ({})", repository.name, one_line(&format!("{why:#}")));
        }
    }
    println!("{}", ablation.end()?);
    Ok(ExitCode::SUCCESS)
}

/// Shows each case of a repository with the files as they were before; the last tree.
fn for_each_case(
    repository: &Repository,
    given: Option<&Path>,
    cache: &Path,
    wanted: usize,
    mut visit: impl FnMut(&Tree, &Change) -> Result<()>,
) -> Result<Tree> {
    let first = repository.commits.first().context("there is no case")?;
    let mirror = mirror::find(given, &cache.join("mirrors"), &repository.name, first)?;
    let place = cache.join("trees").join(repository.name.replace('/', "+"));
    let mut tree = Tree::new(place, &mirror)?;
    for commit in repository.commits.iter().take(wanted) {
        let change = change::read(&mirror, commit, 1)?;
        let change = change.into_iter().next().with_context(|| format!("no commit {commit}"))?;
        tree.check_out(&change.parent)?;
        visit(&tree, &change)?;
    }
    Ok(tree)
}

/// The figures of all rankers on the cases of one repository, and its last tree.
fn measure(
    rankers: &Rankers,
    repository: &Repository,
    given: Option<&Path>,
    cache: &Path,
    effort: Effort,
) -> Result<(Measured, speed::Largest)> {
    let wanted = if effort == Effort::Full { usize::MAX } else { QUICK_CASES };
    let home = Home::empty(cache.join("home"))?.without_index()?;
    let mut bm25 = Bm25::default();
    let mut measured = Measured::new();
    let mut queries = Vec::new();
    let tree = for_each_case(repository, given, cache, wanted, |tree, change| {
        let is_quick = queries.len() < QUICK_CASES;
        for (name, files) in rank_all(rankers, &home, &mut bm25, tree, change, is_quick)? {
            measured.entry(name).or_default().add(&files, &change.answers());
        }
        queries.push(change.query());
        Ok(())
    })?;
    let root = tree.root().to_owned();
    Ok((measured, speed::Largest { root, files: tree.files().len(), queries }))
}

/// The files as each ranker puts them; `probe` is asked about the cases of `--quick` only.
fn rank_all(
    rankers: &Rankers,
    home: &Home,
    bm25: &mut Bm25,
    tree: &Tree,
    change: &Change,
    is_quick: bool,
) -> Result<Vec<(&'static str, Vec<String>)>> {
    let query = change.query();
    let found = ours(&rankers.binary, home, tree.root(), &query)?;
    let mut ranked = vec![(OURS, found.clone())];
    for setting in [PLAIN, STRONG] {
        let files = bm25.rank(&setting, tree.root(), tree.files(), &query);
        ranked.push((setting.name, files));
    }
    if let Some(ripgrep) = &rankers.ripgrep {
        ranked.push((COUNTED, rivals::counted(ripgrep, tree.root(), &query)?));
    }
    if let Some(probe) = rankers.probe.as_ref().filter(|_| is_quick) {
        ranked.push((PROBED, rivals::probed(probe, tree.root(), &query)?));
        ranked.push((OURS_WHERE_PROBED, found));
    }
    Ok(ranked)
}

/// What the tool answers, asked as a model asks it. It walks, so that no answer depends on how far
/// an index is.
fn ours(binary: &Path, home: &Home, root: &Path, query: &str) -> Result<Vec<String>> {
    let mut client = home.server(binary, root)?;
    let (answer, _) = client.ask("search", &json!({"query": query, "max_results": LOOKED_AT}))?;
    speed::paths(&answer)
}

fn one_repository(measured: &Measured) -> String {
    let shown = measured.iter().map(|(name, one)| {
        format!("{name} {:.3} ({:.2} first)", one.mean_reciprocal_rank(), one.first())
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Figures by ranker for both halves.
fn rows<'a>(measured: &[(&Repository, Measured)]) -> Vec<(&'a str, Vec<Figures>)> {
    let names = [OURS, STRONG.name, PLAIN.name, COUNTED, OURS_WHERE_PROBED, PROBED];
    let of_half = |name: &str, half: Half| {
        let mut sum = Figures::default();
        let parts = measured.iter().filter(|(repository, _)| repository.half == half);
        parts.filter_map(|(_, figures)| figures.get(name)).for_each(|one| sum.join(one));
        sum
    };
    let rows =
        names.map(|name| (name, vec![of_half(name, Half::Tune), of_half(name, Half::Judge)]));
    rows.into_iter().filter(|(_, halves)| halves.iter().any(|half| half.cases > 0.0)).collect()
}

fn judge(measured: &[(&Repository, Measured)], missing: &[&str]) -> Vec<Verdict> {
    let rows = rows(measured);
    let judged = |name: &str| {
        let row = rows.iter().find(|(row, _)| *row == name)?;
        row.1.last().copied()
    };
    let mut verdicts = Vec::new();
    if let Some(ours) = judged(OURS) {
        let best = [PLAIN.name, STRONG.name]
            .map(|name| judged(name).map_or(0.0, |figures| figures.mean_reciprocal_rank()));
        let times =
            ours.mean_reciprocal_rank() / best.into_iter().fold(f64::MIN_POSITIVE, f64::max);
        verdicts.push(at_least("mean reciprocal rank, of the best BM25", times, TIMES_BM25, "×"));
        verdicts.push(at_least("share of cases with a right file first", ours.first(), FIRST, ""));
    }
    if !missing.is_empty() {
        let what = format!("histories that could not be had: {}", missing.join(", "));
        verdicts.push(Verdict { what, passed: false });
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(ranked: &[&str], right: &[&str]) -> Figures {
        let ranked: Vec<String> = ranked.iter().map(|path| (*path).to_owned()).collect();
        let mut figures = Figures::default();
        figures.add(&ranked, right);
        figures
    }

    #[test]
    fn the_judged_half_is_what_is_judged() {
        let repository = |name: &str, half| Repository { name: name.into(), half, commits: vec![] };
        let (tuned, judged) = (repository("a/b", Half::Tune), repository("c/d", Half::Judge));
        let good = figures(&["x"], &["x"]);
        let poor = figures(&["y", "x"], &["x"]);
        let measured = [
            (&tuned, Measured::from([(OURS, poor), (STRONG.name, good), (PLAIN.name, good)])),
            (&judged, Measured::from([(OURS, good), (STRONG.name, poor), (PLAIN.name, poor)])),
        ];
        let passed = |verdicts: Vec<Verdict>| -> Vec<bool> {
            verdicts.iter().map(|verdict| verdict.passed).collect()
        };
        assert_eq!(passed(judge(&measured, &[])), [true, true]);
        assert_eq!(passed(judge(&measured, &["e/f"])), [true, true, false]);
        let swapped = [(&judged, measured[0].1.clone())];
        assert_eq!(passed(judge(&swapped, &[])), [false, false]);
        assert!(judge(&[], &[]).is_empty());
    }
}
