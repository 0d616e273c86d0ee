//! Imports: which file uses which.
