//! Changing files: applying, taking back, and everything that can go wrong on the way.

mod applying;
mod crashes;
mod failures;
mod full_disk;
mod kills;
mod links;
mod net;
mod other_writers;
mod power_loss;
mod project;
mod random_sets;
mod recording;
mod rollbacks;
mod scenarios;
mod sessions;
mod swapped_directories;
mod undoing;
