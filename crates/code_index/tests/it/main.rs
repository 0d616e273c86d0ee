//! Searches with an index against searches without, on real trees.
#![allow(
    clippy::disallowed_methods,
    reason = "tests build the trees they look at with plain file calls"
)]

mod living;
mod project;
mod random_changes;
mod ranked;
mod ranked_order;
mod symbols;
