//! Names for files that exist only while something is being written.

use rustix::io::{Errno, Result};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::RelPath;

/// How every temporary name begins, so that a user who finds one knows which program made it.
const PREFIX: &str = ".toolkiln-";
const SUFFIX: &str = ".tmp";

/// Added to a temporary name for the file that brings old content back.
const SPARE_SUFFIX: &str = ".back";
const RANDOM_BYTES: usize = 8;

/// The common part of the temporary names of one piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TempStem(String);

impl TempStem {
    /// A stem that cannot be guessed and is not in use.
    pub(crate) fn random() -> Result<TempStem> {
        let mut bytes = [0; RANDOM_BYTES];
        if getrandom(&mut bytes, GetRandomFlags::empty())? != RANDOM_BYTES {
            return Err(Errno::IO);
        }
        Ok(TempStem(format!("{PREFIX}{:016x}-", u64::from_ne_bytes(bytes))))
    }

    /// The name with this number.
    pub(crate) fn name(&self, number: usize) -> String {
        format!("{}{number}{SUFFIX}", self.0)
    }
}

/// A second temporary path beside a temporary path, so that the content of either is never in
/// doubt.
pub(crate) fn spare_path(temp: &RelPath) -> RelPath {
    let name = temp.file_name().unwrap_or_default();
    let dir = temp.parent().unwrap_or_else(RelPath::root);
    dir.join_entry(&[name, SPARE_SUFFIX.as_bytes()].concat())
}

/// Whether a name has the form of a temporary name.
pub(crate) fn is_temp_name(name: &[u8]) -> bool {
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let name = name.strip_suffix(SPARE_SUFFIX.as_bytes()).unwrap_or(name);
    let Some(rest) = name.strip_prefix(PREFIX.as_bytes()) else { return false };
    let Some(rest) = rest.strip_suffix(SUFFIX.as_bytes()) else { return false };
    match rest.split_at_checked(2 * RANDOM_BYTES) {
        Some((stem, [b'-', number @ ..])) => {
            stem.iter().all(u8::is_ascii_hexdigit) && digits(number)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_recognised_and_nothing_else_is() {
        let stem = TempStem::random().unwrap();
        assert_ne!(stem, TempStem::random().unwrap());
        assert!(is_temp_name(stem.name(0).as_bytes()));
        assert!(is_temp_name(stem.name(1234).as_bytes()));
        let path = RelPath::parse("dir").unwrap().join_entry(stem.name(1).as_bytes());
        assert_eq!(spare_path(&path).parent(), path.parent());
        assert!(spare_path(&path).file_name().is_some_and(is_temp_name));
        for other in
            [".toolkiln", ".toolkiln-", ".toolkiln-notes.tmp", ".toolkiln-0-0.tmp", "a.tmp"]
        {
            assert!(!is_temp_name(other.as_bytes()), "{other}");
        }
    }
}
