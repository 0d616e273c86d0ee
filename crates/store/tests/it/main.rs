//! The store as a whole, on real files.
#![allow(
    clippy::disallowed_methods,
    reason = "tests make and break files, and start a process to kill it"
)]

mod basics;
mod damage;
mod events;
mod kill;
mod learning;
mod leases;
mod long_events;
mod people;
mod round_trip;
mod searching;
