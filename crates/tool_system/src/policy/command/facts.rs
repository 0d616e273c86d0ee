//! What is known about the project when a command is judged.

/// The state of the working tree. The caller looks it up; unknown is a fine answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeFacts {
    /// The absolute path that the project has for commands, so that their absolute paths into it
    /// are known as such.
    pub root: Option<String>,
    /// Whether the project is in a git repository, and the rest is known; `None` if nobody looked.
    pub is_git: Option<bool>,
    /// Tracked files with uncommitted changes, relative to the project root.
    pub dirty: Vec<String>,
    /// Files that git neither holds nor ignores; directories end in `/`.
    pub untracked: Vec<String>,
}

/// How many files a reason names before it counts the rest.
const NAMED: usize = 2;

impl TreeFacts {
    /// Reads the output of `git status --porcelain=v1 -z` that ran in the project root.
    pub fn from_porcelain(output: &str) -> Self {
        let mut facts = Self { is_git: Some(true), ..Self::default() };
        let mut entries = output.split('\0').filter(|entry| !entry.is_empty());
        while let Some(entry) = entries.next() {
            let Some((state, path)) = entry.split_at_checked(3) else { continue };
            if state.starts_with('R') || state.starts_with('C') {
                // The name before the move follows as an entry of its own.
                entries.next();
            }
            match state.trim_end() {
                "??" => facts.untracked.push(path.to_owned()),
                "!!" => {}
                _ => facts.dirty.push(path.to_owned()),
            }
        }
        facts
    }

    /// A project that is in no repository.
    pub fn no_git() -> Self {
        Self { is_git: Some(false), ..Self::default() }
    }

    /// Files with uncommitted changes at or beneath `paths`; all if there are no paths. `None` if
    /// it is not known.
    pub(super) fn dirty_in(&self, paths: &[String]) -> Option<Vec<&str>> {
        self.is_git?;
        Some(within(&self.dirty, paths))
    }

    /// Files that git does not hold, at or beneath `paths`.
    pub(super) fn untracked_in(&self, paths: &[String]) -> Option<Vec<&str>> {
        self.is_git?;
        Some(within(&self.untracked, paths))
    }
}

fn within<'a>(files: &'a [String], paths: &[String]) -> Vec<&'a str> {
    let beneath = |file: &str, path: &str| {
        let file = file.trim_end_matches('/');
        let inside = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A directory that is untracked as a whole holds what is named in it.
        path.is_empty() || inside(file, path) || inside(path, file)
    };
    let wanted = |file: &&String| paths.is_empty() || paths.iter().any(|path| beneath(file, path));
    files.iter().filter(wanted).map(String::as_str).collect()
}

/// The files in words: `a.rs, b.rs and 3 more files`.
pub(super) fn listed(files: &[&str]) -> String {
    let shown: Vec<_> = files.iter().take(NAMED).map(|file| protocol::visible(file)).collect();
    let names = shown.join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => names,
        1 => format!("{names} and one more file"),
        more => format!("{names} and {more} more files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn porcelain_output_becomes_facts() {
        let facts = TreeFacts::from_porcelain(
            " M src/a.rs\0M  b.rs\0R  new.rs\0old.rs\0?? notes/\0!! target/\0",
        );
        assert_eq!(facts.dirty, ["src/a.rs", "b.rs", "new.rs"]);
        assert_eq!(facts.untracked, ["notes/"]);
        assert_eq!(facts.dirty_in(&["src".into()]).unwrap(), ["src/a.rs"]);
        assert_eq!(facts.untracked_in(&["notes/x".into()]).unwrap(), ["notes/"]);
        assert_eq!(facts.dirty_in(&["s".into()]).unwrap(), Vec::<&str>::new());
        assert_eq!(TreeFacts::default().dirty_in(&[]), None);
        assert_eq!(TreeFacts::from_porcelain("").dirty_in(&[]).unwrap(), Vec::<&str>::new());
    }

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and one more file");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b and 3 more files");
    }
}
