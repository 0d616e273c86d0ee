//! What tools that change files have in common: proposing changes, and undoing them.

pub(crate) mod change_plan;
pub(crate) mod history;
pub(crate) mod proposing;
pub(crate) mod session_diff;
pub(crate) mod transfer;
pub(crate) mod undoing;
