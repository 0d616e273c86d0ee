//! The power fails: what was not forced to the disk may be there, torn, or missing.
//!
//! While a scenario runs, the state of every file and directory is recorded before each system
//! call, and which of them were forced to the disk. From that, disks are made as a power failure
//! at each moment could leave them. A file that was not forced may have any content that it had
//! since, or only a part of it. Directories lose their latest changes, the later ones first, as
//! file systems with a journal of their own promise; project and state may lie on two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use workspace::{Error, Faults, Journal, JournalOptions};

use super::project::{Node, Project, Snapshot, label, set};
use super::scenarios::ALL;

/// A file, directory or link, without its name.
#[derive(Clone, Debug, PartialEq)]
enum Inode {
    File(u32, Vec<u8>),
    Dir(u32, BTreeMap<Vec<u8>, u64>),
    Link(PathBuf),
}

/// All that two trees consist of.
type Inodes = BTreeMap<u64, Inode>;

fn read_inodes(path: &Path, found: &mut Inodes) -> u64 {
    let meta = fs::symlink_metadata(path).unwrap();
    let mode = meta.permissions().mode() & 0o7777;
    let inode = if meta.is_symlink() {
        Inode::Link(fs::read_link(path).unwrap())
    } else if meta.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().as_bytes().to_vec(), read_inodes(&entry.path(), found))
        });
        Inode::Dir(mode, entries.collect())
    } else {
        Inode::File(mode, fs::read(path).unwrap())
    };
    found.insert(meta.ino(), inode);
    meta.ino()
}

/// The states before each call, and the calls that forced something to the disk.
#[derive(Default)]
struct Record {
    states: Vec<Inodes>,
    syncs: Vec<(usize, u64)>,
    /// The calls that forced a directory of each tree to the disk.
    name_syncs: [Vec<usize>; 2],
    roots: [u64; 2],
}

impl Record {
    fn take(&mut self, roots: &[PathBuf; 2]) {
        let mut found = Inodes::new();
        self.roots = [&roots[0], &roots[1]].map(|root| read_inodes(root, &mut found));
        self.states.push(found);
    }

    /// Runs something and records it.
    fn of(
        project: &Project,
        options: JournalOptions,
        act: impl Fn(&Project, &Journal) -> Result<(), Error>,
    ) -> Record {
        fs::create_dir_all(project.state()).unwrap();
        let roots = [project.tree.root(), project.state()];
        let record = Arc::new(Mutex::new(Record::default()));
        let (calls, syncs) = (Arc::clone(&record), Arc::clone(&record));
        let watched = roots.clone();
        let faults = Faults::default()
            .watch(move |_, _| calls.lock().unwrap().take(&watched))
            .watch_syncs(move |inode| {
                let mut record = syncs.lock().unwrap();
                let call = record.states.len();
                record.syncs.push((call, inode));
            });
        let workspace = Arc::new(project.tree.open());
        let state = project.state();
        let journal =
            Journal::open_with_faults(workspace, &state, options, Arc::new(faults)).unwrap();
        act(project, &journal).unwrap();
        drop(journal);
        let mut record = std::mem::take(&mut *record.lock().unwrap());
        record.take(&roots);
        for (call, inode) in &record.syncs {
            for (root, calls) in record.roots.iter().zip(&mut record.name_syncs) {
                if dirs(&record.states[*call], *root).contains(inode) {
                    calls.push(*call);
                }
            }
        }
        record
    }

    /// The last call before `end` after which the inode was certainly on the disk.
    fn durable(&self, inode: u64, end: usize) -> usize {
        let calls = self.syncs.iter().filter(|(call, synced)| *call < end && *synced == inode);
        calls.map(|(call, _)| *call).max().unwrap_or(0)
    }
}

/// All directories of a tree.
fn dirs(inodes: &Inodes, root: u64) -> Vec<u64> {
    let (mut found, mut pending) = (Vec::new(), vec![root]);
    while let Some(inode) = pending.pop() {
        if let Some(Inode::Dir(_, entries)) = inodes.get(&inode) {
            found.push(inode);
            pending.extend(entries.values());
        }
    }
    found
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// How much of what was not forced a disk has all the same.
#[derive(Clone, Copy)]
enum Luck {
    None,
    NamesOnly,
    ContentOnly,
    All,
}

/// Which of the possible disks a failure leaves.
enum Fate {
    /// In the project and in the state.
    Sure([Luck; 2]),
    Random(Dice),
}

impl Fate {
    fn names(&mut self, tree: usize, oldest: usize, newest: usize) -> usize {
        match self {
            Fate::Sure(luck) => match luck[tree] {
                Luck::None | Luck::ContentOnly => oldest,
                Luck::NamesOnly | Luck::All => newest,
            },
            Fate::Random(dice) => oldest + dice.roll(newest - oldest + 1),
        }
    }

    /// What is left of a file that had these contents in turn, the first one for certain.
    fn content(&mut self, tree: usize, versions: &[&[u8]]) -> Vec<u8> {
        let (oldest, newest) = (versions[0], versions[versions.len() - 1]);
        match self {
            Fate::Sure(luck) => match luck[tree] {
                Luck::None | Luck::NamesOnly => oldest.to_vec(),
                Luck::ContentOnly | Luck::All => newest.to_vec(),
            },
            Fate::Random(dice) => {
                let version = versions[dice.roll(versions.len())];
                let mut left = version.to_vec();
                let kept = oldest.len().min(left.len());
                match dice.roll(4) {
                    // Written in part, or the length without the bytes.
                    0 if version != oldest => {
                        left.truncate(kept + dice.roll(left.len() - kept + 1));
                    }
                    1 if version != oldest => left[kept..].fill(0),
                    _ => {}
                }
                left
            }
        }
    }
}

/// A disk as a failure before the call `end` may leave it.
struct Disk<'r> {
    record: &'r Record,
    end: usize,
    fate: Fate,
}

impl Disk<'_> {
    /// Project and state.
    fn trees(mut self) -> [Snapshot; 2] {
        [0, 1].map(|tree| {
            let syncs = self.record.name_syncs[tree].iter().filter(|call| **call < self.end);
            let oldest = syncs.max().copied().unwrap_or(0);
            let version = self.fate.names(tree, oldest, self.end);
            let mut found = Snapshot::new();
            self.put(self.record.roots[tree], Path::new(""), (tree, version), &mut found);
            found
        })
    }

    fn put(
        &mut self,
        inode: u64,
        path: &Path,
        (tree, version): (usize, usize),
        found: &mut Snapshot,
    ) {
        let record = self.record;
        let node = match &record.states[version][&inode] {
            Inode::Link(target) => Node::Link(target.clone()),
            Inode::Dir(mode, entries) => {
                for (name, child) in entries {
                    let path = path.join(std::ffi::OsStr::from_bytes(name));
                    self.put(*child, &path, (tree, version), found);
                }
                Node::Dir(*mode)
            }
            Inode::File(..) => {
                let oldest = record.durable(inode, self.end);
                let mut mode = 0o600;
                let mut versions: Vec<&[u8]> = Vec::new();
                for state in &record.states[oldest..=self.end] {
                    match state.get(&inode) {
                        Some(Inode::File(now, bytes)) => {
                            mode = *now;
                            versions.push(bytes);
                        }
                        // Not made yet.
                        _ if versions.is_empty() => versions.push(&[]),
                        _ => {}
                    }
                }
                Node::File(mode, self.fate.content(tree, &versions))
            }
        };
        found.insert(path.to_owned(), node);
    }
}

/// Makes a tree of a snapshot, whose paths come in order.
fn build(root: &Path, tree: &Snapshot) {
    for (path, node) in tree {
        let path = root.join(path);
        match node {
            Node::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            Node::Dir(mode) => {
                fs::create_dir_all(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Node::File(mode, bytes) => {
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}

const RANDOM_DISKS: u64 = 3;

/// Lets the power fail before each call. What is left must be one of the snapshots, and the last
/// one once everything has succeeded.
fn fail_everywhere(name: &str, record: &Record, snapshots: &[Snapshot]) -> usize {
    let mut seen = BTreeSet::new();
    let last = record.states.len() - 1;
    for end in 0..=last {
        let dice = |seed: u64| Fate::Random(Dice(seed * 7919 + end as u64));
        let luck = [Luck::None, Luck::NamesOnly, Luck::ContentOnly, Luck::All];
        let sure = luck.into_iter().flat_map(|a| luck.map(|b| Fate::Sure([a, b])));
        let allowed = if end == last { &snapshots[snapshots.len() - 1..] } else { snapshots };
        for (n, fate) in sure.chain((0..RANDOM_DISKS).map(dice)).enumerate() {
            let trees = Disk { record, end, fate }.trees();
            let mut hasher = DefaultHasher::new();
            (&trees, end == last).hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                let context = format!("{name}, before call {end} of {last}, disk {n}");
                recover(&context, &trees, allowed);
            }
        }
    }
    seen.len()
}

fn recover(context: &str, trees: &[Snapshot; 2], allowed: &[Snapshot]) {
    let project = Project::in_memory(&[]);
    build(&project.tree.root(), &trees[0]);
    build(&project.state(), &trees[1]);
    let journal = project.quick();
    let report = journal.recovery();
    assert_eq!((&report.conflicts[..], &report.failed[..]), (&[][..], &[][..]), "{context}");
    let mut now = project.snapshot();
    // If not a byte of the entry reached the disk, nothing tells of a temporary file whose name
    // did. It holds nothing that a user would miss.
    project.left_overs().iter().for_each(|path| drop(now.remove(path)));
    assert!(allowed.contains(&now), "{context}: {:#?} became {now:#?}", trees[0]);
    assert!(project.quick().recovery().is_empty(), "{context}: not idempotent");
    let change = set([project.write("after.txt", "works")]);
    journal.apply(&change, &label("after")).unwrap_or_else(|e| panic!("{context}: {e}"));
}

#[test]
fn a_power_failure_at_any_moment_leaves_all_or_nothing() {
    let mut disks = 0;
    for scenario in ALL {
        let project = scenario.project();
        let before = project.snapshot();
        let act = |project: &Project, journal: &Journal| scenario.act(project, journal);
        let record = Record::of(&project, JournalOptions::default(), act);
        disks += fail_everywhere(scenario.name, &record, &[before, project.snapshot()]);
    }
    assert!(disks > 1000, "{disks}");
}

#[test]
fn a_power_failure_after_the_next_segment_was_begun_takes_nothing_back() {
    let project = Project::in_memory(&[("a", "0"), ("b", "0")]);
    // So small that every entry gets a segment of its own.
    let options = JournalOptions { max_bytes: 1 << 12, ..JournalOptions::default() };
    let snapshots = Mutex::new(vec![project.snapshot()]);
    let record = Record::of(&project, options, |project, journal| {
        for n in ["1", "2", "3"] {
            let changes = [project.write(&format!("made{n}"), n), project.write("a", n)];
            journal.apply(&set(changes), &label(n))?;
            snapshots.lock().unwrap().push(project.snapshot());
        }
        Ok(())
    });
    fail_everywhere("segments", &record, &snapshots.into_inner().unwrap());
}
