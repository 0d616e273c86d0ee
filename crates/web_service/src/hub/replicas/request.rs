//! What can lie in the inbox of a session, and how it is refused.

use axum::http::StatusCode;
use protocol::{ApprovalResponse, Content};
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::hub::{AgentNames, HubError};

/// What a client wants of a session, whichever replica has it open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum InboxRequest {
    /// Something is said.
    Message { content: Vec<Content> },
    /// A message that waits is taken back.
    Withdraw { message: i64 },
    /// The question that the entry at this place of the log asks is answered.
    Answer { place: u64, response: Box<ApprovalResponse> },
    /// The running turn ends.
    Interrupt,
    /// A paused turn goes on.
    Continue,
    /// The conversation goes back to before a message.
    Rewind { to: u64, restores_files: bool },
    /// Another model answers, or in another role.
    Change { names: AgentNames },
    /// The session is deleted.
    Delete,
}

/// Why something is not done, as the client of another replica is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RefusalText {
    status: u16,
    code: String,
    message: String,
}

/// The reason of a refusal as it is kept with the item.
pub(super) fn refusal(error: HubError) -> String {
    let ApiError { status, told } = error.into();
    let text =
        RefusalText { status: status.as_u16(), code: told.code.clone(), message: told.message };
    serde_json::to_string(&text).unwrap_or(text.message)
}

/// The error that a kept reason stands for.
pub(super) fn refused(reason: &str) -> HubError {
    let text: Result<RefusalText, _> = serde_json::from_str(reason);
    let text = text.unwrap_or_else(|_| RefusalText {
        status: StatusCode::CONFLICT.as_u16(),
        code: "CONFLICT".to_owned(),
        message: reason.to_owned(),
    });
    let RefusalText { status, code, message } = text;
    HubError::Refused { status, code, message }
}
