//! Asking an index.

use super::candidates::Candidates;
use super::format::{ALWAYS, FOLDS};
use super::plan::{Need, TrigramPlan};
use super::segment::{List, Malformed, Segment};

/// Looking into one more file costs about as much as reading this many postings. Reading more than
/// that for each file that is left would be no gain.
const POSTINGS_PER_FILE: u64 = 4096;

impl<O: AsRef<[u8]>> Segment<O> {
    /// The files that can hold what `plan` asks for: those with the trigrams, those that are
    /// candidates always and, if the plan says so, those with a Kelvin sign or a long s. If the
    /// plan asks for nothing, or the index turns out to be damaged, these are all files.
    pub fn candidates(&self, plan: &TrigramPlan) -> Candidates {
        let TrigramPlan::Narrow(narrow) = plan else { return Candidates::every(self.files()) };
        let found = self.meeting(&narrow.need).and_then(|mut found| {
            self.add_list(ALWAYS, &mut found)?;
            if narrow.folds {
                self.add_list(FOLDS, &mut found)?;
            }
            Ok(found)
        });
        found.unwrap_or_else(|Malformed| Candidates::every(self.files()))
    }

    /// The files that meet `need`, and perhaps a few others.
    fn meeting(&self, need: &Need) -> Result<Candidates, Malformed> {
        let mut lists = Vec::with_capacity(need.all.len());
        for &trigram in &need.all {
            match self.list(trigram)? {
                Some(list) => lists.push(list),
                None => return Ok(Candidates::none(self.files())),
            }
        }
        lists.sort_unstable_by_key(List::length);
        let mut found: Option<Candidates> = None;
        let mut next = Candidates::none(self.files());
        let mut postings = 0;
        for list in lists {
            let Some(found) = &mut found else {
                self.add(list, &mut next)?;
                found = Some(std::mem::replace(&mut next, Candidates::none(self.files())));
                continue;
            };
            postings += u64::from(list.length());
            if postings > u64::from(found.count()) * POSTINGS_PER_FILE {
                break;
            }
            next.clear();
            self.add(list, &mut next)?;
            found.keep_only(&next);
        }
        for group in &need.any {
            if found.as_ref().is_some_and(Candidates::is_empty) {
                break;
            }
            let mut either = Candidates::none(self.files());
            for branch in group {
                either.add_all(&self.meeting(branch)?);
            }
            match &mut found {
                Some(found) => found.keep_only(&either),
                None => found = Some(either),
            }
        }
        Ok(found.unwrap_or_else(|| Candidates::every(self.files())))
    }

    fn add_list(&self, trigram: u32, into: &mut Candidates) -> Result<(), Malformed> {
        self.list(trigram)?.map_or(Ok(()), |list| self.add(list, into))
    }

    fn add(&self, list: List<'_>, into: &mut Candidates) -> Result<(), Malformed> {
        let sensible = match list {
            List::Single(file) => into.insert(file).then_some(()),
            List::Many(list) => list.read(self.files(), into),
        };
        sensible.ok_or(Malformed)
    }
}
