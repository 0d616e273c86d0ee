//! Editing text: what a replacement, a line edit, a search/replace block or a patch makes of a
//! file.
//!
//! Everything here is a pure function from the body of a [`Text`] to another body, worked out on
//! bytes, so that whatever lies outside the edited spans stays identical. Text from a model has
//! `\n` at the end of its lines; it is given the endings of the lines around it. An edit that does
//! not clearly fit is refused, never guessed.

mod blocks;
mod difference;
mod endings;
mod grade;
mod indentation;
mod line_edit;
mod line_map;
mod literal;
mod locate;
mod miss;
mod nearest;
mod patch;
mod placeholder;
mod placing;
mod replace;
mod script;
mod splice;
mod template;

use protocol::{ErrorCode, ToolError};
use workspace::Text;

pub(crate) use blocks::{EditBlock, apply_blocks};
pub(crate) use line_edit::{LineEdit, edit_lines};
pub(crate) use miss::Miss;
pub(crate) use patch::{FilePatch, PatchAction, apply_hunks, parse_patch, verify_deletion};
pub(crate) use placeholder::refuse_placeholder;
pub(crate) use replace::{Replacement, replace};
pub(crate) use splice::Changed;

/// The bytes of the file `text` with another body, in the file's own encoding.
pub(crate) fn encode_body(text: &Text, body: &[u8]) -> Result<Vec<u8>, ToolError> {
    text.encode_body(body).map_err(|error| {
        ToolError::new(ErrorCode::InvalidArguments, error.to_string())
            .suggest("Use only characters that this encoding has, or convert the file first.")
    })
}
