//! Changing files: applying, taking back, and everything that can go wrong on the way.

mod applying;
mod crashes;
mod failures;
mod full_disk;
mod kills;
mod other_writers;
mod project;
mod random_sets;
mod scenarios;
mod swapped_directories;
mod undoing;
