//! The server as a client meets it: raw lines in, raw lines out, in both lifecycles.

mod calls;
mod client;
mod discovery;
mod hostile_input;
mod interruption;
mod scripted_tools;
