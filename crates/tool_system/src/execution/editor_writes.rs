//! Changes that the editor makes, because it holds a file with unsaved text or is to write every text.
//!
//! What the editor has saved is read back: it may format what it saves. The journal keeps what was there before, so
//! that such a change is undone like any other.

use std::path::PathBuf;
use std::sync::Arc;

use protocol::{Base, Change, ChangeSet, ContentHash, ErrorCode, ToolError, ToolResult};
use serde_json::{Value, json};
use workspace::{Inverse, Journal, Label, RelPath, UndoTarget, WrittenElsewhere};

use crate::{OpenDocuments, ToolContext};

/// The largest file that an editor is asked to write.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A set of changes by who makes them.
pub(crate) struct EditorWrites {
    writes: Vec<EditorWrite>,
    /// What is applied to the disk.
    rest: ChangeSet,
}

/// A text that the editor writes.
struct EditorWrite {
    path: RelPath,
    absolute: PathBuf,
    /// What the user had there, saved or not; none if there was no file.
    before: Option<Vec<u8>>,
    /// What was on the disk.
    disk: Option<Vec<u8>>,
    text: String,
}

/// What came of a text that the editor has written.
struct WriteReport {
    written: Option<WrittenElsewhere>,
    note: Option<String>,
}

impl EditorWrites {
    /// Finds out which changes the editor has to make; none if all are for the disk. To be called where waiting is
    /// allowed.
    pub(crate) fn among(
        cx: &ToolContext,
        set: &ChangeSet,
        documents: &dyn OpenDocuments,
    ) -> Result<Option<Self>, ToolError> {
        let mut found = Self { writes: Vec::new(), rest: ChangeSet::default() };
        for change in &set.changes {
            match editor_write(cx, change, documents)? {
                Some(write) => found.writes.push(write),
                None => found.rest.changes.push(change.clone()),
            }
        }
        Ok((!found.writes.is_empty()).then_some(found))
    }

    /// Makes all changes: first those of the disk, which are taken back if the editor then refuses.
    pub(crate) async fn perform(
        self,
        cx: &ToolContext,
        (journal, label): (Arc<Journal>, Label),
        documents: &dyn OpenDocuments,
    ) -> ToolResult {
        let Self { writes, rest } = self;
        let mut notes: Vec<String> = Vec::new();
        let applied = match rest.changes.is_empty() {
            true => None,
            false => {
                let (journal, label) = (Arc::clone(&journal), label.clone());
                Some(cx.blocking(move |_| Ok(journal.apply(&rest, &label)?)).await?)
            }
        };
        let mut written = Vec::new();
        for write in writes {
            if let Err(error) = documents.write(&write.absolute, &write.text).await {
                let undone = applied.as_ref().map(|applied| applied.entry);
                let (journal, label) = (Arc::clone(&journal), label.clone());
                cx.blocking(move |_| {
                    if !written.is_empty() {
                        journal.record(&written, &label)?;
                    }
                    if let Some(entry) = undone {
                        let inverse: Inverse = journal.inverse(&UndoTarget::Entry(entry))?;
                        journal.apply_undo(&inverse, &label)?;
                    }
                    Ok(())
                })
                .await?;
                return Err(error);
            }
            let report = cx.blocking(move |cx| write.read_back(cx)).await?;
            written.extend(report.written);
            notes.extend(report.note);
        }
        let mut entry = applied.as_ref().map(|applied| applied.entry);
        if !written.is_empty() {
            let recorded = cx.blocking(move |_| Ok(journal.record(&written, &label)?)).await?;
            if let Some(other) = entry.replace(recorded.entry) {
                notes.push(format!("what the editor did not write is change {other}"));
            }
        }
        notes.extend(applied.into_iter().flat_map(|applied| applied.notes));
        let mut report = json!({"saved_by": "the editor"});
        if let (Some(entry), Value::Object(report)) = (entry, &mut report) {
            report.insert("change_id".into(), entry.to_string().into());
        }
        if !notes.is_empty() {
            report["notes"] = json!(notes);
        }
        Ok(report)
    }
}

/// The change as a text for the editor; none if it is for the disk.
fn editor_write(
    cx: &ToolContext,
    change: &Change,
    documents: &dyn OpenDocuments,
) -> Result<Option<EditorWrite>, ToolError> {
    let Change::Write { path, base, content, mode } = change else { return Ok(None) };
    let path = cx.workspace().resolve(path)?;
    let (now, disk) = cx.workspace().base_of(&path, MAX_BYTES)?;
    let is_unsaved = now != *base && matches!((&now, base), (Base::File { .. }, Base::File { .. }));
    let text = String::from_utf8(content.0.clone()).ok().filter(|_| mode.is_none());
    if !is_unsaved {
        let is_wanted = documents.writes_all() && documents.can_write() && now == *base;
        let (Some(text), true, Some(absolute)) = (text, is_wanted, cx.absolute(&path)) else {
            return Ok(None);
        };
        let before = disk.clone();
        return Ok(Some(EditorWrite { path, absolute, before, disk, text }));
    }
    let (held, before) = cx.base_of(&path, MAX_BYTES)?;
    let changed = match (held != *base, cx.is_saved_meanwhile(&path, disk.as_deref())) {
        (true, _) => Some("in the editor"),
        (false, true) => Some("on the disk, beneath the unsaved text of the editor,"),
        (false, false) => None,
    };
    if let Some(place) = changed {
        let message = format!("{path} was changed {place} in the meantime");
        return Err(ToolError::new(ErrorCode::Conflict, message)
            .suggest(format!("Read {path} again and repeat the call.")));
    }
    match (text, documents.can_write(), cx.absolute(&path)) {
        (Some(text), true, Some(absolute)) => {
            Ok(Some(EditorWrite { path, absolute, before, disk, text }))
        }
        _ => {
            let message =
                format!("{path} has unsaved changes in the editor, which does not write it");
            Err(ToolError::new(ErrorCode::Conflict, message).suggest(format!(
                "Ask the user to save {path}, read it again and repeat the call."
            )))
        }
    }
}

impl EditorWrite {
    /// Compares what is there now with what was to be written.
    fn read_back(self, cx: &ToolContext) -> Result<WriteReport, ToolError> {
        let Self { path, before, disk, text, .. } = self;
        let (_, now) = cx.workspace().base_of(&path, MAX_BYTES)?;
        let is_as_sent = now.as_deref() == Some(text.as_bytes());
        if is_as_sent {
            cx.note_read(&path, ContentHash::of(text.as_bytes()));
            let written = Some(WrittenElsewhere { path, before });
            return Ok(WriteReport { written, note: None });
        }
        // The model does not know what is there now.
        cx.state.files.forget(&path);
        if now == disk {
            let note = format!("the editor has {path} but has not saved it; undo it there");
            return Ok(WriteReport { written: None, note: Some(note) });
        }
        let note = format!(
            "the editor saved {path} otherwise than it was written, as when it formats: read it before the next edit"
        );
        let written = now.is_some().then_some(WrittenElsewhere { path, before });
        Ok(WriteReport { written, note: Some(note) })
    }
}
