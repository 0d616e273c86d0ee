//! Reading back what a conversation's log says, for a model that was shown only a part of it.

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use protocol::{ErrorCode, LogEntry, MessageHandle, SessionEvent, ToolError, recalled_text};
use tool_system::{Recalled, TextSearch};

use crate::session::Model;

/// Tokens of the model's window for each byte of a page: a page fills about a sixteenth of the
/// window, so that several fit beside the rest.
const WINDOW_TOKENS_PER_PAGE_BYTE: u64 = 4;
/// The bounds of a page, whatever the model: a few whole lines at least, and no more than one wants
/// to read at once.
const SMALLEST_PAGE: u64 = 2 * 1024;
const LARGEST_PAGE: u64 = 64 * 1024;

/// A log whose entries can be read one by one.
#[async_trait]
pub(crate) trait ReadableLog: SessionLog {
    /// The entry at this position, if it is there.
    async fn entry(&self, sequence: u64) -> Result<Option<LogEntry>, LogError>;
}

/// Entries of a log that are searched for what was said, from its beginning. A turn writes tens.
const MOST_SEARCHED: u64 = 100_000;

/// Whether the user or a result says something in the log of a session. What a sub-agent was told by
/// its caller does not count, nor does an error, which repeats what was asked for.
pub(crate) async fn told_in(log: &dyn ReadableLog, says: TextSearch) -> bool {
    for sequence in 1..=MOST_SEARCHED {
        let Ok(Some(entry)) = log.entry(sequence).await else { return false };
        if told_text(&entry.event, true).is_some_and(|text| says(&text)) {
            return true;
        }
    }
    false
}

fn told_text(event: &SessionEvent, is_users: bool) -> Option<String> {
    match event {
        SessionEvent::UserMessage { .. } | SessionEvent::UserAdded { .. } if is_users => {
            recalled_text(event)
        }
        SessionEvent::CallEnded { result: Ok(_), .. } => recalled_text(event),
        SessionEvent::Nested { entry, .. } => told_text(&entry.event, false),
        _ => None,
    }
}

/// What an entry of `log` says, in pages that `model` can take.
pub(crate) async fn recall(
    log: &dyn ReadableLog,
    handle: MessageHandle,
    model: &Model,
) -> Result<Recalled, ToolError> {
    let unreadable = |error: LogError| {
        let message = format!("the session's log cannot be read: {}", error.message);
        ToolError::new(ErrorCode::ExecutionError, message)
    };
    let entry = log.entry(handle.0).await.map_err(unreadable)?;
    let text = entry.and_then(|entry| recalled_text(&entry.event));
    let text = text.ok_or_else(|| {
        ToolError::new(ErrorCode::FileNotFound, format!("there is no message at {handle}"))
            .suggest("Use a handle that this conversation names.")
    })?;
    let page_bytes = model.context_tokens / WINDOW_TOKENS_PER_PAGE_BYTE;
    Ok(Recalled { text, page_bytes: page_bytes.clamp(SMALLEST_PAGE, LARGEST_PAGE) })
}
