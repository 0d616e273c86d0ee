//! Where names are defined: the first question on a tree that was never parsed, the pass that
//! parses all of it in the background, and lookups after that.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::rivals::{Ripgrep, timed};
use super::sample::{Name, names};
use super::server::{Home, wait_until_idle, wait_until_quick};
use super::{Ours, judge_memory};
use crate::bench::Effort;
use crate::bench::client::Client;
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, at_least, at_most, below};

const FIRST_QUESTION_MS: f64 = 150.0;
const LOOKUP_MS: f64 = 2.0;
const MOST_TIMES_CTAGS: f64 = 1.5;
/// What the issue asks of definitions found, here of the first one named.
const RIGHT_PERCENT: f64 = 98.0;
const PASS_WITHIN: Duration = Duration::from_secs(600);
/// Languages of the default build, as universal-ctags calls them.
const CTAGS_LANGUAGES: &str =
    "--languages=C,C++,C#,Go,Java,JavaScript,PHP,Python,Ruby,Rust,Sh,TypeScript";

/// Answers of one kind.
struct Asked {
    times: Times,
    right: usize,
    /// For people: what was answered wrongly.
    wrong: Vec<String>,
}

/// The names to look up.
pub(crate) fn sample(effort: Effort, ripgrep: &Ripgrep) -> Result<Vec<Name>> {
    let count = match effort {
        Effort::Full => 100,
        Effort::Quick => 20,
    };
    names(ripgrep, count)
}

/// A fresh server for each name, with the text index and without any symbols.
pub(crate) fn first_questions(
    ours: &Ours<'_>,
    home: &Home,
    names: &[Name],
) -> Result<Vec<Verdict>> {
    let asked = asked(ours.root, names, |name| {
        home.keep_only_the_text_index()?;
        let mut client = home.server(ours.binary, ours.root)?;
        wait_until_quick(&mut client)?;
        definition(&mut client, name)
    })?;
    asked.show("find_definition, first question to a fresh server");
    Ok(vec![
        below(
            "find_definition, first question, p50",
            asked.times.median(),
            FIRST_QUESTION_MS,
            "ms",
        ),
        asked.judge("find_definition, first question"),
    ])
}

/// The pass over all symbols, beside universal-ctags if there is time for it, and lookups after it.
pub(crate) fn after_the_pass(
    ours: &Ours<'_>,
    effort: Effort,
    home: &Home,
    names: &[Name],
) -> Result<Vec<Verdict>> {
    home.keep_only_the_text_index()?;
    let mut client = home.server(ours.binary, ours.root)?;
    let start = Instant::now();
    wait_until_quick(&mut client)?;
    let first = names.first().context("there are no names")?;
    definition(&mut client, &first.name)?;
    let before = start.elapsed();
    let pass = before + wait_until_idle(&client, PASS_WITHIN)?;
    println!("background pass over symbols: {:.1} s", pass.as_secs_f64());

    let asked = asked(ours.root, names, |name| definition(&mut client, name))?;
    asked.show("find_definition after the pass");
    let mut verdicts = vec![
        below("find_definition after the pass, p50", asked.times.median(), LOOKUP_MS, "ms"),
        asked.judge("find_definition after the pass"),
    ];
    verdicts.extend(judge_memory("with symbols", &client)?);
    drop(client);
    // Without a table there was no pass, and its time says nothing.
    let passed = home.keep_only_the_text_index()?;
    verdicts.push(Verdict { what: "the pass has left symbols in the cache".into(), passed });
    if passed && effort == Effort::Full {
        verdicts.extend(beside_ctags(ours.root, pass));
    }
    Ok(verdicts)
}

fn beside_ctags(root: &Path, pass: Duration) -> Option<Verdict> {
    let mut command = Command::new("ctags");
    // To a pipe: with `/dev/null` as its output, ctags would do nothing.
    command.args(["-R", "-f", "-", CTAGS_LANGUAGES, "."]).current_dir(root);
    match timed(&mut command) {
        Ok((_, ctags)) => {
            println!("universal-ctags: {:.1} s", ctags.as_secs_f64());
            let ratio = pass.as_secs_f64() / ctags.as_secs_f64();
            Some(at_most("pass over symbols, of ctags' time", ratio, MOST_TIMES_CTAGS, "×"))
        }
        Err(why) => {
            println!("SKIPPED: universal-ctags ({why:#})");
            None
        }
    }
}

/// Asks for each name and looks whether the first answer is a definition.
fn asked(
    root: &Path,
    names: &[Name],
    mut ask: impl FnMut(&str) -> Result<(Value, Duration)>,
) -> Result<Asked> {
    let (mut times, mut right, mut wrong) = (Vec::new(), 0, Vec::new());
    for name in names {
        let (answer, time) = ask(&name.name)?;
        times.push(time);
        match first_place(&answer) {
            None => wrong.push(format!("{}: nothing", name.name)),
            Some((path, number)) => {
                let line = line_of(&root.join(path), number)?;
                if name.is_defined_at(path, number, &line) {
                    right += 1;
                } else {
                    wrong.push(format!("{}: {path}:{number}: {}", name.name, line.trim()));
                }
            }
        }
    }
    ensure!(!times.is_empty(), "there are no names");
    Ok(Asked { times: Times::new(times), right, wrong })
}

fn definition(client: &mut Client, name: &str) -> Result<(Value, Duration)> {
    client.ask("find_definition", &json!({"symbol": name}))
}

/// The place of the first definition in an answer.
fn first_place(answer: &Value) -> Option<(&str, u64)> {
    let first = answer["definitions"].as_array()?.first()?;
    Some((first["path"].as_str()?, first["line"].as_u64()?))
}

/// The line of a file, counted from one; empty if there is none.
fn line_of(file: &Path, number: u64) -> Result<String> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let wanted = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
    let line = bytes.split(|byte| *byte == b'\n').nth(wanted).unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

impl Asked {
    fn percent(&self) -> f64 {
        100.0 * self.right as f64 / (self.right + self.wrong.len()) as f64
    }

    fn show(&self, what: &str) {
        println!(
            "{what}: p50 {:.2} ms, p90 {:.2} ms, worst {:.2} ms; {} of {} right",
            self.times.median(),
            self.times.percentile(90),
            self.times.percentile(100),
            self.right,
            self.right + self.wrong.len()
        );
        for wrong in &self.wrong {
            println!("  not a definition: {wrong}");
        }
    }

    fn judge(&self, what: &str) -> Verdict {
        let what = format!("{what}, first answer is a definition");
        at_least(&what, self.percent(), RIGHT_PERCENT, "%")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn answers_are_held_against_the_files() {
        let project = testkit::Fixture::new("//- /a.c\nint f(void);\nint f(void)\n{\n\tg();\n}\n");
        let names = ["f", "g", "h"].map(|name| Name { name: name.into(), places: BTreeSet::new() });
        let asked = asked(project.root(), &names, |name| {
            let place = |line| json!({"definitions": [{"path": "a.c", "line": line}]});
            let answer = match name {
                "f" => place(2),
                "g" => place(4),
                _ => json!({"definitions": []}),
            };
            Ok((answer, Duration::from_millis(1)))
        });
        let asked = asked.expect("answers");
        assert_eq!((asked.right, asked.wrong.len()), (1, 2));
        assert_eq!(asked.wrong, ["g: a.c:4: g();", "h: nothing"]);
        assert!(!asked.judge("x").passed);
    }

    #[test]
    fn a_line_that_is_not_there_is_empty() {
        let project = testkit::Fixture::new("//- /a.c\none\ntwo\n");
        let line = |number| line_of(&project.path("a.c"), number).expect("the file is there");
        for (number, expected) in [(1, "one"), (2, "two"), (9, ""), (0, "")] {
            assert_eq!(line(number), expected, "{number}");
        }
    }
}
