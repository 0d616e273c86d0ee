//! The questions about text, each put to ours with an index, to ours without, and to ripgrep.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::result_set::ResultSet;
use super::rivals::{Ripgrep, timed};
use super::server::{NOWHERE, grep};
use crate::bench::Effort;
use crate::bench::client::Client;
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, at_least, at_most};

/// Results that are asked for.
pub(super) const SHOWN: usize = 50;
/// How much longer than ripgrep ours may take where an index is of no help.
const NO_SLOWER: f64 = 1.1;

/// What is asked, and what an index has to make of it.
pub(crate) struct Question {
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    case_sensitive: bool,
    /// How many times faster than ripgrep; none where an index cannot help.
    times_faster: Option<f64>,
}

pub(crate) const QUESTIONS: [Question; 6] = [
    Question {
        name: "rare literal",
        pattern: "rwsem_down_write_slowpath",
        case_sensitive: true,
        times_faster: Some(100.0),
    },
    Question {
        name: "no match",
        pattern: NOWHERE,
        case_sensitive: true,
        times_faster: Some(100.0),
    },
    Question {
        name: "common literal",
        pattern: "dev_err",
        case_sensitive: true,
        times_faster: Some(8.0),
    },
    Question {
        name: "regex with a literal part",
        pattern: r"static int \w+_probe\(",
        case_sensitive: true,
        times_faster: Some(10.0),
    },
    Question {
        name: "case-insensitive literal",
        pattern: "deadlock",
        case_sensitive: false,
        times_faster: Some(15.0),
    },
    Question {
        name: "no literal part",
        pattern: "[0-9]{9,}[a-z]",
        case_sensitive: true,
        times_faster: None,
    },
];

/// How often each is asked.
struct Counts {
    rounds: usize,
    /// Questions to the index in each round, unless it cannot help.
    indexed_in_a_round: usize,
}

impl Counts {
    fn of(effort: Effort) -> Counts {
        match effort {
            Effort::Full => Counts { rounds: 7, indexed_in_a_round: 3 },
            Effort::Quick => Counts { rounds: 3, indexed_in_a_round: 3 },
        }
    }
}

impl Question {
    fn ripgrep_flags(&self) -> &'static [&'static str] {
        if self.case_sensitive { &[] } else { &["--ignore-case"] }
    }

    /// What ripgrep finds. Asked once before anything is timed, it also brings the files into memory.
    pub(crate) fn truth(&self, ripgrep: &Ripgrep) -> Result<ResultSet> {
        Ok(ResultSet::new(ripgrep.lines(self.pattern, self.ripgrep_flags())?, SHOWN))
    }
}

/// The medians of one question, in milliseconds.
pub(crate) struct Figures {
    question: &'static Question,
    total: u64,
    indexed: Option<f64>,
    walking: Option<f64>,
    ripgrep: f64,
    ripgrep_first: f64,
}

/// One of our servers and what it did.
struct Guest<'a> {
    name: &'static str,
    client: &'a mut Client,
    times: Vec<Duration>,
    difference: Option<String>,
}

impl<'a> Guest<'a> {
    fn new(name: &'static str, client: &'a mut Client) -> Guest<'a> {
        Guest { name, client, times: Vec::new(), difference: None }
    }

    /// Asks, and compares after the clock has stopped.
    fn ask(&mut self, question: &Question, truth: &ResultSet) -> Result<()> {
        let arguments = grep(question.pattern, question.case_sensitive);
        let (answer, time) = self.client.ask("grep", &arguments)?;
        ensure!(answer.get("remark").is_none(), "answered from memory: {}", answer["remark"]);
        self.times.push(time);
        if self.difference.is_none() {
            self.difference = ResultSet::answered(&answer)?.difference(truth);
        }
        Ok(())
    }

    fn median(&self) -> f64 {
        Times::new(self.times.clone()).median()
    }

    fn same_results(&self, question: &Question) -> Verdict {
        let what = format!("{}, {}: same results as ripgrep", question.name, self.name);
        match &self.difference {
            None => Verdict { what, passed: true },
            Some(why) => Verdict { what: format!("{what}, but {why}"), passed: false },
        }
    }
}

/// Asks everybody in turns, so that the noise of the machine falls on all alike.
pub(crate) fn measure(
    question: &'static Question,
    effort: Effort,
    ripgrep: &Ripgrep,
    indexed: Option<&mut Client>,
    walking: Option<&mut Client>,
) -> Result<(Figures, Vec<Verdict>)> {
    let counts = Counts::of(effort);
    let flags = question.ripgrep_flags();
    let truth = question.truth(ripgrep)?;
    let mut indexed = indexed.map(|client| Guest::new("with the index", client));
    let mut walking = walking.map(|client| Guest::new("without an index", client));
    let in_a_round = if question.times_faster.is_some() { counts.indexed_in_a_round } else { 1 };
    let (mut whole, mut first) = (Vec::new(), Vec::new());
    for _ in 0..counts.rounds {
        for _ in 0..in_a_round {
            indexed.iter_mut().try_for_each(|guest| guest.ask(question, &truth))?;
        }
        walking.iter_mut().try_for_each(|guest| guest.ask(question, &truth))?;
        whole.push(timed(&mut ripgrep.command(question.pattern, flags))?.1);
        first.push(ripgrep.first_by_path(question.pattern, flags, SHOWN)?);
    }
    let figures = Figures {
        question,
        total: truth.total,
        indexed: indexed.as_ref().map(Guest::median),
        walking: walking.as_ref().map(Guest::median),
        ripgrep: Times::new(whole).median(),
        ripgrep_first: Times::new(first).median(),
    };
    let guests = [&indexed, &walking].into_iter().flatten();
    let mut verdicts: Vec<_> = guests.map(|guest| guest.same_results(question)).collect();
    verdicts.extend(figures.judge());
    Ok((figures, verdicts))
}

impl Figures {
    fn judge(&self) -> Vec<Verdict> {
        let Question { name, times_faster, .. } = self.question;
        let mut verdicts = Vec::new();
        if let Some(indexed) = self.indexed {
            verdicts.push(match times_faster {
                Some(least) => {
                    let what = format!("{name}, with the index, faster than ripgrep");
                    at_least(&what, self.ripgrep / indexed, *least, "×")
                }
                None => {
                    let what = format!("{name}, with the index, of ripgrep's time");
                    at_most(&what, indexed / self.ripgrep, NO_SLOWER, "×")
                }
            });
        }
        if let Some(walking) = self.walking {
            let what = format!("{name}, without an index, of ripgrep's time");
            verdicts.push(at_most(&what, walking / self.ripgrep, NO_SLOWER, "×"));
        }
        verdicts
    }
}

/// One row a question, medians in milliseconds.
pub(crate) fn table(rows: &[Figures]) -> String {
    let mut text = String::from(
        "| question | pattern | lines | index, ms | no index, ms | ripgrep, ms \
         | ripgrep `--sort path`, first 50, ms | index faster | no index, of ripgrep's time |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let shown = |value: Option<f64>, unit| match value {
        Some(value) => format!("{value:.2}{unit}"),
        None => "–".to_owned(),
    };
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} | {:.1} | {:.1} | {} | {} |",
            row.question.name,
            row.question.pattern,
            row.total,
            shown(row.indexed, ""),
            shown(row.walking, ""),
            row.ripgrep,
            row.ripgrep_first,
            shown(row.indexed.map(|indexed| row.ripgrep / indexed), " ×"),
            shown(row.walking.map(|walking| walking / row.ripgrep), " ×"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(number: usize, indexed: Option<f64>, walking: Option<f64>) -> Figures {
        let question = &QUESTIONS[number];
        Figures { question, total: 9, indexed, walking, ripgrep: 500.0, ripgrep_first: 900.0 }
    }

    #[test]
    fn targets_are_judged() {
        let rows = [
            figures(0, Some(5.0), Some(550.0)),
            figures(2, Some(100.0), Some(551.0)),
            figures(5, Some(551.0), None),
            figures(1, None, None),
        ];
        let verdicts: Vec<_> = rows.iter().flat_map(Figures::judge).collect();
        let shown: Vec<_> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("rare literal, with the index, faster than ripgrep: 100.00 × (≥ 100 ×)", true),
                ("rare literal, without an index, of ripgrep's time: 1.10 × (≤ 1.1 ×)", true),
                ("common literal, with the index, faster than ripgrep: 5.00 × (≥ 8 ×)", false),
                ("common literal, without an index, of ripgrep's time: 1.10 × (≤ 1.1 ×)", false),
                ("no literal part, with the index, of ripgrep's time: 1.10 × (≤ 1.1 ×)", false),
            ]
        );
    }

    #[test]
    fn the_table_shows_what_was_not_measured() {
        let text = table(&[figures(0, Some(0.25), None)]);
        assert_eq!(
            text.lines().nth(2),
            Some(
                "| rare literal | `rwsem_down_write_slowpath` | 9 | 0.25 | – | 500.0 | 900.0 \
                 | 2000.00 × | – |"
            )
        );
    }
}
