//! The server as a client meets it: raw lines in, raw lines out, in both lifecycles.

mod approval;
mod approval_form;
mod approval_repeated;
mod back_pressure;
mod calls;
mod client;
mod discovery;
mod eras;
mod heartbeat;
mod hostile_answers;
mod hostile_input;
mod interruption;
mod prompts;
mod question_page;
mod questions;
mod roots;
mod scripted_tools;
mod subscriptions;
mod tracing;
