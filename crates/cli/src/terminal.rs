//! Asks the person at the terminal: shows exactly what would happen and takes the answer.

mod question;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::sync::Arc;

use protocol::{
    ApprovalRequest, ApprovalResponse, Change, ErrorCode, FileBytes, FileDiff, Proposal, Remember,
    ToolError,
};
use tool_system::prelude::async_trait;
use tool_system::{Approver, OnDemand};
use workspace::{Journal, Label, UndoTarget, edit_in_program};

use crate::chat::look::Look;
use crate::diff_view::{self, Colour};
use crate::environment;
use question::Withdrawn;

/// The columns of a terminal that does not say.
const DEFAULT_WIDTH: usize = 80;

const HELP: &str = "\
  y           yes, do it
  n [reason]  no; the reason goes to the model
  e           edit the proposed text in your editor, then see it again
  h           pick hunks, then see what is left
  a           yes, and do not ask again for this tool on these files
  d           yes, and do not ask again for this tool in these directories
  u           undo the last change that was made, then ask again
  ?           this text";

/// A person at a terminal.
pub(crate) struct Terminal {
    /// The command that edits a file.
    pub(crate) editor: Option<String>,
    pub(crate) colour: Colour,
    pub(crate) journal: Arc<OnDemand<Arc<Journal>>>,
}

/// Whether somebody can be asked: questions go to standard error, answers come from standard input.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// How text may look on a stream: with colours if it is a terminal and nobody minds.
pub(crate) fn look(stream: &(impl AsFd + io::IsTerminal)) -> Look {
    if !stream.is_terminal() || environment::no_colour() {
        return Look::Plain;
    }
    let size = rustix::termios::tcgetwinsize(stream);
    let width = size.map_or(DEFAULT_WIDTH, |size| size.ws_col.into());
    Look::Styled { width: if width == 0 { DEFAULT_WIDTH } else { width } }
}

#[async_trait]
impl Approver for Terminal {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let (withdrawn, withdraws) = question::withdrawable().map_err(unusable)?;
        let asking = Asking {
            editor: self.editor.clone(),
            colour: self.colour,
            journal: Arc::clone(&self.journal),
            request: request.clone(),
            withdrawn,
        };
        let answered = tokio::task::spawn_blocking(move || asking.run()).await;
        drop(withdraws);
        answered.map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?
    }
}

struct Asking {
    editor: Option<String>,
    colour: Colour,
    journal: Arc<OnDemand<Arc<Journal>>>,
    request: ApprovalRequest,
    withdrawn: Withdrawn,
}

impl Asking {
    fn run(&self) -> Result<ApprovalResponse, ToolError> {
        say(&diff_view::draw(&self.request, self.colour));
        loop {
            let Some(answer) = self.prompt("Do it? [y/n/e/h/a/d/u/?] ") else {
                return Ok(ApprovalResponse::no(Some("nobody answered".into())));
            };
            let (key, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
            let yes = ApprovalResponse::yes();
            match key {
                "y" | "yes" => return Ok(yes),
                "n" | "no" => {
                    let reason = rest.trim();
                    return Ok(ApprovalResponse::no(
                        (!reason.is_empty()).then(|| reason.to_owned()),
                    ));
                }
                "e" => match self.edited() {
                    Ok(files) if files.is_empty() => say("Nothing was edited."),
                    Ok(modified_files) => return Ok(ApprovalResponse { modified_files, ..yes }),
                    Err(error) => say(&error.message),
                },
                "h" => match self.picked() {
                    Some(accepted_hunks) => return Ok(ApprovalResponse { accepted_hunks, ..yes }),
                    None => say("Nothing was picked."),
                },
                "a" => return Ok(ApprovalResponse { remember: Some(Remember::Files), ..yes }),
                "d" => {
                    return Ok(ApprovalResponse { remember: Some(Remember::Directories), ..yes });
                }
                "u" => say(&self.undo_last().unwrap_or_else(|error| error.message)),
                _ => say(HELP),
            }
        }
    }

    /// The proposed texts as the person leaves them in the editor; only those that changed.
    fn edited(&self) -> Result<BTreeMap<String, FileBytes>, ToolError> {
        let Some(editor) = &self.editor else {
            let message = "no editor is set: set VISUAL or EDITOR";
            return Err(ToolError::new(ErrorCode::ExecutionError, message));
        };
        let Proposal::Changes(set) = &self.request.proposal else { return Ok(BTreeMap::new()) };
        let mut files = BTreeMap::new();
        for change in &set.changes {
            if let Change::Write { path, content, .. } = change {
                let name = path.rsplit('/').next().unwrap_or(path);
                let bytes = edit_in_program(editor, name, &content.0)?;
                if bytes != content.0 {
                    files.insert(path.clone(), FileBytes(bytes));
                }
            }
        }
        Ok(files)
    }

    /// Asks for each file with several hunks which of them are wanted.
    fn picked(&self) -> Option<BTreeMap<String, Vec<usize>>> {
        let mut picked = BTreeMap::new();
        for diff in self.request.diffs.iter().filter(|diff| diff.hunks.len() > 1) {
            let count = diff.hunks.len();
            say(&numbered_hunks(diff, self.colour));
            let answer =
                self.prompt(&format!("{}: which of 1-{count}, such as 1,3-4? ", diff.path))?;
            let chosen = ranges(&answer, count)?;
            if chosen.len() < count {
                picked.insert(diff.path.clone(), chosen);
            }
        }
        (!picked.is_empty()).then_some(picked)
    }

    /// Asks on standard error; `None` if nobody answers any more.
    fn prompt(&self, question: &str) -> Option<String> {
        question::prompt(question, &self.withdrawn)
    }

    fn undo_last(&self) -> Result<String, ToolError> {
        let journal = self.journal.get()?;
        let inverse = journal.inverse(&UndoTarget::Last)?;
        if inverse.undoes.is_empty() {
            return Ok("There is nothing to undo.".into());
        }
        let paths: Vec<&str> = inverse.set.changes.iter().flat_map(Change::paths).collect();
        let question = format!("Undo the last change to {}? [y/n] ", paths.join(", "));
        if self.prompt(&question).as_deref() != Some("y") {
            return Ok("Nothing was undone.".into());
        }
        let label = Label {
            session: String::new(),
            call: self.request.step_id.clone(),
            tool: "undo".into(),
            summary: format!("undo {}", paths.join(", ")),
        };
        journal.apply_undo(&inverse, &label)?;
        Ok("Undone. What is proposed may now be out of date; you will be told.".into())
    }
}

fn numbered_hunks(diff: &FileDiff, colour: Colour) -> String {
    let hunks = diff.hunks.iter().enumerate();
    let drawn =
        hunks.map(|(index, hunk)| format!("[{}] {}", index + 1, diff_view::hunk(hunk, colour)));
    drawn.collect::<Vec<_>>().join("\n")
}

/// Reads `1,3-4` as indexes from 0; `None` if it is something else.
fn ranges(text: &str, count: usize) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first == 0 || first > last || last > count {
            return None;
        }
        chosen.extend(first - 1..last);
    }
    chosen.sort_unstable();
    chosen.dedup();
    Some(chosen)
}

fn say(text: &str) {
    crate::output::to_people(text);
}

fn unusable(error: io::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("nobody can be asked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_people_write_them() {
        let table = [
            ("1", Some(vec![0])),
            ("1,3-4", Some(vec![0, 2, 3])),
            (" 2 - 3 , 1 ", Some(vec![0, 1, 2])),
            ("", Some(vec![])),
            ("0", None),
            ("5", None),
            ("3-2", None),
            ("all", None),
        ];
        for (text, expected) in table {
            assert_eq!(ranges(text, 4), expected, "{text}");
        }
    }
}
