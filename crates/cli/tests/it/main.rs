//! The binary as users and programs run it: real processes, their output and exit codes.
#![allow(clippy::disallowed_methods, reason = "tests start the binary and make projects for it")]

mod acp;
mod agent;
mod call;
mod chat_commands;
mod config;
mod configuration;
mod custom_tools;
mod doctor;
mod execution;
mod history;
mod hostile_names;
mod index;
mod live;
mod manners;
mod mcp;
mod mcp_servers;
mod ordinary_user;
mod policy;
mod pty;
mod replicas;
mod run;
mod screen;
mod sessions;
mod setup;
mod short_form;
mod telemetry;
mod terminal;
mod tools;
mod web;
mod web_tools;
