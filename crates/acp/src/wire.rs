//! What is sent to the editor, and what it can do.

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ClientCapabilities, ContentBlock, ContentChunk, CreateElicitationRequest,
    CreateElicitationResponse, Error, ErrorCode as WireCode, ReadTextFileRequest,
    ReadTextFileResponse, RequestPermissionRequest, RequestPermissionResponse, SessionId,
    SessionNotification, SessionUpdate, WriteTextFileRequest, WriteTextFileResponse,
};
use protocol::{ErrorCode, ToolError};
use serde_json::Value;

use crate::connection::{EditorConnection, OutgoingRequest};

impl OutgoingRequest for RequestPermissionRequest {
    const METHOD: &'static str = CLIENT_METHOD_NAMES.session_request_permission;
    type Answer = RequestPermissionResponse;
}

impl OutgoingRequest for CreateElicitationRequest {
    const METHOD: &'static str = CLIENT_METHOD_NAMES.elicitation_create;
    type Answer = CreateElicitationResponse;
}

impl OutgoingRequest for ReadTextFileRequest {
    const METHOD: &'static str = CLIENT_METHOD_NAMES.fs_read_text_file;
    type Answer = ReadTextFileResponse;
}

impl OutgoingRequest for WriteTextFileRequest {
    const METHOD: &'static str = CLIENT_METHOD_NAMES.fs_write_text_file;
    type Answer = WriteTextFileResponse;
}

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

    /// An editor that would rather speak a newer version names its abilities in another place and in other words. Only
    /// what means the same in both versions is believed, which excludes the files.
    pub(crate) fn of_newer(params: &Value) -> Self {
        let told = &params["capabilities"];
        Self {
            has_forms: told["elicitation"]["form"].is_object(),
            sets_up_in_terminal: told["auth"]["terminal"].is_object(),
            ..Self::default()
        }
    }
}

/// One session's side of the connection.
#[derive(Clone)]
pub(crate) struct SessionWire {
    pub(crate) connection: EditorConnection,
    pub(crate) id: SessionId,
    pub(crate) editor: EditorTraits,
}

impl SessionWire {
    pub(crate) fn update(&self, update: SessionUpdate) {
        let told = SessionNotification::new(self.id.clone(), update);
        self.connection.notify(CLIENT_METHOD_NAMES.session_update, &told);
    }

    /// Says something that is not part of the conversation, such as what a command has to tell.
    pub(crate) fn say(&self, text: &str) {
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(
            text.to_owned(),
        ))));
    }
}

/// An error as the editor shows it: the message names the thing, the data says more.
pub(crate) fn refusal(error: &ToolError) -> Error {
    let code = match error.code {
        ErrorCode::InvalidArguments | ErrorCode::FileNotFound | ErrorCode::PermissionDenied => {
            WireCode::InvalidParams
        }
        _ => WireCode::InternalError,
    };
    Error::new(code.into(), error.full_message()).data(serde_json::json!({"code": error.code}))
}

/// A request that cannot be answered, in words.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(WireCode::InvalidParams.into(), message)
}

/// Something that went wrong on our side.
pub(crate) fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(WireCode::InternalError.into(), error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_newer_version_only_what_means_the_same_is_believed() {
        let told = json!({"protocolVersion": 2, "capabilities": {
            "fs": {"readTextFile": true, "writeTextFile": true},
            "session": {"notices": {}, "compaction": {}},
            "elicitation": {"form": {}},
            "auth": {"terminal": {}},
        }});
        let both =
            EditorTraits { has_forms: true, sets_up_in_terminal: true, ..EditorTraits::default() };
        assert_eq!(EditorTraits::of_newer(&told), both);
        for odd in [json!([]), json!({}), json!({"capabilities": 5}), told["capabilities"].clone()]
        {
            assert_eq!(EditorTraits::of_newer(&odd), EditorTraits::default(), "{odd}");
        }
    }
}
