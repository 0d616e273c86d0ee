//! `toolkiln run`: one message, worked on to its end without asking.

use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use protocol::{Content, LogEntry, PauseReason, Settings, TurnEnd};
use providers::catalogue::ModelSelection;
use session::{Session, TurnOutcome};
use timeline::TurnTally;
use tool_system::{ApproveAll, Approver, RefuseAll};
use workspace::{EntryId, Journal, RelPath};

use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::attach::{self, AttachedRun};
use crate::chat::attachments::with_mentioned;
use crate::chat::events_json::{JsonLines, NamedInstructions, RunEnd};
use crate::chat::outcome::RunOutcome;
use crate::conversation::{resumed, session_parts};
use crate::interrupt::StopSignal;
use crate::model_choice::{Chosen, chosen};
use crate::output::{self, Printer, Stream};
use crate::project::{Lifetime, Project, project_root};
use crate::telemetry;
use terminal::Ink;
use terminal::{Screen, ScreenOptions};

/// As the message: it is read from there.
pub(crate) const STANDARD_INPUT: &str = "-";
/// A longer message is a mistake.
const MAX_PROMPT_BYTES: u64 = 4 * 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  toolkiln run \"Find all TODO comments in this project\"
  git diff | toolkiln run -                       # the message comes from standard input
  toolkiln run \"Fix the failing test\" --allow 'edit_lines:src/**'
  toolkiln run \"List the public types\" --json --budget-usd 0.50
  toolkiln run \"Fix the failing test\" --attach   # in a session of a running `toolkiln web`";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// What to do, or - to read it from standard input
    pub(crate) prompt: String,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on with a conversation: its id, the beginning of it, or its title; the last one if empty
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// Work in a session that a running `toolkiln web` has, at this address
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = attach::USUAL_ADDRESS)]
    #[arg(conflicts_with_all = attach::SETTLED_THERE)]
    pub(crate) attach: Option<String>,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    output::work_begins();
    let mut run = HeadlessRun::new(args);
    let ended = run.carry_out(args);
    run.end(ended)
}

/// A run, with what has to be told of it however it ends.
struct HeadlessRun {
    shows: RunView,
    /// The session, once there is one.
    session: String,
    /// Paths from the project root.
    files_changed: Vec<String>,
    /// The exit code for the signal that stopped it.
    stopped_with: Option<u8>,
}

impl HeadlessRun {
    fn new(args: &RunArgs) -> Self {
        let shows = RunView::new(args);
        Self { shows, session: String::new(), files_changed: Vec::new(), stopped_with: None }
    }

    /// Works to the end of the turn; none if a signal came before. A panic is an error.
    fn carry_out(&mut self, args: &RunArgs) -> anyhow::Result<Option<TurnOutcome>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(async {
            let stop = StopSignal::listen()?;
            let ended = caught(self.converse(args, &stop)).await;
            self.stopped_with = stop.exit_code();
            if !stop.at_once.is_cancelled() {
                telemetry::flush().await;
            }
            ended
        });
        // Whatever is still being read ahead does not hold the process back.
        runtime.shutdown_background();
        ended
    }

    async fn converse(
        &mut self,
        args: &RunArgs,
        stop: &StopSignal,
    ) -> anyhow::Result<Option<TurnOutcome>> {
        if let Some(url) = &args.attach {
            let Self { shows, session: session_id, files_changed, .. } = self;
            let told = AttachedRun { shows, session_id, files_changed };
            return attach::run(args, url, told, stop).await;
        }
        let beginning = begin(args);
        let StartedRun { prompt, project, chosen, mut session } = tokio::select! {
            biased;
            () = stop.cancel.cancelled() => return Ok(None),
            begun = beginning => begun?,
        };
        session.store_now().await?;
        self.session = session.id().to_string();
        self.shows.begin(&session, &chosen)?;
        let changes = SessionChanges::from_now_on(&project, &session);
        let content = content_of(&session, prompt, args.prompt == STANDARD_INPUT).await;
        let worked = caught(work(&mut session, content, &mut self.shows, stop)).await;
        self.files_changed = changes.paths();
        session.close().await;
        worked
    }

    /// Says how it ended, and gives the exit code for that.
    fn end(self, ended: anyhow::Result<Option<TurnOutcome>>) -> anyhow::Result<ExitCode> {
        let limit = ended.as_ref().ok().and_then(Option::as_ref).and_then(limit_of);
        if let Some(limit) = limit {
            let id = &self.session;
            output::to_user(&format!(
                "toolkiln: {limit}. Go on with: toolkiln run --resume {id} \"go on\""
            ));
        }
        let turn = self.shows.turn();
        let outcome = match &ended {
            Ok(Some(_)) => RunOutcome::of(turn),
            Ok(None) => RunOutcome::Cancelled,
            Err(_) => RunOutcome::Error,
        };
        let exit_code = match outcome {
            RunOutcome::Cancelled => self.stopped_with.unwrap_or(outcome.exit_code()),
            _ => outcome.exit_code(),
        };
        let message = match &ended {
            Err(error) => Some(format!("{error:#}")),
            Ok(_) => limit.map(str::to_owned).or_else(|| message(outcome, turn)),
        };
        if let Err(error) = &ended {
            output::failure(error);
        }
        if let RunView::Program(lines) = self.shows {
            let (message, files_changed) = (message.as_deref(), &*self.files_changed);
            lines.end(&RunEnd { outcome, exit_code, message, files_changed })?;
        }
        Ok(ExitCode::from(exit_code))
    }
}

/// What a program can show of a run that did not end well.
fn message(outcome: RunOutcome, turn: &TurnTally) -> Option<String> {
    Some(match outcome {
        RunOutcome::Done => return None,
        RunOutcome::Denied => {
            turn.denied.first().map(|denied| denied.reason.clone()).unwrap_or_default()
        }
        RunOutcome::ProviderError => turn.failure.clone().unwrap_or_default(),
        RunOutcome::Refused => "the model will not answer".to_owned(),
        RunOutcome::Cancelled => "the run was stopped".to_owned(),
        RunOutcome::Limit => "the run stopped at a limit".to_owned(),
        RunOutcome::Error => "the run failed".to_owned(),
    })
}

/// What a turn needs.
struct StartedRun {
    prompt: String,
    project: Project,
    chosen: Chosen,
    session: Session,
}

async fn begin(args: &RunArgs) -> anyhow::Result<StartedRun> {
    let given = args.prompt.clone();
    // Standard input may be long in coming.
    let prompt = tokio::task::spawn_blocking(move || prompt(&given)).await??;
    let project = Project::open_with(&project_root::checked(&args.scope)?, &args.model.layer())?;
    let role = project.config.role(&args.scope.role)?;
    let tools = project.tools(&args.scope, &args.approval, Lifetime::OneCall)?;
    let chosen = chosen(&project.config, &project.environment, &ModelSelection::default()).await?;
    let approver = Some(approver(args.approval.yes));
    let parts = session_parts(&project, tools, &chosen, role, approver).await?;
    let session = match &args.resume {
        None => Session::begin(parts).await?,
        Some(text) => resumed(parts, text).await?,
    };
    Ok(StartedRun { prompt, project, chosen, session })
}

/// A panic in `work` becomes an error; the panic hook has told it already.
async fn caught<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        polled.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".into());
            Poll::Ready(Err(anyhow!("this is a fault in Toolkiln: {text}")))
        })
    })
    .await
}

/// The message with the files it mentions. Text from elsewhere mentions nothing: what comes through a
/// pipe need not be the user's own words.
async fn content_of(session: &Session, prompt: String, from_elsewhere: bool) -> Vec<Content> {
    if from_elsewhere {
        return vec![Content::Text { text: prompt.into() }];
    }
    let attached = with_mentioned(session.executor(), prompt).await;
    for note in attached.told(session.options()) {
        output::to_user(&format!("toolkiln: {note}"));
    }
    attached.content
}

/// What policy does not allow is denied, and the model is told so.
fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        return Arc::new(ApproveAll);
    }
    let how_to_allow = "The user cannot be asked in this run. Tell the user what you would have done; they can \
                        allow it with --yes, with a rule (--allow 'TOOL:WHAT'), or in `toolkiln chat`.";
    Arc::new(RefuseAll { how_to_allow: how_to_allow.into() })
}

/// Carries the turn on and shows what happens as it is written down. None if the end is not waited for.
async fn work(
    session: &mut Session,
    content: Vec<Content>,
    shows: &mut RunView,
    stop: &StopSignal,
) -> anyhow::Result<Option<TurnOutcome>> {
    let mut written = session.log().watch();
    let mut activity = session.executor().activity().subscribe_all();
    let turn = session.send(content, &stop.cancel);
    tokio::pin!(turn);
    let outcome = loop {
        tokio::select! {
            biased;
            () = stop.at_once.cancelled() => break Ok(None),
            Some(entry) = written.recv() => shows.entry(&entry)?,
            Some(event) = activity.next() => shows.activity(&event)?,
            outcome = &mut turn => break outcome.map(Some),
        }
    };
    while let Ok(entry) = written.try_recv() {
        shows.entry(&entry)?;
    }
    Ok(outcome?)
}

/// Where a run is shown: to the user, or to a program.
pub(crate) enum RunView {
    User(Box<Screen<Printer, Printer>>),
    Program(JsonLines<Printer>),
}

impl RunView {
    fn new(args: &RunArgs) -> Self {
        if args.json {
            return RunView::Program(JsonLines::new(Printer::json(Stream::Out)));
        }
        let options = ScreenOptions {
            words: Stream::Out.style(),
            notes: Stream::Err.style(),
            thoughts: false,
            messages: false,
            questions: false,
            context_window: None,
        };
        let (words, notes) = (Printer::inked(Stream::Out), Printer::inked(Stream::Err));
        RunView::User(Box::new(Screen::new(words, notes, options)))
    }

    fn begin(&mut self, session: &Session, chosen: &Chosen) -> anyhow::Result<()> {
        let files = named_instructions(session);
        match self {
            RunView::User(screen) => {
                screen.options_mut().context_window = chosen.window();
                let named = files.iter().map(|file| (file.path.as_str(), file.remark.as_deref()));
                if let Some(line) = timeline::instructions(named) {
                    output::painted(Stream::Err.style(), [(Ink::DIM, &*format!("· {line}"))]);
                }
            }
            RunView::Program(lines) => {
                let settings = session.context().settings();
                let settings = settings.context("the session has no settings")?;
                lines.begin(&session.id().to_string(), settings, &files)?;
            }
        }
        Ok(())
    }

    /// The same for a session that a service runs. It has told its instructions in its own log.
    pub(crate) fn begin_elsewhere(&mut self, id: &str, settings: &Settings) -> io::Result<()> {
        match self {
            RunView::User(_) => Ok(()),
            RunView::Program(lines) => lines.begin(id, settings, &[]),
        }
    }

    fn turn(&self) -> &TurnTally {
        match self {
            RunView::User(screen) => screen.turn(),
            RunView::Program(lines) => lines.turn(),
        }
    }

    pub(crate) fn entry(&mut self, entry: &LogEntry) -> io::Result<()> {
        match self {
            RunView::User(screen) => screen.show(entry),
            RunView::Program(lines) => lines.entry(entry),
        }
    }

    pub(crate) fn activity(&mut self, event: &protocol::ActivityEvent) -> io::Result<()> {
        match self {
            RunView::User(screen) => screen.activity(event),
            RunView::Program(_) => Ok(()),
        }
    }
}

fn named_instructions(session: &Session) -> Vec<NamedInstructions> {
    let files = session.parts().prompts.instruction_files();
    let named =
        files.map(|file| NamedInstructions { path: file.path.clone(), remark: file.remark() });
    named.collect()
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

/// The changes of a session from some moment on.
struct SessionChanges {
    journal: Option<Arc<Journal>>,
    session: String,
    since: Option<EntryId>,
}

impl SessionChanges {
    fn from_now_on(project: &Project, session: &Session) -> Self {
        let journal = project.state().ok().and_then(|state| state.journal.get().ok());
        let since = journal.and_then(|journal| journal.newest().ok().flatten());
        Self { journal: journal.cloned(), session: session.id().to_string(), since }
    }

    /// The files that were left changed, by their paths from the root.
    fn paths(&self) -> Vec<String> {
        let Some(journal) = &self.journal else { return Vec::new() };
        let changed = journal.left_changed(&self.session, self.since).unwrap_or_default();
        changed.iter().map(RelPath::to_text).collect()
    }
}

/// The message from the command line, or from standard input.
pub(crate) fn prompt(given: &str) -> anyhow::Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_words() {
        let fine = caught(async { Ok(1) }).await;
        assert_eq!(fine.ok(), Some(1));
        let panics = caught(async {
            tokio::task::yield_now().await;
            if RunOutcome::Done.exit_code() == 0 {
                panic!("at {}", "last")
            }
            Ok(())
        });
        let error = panics.await.unwrap_err().to_string();
        assert_eq!(error, "this is a fault in Toolkiln: at last");
    }
}
