//! `!command` at the prompt: a command of the user, run as any call is and shared with the model.

use protocol::{ErrorCode, ToolCall};
use serde_json::{Map, Value};
use session::Session;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::execution::bash;

/// Runs a command through the executor, with the confinement and the questions that a call of the model
/// has. Answers with what to show, and with what the model is told, unless it need not know.
pub(crate) async fn run_shell_line(
    session: &Session,
    command: &str,
    cancel: &CancellationToken,
) -> (String, Option<String>) {
    let arguments = Map::from_iter([("command".to_owned(), Value::from(command))]);
    let call = ToolCall::new("chat_command", bash::NAME, arguments);
    let executor = session.executor();
    let report = executor.report(&call, cancel, executor.approver()).await;
    let shown = match report.result {
        Ok(value) => report.text.unwrap_or_else(|| value.to_string()),
        // It was cancelled by the user or never ran: the model need not know.
        Err(error) if error.code == ErrorCode::Cancelled => return ("cancelled".to_owned(), None),
        Err(error) => error.full_message(),
    };
    let note = note(command, &shown);
    (shown, Some(note))
}

fn note(command: &str, shown: &str) -> String {
    format!(
        "The user has run this command at the prompt: {command}\nIt is for your information and asks \
         nothing of you. Its result:\n{shown}"
    )
}
