//! Links that make a user, once. The first admin comes in by one.

use serde::Serialize;

use crate::{SecretHash, TeamRole, UserId};

/// How long an invitation is good for, in seconds: a week, in which mail is read.
pub const INVITATION_SECONDS: u32 = 7 * 24 * 60 * 60;

/// An invitation to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInvitation {
    /// For whom it is meant, to be shown in the list.
    pub note: String,
    /// The role that the user gets.
    pub role: TeamRole,
    /// Projects that are shared with the user.
    pub projects: Vec<String>,
    /// How long it is good for.
    pub seconds: u32,
    /// What is kept of its secret.
    pub hash: SecretHash,
}

/// An invitation, without the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvitationInfo {
    /// Its name for programs.
    pub id: String,
    /// For whom it is meant.
    pub note: String,
    /// The role that the user gets.
    pub role: TeamRole,
    /// Projects that are shared with the user.
    pub projects: Vec<String>,
    /// The user that made it; absent for the first admin's.
    pub made_by: Option<UserId>,
    /// When it ends: milliseconds since 1970, UTC.
    pub expires: i64,
}
