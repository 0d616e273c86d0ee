//! The editor's texts, for the tools of one session.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_client_protocol_schema::v1::{ReadTextFileRequest, WriteTextFileRequest};
use async_trait::async_trait;
use protocol::{ErrorCode, ToolError, visible};
use tokio::time::timeout;
use tool_system::OpenDocuments;

use crate::wire::{EditorTraits, SessionWire};

/// How long the editor may take to tell a text. One that does not is not asked again.
const READ_PATIENCE: Duration = Duration::from_secs(3);
/// How long it may take to save one, which may include formatting it.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// The documents of the editor that a session belongs to.
pub(crate) struct EditorDocuments {
    editor: EditorTraits,
    writes_all: bool,
    /// Known once the session has its id.
    wire: OnceLock<SessionWire>,
    /// Whether it was asked in vain.
    is_silent: AtomicBool,
}

impl EditorDocuments {
    pub(crate) fn new(editor: EditorTraits, writes_all: bool) -> Self {
        Self { editor, writes_all, wire: OnceLock::new(), is_silent: AtomicBool::new(false) }
    }

    /// The session has its id.
    pub(crate) fn belong_to(&self, wire: SessionWire) {
        let _ = self.wire.set(wire);
    }
}

#[async_trait]
impl OpenDocuments for EditorDocuments {
    async fn text(&self, path: &Path) -> Option<String> {
        let wire = self.wire.get().filter(|_| self.editor.reads_files)?;
        if self.is_silent.load(Ordering::Relaxed) {
            return None;
        }
        let request = ReadTextFileRequest::new(wire.id.clone(), path);
        let asked = wire.connection.request(&request);
        match timeout(READ_PATIENCE, asked).await {
            // An editor that has nothing to tell about the file says so by an error.
            Ok(answer) => answer.ok().map(|answer| answer.content),
            Err(_) => {
                if !self.is_silent.swap(true, Ordering::Relaxed) {
                    wire.say("_The editor does not tell its texts, so that files are read as they are saved._\n\n");
                }
                None
            }
        }
    }

    fn can_write(&self) -> bool {
        self.editor.writes_files && self.wire.get().is_some()
    }

    fn writes_all(&self) -> bool {
        self.writes_all
    }

    async fn write(&self, path: &Path, text: &str) -> Result<(), ToolError> {
        let shown = visible(&path.to_string_lossy());
        let refused = |why: &str| {
            let message = format!("the editor did not write {shown}: {why}");
            ToolError::new(ErrorCode::ExecutionError, message)
                .suggest("Read the file again; ask the user to save it if that does not help.")
        };
        let wire = self.wire.get().ok_or_else(|| refused("the session has not begun"))?;
        let request = WriteTextFileRequest::new(wire.id.clone(), path, text);
        let asked = async {
            let room = wire.connection.room().await;
            let answered = wire.connection.request(&request);
            drop(room);
            answered.await
        };
        match timeout(WRITE_PATIENCE, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(refused(&visible(&error.message))),
            Err(_) => Err(refused("it did not answer")),
        }
    }
}
