//! The files of a commit on disk, changed from one commit to the next.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::bench::corpus::git;
use crate::fetch::output;

/// Larger files are left out: no search looks into them.
const MAX_BYTES: u64 = 1024 * 1024;

/// A directory with the files of one commit.
pub(crate) struct Tree {
    root: PathBuf,
    mirror: PathBuf,
    /// The content of each file, by git's name for it.
    held: BTreeMap<String, String>,
    blobs: Blobs,
}

impl Tree {
    /// An empty directory at `root`.
    pub(crate) fn new(root: PathBuf, mirror: &Path) -> Result<Tree> {
        if root.exists() {
            fs::remove_dir_all(&root).context("cannot empty the directory for a tree")?;
        }
        fs::create_dir_all(&root)?;
        let blobs = Blobs::open(mirror)?;
        Ok(Tree { root, mirror: mirror.to_owned(), held: BTreeMap::new(), blobs })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The files by path, each with git's name for its content.
    pub(crate) fn files(&self) -> &BTreeMap<String, String> {
        &self.held
    }

    /// Makes the directory what it was at `commit`. Links, submodules, large files and what the
    /// mirror lacks are left out.
    pub(crate) fn check_out(&mut self, commit: &str) -> Result<()> {
        let listed = output(git(&self.mirror).args(["ls-tree", "-r", "-z", "-l", commit]))?;
        let wanted = listed_files(&String::from_utf8_lossy(&listed));
        let gone = self.held.iter().filter(|(path, id)| wanted.get(*path) != Some(*id));
        let gone: Vec<String> = gone.map(|(path, _)| path.clone()).collect();
        for path in gone {
            fs::remove_file(self.root.join(&path)).with_context(|| format!("remove {path}"))?;
            self.held.remove(&path);
        }
        for (path, id) in wanted {
            if self.held.contains_key(&path) {
                continue;
            }
            let Some(content) = self.blobs.read(&id)? else { continue };
            let place = self.root.join(&path);
            if let Some(directory) = place.parent() {
                // A file may have become a directory; an empty directory, a file.
                fs::create_dir_all(directory)?;
            }
            if place.is_dir() {
                fs::remove_dir_all(&place)?;
            }
            fs::write(&place, content).with_context(|| format!("write {path}"))?;
            self.held.insert(path, id);
        }
        Ok(())
    }
}

/// The files of `ls-tree -r -z -l` by path.
fn listed_files(listed: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in listed.split('\0') {
        let Some((facts, path)) = entry.split_once('\t') else { continue };
        let facts: Vec<&str> = facts.split_whitespace().collect();
        let [mode, "blob", id, size] = facts[..] else { continue };
        let is_small = size.parse::<u64>().is_ok_and(|size| size <= MAX_BYTES);
        if mode.starts_with("100") && is_small {
            files.insert(path.to_owned(), id.to_owned());
        }
    }
    files
}

/// Contents by git's names for them, read by one process.
struct Blobs {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Blobs {
    fn open(mirror: &Path) -> Result<Blobs> {
        let mut command = git(mirror);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start git cat-file")?;
        let stdin = child.stdin.take().context("standard input is piped")?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        Ok(Blobs { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// The content; none if the mirror lacks it.
    fn read(&mut self, id: &str) -> Result<Option<Vec<u8>>> {
        writeln!(self.stdin, "{id}")?;
        let mut head = String::new();
        self.stdout.read_line(&mut head)?;
        let words: Vec<&str> = head.split_whitespace().collect();
        match words[..] {
            [_, "missing"] => Ok(None),
            [_, "blob", size] => {
                let mut content = vec![0; size.parse::<usize>()? + 1];
                self.stdout.read_exact(&mut content)?;
                content.pop();
                Ok(Some(content))
            }
            _ => bail!("git cat-file says `{}` about {id}", head.trim()),
        }
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // Both fail only for a process that has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_follows_its_commits() {
        let project = testkit::Fixture::new("//- /origin/a.rs\none\n//- /origin/d/b.rs\ntwo\n");
        let origin = project.path("origin");
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
            output(git(&origin).args(identity).args(arguments)).expect("git works")
        };
        run(&["init", "--quiet"]);
        run(&["add", "."]);
        run(&["commit", "--quiet", "-m", "first"]);
        fs::remove_dir_all(origin.join("d")).expect("it is there");
        fs::write(origin.join("d"), "three\n").expect("it can be written");
        fs::write(origin.join("a.rs"), "four\n").expect("it can be written");
        run(&["add", "--all", "."]);
        run(&["commit", "--quiet", "-m", "second"]);
        let mut tree = Tree::new(project.path("tree"), &origin).expect("an empty tree");
        let text = |path: &str| fs::read_to_string(project.path("tree").join(path)).ok();
        for _ in 0..2 {
            tree.check_out("HEAD").expect("the second commit");
            assert_eq!((text("a.rs"), text("d")), (Some("four\n".into()), Some("three\n".into())));
            tree.check_out("HEAD~1").expect("the first commit");
            assert_eq!(
                (text("a.rs"), text("d/b.rs")),
                (Some("one\n".into()), Some("two\n".into()))
            );
        }
        assert_eq!(tree.files().len(), 2);
    }

    #[test]
    fn only_ordinary_files_are_listed() {
        let listed = "100644 blob aa 12\ta.rs\x00120000 blob bb 3\tlink\x00160000 commit cc -\tsub\0\
                      100755 blob dd 99999999\tlarge\x00100644 blob ee BAD\tmissing\0";
        let files = listed_files(listed);
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [("a.rs".into(), "aa".into())]);
    }
}
