//! Control groups: limits for all processes of a command together, where we may make groups.
//!
//! A group is made below our own or, where the kernel wants processes in leaves only (version 2),
//! beside it, and only if that does not free the command from a limit that holds for us.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::profile::CommandLimits;

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "toolkiln-";
/// More than the file with the counted kills holds.
const KILLS_BYTES: usize = 512;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where groups can be made.
#[derive(Debug)]
pub(crate) struct Groups {
    place: CgroupParent,
    /// The one that was made to find out.
    first: Mutex<Option<Group>>,
}

/// A directory in which groups with a memory limit can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CgroupParent {
    parent: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The memory controller has a tree of its own.
    One,
    /// One tree for all.
    Two,
}

/// A group for one helper and its commands.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    /// Holds how many processes were killed because memory ran out.
    kills: File,
}

impl Groups {
    /// Finds out whether groups can be made, by making one.
    pub(crate) fn find(limits: &CommandLimits) -> Result<Groups, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let place = place(&own, Path::new(ROOT))
            .ok_or("no control group with a memory controller can be used")?;
        remove_left_over(&place.parent);
        let first = Group::make(&place, limits).map_err(|error| {
            format!("no control group can be made in {}: {error}", place.parent.display())
        })?;
        Ok(Groups { place, first: Mutex::new(Some(first)) })
    }

    /// A group with these limits, which are the same for all groups of one place.
    pub(crate) fn make(&self, limits: &CommandLimits) -> std::io::Result<Group> {
        let first = self.first.lock().ok().and_then(|mut first| first.take());
        first.map_or_else(|| Group::make(&self.place, limits), Ok)
    }
}

impl Group {
    fn make(place: &CgroupParent, limits: &CommandLimits) -> std::io::Result<Group> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let directory = place.parent.join(name);
        let name = match place.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        fs::create_dir(&directory)?;
        let opened = File::open(directory.join(name));
        let kills = opened.inspect_err(|_| drop(fs::remove_dir(&directory)))?;
        let group = Group { directory, kills };
        group.limit(limits, place.version)?;
        Ok(group)
    }

    fn limit(&self, limits: &CommandLimits, version: Version) -> std::io::Result<()> {
        let memory = limits.memory_bytes.to_string();
        match version {
            Version::One => {
                fs::write(self.directory.join("memory.limit_in_bytes"), &memory)?;
                // Swap would only make a runaway slow; not every kernel counts it.
                let _ = fs::write(self.directory.join("memory.memsw.limit_in_bytes"), &memory);
                Ok(())
            }
            Version::Two => {
                fs::write(self.directory.join("memory.max"), &memory)?;
                let _ = fs::write(self.directory.join("memory.swap.max"), "0");
                // Two are ours: the helper and the first process inside.
                let _ = fs::write(
                    self.directory.join("pids.max"),
                    limits.processes.saturating_add(2).to_string(),
                );
                Ok(())
            }
        }
    }

    /// The file that a process writes to in order to join.
    pub(crate) fn join_file(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// How many processes were killed here because memory ran out, ever.
    pub(crate) fn memory_kills(&self) -> u64 {
        let mut bytes = [0; KILLS_BYTES];
        let length = self.kills.read_at(&mut bytes, 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..length]);
        let mut lines = text.lines();
        let count = lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group with a process in it cannot be removed; the next process removes it.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Removes groups of processes of ours that were killed.
fn remove_left_over(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let is_gone = owner.is_some_and(|pid| {
            pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
        });
        if is_gone {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where a process with these groups may make some of its own.
fn place(own: &str, root: &Path) -> Option<CgroupParent> {
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "memory") {
            let parent = root.join("memory").join(path);
            return parent.is_dir().then_some(CgroupParent { parent, version: Version::One });
        }
        if controllers.is_empty() && root.join("cgroup.controllers").exists() {
            let parent = place_in_one_tree(root, &root.join(path));
            if let Some(parent) = parent {
                return Some(CgroupParent { parent, version: Version::Two });
            }
        }
    }
    None
}

fn place_in_one_tree(root: &Path, own: &Path) -> Option<PathBuf> {
    if hands_on_memory(own) {
        return Some(own.to_owned());
    }
    let parent = own.parent().filter(|parent| own != root && parent.starts_with(root))?;
    (hands_on_memory(parent) && is_unlimited(own)).then(|| parent.to_owned())
}

fn hands_on_memory(directory: &Path) -> bool {
    let list = fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
    list.split_whitespace().any(|name| name == "memory")
}

fn is_unlimited(directory: &Path) -> bool {
    ["memory.max", "pids.max", "cpu.max"].iter().all(|name| {
        fs::read_to_string(directory.join(name)).is_ok_and(|text| text.starts_with("max"))
            || !directory.join(name).exists()
    })
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    #[test]
    fn a_tree_of_its_own_is_used_at_our_place() {
        let tree = Fixture::new("//- /memory/a/b/\n");
        let found = place("5:pids:/\n4:memory:/a/b\n0::/\n", tree.root()).unwrap();
        assert_eq!(found, CgroupParent { parent: tree.path("memory/a/b"), version: Version::One });
    }

    #[test]
    fn in_one_tree_a_group_stands_beside_ours_unless_ours_is_limited() {
        let tree = Fixture::new(
            "//- /cgroup.controllers\nmemory pids\n//- /app/cgroup.subtree_control\nmemory pids\n\
             //- /app/own/memory.max\nmax\n//- /app/own/pids.max\nmax\n//- /app/tight/memory.max\n100\n",
        );
        let at = |path: &str| place(&format!("0::{path}\n"), tree.root());
        let expected = CgroupParent { parent: tree.path("app"), version: Version::Two };
        assert_eq!(at("/app/own"), Some(expected.clone()));
        assert_eq!(at("/app"), Some(expected), "a group that hands memory on is used itself");
        assert_eq!(at("/app/tight"), None);
        assert_eq!(at("/"), None);
    }
}
