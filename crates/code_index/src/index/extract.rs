//! What a file's bytes say to the index.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Bits of a trigram: three bytes, the first one highest.
const TRIGRAM_BITS: u32 = 24;
const TRIGRAM_MASK: u32 = (1 << TRIGRAM_BITS) - 1;
/// Words of a bitmap with one bit for each possible trigram.
const SEEN_WORDS: usize = 1 << (TRIGRAM_BITS - 6);

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_BOMS: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// The only two characters outside ASCII that match an ASCII letter when case does not count.
pub(super) const KELVIN_SIGN: char = '\u{212A}';
pub(super) const LONG_S: char = '\u{017F}';

static KELVIN_FINDER: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("\u{212A}").into_owned());
static LONG_S_FINDER: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("\u{017F}").into_owned());

/// What a search for text can make of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchableContent<'a> {
    /// Has a NUL byte: a search drops it, so it is never a candidate.
    Binary,
    /// UTF-16, which a search reads as something else than these bytes: always a candidate.
    Opaque,
    /// Text that is searched as it is.
    Text {
        /// Its distinct trigrams in no particular order.
        trigrams: &'a [u32],
        /// Whether it has a Kelvin sign or a long s.
        folds: bool,
    },
}

/// Reads files for the index. It keeps its memory from file to file; use one per thread.
pub struct Extractor {
    seen: Box<[u64]>,
    found: Vec<u32>,
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new()
    }
}

impl Extractor {
    /// An extractor that has read nothing yet.
    pub fn new() -> Self {
        Self { seen: vec![0; SEEN_WORDS].into(), found: Vec::new() }
    }

    /// Reads the whole content of one file.
    ///
    /// Trigrams are of bytes with ASCII letters made small, and never span the end of a line.
    pub fn read(&mut self, bytes: &[u8]) -> SearchableContent<'_> {
        if UTF16_BOMS.iter().any(|bom| bytes.starts_with(bom)) {
            return SearchableContent::Opaque;
        }
        if memchr::memchr(0, bytes).is_some() {
            return SearchableContent::Binary;
        }
        let bytes = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
        self.collect(bytes);
        let folds = KELVIN_FINDER.find(bytes).is_some() || LONG_S_FINDER.find(bytes).is_some();
        SearchableContent::Text { trigrams: &self.found, folds }
    }

    /// Fills `found`. Most trigrams of a file are repetitions, in an order that no processor can
    /// foresee, so the inner loop has no branch: each trigram is written down, and the place to
    /// write moves on only past a first one.
    fn collect(&mut self, bytes: &[u8]) {
        let &[first, second, ref rest @ ..] = bytes else {
            self.found.clear();
            return;
        };
        self.found.resize(rest.len(), 0);
        let found = self.found.as_mut_slice();
        let seen = &mut *self.seen;
        let mut trigram = u32::from(small(first)) << 8 | u32::from(small(second));
        let mut count = 0;
        for &byte in rest {
            trigram = (trigram << 8 | u32::from(small(byte))) & TRIGRAM_MASK;
            let word = &mut seen[(trigram >> 6) as usize];
            let bit = 1 << (trigram & 63);
            let is_new = *word & bit == 0;
            *word |= bit;
            found[count] = trigram;
            count += usize::from(is_new);
        }
        self.found.truncate(count);
        for &trigram in &self.found {
            self.seen[(trigram >> 6) as usize] = 0;
        }
        self.found.retain(|&trigram| !spans_lines(trigram));
    }
}

/// The distinct trigrams of one text, in order, to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trigrams(Box<[u32]>);

impl Trigrams {
    /// Keeps what an extractor found.
    pub fn of(found: &[u32]) -> Self {
        let mut sorted = found.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        Self(sorted.into())
    }

    /// The trigrams in ascending order.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

/// A byte as the index sees it.
pub(super) fn small(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

/// The trigrams of a piece of a match, in the order they occur. `text` has small letters.
pub(super) fn trigrams_of(text: &[u8]) -> impl Iterator<Item = u32> {
    text.windows(3)
        .map(|three| three.iter().fold(0, |trigram, &byte| trigram << 8 | u32::from(byte)))
        .filter(|&trigram| !spans_lines(trigram))
}

fn spans_lines(trigram: u32) -> bool {
    let [_, bytes @ ..] = trigram.to_be_bytes();
    bytes.contains(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(Vec<String>, bool)> {
        match Extractor::new().read(bytes) {
            SearchableContent::Text { trigrams, folds } => {
                let sorted = Trigrams::of(trigrams);
                let spelled = sorted.as_slice().iter().map(|trigram| {
                    String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned()
                });
                Some((spelled.collect(), folds))
            }
            _ => None,
        }
    }

    #[test]
    fn trigrams_are_small_distinct_and_within_a_line() {
        let table: &[(&[u8], &[&str])] = &[
            (b"", &[]),
            (b"ab", &[]),
            (b"ABC", &["abc"]),
            (b"aBcabC", &["abc", "bca", "cab"]),
            (b"ab\ncd\nefg\r\n", &["efg", "fg\r"]),
            (b"\xEF\xBB\xBFabc", &["abc"]),
        ];
        for (bytes, trigrams) in table {
            let (found, folds) = read(bytes).unwrap();
            assert_eq!(found, *trigrams, "{bytes:?}");
            assert!(!folds);
        }
    }

    #[test]
    fn what_is_not_plain_text_is_told_apart() {
        let mut extractor = Extractor::new();
        assert_eq!(extractor.read(b"abc\0"), SearchableContent::Binary);
        assert_eq!(extractor.read(b"\xEF\xBB\xBFabc\0"), SearchableContent::Binary);
        assert_eq!(extractor.read(b"\xFF\xFEa\0"), SearchableContent::Opaque);
        assert_eq!(extractor.read(b"\xFE\xFF\0a"), SearchableContent::Opaque);
        assert_eq!(extractor.read(b"ab"), SearchableContent::Text { trigrams: &[], folds: false });
        assert!(read("3 \u{212A}".as_bytes()).unwrap().1);
        assert!(read("Wach\u{017F}tube".as_bytes()).unwrap().1);
    }

    #[test]
    fn an_extractor_forgets_the_last_file() {
        let mut extractor = Extractor::new();
        for _ in 0..2 {
            let SearchableContent::Text { trigrams, .. } = extractor.read(b"abcd\nbcde") else {
                panic!()
            };
            assert_eq!(Trigrams::of(trigrams).as_slice(), [0x616263, 0x626364, 0x636465]);
        }
    }
}
