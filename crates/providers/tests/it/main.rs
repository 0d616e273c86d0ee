//! The transport and all that goes wrong on it, against a scripted model server over real HTTP.

mod answers;
mod connections;
mod encodings;
mod encryption;
mod faults;
mod full_contexts;
mod ollama;
mod retries;
mod stage;
mod talk;
mod wires;
