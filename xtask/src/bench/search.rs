//! `cargo xtask bench search`: what it costs to find things in a large code base, beside the
//! programs people find things with today.
//!
//! One run, ratios of medians. Each part stands for itself: where one cannot be measured, that is
//! a verdict, and the others are still measured.

mod definitions;
mod files;
mod freshness;
mod questions;
mod result_set;
mod rivals;
mod sample;
pub(crate) mod server;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::client::Client;
use super::stats::Times;
use super::verdict::{Verdict, at_most, below, pronounce};
use super::{Effort, corpus};
use crate::house::House;
use crate::step::one_line;
use questions::QUESTIONS;
use rivals::Ripgrep;
use server::{Home, wait_until_idle, wait_until_quick};

const BUILD_S: f64 = 8.0;
const INDEX_PERCENT: f64 = 12.0;
const MEMORY_MB: f64 = 200.0;
/// How long a server may be busy in the background before it is measured.
const SETTLED_WITHIN: Duration = Duration::from_secs(600);

/// The program that is measured, and where.
#[derive(Clone, Copy)]
struct Ours<'a> {
    binary: &'a Path,
    root: &'a Path,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(directory: Option<&str>, effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let root = corpus::root(&house, directory.map(Path::new))?;
    let ripgrep = Ripgrep::get(&house, &root)?;
    let fd = rivals::fd(&house).map_err(|why| println!("SKIPPED: fd ({why:#})")).ok();
    let binary = house.build("release")?;
    let ours = Ours { binary: &binary, root: &root };
    let home = |name: &str| Home::empty(house.cache("search-homes").join(name));

    let mut account = Account::default();
    let truth = account.part("what ripgrep finds", || what_ripgrep_finds(&ripgrep));
    let indexed_home = home("indexed")?;
    account.verdicts("index", || build(ours, effort, &indexed_home));
    let indexed = account.part("server with an index", || settled(ours, &indexed_home));
    let (mut indexed, ready) = indexed.unzip();
    account.verdicts.extend(ready);
    let walking_home = home("walking")?.without_index()?;
    let mut walking =
        account.part("server without an index", || walking_home.server(&binary, &root));

    let mut rows = Vec::new();
    for question in &QUESTIONS {
        account.verdicts(question.name, || {
            let (indexed, walking) = (indexed.as_mut(), walking.as_mut());
            let (row, verdicts) = questions::measure(question, effort, &ripgrep, indexed, walking)?;
            rows.push(row);
            Ok(verdicts)
        });
    }
    drop(walking);
    if let Some(client) = &mut indexed {
        account.verdicts("files", || files::measure(effort, &root, fd, client));
        account.verdicts("update", || {
            let file = truth.context("there is no file that is known to be searched")?;
            freshness::measure(effort, &root, &file, client)
        });
        account.verdicts("memory", || judge_memory("after text and files", client));
    }
    drop(indexed);
    if let Some(names) = account.part("names to look up", || definitions::sample(effort, &ripgrep))
    {
        account.verdicts("first definitions", || {
            definitions::first_questions(&ours, &indexed_home, &names)
        });
        account.verdicts("all definitions", || {
            definitions::after_the_pass(&ours, effort, &indexed_home, &names)
        });
    }

    println!("\n{}", questions::table(&rows));
    println!("Medians of one run, in turns; the answer is the first 50 by path and the total.\n");
    Ok(pronounce(&account.verdicts))
}

/// Shows how many lines each question is about; the file of the first line.
fn what_ripgrep_finds(ripgrep: &Ripgrep) -> Result<String> {
    let mut file = None;
    for question in &QUESTIONS {
        let truth = question.truth(ripgrep)?;
        println!("{}: `{}`, {} lines", question.name, question.pattern, truth.total);
        file = file.or_else(|| Some(truth.first.first()?.path.clone()));
    }
    file.context("ripgrep finds nothing at all")
}

/// Builds the index from nothing, as often as is worth it; the last one stays.
fn build(ours: Ours<'_>, effort: Effort, home: &Home) -> Result<Vec<Verdict>> {
    let rounds = match effort {
        Effort::Full => 3,
        Effort::Quick => 1,
    };
    let mut times = Vec::new();
    let mut facts = Value::Null;
    for _ in 0..rounds {
        home.forget_the_cache()?;
        let (told, time) = home.build_index(ours.binary, ours.root)?;
        times.push(time);
        facts = told;
    }
    let seconds = Times::new(times).median() / 1000.0;
    let number = |key: &str| facts["index"][key].as_f64().with_context(|| format!("no {key}"));
    let percent = 100.0 * number("bytes")? / number("text_bytes")?.max(1.0);
    println!("{facts}\nbuilt in {seconds:.2} s, {percent:.2} % of the text");
    Ok(vec![
        below("index build, p50", seconds, BUILD_S, "s"),
        at_most("size of the index, of the text", percent, INDEX_PERCENT, "%"),
    ])
}

/// A server that does nothing else, and whether it answers from the index. One that does not is
/// measured all the same: the figures say what that is like.
fn settled(ours: Ours<'_>, home: &Home) -> Result<(Client, Verdict)> {
    let mut client = home.server(ours.binary, ours.root)?;
    let ready = wait_until_quick(&mut client);
    let what = match &ready {
        Ok(time) => format!("answers from the index after {:.0} ms", time.as_secs_f64() * 1000.0),
        Err(why) => format!("no answers from the index: {why:#}"),
    };
    let busy = wait_until_idle(&client, SETTLED_WITHIN)?;
    println!("{what}; idle after another {:.1} s", busy.as_secs_f64());
    Ok((client, Verdict { what, passed: ready.is_ok() }))
}

fn judge_memory(when: &str, client: &Client) -> Result<Vec<Verdict>> {
    let memory = client.memory().context("there is no /proc to read the memory from")?;
    let judged = |what: &str, kilobytes: u64| {
        below(&format!("{what} memory {when}"), kilobytes as f64 / 1024.0, MEMORY_MB, "MB")
    };
    Ok(vec![judged("resident", memory.now), judged("peak", memory.peak)])
}

/// The verdicts so far.
#[derive(Default)]
struct Account {
    verdicts: Vec<Verdict>,
}

impl Account {
    /// A part that the others build upon; that it failed is a verdict.
    fn part<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("\n==> {name}");
        let result = work();
        if let Err(why) = &result {
            let what = format!("{name}: {}", one_line(&format!("{why:#}")));
            println!("not measured: {what}");
            self.verdicts.push(Verdict { what, passed: false });
        }
        result.ok()
    }

    /// A part that ends in verdicts.
    fn verdicts(&mut self, name: &str, work: impl FnOnce() -> Result<Vec<Verdict>>) {
        let verdicts = self.part(name, work);
        self.verdicts.extend(verdicts.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_fails_is_a_verdict_and_the_others_go_on() {
        let passed = || Ok(vec![Verdict { what: "a target".into(), passed: true }]);
        let mut account = Account::default();
        account.verdicts("first", || anyhow::bail!("no\nindex"));
        assert_eq!(account.part("second", || Ok(2)), Some(2));
        account.verdicts("third", passed);
        let shown: Vec<_> = account.verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(shown, [("first: no index", false), ("a target", true)]);
    }
}
