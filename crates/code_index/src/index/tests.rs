//! Whole indexes: made, read back, damaged.

use std::io;
use std::sync::Mutex;

use proptest::prelude::*;

use super::format::Footer;
use super::*;

/// Room to set things aside in memory.
#[derive(Default)]
struct MemorySpool(Mutex<Vec<u8>>);

impl Spool for MemorySpool {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut all = self.0.lock().unwrap();
        all.extend_from_slice(bytes);
        Ok((all.len() - bytes.len()) as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let all = self.0.lock().unwrap();
        buffer.copy_from_slice(&all[offset as usize..][..buffer.len()]);
        Ok(())
    }
}

/// A file with what the index is to remember of it.
#[derive(Debug, Clone)]
struct Sample {
    path: String,
    content: Vec<u8>,
    linked: bool,
}

impl Sample {
    fn read(&self) -> (Trigrams, Flags) {
        let mut extractor = Extractor::new();
        let content = extractor.read(&self.content);
        let linked = if self.linked { Flags::HARD_LINKED } else { Flags::default() };
        let trigrams = match content {
            SearchableContent::Text { trigrams, .. } => Trigrams::of(trigrams),
            _ => Trigrams::default(),
        };
        (trigrams, content.flags() | linked)
    }

    fn stamp(&self) -> IndexStamp {
        let size = self.content.len() as u64;
        IndexStamp { size, modified: -1, changed: size as i64 * 7, inode: size ^ 0xABCD }
    }
}

/// Files by path, numbered so that no two have the same.
fn samples(contents: &[(Vec<u8>, bool)]) -> Vec<Sample> {
    let mut samples: Vec<Sample> = contents
        .iter()
        .enumerate()
        .map(|(at, (content, linked))| {
            let path = format!("d{}/{}f{at}", at % 3, if at % 2 == 0 { "sub/" } else { "sub." });
            Sample { path, content: content.clone(), linked: *linked }
        })
        .collect();
    samples.sort_by(|a, b| path_order::path_order(a.path.as_bytes(), b.path.as_bytes()));
    samples
}

/// How an index is made; it must not matter.
#[derive(Clone, Copy)]
struct Way {
    postings_in_memory: usize,
    batches: usize,
    threads: usize,
}

const PLAIN: Way = Way { postings_in_memory: usize::MAX, batches: 1, threads: 1 };

fn build(samples: &[Sample], way: Way) -> Vec<u8> {
    let spool = MemorySpool::default();
    let builder = IndexBuilder::with_room_for(way.postings_in_memory, &spool);
    let mut batches: Vec<IndexBatch<'_>> = (0..way.batches).map(|_| builder.batch()).collect();
    let mut files = Vec::new();
    let mut order: Vec<usize> = (0..samples.len()).collect();
    if way.batches > 1 {
        order.reverse();
    }
    for at in order {
        let (trigrams, _) = samples[at].read();
        batches[at % way.batches].add(at as u32, trigrams.as_slice()).unwrap();
    }
    for sample in samples {
        let (_, flags) = sample.read();
        files.push(IndexedFile { path: sample.path.as_bytes(), stamp: sample.stamp(), flags });
    }
    batches.into_iter().for_each(|batch| batch.finish().unwrap());
    let mut out = Vec::new();
    let totals = builder.finish(&files, b"{\"made\":\"here\"}", way.threads, &mut out).unwrap();
    assert_eq!(totals.bytes, out.len() as u64);
    out
}

fn texts() -> impl Strategy<Value = Vec<(Vec<u8>, bool)>> {
    let text = prop_oneof![
        8 => "[abAB \n]{0,60}",
        1 => "[a-zäßK\n]{0,40}",
        1 => "[ab\u{212A}\u{017F}]{0,20}",
        1 => "[ab\u{0}]{0,20}",
    ];
    let text = prop_oneof![
        9 => text.prop_map(String::into_bytes),
        1 => Just(b"\xFF\xFEa\0b\0c\0".to_vec()),
    ];
    proptest::collection::vec((text, proptest::bool::weighted(0.05)), 0..150)
}

/// Plans as questions make them, and some that no pattern would give.
fn plans() -> impl Strategy<Value = TrigramPlan> {
    let regex = prop_oneof![
        "[ab ]{3,8}",
        "[ab]{3,4}\\.\\*[ab]{3,4}",
        "[ab]{3}(a|b )?[ab]{2}\\|[ab]{4}",
        "[akz]{3,4}",
        "\\(\\?i\\)[ks]{3}",
    ];
    (regex, any::<bool>())
        .prop_map(|(regex, case_sensitive)| TrigramPlan::of(&regex, case_sensitive, false))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn an_index_answers_as_looking_at_each_file_would(
        contents in texts(),
        plans in proptest::collection::vec(plans(), 1..8),
    ) {
        let samples = samples(&contents);
        let segment = Segment::open(build(&samples, PLAIN)).unwrap();
        prop_assert_eq!(segment.len(), samples.len());
        prop_assert_eq!(segment.metadata(), b"{\"made\":\"here\"}");
        let read: Vec<(Trigrams, Flags)> = samples.iter().map(Sample::read).collect();
        for (file, (sample, (trigrams, flags))) in (0u32..).zip(samples.iter().zip(&read)) {
            prop_assert_eq!(segment.path(file), Some(sample.path.as_bytes()));
            prop_assert_eq!(segment.find(sample.path.as_bytes()), Some(file));
            prop_assert_eq!(segment.stamp(file), Some(sample.stamp()));
            prop_assert_eq!(segment.flags(file), Some(*flags));
            for trigram in trigrams.as_slice() {
                let word = &trigram.to_be_bytes()[1..];
                prop_assert!(segment.candidates(&TrigramPlan::all_of_words(&[word])).contains(file));
            }
        }
        for plan in plans {
            let expected: Vec<u32> = (0u32..)
                .zip(&read)
                .filter(|(_, (trigrams, flags))| {
                    plan.is_all()
                        || flags.is_always_candidate()
                        || plan.admits(trigrams.as_slice(), flags.contains(Flags::FOLDS))
                })
                .map(|(file, _)| file)
                .collect();
            prop_assert_eq!(segment.candidates(&plan).to_vec(), expected, "{:?}", plan);
        }
    }

    #[test]
    fn how_an_index_is_made_does_not_matter(
        contents in texts(), postings_in_memory in 1usize..500, batches in 1usize..4, threads in 1usize..4,
    ) {
        let samples = samples(&contents);
        prop_assert_eq!(build(&samples, Way { postings_in_memory, batches, threads }), build(&samples, PLAIN));
    }

    #[test]
    fn damage_is_never_fatal(
        contents in texts(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..40),
        cut: prop::sample::Index,
        shorten: bool,
        plans in proptest::collection::vec(plans(), 1..4),
    ) {
        let mut index = build(&samples(&contents), PLAIN);
        let end = index.len();
        // The end is found out at once; what is before it only when it is used.
        let summed = Footer::read(&index).unwrap().paths.start;
        for (at, bit) in flips {
            index[at.index(if shorten { end } else { summed })] ^= 1 << bit;
        }
        if shorten {
            index.truncate(cut.index(end));
        }
        if let Ok(segment) = Segment::open(index) {
            for plan in plans {
                let found = segment.candidates(&plan).to_vec();
                prop_assert!(found.iter().all(|&file| (file as usize) < segment.len()));
            }
            for file in (0..segment.len() as u32 + 2).chain([u32::MAX]) {
                let path = segment.path(file).unwrap_or_default();
                let is_file = (file as usize) < segment.len();
                prop_assert!(is_file || segment.stamp(file).is_none());
                prop_assert!(segment.find(path).is_none_or(|file| (file as usize) < segment.len()));
                let beneath = segment.beneath(path);
                prop_assert!(beneath.start <= beneath.end);
            }
        }
    }
}

fn three_files() -> Vec<Sample> {
    samples(&[(b"abcd".to_vec(), false), (b"bcde".to_vec(), false), (b"abcd".to_vec(), false)])
}

#[test]
fn each_cut_and_each_flip_at_the_end_is_found_out() {
    let index = build(&three_files(), PLAIN);
    for length in 0..index.len() {
        assert!(Segment::open(&index[..length]).is_err(), "{length}");
    }
    let summed = Footer::read(&index).unwrap().paths.start;
    for at in (summed..index.len()).rev().take(200).chain(summed..summed + 1000) {
        let mut damaged = index.clone();
        damaged[at] ^= 0x10;
        assert!(Segment::open(&damaged).is_err(), "{at}");
    }
}

/// Files of which enough have the same trigrams for lists of every kind.
fn many_files() -> Vec<Sample> {
    let text = |at: usize| match at % 50 {
        0 => format!("rare{at} common"),
        1 => "K\u{212A}lvin common".into(),
        _ => format!("common {}", ["even", "odd"][usize::from(at.is_multiple_of(2))]),
    };
    let contents = (0..300).map(|at| (text(at).into_bytes(), at % 90 == 7));
    samples(&contents.collect::<Vec<_>>())
}

#[test]
fn no_flipped_bit_changes_what_is_known_of_a_file_or_takes_it_out_of_an_answer() {
    let samples = many_files();
    let mut index = build(&samples, PLAIN);
    let parts = Footer::read(&index).unwrap();
    let plans: Vec<TrigramPlan> = ["common", "even", "odd", "rare50", "(?i)klv"]
        .map(|pattern| TrigramPlan::of(pattern, true, false))
        .into();
    let files = || 0..samples.len() as u32;
    let whole = Segment::open(index.clone()).unwrap();
    let expected: Vec<Candidates> = plans.iter().map(|plan| whole.candidates(plan)).collect();
    let lists = parts.postings.chain(parts.entries);
    let others = (0..8).chain(parts.paths.start..parts.directory.start);
    let directory = (parts.directory.start..index.len()).rev();
    let directory = directory.clone().take(100).chain(directory.step_by(997));
    let each_bit = lists.flat_map(|at| (0..8).map(move |bit| (at, bit)));
    let one_bit = others.chain(directory).map(|at| (at, at % 8));
    for (at, bit) in each_bit.chain(one_bit).collect::<Vec<_>>() {
        index[at] ^= 1 << bit;
        if let Ok(segment) = Segment::open(&index) {
            for (plan, expected) in plans.iter().zip(&expected) {
                let found = segment.candidates(plan);
                assert!(found == *expected || found == Candidates::every(segment.files()), "{at}");
            }
            for file in files() {
                assert_eq!(segment.path(file), whole.path(file), "{at}");
                assert_eq!(segment.stamp(file), whole.stamp(file), "{at}");
                assert_eq!(segment.flags(file), whole.flags(file), "{at}");
            }
        }
        index[at] ^= 1 << bit;
    }
}

#[test]
fn a_damaged_dictionary_or_list_makes_all_files_candidates() {
    let samples = three_files();
    let index = build(&samples, PLAIN);
    let plan = TrigramPlan::of("abcd", true, false);
    assert_eq!(Segment::open(&index).unwrap().candidates(&plan).count(), 2);
    let parts = Footer::read(&index).unwrap();
    for part in [parts.entries, parts.postings] {
        let mut damaged = index.clone();
        damaged[part].fill(0);
        assert_eq!(Segment::open(&damaged).unwrap().candidates(&plan).count(), 3);
    }
}

#[test]
fn what_is_no_index_is_told_apart() {
    let index = build(&[], PLAIN);
    assert!(Segment::open(&index).unwrap().is_empty());
    let refused = |index: &[u8]| Segment::open(index.to_vec()).err().unwrap();
    assert_eq!(refused(b""), SegmentError::NotAnIndex);
    assert_eq!(refused(b"fn main() {}"), SegmentError::NotAnIndex);
    assert_eq!(refused(&index[..100]), SegmentError::Damaged);
    let mut newer = index.clone();
    let version_at = index.len() - 12;
    newer[version_at] += 1;
    assert_eq!(refused(&newer), SegmentError::OtherFormat { found: 4 });
}

#[test]
fn directories_are_ranges_of_files() {
    let samples = samples(&vec![(Vec::new(), false); 30]);
    let segment = Segment::open(build(&samples, PLAIN)).unwrap();
    for dir in ["", "d0", "d1", "d1/sub", "d1/su", "d2/sub.f5", "d3", "c", "d"] {
        let expected: Vec<u32> = (0u32..)
            .zip(&samples)
            .filter(|(_, sample)| path_order::is_beneath(sample.path.as_bytes(), dir.as_bytes()))
            .map(|(file, _)| file)
            .collect();
        assert_eq!(segment.beneath(dir.as_bytes()).collect::<Vec<_>>(), expected, "{dir}");
    }
    assert_eq!(segment.find(b"d1"), None);
    assert_eq!(segment.find(b"z"), None);
}

#[test]
fn a_builder_refuses_what_cannot_be_right() {
    let spool = MemorySpool::default();
    let stamp = IndexStamp::UNSETTLED;
    let file = |path| IndexedFile { path, stamp, flags: Flags::default() };
    let finish = |builder: IndexBuilder<'_>, files: &[IndexedFile<'_>]| {
        builder.finish(files, b"", 1, io::sink()).map_err(|error| error.to_string())
    };
    let unsorted = finish(IndexBuilder::new(&spool), &[file(b"a.c"), file(b"a/b")]);
    assert_eq!(unsorted, Err("the files are not in path order".into()));
    let builder = IndexBuilder::new(&spool);
    let mut batch = builder.batch();
    batch.add(1, &[0x616263]).unwrap();
    batch.finish().unwrap();
    let unknown = finish(builder, &[file(b"a")]);
    assert_eq!(unknown, Err("a file was added that is not in the list of files".into()));
}

#[test]
fn a_spool_that_fails_or_forgets_is_reported() {
    struct Forgetful(Option<u8>);
    impl Spool for Forgetful {
        fn append(&self, _: &[u8]) -> io::Result<u64> {
            Ok(0)
        }

        fn read_at(&self, _: u64, buffer: &mut [u8]) -> io::Result<()> {
            buffer.fill(self.0.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }
    for (spool, kind) in [
        (Forgetful(None), io::ErrorKind::UnexpectedEof),
        (Forgetful(Some(0xFF)), io::ErrorKind::InvalidData),
    ] {
        let builder = IndexBuilder::new(&spool);
        let mut batch = builder.batch();
        batch.add(0, &[0x616263, 0x626364]).unwrap();
        batch.finish().unwrap();
        let files =
            [IndexedFile { path: b"a", stamp: IndexStamp::UNSETTLED, flags: Flags::default() }];
        assert_eq!(builder.finish(&files, b"", 2, io::sink()).unwrap_err().kind(), kind);
    }
}
