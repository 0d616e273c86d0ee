//! `cargo xtask bench web`: what the service and its page cost, for the server, for watchers and in a browser,
//! beside opencode's.

mod crowd;
mod figures;
mod measures;
mod opencode;
pub(in crate::bench) mod program;
pub(in crate::bench) mod service;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use testkit::{Fixture, ModelServer};

use self::crowd::{CROWD, CROWD_PIECES, CROWD_WATCHERS, crowd};
use self::figures::{ServiceFigures, judge, tables};
use self::measures::{
    BrowserTools, PIECES, idle, many_sessions, pieces_to_watchers, prompts, visits,
};
use self::opencode::Opencode;
use self::program::{Toolkiln, WebProgram};
use self::service::WebServer;
use super::Effort;
use super::stats::Times;
use super::verdict::pronounce;
use crate::house::House;
use crate::page;
use crate::step::one_line;

const WATCHERS: usize = 100;
const SESSIONS: usize = 20;
const FILES: usize = 200;
/// What a browser visits: a page to begin at, and sessions with many tool calls.
const START_VISIT: &str = "start";
const LONG_VISIT: &str = "1,000 calls";
const LONG: usize = 1_000;
const LONGEST_VISIT: &str = "20,000 calls";
const LONGEST: usize = 20_000;

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort, profile: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build(profile)?;
    let runs = match effort {
        Effort::Full => 20,
        Effort::Quick => 5,
    };
    let text: String = (0..FILES).map(|n| format!("//- /src/f{n}.rs\nfn f{n}() {{}}\n")).collect();
    let project = Fixture::new(&text);
    let ours = Toolkiln::new(&binary, &project)?;
    let mut contenders = vec![Contender {
        program: Box::new(ours),
        lengths: &[(LONG_VISIT, LONG), (LONGEST_VISIT, LONGEST)],
    }];
    match Opencode::new(&house) {
        // Only ours has a target for the longest session.
        Ok(peer) => {
            contenders.push(Contender { program: Box::new(peer), lengths: &[(LONG_VISIT, LONG)] })
        }
        Err(why) => skipped("opencode-ai", &why),
    }
    let browser = browser(&house);
    let starts = starts(&contenders, &project, runs)?;
    let mut figures = Vec::new();
    for (contender, start) in contenders.iter().zip(starts) {
        figures.push(contender.measure(start, &project, browser.as_ref(), runs)?);
    }
    let (ours, _) = contenders.split_first().context("our own service is measured")?;
    let crowd = crowd(&*ours.program, &project)?;
    println!("\n{}", tables(&figures, &crowd));
    println!(
        "{runs} starts, prompts and visits of each; {PIECES} pieces to {WATCHERS} watchers; {CROWD} sessions at once \
         with {CROWD_PIECES} pieces each to {CROWD_WATCHERS} watchers; {profile} build.\n"
    );
    Ok(pronounce(&judge(&figures[0], &crowd)))
}

fn skipped(what: &str, why: &anyhow::Error) {
    println!("SKIPPED: {what} ({})", one_line(&format!("{why:#}")));
}

/// A Python with Playwright, and a browser.
fn browser(house: &House) -> Option<(PathBuf, PathBuf)> {
    let tools = page::interpreter(house).and_then(|python| Ok((python, page::browser()?)));
    tools.inspect_err(|why| skipped("pages in a browser", why)).ok()
}

/// A program that is measured.
struct Contender {
    program: Box<dyn WebProgram>,
    /// The sessions that a browser opens.
    lengths: &'static [(&'static str, usize)],
}

impl Contender {
    fn is_ours(&self) -> bool {
        self.program.name() == Toolkiln::NAME
    }

    /// A figure of ours must be there; one of another program that cannot be taken is named.
    fn tried<T>(&self, what: &str, measured: Result<T>) -> Result<Option<T>> {
        let what = format!("{what} of {}", self.program.name());
        match measured {
            Ok(figure) => Ok(Some(figure)),
            Err(why) if self.is_ours() => Err(why.context(what)),
            Err(why) => {
                skipped(&what, &why);
                Ok(None)
            }
        }
    }

    fn measure(
        &self,
        start: Option<Times>,
        project: &Fixture,
        browser: Option<&(PathBuf, PathBuf)>,
        runs: usize,
    ) -> Result<ServiceFigures> {
        let program = &*self.program;
        println!("measuring {}", program.name());
        let idle_mb = self.tried("idle memory", idle(program, project))?;
        let prompt = self.tried("prompts", prompts(program, project, runs))?;
        let watchers = self.tried("watchers", pieces_to_watchers(program, project))?;
        let busy_mb = self.tried("many sessions", many_sessions(program, project))?;
        let visits = match browser {
            None => None,
            Some((python, browser)) => {
                let tools = BrowserTools { python, browser };
                let seen = visits(&tools, program, project, self.lengths, runs);
                self.tried("the page in a browser", seen)?
            }
        };
        Ok(ServiceFigures {
            name: program.name().to_owned(),
            start,
            prompt: prompt.map(Times::new),
            watchers: watchers.map(Times::new),
            idle_mb,
            busy_mb,
            visits,
        })
    }
}

/// Starts in turns, so that the noise of the machine falls on all alike.
fn starts(contenders: &[Contender], project: &Fixture, runs: usize) -> Result<Vec<Option<Times>>> {
    let quiet = ModelServer::start([]);
    let mut starts = vec![Some(Vec::new()); contenders.len()];
    // The first start makes the state; users have that behind them.
    for run in 0..=runs {
        for (contender, times) in contenders.iter().zip(&mut starts) {
            let Some(known) = times else { continue };
            let started = WebServer::start(&*contender.program, project, &quiet);
            match contender.tried("starts", started)? {
                Some((_, time)) if run > 0 => known.push(time),
                Some(_) => {}
                None => *times = None,
            }
        }
    }
    Ok(starts.into_iter().map(|times| times.map(Times::new)).collect())
}
