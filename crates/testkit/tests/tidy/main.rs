//! The rules of the house as tests. Each failure says how to repair it.

// Tidy reads the repository itself and asks cargo and rustfmt about it.
#![allow(clippy::disallowed_methods)]

mod architecture;
mod contrib;
mod crates;
mod doc_comments;
mod documents;
mod file_access;
mod files;
mod left_overs;
mod licences;
mod numbers;
mod page;
mod repository;
mod rust_text;
mod sleeping;
mod spdx;
mod tool_names;
mod words;
