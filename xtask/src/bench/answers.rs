//! `cargo xtask bench answers`: what the answers to everyday questions cost a model, in tokens.
//!
//! The questions are asked over MCP on one fixed commit of this repository, so that figures stay
//! comparable; other agents answered the same on the same commit. Tokens are those of `o200k_base`.

mod questions;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use self::questions::{PEERS, Question, questions};
use super::client::Client;
use super::corpus::git;
use super::peers::installed_once;
use super::verdict::{Verdict, at_most, pronounce};
use crate::house::House;
use crate::step::run as run_command;

/// The commit that the questions are about.
const COMMIT: &str = "20e8817";
const TOKENIZER: &str = "gpt-tokenizer@4.0.0";
/// Reads a JSON list of texts and prints how many tokens each has.
const COUNT: &str = "\
import { encode } from './node_modules/gpt-tokenizer/esm/encoding/o200k_base.js';
import fs from 'node:fs';
const texts = JSON.parse(fs.readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.map((text) => encode(text, { allowedSpecial: 'all' }).length)));
";

/// All answers but those of the `b` rows together.
const SUM_TOKENS: f64 = 10_700.0;
/// How far above the cheapest peer that shows the same an answer may be.
const MOST_TIMES_PEER: f64 = 1.05;

/// A question with what its answer costs.
struct Row {
    question: Question,
    tokens: u64,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run() -> Result<ExitCode> {
    let house = House::find()?;
    // How fast it answers does not matter here.
    let binary = house.build("debug")?;
    let directory = house.cache("answers");
    let project = checkout(&house, &directory)?;
    let questions = questions();
    let texts = answers(&binary, &project, &directory.join("home"), &questions)?;
    keep(&directory.join("texts"), &questions, &texts)?;
    let counts = count(&directory, &texts)?;
    let rows: Vec<Row> = questions
        .into_iter()
        .zip(counts)
        .map(|(question, tokens)| Row { question, tokens })
        .collect();
    println!("\n{}", table(&rows));
    println!(
        "Tokens of o200k_base. In brackets: the peer shows less or something else. The answers are \
         in {}.\n",
        directory.join("texts").display()
    );
    Ok(pronounce(&judge(&rows)))
}

/// The commit and what led to it, and nothing else: how git abbreviates depends on all it knows.
fn checkout(house: &House, directory: &Path) -> Result<PathBuf> {
    let project = directory.join("project");
    installed_once(directory, COMMIT, || {
        if project.exists() {
            fs::remove_dir_all(&project).context("cannot remove an unfinished checkout")?;
        }
        fs::create_dir_all(&project)?;
        let mut name = git(&house.root);
        let name = crate::fetch::output(name.args(["rev-parse", "--verify"]).arg(COMMIT))?;
        let name = String::from_utf8(name)?;
        run_command(git(&project).args(["init", "--quiet"]))?;
        let mut fetch = git(&project);
        fetch.args(["fetch", "--quiet", "--no-tags"]).arg(&house.root).arg(name.trim());
        run_command(&mut fetch)
    })?;
    // What an earlier run has edited is taken back.
    run_command(git(&project).args(["checkout", "--quiet", "--force", "--detach", COMMIT]))?;
    run_command(git(&project).args(["clean", "--quiet", "-fdx"]))?;
    Ok(project)
}

/// What a model reads, question by question.
fn answers(
    binary: &Path,
    project: &Path,
    home: &Path,
    questions: &[Question],
) -> Result<Vec<String>> {
    let mut command = Command::new(binary);
    command.args(["mcp", "--yes", "--root"]).arg(project);
    for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env(variable, home.join(variable.to_lowercase()));
    }
    let (mut client, _) = Client::start(&mut command)?;
    let mut texts = Vec::new();
    for question in questions {
        let params = json!({"name": question.tool, "arguments": question.arguments});
        client.call("tools/call", &params)?;
        let text = client.text().with_context(|| format!("question {}", question.row))?;
        ensure!(
            question.expects.is_none_or(|words| text.contains(words)),
            "the answer to question {} has no `{}`: {text:.300}",
            question.row,
            question.expects.unwrap_or_default()
        );
        texts.push(text);
    }
    Ok(texts)
}

/// Leaves the answers to be looked at.
fn keep(directory: &Path, questions: &[Question], texts: &[String]) -> Result<()> {
    fs::create_dir_all(directory).context("cannot make the directory for answers")?;
    for (question, text) in questions.iter().zip(texts) {
        fs::write(directory.join(format!("{}.txt", question.row)), text)?;
    }
    Ok(())
}

fn count(directory: &Path, texts: &[String]) -> Result<Vec<u64>> {
    let place = directory.join("tokenizer");
    installed_once(&place, TOKENIZER, || {
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&place);
        run_command(install.arg(TOKENIZER))?;
        fs::write(place.join("count.mjs"), COUNT).context("cannot write the script that counts")
    })?;
    let mut node = Command::new("node");
    node.arg(place.join("count.mjs")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn().context("cannot start node")?;
    let mut input = child.stdin.take().context("standard input is piped")?;
    input.write_all(serde_json::to_string(texts)?.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "node counts no tokens: {}", output.status);
    let counts: Vec<u64> = serde_json::from_slice(&output.stdout)?;
    ensure!(counts.len() == texts.len(), "{} counts of {} texts", counts.len(), texts.len());
    Ok(counts)
}

fn sum(rows: &[Row]) -> u64 {
    rows.iter().filter(|row| !row.question.is_extra()).map(|row| row.tokens).sum()
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("| | question | toolkiln | {} |\n|---|---|---|", PEERS.join(" | "));
    text.push_str(&"---|".repeat(PEERS.len()));
    text.push('\n');
    for Row { question, tokens } in rows {
        let _ = write!(text, "| {} | {} | {tokens} |", question.row, question.name);
        for figure in &question.peers {
            let _ = write!(text, " {figure} |");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "| | sum without b | {} |{}", sum(rows), " |".repeat(PEERS.len()));
    text
}

fn judge(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts =
        vec![at_most("sum without the b rows", sum(rows) as f64, SUM_TOKENS, "tokens")];
    for Row { question, tokens } in rows {
        if let Some(best) = question.best_peer() {
            let what = format!("{}, of the best peer", question.name);
            verdicts.push(at_most(&what, *tokens as f64 / best as f64, MOST_TIMES_PEER, "×"));
        }
    }
    verdicts
}

impl Client {
    /// The text of the last answer, also of one that is an error.
    fn text(&self) -> Result<String> {
        let response: Value = self.response()?;
        let text = response["result"]["content"][0]["text"].as_str();
        Ok(text.with_context(|| format!("no text: {response}"))?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::questions::Figure;
    use super::*;

    fn row(row: &'static str, tokens: u64, peers: [Figure; 5]) -> Row {
        let question = Question {
            row,
            name: "read",
            tool: "read_file",
            arguments: json!({}),
            expects: None,
            peers,
        };
        Row { question, tokens }
    }

    #[test]
    fn the_sum_and_each_question_are_judged_by_peers_that_show_the_same() {
        use Figure::{Other, Same, Unknown};
        let rows = [
            row("1", 104, [Same(100), Other(90), Unknown, Same(120), Unknown]),
            row("2", 10_000, [Other(1), Unknown, Unknown, Unknown, Unknown]),
            row("2b", 9_200, [Same(8_000), Unknown, Unknown, Unknown, Unknown]),
        ];
        let shown: Vec<(String, bool)> =
            judge(&rows).into_iter().map(|verdict| (verdict.what, verdict.passed)).collect();
        assert_eq!(
            shown,
            [
                ("sum without the b rows: 10104.00 tokens (≤ 10700 tokens)".to_owned(), true),
                ("read, of the best peer: 1.04 × (≤ 1.05 ×)".to_owned(), true),
                ("read, of the best peer: 1.15 × (≤ 1.05 ×)".to_owned(), false),
            ]
        );
    }

    #[test]
    fn the_table_shows_every_peer() {
        use Figure::{Other, Same, Unknown};
        let text = table(&[row("1", 104, [Same(100), Other(90), Unknown, Unknown, Same(7)])]);
        assert_eq!(
            text,
            "| | question | toolkiln | Claude Code | Codex | opencode | gemini-cli | fs-MCP |\n\
             |---|---|---|---|---|---|---|---|\n\
             | 1 | read | 104 | 100 | (90) | – | – | 7 |\n\
             | | sum without b | 104 | | | | | |\n"
        );
    }
}
