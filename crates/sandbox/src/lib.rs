//! Runs one command, confined.
