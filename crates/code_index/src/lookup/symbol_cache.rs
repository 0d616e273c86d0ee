//! Parsed files, kept in memory as long as there is room. "find_definition after the pass" of
//! `cargo xtask bench search` is answered from it, and "memory with symbols" counts what it takes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use protocol::ContentHash;

use crate::Language;
use crate::symbols::{FileSymbols, Symbol};

/// Memory that the symbols of parsed files may take.
const MAX_BYTES: usize = 48 * 1024 * 1024;
/// What keeping a file costs besides its symbols.
const ENTRY_BYTES: usize = 128;
/// Text of names and containers, on average and with what the allocator adds.
const TEXT_BYTES: usize = 48;

/// The symbols of files by their content. A file that is read for an answer has its bytes at hand,
/// so no time stamp has to be trusted: other bytes are another entry.
#[derive(Debug)]
pub(crate) struct SymbolCache {
    max_bytes: usize,
    held: Mutex<HeldSymbols>,
}

#[derive(Debug, Default)]
struct HeldSymbols {
    /// What was used lately.
    young: HashMap<SymbolKey, Arc<FileSymbols>>,
    young_bytes: usize,
    /// What was used before that; forgotten when `young` is full.
    old: HashMap<SymbolKey, Arc<FileSymbols>>,
}

type SymbolKey = (Language, ContentHash);

impl SymbolCache {
    /// The cache of this process. Entries are named by content alone, so projects can share it, and
    /// the bound on its memory holds however many there are.
    pub(crate) fn shared() -> &'static SymbolCache {
        static SHARED: LazyLock<SymbolCache> = LazyLock::new(|| SymbolCache::new(MAX_BYTES));
        &SHARED
    }

    /// A cache that takes at most about `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, held: Mutex::default() }
    }

    /// The symbols of `text`: those kept, or what `parse` finds. Only what was parsed to its end is
    /// kept.
    pub(crate) fn symbols_of(
        &self,
        language: Language,
        text: &[u8],
        parse: impl FnOnce() -> FileSymbols,
    ) -> Arc<FileSymbols> {
        let key = (language, ContentHash::of(text));
        let known = self.held().get(key);
        if let Some(known) = known {
            self.keep(key, &known);
            return known;
        }
        let parsed = Arc::new(parse());
        if parsed.complete {
            self.keep(key, &parsed);
        }
        parsed
    }

    fn keep(&self, key: SymbolKey, symbols: &Arc<FileSymbols>) {
        let bytes = size_of_symbols(symbols);
        let mut held = self.held();
        if bytes > self.max_bytes / 2 || held.young.contains_key(&key) {
            return;
        }
        if held.young_bytes + bytes > self.max_bytes / 2 {
            held.old = std::mem::take(&mut held.young);
            held.young_bytes = 0;
        }
        held.young_bytes += bytes;
        held.young.insert(key, Arc::clone(symbols));
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HeldSymbols> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldSymbols {
    fn get(&self, key: SymbolKey) -> Option<Arc<FileSymbols>> {
        self.young.get(&key).or_else(|| self.old.get(&key)).cloned()
    }
}

fn size_of_symbols(file: &FileSymbols) -> usize {
    ENTRY_BYTES + file.symbols.len() * (size_of::<Symbol>() + TEXT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(complete: bool) -> FileSymbols {
        FileSymbols { symbols: Vec::new(), complete }
    }

    #[test]
    fn the_same_bytes_are_parsed_once_and_other_bytes_again() {
        let cache = SymbolCache::new(10_000);
        let mut parses = 0;
        for text in ["a", "a", "b", "a"] {
            cache.symbols_of(Language::Rust, text.as_bytes(), || {
                parses += 1;
                empty(true)
            });
        }
        assert_eq!(parses, 2);
        cache.symbols_of(Language::C, b"a", || {
            parses += 1;
            empty(true)
        });
        assert_eq!(parses, 3, "another language is another file");
    }

    #[test]
    fn an_unfinished_parse_is_not_kept() {
        let cache = SymbolCache::new(10_000);
        cache.symbols_of(Language::Rust, b"a", || empty(false));
        let again = cache.symbols_of(Language::Rust, b"a", || empty(true));
        assert!(again.complete);
    }

    #[test]
    fn what_is_used_stays_and_the_rest_goes_when_room_is_short() {
        let cache = SymbolCache::new(ENTRY_BYTES * 8);
        let mut parses = 0;
        for round in 0..100u32 {
            cache.symbols_of(Language::Rust, &round.to_le_bytes(), || empty(true));
            cache.symbols_of(Language::Rust, b"often", || {
                parses += 1;
                empty(true)
            });
        }
        assert_eq!(parses, 1);
        let held = cache.held();
        assert!(held.young.len() + held.old.len() <= 8);
    }
}
