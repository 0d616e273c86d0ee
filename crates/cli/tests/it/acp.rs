//! Editors: the real binary under a client of the protocol, with a scripted model. Every message of the agent is
//! compared with the protocol's own schema.

mod cancelling;
mod choosing;
mod editor;
mod given_servers;
mod hostile;
mod prompts;
mod reloading;
mod schema;
mod tasks;
mod unsaved;
