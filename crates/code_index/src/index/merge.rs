//! Putting sorted runs together, several ranges of trigrams at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::format::{BUCKETS, Bucket, DictionaryEntry, MAGIC, bucket_of, checksum};
use super::postings::{Encoder, ListKind};
use super::run::{Cursor, PostingRun, Spool};

/// Bytes of runs that all threads together have in memory, as far as the borders of buckets allow.
const RUNS_IN_MEMORY: usize = 8 << 20;

/// The merge of some runs.
pub(super) struct Merge<'a> {
    spool: &'a dyn Spool,
    runs: &'a [PostingRun],
    files: u32,
}

/// What came of it, besides the lists, which were written.
pub(super) struct Merged {
    pub(super) entries: Vec<u8>,
    pub(super) directory: Vec<u8>,
    pub(super) list_bytes: u64,
    pub(super) trigrams: u32,
    pub(super) postings: u64,
}

/// What came of some buckets.
#[derive(Default)]
struct Portion {
    lists: Vec<u8>,
    entries: Vec<u8>,
    /// Where the entries and the lists of each bucket begin.
    buckets: Vec<(usize, usize)>,
    postings: u64,
}

impl<'a> Merge<'a> {
    /// `runs` should be in the order of their files.
    pub(super) fn new(spool: &'a dyn Spool, runs: &'a [PostingRun], files: u32) -> Self {
        Self { spool, runs, files }
    }

    /// Writes the lists to `out` in order.
    pub(super) fn run(self, threads: usize, out: &mut (impl Write + Send)) -> io::Result<Merged> {
        let ranges = self.ranges(RUNS_IN_MEMORY / threads.max(1));
        let claimed = AtomicUsize::new(0);
        let in_order = Mutex::new(InOrder::new(out));
        let work = || {
            let mut encoder = Encoder::new(self.files);
            while let Some(range) = ranges.get(claimed.fetch_add(1, Ordering::Relaxed)) {
                let portion = self.portion(range.clone(), &mut encoder);
                let mut in_order = in_order.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = portion.and_then(|portion| in_order.add(range.start, portion)) {
                    in_order.failed.get_or_insert(error);
                    claimed.store(ranges.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let done = in_order.into_inner().unwrap_or_else(PoisonError::into_inner);
        match done.failed {
            Some(error) => Err(error),
            None => Ok(done.merged),
        }
    }

    /// The buckets in groups of at most `limit` bytes if possible.
    fn ranges(&self, limit: usize) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let (mut start, mut size) = (0, 0);
        for bucket in 0..BUCKETS {
            let more: usize = self.runs.iter().map(|run| run.length(&(bucket..bucket + 1))).sum();
            if size > 0 && size + more > limit {
                ranges.push(start..bucket);
                (start, size) = (bucket, 0);
            }
            size += more;
        }
        ranges.push(start..BUCKETS);
        ranges
    }

    fn portion(&self, buckets: Range<usize>, encoder: &mut Encoder) -> io::Result<Portion> {
        let mut portion = Portion::default();
        let mut heads = BinaryHeap::with_capacity(self.runs.len());
        let mut cursors: Vec<Cursor> = Vec::with_capacity(self.runs.len());
        for run in self.runs {
            let mut cursor = run.read(self.spool, buckets.clone())?;
            if let Some(trigram) = cursor.next_trigram()? {
                heads.push(Reverse((trigram, cursors.len())));
                cursors.push(cursor);
            }
        }
        let mut list = Vec::new();
        while let Some(&Reverse((trigram, _))) = heads.peek() {
            list.clear();
            // Of the same trigram the heap gives the runs in their order.
            while let Some(mut head) = heads.peek_mut().filter(|head| head.0.0 == trigram) {
                let cursor = &mut cursors[head.0.1];
                let before = list.len();
                cursor.files(&mut list)?;
                order_tail(&mut list, before);
                match cursor.next_trigram()? {
                    Some(next) => head.0.0 = next,
                    None => drop(std::collections::binary_heap::PeekMut::pop(head)),
                }
            }
            if !list.is_sorted_by(|a, b| a < b) {
                list.sort();
                list.dedup();
            }
            portion.begin(bucket_of(trigram) - buckets.start);
            portion.push(trigram, &list, encoder)?;
        }
        portion.begin(buckets.len() - 1);
        Ok(portion)
    }
}

/// Puts what was appended to an ordered list after its first `before` files in order. Threads that
/// take turns make runs of which each overlaps only with the next, so that there is little to do;
/// if there is more, it is left to be done once for the whole list.
fn order_tail(list: &mut [u32], before: usize) {
    let (old, new) = list.split_at(before);
    let Some(first) = new.first() else { return };
    let behind = old.len() - old.partition_point(|file| file < first);
    if behind > 0 && behind <= 2 * new.len() {
        list[before - behind..].sort();
    }
}

impl Portion {
    /// Goes on to a bucket, counted from the first of this portion.
    fn begin(&mut self, bucket: usize) {
        let here = (self.entries.len(), self.lists.len());
        self.buckets.resize(self.buckets.len().max(bucket + 1), here);
    }

    fn push(&mut self, trigram: u32, list: &[u32], encoder: &mut Encoder) -> io::Result<()> {
        let lists_at = self.buckets.last().map_or(0, |&(_, lists_at)| lists_at);
        let place = u32::try_from(self.lists.len() - lists_at)
            .map_err(|_| io::Error::other("there are too many files for an index"))?;
        let (kind, place) = match list {
            &[only] => (ListKind::Single, only),
            _ => (encoder.push(list, &mut self.lists), place),
        };
        self.postings += list.len() as u64;
        self.entries.extend(
            DictionaryEntry { half: DictionaryEntry::half_of(trigram), kind, place }.to_bytes(),
        );
        Ok(())
    }
}

/// Takes portions as they come and writes them in order.
struct InOrder<'o, W> {
    out: &'o mut W,
    /// Portions whose turn has not come, by their first bucket.
    waiting: BTreeMap<usize, Portion>,
    next_bucket: usize,
    merged: Merged,
    failed: Option<io::Error>,
}

impl<'o, W: Write> InOrder<'o, W> {
    fn new(out: &'o mut W) -> Self {
        let merged = Merged {
            entries: Vec::new(),
            directory: Vec::with_capacity(BUCKETS * Bucket::BYTES),
            list_bytes: 0,
            trigrams: 0,
            postings: 0,
        };
        Self { out, waiting: BTreeMap::new(), next_bucket: 0, merged, failed: None }
    }

    fn add(&mut self, first_bucket: usize, portion: Portion) -> io::Result<()> {
        self.waiting.insert(first_bucket, portion);
        while let Some(portion) = self.waiting.remove(&self.next_bucket) {
            self.next_bucket += portion.buckets.len();
            self.write(&portion)?;
        }
        Ok(())
    }

    fn write(&mut self, portion: &Portion) -> io::Result<()> {
        let merged = &mut self.merged;
        for (at, &(entries_at, lists_at)) in portion.buckets.iter().enumerate() {
            let next = portion.buckets.get(at + 1);
            let end = next.map_or(portion.entries.len(), |&(entries_at, _)| entries_at);
            let entries = &portion.entries[entries_at..end];
            let bucket = Bucket {
                first_entry: merged.trigrams,
                lists_at: MAGIC.len() as u64 + merged.list_bytes + lists_at as u64,
                checksum: checksum(entries),
            };
            merged.directory.extend(bucket.to_bytes());
            merged.trigrams += (entries.len() / DictionaryEntry::BYTES) as u32;
        }
        merged.entries.extend_from_slice(&portion.entries);
        merged.list_bytes += portion.lists.len() as u64;
        merged.postings += portion.postings;
        self.out.write_all(&portion.lists)
    }
}
