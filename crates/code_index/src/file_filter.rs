//! Which files a search looks at: globs to include and exclude, and extensions.

mod file_types;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use memchr::memrchr;
use workspace::RelPath;

use crate::PatternError;

/// Characters that make a text a glob.
const GLOB_CHARACTERS: &[char] = &['*', '?', '[', '{', '\\'];

/// Decides by path whether a file counts.
///
/// A pattern without a slash matches names at any depth; one with a slash matches the path, as seen
/// from the project root or from where the search starts. `!pattern` excludes. An exclusion that is
/// a plain name leaves out everything beneath a directory of that name.
#[derive(Debug, Clone, Default)]
pub struct FileFilter {
    include: Option<GlobPatterns>,
    exclude: GlobPatterns,
    excluded_names: Vec<String>,
    extensions: Vec<Vec<u8>>,
}

impl FileFilter {
    /// A filter from patterns to include (none means all), patterns or names to exclude, and
    /// extensions or languages such as `rs`, `.rs`, `*.rs`, `ts,tsx` or `python` (none means all).
    pub fn new(
        include: &[String],
        exclude: &[String],
        extensions: &[String],
    ) -> Result<Self, PatternError> {
        let mut wanted = GlobPatternsBuilder::default();
        let mut unwanted = GlobPatternsBuilder::default();
        let mut any_wanted = false;
        for pattern in include {
            match pattern.strip_prefix('!') {
                Some(negative) => unwanted.add(negative)?,
                None => {
                    wanted.add(pattern)?;
                    any_wanted = true;
                }
            }
        }
        let mut excluded_names = Vec::new();
        for pattern in exclude {
            let pattern = pattern.trim_start_matches('!').trim_end_matches('/');
            if pattern.contains('/') || pattern.contains(GLOB_CHARACTERS) {
                unwanted.add(pattern)?;
                unwanted.add(&format!("{pattern}/**"))?;
            } else {
                excluded_names.push(pattern.to_owned());
            }
        }
        Ok(Self {
            include: if any_wanted { Some(wanted.build()?) } else { None },
            exclude: unwanted.build()?,
            excluded_names,
            extensions: file_types::extensions(extensions),
        })
    }

    /// Names of directories that the walk need not enter.
    pub(crate) fn excluded_names(&self) -> &[String] {
        &self.excluded_names
    }

    /// Whether the file at `path` counts in a search that starts at `start`.
    pub fn accepts(&self, path: &RelPath, start: &RelPath) -> bool {
        self.accepts_bytes(path.as_bytes(), start.as_bytes())
    }

    /// [`FileFilter::accepts`] for paths as bytes, components joined by `/`. It allocates nothing.
    pub fn accepts_bytes(&self, path: &[u8], start: &[u8]) -> bool {
        if !self.extensions.is_empty() {
            let name = memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..]);
            if !self.extensions.iter().any(|wanted| file_types::has_extension(name, wanted)) {
                return false;
            }
        }
        let from_start = match start {
            [] => path,
            start => match path.strip_prefix(start) {
                Some([b'/', rest @ ..]) => rest,
                _ => path,
            },
        };
        self.include.as_ref().is_none_or(|include| include.matches(path, from_start))
            && !self.has_excluded_name(from_start)
            && !self.exclude.matches(path, from_start)
    }

    /// Whether a directory beneath the start, or the file itself, has a name that is left out.
    fn has_excluded_name(&self, from_start: &[u8]) -> bool {
        let is_excluded =
            |name: &[u8]| self.excluded_names.iter().any(|excluded| excluded.as_bytes() == name);
        !self.excluded_names.is_empty() && from_start.split(|byte| *byte == b'/').any(is_excluded)
    }
}

/// Patterns of which one is enough.
#[derive(Debug, Clone, Default)]
struct GlobPatterns {
    /// Of patterns like `**/*.rs`, what paths end with. The measurement "glob **/*.c, faster than
    /// git" of `cargo xtask bench search` needs them apart: on 80,000 made-up paths, comparing bytes
    /// took 0.4 ms and the engine 2.4 ms at best, where a third of git's time is about 7 ms.
    endings: Vec<Box<[u8]>>,
    others: GlobSet,
}

impl GlobPatterns {
    /// Whether a pattern means the path, as seen from the root or from the start.
    fn matches(&self, path: &[u8], from_start: &[u8]) -> bool {
        let is_same = path.len() == from_start.len();
        // What the path from the start ends with, the whole path ends with.
        if !from_start.is_empty() && self.endings.iter().any(|end| ends_with(path, end)) {
            return true;
        }
        let other = |path: &[u8]| {
            let candidate = Candidate::new(OsStr::from_bytes(path));
            self.others.is_match_candidate(&candidate)
        };
        !self.others.is_empty() && (other(path) || !is_same && other(from_start))
    }
}

#[derive(Default)]
struct GlobPatternsBuilder {
    endings: Vec<Box<[u8]>>,
    others: Vec<Glob>,
}

impl GlobPatternsBuilder {
    fn add(&mut self, pattern: &str) -> Result<(), PatternError> {
        let anchored = pattern.trim_start_matches("./");
        let anchored = anchored.strip_prefix('/').unwrap_or(anchored);
        let glob =
            if pattern.contains('/') { anchored.to_owned() } else { format!("**/{pattern}") };
        let built = GlobBuilder::new(&glob).literal_separator(true).build();
        let built = built.map_err(|error| glob_error(pattern, &error))?;
        match ending(&glob) {
            Some(ending) => self.endings.push(ending.as_bytes().into()),
            None => self.others.push(built),
        }
        Ok(())
    }

    fn build(self) -> Result<GlobPatterns, PatternError> {
        let mut others = GlobSetBuilder::new();
        for glob in self.others {
            others.add(glob);
        }
        let others = others.build().map_err(|error| glob_error("", &error))?;
        Ok(GlobPatterns { endings: self.endings, others })
    }
}

/// [`slice::ends_with`] for a few bytes. That calls `memcmp`, whose wide loads took nine tenths of the time of the same
/// measurement on some processors.
fn ends_with(path: &[u8], ending: &[u8]) -> bool {
    path.len() >= ending.len()
        && path.iter().rev().zip(ending.iter().rev()).all(|(one, other)| one == other)
}

/// What every path ends with that a pattern like `**/*.rs` means, and only those.
fn ending(glob: &str) -> Option<&str> {
    let ending = glob.strip_prefix("**/*")?;
    (!ending.contains('/') && !ending.contains(GLOB_CHARACTERS)).then_some(ending)
}

fn glob_error(pattern: &str, error: &globset::Error) -> PatternError {
    PatternError::Glob { pattern: pattern.to_owned(), reason: error.kind().to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Patterns to include, to exclude, extensions, a path, and whether it counts.
    type Case = (
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
        bool,
    );

    fn texts(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
    }

    fn accepts(include: &[&str], exclude: &[&str], extensions: &[&str], path: &str) -> bool {
        let filter = FileFilter::new(&texts(include), &texts(exclude), &texts(extensions)).unwrap();
        filter.accepts(&RelPath::parse(path).unwrap(), &RelPath::root())
    }

    #[test]
    fn patterns_extensions_and_exclusions_decide_together() {
        let table: &[Case] = &[
            (&[], &[], &[], "a/b.rs", true),
            (&["**/*.tsx"], &[], &[], "a/b.tsx", true),
            (&["**/*.tsx"], &[], &[], "b.tsx", true),
            (&["*.tsx"], &[], &[], "deep/er/b.tsx", true),
            (&["src/*.ts"], &[], &[], "src/a.ts", true),
            (&["src/*.ts"], &[], &[], "src/b/a.ts", false),
            (&["src/**/*.test.ts"], &[], &[], "src/b/c/a.test.ts", true),
            (&["./src/*.ts"], &[], &[], "src/a.ts", true),
            (&["/src/*.ts"], &[], &[], "src/a.ts", true),
            (&["*.{js,ts}"], &[], &[], "a.ts", true),
            (&["!*.test.ts"], &[], &[], "a.test.ts", false),
            (&["!*.test.ts"], &[], &[], "a.ts", true),
            (&["*.ts"], &["src/gen"], &[], "src/gen/a.ts", false),
            (&["*.ts"], &["gen*/"], &[], "generated/a.ts", false),
            (&[], &["*.min.js"], &[], "x/a.min.js", false),
            (&[], &[], &["rs"], "a.rs", true),
            (&[], &[], &[".rs"], "a.rs", true),
            (&[], &[], &["*.rs"], "a.ts", false),
            (&[], &[], &["rs"], "Makefile", false),
            (&[], &[], &["typescript"], "a.tsx", true),
            (&[], &["gen"], &[], "src/gen/a.ts", false),
            (&[], &["gen"], &[], "src/gen", false),
            (&[], &["gen"], &[], "src/general/a.ts", true),
            (&["a/*/c.ts"], &[], &[], "a/b/c.ts", true),
            (&["*.ts", "*.js"], &[], &[], "a/b.js", true),
            (&["*.ts", "!a/**"], &[], &[], "a/b.ts", false),
        ];
        for (include, exclude, extensions, path, expected) in table {
            let actual = accepts(include, exclude, extensions, path);
            assert_eq!(actual, *expected, "{include:?} {exclude:?} {extensions:?} {path}");
        }
    }

    proptest! {
        /// A pattern that is compared by the ending of paths means what the engine says it means.
        #[test]
        fn endings_agree_with_the_engine(
            pattern in "(\\*\\*/\\*|\\*\\*/|\\*)(a|\\.a|\\.|\\*|/|\\?|b\\.a){0,3}",
            path in "(a|ab|b|\\.a)(/(a|ab|b|a\\.a|\\.b)){0,3}",
        ) {
            if let (Some(ending), Ok(glob)) =
                (ending(&pattern), GlobBuilder::new(&pattern).literal_separator(true).build())
            {
                let engine = glob.compile_matcher();
                let ends = ends_with(path.as_bytes(), ending.as_bytes());
                prop_assert_eq!(ends, engine.is_match(&path), "{} on {}", pattern, path);
            }
        }
    }

    #[test]
    fn a_pattern_may_be_written_from_where_the_search_starts() {
        let filter = FileFilter::new(&texts(&["sub/*.ts"]), &[], &[]).unwrap();
        let path = RelPath::parse("src/sub/a.ts").unwrap();
        assert!(filter.accepts(&path, &RelPath::parse("src").unwrap()));
        assert!(!filter.accepts(&path, &RelPath::root()));
    }

    #[test]
    fn an_excluded_directory_may_still_be_searched_by_starting_in_it() {
        let filter = FileFilter::new(&[], &texts(&["node_modules"]), &[]).unwrap();
        let path = RelPath::parse("node_modules/lib/index.js").unwrap();
        assert!(!filter.accepts(&path, &RelPath::root()));
        assert!(filter.accepts(&path, &RelPath::parse("node_modules/lib").unwrap()));
    }

    #[test]
    fn a_broken_glob_is_named() {
        let error = FileFilter::new(&texts(&["src/[a"]), &[], &[]).unwrap_err();
        assert!(error.to_string().starts_with("`src/[a` is not a valid glob"), "{error}");
    }
}
