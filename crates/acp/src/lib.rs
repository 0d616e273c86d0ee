//! Toolkiln as an agent inside editors, over the Agent Client Protocol (version 1) on standard streams.
//!
//! An editor begins or loads sessions, sends what the user says, and is told what happens as updates, which
//! are drawn from the one timeline. It is asked before anything is done that needs approval; nothing is
//! approved here. The editor's unsaved texts are what tools read and edit.
//!
//! The types of all messages are the official ones; the connection that carries them is our own, with our limits.
//!
//! This crate alone knows the protocol. It never prints, reads no environment, and touches no files: what lies
//! in configuration it asks its [`EditorHost`].

mod acp_agent;
mod bounded_lines;
mod choices;
mod commands;
mod connection;
mod drawing;
mod editor_documents;
mod editor_host;
mod incoming;
mod live_editor;
mod permission;
mod prompt;
mod responder;
mod serving;
mod stage;
mod wire;

pub use editor_host::{
    EditorHost, EditorProject, GivenServer, NotOpened, OwnCommand, SessionReport,
};
pub use serving::{EditorConnectionError, serve, serve_stdio};
