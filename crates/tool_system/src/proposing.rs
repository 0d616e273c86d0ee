//! What tools that change files have in common: looking at what is there, and describing what
//! would become of it.

use protocol::{Base, Change, ChangeSet, ErrorCode, FileBytes, FileDiff, ToolError, unified};
use schemars::JsonSchema;
use serde::Serialize;
use workspace::{LineEnding, RelPath, Text};

use crate::edit::{encode_body, refuse_placeholder};
use crate::file_view::explained;
use crate::{Outcome, Proposed, ToolContext};

/// Bytes of a diff in an answer; the person who approves sees all of it.
const MAX_ANSWER_DIFF: usize = 16 * 1024;

/// A path that is about to be changed, as it is now.
pub(crate) struct Target {
    pub(crate) path: RelPath,
    pub(crate) base: Base,
    bytes: Option<Vec<u8>>,
}

impl Target {
    /// Looks at what is at `path`; a link is followed to the file it names.
    pub(crate) fn look(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let path = cx.workspace().resolve(path)?;
        let (base, bytes) = cx.workspace().base_to_write(&path, cx.limits().edit_bytes)?;
        Ok(Self { path, base, bytes })
    }

    /// Looks at a file that has to exist, and that the model must know as it is.
    pub(crate) fn file(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let target = Self::look(cx, path)?;
        match &target.base {
            Base::File { hash, .. } => {
                cx.check_known(&target.path, *hash)?;
                Ok(target)
            }
            _ => match cx.workspace().open_file(&target.path) {
                Err(error) => Err(explained(cx, &target.path, error)),
                // It has appeared in this very moment.
                Ok(_) => Err(ToolError::new(ErrorCode::Conflict, format!("{path} is changing"))),
            },
        }
    }

    /// The bytes of the file; none if there is no file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// The file as text.
    pub(crate) fn text(&self) -> Text {
        Text::decode(self.bytes())
    }

    /// The change that makes the file hold `content`.
    pub(crate) fn write(&self, content: Vec<u8>) -> Change {
        self.write_with_mode(content, None)
    }

    /// The change that makes the file hold `content` and have these permission bits, if any.
    pub(crate) fn write_with_mode(&self, content: Vec<u8>, mode: Option<u32>) -> Change {
        let (path, base) = (self.path.to_text(), self.base.clone());
        Change::Write { path, base, content: FileBytes(content), mode }
    }

    /// The permission bits of the file, if it is one.
    pub(crate) fn mode(&self) -> Option<u32> {
        match self.base {
            Base::File { mode, .. } => Some(mode),
            _ => None,
        }
    }

    /// Whether writing this would change nothing.
    pub(crate) fn already_is(&self, content: &[u8], mode: Option<u32>) -> bool {
        matches!(self.base, Base::File { .. })
            && content == self.bytes()
            && mode.is_none_or(|mode| self.mode() == Some(mode))
    }

    /// The bytes for a whole new text that a model wrote: in the encoding of the file, and with its
    /// line endings unless the text brings carriage returns of its own.
    pub(crate) fn encoded(&self, content: &str) -> Result<Vec<u8>, ToolError> {
        if self.base == Base::Absent {
            return Ok(content.as_bytes().to_vec());
        }
        let text = self.text();
        // The mark is kept with the file; a copy of it in the text would make two.
        let content = if text.bom() { content.trim_start_matches('\u{FEFF}') } else { content };
        let crlf = text.line_endings().dominant() == LineEnding::CrLf && !content.contains('\r');
        let body = if crlf { content.replace('\n', "\r\n") } else { content.to_owned() };
        encode_body(&text, body.into_bytes())
    }

    /// Refuses text in which something stands for code that was left out.
    pub(crate) fn refuse_placeholders(&self, content: &str) -> Result<(), ToolError> {
        refuse_placeholder(content, self.text().body())
    }
}

/// The directories that have to be made before `path` can be, outermost first.
pub(crate) fn missing_parents(cx: &ToolContext, path: &RelPath) -> Vec<Change> {
    let mut missing = Vec::new();
    let mut parent = path.parent();
    while let Some(directory) = parent
        && !directory.is_root()
        && matches!(cx.workspace().metadata(&directory), Err(workspace::Error::NotFound { .. }))
    {
        parent = directory.parent();
        missing.push(Change::MakeDir { path: directory.to_text(), mode: None });
    }
    missing.reverse();
    missing
}

/// What became of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    pub(crate) path: String,
    /// Bytes of the file.
    pub(crate) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// What `undo` takes to undo exactly this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change_id: Option<String>,
}

/// Proposes that `target` holds `content`, with the directories it needs.
pub(crate) fn propose_write(
    cx: &ToolContext,
    target: &Target,
    content: Vec<u8>,
) -> Result<Outcome, ToolError> {
    let size = content.len() as u64;
    let path = target.path.to_text();
    if target.base != Base::Absent && content == target.bytes() {
        let message = Some("The file already holds exactly this; nothing was changed.".into());
        return Outcome::answer(Written { path, size, diff: None, message, change_id: None });
    }
    let write = target.write(content);
    let diff =
        (target.base != Base::Absent).then(|| answer_diff(&[(&write, Some(target.bytes()))]));
    let mut changes = missing_parents(cx, &target.path);
    changes.push(write);
    let answer = Written { path, size, diff, message: None, change_id: None };
    Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes }, answer)?))
}

/// The diff for an answer, cut where it is long.
pub(crate) fn answer_diff(changes: &[(&Change, Option<&[u8]>)]) -> String {
    let diffs: Vec<FileDiff> =
        changes.iter().map(|(change, before)| FileDiff::of(change, *before)).collect();
    let mut text = unified(&diffs);
    if text.len() > MAX_ANSWER_DIFF {
        let total = text.lines().count();
        let cut = (0..=MAX_ANSWER_DIFF).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push_str(&format!("\n… [the diff has {total} lines]"));
    }
    text
}
