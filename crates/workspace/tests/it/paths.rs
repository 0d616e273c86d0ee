//! What a path may and may not reach, with both ways of resolving.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use protocol::ToolError;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use workspace::{EntryKind, Error, RelPath, Workspace};

use crate::tree::{SECRET, Tree, rel};

fn hostile_tree() -> Tree {
    let tree = Tree::with(&[
        ("src/main.rs", "fn main() {}"),
        ("src/deep/inner.rs", "inner"),
        ("file.txt", "plain"),
    ]);
    tree.link("inside", "src/main.rs");
    tree.link("inside-dir", "src");
    tree.link("src/up-and-down", "../src/deep/../main.rs");
    tree.link("dot", ".");
    tree.link("src/parent", "..");
    tree.link("chain-1", "chain-2");
    tree.link("chain-2", "inside");
    tree.link("out-file", "../outside/secret");
    tree.link("out-dir", "../outside");
    tree.link("out-absolute", tree.outside().join("secret"));
    tree.link("out-chain", "chain-out");
    tree.link("chain-out", "src/out-up");
    tree.link("src/out-up", "../../outside/secret");
    tree.link("back-absolute", tree.path("src/main.rs"));
    tree.link("out-and-back", "../project/src/main.rs");
    tree.link("proc-root", "/proc/self/root/etc/passwd");
    tree.link("loop-a", "loop-b");
    tree.link("loop-b", "loop-a");
    tree.link("loop-self", "loop-self");
    tree.link("dangling", "nowhere");
    tree
}

fn read(workspace: &Workspace, text: &str) -> Result<String, Error> {
    let path = workspace.resolve(text)?;
    let bytes = workspace.open_file(&path)?.read_all(1000)?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn code(error: Error) -> &'static str {
    ToolError::from(error).code.as_str()
}

#[test]
fn a_capable_kernel_resolves_by_itself() {
    let [native, walk] = Tree::new().open_both_ways();
    assert_eq!(walk.resolver_name(), "component walk");
    assert!(["openat2", "component walk"].contains(&native.resolver_name()));
}

#[test]
fn paths_that_stay_inside_are_read() {
    let tree = hostile_tree();
    let table = [
        ("src/main.rs", "fn main() {}"),
        ("./src//main.rs", "fn main() {}"),
        ("src/../file.txt", "plain"),
        ("inside", "fn main() {}"),
        ("inside-dir/deep/inner.rs", "inner"),
        ("src/up-and-down", "fn main() {}"),
        ("chain-1", "fn main() {}"),
        ("dot/dot/file.txt", "plain"),
        ("src/parent/file.txt", "plain"),
        ("src/parent/src/parent/src/main.rs", "fn main() {}"),
    ];
    for workspace in tree.open_both_ways() {
        for (path, content) in table {
            assert_eq!(read(&workspace, path).unwrap(), content, "{path}");
        }
    }
}

#[test]
fn paths_that_leave_are_refused() {
    let tree = hostile_tree();
    let long_name = "n".repeat(300);
    let deep = "d/".repeat(2000);
    let climb = format!("{}../outside/secret", "src/../".repeat(50));
    let table: &[(&str, &str)] = &[
        ("../outside/secret", "INVALID_PATH"),
        ("src/../../outside/secret", "INVALID_PATH"),
        (&climb, "INVALID_PATH"),
        ("/etc/passwd", "INVALID_PATH"),
        ("\\x2Fetc/passwd", "INVALID_PATH"),
        ("out-file", "INVALID_PATH"),
        ("out-dir/secret", "INVALID_PATH"),
        ("out-absolute", "INVALID_PATH"),
        ("out-chain", "INVALID_PATH"),
        // An absolute link is refused even if it points back inside, and so is leaving and
        // coming back: only resolution beneath the root is trusted.
        ("back-absolute", "INVALID_PATH"),
        ("out-and-back", "INVALID_PATH"),
        ("proc-root", "INVALID_PATH"),
        ("loop-a", "INVALID_PATH"),
        ("loop-self/x", "INVALID_PATH"),
        ("a\0b", "INVALID_PATH"),
        ("", "INVALID_PATH"),
        (&long_name, "INVALID_PATH"),
        (&deep, "FILE_NOT_FOUND"),
        ("dangling", "FILE_NOT_FOUND"),
        ("nothing", "FILE_NOT_FOUND"),
        ("file.txt/x", "FILE_NOT_FOUND"),
        ("src", "NOT_A_FILE"),
        (".", "NOT_A_FILE"),
        ("inside-dir", "NOT_A_FILE"),
    ];
    for workspace in tree.open_both_ways() {
        for (path, expected) in table {
            let error = read(&workspace, path).expect_err(path);
            assert!(!error.to_string().contains(SECRET));
            assert_eq!(code(error), *expected, "{path} by {}", workspace.resolver_name());
        }
    }
}

#[test]
fn directories_follow_the_same_rules() {
    let tree = hostile_tree();
    let table = [
        ("out-dir", "INVALID_PATH"),
        ("proc-root", "INVALID_PATH"),
        ("loop-a", "INVALID_PATH"),
        ("file.txt", "NOT_A_DIRECTORY"),
        ("inside", "NOT_A_DIRECTORY"),
        ("file.txt/x", "FILE_NOT_FOUND"),
        ("nothing", "FILE_NOT_FOUND"),
    ];
    for workspace in tree.open_both_ways() {
        for (path, expected) in table {
            assert_eq!(code(workspace.open_dir(&rel(path)).unwrap_err()), expected, "{path}");
        }
        for path in [".", "src", "inside-dir", "src/parent", "dot"] {
            workspace.open_dir(&rel(path)).unwrap();
        }
    }
}

#[test]
fn many_links_in_a_row_are_refused_at_the_same_number() {
    let tree = Tree::with(&[("l0", "end")]);
    for n in 1..=50 {
        tree.link(&format!("l{n}"), format!("l{}", n - 1));
    }
    for workspace in tree.open_both_ways() {
        assert_eq!(read(&workspace, "l40").unwrap(), "end");
        assert_eq!(code(read(&workspace, "l41").unwrap_err()), "INVALID_PATH");
    }
}

#[test]
fn things_that_are_no_files_are_named_and_never_block() {
    let tree = Tree::new();
    mknodat(CWD, tree.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = UnixListener::bind(tree.path("socket")).unwrap();
    tree.link("pipe-link", "pipe");
    let null = rustix::fs::makedev(1, 3);
    let device = mknodat(CWD, tree.path("null"), FileType::CharacterDevice, Mode::RWXU, null);
    let mut table = vec![
        ("pipe", EntryKind::Fifo),
        ("pipe-link", EntryKind::Fifo),
        ("socket", EntryKind::Socket),
    ];
    // Only a privileged user may make a device.
    if device.is_ok() {
        table.push(("null", EntryKind::Device));
    }
    for workspace in tree.open_both_ways() {
        for (path, kind) in &table {
            match workspace.open_file(&rel(path)) {
                Err(Error::NotAFile { kind: found, .. }) => assert_eq!(found, *kind),
                // A file system mounted without devices refuses the open itself.
                Err(Error::PermissionDenied { .. }) if *kind == EntryKind::Device => {}
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}

#[test]
fn absolute_spellings_of_the_root_are_a_convenience() {
    let tree = hostile_tree();
    let alias = tree.outside().join("alias");
    std::os::unix::fs::symlink(tree.root(), &alias).unwrap();
    let workspace = Workspace::open(&alias).unwrap();
    assert_eq!(workspace.given_path(), alias);
    assert_eq!(workspace.canonical_path(), tree.root().canonicalize().unwrap());
    for root in [workspace.given_path(), workspace.canonical_path()] {
        let root = root.to_str().unwrap();
        let resolve = |tail: &str| workspace.resolve(&format!("{root}{tail}"));
        assert_eq!(resolve("/src/main.rs").unwrap(), rel("src/main.rs"));
        assert_eq!(resolve("").unwrap(), RelPath::root());
        assert_eq!(resolve("/").unwrap(), RelPath::root());
        assert_eq!(code(resolve("x/src").unwrap_err()), "INVALID_PATH");
        assert_eq!(code(resolve("/../outside/secret").unwrap_err()), "INVALID_PATH");
    }
}

#[test]
fn the_root_stays_the_directory_that_was_opened() {
    let tree = Tree::with(&[("a", "first")]);
    for workspace in tree.open_both_ways() {
        let moved = tree.outside().join("moved");
        fs::rename(tree.root(), &moved).unwrap();
        fs::create_dir(tree.root()).unwrap();
        assert_eq!(read(&workspace, "a").unwrap(), "first");
        fs::remove_dir(tree.root()).unwrap();
        fs::rename(&moved, tree.root()).unwrap();
    }
}

#[test]
fn a_root_must_be_a_directory() {
    let tree = Tree::with(&[("file", "")]);
    assert_eq!(code(Workspace::open(&tree.path("file")).unwrap_err()), "NOT_A_DIRECTORY");
    assert_eq!(code(Workspace::open(&tree.path("none")).unwrap_err()), "FILE_NOT_FOUND");
}

#[test]
fn metadata_describes_the_thing_itself() {
    let tree = hostile_tree();
    for workspace in tree.open_both_ways() {
        let kind = |path: &str| workspace.metadata(&rel(path)).map(|meta| meta.kind);
        assert_eq!(kind("file.txt").unwrap(), EntryKind::File);
        assert_eq!(kind(".").unwrap(), EntryKind::Directory);
        assert_eq!(kind("out-file").unwrap(), EntryKind::Symlink);
        assert_eq!(kind("loop-a").unwrap(), EntryKind::Symlink);
        assert_eq!(kind("inside-dir/main.rs").unwrap(), EntryKind::File);
        assert_eq!(code(kind("out-dir/secret").unwrap_err()), "INVALID_PATH");

        let meta = workspace.metadata(&rel("file.txt")).unwrap();
        assert_eq!((meta.size, meta.nlink), (5, 1));
        let on_disk = fs::metadata(tree.path("file.txt")).unwrap().modified().unwrap();
        assert_eq!(meta.modified, on_disk);

        assert_eq!(workspace.read_link(&rel("out-file")).unwrap(), b"../outside/secret");
        assert!(workspace.read_link(&rel("file.txt")).is_err());
        assert_eq!(code(workspace.read_link(&rel("none")).unwrap_err()), "FILE_NOT_FOUND");
    }
}

#[test]
fn names_that_are_not_unicode_are_read_by_their_text() {
    let tree = Tree::new();
    let name = OsStr::from_bytes(b"caf\xE9\\x41\n");
    fs::write(tree.root().join(Path::new(name)), "latin").unwrap();
    for workspace in tree.open_both_ways() {
        let listing = workspace.list_dir(&RelPath::root(), true).unwrap();
        let text = listing.path_of(&listing.entries[0]).to_text();
        assert_eq!(text, "caf\\xE9\\x5Cx41\\x0A");
        assert_eq!(read(&workspace, &text).unwrap(), "latin");
    }
}

#[test]
fn near_misses_are_suggested() {
    let tree = Tree::with(&[
        ("README.md", ""),
        ("src/parser/mod.rs", ""),
        ("src/lexer.rs", ""),
        ("src/main.rs", ""),
    ]);
    let workspace = tree.open();
    let similar = |path: &str| -> Vec<String> {
        workspace.similar(&rel(path)).iter().map(RelPath::to_text).collect()
    };
    assert_eq!(similar("readme.md"), ["README.md"]);
    assert_eq!(similar("src/lexr.rs"), ["src/lexer.rs"]);
    assert_eq!(similar("src/main.py"), ["src/main.rs"]);
    assert_eq!(similar("srcs/main.rs"), ["src/main.rs"]);
    assert_eq!(similar("src/parsre/mod.rs"), ["src/parser/mod.rs"]);
    assert_eq!(similar("src/parsers/none.rs"), ["src/parser"]);
    assert!(similar("completely/different").is_empty());
    assert!(similar(".").is_empty());
}

#[test]
fn a_path_is_followed_to_what_it_changes_and_a_link_is_named_by_itself() {
    let tree = hostile_tree();
    tree.link("src/back-dir", tree.path("src"));
    tree.link("deep-dangling", "new/dir/file");
    // The path, where it leads, the entry that it names, and the name that it is judged by; nothing
    // where it is refused.
    let table = [
        ("src/main.rs", "src/main.rs", "src/main.rs", "src/main.rs"),
        ("nothing/x", "nothing/x", "nothing/x", "nothing/x"),
        ("inside", "src/main.rs", "inside", "src/main.rs"),
        ("chain-1", "src/main.rs", "chain-1", "src/main.rs"),
        ("inside-dir", "src", "inside-dir", "src"),
        ("inside-dir/up-and-down", "src/main.rs", "src/up-and-down", "src/main.rs"),
        ("dot/src/parent/file.txt", "file.txt", "file.txt", "file.txt"),
        ("dot", ".", "dot", "dot"),
        ("dangling", "nowhere", "dangling", "nowhere"),
        ("deep-dangling", "new/dir/file", "deep-dangling", "new/dir/file"),
        ("out-file", "", "out-file", "out-file"),
        ("out-chain", "", "out-chain", "out-chain"),
        ("back-absolute", "", "back-absolute", "back-absolute"),
        ("loop-a", "", "loop-a", "loop-a"),
        ("inside-dir/out-up", "", "src/out-up", "src/out-up"),
        ("out-dir/secret", "", "", ""),
        ("src/back-dir/main.rs", "", "", ""),
        ("loop-self/x", "", "", ""),
    ];
    for workspace in tree.open_both_ways() {
        for (path, leads_to, entry, judged) in table {
            let path = rel(path);
            let text = |found: Result<RelPath, Error>| {
                found.map_or_else(|_| String::new(), |found| found.to_text())
            };
            assert_eq!(text(workspace.follow_links(&path)), leads_to, "{path}");
            assert_eq!(text(workspace.follow_directories(&path)), entry, "{path}");
            assert_eq!(text(workspace.without_links(&path)), judged, "{path}");
        }
    }
}

#[test]
fn a_directory_is_told_from_another_that_came_to_its_path() {
    let tree = Tree::new();
    let path = tree.root().join("project");
    fs::create_dir(&path).unwrap();
    let identity = || Workspace::open(&path).unwrap().identity().unwrap();
    let first = identity();
    fs::write(path.join("a"), "x").unwrap();
    assert_eq!(identity(), first);
    fs::rename(&path, tree.root().join("former")).unwrap();
    fs::create_dir(&path).unwrap();
    assert_ne!(identity(), first);
}
