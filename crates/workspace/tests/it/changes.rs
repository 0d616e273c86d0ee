//! Changing files: applying, taking back, and everything that can go wrong on the way.

mod applying;
mod crashes;
mod failures;
mod kills;
mod other_writers;
mod project;
mod scenarios;
mod undoing;
