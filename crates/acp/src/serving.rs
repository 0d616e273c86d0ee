//! The connection: which message is answered by what.

use std::sync::Arc;

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, InitializeRequest, ListSessionsRequest,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::{
    Agent, Error, JsonRpcResponse, on_receive_notification, on_receive_request,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::acp_agent::{AcpAgent, OpenedSession, WantedSession};
use crate::bounded_lines::lines;
use crate::editor_host::EditorHost;
use crate::live_editor::Replay;
use crate::wire::invalid;

/// The connection broke.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the editor failed: {0}")]
pub struct EditorConnectionError(String);

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
    let agent = Arc::new(AcpAgent::new(host, version));
    let served = connected(&agent, input, output, stop).await;
    agent.close().await;
    served.map_err(|error| EditorConnectionError(error.message))
}

/// Messages are dispatched one after the other, so that nothing here waits: what takes longer runs in a task.
async fn connected(
    agent: &Arc<AcpAgent>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) -> Result<(), Error> {
    let of = || Arc::clone(agent);
    let (initializing, beginning, loading, resuming, listing) = (of(), of(), of(), of(), of());
    let (closing, deleting, prompting, cancelling) = (of(), of(), of(), of());
    let (choosing_mode, choosing_option) = (of(), of());
    Agent
        .v1()
        .name("toolkiln")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _| {
                responder.respond(initializing.initialize(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: AuthenticateRequest, responder, _| {
                responder.respond_with_error(invalid(
                    "there is nothing to log in to: `toolkiln setup` in a terminal finds a model",
                ))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, connection| {
                let agent = Arc::clone(&beginning);
                tokio::spawn(async move {
                    let opened = agent.begin(connection, request).await;
                    answer_opened(opened, responder, |opened| {
                        NewSessionResponse::new(opened.wire.id.clone())
                            .modes(opened.choices.mode_state())
                            .config_options(opened.choices.options())
                    });
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, connection| {
                let agent = Arc::clone(&loading);
                tokio::spawn(async move {
                    let wanted = WantedSession {
                        id: request.session_id,
                        root: request.cwd,
                        servers: request.mcp_servers,
                        directories: request.additional_directories,
                    };
                    let opened = agent.take_up(connection, wanted, Replay::Yes).await;
                    answer_opened(opened, responder, |opened| {
                        LoadSessionResponse::new()
                            .modes(opened.choices.mode_state())
                            .config_options(opened.choices.options())
                    });
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, connection| {
                let agent = Arc::clone(&resuming);
                tokio::spawn(async move {
                    let wanted = WantedSession {
                        id: request.session_id,
                        root: request.cwd,
                        servers: request.mcp_servers,
                        directories: request.additional_directories,
                    };
                    let opened = agent.take_up(connection, wanted, Replay::No).await;
                    answer_opened(opened, responder, |opened| {
                        ResumeSessionResponse::new()
                            .modes(opened.choices.mode_state())
                            .config_options(opened.choices.options())
                    });
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _| {
                let agent = Arc::clone(&listing);
                tokio::spawn(async move {
                    let _ = responder.respond_with_result(agent.list(request).await);
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _| {
                let agent = Arc::clone(&closing);
                tokio::spawn(async move {
                    let closed = agent.close_session(&request.session_id).await;
                    let _ =
                        responder.respond_with_result(closed.map(|()| CloseSessionResponse::new()));
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _| {
                let agent = Arc::clone(&deleting);
                tokio::spawn(async move {
                    let deleted = agent.delete(&request.session_id).await;
                    let _ = responder
                        .respond_with_result(deleted.map(|()| DeleteSessionResponse::new()));
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _| {
                match prompting.open(&request.session_id) {
                    Ok(live) => live.prompt(request.prompt, responder),
                    Err(error) => responder.respond_with_error(error)?,
                }
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _| {
                match choosing_mode.open(&request.session_id) {
                    Ok(live) => live.set_mode(request.mode_id.0.to_string(), responder),
                    Err(error) => responder.respond_with_error(error)?,
                }
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, _| {
                let live = choosing_option.open(&request.session_id);
                match (live, request.value) {
                    (Ok(live), SessionConfigOptionValue::ValueId { value }) => {
                        let (option, value) =
                            (request.config_id.0.to_string(), value.0.to_string());
                        live.set_option(option, value, responder);
                    }
                    (Ok(_), _) => {
                        let option = &request.config_id.0;
                        responder
                            .respond_with_error(invalid(format!("`{option}` is not a switch")))?;
                    }
                    (Err(error), _) => responder.respond_with_error(error)?,
                }
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _| {
                if let Some(live) = cancelling.live(&request.session_id) {
                    live.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(lines(input, output, agent.ended.clone()), async move |connection| {
            tokio::select! {
                () = connection.incoming_closed() => {}
                () = stop.cancelled() => {}
            }
            Ok(())
        })
        .await
}

/// Answers that a session is open, and then tells what has to come after the answer.
fn answer_opened<T: JsonRpcResponse>(
    opened: Result<OpenedSession, Error>,
    responder: Responder<T>,
    respond: impl FnOnce(&OpenedSession) -> T,
) {
    // An editor that has gone away needs no answer.
    let _ = match opened {
        Err(error) => responder.respond_with_error(error),
        Ok(opened) => {
            let answered = responder.respond(respond(&opened));
            opened.tell_rest();
            answered
        }
    };
}
