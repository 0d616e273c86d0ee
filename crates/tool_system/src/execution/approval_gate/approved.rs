//! The permission to perform a proposal, as a type that only the approval gate can make.

use std::ops::Deref;

use protocol::{ApprovalResponse, ErrorCode, ToolError};

use super::ShownQuestion;
use crate::Proposed;

/// A proposal that may be performed: the policy lets it pass, or the user has agreed to exactly
/// this. There is no other way to a [`Performer`](crate::Performer).
pub struct Approved<'a>(&'a Proposed);

impl<'a> Approved<'a> {
    /// The policy lets it pass.
    pub(super) fn by_policy(proposed: &'a Proposed) -> Self {
        Self(proposed)
    }

    /// The user has agreed, if what was shown is what would be performed.
    pub(super) fn by_user(
        proposed: &'a Proposed,
        response: &ApprovalResponse,
    ) -> Result<Self, ToolError> {
        if response.approves(proposed.proposal.hash()) {
            Ok(Self(proposed))
        } else {
            Err(not_shown())
        }
    }

    /// The user has agreed to `earlier`, if `shown`, which is about this proposal, makes the same difference.
    pub(super) fn as_agreed(
        proposed: &'a Proposed,
        earlier: &ShownQuestion,
        shown: &ShownQuestion,
    ) -> Option<Self> {
        earlier.covers(shown).then_some(Self(proposed))
    }
}

/// The answer is to something else than what was shown.
pub(super) fn not_shown() -> ToolError {
    let message = "the answer belongs to another proposal; nothing was done";
    ToolError::new(ErrorCode::Conflict, message)
        .suggest("Repeat the call, so that the user is asked about it as it is now.")
}

impl Deref for Approved<'_> {
    type Target = Proposed;

    fn deref(&self) -> &Proposed {
        self.0
    }
}
