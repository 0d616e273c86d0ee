//! Where sessions are kept: the append-only log and what is learned from it.
