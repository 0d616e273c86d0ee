//! A set of files, one bit each.

use std::ops::Range;

/// The files that may hold a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    words: Vec<u64>,
    files: u32,
}

impl Candidates {
    pub(super) fn none(files: u32) -> Self {
        Self { words: vec![0; files.div_ceil(64) as usize], files }
    }

    pub(super) fn every(files: u32) -> Self {
        let mut all = Self::none(files);
        all.words.fill(u64::MAX);
        all.trim();
        all
    }

    /// The bits of the last word that stand for no file stay clear.
    fn trim(&mut self) {
        if let Some(last) = self.words.last_mut()
            && !self.files.is_multiple_of(64)
        {
            *last &= (1 << (self.files % 64)) - 1;
        }
    }

    /// Adds a file; false if there is no such file.
    pub(super) fn insert(&mut self, file: u32) -> bool {
        if file >= self.files {
            return false;
        }
        self.words[(file / 64) as usize] |= 1 << (file % 64);
        true
    }

    /// Adds the files of a bitmap in bytes, which must be as long as [`Self::byte_length`] says.
    pub(super) fn insert_bytes(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter_mut().zip(bytes.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            *word |= u64::from_le_bytes(eight);
        }
        self.trim();
    }

    /// The length of a bitmap of `files` in bytes.
    pub(super) fn byte_length(files: u32) -> usize {
        files.div_ceil(8) as usize
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(super) fn keep_only(&mut self, others: &Self) {
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word &= other);
    }

    pub(super) fn add_all(&mut self, others: &Self) {
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word |= other);
    }

    /// How many they are.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Whether `file` is one of them.
    pub fn contains(&self, file: u32) -> bool {
        self.words.get((file / 64) as usize).is_some_and(|word| word >> (file % 64) & 1 == 1)
    }

    /// Visits the files of `range` among them, in order.
    pub fn for_each_in(&self, range: Range<u32>, mut visit: impl FnMut(u32)) {
        let end = range.end.min(self.files);
        let mut at = range.start;
        while at < end {
            let rest = self.words[(at / 64) as usize] >> (at % 64);
            if rest == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at += rest.trailing_zeros();
            if at < end {
                visit(at);
            }
            at += 1;
        }
    }

    /// The files in order.
    pub fn to_vec(&self) -> Vec<u32> {
        let mut files = Vec::with_capacity(self.count() as usize);
        self.for_each_in(0..self.files, |file| files.push(file));
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_files() {
        let mut some = Candidates::none(70);
        for file in [0, 63, 64, 69] {
            assert!(some.insert(file));
        }
        assert!(!some.insert(70));
        assert_eq!(some.to_vec(), [0, 63, 64, 69]);
        assert_eq!((some.count(), some.contains(63), some.contains(65)), (4, true, false));
        let mut every = Candidates::every(70);
        assert_eq!(every.count(), 70);
        assert!(!every.contains(70));
        every.keep_only(&some);
        assert_eq!(every, some);
        every.clear();
        assert!(every.is_empty());
        every.add_all(&some);
        assert_eq!(every, some);
        every.insert_bytes(&[0xFF; 9]);
        assert_eq!(every.count(), 70);
        assert!(Candidates::every(0).to_vec().is_empty());
    }

    #[test]
    fn ranges_are_visited_exactly() {
        let mut some = Candidates::none(200);
        let files = [0, 1, 62, 63, 64, 65, 127, 128, 199];
        files.iter().for_each(|&file| assert!(some.insert(file)));
        for start in 0..=201 {
            for end in [start, start + 1, start + 63, start + 64, 200, u32::MAX] {
                let mut visited = Vec::new();
                some.for_each_in(start..end, |file| visited.push(file));
                let expected: Vec<u32> =
                    files.iter().copied().filter(|file| (start..end).contains(file)).collect();
                assert_eq!(visited, expected, "{start}..{end}");
            }
        }
    }
}
