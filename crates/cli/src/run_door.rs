//! `toolkiln run`: one message, worked on to its end, with nobody to ask.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use protocol::{Content, LogEntry, PauseReason, TurnEnd};
use providers::catalogue::Wanted;
use session::{Session, TurnOutcome};
use tokio_util::sync::CancellationToken;
use tool_system::{ApproveAll, Approver, RefuseAll};

use crate::args::RunArgs;
use crate::chat::attachments::{notes, with_mentioned};
use crate::chat::events_json::JsonLines;
use crate::chat::screen::{Screen, ScreenOptions};
use crate::conversation::{Desk, resumed};
use crate::interrupt::on_interrupt;
use crate::model_choice::Chosen;
use crate::output::{self, Printer, Stream};
use crate::setup::Lifetime;

/// As the message: it is read from there.
const STANDARD_INPUT: &str = "-";
/// A longer message is a mistake.
const MAX_PROMPT_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let prompt = prompt(&args.prompt)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(converse(&args, prompt));
    // Whatever is still being read ahead does not hold the process back.
    runtime.shutdown_background();
    code
}

async fn converse(args: &RunArgs, prompt: String) -> anyhow::Result<ExitCode> {
    let desk = Desk::open(&args.scope, &args.gate, &args.model, Lifetime::OneCall).await?;
    let chosen = desk.model(&Wanted::default()).await?;
    let parts = desk.parts(&chosen, Some(approver(args.gate.yes))).await?;
    let mut session = match &args.resume {
        None => Session::begin(parts).await?,
        Some(text) => resumed(&desk, parts, text).await?,
    };
    let shows = Shows::begin(args, &session, &chosen)?;
    let content = message(&session, prompt, args.prompt == STANDARD_INPUT).await;
    let (shows, outcome) = work(&mut session, content, shows).await?;
    let code = shows.end(&desk, &session, &outcome);
    session.close().await;
    code
}

/// The message with the files it mentions. Text from elsewhere mentions nothing: what comes through a
/// pipe need not be the user's own words.
async fn message(session: &Session, prompt: String, from_elsewhere: bool) -> Vec<Content> {
    if from_elsewhere {
        return vec![Content::Text { text: prompt }];
    }
    let attached = with_mentioned(session, prompt).await;
    for note in notes(&attached, session.options()) {
        output::to_people(&format!("toolkiln: {note}"));
    }
    attached.content
}

/// What policy does not allow is denied, and the model is told so.
fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        return Arc::new(ApproveAll);
    }
    let how_to_allow = "Nobody can be asked in this run. Tell the user what you would have done; they can \
                        allow it with --yes, with a rule (--allow 'TOOL:WHAT'), or in `toolkiln chat`.";
    Arc::new(RefuseAll { how_to_allow: how_to_allow.into() })
}

/// Carries the turn on and shows what happens as it is written down.
async fn work(
    session: &mut Session,
    content: Vec<Content>,
    mut shows: Shows,
) -> anyhow::Result<(Shows, TurnOutcome)> {
    let mut written = session.log().watch();
    let mut activity = session.executor().activity().subscribe_all();
    let cancel = CancellationToken::new();
    let turn = session.send(content, &cancel);
    tokio::pin!(turn);
    let _interrupt = on_interrupt(cancel.clone());
    let outcome = loop {
        tokio::select! {
            biased;
            Some(entry) = written.recv() => shows.entry(&entry)?,
            Some(event) = activity.next() => shows.activity(&event)?,
            outcome = &mut turn => break outcome?,
        }
    };
    while let Ok(entry) = written.try_recv() {
        shows.entry(&entry)?;
    }
    Ok((shows, outcome))
}

/// Where a run is shown: to a person, or to a program.
enum Shows {
    People(Box<Screen<Printer, Printer>>),
    Program(JsonLines<Printer>),
}

impl Shows {
    fn begin(args: &RunArgs, session: &Session, chosen: &Chosen) -> anyhow::Result<Self> {
        if args.json {
            let settings = session.context().settings().context("the session has no settings")?;
            let lines =
                JsonLines::begin(Printer::json(Stream::Out), &session.id().to_string(), settings)?;
            return Ok(Shows::Program(lines));
        }
        let options = ScreenOptions {
            words: Stream::Out.look(),
            notes: Stream::Err.look(),
            thoughts: false,
            messages: false,
            context_window: chosen.window(),
        };
        let (words, notes) = (Printer::inked(Stream::Out), Printer::inked(Stream::Err));
        Ok(Shows::People(Box::new(Screen::new(words, notes, options))))
    }

    fn entry(&mut self, entry: &LogEntry) -> io::Result<()> {
        match self {
            Shows::People(screen) => screen.show(entry),
            Shows::Program(lines) => lines.entry(entry),
        }
    }

    fn activity(&mut self, event: &protocol::ActivityEvent) -> io::Result<()> {
        match self {
            Shows::People(screen) => screen.activity(event),
            Shows::Program(_) => Ok(()),
        }
    }

    fn end(self, desk: &Desk, session: &Session, how: &TurnOutcome) -> anyhow::Result<ExitCode> {
        let id = session.id().to_string();
        if let Some(limit) = limit_of(how) {
            output::to_people(&format!(
                "toolkiln: {limit}. Go on with: toolkiln run --resume {id} \"go on\""
            ));
        }
        let outcome = match self {
            Shows::People(screen) => screen.tally().outcome(),
            Shows::Program(lines) => lines.end(&files_changed(desk, session))?,
        };
        Ok(ExitCode::from(outcome.exit_code()))
    }
}

/// How the limit that a run stopped at is raised, if it stopped at one.
fn limit_of(outcome: &TurnOutcome) -> Option<&'static str> {
    Some(match outcome {
        TurnOutcome::Paused(reason) => match reason {
            PauseReason::TurnLimit { .. } => {
                "it stopped at the limit of rounds; --max-turns NUMBER allows more"
            }
            PauseReason::TokenBudget { .. } => {
                "it stopped at the budget of tokens; --budget-tokens NUMBER allows more"
            }
            PauseReason::CostBudget { .. } => {
                "it stopped at the budget of dollars; --budget-usd DOLLARS allows more"
            }
            PauseReason::TimeBudget { .. } => {
                "it stopped at the limit of time; --time-limit TIME allows more"
            }
            PauseReason::GoingInCircles { .. } => {
                "it stopped because the same call was made again and again; no option changes that"
            }
        },
        TurnOutcome::Ended(TurnEnd::MaxTokens) => {
            "it stopped at the greatest length of an answer; model.max_tokens in the configuration allows more"
        }
        TurnOutcome::Ended(TurnEnd::ContextFull) => {
            "it stopped because the conversation is too long for the model; --model NAME chooses another"
        }
        TurnOutcome::Ended(_) => return None,
    })
}

/// The files that the session has changed, by their paths from the root.
pub(crate) fn files_changed(desk: &Desk, session: &Session) -> Vec<String> {
    let id = session.id().to_string();
    let journal = desk.tools.kit.journal().and_then(|journal| journal.get().ok());
    let entries = journal.and_then(|journal| journal.entries(usize::MAX).ok()).unwrap_or_default();
    let own = entries.into_iter().filter(|entry| entry.session == id);
    let paths: BTreeSet<String> =
        own.flat_map(|entry| entry.paths).map(|path| path.to_text()).collect();
    paths.into_iter().collect()
}

/// The message from the command line, or from standard input.
fn prompt(given: &str) -> anyhow::Result<String> {
    let mut text = given.to_owned();
    if given == STANDARD_INPUT {
        text.clear();
        let mut input = io::stdin().lock().take(MAX_PROMPT_BYTES + 1);
        input.read_to_string(&mut text).context("the message on standard input cannot be read")?;
    }
    if text.len() as u64 > MAX_PROMPT_BYTES {
        bail!("the message is larger than {MAX_PROMPT_BYTES} bytes");
    }
    if text.trim().is_empty() {
        bail!("the message is empty");
    }
    Ok(text)
}
