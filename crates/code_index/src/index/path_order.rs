//! The order of paths in an index.

use std::cmp::Ordering;

/// Compares as `RelPath` does: by component, so that a directory's contents directly follow it.
pub(crate) fn path_order(left: &[u8], right: &[u8]) -> Ordering {
    let shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    // NUL never occurs in a path, so `/` can take its place as the smallest byte.
    let rank = |path: &[u8]| path.get(shared).map(|&byte| if byte == b'/' { 0 } else { byte });
    rank(left).cmp(&rank(right))
}

/// Whether `path` is `dir` or lies beneath it.
pub(super) fn is_beneath(path: &[u8], dir: &[u8]) -> bool {
    match path.strip_prefix(dir) {
        Some(rest) => dir.is_empty() || rest.is_empty() || rest[0] == b'/',
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use workspace::RelPath;

    use super::*;

    #[test]
    fn paths_are_ordered_as_everywhere_else() {
        let paths =
            ["a", "a/b", "a/b/c", "a b", "a-b", "a.c", "a0", "ab", "ab/c", "b", "\u{1}", "ä"];
        for left in paths {
            for right in paths {
                let (a, b) = (RelPath::parse(left).unwrap(), RelPath::parse(right).unwrap());
                assert_eq!(path_order(a.as_bytes(), b.as_bytes()), a.cmp(&b), "{left} {right}");
                assert_eq!(is_beneath(a.as_bytes(), b.as_bytes()), a.starts_with(&b));
            }
        }
        assert!(is_beneath(b"a", b""));
    }
}
