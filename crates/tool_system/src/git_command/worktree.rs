//! Linked worktrees: another working tree of the project's repository, outside of the project.
//!
//! No sandbox can write both to the repository and to a directory elsewhere. So the repository gets to know the worktree
//! first, from within the project, and its files are written afterwards, from within the worktree, where the repository
//! can only be read.

use std::path::Path;

use protocol::{CommandSpec, ErrorCode, ProjectMode, ToolError};

use super::printed;
use super::repository::{Git, changing, look, program};
use crate::ToolContext;

/// Milliseconds that writing the files of a large project may take.
const FILL_MS: u64 = 300_000;
/// The index that the files are written from, in the private directory of the sandbox.
const INDEX: (&str, &str) = ("GIT_INDEX_FILE", "/tmp/index");

/// Has the repository know a worktree at `path`, with a branch that begins at the present commit, or that is there
/// already.
pub(crate) async fn add(
    cx: &ToolContext,
    name: &str,
    branch: &str,
    path: &Path,
) -> Result<(), ToolError> {
    let git = Git::open(cx).await?;
    let path = path.to_str().ok_or_else(|| {
        ToolError::new(ErrorCode::ExecutionError, "the path of the worktree is not UTF-8")
    })?;
    let full = format!("refs/heads/{branch}");
    let known = look(cx, git.looking(["for-each-ref", "--format=%(refname)", &full])).await?;
    // Git notes where it lies for a moment; the line below says where it really lies.
    let passing = format!("/tmp/{name}");
    let mut adding = vec!["worktree", "add", "--quiet", "--force", "--no-checkout"];
    match printed(&known)?.trim().is_empty() {
        true => adding.extend(["-b", branch, &passing, "HEAD"]),
        false => adding.extend([passing.as_str(), branch]),
    }
    let root = cx.workspace().canonical_path().display();
    let own = format!("{root}/.git/worktrees/{name}");
    let in_worktree = [("GIT_DIR", own.as_str()), ("GIT_WORK_TREE", passing.as_str())];
    let writing = program("tee").unwrap_or_else(|| "/usr/bin/tee".to_owned());
    let noting = vec![writing, format!(".git/worktrees/{name}/gitdir")];
    let spec = CommandSpec {
        first: vec![git.argv(adding), git.argv_with(&in_worktree, ["read-tree", "HEAD"])],
        stdin: Some(format!("{path}/.git\n")),
        ..changing(noting, format!("Add a worktree with the branch {branch}"))
    };
    printed(&look(cx, spec).await?)?;
    Ok(())
}

/// Writes the files of the commit that this project, a worktree, begins with.
pub(crate) async fn fill(cx: &ToolContext) -> Result<(), ToolError> {
    let git = Git::open(cx).await?;
    let spec = CommandSpec {
        first: vec![git.argv_with(&[INDEX], ["read-tree", "HEAD"])],
        argv: git.argv_with(&[INDEX], ["checkout-index", "--all", "--force", "--quiet"]),
        project: ProjectMode::Direct,
        timeout_ms: FILL_MS,
        ..git.looking([""; 0])
    };
    printed(&look(cx, spec).await?)?;
    Ok(())
}
