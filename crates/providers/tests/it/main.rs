//! The transport and all that goes wrong on it, against a scripted model server over real HTTP.

mod answers;
mod connections;
mod encryption;
mod faults;
mod ollama;
mod retries;
mod talk;
