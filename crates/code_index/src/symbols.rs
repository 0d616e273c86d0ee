//! Symbols: what a file defines, and where names occur in it.
