//! Logging in to servers over HTTP, as the authorization part of the MCP specification says.
//!
//! A server that refuses a request names where its authorization server is described
//! (`discovery`). There we become a client (`registration`), the user agrees in a browser, which
//! comes back to this machine with a code (`login`, `callback`), and the code is exchanged for
//! tokens (`token`). These are kept in a [`Vault`] and renewed when they expire (`client`).
//!
//! What a server says is only ever a proposal of where to go: every address is judged by `web`,
//! every document must name what it was asked for, and a token is only shown to the server that it
//! was granted for.

mod callback;
mod challenge;
mod client;
mod discovery;
mod login;
mod record;
mod registration;
mod secret;
mod token;
mod web;

pub use callback::Callback;
pub use client::{LoginParts, OAuthClient};
pub use login::{Begun, LoginAttempt};
pub use record::{LockedVault, Vault};
pub use secret::LoginSecret;
