//! `toolkiln run --attach URL`: one message to a session that a service runs, worked on to its end.

use std::sync::Arc;

use anyhow::Context as _;
use protocol::{LogEntry, SessionEvent, Settings};
use session::{ApprovalManager, TurnOutcome};
use terminal::mentions;

use super::remote_session::RemoteFeeds;
use super::{RemoteSession, Service};
use crate::commands::run::{RunArgs, RunView, STANDARD_INPUT, prompt};
use crate::environment::Environment;
use crate::interrupt::StopSignal;
use crate::output;

/// What is told of a run, however it ends.
pub(crate) struct AttachedRun<'a> {
    pub(crate) shows: &'a mut RunView,
    pub(crate) session_id: &'a mut String,
    /// Paths from the project root.
    pub(crate) files_changed: &'a mut Vec<String>,
}

/// Carries the turn on and shows it. What needs approval is answered by whoever else watches the session, or by
/// `--yes`. None if a signal stopped it and its end is not waited for.
pub(crate) async fn run(
    args: &RunArgs,
    url: &str,
    told: AttachedRun<'_>,
    stop: &StopSignal,
) -> anyhow::Result<Option<TurnOutcome>> {
    let AttachedRun { shows, session_id, files_changed } = told;
    let given = args.prompt.clone();
    let prompt = tokio::task::spawn_blocking(move || prompt(&given)).await??;
    let network = Environment::gather().network.for_providers();
    let service = Service::connect(url, &network).await?;
    let brief = service.session(args.resume.as_deref()).await?;
    session_id.clone_from(&brief.id);
    let (session, mut feeds) = RemoteSession::follow(&service, &brief.id);
    let settings = past(&session, &mut feeds).await?;
    shows.begin_elsewhere(&brief.id, &settings)?;
    let files = match args.prompt == STANDARD_INPUT {
        true => Vec::new(),
        false => mentions(&prompt).iter().map(|mention| mention.path.to_owned()).collect(),
    };
    let before = session.left_changed(0).await?.newest;
    let said = session.say(&prompt, &files).await?;
    for note in &said.notes {
        output::to_user(&format!("toolkiln: {note}"));
    }
    let approvals = Arc::clone(&session.approvals);
    let answering = async {
        match args.approval.yes {
            true => approve_all(&approvals).await,
            false => point_out(&approvals, &service.url).await,
        }
    };
    let work = async {
        tokio::select! {
            over = session.is_answered(&said) => over,
            () = stop.cancel.cancelled() => {
                session.interrupt().await?;
                session.is_answered(&said).await
            }
        }
    };
    let (mut work, mut answering) = (std::pin::pin!(work), std::pin::pin!(answering));
    let mut last = None;
    let over = loop {
        tokio::select! {
            biased;
            () = stop.at_once.cancelled() => return Ok(None),
            Some(entry) = feeds.written.recv() => show(shows, &entry, &mut last)?,
            Some(event) = feeds.activity.recv() => shows.activity(&event)?,
            () = &mut answering => {}
            over = &mut work => break over,
        }
    };
    while let Ok(entry) = feeds.written.try_recv() {
        show(shows, &entry, &mut last)?;
    }
    // A service that is gone has told why the turn did not end.
    if let Ok(changed) = session.left_changed(before).await {
        *files_changed = changed.paths;
    }
    over.map(|()| last)
}

fn show(
    shows: &mut RunView,
    entry: &LogEntry,
    last: &mut Option<TurnOutcome>,
) -> anyhow::Result<()> {
    match &entry.event {
        SessionEvent::TurnEnded(end) => *last = Some(TurnOutcome::Ended(*end)),
        SessionEvent::Paused(reason) => *last = Some(TurnOutcome::Paused(reason.clone())),
        _ => {}
    }
    Ok(shows.entry(entry)?)
}

/// What the session is made of, by what was written before.
async fn past(session: &RemoteSession, feeds: &mut RemoteFeeds) -> anyhow::Result<Settings> {
    session.reaches(session.length().await?).await?;
    let mut settings = None;
    while let Ok(entry) = feeds.written.try_recv() {
        match entry.event {
            SessionEvent::Opened(opened) => settings = Some(opened.settings),
            SessionEvent::SettingsChanged(changed) => settings = Some(changed),
            _ => {}
        }
    }
    settings.context("the session has no settings")
}

/// Says yes to everything, for as long as this is waited for.
async fn approve_all(approvals: &ApprovalManager) {
    let mut changes = approvals.changes();
    loop {
        for request in approvals.pending() {
            // One that was answered elsewhere needs no answer.
            let _ = approvals.answer_to(&request, request.approve());
        }
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Says that an answer from elsewhere is waited for.
async fn point_out(approvals: &ApprovalManager, url: &str) {
    let mut changes = approvals.changes();
    let mut known = Vec::new();
    loop {
        let open = approvals.pending();
        for request in open.iter().filter(|request| !known.contains(&request.proposal_hash)) {
            let tool = &request.tool;
            output::to_user(&format!("toolkiln: {tool} waits for an answer at {url}"));
        }
        known = open.into_iter().map(|request| request.proposal_hash).collect();
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
