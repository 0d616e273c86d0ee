//! A session that an editor has open: a task that does one thing after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, ContentBlock, CurrentModeUpdate, Error, PromptResponse, SessionInfoUpdate,
    SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason,
};
use protocol::{Content, TurnEnd};
use session::{Session, TurnOutcome};
use store::SessionId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::choices::{self, Choices, EditorMode, effort_named};
use crate::commands::{self, CommandOutcome, Meant};
use crate::editor_host::EditorProject;
use crate::prompt::EditorPrompt;
use crate::responder::Responder;
use crate::stage::Stage;
use crate::wire::{SessionWire, failed, invalid, refusal};

/// Prompts that wait for the one that is answered.
const MOST_WAITING: usize = 16;

/// What the task of a session is asked for.
enum EditorRequest {
    Prompt {
        blocks: Vec<ContentBlock>,
        cancel: CancellationToken,
        responder: Responder<PromptResponse>,
    },
    SetMode {
        id: String,
        responder: Responder<SetSessionModeResponse>,
    },
    SetOption {
        option: String,
        value: String,
        responder: Responder<SetSessionConfigOptionResponse>,
    },
    /// To tell what can be chosen, after the whole conversation if that is wanted.
    Describe {
        replay: Replay,
        done: oneshot::Sender<Result<Choices, Error>>,
    },
    Close,
}

/// Whether the editor is shown what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replay {
    Yes,
    No,
}

/// A handle to a session that is open here.
pub(crate) struct LiveEditor {
    requests: UnboundedSender<EditorRequest>,
    /// Of the prompts that are answered or wait.
    prompts: Arc<Mutex<Vec<CancellationToken>>>,
    closed: CancellationToken,
}

impl LiveEditor {
    /// Starts the task of a session. `mode` is what needs approval in it.
    pub(crate) fn start(
        session: Session,
        project: Arc<dyn EditorProject>,
        wire: SessionWire,
    ) -> Self {
        let (requests, received) = unbounded_channel();
        let (prompts, closed) = (Arc::default(), CancellationToken::new());
        let approval = project.approval_mode();
        let stage = Stage::new(&session, wire);
        let task = EditorTask { session, project, stage, approval, prompts: Arc::clone(&prompts) };
        let is_closed = closed.clone();
        tokio::spawn(run_until_closed(task.run(received), is_closed));
        Self { requests, prompts, closed }
    }

    /// Has a prompt answered after those that came before it.
    pub(crate) fn prompt(&self, blocks: Vec<ContentBlock>, responder: Responder<PromptResponse>) {
        let cancel = CancellationToken::new();
        {
            let mut prompts = locked(&self.prompts);
            if prompts.len() > MOST_WAITING {
                drop(prompts);
                responder.respond(Err(invalid("too many prompts wait in this session")));
                return;
            }
            prompts.push(cancel.clone());
        }
        let (withdrawn, fired) = (responder.cancellation(), cancel.clone());
        let done = self.closed.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = withdrawn.cancelled() => fired.cancel(),
                () = fired.cancelled() => {}
                () = done.cancelled() => {}
            }
        });
        let _ = self.requests.send(EditorRequest::Prompt { blocks, cancel, responder });
    }

    /// Whether its task has ended, which only a panic does by itself.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Ends what is answered and what waits.
    pub(crate) fn cancel(&self) {
        locked(&self.prompts).iter().for_each(CancellationToken::cancel);
    }

    pub(crate) fn set_mode(&self, id: String, responder: Responder<SetSessionModeResponse>) {
        let _ = self.requests.send(EditorRequest::SetMode { id, responder });
    }

    pub(crate) fn set_option(
        &self,
        option: String,
        value: String,
        responder: Responder<SetSessionConfigOptionResponse>,
    ) {
        let _ = self.requests.send(EditorRequest::SetOption { option, value, responder });
    }

    /// What can be chosen, after the conversation was shown if that is wanted.
    pub(crate) async fn describe(&self, replay: Replay) -> Result<Choices, Error> {
        let (done, described) = oneshot::channel();
        let _ = self.requests.send(EditorRequest::Describe { replay, done });
        described.await.unwrap_or_else(|_| Err(invalid("the session is being closed")))
    }

    /// Ends what is under way and releases the session; returns when that is done.
    pub(crate) async fn close(&self) {
        self.cancel();
        let _ = self.requests.send(EditorRequest::Close);
        self.closed.cancelled().await;
    }
}

fn locked(prompts: &Mutex<Vec<CancellationToken>>) -> MutexGuard<'_, Vec<CancellationToken>> {
    prompts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever closes the session waits for `closed`, which fires after a panic too.
async fn run_until_closed(task: impl Future<Output = ()>, closed: CancellationToken) {
    let _closed = closed.drop_guard();
    task.await;
}

struct EditorTask {
    session: Session,
    project: Arc<dyn EditorProject>,
    stage: Stage,
    approval: tool_system::policy::ApprovalMode,
    prompts: Arc<Mutex<Vec<CancellationToken>>>,
}

impl EditorTask {
    async fn run(mut self, mut requests: UnboundedReceiver<EditorRequest>) {
        while let Some(request) = self.stage.during(requests.recv()).await {
            match request {
                EditorRequest::Close => break,
                EditorRequest::Prompt { blocks, cancel, responder } => {
                    let answer = self.prompt(blocks, &cancel).await;
                    // The first is the one that was answered.
                    locked(&self.prompts).remove(0);
                    cancel.cancel();
                    responder.respond(answer);
                }
                EditorRequest::SetMode { id, responder } => {
                    let answer = self.set_mode(&id).await.map(|()| SetSessionModeResponse::new());
                    let is_set = answer.is_ok();
                    responder.respond(answer);
                    if is_set {
                        self.tell_options();
                    }
                }
                EditorRequest::SetOption { option, value, responder } => {
                    let answer = self.set_option(&option, &value).await;
                    let options = || SetSessionConfigOptionResponse::new(self.choices().options());
                    let is_mode = answer.is_ok() && option == choices::MODE;
                    responder.respond(answer.map(|()| options()));
                    if is_mode {
                        let update = CurrentModeUpdate::new(self.choices().present.id());
                        self.stage.wire.update(SessionUpdate::CurrentModeUpdate(update));
                    }
                }
                EditorRequest::Describe { replay, done } => {
                    let _ = done.send(self.describe(replay).await);
                }
            }
        }
        let Self { session, mut stage, .. } = self;
        stage.catch_up().await;
        session.close().await;
    }

    fn choices(&self) -> Choices {
        let parts = self.session.parts();
        Choices {
            roles: parts.tools.roles.clone(),
            present: EditorMode { role: parts.role.clone(), approval: self.approval },
            models: self.project.models(),
            model: parts.model.clone(),
        }
    }

    fn tell_options(&self) {
        let update = ConfigOptionUpdate::new(self.choices().options());
        self.stage.wire.update(SessionUpdate::ConfigOptionUpdate(update));
    }

    async fn describe(&mut self, replay: Replay) -> Result<Choices, Error> {
        if self.session.is_stored().await {
            // What is written from now on is told, and what was written before is read.
            self.stage = Stage::new(&self.session, self.stage.wire.clone());
            let (store, id) = (&self.session.parts().store, self.session.id());
            let entries = store.load(id).await.map_err(failed)?.entries;
            self.stage.take_past(&entries, replay).await;
        }
        Ok(self.choices())
    }

    async fn set_mode(&mut self, id: &str) -> Result<(), Error> {
        let unknown = || invalid(format!("there is no mode `{id}` in this session"));
        let mode = self.choices().mode(id).ok_or_else(unknown)?;
        if mode.approval != self.approval {
            let policy = self.project.policy(mode.approval).map_err(|error| refusal(&error))?;
            self.session.set_policy(policy);
            self.approval = mode.approval;
        }
        if mode.role != self.session.parts().role {
            self.session.set_role(mode.role).await.map_err(failed)?;
        }
        self.stage.renew(&self.session).await;
        Ok(())
    }

    async fn set_option(&mut self, option: &str, value: &str) -> Result<(), Error> {
        let mut model = match option {
            choices::MODE => return self.set_mode(value).await,
            choices::MODEL => {
                let effort = self.session.parts().model.effort;
                let model = self.project.model(value).await.map_err(|error| refusal(&error))?;
                session::Model { effort, ..model }
            }
            choices::EFFORT => self.session.parts().model.clone(),
            _ => return Err(invalid(format!("there is no option `{option}` in this session"))),
        };
        if option == choices::EFFORT {
            let unknown =
                || invalid(format!("`{value}` is not an effort: usual, low, medium or high"));
            model.effort = effort_named(value).ok_or_else(unknown)?;
        }
        self.session.set_model(model).await.map_err(failed)?;
        self.stage.renew(&self.session).await;
        Ok(())
    }

    async fn prompt(
        &mut self,
        blocks: Vec<ContentBlock>,
        cancel: &CancellationToken,
    ) -> Result<PromptResponse, Error> {
        if cancel.is_cancelled() {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        let prompt = EditorPrompt::read(blocks, self.session.parts().tools.code.workspace())?;
        let is_first = self.session.context().messages().is_empty();
        let outcome = match commands::meant(&prompt.text, &*self.project) {
            Meant::Message(text) => {
                let content = self.content(EditorPrompt { text, ..prompt }).await?;
                self.stage.during(self.session.send(content, cancel)).await
            }
            Meant::Refused(why) => return Ok(self.said(&why, cancel)),
            Meant::Command(command, argument) => {
                let project = &*self.project;
                let run = command.run(&argument, &mut self.session, project, cancel);
                match self.stage.during(run).await {
                    Ok(CommandOutcome::Said(text)) => return Ok(self.said(&text, cancel)),
                    Err(error) => return Ok(self.said(&error.full_message(), cancel)),
                    Ok(CommandOutcome::Continues) => {
                        self.stage.during(self.session.continue_turn(cancel)).await
                    }
                }
            }
        };
        let outcome = outcome.map_err(failed)?;
        if is_first {
            self.tell_title().await;
        }
        let reason = match outcome {
            TurnOutcome::Ended(end) => self.stop_reason(end)?,
            TurnOutcome::Paused(_) => {
                self.stage.wire.say("Type `/continue` to go on, or say something else.");
                StopReason::MaxTurnRequests
            }
        };
        Ok(PromptResponse::new(reason))
    }

    fn said(&self, text: &str, cancel: &CancellationToken) -> PromptResponse {
        self.stage.wire.say(text);
        PromptResponse::new(match cancel.is_cancelled() {
            true => StopReason::Cancelled,
            false => StopReason::EndTurn,
        })
    }

    fn stop_reason(&self, end: TurnEnd) -> Result<StopReason, Error> {
        Ok(match end {
            TurnEnd::Done | TurnEnd::Terminated | TurnEnd::Stopped => StopReason::EndTurn,
            TurnEnd::Refused => StopReason::Refusal,
            TurnEnd::MaxTokens | TurnEnd::ContextFull => StopReason::MaxTokens,
            TurnEnd::Cancelled | TurnEnd::Interrupted => StopReason::Cancelled,
            TurnEnd::Failed => {
                let why = self.stage.drawing.failure().unwrap_or("the model did not answer");
                return Err(failed(why));
            }
        })
    }

    /// The prompt with the files it names. What cannot go along is told.
    async fn content(&self, prompt: EditorPrompt) -> Result<Vec<Content>, Error> {
        let EditorPrompt { text, files, texts, images, notes } = prompt;
        let mut attached = self.session.with_files(text, &files).await;
        texts.iter().for_each(|(name, text)| attached.add_text(name, text));
        let limits = &self.session.parts().tools.options.limits;
        attached.add_images(&images, limits).map_err(|error| refusal(&error))?;
        attached.notes.extend(notes);
        if !attached.images.is_empty() && self.session.options().images.is_none() {
            let model = &self.session.options().model;
            attached
                .notes
                .push(format!("{model} is not known to see images and gets a description"));
        }
        for note in &attached.notes {
            self.stage.wire.say(&format!("_{note}_\n\n"));
        }
        Ok(attached.content)
    }

    /// A session without a name is called by what was said first.
    async fn tell_title(&self) {
        let info = self.session.parts().store.info(self.session.id()).await;
        if let Ok(Some(title)) = info.map(|info| info.and_then(|info| info.title)) {
            let update = SessionInfoUpdate::new().title(title);
            self.stage.wire.update(SessionUpdate::SessionInfoUpdate(update));
        }
    }
}

/// The id that an editor names, if it can be one.
pub(crate) fn session_id(text: &str) -> Result<SessionId, Error> {
    text.parse().map_err(|_| invalid(format!("`{text}` is not the id of a session")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_whose_task_panics_is_closed() {
        let (closed, (requests, _received)) = (CancellationToken::new(), unbounded_channel());
        let live = LiveEditor { requests, prompts: Arc::default(), closed: closed.clone() };
        let task = tokio::spawn(run_until_closed(async { panic!("in a session") }, closed));
        tokio::time::timeout(Duration::from_secs(60), live.close()).await.expect("it hangs");
        assert!(task.await.unwrap_err().is_panic());
        assert!(live.is_closed());
    }
}
