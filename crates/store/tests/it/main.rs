//! The store as a whole, on real files and a real server.
#![allow(
    clippy::disallowed_methods,
    reason = "tests make and break files, and start a process to kill it"
)]

mod backup;
mod basics;
mod copying;
mod counting;
mod damage;
mod events;
mod exchange;
mod forks;
mod full_disk;
mod history;
mod kill;
mod learning;
mod leases;
mod long_events;
mod old_sessions;
mod people;
mod postgres_rows;
mod questions;
mod round_trip;
mod searching;
mod stage;
