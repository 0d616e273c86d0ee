//! What tools that change files have in common: looking at what is there, and describing what
//! would become of it.

use protocol::{Base, Change, ChangeSet, ErrorCode, FileBytes, FileDiff, ToolError, unified};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use workspace::{LineEnding, RelPath, Text, bytes_to_text};

use crate::edit::refuse_placeholder;
use crate::file_view::explained;
use crate::tool::json_of;
use crate::{Outcome, Proposed, ToolContext};

/// Bytes of a diff in an answer; the approver sees all of it.
const MAX_ANSWER_DIFF: usize = 16 * 1024;

/// A path that is about to be changed, as it is now.
pub(crate) struct Target {
    /// What changes, by a path that goes through no link.
    pub(crate) path: RelPath,
    pub(crate) base: Base,
    bytes: Option<Vec<u8>>,
    /// The path as it was given, if links lead from there to `path`.
    link: Option<RelPath>,
}

impl Target {
    /// Looks at what writing to `path` would change: a link is followed to the file it leads to.
    pub(crate) fn look(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let given = cx.workspace().resolve(path)?;
        let path = cx.workspace().follow_links(&given)?;
        let (base, bytes) = cx.base_of(&path, cx.limits().edit_bytes)?;
        let link = (given != path).then_some(given);
        Ok(Self { path, base, bytes, link })
    }

    /// Looks at what deleting or moving `path` would change: a link is meant itself.
    pub(crate) fn entry(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let path = cx.workspace().follow_directories(&cx.workspace().resolve(path)?)?;
        let (base, bytes) = cx.workspace().base_of(&path, cx.limits().edit_bytes)?;
        Ok(Self { path, base, bytes, link: None })
    }

    /// Looks at a file that has to exist, and that the model must know as it is.
    pub(crate) fn file(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let target = Self::look(cx, path)?;
        target.check_exists(cx)?;
        Ok(target)
    }

    /// Looks at a file that has to exist and be known, or at a link, to delete or move it.
    pub(crate) fn file_or_link(cx: &ToolContext, path: &str) -> Result<Self, ToolError> {
        let target = Self::entry(cx, path)?;
        if target.link_target().is_none() {
            target.check_exists(cx)?;
        }
        Ok(target)
    }

    fn check_exists(&self, cx: &ToolContext) -> Result<(), ToolError> {
        if let Base::File { hash, .. } = &self.base {
            return cx.check_known(&self.path, *hash);
        }
        Err(match cx.workspace().open_file(&self.path) {
            Err(error) => {
                let mut error = explained(cx, &self.path, error);
                if let Some(link) = &self.link {
                    error.message = format!("{link} is a symbolic link: {}", error.message);
                }
                error
            }
            // It has appeared in this very moment.
            Ok(_) => ToolError::new(ErrorCode::Conflict, format!("{} is changing", self.path)),
        })
    }

    /// Where the link leads that is at the path itself, as it is stored.
    pub(crate) fn link_target(&self) -> Option<&[u8]> {
        match &self.base {
            Base::Link { target } => Some(&target.0),
            _ => None,
        }
    }

    /// What an answer says about the links on the way, if there are any.
    pub(crate) fn link_remark(&self) -> Option<String> {
        let Self { path, link, .. } = self;
        if let Some(target) = self.link_target() {
            let target = bytes_to_text(target);
            return Some(format!("{path} is a symbolic link to {target}, which is left as it is."));
        }
        let link = link.as_ref()?;
        Some(format!("{link} leads through a symbolic link to {path}; the link is kept."))
    }

    /// Whether the path that was given leads through a link to another one.
    pub(crate) fn is_behind_link(&self) -> bool {
        self.link.is_some()
    }

    /// An answer, with the links that were met.
    pub(crate) fn answer(&self, answer: impl Serialize) -> Result<Value, ToolError> {
        Ok(with_links(json_of(answer)?, self.link_remark()))
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
        let (path, base) = (self.path.to_text(), self.base.clone());
        Change::Write { path, base, content: FileBytes(content), mode: None }
    }

    /// Whether writing this would change nothing.
    pub(crate) fn already_is(&self, content: &[u8], mode: Option<u32>) -> bool {
        matches!(self.base, Base::File { .. })
            && content == self.bytes()
            && mode.is_none_or(|mode| self.base.mode() == Some(mode))
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
        Ok(text.encode_body(body.as_bytes())?)
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
pub(crate) struct WrittenFile {
    pub(crate) path: String,
    /// Bytes of the file.
    pub(crate) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    /// Lines that came.
    pub(crate) added: usize,
    /// Lines that went.
    pub(crate) removed: usize,
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
        let (diff, change_id) = (None, None);
        let answer = WrittenFile { path, size, diff, added: 0, removed: 0, message, change_id };
        return Ok(Outcome::Answer(target.answer(answer)?));
    }
    let write = target.write(content);
    let existed = target.base != Base::Absent;
    let AnswerDiff { diff, added, removed } =
        answer_diff(&[(&write, existed.then_some(target.bytes()))]);
    // The model has just sent all lines of a file that was not there.
    let diff = existed.then_some(diff);
    let mut changes = missing_parents(cx, &target.path);
    changes.push(write);
    let answer = WrittenFile { path, size, diff, added, removed, message: None, change_id: None };
    Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes }, target.answer(answer)?)))
}

/// An answer with what there is to say about symbolic links.
pub(crate) fn with_links(mut answer: Value, remarks: impl IntoIterator<Item = String>) -> Value {
    let remarks: Vec<String> = remarks.into_iter().collect();
    if let (false, Value::Object(answer)) = (remarks.is_empty(), &mut answer) {
        answer.insert("links".into(), remarks.into());
    }
    answer
}

/// How files differ, for an answer.
pub(crate) struct AnswerDiff {
    /// Cut where it is long.
    pub(crate) diff: String,
    /// Lines that come, in all files.
    pub(crate) added: usize,
    /// Lines that go.
    pub(crate) removed: usize,
}

/// The difference that changes make, for an answer.
pub(crate) fn answer_diff(changes: &[(&Change, Option<&[u8]>)]) -> AnswerDiff {
    let diffs: Vec<FileDiff> =
        changes.iter().map(|(change, before)| FileDiff::of(change, *before)).collect();
    let added = diffs.iter().map(|diff| diff.added).sum();
    let removed = diffs.iter().map(|diff| diff.removed).sum();
    let mut text = unified(&diffs);
    if text.len() > MAX_ANSWER_DIFF {
        let total = text.lines().count();
        let cut = (0..=MAX_ANSWER_DIFF).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push_str(&format!("\n… [the diff has {total} lines]"));
    }
    AnswerDiff { diff: text, added, removed }
}
