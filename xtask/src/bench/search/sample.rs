//! Names to look up: functions, structures and macros, drawn from the project in the same way every
//! time.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use super::result_set::{Line, by_path};
use super::rivals::Ripgrep;

/// A name, and the places where a definition of it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) places: BTreeSet<(String, u64)>,
}

/// What a definition looks like, in whole: the name is the group.
struct Shape {
    what: &'static str,
    pattern: &'static str,
    files: &'static str,
    /// Of how many hundred names.
    share: usize,
}

const SHAPES: [Shape; 3] = [
    Shape {
        what: "functions",
        pattern: r"^(?:static )?(?:inline )?(?:int|void|bool|long|ssize_t|u32|u64) (\w+)\([^;{}()]*\)\n\{",
        files: "*.c",
        share: 40,
    },
    Shape { what: "structures", pattern: r"^struct (\w+) \{", files: "*.[ch]", share: 30 },
    Shape { what: "macros", pattern: r"^#define (\w+)\(", files: "*.[ch]", share: 30 },
];

/// `count` names, in an order that mixes their kinds.
pub(crate) fn names(ripgrep: &Ripgrep, count: usize) -> Result<Vec<Name>> {
    let mut all = Vec::new();
    for (seed, shape) in SHAPES.iter().enumerate() {
        let flags = ["--multiline", "--only-matching", "--replace", "$1", "--glob", shape.files];
        let found = gathered(ripgrep.lines(shape.pattern, &flags)?);
        ensure!(!found.is_empty(), "the project has no {} to look up", shape.what);
        println!("{} names of {}", found.len(), shape.what);
        all.extend(drawn(found, count * shape.share / 100, seed as u64));
    }
    Ok(drawn(all, count, SHAPES.len() as u64))
}

/// Each name once, with all its places, by name.
fn gathered(lines: Vec<Line>) -> Vec<Name> {
    let mut names: BTreeMap<String, BTreeSet<(String, u64)>> = BTreeMap::new();
    for Line { path, number, text } in lines {
        names.entry(text).or_default().insert((path, number));
    }
    names.into_iter().map(|(name, places)| Name { name, places }).collect()
}

/// `count` of the items, or all if there are fewer, in an order that only the seed decides.
fn drawn<T>(mut items: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut random = Random(seed);
    let count = count.min(items.len());
    for place in 0..count {
        let rest = (items.len() - place) as u64;
        // The bias is that of a range of 64 bits over a few hundred thousand items: none.
        let other = place + usize::try_from(random.next() % rest).unwrap_or(0);
        items.swap(place, other);
    }
    items.truncate(count);
    items
}

/// SplitMix64, after Steele, Lea and Flood.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Name {
    /// Whether a definition of the name stands there: one was seen there, or the line looks like
    /// one of another shape.
    pub(crate) fn is_defined_at(&self, path: &str, number: u64, line: &str) -> bool {
        let seen = self.places.iter().any(|(at, on)| by_path(at, path).is_eq() && *on == number);
        seen || looks_like_a_definition(&self.name, line)
    }
}

/// Whether a line of C defines the name, as far as one line can tell.
fn looks_like_a_definition(name: &str, line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut places =
        line.match_indices(name).map(|(at, _)| (&line[..at], &line[at + name.len()..]));
    let word =
        places.find(|(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part));
    let Some((before, after)) = word else { return false };
    let (leading, after, ends) = (before.trim(), after.trim(), line.trim_end().ends_with(';'));
    if let Some(directive) = leading.strip_prefix('#') {
        return directive.trim() == "define";
    }
    let keyword = leading.rsplit(char::is_whitespace).next().unwrap_or(leading);
    if matches!(keyword, "struct" | "union" | "enum") {
        return after.is_empty() || after.starts_with('{');
    }
    // A statement is indented, a declaration ends on its line.
    let at_the_margin = !line.starts_with(char::is_whitespace);
    if after.starts_with('(') {
        return at_the_margin && !ends && !leading.contains('=');
    }
    let is_value = after.starts_with('=') || after.starts_with('[');
    leading.starts_with("typedef") || (at_the_margin && is_value && !leading.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_depends_on_the_seed_alone() {
        let items: Vec<u32> = (0..1000).collect();
        let first = drawn(items.clone(), 100, 7);
        assert_eq!(first, drawn(items.clone(), 100, 7));
        assert_ne!(first, drawn(items.clone(), 100, 8));
        assert_ne!(first, items[..100]);
        let different: BTreeSet<_> = first.iter().collect();
        assert_eq!(different.len(), 100, "nothing is drawn twice");
        assert_eq!(drawn(vec![1, 2], 5, 0).len(), 2);
        assert!(drawn(Vec::<u32>::new(), 5, 0).is_empty());
    }

    #[test]
    fn names_are_gathered_with_all_their_places() {
        let line =
            |path: &str, number, text: &str| Line { path: path.into(), number, text: text.into() };
        let names = gathered(vec![line("b.c", 3, "f"), line("a.c", 9, "f"), line("a.c", 1, "e")]);
        let shown: Vec<_> = names.iter().map(|name| (&*name.name, name.places.len())).collect();
        assert_eq!(shown, [("e", 1), ("f", 2)]);
        assert!(names[1].is_defined_at("a.c", 9, ""));
        assert!(!names[1].is_defined_at("a.c", 10, "\tf(1);"));
    }

    #[test]
    fn definitions_look_like_definitions() {
        let table = [
            ("static int probe(struct device *dev)", true),
            ("probe(struct device *dev,", true),
            ("struct file *probe(void)", true),
            ("#define probe(x) \\", true),
            ("# define probe 1", true),
            ("struct probe {", true),
            ("enum probe", true),
            ("typedef int (*probe)(void);", true),
            ("static const struct ops probe = {", true),
            ("int probe(struct device *dev);", false),
            ("\tprobe(dev);", false),
            ("\t.probe = my_probe,", false),
            ("struct probe;", false),
            ("struct probe *next;", false),
            ("#ifdef probe", false),
            ("#define other probe", false),
            ("int reprobe(void)", false),
            ("int probed(void)", false),
            ("", false),
        ];
        for (line, expected) in table {
            assert_eq!(looks_like_a_definition("probe", line), expected, "{line}");
        }
    }
}
