//! Texts that an editor holds open: what is typed there and not saved is what tools read and edit.
//!
//! A path is resolved beneath the project's root before the editor is asked for it, so that it is never asked for
//! anything else. Searches, outlines and commands see the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use protocol::{Base, ContentHash, ToolError};
use tokio::runtime::Handle;
use workspace::{LineEnding, RelPath, Text, is_binary};

use crate::ToolContext;
use crate::locked::locked;

/// How long an editor may take to tell a text. The disk counts then.
const PATIENCE: Duration = Duration::from_secs(5);

/// An editor that may hold files of the project open. Paths are absolute and lead to files beneath the root.
#[async_trait]
pub trait OpenDocuments: Send + Sync {
    /// The text of a file as the editor has it; none if it tells none.
    async fn text(&self, path: &Path) -> Option<String>;

    /// Whether the editor writes files.
    fn can_write(&self) -> bool;

    /// Whether the editor is to write every text, also those that it does not hold open.
    fn writes_all(&self) -> bool;

    /// Has the editor replace the text of a file and save it.
    async fn write(&self, path: &Path, text: &str) -> Result<(), ToolError>;
}

impl ToolContext {
    /// What is at `path`, as an edit finds it: a file that the editor holds with other text counts with that text.
    /// To be called where waiting is allowed.
    pub(crate) fn base_of(
        &self,
        path: &RelPath,
        max_bytes: u64,
    ) -> Result<(Base, Option<Vec<u8>>), workspace::Error> {
        let (base, bytes) = self.workspace().base_of(path, max_bytes)?;
        if let (Base::File { mode, .. }, Some(disk)) = (&base, &bytes)
            && let Some(held) = self.unsaved(path, disk)
        {
            let saved = ContentHash::of(disk);
            locked(&self.saved_beneath).entry(path.clone()).or_insert(saved);
            let (hash, size) = (ContentHash::of(&held), held.len() as u64);
            return Ok((Base::File { hash, size, mode: *mode }, Some(held)));
        }
        Ok((base, bytes))
    }

    /// The bytes that a file would have if the editor saved it as it is; none if that are those on the disk, or the
    /// editor tells nothing. To be called where waiting is allowed.
    pub(crate) fn unsaved(&self, path: &RelPath, disk: &[u8]) -> Option<Vec<u8>> {
        let documents = self.state.options.documents.as_ref()?;
        if is_binary(disk) {
            return None;
        }
        let path = self.absolute(path)?;
        let asked = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => None,
                text = tokio::time::timeout(PATIENCE, documents.text(&path)) => text.ok().flatten(),
            }
        };
        let text = Handle::try_current().ok()?.block_on(asked)?;
        as_stored(disk, &text)
    }

    /// Whether another process saved a file since this call began with its unsaved text. Neither the user nor the model
    /// has seen that, and the editor would write over it.
    pub(crate) fn is_saved_meanwhile(&self, path: &RelPath, disk: Option<&[u8]>) -> bool {
        let saved = locked(&self.saved_beneath).get(path).copied();
        saved.is_some_and(|saved| disk.is_none_or(|disk| ContentHash::of(disk) != saved))
    }

    /// Where a file of the project lies, by a path that goes through no link.
    pub(crate) fn absolute(&self, path: &RelPath) -> Option<PathBuf> {
        let real = self.workspace().follow_links(path).ok()?;
        Some(self.workspace().canonical_path().join(real.as_path()))
    }
}

/// The text of an editor as it would be stored: with the encoding, the mark and the line endings that the file has on
/// the disk. None if it says the same. Editors tell texts with line feeds, however the file ends its lines.
fn as_stored(disk: &[u8], text: &str) -> Option<Vec<u8>> {
    let stored = Text::decode(disk);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let plain = |body: &str| body.replace("\r\n", "\n");
    let body = String::from_utf8_lossy(stored.body());
    if plain(&body) == plain(text) {
        return None;
    }
    let ends_as_windows = stored.line_endings().dominant() == LineEnding::CrLf;
    let text = if ends_as_windows { plain(text).replace('\n', "\r\n") } else { text.to_owned() };
    stored.encode_body(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editors_text_is_compared_and_stored_as_the_file_is() {
        let table = [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", Some("a\nc\n")),
            ("a\r\nb\r\n", "a\nb\n", None),
            ("a\r\nb\r\n", "a\nc\n", Some("a\r\nc\r\n")),
            ("\u{FEFF}a\n", "a\n", None),
            ("\u{FEFF}a\n", "b\n", Some("\u{FEFF}b\n")),
            ("", "x", Some("x")),
        ];
        for (disk, text, expected) in table {
            let stored = as_stored(disk.as_bytes(), text);
            let expected = expected.map(str::as_bytes);
            assert_eq!(stored.as_deref(), expected, "{text:?} over {disk:?}");
        }
    }
}
