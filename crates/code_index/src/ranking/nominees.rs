//! Which files are worth reading, judged by what an index knows of them.
//!
//! A query has common words, and a large project has them in most of its files. Reading all of those
//! would take longer with every file of the project, so only the most promising are read: those that
//! can have the rarest terms. How common a term is, the index tells for all files. It knows letters and
//! not words, so that the files it names may turn out to have none; then the next ones are read. How
//! many of those that are not read have the word is known from a sample: the promising ones have it more
//! often than the others, and a term would seem more common than it is.
//!
//! Of terms that are too short for it, an index knows nothing, so that any file may have them. The files
//! that can have no other term are left for last.
//!
//! Of some files an index knows nothing, as of those that were written since. They are read whatever
//! their number: to guess what they have would make the answer depend on how old the index is.

use workspace::RelPath;

use super::score::{AllFiles, FileFindings, rarity};

/// Files that are read at once, so that the work is bounded in a project of any size where enough of
/// them answer. The bench compares the answers with those after reading every file.
pub(super) const MAX_READ: usize = 896;

/// How many of these are a sample of the others.
const SAMPLED: usize = 128;

/// Files of which it is asked what they are, so that tests and prose do not take the places of code.
const MAX_JUDGED: usize = 2 * MAX_READ;

/// A file that may answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nominee {
    pub(super) path: RelPath,
    /// The terms that its text can have, and those in its name, one bit each.
    pub(super) terms: u32,
    pub(super) name_terms: u32,
}

/// All files that may answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Nominees {
    unread: Vec<Nominee>,
    promising: Vec<Nominee>,
    sampled: Vec<Nominee>,
    /// Files of which nothing is known, until they are read.
    unknown: Vec<RelPath>,
    /// How many of those turned out to answer, and per term, to have it.
    unknown_count: usize,
    unknown_having: Vec<f32>,
    /// Files that can have nothing but terms of which an index knows nothing, until they are added.
    last_resort: usize,
    /// Per term, how many of the other files can have it.
    can_have: Vec<f32>,
    /// The terms that an index tells anything about, one bit each.
    telling: u32,
    all: f32,
}

impl Nominees {
    /// `telling` are the terms, one bit each, that an index knows anything about.
    pub(super) fn new(terms: usize, telling: u32) -> Nominees {
        let none = vec![0.0; terms];
        Nominees { unknown_having: none.clone(), can_have: none, telling, ..Nominees::default() }
    }

    /// Counts a file, and keeps it if it may answer. `path` is asked for only then. `terms` are
    /// those that its text can have, if anything is known of it.
    pub(super) fn add(
        &mut self,
        terms: Option<u32>,
        name_terms: u32,
        path: impl FnOnce() -> Option<RelPath>,
    ) {
        self.all += 1.0;
        let Some(terms) = terms else {
            self.unknown.extend(path());
            return;
        };
        let mut rest = terms | name_terms;
        while rest != 0 {
            self.can_have[rest.trailing_zeros() as usize] += 1.0;
            rest &= rest - 1;
        }
        if self.is_last_resort(terms, name_terms) {
            self.last_resort += 1;
        } else if (terms | name_terms) != 0
            && let Some(path) = path()
        {
            self.unread.push(Nominee { path, terms, name_terms });
        }
    }

    fn is_last_resort(&self, terms: u32, name_terms: u32) -> bool {
        terms != 0 && (terms & self.telling) | name_terms == 0
    }

    /// Whether there are files that can have nothing but terms of which an index knows nothing. They are
    /// worth a look if all the others are not enough.
    pub(super) fn has_last_resort(&self) -> bool {
        self.last_resort > 0
    }

    /// Such files were all added, so that they are like the others.
    pub(super) fn end_last_resort(&mut self) {
        self.last_resort = 0;
    }

    /// Keeps a file that was counted already, if it is such a file.
    pub(super) fn add_last_resort(
        &mut self,
        terms: Option<u32>,
        name_terms: u32,
        path: impl FnOnce() -> Option<RelPath>,
    ) {
        let Some(terms) = terms.filter(|terms| self.is_last_resort(*terms, name_terms)) else {
            return;
        };
        self.unread.extend(path().map(|path| Nominee { path, terms, name_terms }));
    }

    /// How many files may answer, also those that are not promising enough to be read.
    pub(super) fn count(&self) -> usize {
        let read = self.promising.len() + self.sampled.len() + self.unknown_count;
        self.unread.len() + self.last_resort + read
    }

    /// Whether every file that may answer was taken.
    pub(super) fn is_exhausted(&self) -> bool {
        self.unread.is_empty() && self.last_resort == 0
    }

    /// The files of which nothing is known, in path order. They are to be read before the promising
    /// ones are chosen.
    pub(super) fn take_unknown(&mut self) -> Vec<RelPath> {
        let mut unknown = std::mem::take(&mut self.unknown);
        unknown.sort_unstable();
        unknown
    }

    /// Takes note of what was found in them.
    pub(super) fn know<'a>(&mut self, found: impl Iterator<Item = &'a FileFindings>) {
        for file in found {
            self.unknown_count += 1;
            for (term, having) in self.unknown_having.iter_mut().enumerate() {
                *having += f32::from(u8::from(file.has(term)));
            }
        }
    }

    /// Whether there are files left that were not promising enough.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The most promising files of those that were not taken yet, and a sample of the others, at most
    /// [`MAX_READ`], in path order. `weights` are those of the terms; `factor` says what a match in a file is worth.
    pub(super) fn take_most_promising(
        &mut self,
        weights: &[f32],
        factor: impl Fn(&RelPath) -> f32,
    ) -> Vec<RelPath> {
        let worth: Vec<f32> = weights
            .iter()
            .zip(self.can_have.iter().zip(&self.unknown_having))
            .map(|(weight, (known, unknown))| weight * rarity(self.all, known + unknown))
            .collect();
        let promise = |file: &Nominee| {
            let all = (file.terms & self.telling) | file.name_terms;
            sum_of(&worth, all) + sum_of(&worth, file.name_terms)
        };
        let mut order: Vec<(f32, usize)> =
            self.unread.iter().enumerate().map(|(at, file)| (promise(file), at)).collect();
        let are_all = order.len() <= MAX_READ;
        if !are_all {
            keep_best(&mut order, MAX_JUDGED);
            for (value, at) in &mut order {
                *value *= factor(&self.unread[*at].path);
            }
            keep_best(&mut order, MAX_READ - SAMPLED);
        }
        let mut fates = vec![NomineeFate::Unread; self.unread.len()];
        order.iter().for_each(|(_, at)| fates[*at] = NomineeFate::Promising);
        if !are_all {
            let is_other = |at: &usize| fates[*at] == NomineeFate::Unread;
            let others: Vec<usize> = (0..fates.len()).filter(is_other).collect();
            spread(&others, SAMPLED).for_each(|at| fates[at] = NomineeFate::Sampled);
        }
        let mut paths = Vec::new();
        for (file, fate) in std::mem::take(&mut self.unread).into_iter().zip(fates) {
            let place = match fate {
                NomineeFate::Unread => &mut self.unread,
                NomineeFate::Promising => &mut self.promising,
                NomineeFate::Sampled => &mut self.sampled,
            };
            if fate != NomineeFate::Unread {
                paths.push(file.path.clone());
            }
            place.push(file);
        }
        paths.sort_unstable();
        paths
    }

    /// What is known of all files: what was counted in those that were read, and of the others what the
    /// sample says. `found` is what was found in the files read, in path order.
    pub(super) fn all_files(&self, found: &[FileFindings]) -> AllFiles {
        AllFiles { having: self.having(found), average_length: self.average_length(found) }
    }

    /// The average length of the files that have any of the terms. The promising ones are longer than the
    /// others.
    fn average_length(&self, found: &[FileFindings]) -> f32 {
        let sampled = self.sampled.iter().filter_map(|file| findings_of(file, found));
        let (sample, sample_length) = lengths(sampled);
        let (read, read_length) = lengths(found.iter());
        let share = sample / (self.sampled.len() as f32).max(1.0);
        let unread = self.unread.len() as f32 * share;
        (read_length + unread * sample_length / sample.max(1.0)) / (read + unread).max(1.0)
    }

    /// Per term, how many files have it as a word.
    fn having(&self, found: &[FileFindings]) -> Vec<f32> {
        let is_counted = |term: usize| !self.has_unread() && self.telling & (1 << term) != 0;
        let having = |term: usize| {
            if is_counted(term) {
                return found.iter().filter(|file| file.has(term)).count() as f32;
            }
            let promising = TermTally::of(term, &self.promising, found);
            let sampled = TermTally::of(term, &self.sampled, found);
            // A sample that cannot have the term says nothing, and a small one little.
            let prior = if promising.can > 0.0 { promising.has / promising.can } else { 1.0 };
            let share = (sampled.has + prior) / (sampled.can + 1.0);
            let unread = self.can_have[term] - promising.can - sampled.can;
            promising.has + sampled.has + unread * share + self.unknown_having[term]
        };
        (0..self.can_have.len()).map(having).collect()
    }
}

/// What becomes of a nominee.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NomineeFate {
    Unread,
    Promising,
    Sampled,
}

/// How many of some files can have a term, and how many do.
#[derive(Debug, Clone, Copy, Default)]
struct TermTally {
    can: f32,
    has: f32,
}

impl TermTally {
    fn of(term: usize, files: &[Nominee], found: &[FileFindings]) -> TermTally {
        let mut tally = TermTally::default();
        for file in files {
            if (file.terms | file.name_terms) & (1 << term) != 0 {
                tally.can += 1.0;
                let has = findings_of(file, found).is_some_and(|found| found.has(term));
                tally.has += f32::from(u8::from(has));
            }
        }
        tally
    }
}

/// What was found in a file, if anything was. `found` is in path order.
fn findings_of<'a>(file: &Nominee, found: &'a [FileFindings]) -> Option<&'a FileFindings> {
    let at = found.binary_search_by(|found| found.path.cmp(&file.path)).ok()?;
    found.get(at)
}

/// How many files there are, and how long they are together.
fn lengths<'a>(files: impl Iterator<Item = &'a FileFindings>) -> (f32, f32) {
    files.fold((0.0, 0.0), |(count, length), file| (count + 1.0, length + file.length as f32))
}

/// At most `count` of them, at equal distances.
fn spread(all: &[usize], count: usize) -> impl Iterator<Item = usize> {
    let count = count.min(all.len());
    (0..count).map(move |index| all[index * all.len() / count])
}

/// The sum over the terms of a set.
fn sum_of(worth: &[f32], mut set: u32) -> f32 {
    let mut sum = 0.0;
    while set != 0 {
        sum += worth[set.trailing_zeros() as usize];
        set &= set - 1;
    }
    sum
}

/// Keeps the highest values, at most `count`; of equal ones those that come first.
fn keep_best(order: &mut Vec<(f32, usize)>, count: usize) {
    if order.len() > count {
        order.select_nth_unstable_by(count - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::in_path::InPath;
    use super::super::question::Question;
    use super::super::scan::Scanner;
    use super::super::standing::Standing;
    use super::super::weights::RankingWeights;
    use super::*;

    fn nominees(files: &[(u32, u32)], telling: u32) -> Nominees {
        let mut nominees = Nominees::new(3, telling);
        for (index, (terms, name_terms)) in files.iter().enumerate() {
            let path = RelPath::parse(&format!("{index:05}")).unwrap();
            nominees.add(Some(*terms), *name_terms, || Some(path));
        }
        nominees
    }

    #[test]
    fn the_rare_term_is_read_before_the_common_one() {
        let mut files = vec![(0b001, 0); 2 * MAX_READ];
        files[2 * MAX_READ - 1] = (0b010, 0);
        files[2 * MAX_READ - 2] = (0b001, 0b001);
        let mut nominees = nominees(&files, 0b011);
        let chosen = nominees.take_most_promising(&[1.0; 3], |_| 1.0);
        assert_eq!((chosen.len(), nominees.count()), (MAX_READ, 2 * MAX_READ));
        assert!(chosen.is_sorted());
        let last: Vec<String> = chosen.iter().rev().take(2).map(RelPath::to_text).collect();
        assert_eq!(last, [format!("{:05}", 2 * MAX_READ - 1), format!("{:05}", 2 * MAX_READ - 2)]);
        assert_eq!(
            (nominees.promising.len(), nominees.sampled.len()),
            (MAX_READ - SAMPLED, SAMPLED)
        );
        assert!(nominees.has_unread());
        let others = nominees.take_most_promising(&[1.0; 3], |_| 1.0);
        assert!(others.len() == MAX_READ && others.iter().all(|path| !chosen.contains(path)));
        assert!(!nominees.has_unread() && nominees.count() == 2 * MAX_READ);
    }

    #[test]
    fn what_stands_behind_code_is_read_after_it() {
        let files = vec![(0b001, 0); 2 * MAX_READ];
        let is_late = |path: &RelPath| path.to_text() >= format!("{MAX_READ:05}");
        let factor = |path: &RelPath| if is_late(path) { 1.0 } else { 0.2 };
        let chosen = nominees(&files, 0b001).take_most_promising(&[1.0; 3], factor);
        let early = chosen.iter().filter(|path| !is_late(path)).count();
        assert!(0 < early && early < SAMPLED, "only of the sample: {early}");
    }

    #[test]
    fn how_common_a_term_is_is_told_by_the_sample_and_not_by_the_promising() {
        // Whoever has the rare term has the common one, and of the others every fourth.
        let mut files = vec![(0b011, 0); MAX_READ - SAMPLED];
        files.resize(9 * MAX_READ, (0b001, 0));
        let mut nominees = nominees(&files, 0b011);
        let read = nominees.take_most_promising(&[1.0; 3], |_| 1.0);
        let number = |path: &RelPath| path.to_text().parse::<usize>().unwrap();
        let has = |path: &&RelPath| number(path) < MAX_READ || number(path).is_multiple_of(4);
        let found: Vec<FileFindings> = read.iter().filter(has).map(with_the_first_term).collect();
        let known = nominees.all_files(&found);
        assert_eq!(known.average_length, 4.0);
        let having = known.having[0];
        let expected = (files.len() - MAX_READ) as f32 / 4.0 + MAX_READ as f32;
        assert!((having / expected - 1.0).abs() < 0.1, "{having} for {expected}");
    }

    fn with_the_first_term(path: &RelPath) -> FileFindings {
        let question = Question::new("term other third", false, &RankingWeights::default());
        let scanner = Scanner::new(&question).unwrap();
        FileFindings {
            path: path.clone(),
            length: 4,
            standing: Standing::of(path.as_bytes(), b"term", &question.asks_for),
            body: scanner.scan(b"term").unwrap(),
            in_path: InPath::new(&scanner, path.as_bytes()),
        }
    }

    #[test]
    fn files_with_nothing_but_a_term_of_which_nothing_is_known_come_last() {
        let files = [(0b100, 0), (0b101, 0), (0b100, 0b100), (0, 0)];
        let mut nominees = nominees(&files, 0b011);
        assert_eq!((nominees.count(), nominees.all), (3, 4.0));
        assert_eq!(nominees.take_most_promising(&[1.0; 3], |_| 1.0).len(), 2);
        assert_eq!(nominees.all_files(&[]).having, [0.0, 0.0, 0.0]);
        assert!(!nominees.has_unread() && nominees.has_last_resort() && !nominees.is_exhausted());
        for (index, (terms, name_terms)) in files.into_iter().enumerate() {
            let path = || RelPath::parse(&index.to_string()).ok();
            nominees.add_last_resort(Some(terms), name_terms, path);
        }
        nominees.end_last_resort();
        assert_eq!((nominees.count(), nominees.all), (3, 4.0));
        let last = nominees.take_most_promising(&[1.0; 3], |_| 1.0);
        assert_eq!(last, [RelPath::parse("0").unwrap()]);
        assert!(nominees.is_exhausted());
    }

    #[test]
    fn files_of_which_nothing_is_known_take_no_place_of_others() {
        let mut nominees = nominees(&vec![(0b001, 0); MAX_READ], 0b011);
        for index in (0..2 * MAX_READ).rev() {
            let path = RelPath::parse(&format!("unknown/{index:05}")).unwrap();
            nominees.add(None, 0b001, || Some(path));
        }
        let unknown = nominees.take_unknown();
        assert!(unknown.len() == 2 * MAX_READ && unknown.is_sorted());
        assert!(nominees.take_unknown().is_empty());
        assert_eq!(nominees.take_most_promising(&[1.0; 3], |_| 1.0).len(), MAX_READ);
        assert_eq!((nominees.count(), nominees.has_unread()), (MAX_READ, false));
        assert_eq!(nominees.all, (3 * MAX_READ) as f32);
    }

    proptest! {
        #[test]
        fn a_file_with_more_of_the_terms_is_never_left_out_for_one_with_less(
            sets in proptest::collection::vec(0_u32..8, MAX_READ..MAX_READ + 200),
        ) {
            let files: Vec<(u32, u32)> = sets.iter().map(|set| (*set, 0)).collect();
            let chosen = nominees(&files, 0b111).take_most_promising(&[1.0; 3], |_| 1.0);
            prop_assert!(chosen.len() <= MAX_READ);
            let is_chosen = |at: usize| chosen.binary_search(&RelPath::parse(&format!("{at:05}")).unwrap()).is_ok();
            let all_terms = sets.iter().filter(|set| **set == 0b111).count();
            if all_terms <= MAX_READ - SAMPLED {
                prop_assert!((0..sets.len()).filter(|at| sets[*at] == 0b111).all(is_chosen));
            }
        }
    }
}
