//! The files that one thread has read, sorted by trigram when there are enough of them.

use std::io;

use super::builder::IndexBuilder;
use super::run::RunWriter;

/// In a batch a file is known by 16 bits.
const MAX_FILES: usize = 1 << 16;
const BYTE_VALUES: usize = 256;

/// One thread's part in building an index.
pub struct IndexBatch<'b> {
    builder: &'b IndexBuilder<'b>,
    /// Each file with where its trigrams end.
    files: Vec<(u32, usize)>,
    trigrams: Vec<u32>,
    /// Room for sorting.
    pairs: Vec<u32>,
    spare: Vec<u32>,
}

impl<'b> IndexBatch<'b> {
    pub(super) fn new(builder: &'b IndexBuilder<'b>) -> Self {
        let (files, trigrams, pairs, spare) = Default::default();
        Self { builder, files, trigrams, pairs, spare }
    }

    /// Adds a file by its rank in path order, with its distinct trigrams. Each file is added once
    /// at most. Any order will do, but the index is made faster if a thread takes neighbours.
    pub fn add(&mut self, file: u32, trigrams: &[u32]) -> io::Result<()> {
        let is_full = self.trigrams.len() + trigrams.len() > self.builder.room_of_batch();
        if (is_full && !self.files.is_empty()) || self.files.len() == MAX_FILES {
            self.set_aside()?;
        }
        self.trigrams.extend_from_slice(trigrams);
        self.files.push((file, self.trigrams.len()));
        Ok(())
    }

    /// Hands over what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.set_aside()
    }

    fn set_aside(&mut self) -> io::Result<()> {
        if self.trigrams.is_empty() {
            self.files.clear();
            return Ok(());
        }
        let (order, starts) = self.gather();
        let mut run = RunWriter::new();
        for (byte, bounds) in (0u32..).zip(starts.windows(2)) {
            let pairs = &mut self.pairs[bounds[0]..bounds[1]];
            sort_by_upper_half(pairs, &mut self.spare);
            for same in pairs.chunk_by(|a, b| a >> 16 == b >> 16) {
                let files = same.iter().map(|&pair| order[(pair & 0xFFFF) as usize]);
                run.push(byte << 16 | same[0] >> 16, files);
            }
        }
        self.builder.add_run(run)?;
        self.files.clear();
        self.trigrams.clear();
        Ok(())
    }

    /// Spreads the trigrams over 256 parts by their first byte. What is left of each, and the
    /// place of its file in order, fit into one number. Returns the files in order and where the
    /// parts begin.
    fn gather(&mut self) -> (Vec<u32>, [usize; BYTE_VALUES + 1]) {
        let mut starts = [0; BYTE_VALUES + 1];
        for trigram in &self.trigrams {
            starts[first_byte(*trigram) + 1] += 1;
        }
        for byte in 0..BYTE_VALUES {
            starts[byte + 1] += starts[byte];
        }
        let mut files: Vec<(u32, usize, usize)> = Vec::with_capacity(self.files.len());
        let mut start = 0;
        for &(file, end) in &self.files {
            files.push((file, start, end));
            start = end;
        }
        files.sort_unstable();
        self.pairs.resize(self.trigrams.len(), 0);
        let mut next = starts;
        for (place, &(_, start, end)) in (0u32..).zip(&files) {
            for &trigram in &self.trigrams[start..end] {
                let at = &mut next[first_byte(trigram)];
                self.pairs[*at] = trigram << 16 | place;
                *at += 1;
            }
        }
        (files.into_iter().map(|(file, ..)| file).collect(), starts)
    }
}

impl Drop for IndexBatch<'_> {
    fn drop(&mut self) {
        self.builder.batch_is_gone();
    }
}

fn first_byte(trigram: u32) -> usize {
    (trigram >> 16 & 0xFF) as usize
}

/// Sorts by the upper 16 bits and leaves the order of equal ones.
fn sort_by_upper_half(pairs: &mut [u32], spare: &mut Vec<u32>) {
    /// Below this, the counting takes longer than the sorting.
    const FEW: usize = 256;
    if pairs.len() <= FEW {
        pairs.sort_unstable();
        return;
    }
    spare.resize(pairs.len().max(spare.len()), 0);
    let spare = &mut spare[..pairs.len()];
    spread(pairs, spare, 16);
    spread(spare, pairs, 24);
}

/// One step of sorting: by the byte that begins at bit `shift`.
fn spread(from: &[u32], to: &mut [u32], shift: u32) {
    let byte = |pair: u32| (pair >> shift & 0xFF) as usize;
    let mut next = [0; BYTE_VALUES];
    for &pair in from {
        next[byte(pair)] += 1;
    }
    let mut start = 0;
    for next in &mut next {
        start += std::mem::replace(next, start);
    }
    for &pair in from {
        let at = &mut next[byte(pair)];
        to[*at] = pair;
        *at += 1;
    }
}
