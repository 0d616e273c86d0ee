//! The only place that reads environment variables.

use std::env;
use std::path::PathBuf;

/// The user's configuration directory, if it can be told.
pub(crate) fn config_dir() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(base.join("toolkiln"))
}

/// The directory for what Toolkiln has to remember, if it can be told.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let own = || Some(absolute("HOME")?.join(".local/state"));
    Some(absolute("XDG_STATE_HOME").or_else(own)?.join("toolkiln"))
}

/// The directory for what can be made again, if it can be told.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("toolkiln"))
}

/// The user's editor.
pub(crate) fn editor() -> Option<String> {
    let named = |name| env::var(name).ok().filter(|command| !command.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Whether the user asked for no colours.
pub(crate) fn no_colour() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A variable that holds an absolute path; others are ignored, as the base directory
/// specification demands.
fn absolute(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(name)?);
    path.is_absolute().then_some(path)
}
