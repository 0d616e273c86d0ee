//! Several changes to several files, worked out one after the other and proposed as one.

use std::collections::BTreeMap;

use protocol::{Base, Change, ChangeSet, ErrorCode, FileBytes, ToolError};
use serde_json::{Value, json};
use workspace::RelPath;

use crate::edit::refuse_placeholder;
use crate::proposing::{AnswerDiff, Target, answer_diff, missing_parents, with_links};
use crate::{Outcome, Proposed, ToolContext};

/// What each file will be, as the plan grows.
pub(crate) struct ChangePlan<'a> {
    cx: &'a ToolContext,
    files: BTreeMap<RelPath, Planned>,
    /// How each change was made, for the answer.
    notes: Vec<Value>,
}

/// What becomes of one path.
struct Planned {
    target: Target,
    becomes: Becomes,
}

enum Becomes {
    File {
        content: Vec<u8>,
        mode: Option<u32>,
    },
    Nothing,
    /// The file goes to another path as it is.
    Moved(RelPath),
}

impl<'a> ChangePlan<'a> {
    pub(crate) fn new(cx: &'a ToolContext) -> Self {
        Self { cx, files: BTreeMap::new(), notes: Vec::new() }
    }

    /// Says in the answer how a change was made.
    pub(crate) fn note(&mut self, note: Value) {
        self.notes.push(note);
    }

    /// The file that `path` leads to, which the plan must not change yet.
    pub(crate) fn file(&self, path: &str) -> Result<Target, ToolError> {
        self.unplanned(Target::file(self.cx, path)?)
    }

    /// The file or link at `path` itself, which the plan must not change yet.
    pub(crate) fn file_or_link(&self, path: &str) -> Result<Target, ToolError> {
        self.unplanned(Target::file_or_link(self.cx, path)?)
    }

    fn unplanned(&self, target: Target) -> Result<Target, ToolError> {
        match self.files.get(&target.path) {
            None => Ok(target),
            Some(_) => Err(twice(&target.path)),
        }
    }

    /// The file will hold this body, in its own encoding, and have this mode if one is given.
    pub(crate) fn rewrite(
        &mut self,
        target: Target,
        body: Vec<u8>,
        mode: Option<u32>,
    ) -> Result<(), ToolError> {
        let text = target.text();
        refuse_placeholder(&String::from_utf8_lossy(&body), text.body())?;
        let content = text.encode_body(&body)?;
        self.plan(target, Becomes::File { content, mode })
    }

    /// The file will hold this text, whether or not it exists.
    pub(crate) fn write(&mut self, path: &str, content: &str) -> Result<(), ToolError> {
        let target = Target::look(self.cx, path)?;
        if let Base::File { hash, .. } = &target.base {
            self.cx.check_known(&target.path, *hash)?;
        }
        target.refuse_placeholders(content)?;
        let content = target.encoded(content)?;
        self.plan(target, Becomes::File { content, mode: None })
    }

    /// The file will be new, with this text, and have this mode if one is given.
    pub(crate) fn create(
        &mut self,
        path: &str,
        content: &str,
        mode: Option<u32>,
    ) -> Result<(), ToolError> {
        let target = Target::look(self.cx, path)?;
        if target.base != Base::Absent {
            let message = format!("{} already exists; nothing was changed", target.path);
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .suggest("Update the file instead of adding it, or choose another path."));
        }
        target.refuse_placeholders(content)?;
        self.plan(target, Becomes::File { content: content.as_bytes().to_vec(), mode })
    }

    /// The file or link will be gone.
    pub(crate) fn delete(&mut self, target: Target) -> Result<(), ToolError> {
        self.plan(target, Becomes::Nothing)
    }

    /// The file will be at `to` with another body.
    pub(crate) fn rewrite_at(
        &mut self,
        target: Target,
        to: &str,
        body: Vec<u8>,
    ) -> Result<(), ToolError> {
        if target.is_behind_link() {
            let remark = target.link_remark().unwrap_or_default();
            let message = format!("a link cannot be edited and moved at once: {remark}");
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest(format!("Edit and move {} itself, or make two calls.", target.path)));
        }
        let goal = self.free(to)?;
        let text = target.text();
        refuse_placeholder(&String::from_utf8_lossy(&body), text.body())?;
        let content = text.encode_body(&body)?;
        let mode = target.base.mode();
        self.plan(target, Becomes::Nothing)?;
        self.plan(goal, Becomes::File { content, mode })
    }

    /// The file or link will be at `to` as it is.
    pub(crate) fn rename(&mut self, target: Target, to: &str) -> Result<(), ToolError> {
        let goal = self.free(to)?;
        self.plan(target, Becomes::Moved(goal.path))
    }

    /// A path where nothing is.
    fn free(&self, path: &str) -> Result<Target, ToolError> {
        let goal = Target::entry(self.cx, path)?;
        if goal.base == Base::Absent {
            return Ok(goal);
        }
        let message = format!("{} already exists; nothing was changed", goal.path);
        Err(ToolError::new(ErrorCode::Conflict, message))
    }

    fn plan(&mut self, target: Target, becomes: Becomes) -> Result<(), ToolError> {
        let path = target.path.clone();
        match self.files.insert(path.clone(), Planned { target, becomes }) {
            None => Ok(()),
            Some(_) => Err(twice(&path)),
        }
    }

    /// The whole plan as one proposal; nothing to do is an answer.
    pub(crate) fn propose(self) -> Result<Outcome, ToolError> {
        let mut changes = Vec::new();
        let mut shown = Vec::new();
        let mut made = std::collections::BTreeSet::new();
        for (path, Planned { target, becomes }) in &self.files {
            let goal = match becomes {
                Becomes::Moved(to) => to,
                _ => path,
            };
            for parent in missing_parents(self.cx, goal) {
                let Change::MakeDir { path, .. } = &parent else { continue };
                if made.insert(path.clone()) {
                    changes.push(parent);
                }
            }
            let change = match becomes {
                Becomes::File { content, mode } if target.already_is(content, *mode) => continue,
                Becomes::File { content, mode } => Change::Write {
                    path: path.to_text(),
                    base: target.base.clone(),
                    content: FileBytes(content.clone()),
                    mode: *mode,
                },
                Becomes::Nothing => {
                    Change::Delete { path: path.to_text(), base: target.base.clone() }
                }
                Becomes::Moved(to) => Change::Move {
                    from: path.to_text(),
                    to: to.to_text(),
                    base: target.base.clone(),
                    target: Base::Absent,
                },
            };
            changes.push(change.clone());
            shown.push((change, target));
        }
        let pairs: Vec<_> =
            shown.iter().map(|(change, target)| (change, Some(target.bytes()))).collect();
        let files: Vec<String> =
            shown.iter().flat_map(|(change, _)| change.paths()).map(str::to_owned).collect();
        let AnswerDiff { diff, added, removed } = answer_diff(&pairs);
        let answer = json!({
            "files": files, "applied": self.notes, "diff": diff, "added": added, "removed": removed,
        });
        let remarks = self.files.values().filter_map(|planned| planned.target.link_remark());
        let answer = with_links(answer, remarks);
        if shown.is_empty() {
            return Ok(Outcome::Answer(answer));
        }
        Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes }, answer)))
    }
}

fn twice(path: &RelPath) -> ToolError {
    let message = format!("{path} is changed twice in one call; nothing was changed");
    ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest("Put all changes to one file into one entry, or make two calls.")
}
