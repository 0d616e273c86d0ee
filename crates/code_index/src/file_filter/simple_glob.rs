//! Globs that need no glob engine.
//!
//! Most patterns are `*.rs`, `**/*.test.ts`, `src/**/*.py`, `Makefile` or the like. On the way
//! through all paths of a large project, comparing bytes is several times faster than an engine
//! that is made for any pattern.

use memchr::memrchr;

/// Characters that this module leaves to the engine.
const OTHERS: &[char] = &['?', '[', ']', '{', '}', '\\'];

/// A directory without wildcards, perhaps everything beneath it, and a name with at most one `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimpleGlob {
    directory: Box<[u8]>,
    any_depth: bool,
    name: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Exactly(Box<[u8]>),
    Between { prefix: Box<[u8]>, suffix: Box<[u8]> },
}

impl SimpleGlob {
    /// The globs that together mean `pattern`, which is written from the root, if they are simple.
    pub(super) fn parse(pattern: &str) -> Option<Vec<SimpleGlob>> {
        match pattern.split_once('{') {
            None => Some(vec![SimpleGlob::parse_one(pattern)?]),
            Some((before, rest)) => {
                let (options, after) = rest.split_once('}')?;
                let parse = |option: &str| {
                    // The engine reads an empty option as none at all.
                    let is_plain = !option.is_empty() && !option.contains(['*', '/']);
                    is_plain.then(|| SimpleGlob::parse_one(&format!("{before}{option}{after}")))?
                };
                options.split(',').map(parse).collect()
            }
        }
    }

    fn parse_one(pattern: &str) -> Option<SimpleGlob> {
        if pattern.contains(OTHERS) || pattern.starts_with('/') || pattern.contains("//") {
            return None;
        }
        let (directory, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let (mut any_depth, directory) = match directory.strip_suffix("**") {
            Some("") => (true, ""),
            Some(above) => (true, above.strip_suffix('/')?),
            None => (false, directory),
        };
        if directory.contains('*') || name.is_empty() {
            return None;
        }
        let name = match name.split_once('*') {
            None => Name::Exactly(name.as_bytes().into()),
            Some(("", "*")) => {
                any_depth = true;
                Name::Between { prefix: Box::default(), suffix: Box::default() }
            }
            Some((prefix, suffix)) if !suffix.contains('*') => {
                Name::Between { prefix: prefix.as_bytes().into(), suffix: suffix.as_bytes().into() }
            }
            Some(_) => return None,
        };
        Some(SimpleGlob { directory: directory.as_bytes().into(), any_depth, name })
    }

    /// Whether the pattern means this path.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        // What a name ends with, a path ends with. This decides most cases at once.
        if let Name::Between { prefix, suffix } = &self.name {
            if !path.ends_with(suffix) {
                return false;
            }
            if prefix.is_empty() && self.any_depth && self.directory.is_empty() {
                return !path.is_empty();
            }
        }
        let (directory, name) = match memrchr(b'/', path) {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&[][..], path),
        };
        let is_named = match &self.name {
            Name::Exactly(wanted) => *name == **wanted,
            Name::Between { prefix, suffix } => {
                name.len() >= prefix.len() + suffix.len()
                    && name.ends_with(suffix)
                    && name.starts_with(prefix)
            }
        };
        is_named && self.covers(directory)
    }

    fn covers(&self, directory: &[u8]) -> bool {
        if !self.any_depth {
            return *directory == *self.directory;
        }
        match directory.strip_prefix(&*self.directory) {
            Some(rest) => self.directory.is_empty() || rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_people_usually_write_is_simple() {
        for pattern in
            ["**/*.rs", "**/Makefile", "src/**/*.py", "src/*.ts", "**/*.{js,ts}", "**", "src/**"]
        {
            assert!(SimpleGlob::parse(pattern).is_some(), "{pattern}");
        }
        for pattern in ["**/src/*.rs", "a/*/b", "[ab].rs", "a?.rs", "{a,{b,c}}", "**a", "x/"] {
            assert!(SimpleGlob::parse(pattern).is_none(), "{pattern}");
        }
    }

    fn pattern() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("**/"),
            Just("**"),
            Just("*"),
            Just("a"),
            Just("ab"),
            Just(".a"),
            Just("/"),
            Just("{a,b}"),
            Just("{a,.b}"),
        ];
        proptest::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// A glob that is taken for simple means what the engine says it means.
        #[test]
        fn simple_globs_agree_with_the_engine(
            pattern in pattern(),
            paths in proptest::collection::vec("(a|ab|b|\\.a)(/(a|ab|b|a\\.a|\\.b)){0,3}", 8),
        ) {
            let engine = GlobBuilder::new(&pattern).literal_separator(true).build();
            if let (Ok(engine), Some(simple)) = (engine, SimpleGlob::parse(&pattern)) {
                let engine = engine.compile_matcher();
                for path in paths {
                    let ours = simple.iter().any(|glob| glob.matches(path.as_bytes()));
                    prop_assert_eq!(ours, engine.is_match(&path), "{} on {}", pattern, path);
                }
            }
        }
    }
}
