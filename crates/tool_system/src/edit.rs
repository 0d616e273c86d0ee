//! Editing text: what a replacement, a line edit, a search/replace block or a patch makes of a
//! file.
//!
//! Everything here is a pure function from the body of a [`Text`](workspace::Text) to another body,
//! worked out on bytes, so that whatever lies outside the edited spans stays identical. Text from a
//! model has `\n` at the end of its lines; it is given the endings of the lines around it. An edit
//! that does not clearly fit is refused, never guessed.

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

pub(crate) use blocks::{EditBlock, apply_blocks};
pub(crate) use line_edit::{LineEdit, edit_lines};
pub(crate) use miss::Miss;
pub(crate) use patch::{FilePatch, PatchAction, apply_hunks, parse_patch, verify_deletion};
pub(crate) use placeholder::refuse_placeholder;
pub(crate) use replace::{Replacement, replace};
pub(crate) use splice::Changed;
