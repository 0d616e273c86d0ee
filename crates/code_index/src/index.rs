//! The trigram index: which files can contain a match.
