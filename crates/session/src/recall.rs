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
    let mut is_models = false;
    for sequence in 1..=MOST_SEARCHED {
        let Ok(Some(entry)) = log.entry(sequence).await else { return false };
        if is_told_by(&entry.event, &says, &mut is_models) {
            return true;
        }
    }
    false
}

/// Whether an entry says something that the model does not have from itself. What it has said first (`is_models`), it
/// can have every tool repeat: as what was searched for, in the output of a command, in a file.
fn is_told_by(event: &SessionEvent, says: &TextSearch, is_models: &mut bool) -> bool {
    let (event, is_nested) = innermost(event);
    let says = || recalled_text(event).is_some_and(|text| says(&text));
    match event {
        SessionEvent::UserMessage { .. } | SessionEvent::UserAdded { .. } => !is_nested && says(),
        SessionEvent::CallEnded { result: Ok(_), .. } => !*is_models && says(),
        SessionEvent::ModelAnswered(_) => {
            *is_models = *is_models || says();
            false
        }
        _ => false,
    }
}

/// What happened, and whether that was in a sub-agent.
fn innermost(mut event: &SessionEvent) -> (&SessionEvent, bool) {
    let mut is_nested = false;
    while let SessionEvent::Nested { entry, .. } = event {
        (event, is_nested) = (&entry.event, true);
    }
    (event, is_nested)
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

#[cfg(test)]
mod tests {
    use protocol::{Content, ModelAnswer, StopReason, ToolCall};
    use serde_json::json;

    use super::*;

    const WORD: &str = "https://a.org/?key=1";

    fn text(text: &str) -> Content {
        Content::Text { text: text.into() }
    }

    fn user(said: &str) -> SessionEvent {
        SessionEvent::UserMessage { content: vec![text(said)] }
    }

    fn model(content: Content) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: vec![content],
            broken: Vec::new(),
            stop: StopReason::ToolUse,
            usage: Default::default(),
            cost_usd: None,
            duration_ms: 1,
        })
    }

    fn called(argument: &str) -> SessionEvent {
        let arguments = json!({"pattern": argument}).as_object().cloned().unwrap_or_default();
        model(Content::ToolUse(ToolCall::new("c1", "search_text", arguments)))
    }

    fn result(said: &str) -> SessionEvent {
        SessionEvent::CallEnded {
            call_id: "c1".into(),
            result: Ok(json!({"text": said})),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        }
    }

    fn is_told(events: &[SessionEvent]) -> bool {
        let says: TextSearch = Box::new(|text| text.contains(WORD));
        let mut is_models = false;
        events.iter().any(|event| is_told_by(event, &says, &mut is_models))
    }

    #[test]
    fn what_the_model_said_first_is_not_told_by_a_tool_that_repeats_it() {
        assert!(is_told(&[user(WORD)]));
        assert!(is_told(&[called("kiln"), result(WORD), called(WORD), result("a page")]));
        assert!(is_told(&[called(WORD), result("nothing"), user(WORD)]), "the user may repeat it");
        for laundered in [
            vec![called(WORD), result(WORD)],
            vec![model(text(WORD)), called("notes.txt"), result(WORD)],
            vec![user("go"), called(WORD), result("written"), called("notes.txt"), result(WORD)],
        ] {
            assert!(!is_told(&laundered), "{laundered:?}");
        }
    }
}
