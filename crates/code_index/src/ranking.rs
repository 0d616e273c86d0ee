//! Ranked search for words and identifiers.
