//! A session that a service runs, as if it were here: its log, what its tools tell, and its questions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use protocol::{
    ActivityEvent, ApprovalRequest, ApprovalResponse, LogEntry, Remember, SessionEvent,
};
use providers::SseEvent;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use session::ApprovalManager;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tool_system::Approver as _;

use super::{RemoteSent, Service, ServiceFailure};
use crate::output;

/// The service sends something at least every ten seconds. After so long the connection is dead.
const SILENCE: Duration = Duration::from_secs(25);
/// How long to wait before it is tried again, at first and at most.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How far the log is.
#[derive(Clone, Debug, Default)]
pub(super) struct LogMarks {
    /// The last entry.
    pub(super) through: u64,
    /// The last message of the user.
    said: u64,
    /// The last end, or pause, of a turn.
    ended: u64,
    /// Where the log was when a turn broke off because it could not be written, and why.
    failure: Option<(u64, String)>,
    /// Why nothing more comes, if nothing does.
    over: Option<String>,
}

/// What is told of a session.
#[derive(Debug, Deserialize)]
struct RemoteState {
    state: String,
    failure: Option<String>,
}

/// How far a session is.
#[derive(Debug, Deserialize)]
struct RemoteStanding {
    state: String,
    /// The position of its last entry.
    events: u64,
}

/// A session of a service.
pub(super) struct RemoteSession {
    service: Service,
    pub(super) id: String,
    /// Open questions, which can be answered here.
    pub(super) approvals: Arc<ApprovalManager>,
    marks: watch::Receiver<LogMarks>,
    following: JoinHandle<()>,
}

/// What comes from the service.
pub(super) struct RemoteFeeds {
    pub(super) written: UnboundedReceiver<LogEntry>,
    pub(super) activity: UnboundedReceiver<Arc<ActivityEvent>>,
}

impl RemoteSession {
    /// Follows a session from its beginning on, until this is dropped.
    pub(super) fn follow(service: &Service, id: &str) -> (Self, RemoteFeeds) {
        let (marks, watched) = watch::channel(LogMarks::default());
        let (entries, written) = unbounded_channel();
        let (told, activity) = unbounded_channel();
        // The service writes questions and answers down.
        let approvals = Arc::new(ApprovalManager::unlogged(None));
        let follower = Follower {
            service: service.clone(),
            id: id.to_owned(),
            marks,
            entries,
            told,
            approvals: Arc::clone(&approvals),
            asked: HashMap::new(),
        };
        let (service, id) = (service.clone(), id.to_owned());
        let following = tokio::spawn(follower.run());
        let session = Self { service, id, approvals, marks: watched, following };
        (session, RemoteFeeds { written, activity })
    }

    /// Waits until everything up to an entry is here.
    pub(super) async fn reaches(&self, sequence: u64) -> anyhow::Result<()> {
        let mut marks = self.marks.clone();
        let is_here = |marks: &LogMarks| marks.through >= sequence;
        let marks = marks.wait_for(|marks| is_here(marks) || marks.over.is_some()).await?;
        match &marks.over {
            Some(why) if !is_here(&marks) => anyhow::bail!("{why}"),
            _ => Ok(()),
        }
    }

    /// Waits until nothing more comes from the service, and answers why.
    pub(super) async fn over(&self) -> String {
        let mut marks = self.marks.clone();
        match marks.wait_for(|marks| marks.over.is_some()).await {
            Ok(marks) => marks.over.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether nothing more comes from the service.
    pub(super) fn is_over(&self) -> bool {
        self.marks.borrow().over.is_some()
    }

    /// The last change of the project, and the files that the session has left changed since another.
    pub(super) async fn left_changed(&self, since: u64) -> anyhow::Result<RemoteChanges> {
        self.service.get(&format!("/api/sessions/{}/changed?since={since}", self.id)).await
    }

    /// The position of the last entry, as the service knows it.
    pub(super) async fn length(&self) -> anyhow::Result<u64> {
        let there: RemoteStanding = self.service.get(&format!("/api/sessions/{}", self.id)).await?;
        Ok(there.events)
    }

    /// Says something. Answers with what the user should know.
    pub(super) async fn say(&self, text: &str, files: &[String]) -> anyhow::Result<SaidThere> {
        let before = self.marks.borrow().said;
        let body = json!({"text": text, "files": files});
        let path = format!("/api/sessions/{}/messages", self.id);
        let RemoteSent { sequence, notes } = self.service.post(&path, &body).await?;
        Ok(SaidThere { sequence, before, notes })
    }

    /// Waits until the turn of a message is over.
    pub(super) async fn is_answered(&self, said: &SaidThere) -> anyhow::Result<()> {
        let mut marks = self.marks.clone();
        let is_ended = |marks: &LogMarks| {
            let at = said.sequence.unwrap_or(marks.said);
            let is_said = said.sequence.is_some() || marks.said > said.before;
            let has_failed = marks.failure.as_ref().is_some_and(|(failed, _)| *failed >= at);
            is_said && (marks.ended > at || has_failed)
        };
        let marks = marks.wait_for(|marks| is_ended(marks) || marks.over.is_some()).await?;
        match (&marks.over, &marks.failure) {
            (Some(why), _) if !is_ended(&marks) => anyhow::bail!("{why}"),
            (_, Some((failed, why))) if *failed > marks.ended => anyhow::bail!("{why}"),
            _ => Ok(()),
        }
    }

    /// Ends the running turn.
    pub(super) async fn interrupt(&self) -> anyhow::Result<()> {
        let path = format!("/api/sessions/{}/interrupt", self.id);
        let _: Value = self.service.post(&path, &json!({})).await?;
        Ok(())
    }

    /// Goes on after a pause.
    pub(super) async fn go_on(&self) -> anyhow::Result<SaidThere> {
        let (through, before) = {
            let marks = self.marks.borrow();
            (marks.through, marks.said)
        };
        let path = format!("/api/sessions/{}/continue", self.id);
        let _: Value = self.service.post(&path, &json!({})).await?;
        Ok(SaidThere { sequence: Some(through), before, notes: Vec::new() })
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// A message that the service has.
#[derive(Debug)]
pub(super) struct SaidThere {
    sequence: Option<u64>,
    /// The last message before it.
    before: u64,
    pub(super) notes: Vec<String>,
}

/// What a session has left changed.
#[derive(Debug, Deserialize)]
pub(super) struct RemoteChanges {
    pub(super) paths: Vec<String>,
    pub(super) newest: u64,
}

/// Reads the stream of a session, and connects again when it breaks.
struct Follower {
    service: Service,
    id: String,
    marks: watch::Sender<LogMarks>,
    entries: UnboundedSender<LogEntry>,
    told: UnboundedSender<Arc<ActivityEvent>>,
    approvals: Arc<ApprovalManager>,
    /// The open questions by the hash of what is proposed and the call, each with what waits for its answer.
    asked: HashMap<(String, String), JoinHandle<()>>,
}

impl Follower {
    async fn run(mut self) {
        let mut wait = FIRST_WAIT;
        let mut is_again = false;
        loop {
            let before = self.marks.borrow().through;
            let broken = self.read(is_again).await;
            is_again = true;
            if self.marks.borrow().through > before {
                wait = FIRST_WAIT;
            }
            match broken {
                Err(ServiceFailure::Lasting(error)) => return self.end(&error).await,
                Err(ServiceFailure::Passing(error)) if wait == FIRST_WAIT => {
                    output::to_user(&format!(
                        "toolkiln: the service does not answer: {error:#}. Trying again."
                    ));
                }
                _ => {}
            }
            tokio::time::sleep(wait).await;
            wait = (2 * wait).min(LONGEST_WAIT);
        }
    }

    /// Says why nothing more comes. What was read before stays there for whoever shows it.
    async fn end(self, error: &anyhow::Error) {
        let why = format!("session {} cannot be followed any more: {error:#}", self.id);
        self.marks.send_modify(|marks| marks.over = Some(why));
        std::future::pending().await
    }

    /// Notices that the service was killed in the middle of a turn: the turn has no end in the log until the session goes on.
    async fn notice_interruption(&self) -> anyhow::Result<()> {
        let there: RemoteStanding = self.service.get(&format!("/api/sessions/{}", self.id)).await?;
        if there.state == "interrupted" {
            let why = "the service has ended in the middle of the turn; the session can go on with another message";
            self.marks.send_modify(|marks| marks.failure = Some((there.events, why.to_owned())));
        }
        Ok(())
    }

    async fn read(&mut self, is_again: bool) -> Result<(), ServiceFailure> {
        let after = self.marks.borrow().through;
        let path = format!("/api/sessions/{}/log?after={after}", self.id);
        let mut events = self.service.events(&path).await?;
        if is_again {
            self.notice_interruption().await.map_err(ServiceFailure::Passing)?;
        }
        loop {
            let next = tokio::time::timeout(SILENCE, events.next()).await;
            let next = next.map_err(|silence| ServiceFailure::Passing(silence.into()))?;
            match next.map_err(|broken| ServiceFailure::Passing(broken.into()))? {
                // It would say the same again.
                Some(event) => self.take(&event).map_err(ServiceFailure::Lasting)?,
                None => return Ok(()),
            }
        }
    }

    fn take(&mut self, event: &SseEvent) -> anyhow::Result<()> {
        match event.event.as_str() {
            "entry" => self.entry(parsed(event)?),
            "activity" => drop(self.told.send(Arc::new(parsed(event)?))),
            "questions" => self.questions(parsed(event)?),
            "session" => {
                let RemoteState { state, failure } = parsed(event)?;
                if let Some(why) = failure.filter(|_| state == "idle") {
                    self.marks.send_modify(|marks| marks.failure = Some((marks.through, why)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn entry(&mut self, entry: LogEntry) {
        let LogEntry { sequence, ref event, .. } = entry;
        if sequence <= self.marks.borrow().through {
            return;
        }
        let is_said =
            matches!(event, SessionEvent::UserMessage { .. } | SessionEvent::UserAdded { .. });
        let is_end = matches!(event, SessionEvent::TurnEnded(_) | SessionEvent::Paused(_));
        // Whoever waits for the end of a turn finds all of it.
        let _ = self.entries.send(entry);
        self.marks.send_modify(|marks| {
            marks.through = sequence;
            if is_said {
                marks.said = sequence;
            }
            if is_end {
                marks.ended = sequence;
            }
        });
    }

    /// Asks here what is asked there, and takes back what was answered elsewhere.
    fn questions(&mut self, open: Vec<ApprovalRequest>) {
        let name = |it: &ApprovalRequest| (it.proposal_hash.to_string(), it.step_id.clone());
        let names: Vec<_> = open.iter().map(name).collect();
        self.asked.retain(|asked, waiting| {
            let is_open = names.contains(asked);
            if !is_open {
                waiting.abort();
            }
            is_open
        });
        for request in open {
            let (service, session) = (self.service.clone(), self.id.clone());
            let approvals = Arc::clone(&self.approvals);
            self.asked.entry(name(&request)).or_insert_with(|| {
                tokio::spawn(async move {
                    let Ok(response) = approvals.decide(&request).await else { return };
                    if let Err(error) = answer(&service, &session, &request, response).await {
                        output::to_user(&format!("toolkiln: {error:#}"));
                    }
                })
            });
        }
    }
}

fn parsed<T: DeserializeOwned>(event: &SseEvent) -> anyhow::Result<T> {
    let parsed = serde_json::from_str(&event.data);
    parsed.context("the service sent something that this version of Toolkiln does not understand")
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.asked.values().for_each(JoinHandle::abort);
    }
}

async fn answer(
    service: &Service,
    session: &str,
    request: &ApprovalRequest,
    response: ApprovalResponse,
) -> anyhow::Result<()> {
    let path = format!("/api/approvals/{session}/{}", request.proposal_hash);
    let _: Value = service.post(&path, &body_of(request, &response)?).await?;
    Ok(())
}

/// An answer as the service takes it.
fn body_of(request: &ApprovalRequest, response: &ApprovalResponse) -> anyhow::Result<Value> {
    let approves = response.approves(request.proposal_hash);
    let mut body = Map::new();
    body.insert("approve".into(), approves.into());
    if let Some(reason) = &response.reason {
        body.insert("reason".into(), reason.as_str().into());
    }
    let comments = response.comments.iter();
    let comments = comments.map(|it| json!({"path": it.path, "line": it.line, "text": it.text}));
    body.insert("comments".into(), comments.collect());
    if approves {
        if let Some(arguments) = &response.modified_args {
            body.insert("arguments".into(), json!(arguments));
        }
        let mut files = Map::new();
        for (path, bytes) in &response.modified_files {
            let text = std::str::from_utf8(&bytes.0)?;
            files.insert(path.clone(), text.into());
        }
        body.insert("files".into(), files.into());
        body.insert("hunks".into(), json!(response.accepted_hunks));
        let scope = match response.remember {
            None => None,
            Some(Remember::Session) => Some("session"),
            Some(Remember::Project) => Some("project"),
        };
        if let (Some(scope), Some(rule)) = (scope, &request.remembers) {
            body.insert("remember".into(), json!({"scope": scope, "rule": rule}));
        }
    }
    Ok(body.into())
}
