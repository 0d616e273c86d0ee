//! Which files a search looks at: globs to include and exclude, and extensions.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
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
    include: Option<GlobSet>,
    exclude: GlobSet,
    excluded_names: Vec<String>,
    extensions: Vec<Vec<u8>>,
}

impl FileFilter {
    /// A filter from patterns to include (none means all), patterns or names to exclude, and
    /// extensions such as `rs`, `.rs` or `*.rs` (none means all).
    pub fn new(
        include: &[String],
        exclude: &[String],
        extensions: &[String],
    ) -> Result<Self, PatternError> {
        let mut wanted = GlobSetBuilder::new();
        let mut unwanted = GlobSetBuilder::new();
        let mut any_wanted = false;
        for pattern in include {
            match pattern.strip_prefix('!') {
                Some(negative) => add(&mut unwanted, negative)?,
                None => {
                    add(&mut wanted, pattern)?;
                    any_wanted = true;
                }
            }
        }
        let mut excluded_names = Vec::new();
        for pattern in exclude {
            let pattern = pattern.trim_start_matches('!').trim_end_matches('/');
            if pattern.contains('/') || pattern.contains(GLOB_CHARACTERS) {
                add(&mut unwanted, pattern)?;
                add(&mut unwanted, &format!("{pattern}/**"))?;
            } else {
                add(&mut unwanted, pattern)?;
                excluded_names.push(pattern.to_owned());
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|error| glob_error("", &error));
        Ok(Self {
            include: if any_wanted { Some(build(wanted)?) } else { None },
            exclude: build(unwanted)?,
            excluded_names,
            extensions: extensions.iter().map(|text| extension(text)).collect(),
        })
    }

    /// Names of directories that the walk need not enter.
    pub(crate) fn excluded_names(&self) -> &[String] {
        &self.excluded_names
    }

    /// Whether the file at `path` counts in a search that starts at `start`.
    pub fn accepts(&self, path: &RelPath, start: &RelPath) -> bool {
        let extension = path.extension().unwrap_or_default();
        if !self.extensions.is_empty() && !self.extensions.iter().any(|wanted| wanted == extension)
        {
            return false;
        }
        if self.include.is_none() && self.exclude.is_empty() {
            return true;
        }
        let whole = path.as_path();
        let from_start = whole.strip_prefix(start.as_path()).unwrap_or(whole);
        let candidates = [Candidate::new(whole), Candidate::new(from_start)];
        let matches = |set: &GlobSet| candidates.iter().any(|path| set.is_match_candidate(path));
        self.include.as_ref().is_none_or(matches) && !matches(&self.exclude)
    }
}

fn add(set: &mut GlobSetBuilder, pattern: &str) -> Result<(), PatternError> {
    let anchored = pattern.trim_start_matches("./");
    let anchored = anchored.strip_prefix('/').unwrap_or(anchored);
    let glob = if pattern.contains('/') { anchored.to_owned() } else { format!("**/{pattern}") };
    let built = GlobBuilder::new(&glob).literal_separator(true).build();
    set.add(built.map_err(|error| glob_error(pattern, &error))?);
    Ok(())
}

fn glob_error(pattern: &str, error: &globset::Error) -> PatternError {
    PatternError::Glob { pattern: pattern.to_owned(), reason: error.kind().to_string() }
}

fn extension(text: &str) -> Vec<u8> {
    text.trim_start_matches('*').trim_start_matches('.').as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
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
        ];
        for (include, exclude, extensions, path, expected) in table {
            let actual = accepts(include, exclude, extensions, path);
            assert_eq!(actual, *expected, "{include:?} {exclude:?} {extensions:?} {path}");
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
    fn a_broken_glob_is_named() {
        let error = FileFilter::new(&texts(&["src/[a"]), &[], &[]).unwrap_err();
        assert!(error.to_string().starts_with("`src/[a` is not a valid glob"), "{error}");
    }
}
