//! A quick way to see that no pattern of a rule file can match an entry.
//!
//! Most entries match no rule, and finding that out with globs is what a walk spends most of its
//! own time on. Nearly every pattern demands some fixed text at the end, at the beginning or in
//! the middle of an entry's name, which is cheap to look for. The filter may say "perhaps" too
//! often, never "no" wrongly. "Without an index, of ripgrep's time" of `cargo xtask bench search` walks
//! through it.

use memchr::memmem::Finder;

/// Searching for more texts than this inside each name would cost more than it saves.
const MAX_INNER: usize = 16;

/// What the patterns of one rule file demand of an entry's name.
#[derive(Debug)]
pub(crate) struct NameFilter {
    /// Some pattern demands nothing that is understood here.
    pass_all: bool,
    /// Demanded endings by their last byte, and demanded beginnings by their first.
    endings: ByByte,
    beginnings: ByByte,
    inner: Vec<Finder<'static>>,
}

type ByByte = Vec<Vec<Box<[u8]>>>;

/// What a single pattern demands.
#[derive(Debug, PartialEq, Eq)]
enum Demand<'p> {
    EndsWith(&'p str),
    StartsWith(&'p str),
    Contains(&'p str),
    /// Nothing that is understood here.
    Unknown,
}

impl NameFilter {
    pub(crate) fn new() -> NameFilter {
        let empty = || vec![Vec::new(); usize::from(u8::MAX) + 1];
        NameFilter { pass_all: false, endings: empty(), beginnings: empty(), inner: Vec::new() }
    }

    /// Takes a line of a rule file into account.
    pub(crate) fn add_line(&mut self, line: &str) {
        let pattern = line.trim_end();
        if pattern.is_empty() || line.starts_with('#') {
            return;
        }
        match demand(pattern) {
            Demand::EndsWith(text) => {
                let last = text.as_bytes()[text.len() - 1];
                self.endings[usize::from(last)].push(text.as_bytes().into());
            }
            Demand::StartsWith(text) => {
                let first = text.as_bytes()[0];
                self.beginnings[usize::from(first)].push(text.as_bytes().into());
            }
            Demand::Contains(text) => {
                self.inner.push(Finder::new(text).into_owned());
                self.pass_all |= self.inner.len() > MAX_INNER;
            }
            Demand::Unknown => self.pass_all = true,
        }
    }

    /// Whether some pattern may match an entry of this name, wherever it is.
    pub(crate) fn may_match(&self, name: &[u8]) -> bool {
        let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return true };
        self.pass_all
            || self.endings[usize::from(last)].iter().any(|text| name.ends_with(text))
            || self.beginnings[usize::from(first)].iter().any(|text| name.starts_with(text))
            || self.inner.iter().any(|text| text.find(name).is_some())
    }
}

/// Finds what a pattern demands of the last component of a path.
fn demand(pattern: &str) -> Demand<'_> {
    // At the very beginning `!` negates, and a backslash takes that or `#` literally.
    let pattern = match pattern.as_bytes() {
        [b'!', ..] | [b'\\', b'!' | b'#', ..] => &pattern[1..],
        _ => pattern,
    };
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    // Escapes and alternatives may hide a separator or a wildcard.
    if pattern.contains(['\\', '{', '}']) {
        return Demand::Unknown;
    }
    // A character class ends what is understood; a separator after its beginning may be part of it.
    let (known, has_class) = match pattern.split_once('[') {
        Some((_, after)) if after.contains('/') => return Demand::Unknown,
        Some((before, _)) => (before, true),
        None => (pattern, false),
    };
    let name = known.rsplit('/').next().unwrap_or(known);
    if name.contains("**") {
        return Demand::Unknown;
    }
    let mut texts = name.split(['*', '?']);
    let first = texts.next().unwrap_or_default();
    let last = texts.next_back().unwrap_or(first);
    match texts.chain([last]).max_by_key(|text| text.len()) {
        _ if !has_class && !last.is_empty() => Demand::EndsWith(last),
        _ if !first.is_empty() => Demand::StartsWith(first),
        Some(inner) if !inner.is_empty() => Demand::Contains(inner),
        _ => Demand::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use ignore::gitignore::GitignoreBuilder;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_demand_fixed_text() {
        let table = [
            ("*.o", Demand::EndsWith(".o")),
            ("target", Demand::EndsWith("target")),
            ("/target/", Demand::EndsWith("target")),
            ("!docs/*.tar.gz", Demand::EndsWith(".tar.gz")),
            (".*", Demand::StartsWith(".")),
            ("a/**/build*", Demand::StartsWith("build")),
            ("core.[0-9]", Demand::StartsWith("core.")),
            ("*.c.[012]*.*", Demand::Contains(".c.")),
            ("*.asn1.[ch]", Demand::Contains(".asn1.")),
            ("*~*", Demand::Contains("~")),
            ("*", Demand::Unknown),
            ("build/**", Demand::Unknown),
            ("a**b", Demand::Unknown),
            ("[ab]", Demand::Unknown),
            ("a[/]b", Demand::Unknown),
            ("{a,b}", Demand::Unknown),
            ("\\#*#", Demand::EndsWith("#")),
            ("\\!a", Demand::EndsWith("!a")),
            ("a\\*", Demand::Unknown),
            ("/", Demand::Unknown),
        ];
        for (pattern, expected) in table {
            assert_eq!(demand(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn names_that_cannot_match_are_told() {
        let mut filter = NameFilter::new();
        for line in ["# comment", "", "*.o", "!keep.o", "/target/", ".*", "*.c.[012]"] {
            filter.add_line(line);
        }
        for name in ["main.rs", "o", "targets", "a.c"] {
            assert!(!filter.may_match(name.as_bytes()), "{name}");
        }
        for name in ["x.o", "target", ".env", "x.c.0"] {
            assert!(filter.may_match(name.as_bytes()), "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn nothing_that_matches_is_filtered_out(
            line in r"[!/]?[ab.*?/\[\]{},\\ #é-]{1,8}",
            path in "[ab.é-]{1,3}(/[ab.é-]{1,3}){0,2}",
            is_dir: bool,
        ) {
            let mut builder = GitignoreBuilder::new("");
            let _ = builder.add_line(None, &line);
            let mut filter = NameFilter::new();
            filter.add_line(&line);
            let matched = !builder.build().unwrap().matched(&path, is_dir).is_none();
            let name = path.rsplit('/').next().unwrap();
            prop_assert!(filter.may_match(name.as_bytes()) || !matched, "{line:?} {path:?}");
        }
    }
}
