//! Who may do what on a server that a team shares.
//!
//! [`TeamRole`] and [`Scope`] say which routes a user may ask, [`SessionAct`] what may be done with a session of
//! another user. Both are tables without I/O. What is kept is kept by a [`PeopleStore`]; secrets are shown once
//! and kept as hashes ([`SecretText`]), keys of providers are sealed ([`MasterKeys`]). Logins by OpenID Connect
//! are in [`oidc`], the only part that uses the network.
//!
//! This crate knows no HTTP server, no database and no session's content.

mod audit;
mod budget;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod invitation;
#[cfg(any(test, feature = "contract"))]
mod memory;
pub mod oidc;
mod people;
mod provider_key;
mod removed_session;
mod role;
mod sealing;
mod secret;
mod session_access;
mod token;
mod user;

pub use audit::{
    AuditEntry, AuditFilter, AuditKind, AuditPlace, CSV_HEAD, InvalidAuditPlace, PlacedEntry,
};
pub use budget::{BudgetBalance, BudgetScope, DayBudget, Spending, balances};
pub use invitation::{INVITATION_SECONDS, InvitationInfo, NewInvitation};
#[cfg(any(test, feature = "contract"))]
pub use memory::MemoryPeople;
pub use people::{
    BROWSER_SECONDS, BrowserToken, Credential, KeptAttempt, PeopleError, PeopleStore, Recognised,
    Share,
};
pub use provider_key::{KeptKey, KeyOwner, ProviderKey};
pub use removed_session::{RemovedSession, RemovedSpending};
pub use role::{Scope, TeamRole};
pub use sealing::{InvalidMasterKey, MasterKeys, NotUnsealed, Sealed};
pub use secret::{NoRandomness, SecretHash, SecretKind, SecretText};
pub use session_access::{Relation, SessionAccess, SessionAct, Visibility, may, may_approve};
pub use token::{LONGEST_TOKEN_DAYS, NewBrowser, NewToken, TokenInfo, usable_scopes};
pub use user::{Identity, NewUser, User, UserChange, UserId};
