//! Projects that are worktrees of a repository elsewhere.

use std::path::Path;
use std::process::Command;

use sandbox::{Profile, Visible};

use crate::bench::{Bench, users};

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
    // The repositories belong to whom the test gave them.
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory");
    command.env("GIT_CONFIG_VALUE_0", "*").current_dir(directory);
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A repository with a commit.
fn repository(bench: &Bench, name: &str) -> std::path::PathBuf {
    let path = bench.outside(name);
    std::fs::create_dir(&path).expect("a directory");
    git(&path, &["init", "--quiet"]);
    std::fs::write(path.join("file"), "one\n").expect("a file");
    git(&path, &["add", "file"]);
    git(&path, &["commit", "--quiet", "--message=first"]);
    path
}

fn shown(root: &Path) -> Vec<Visible> {
    Profile::new(root, "/home/u").with_repository().visible
}

#[test]
fn the_repository_of_a_worktree_can_be_read_and_not_changed() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let main = repository(&bench, "main");
        let tree = bench.outside("tree");
        git(&main, &["worktree", "add", "--quiet", tree.to_str().expect("text")]);
        bench.own(&bench.outside(""));
        bench.profile.root = tree.clone();
        bench.profile = bench.profile.with_repository();
        std::fs::write(tree.join("file"), "two\n").expect("a file");
        let ran =
            bench.sh("git status --short -uno; git log --format=%s; git diff --stat; ls ../main");
        assert_eq!(
            ran["stdout"],
            " M file\nfirst\n file | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n",
            "{ran}"
        );
        let ran = bench.sh("git add file; echo x >> ../main/.git/config; git worktree prune");
        let errors = ran["stderr"].as_str().unwrap_or_default();
        assert!(errors.matches("Read-only file system").count() >= 2, "{ran}");
    }
}

/// A project may say that it belongs to any repository.
#[test]
fn a_repository_that_does_not_know_the_project_stays_hidden() {
    let bench = Bench::new(users()[0], "");
    let (main, other) = (repository(&bench, "main"), repository(&bench, "other"));
    let (tree, forged) = (bench.outside("tree"), bench.outside("forged"));
    git(&main, &["worktree", "add", "--quiet", tree.to_str().expect("text")]);
    let main = main.canonicalize().expect("it exists");
    let visible = shown(&tree);
    assert_eq!(visible.iter().map(|one| &one.path).collect::<Vec<_>>(), [&main.join(".git")]);
    std::fs::create_dir(&forged).expect("a directory");
    let claims =
        [main.join(".git/worktrees/tree"), main.join(".git"), other.join(".git"), "/etc".into()];
    for claim in claims {
        let text = format!("gitdir: {}\n", claim.display());
        std::fs::write(forged.join(".git"), text).expect("a file");
        assert_eq!(shown(&forged), [], "{}", claim.display());
    }
    assert_eq!(shown(&main), [], "a repository of its own lies in the project");
}
