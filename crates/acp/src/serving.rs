//! Which message of the editor is answered by what.

use std::io;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, AuthenticateResponse, CancelNotification, CloseSessionRequest,
    CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::acp_agent::{AcpAgent, OpenedSession};
use crate::connection::{EditorConnection, MessageHandler};
use crate::editor_host::EditorHost;
use crate::live_editor::Replay;
use crate::responder::{IncomingRequest, Responder};
use crate::wire::invalid;

/// The connection broke.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the editor failed")]
pub struct EditorConnectionError(#[from] io::Error);

/// Serves the editor that has started this process, over the standard streams.
pub fn serve_stdio(
    host: Arc<dyn EditorHost>,
    version: &str,
    stop: CancellationToken,
) -> BoxFuture<'_, Result<(), EditorConnectionError>> {
    // Behind a pointer, so that the agent is compiled here and not again where it is started.
    serve(host, version, tokio::io::stdin(), tokio::io::stdout(), stop).boxed()
}

/// Serves an editor that writes to `input` and reads from `output`, until it leaves or `stop` fires. All sessions are
/// released when this returns.
pub async fn serve(
    host: Arc<dyn EditorHost>,
    version: &str,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), EditorConnectionError> {
    let (connection, written) = EditorConnection::new();
    let agent = Arc::new(AcpAgent::new(connection.clone(), host, version));
    let served = connection.run(written, input, output, &stop, &agent).await;
    agent.close().await;
    Ok(served?)
}

impl MessageHandler for Arc<AcpAgent> {
    /// Answers a request, at once or in a task.
    fn request(&self, request: IncomingRequest) {
        let agent = Self::clone(self);
        if request.method != "initialize" && !agent.is_initialized() {
            let method = &request.method;
            let why = format!("ACP initialization must complete before `{method}` can be used");
            return request.refuse(Error::invalid_request().data(json!(why)));
        }
        match &*request.method {
            "initialize" => request.answer(|params| agent.initialize(params)),
            "authenticate" => request.answer(no_login),
            "session/new" => request.take(|asked, responder| {
                tokio::spawn(begin(agent, asked, responder));
            }),
            "session/load" => request.take(|asked, responder| {
                tokio::spawn(load(agent, asked, responder));
            }),
            "session/resume" => request.take(|asked, responder| {
                tokio::spawn(resume(agent, asked, responder));
            }),
            "session/list" => {
                request.answer_later(|asked| async move { agent.list(asked).await });
            }
            "session/close" => request.answer_later(|asked: CloseSessionRequest| async move {
                let closed = agent.close_session(&asked.session_id).await;
                closed.map(|()| CloseSessionResponse::new())
            }),
            "session/delete" => request.answer_later(|asked: DeleteSessionRequest| async move {
                let deleted = agent.delete(&asked.session_id).await;
                deleted.map(|()| DeleteSessionResponse::new())
            }),
            "session/prompt" => request.take(|asked: PromptRequest, responder| {
                match agent.open(&asked.session_id) {
                    Ok(live) => live.prompt(asked.prompt, responder),
                    Err(error) => responder.respond(Err(error)),
                }
            }),
            "session/set_mode" => {
                request.take(|asked: SetSessionModeRequest, responder| {
                    match agent.open(&asked.session_id) {
                        Ok(live) => live.set_mode(asked.mode_id.0.to_string(), responder),
                        Err(error) => responder.respond(Err(error)),
                    }
                })
            }
            "session/set_config_option" => {
                request.take(|asked, responder| set_option(&agent, asked, responder));
            }
            _ => request.refuse_method(),
        }
    }

    fn left(&self) {
        self.cancel();
    }

    /// What is not known, or is malformed, is passed over.
    fn notification(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(told) = serde_json::from_value::<CancelNotification>(params)
            && let Some(live) = self.live(&told.session_id)
        {
            live.cancel();
        }
    }
}

fn no_login(_: AuthenticateRequest) -> Result<AuthenticateResponse, Error> {
    Err(invalid("there is nothing to log in to: `toolkiln setup` in a terminal finds a model"))
}

async fn begin(
    agent: Arc<AcpAgent>,
    asked: NewSessionRequest,
    responder: Responder<NewSessionResponse>,
) {
    answer_opened(agent.begin(asked).await, responder, |opened| {
        NewSessionResponse::new(opened.wire.id.clone())
            .modes(opened.choices.mode_state())
            .config_options(opened.choices.options())
    });
}

async fn load(
    agent: Arc<AcpAgent>,
    asked: LoadSessionRequest,
    responder: Responder<LoadSessionResponse>,
) {
    answer_opened(agent.take_up(asked.into(), Replay::Yes).await, responder, |opened| {
        LoadSessionResponse::new()
            .modes(opened.choices.mode_state())
            .config_options(opened.choices.options())
    });
}

async fn resume(
    agent: Arc<AcpAgent>,
    asked: ResumeSessionRequest,
    responder: Responder<ResumeSessionResponse>,
) {
    answer_opened(agent.take_up(asked.into(), Replay::No).await, responder, |opened| {
        ResumeSessionResponse::new()
            .modes(opened.choices.mode_state())
            .config_options(opened.choices.options())
    });
}

/// Answers that a session is open, and then tells what has to come after the answer.
fn answer_opened<A: Serialize>(
    opened: Result<OpenedSession, Error>,
    responder: Responder<A>,
    answer: impl FnOnce(&OpenedSession) -> A,
) {
    match opened {
        Err(error) => responder.respond(Err(error)),
        Ok(opened) => {
            responder.respond(Ok(answer(&opened)));
            opened.tell_rest();
        }
    }
}

fn set_option(
    agent: &AcpAgent,
    asked: SetSessionConfigOptionRequest,
    responder: Responder<SetSessionConfigOptionResponse>,
) {
    let option = asked.config_id.0.to_string();
    match (agent.open(&asked.session_id), asked.value) {
        (Ok(live), SessionConfigOptionValue::ValueId { value }) => {
            live.set_option(option, value.0.to_string(), responder);
        }
        (Ok(_), _) => responder.respond(Err(invalid(format!("`{option}` is not a switch")))),
        (Err(error), _) => responder.respond(Err(error)),
    }
}
