//! Disks that are full or read-only, made for real in a private mount namespace.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use protocol::{Base, Change, ContentHash, ErrorCode, FileBytes, ToolError};
use testkit::left_out;
use workspace::{Journal, JournalOptions, UndoTarget, Workspace};

use super::project::{label, set, snapshot, undo};
use crate::tree::rel;

/// Set for the child that runs inside the namespace: the directory it may mount in.
const INSIDE: &str = "TOOLKILN_TEST_NAMESPACE";

/// The test that the child runs.
const INSIDE_TEST: &str = "changes::full_disk::inside_the_namespace";

const OLD: &str = "old content\n";
const TOO_MUCH: usize = 2 << 20;

/// Of a disk of 1 MB.
const NEARLY_HALF: usize = 480 << 10;
const ROOM_ROUNDS: u8 = 50;

/// Mounts a small file system of its own and returns whether that worked.
fn mount(options: &str, at: &Path) -> bool {
    fs::create_dir_all(at).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at);
    mount.status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_or_read_only_disk_loses_nothing() {
    let dir = tempfile::TempDir::new().unwrap();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", INSIDE_TEST, "--nocapture"])
        .env(INSIDE, dir.path())
        .output();
    let Ok(output) = output else {
        return left_out("full disks, because unshare is not installed");
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if text.contains("unshare failed") || text.contains("no mounts here") {
        return left_out(&format!(
            "full disks, because there is no private mount namespace: {text}"
        ));
    }
    assert!(output.status.success() && text.contains("all four disks"), "{text}");
}

/// Not a test of its own: what the child does.
#[test]
#[allow(clippy::print_stdout, reason = "the parent listens")]
fn inside_the_namespace() {
    let Ok(dir) = std::env::var(INSIDE) else { return };
    let dir = Path::new(&dir);
    let [small, large, sealed, tight] =
        ["small", "large", "sealed", "tight"].map(|name| dir.join(name));
    if !mount("size=64m", &large)
        || ![&small, &sealed, &tight].iter().all(|at| mount("size=1m", at))
    {
        println!("no mounts here");
        return;
    }
    full_project(&small.join("project"), &large.join("state1"));
    full_state(&large.join("project"), &small.join("state"));
    read_only(&sealed, &large.join("state2"));
    room_for_two(&tight.join("project"), &large.join("state3"));
    println!("all four disks");
}

fn open(root: &Path, state: &Path) -> Journal {
    fs::create_dir_all(root).unwrap();
    let workspace = Arc::new(Workspace::open(root).unwrap());
    Journal::open(workspace, state, JournalOptions::default()).unwrap()
}

fn write(journal: &Journal, path: &str, content: Vec<u8>) -> Change {
    let (base, _) = journal.base(&rel(path), u64::MAX).unwrap();
    Change::Write { path: path.into(), base, content: FileBytes(content), mode: None }
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn full_project(root: &Path, state: &Path) {
    let journal = open(root, state);
    fs::write(root.join("a"), OLD).unwrap();
    fs::write(root.join("b"), OLD).unwrap();
    let before = snapshot(root);
    let changes = [write(&journal, "a", b"new".to_vec()), write(&journal, "b", noise(TOO_MUCH))];
    let error = ToolError::from(journal.apply(&set(changes), &label("x")).unwrap_err());
    assert_eq!(
        (error.code, &*error.message),
        (ErrorCode::ExecutionError, "b: no space left on the disk")
    );
    assert_eq!(snapshot(root), before);
    works(&journal, root);
}

fn full_state(root: &Path, state: &Path) {
    let journal = open(root, state);
    fs::write(root.join("a"), OLD).unwrap();
    fs::write(root.join("large"), noise(TOO_MUCH)).unwrap();
    let before = snapshot(root);
    let Base::File { .. } = journal.base(&rel("large"), u64::MAX).unwrap().0 else { panic!() };
    let changes =
        [write(&journal, "a", b"new".to_vec()), write(&journal, "large", b"gone".to_vec())];
    let error = ToolError::from(journal.apply(&set(changes), &label("x")).unwrap_err());
    assert!(error.message.ends_with("state/journal: no space left on the disk"), "{error}");
    assert_eq!(snapshot(root), before);
    works(&journal, root);
}

fn read_only(root: &Path, state: &Path) {
    let journal = open(root, state);
    fs::write(root.join("a"), OLD).unwrap();
    let change = write(&journal, "a", b"new".to_vec());
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(root).status().unwrap();
    assert!(remounted.success());
    let error = ToolError::from(journal.apply(&set([change]), &label("x")).unwrap_err());
    let expected = (ErrorCode::PermissionDenied, "a is on a read-only file system");
    assert_eq!((error.code, &*error.message), expected);
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), OLD);
    let remounted = Command::new("mount").args(["-o", "remount,rw"]).arg(root).status().unwrap();
    assert!(remounted.success());
    works(&journal, root);
}

/// On a disk with room for the old and the new content, but not for what the change before has
/// replaced as well, one change can follow another at once.
fn room_for_two(root: &Path, state: &Path) {
    let journal = open(root, state);
    let content = |n: u8| [&[n], &*noise(NEARLY_HALF)].concat();
    fs::write(root.join("a"), content(0)).unwrap();
    let Change::Write { base: Base::File { size, mode, .. }, .. } = write(&journal, "a", vec![])
    else {
        panic!("no file")
    };
    let change = |n: u8| Change::Write {
        path: "a".into(),
        base: Base::File { hash: ContentHash::of(&content(n - 1)), size, mode },
        content: FileBytes(content(n)),
        mode: None,
    };
    // All made beforehand, so that one follows the other at once.
    let sets: Vec<_> = (1..ROOM_ROUNDS).map(|n| set([change(n)])).collect();
    sets.iter().for_each(|set| drop(journal.apply(set, &label("x")).unwrap()));
}

/// After the failure the same journal can change and undo.
fn works(journal: &Journal, root: &Path) {
    let before = snapshot(root);
    let change = write(journal, "a", b"after all".to_vec());
    journal.apply(&set([change]), &label("x")).unwrap();
    assert_eq!(fs::read(root.join("a")).unwrap(), b"after all");
    undo(journal, &UndoTarget::Last).unwrap();
    assert_eq!(snapshot(root), before);
}
