//! What is sent to the editor, and what it can do.

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, ContentChunk, SessionId, SessionNotification, SessionUpdate,
};
use protocol::{ErrorCode, ToolError};
use tokio_util::sync::CancellationToken;

/// What the editor has said it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EditorTraits {
    /// It gives the text of open files.
    pub(crate) reads_files: bool,
    pub(crate) writes_files: bool,
    /// It shows notices beside the conversation.
    pub(crate) shows_notices: bool,
    pub(crate) shows_compactions: bool,
    /// It asks the user with forms.
    pub(crate) has_forms: bool,
    /// It runs this program in a terminal to set it up.
    pub(crate) sets_up_in_terminal: bool,
}

impl EditorTraits {
    pub(crate) fn of(told: &ClientCapabilities) -> Self {
        let session = told.session.as_ref();
        Self {
            reads_files: told.fs.read_text_file,
            writes_files: told.fs.write_text_file,
            shows_notices: session.is_some_and(|session| session.notices.is_some()),
            shows_compactions: session.is_some_and(|session| session.compaction.is_some()),
            has_forms: told.elicitation.as_ref().is_some_and(|forms| forms.form.is_some()),
            sets_up_in_terminal: told.auth.terminal,
        }
    }
}

/// One session's side of the connection.
#[derive(Clone)]
pub(crate) struct SessionWire {
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) id: SessionId,
    pub(crate) editor: EditorTraits,
    /// Fires when the editor has gone away.
    pub(crate) ended: CancellationToken,
}

impl SessionWire {
    /// Tells the editor something. It may have gone away, which the connection notices by itself.
    pub(crate) fn update(&self, update: SessionUpdate) {
        let _ =
            self.connection.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    /// Says something that is not part of the conversation, such as what a command has to tell.
    pub(crate) fn say(&self, text: &str) {
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(
            text.to_owned(),
        ))));
    }
}

/// An error as the editor shows it: the message names the thing, the data says more.
pub(crate) fn refusal(error: &ToolError) -> agent_client_protocol::Error {
    let code = match error.code {
        ErrorCode::InvalidArguments | ErrorCode::FileNotFound | ErrorCode::PermissionDenied => {
            agent_client_protocol::ErrorCode::INVALID_PARAMS
        }
        _ => agent_client_protocol::ErrorCode::INTERNAL_ERROR,
    };
    agent_client_protocol::Error::new(code, error.full_message())
        .data(serde_json::json!({"code": error.code}))
}

/// A request that cannot be answered, in words.
pub(crate) fn invalid(message: impl Into<String>) -> agent_client_protocol::Error {
    agent_client_protocol::Error::new(agent_client_protocol::ErrorCode::INVALID_PARAMS, message)
}

/// Something that went wrong on our side.
pub(crate) fn failed(error: impl std::fmt::Display) -> agent_client_protocol::Error {
    agent_client_protocol::Error::new(
        agent_client_protocol::ErrorCode::INTERNAL_ERROR,
        error.to_string(),
    )
}
