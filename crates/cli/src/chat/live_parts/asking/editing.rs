//! Texts in the user's own editor.

use std::collections::BTreeMap;
use std::io;

use protocol::{ApprovalRequest, ApprovalResponse, Change, FileBytes, Proposal, ToolError};
use workspace::{edit_in_program, find_program, is_binary};

/// Looked for where no editor is named.
const USUAL_EDITORS: [&str; 2] = ["vi", "nano"];
/// The name of the file that holds a message while it is edited.
const PROMPT_FILE: &str = "message.md";

/// The command that edits a file: what `VISUAL` or `EDITOR` names, else an editor that is installed. `read`
/// gives variables of the environment.
pub(crate) fn editor(read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = |name| read(name).filter(|command| !command.trim().is_empty());
    let installed = || find_program(&USUAL_EDITORS, read("PATH")?.as_ref());
    named("VISUAL").or_else(|| named("EDITOR")).or_else(installed)
}

/// The texts that a request proposes, by path.
fn texts(request: &ApprovalRequest) -> impl Iterator<Item = (&str, &[u8])> {
    let changes = match &request.proposal {
        Proposal::Changes(set) => set.changes.as_slice(),
        Proposal::Command(_) | Proposal::Web(_) => &[],
    };
    changes.iter().filter_map(|change| match change {
        Change::Write { path, content, .. } if !is_binary(&content.0) => {
            Some((path.as_str(), content.0.as_slice()))
        }
        _ => None,
    })
}

/// Whether there is a text to edit.
pub(super) fn can_edit(request: &ApprovalRequest) -> bool {
    texts(request).next().is_some()
}

/// Lets the user edit each proposed text, one after the other; none if all stay as they are. It blocks, and
/// the editor needs the terminal as it was before the chat.
pub(crate) fn edit(
    request: &ApprovalRequest,
    editor: &str,
) -> Result<Option<ApprovalResponse>, ToolError> {
    let mut files = BTreeMap::new();
    for (path, text) in texts(request) {
        let edited = edit_in_program(editor, path, text)?;
        if edited != text {
            files.insert(path.to_owned(), FileBytes(edited));
        }
    }
    Ok((!files.is_empty()).then(|| request.with_files(files)))
}

/// Lets the user edit a message. The line end that editors add is not a part of it.
pub(crate) fn edit_prompt(editor: &str, text: &str) -> io::Result<String> {
    let edited = edit_in_program(editor, PROMPT_FILE, text.as_bytes()).map_err(io::Error::other)?;
    let mut edited = String::from_utf8(edited).map_err(io::Error::other)?;
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}
