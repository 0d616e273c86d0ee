//! The only place that reads environment variables.

use std::env;
use std::path::PathBuf;

/// The user's configuration directory, if it can be told.
pub(crate) fn config_dir() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(base.join("toolkiln"))
}

/// A variable that holds an absolute path; others are ignored, as the base directory
/// specification demands.
fn absolute(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(name)?);
    path.is_absolute().then_some(path)
}
