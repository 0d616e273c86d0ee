//! The files of a project as far as they are known: those of the index, and what changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use workspace::{Flow, Mapped, RelPath};

use crate::index::{IndexStamp, Segment, TrigramPlan, Trigrams, path_order};

/// An opened index.
pub(crate) type Base = Segment<Mapped>;

/// Every file the project has, in two parts: the index as it was built, and above it what has
/// changed since. It knows nothing of disks; others tell it.
#[derive(Default)]
pub(super) struct LiveFiles {
    base: Option<Arc<Base>>,
    /// One bit per file of the base: gone, or with another content now.
    outdated: Vec<u64>,
    outdated_count: usize,
    /// Files that are not in the base, or not with this content.
    overlay: BTreeMap<RelPath, Fresh>,
    writings: u64,
    /// Files that the symbol table does not know as they are, if there is a table.
    unknown_to_table: Option<BTreeSet<RelPath>>,
}

/// A file that the base does not know as it is.
struct Fresh {
    stamp: IndexStamp,
    /// Which writing of which file this is about.
    writing: u64,
    content: FreshContent,
}

impl Fresh {
    /// Whether anything is known of its text.
    fn is_known(&self) -> bool {
        matches!(self.content, FreshContent::Nothing | FreshContent::Text { .. })
    }

    /// Whether it can match.
    fn admits(&self, plan: &TrigramPlan) -> bool {
        match &self.content {
            FreshContent::Unknown | FreshContent::Anything => true,
            FreshContent::Nothing => plan.is_all(),
            FreshContent::Text { trigrams, folds } => plan.admits(trigrams.as_slice(), *folds),
        }
    }
}

/// What is known of the content of a fresh file.
enum FreshContent {
    /// Nothing yet, so that it may match anything.
    Unknown,
    /// It may match anything, and will not be read to find out.
    Anything,
    /// It never matches.
    Nothing,
    Text {
        trigrams: Trigrams,
        folds: bool,
    },
}

/// What was found out about a fresh file by reading it.
pub(super) enum Digest {
    /// It is to be searched whatever the question.
    Anything,
    /// It is binary.
    Nothing,
    /// The trigrams of its text.
    Text { trigrams: Trigrams, folds: bool },
}

impl LiveFiles {
    /// The files of a base, all of them as it says.
    pub(super) fn of(base: Arc<Base>) -> LiveFiles {
        let words = base.len().div_ceil(64);
        LiveFiles { outdated: vec![0; words], base: Some(base), ..LiveFiles::default() }
    }

    /// The files of a new base in place of these. What a table does not know stays so.
    pub(super) fn rebase(&mut self, base: Arc<Base>) {
        let unknown_to_table = self.unknown_to_table.take();
        *self = LiveFiles { unknown_to_table, ..LiveFiles::of(base) };
    }

    /// From now on takes note of what a table of symbols does not know.
    pub(super) fn begin_table(&mut self) {
        self.unknown_to_table = Some(BTreeSet::new());
    }

    /// Adds files that a table does not know.
    pub(super) fn add_unknown_to_table(&mut self, files: BTreeSet<RelPath>) {
        self.unknown_to_table.get_or_insert_default().extend(files);
    }

    /// Files that a table does not know as they are.
    pub(super) fn unknown_to_table(&self) -> &BTreeSet<RelPath> {
        static NONE: BTreeSet<RelPath> = BTreeSet::new();
        self.unknown_to_table.as_ref().unwrap_or(&NONE)
    }

    /// Shows the path of each file with what it looks like.
    pub(super) fn for_each_stamp(&self, mut visit: impl FnMut(&[u8], IndexStamp)) {
        if let Some(base) = &self.base {
            for id in self.beneath(&RelPath::root()).filter(|id| !bit(&self.outdated, *id)) {
                if let (Some(path), Some(stamp)) = (base.path(id), base.stamp(id)) {
                    visit(path, stamp);
                }
            }
        }
        self.overlay.iter().for_each(|(path, fresh)| visit(path.as_bytes(), fresh.stamp));
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.len()) - self.outdated_count + self.overlay.len()
    }

    /// How many of them the base does not know as they are.
    pub(super) fn fresh(&self) -> usize {
        self.overlay.len()
    }

    pub(super) fn base(&self) -> Option<&Arc<Base>> {
        self.base.as_ref()
    }

    /// Whether there is a file at `path`.
    pub(super) fn knows(&self, path: &RelPath) -> bool {
        let in_base = || self.base.as_ref()?.find(path.as_bytes());
        self.overlay.contains_key(path) || in_base().is_some_and(|id| !bit(&self.outdated, id))
    }

    /// A file exists and was written, so that nothing known of its content holds.
    pub(super) fn written(&mut self, path: RelPath, stamp: IndexStamp) {
        self.outdate(&path);
        self.writings += 1;
        if let Some(unknown) = &mut self.unknown_to_table {
            unknown.insert(path.clone());
        }
        let fresh = Fresh { stamp, writing: self.writings, content: FreshContent::Unknown };
        self.overlay.insert(path, fresh);
    }

    /// A file exists and looks like this. If it looks as it did, what is known of it holds.
    pub(super) fn seen(&mut self, path: RelPath, stamp: IndexStamp) {
        let known = self.base.as_ref().and_then(|base| {
            let id = base.find(path.as_bytes())?;
            base.stamp(id)?.is_same(&stamp).then_some(id)
        });
        if let Some(id) = known {
            self.set_outdated(id, false);
            self.overlay.remove(&path);
        } else if self.overlay.get(&path).is_none_or(|fresh| !fresh.stamp.is_same(&stamp)) {
            self.written(path, stamp);
        }
    }

    /// Nothing is at `path` any more, and nothing beneath it.
    pub(super) fn gone(&mut self, path: &RelPath) {
        for id in self.beneath(path) {
            self.set_outdated(id, true);
        }
        let gone: Vec<RelPath> = self.overlay_beneath(path).cloned().collect();
        for path in gone {
            self.overlay.remove(&path);
        }
    }

    /// Beneath `dir` there is exactly what `scanned` says, except for `unsure`, of which newer
    /// things are known, and what is beneath it.
    pub(super) fn replace_beneath(
        &mut self,
        dir: &RelPath,
        scanned: Vec<(RelPath, IndexStamp)>,
        unsure: &BTreeSet<RelPath>,
    ) {
        let is_unsure = |path: &RelPath| {
            let mut part = Some(path.clone());
            while let Some(path) = part {
                if unsure.contains(&path) {
                    return true;
                }
                part = path.parent();
            }
            false
        };
        let mut missing: BTreeSet<RelPath> =
            self.overlay_beneath(dir).filter(|path| !is_unsure(path)).cloned().collect();
        let mut seen = vec![0_u64; self.outdated.len()];
        for (path, stamp) in scanned {
            if let Some(id) = self.base.as_ref().and_then(|base| base.find(path.as_bytes())) {
                set_bit(&mut seen, id, true);
            }
            missing.remove(&path);
            if !is_unsure(&path) {
                self.seen(path, stamp);
            }
        }
        for path in &missing {
            self.overlay.remove(path);
        }
        for id in self.beneath(dir) {
            if !bit(&seen, id) && !bit(&self.outdated, id) {
                let path = self.base.as_ref().and_then(|base| path_of(base, id));
                if path.is_some_and(|path| !is_unsure(&path)) {
                    self.set_outdated(id, true);
                }
            }
        }
    }

    /// Fresh files whose content is unknown, at most `limit`, each with the number of its writing.
    pub(super) fn undigested(&self, limit: usize) -> Vec<(RelPath, u64)> {
        let unknown = |fresh: &Fresh| matches!(fresh.content, FreshContent::Unknown);
        let files = self.overlay.iter().filter(|(_, fresh)| unknown(fresh));
        files.map(|(path, fresh)| (path.clone(), fresh.writing)).take(limit).collect()
    }

    /// Keeps what was read from a fresh file, unless it was written again since.
    pub(super) fn digested(&mut self, path: &RelPath, writing: u64, digest: Digest) {
        if let Some(fresh) = self.overlay.get_mut(path).filter(|fresh| fresh.writing == writing) {
            fresh.content = match digest {
                Digest::Anything => FreshContent::Anything,
                Digest::Nothing => FreshContent::Nothing,
                Digest::Text { trigrams, folds } => FreshContent::Text { trigrams, folds },
            };
        }
    }

    /// Whether any file lies beneath `dir`.
    pub(super) fn knows_dir(&self, dir: &RelPath) -> bool {
        let in_base = self.beneath(dir).any(|id| !bit(&self.outdated, id));
        in_base || self.overlay_beneath(dir).next().is_some()
    }

    /// The files beneath `start` that can match `plan` and that `accepts` accepts, by path.
    pub(super) fn candidates(
        &self,
        plan: &TrigramPlan,
        start: &RelPath,
        mut accepts: impl FnMut(&[u8]) -> bool,
    ) -> Vec<RelPath> {
        let mut found = Vec::new();
        if let Some(base) = &self.base {
            let range = self.beneath(start);
            base.candidates(plan).for_each_in(range, |id| {
                let path = base.path(id).unwrap_or_default();
                if !bit(&self.outdated, id)
                    && accepts(path)
                    && let Ok(path) = RelPath::from_bytes(path)
                {
                    found.push(path);
                }
            });
        }
        let from_base = found.len();
        for path in self.overlay_beneath(start) {
            let admits = self.overlay.get(path).is_some_and(|fresh| fresh.admits(plan));
            if admits && accepts(path.as_bytes()) {
                found.push(path.clone());
            }
        }
        if found.len() > from_base && from_base > 0 {
            found.sort_unstable();
        }
        found
    }

    /// Shows each file beneath `start` that `accepts` accepts with those of `plans`, one bit each,
    /// that it can match, also files that match none; with nothing where nothing is known of the
    /// text. There are at most 32 plans.
    pub(super) fn for_each_with_plans(
        &self,
        plans: &[TrigramPlan],
        start: &RelPath,
        mut accepts: impl FnMut(&[u8]) -> bool,
        mut visit: impl FnMut(&[u8], Option<u32>),
    ) {
        if let Some(base) = &self.base {
            let candidates: Vec<_> = plans.iter().map(|plan| base.candidates(plan)).collect();
            for id in self.beneath(start).filter(|id| !bit(&self.outdated, *id)) {
                let Some(path) = base.path(id).filter(|path| accepts(path)) else { continue };
                let matched = candidates.iter().enumerate().filter(|(_, found)| found.contains(id));
                let is_known = base.flags(id).is_some_and(|flags| !flags.is_always_candidate());
                visit(path, is_known.then(|| matched.fold(0, |set, (plan, _)| set | 1 << plan)));
            }
        }
        for path in self.overlay_beneath(start).filter(|path| accepts(path.as_bytes())) {
            let Some(fresh) = self.overlay.get(path) else { continue };
            let admits = |plan: &&TrigramPlan| fresh.admits(plan);
            let matched = plans.iter().enumerate().filter(|(_, plan)| admits(plan));
            let matched = || matched.fold(0, |set, (plan, _)| set | 1 << plan);
            visit(path.as_bytes(), fresh.is_known().then(matched));
        }
    }

    /// How many files lie at or beneath `start`.
    pub(super) fn count_beneath(&self, start: &RelPath) -> usize {
        if start.is_root() {
            return self.len();
        }
        let in_base = self.beneath(start).filter(|id| !bit(&self.outdated, *id)).count();
        in_base + self.overlay_beneath(start).count()
    }

    /// Shows the path of each file at or beneath `start`, in path order, until told to stop.
    pub(super) fn for_each_path(&self, start: &RelPath, mut visit: impl FnMut(&[u8]) -> Flow) {
        let mut fresh = self.overlay_beneath(start).map(RelPath::as_bytes).peekable();
        let ids = self.beneath(start).filter(|id| !bit(&self.outdated, *id));
        let old = ids.filter_map(|id| self.base.as_ref()?.path(id));
        for path in old {
            while let Some(earlier) = fresh.next_if(|fresh| path_order(fresh, path).is_lt()) {
                if visit(earlier) == Flow::Stop {
                    return;
                }
            }
            if visit(path) == Flow::Stop {
                return;
            }
        }
        fresh.find(|path| visit(path) == Flow::Stop);
    }

    /// The numbers in the base of the files at or beneath `dir`.
    fn beneath(&self, dir: &RelPath) -> std::ops::Range<u32> {
        self.base.as_ref().map_or(0..0, |base| base.beneath(dir.as_bytes()))
    }

    fn overlay_beneath<'a>(&'a self, dir: &'a RelPath) -> impl Iterator<Item = &'a RelPath> {
        let from = self.overlay.range((Bound::Included(dir.clone()), Bound::Unbounded));
        from.map(|(path, _)| path).take_while(|path| path.starts_with(dir))
    }

    fn outdate(&mut self, path: &RelPath) {
        if let Some(id) = self.base.as_ref().and_then(|base| base.find(path.as_bytes())) {
            self.set_outdated(id, true);
        }
    }

    fn set_outdated(&mut self, id: u32, outdated: bool) {
        if bit(&self.outdated, id) != outdated {
            set_bit(&mut self.outdated, id, outdated);
            if outdated {
                self.outdated_count += 1;
            } else {
                self.outdated_count -= 1;
            }
        }
    }
}

fn path_of(base: &Base, id: u32) -> Option<RelPath> {
    RelPath::from_bytes(base.path(id)?).ok()
}

fn bit(bits: &[u64], id: u32) -> bool {
    bits.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
}

fn set_bit(bits: &mut [u64], id: u32, value: bool) {
    if let Some(word) = bits.get_mut(id as usize / 64) {
        let mask = 1 << (id % 64);
        if value { *word |= mask } else { *word &= !mask }
    }
}
