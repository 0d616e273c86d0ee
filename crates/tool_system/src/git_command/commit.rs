//! A commit, prepared before the approver is asked: which files, which difference, which bytes.
//!
//! The commit is made by git's own parts on an index of its own, so that nothing of the repository
//! runs and that a failure leaves index and HEAD as they were. What is proposed names the tree and the
//! commit by their hashes: if a file is written in between, neither comes into being, and the commit
//! fails.

use std::collections::BTreeSet;

use protocol::{CommandSpec, ErrorCode, ToolError};
use workspace::{EntryKind, RelPath};

use super::repository::{Git, changing, kind_of, look, program};
use super::{FileStat, pathspec, printed, stats_and_patch, whole_text};
use crate::ToolContext;
use crate::extensions::execution::bash;
use crate::extensions::version_control::git_commit;

/// Bytes of a message; a program takes no longer argument than 128 KiB.
const MAX_MESSAGE: usize = 64 * 1024;
/// Bytes of the difference that a user is shown.
const MAX_SHOWN_DIFF: usize = 24 * 1024;
/// Bytes of names that one program is given; many times as many would be refused.
const MAX_NAME_BYTES: usize = 64 * 1024;
/// Files that a user is shown by name.
const MAX_SHOWN_FILES: usize = 200;
/// The index that a commit is made from, in the private directory of the sandbox.
const INDEX: (&str, &str) = ("GIT_INDEX_FILE", "/tmp/index");
/// Files and directories that are there while something is going on that a commit would end or spoil.
const GOING_ON: [(&str, &str); 6] = [
    (".git/MERGE_HEAD", "a merge"),
    (".git/CHERRY_PICK_HEAD", "a cherry-pick"),
    (".git/REVERT_HEAD", "a revert"),
    (".git/rebase-merge", "a rebase"),
    (".git/rebase-apply", "a rebase"),
    (".git/index.lock", "another git command"),
];

/// A commit of `paths` as they are now, or of what is staged if there are none.
pub(crate) async fn prepare(
    cx: &ToolContext,
    message: &str,
    paths: &[RelPath],
) -> Result<CommandSpec, ToolError> {
    let message = tidied(message)?;
    let git = Git::open(cx).await?;
    if !git.is_confined() {
        let message = format!("{} works only where commands are confined", git_commit::NAME);
        return Err(ToolError::new(ErrorCode::SandboxUnavailable, message)
            .suggest(format!("Commit with {}; the user is asked.", bash::NAME)));
    }
    check_state(cx)?;
    let head = Head::read(cx, &git).await?;
    let mut making = Making { git: &git, head: &head, files: None };
    if !paths.is_empty() {
        making.files = Some(making.changed(cx, paths).await?);
    }
    let tree = making.tree(cx).await?;
    check_filters(cx, &git, &tree.files).await?;
    let object = head.object(&tree.hash, &message);
    let hashing = CommandSpec {
        stdin: Some(object),
        ..git.looking(["hash-object", "-t", "commit", "--stdin"])
    };
    let commit = printed(&look(cx, hashing).await?)?.trim().to_owned();
    let shown = shown(&head, &message, &tree);
    Ok(making.command(cx, (&tree.hash, &commit), &message, shown))
}

/// Where the commit goes, and by whom it is made.
struct Head {
    /// The commit that it follows; absent for the first.
    parent: Option<String>,
    branch: String,
    author: GitIdentity,
    committer: GitIdentity,
    /// Seconds and time zone, as git writes them.
    date: String,
}

struct GitIdentity {
    name: String,
    email: String,
}

impl Head {
    async fn read(cx: &ToolContext, git: &Git) -> Result<Head, ToolError> {
        let asking = CommandSpec {
            first: vec![
                git.argv(["var", "GIT_AUTHOR_IDENT"]),
                git.argv(["var", "GIT_COMMITTER_IDENT"]),
            ],
            stdin: Some("HEAD\n".to_owned()),
            ..git.looking(["cat-file", "--batch-check=%(objectname) %(objecttype)"])
        };
        let told = look(cx, asking).await?;
        let mut lines = printed(&told)?.lines();
        let mut next_identity = || lines.next().and_then(identity);
        let (author, committer) = (next_identity(), next_identity());
        let parent = lines.next().and_then(|line| line.strip_suffix(" commit")).map(str::to_owned);
        let (Some((author, _)), Some((committer, date))) = (author, committer) else {
            return Err(ToolError::new(ErrorCode::ExecutionError, "git does not say who commits"));
        };
        Ok(Head { parent, branch: branch(cx), author, committer, date })
    }

    /// The commit as it is stored.
    fn object(&self, tree: &str, message: &str) -> String {
        let parent = self.parent.iter().map(|parent| format!("parent {parent}\n"));
        let line_of = |role: &str, GitIdentity { name, email }: &GitIdentity| {
            format!("{role} {name} <{email}> {}\n", self.date)
        };
        let lines = parent.collect::<String>()
            + &line_of("author", &self.author)
            + &line_of("committer", &self.committer);
        format!("tree {tree}\n{lines}\n{message}\n")
    }
}

/// `Ada <ada@example.org> 1700000000 +0100`, taken apart.
fn identity(line: &str) -> Option<(GitIdentity, String)> {
    let (name, rest) = line.split_once(" <")?;
    let (email, date) = rest.rsplit_once("> ")?;
    Some((GitIdentity { name: name.to_owned(), email: email.to_owned() }, date.to_owned()))
}

/// `.git/HEAD` is one short line; anything longer is not one.
const MAX_HEAD_BYTES: u64 = 4096;

/// The branch, as the approver is shown it.
fn branch(cx: &ToolContext) -> String {
    let read = || {
        let path = cx.workspace().resolve(".git/HEAD").ok()?;
        let bytes = cx.workspace().open_file(&path).ok()?.read_all(MAX_HEAD_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        text.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
    };
    read().unwrap_or_else(|| "a detached HEAD".to_owned())
}

/// What a commit would hold.
struct Tree {
    hash: String,
    files: Vec<String>,
    stats: Vec<FileStat>,
    diff: String,
}

/// How a commit is made.
struct Making<'a> {
    git: &'a Git,
    head: &'a Head,
    /// What is taken from the working tree; none to commit what is staged.
    files: Option<Vec<String>>,
}

impl Making<'_> {
    /// The tree and what it changes, computed on a copy that is thrown away.
    async fn tree(&self, cx: &ToolContext) -> Result<Tree, ToolError> {
        // New objects are thrown away as well.
        let objects = format!("{}/.git/objects", cx.workspace().canonical_path().display());
        let aside = [
            INDEX,
            ("GIT_OBJECT_DIRECTORY", "/tmp"),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.as_str()),
        ];
        let plain =
            ["diff", "--cached", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
        let diff = |how: &[&str]| self.git.argv_with(&aside, plain.iter().chain(how).copied());
        let mut first = self.index_steps(cx, &aside);
        first.push(diff(&["--name-only", "-z"]));
        // The names end with an empty one.
        first.push(vec![system("printf"), "\\0".to_owned()]);
        let argv = diff(&["--numstat", "--patch"]);
        let report = look(cx, CommandSpec { first, argv, ..self.git.looking([""; 0]) }).await?;
        let tree = tree_of(printed(&report)?)?;
        if tree.files.is_empty() {
            let advice = "Name the files to commit as paths, or stage them first.";
            return Err(ToolError::new(ErrorCode::ExecutionError, "there is nothing to commit")
                .suggest(advice));
        }
        Ok(tree)
    }

    /// The files under `paths` that differ from the last commit.
    async fn changed(&self, cx: &ToolContext, paths: &[RelPath]) -> Result<Vec<String>, ToolError> {
        let specs: Vec<String> = paths.iter().map(pathspec).collect();
        let listing = |variables: &[(&str, &str)], words: &[&str], specs: &[String]| {
            let words = words.iter().map(|word| (*word).to_owned()).chain(["--".to_owned()]);
            self.git.argv_with(variables, words.chain(specs.iter().cloned()))
        };
        let known = ["ls-files", "--error-unmatch", "--cached", "--others", "--exclude-standard"];
        let argv = listing(&[], &known, &specs);
        printed(&look(cx, CommandSpec { argv, ..self.git.looking([""; 0]) }).await?)?;
        let mut first = self.start_index(cx, &[INDEX]);
        let differing =
            ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"];
        first.push(listing(&[INDEX], &differing, &specs));
        // A file that is ignored may be staged all the same.
        let staged = ["diff", "--cached", "--name-only", "-z", "--no-renames"];
        let argv = listing(&[], &staged, &specs);
        let told = look(cx, CommandSpec { first, argv, ..self.git.looking([""; 0]) }).await?;
        let names = whole_text(&told, "the names of the files")?;
        // With a slash at the end it is a repository of its own.
        let names = names.split('\0').filter(|name| !name.is_empty() && !name.ends_with('/'));
        let names: BTreeSet<&str> = names.collect();
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    /// Begins the index of a commit with what the last one holds.
    fn start_index(&self, cx: &ToolContext, variables: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut steps = copy_of_index(cx);
        steps.push(match &self.head.parent {
            // What is known of files that stay as they are is kept, so that they are not read.
            Some(parent) => self.git.argv_with(variables, ["read-tree", "--reset", parent]),
            None => self.git.argv_with(variables, ["read-tree", "--empty"]),
        });
        steps
    }

    /// Makes the index for the commit and its tree, whose hash is printed.
    fn index_steps(&self, cx: &ToolContext, variables: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut steps = match self.files {
            Some(_) => self.start_index(cx, variables),
            None => copy_of_index(cx),
        };
        steps.extend(self.updates(variables));
        steps.push(self.git.argv_with(variables, ["write-tree"]));
        steps
    }

    /// Takes the files into an index. This is not `git add`, which runs git in repositories within
    /// the project.
    fn updates(&self, variables: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut updates: Vec<Vec<String>> = Vec::new();
        let mut room = 0;
        for file in self.files.iter().flatten() {
            if room < file.len() {
                let words = ["update-index", "--add", "--remove", "--replace", "--"];
                updates.push(self.git.argv_with(variables, words));
                room = MAX_NAME_BYTES.max(file.len());
            }
            room -= file.len();
            updates.last_mut().into_iter().for_each(|update| update.push(file.clone()));
        }
        updates
    }

    /// The whole command: tree, commit, HEAD, and last of all the index.
    fn command(
        &self,
        cx: &ToolContext,
        hashes: (&str, &str),
        message: &str,
        shown: String,
    ) -> CommandSpec {
        let (tree, commit) = hashes;
        let Head { parent, author, committer, date, .. } = self.head;
        let date = format!("@{date}");
        let identity = [
            ("GIT_AUTHOR_NAME", author.name.as_str()),
            ("GIT_AUTHOR_EMAIL", &author.email),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_NAME", &committer.name),
            ("GIT_COMMITTER_EMAIL", &committer.email),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let mut committing = vec!["commit-tree", tree, "-m", message];
        committing.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        let before = parent.clone().unwrap_or_else(|| "0".repeat(tree.len()));
        let subject = message.lines().next().unwrap_or_default();
        let initial = if parent.is_none() { "commit (initial)" } else { "commit" };
        let note = format!("{initial}: {subject}");
        let mut first = self.index_steps(cx, &[INDEX]);
        first.push(self.git.argv_with(&identity, committing));
        first.push(
            self.git.argv_with(&identity, ["update-ref", "-m", &note, "HEAD", commit, &before]),
        );
        // From here on the commit is made.
        first.push(self.git.argv(["rev-parse", "--abbrev-ref", "HEAD"]));
        let telling = self.git.argv(["log", "-1", "--no-color", "--shortstat", "--format=%H"]);
        first.push(telling);
        first.extend(self.updates(&[]));
        let argv = first.pop().unwrap_or_default();
        CommandSpec { first, ..changing(argv, shown) }
    }
}

fn copy_of_index(cx: &ToolContext) -> Vec<Vec<String>> {
    let exists = kind_of(cx.workspace(), ".git/index").is_some();
    let copy = || [system("cp"), "--".into(), ".git/index".into(), INDEX.1.into()].to_vec();
    exists.then(copy).into_iter().collect()
}

/// A program of the system. Where there is none, the command fails with its name.
fn system(name: &str) -> String {
    program(name).unwrap_or_else(|| format!("/usr/bin/{name}"))
}

/// Reads the hash, the names and the difference.
fn tree_of(printed: &str) -> Result<Tree, ToolError> {
    let unreadable = || ToolError::new(ErrorCode::Internal, "git printed something unexpected");
    let (hash, rest) = printed.split_once('\n').ok_or_else(unreadable)?;
    let (names, diff) = match rest.strip_prefix('\0') {
        Some(diff) => ("", diff),
        None => rest.split_once("\0\0").ok_or_else(unreadable)?,
    };
    let files = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (stats, diff) = stats_and_patch(diff);
    Ok(Tree { hash: hash.to_owned(), files, stats, diff: diff.to_owned() })
}

/// A message as git would tidy it.
fn tidied(message: &str) -> Result<String, ToolError> {
    let lines: Vec<&str> = message.lines().map(str::trim_end).collect();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    let refused = |why: &str| Err(ToolError::new(ErrorCode::InvalidArguments, why.to_owned()));
    match text {
        text if text.is_empty() => refused("the message is empty"),
        text if text.contains('\0') => refused("the message holds a NUL character"),
        text if text.len() > MAX_MESSAGE => refused("the message is longer than 64 KiB"),
        text => Ok(text),
    }
}

/// Refuses to commit where the repository is elsewhere or something is going on in it.
fn check_state(cx: &ToolContext) -> Result<(), ToolError> {
    if kind_of(cx.workspace(), ".git") == Some(EntryKind::File) {
        let message = "the project is a worktree of a repository elsewhere, which is only read";
        return Err(
            ToolError::new(ErrorCode::PermissionDenied, message).suggest("Ask the user to commit.")
        );
    }
    let found = GOING_ON.iter().find(|(path, _)| kind_of(cx.workspace(), path).is_some());
    let Some((path, what)) = found else { return Ok(()) };
    let message = format!("{what} is in progress in the repository ({path} is there)");
    Err(ToolError::new(ErrorCode::Conflict, message).suggest("Ask the user to finish it first."))
}

/// Refuses files that a program would have to change before they are committed, such as those of Git
/// LFS: without the program, other bytes than the user means would be committed.
async fn check_filters(cx: &ToolContext, git: &Git, files: &[String]) -> Result<(), ToolError> {
    let stdin = files.iter().map(|file| format!("{file}\0")).collect();
    let asking = CommandSpec {
        stdin: Some(stdin),
        ..git.looking(["check-attr", "-z", "--stdin", "filter"])
    };
    let told = look(cx, asking).await?;
    let mut fields = printed(&told)?.split('\0');
    while let (Some(file), Some(_), Some(filter)) = (fields.next(), fields.next(), fields.next()) {
        if !matches!(filter, "unspecified" | "unset" | "set" | "") {
            let message = format!(
                "{file} goes through the filter `{filter}`, a program that is not run here"
            );
            return Err(ToolError::new(ErrorCode::PermissionDenied, message)
                .suggest("Ask the user to commit this file."));
        }
    }
    Ok(())
}

/// The commit in words.
fn shown(head: &Head, message: &str, tree: &Tree) -> String {
    let count = tree.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let mut text = format!("Commit {files} to {}\n\n", head.branch);
    for line in message.lines() {
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
    text.push('\n');
    for FileStat { path, added, removed } in tree.stats.iter().take(MAX_SHOWN_FILES) {
        match (added, removed) {
            (Some(added), Some(removed)) => text.push_str(&format!("{path} +{added} -{removed}\n")),
            _ => text.push_str(&format!("{path} (binary)\n")),
        }
    }
    if let Some(more @ 1..) = count.checked_sub(MAX_SHOWN_FILES) {
        text.push_str(&format!("… and {more} more files\n"));
    }
    text.push('\n');
    let fits = tree.diff.floor_char_boundary(MAX_SHOWN_DIFF);
    let end = if fits == tree.diff.len() {
        fits
    } else {
        tree.diff[..fits].rfind('\n').map_or(0, |at| at + 1)
    };
    text.push_str(&tree.diff[..end]);
    let left = tree.diff[end..].lines().count();
    if left > 0 {
        text.push_str(&format!("… {left} more lines of the diff are not shown\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_tidied_as_git_does() {
        assert_eq!(tidied("\n\nAdd a  \n\nWhy\t\n\n").unwrap(), "Add a\n\nWhy");
        for bad in ["", "\n \n", "a\0b"] {
            assert!(tidied(bad).is_err(), "{bad:?}");
        }
        assert!(tidied(&"x".repeat(MAX_MESSAGE + 1)).is_err());
    }

    #[test]
    fn names_end_where_an_empty_one_stands_whatever_the_difference_holds() {
        let tree = tree_of("12ab\na b\0c\0\0".to_owned().as_str()).unwrap();
        assert_eq!(
            (tree.hash.as_str(), tree.files.as_slice()),
            ("12ab", &["a b".to_owned(), "c".to_owned()][..])
        );
        let tree = tree_of("12ab\nx\0\x001\t0\tx\n\ndiff --git a/x b/x\n+\0\0\n").unwrap();
        assert_eq!((tree.files.len(), tree.stats.len()), (1, 1));
        assert!(tree.diff.ends_with("+\0\0\n"));
        assert!(tree_of("12ab\n\0").unwrap().files.is_empty());
        assert!(tree_of("12ab").is_err() && tree_of("12ab\nx\0").is_err());
    }

    #[test]
    fn an_identity_is_taken_apart_and_a_commit_put_together() {
        let (ada, date) = identity("Ada L <ada@example.org> 1700000000 +0100").unwrap();
        assert_eq!(
            (ada.name.as_str(), ada.email.as_str(), date.as_str()),
            ("Ada L", "ada@example.org", "1700000000 +0100")
        );
        let bob = GitIdentity { name: "Bob".into(), email: "b@x".into() };
        let head = Head {
            parent: Some("34cd".into()),
            branch: "main".into(),
            author: bob,
            committer: ada,
            date,
        };
        insta::assert_snapshot!(head.object("12ab", "Add a\n\nWhy"), @r"
        tree 12ab
        parent 34cd
        author Bob <b@x> 1700000000 +0100
        committer Ada L <ada@example.org> 1700000000 +0100

        Add a

        Why
        ");
    }
}
