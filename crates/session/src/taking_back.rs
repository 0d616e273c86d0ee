//! What the user takes back or makes again, in any front end.

use protocol::{CallReport, ErrorCode, ToolCall, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tool_system::extensions::management::{redo, undo};

use crate::session::{Session, SessionError};

/// What is to be done with a change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeBack {
    /// Undo the change with this id; the last one if none is named.
    Undo(Option<String>),
    /// Make the change again that was undone last.
    Redo,
}

impl TakeBack {
    fn into_call(self) -> ToolCall {
        let (tool, change) = match self {
            TakeBack::Undo(change) => (undo::NAME, change),
            TakeBack::Redo => (redo::NAME, None),
        };
        let arguments: Map<String, Value> =
            change.map(|id| ("change_id".to_owned(), Value::from(id))).into_iter().collect();
        ToolCall::new(format!("user_{tool}"), tool, arguments)
    }
}

impl Session {
    /// Undoes or redoes through the very tool, so that the user sees what it does and is asked, and lets
    /// the model know. Answers with what was done, in words.
    pub async fn take_back(
        &mut self,
        what: TakeBack,
        cancel: &CancellationToken,
    ) -> Result<Result<String, ToolError>, SessionError> {
        let call = what.into_call();
        let executor = self.executor();
        let CallReport { result, title, .. } =
            executor.report(&call, cancel, executor.approver()).await;
        Ok(match result {
            Ok(_) => {
                let done = title.unwrap_or_else(|| call.name.clone());
                self.tell(&format!("The user has used {}. {done}", call.name)).await?;
                Ok(done)
            }
            Err(error) if error.code == ErrorCode::Rejected => {
                Ok("Nothing was changed.".to_owned())
            }
            Err(error) => Err(error),
        })
    }
}
