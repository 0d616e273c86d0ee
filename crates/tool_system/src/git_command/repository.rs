//! The repository of the project, and git run on it so that no file of the project can influence it.

use std::sync::{Arc, Mutex};

use protocol::{CommandSpec, ErrorCode, ProjectMode, ToolError, ToolResult};
use sandbox::{OutputChunk, Stream};
use workspace::{EntryKind, Workspace};

use super::diff::{DiffPage, DiffReader, DiffWindow};
use super::settings::{SETTINGS, overrides};
use super::{LOOK_MS, printed, whole_text};
use crate::ToolContext;
use crate::locked::locked;

/// Variables that keep git away from everything but this repository.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    // Commits that stand for others would be shown in their place.
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
];
/// Where git looks for programs, besides the directory that it lies in itself.
const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin";
/// What git writes to, or believes; a link in its place would lead that elsewhere.
const NO_LINKS: [&str; 13] = [
    ".git/HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/index",
    ".git/info",
    ".git/logs",
    ".git/logs/HEAD",
    ".git/logs/refs",
    ".git/logs/refs/heads",
    ".git/objects",
    ".git/packed-refs",
    ".git/refs",
    ".git/refs/heads",
];
/// The most that is read of a file that says where the repository is.
const MAX_LINK_BYTES: u64 = 8 * 1024;

/// Git, by its whole path, with a fixed environment and with settings that stand above those of the
/// repository.
pub(crate) struct Git {
    program: String,
    variables: Vec<(String, String)>,
    settings: Vec<(String, String)>,
    is_confined: bool,
}

impl Git {
    /// Git on the project's repository, of whose own settings those that name programs hold no more.
    pub(crate) async fn open(cx: &ToolContext) -> Result<Git, ToolError> {
        let mut git = Git::at(cx)?;
        let listed = look(cx, git.looking(["config", "--list", "--name-only", "-z"])).await?;
        let level = listed["sandbox"].as_str().unwrap_or_default();
        git.is_confined = !level.contains("NOT CONFINED");
        let names = whole_text(&listed, "the settings of the repository")?;
        let names = names.split('\0').filter(|name| !name.is_empty());
        git.settings.extend(overrides(names).into_iter().map(|(name, to)| (name, to.to_owned())));
        Ok(git)
    }

    /// Git on the project's repository with its own settings but for those that are always taken
    /// back. For commands that only look.
    pub(crate) fn at(cx: &ToolContext) -> Result<Git, ToolError> {
        check_place(cx.workspace())?;
        let missing = || {
            ToolError::new(ErrorCode::ExecutionError, "git is not installed")
                .suggest("Git must be installed in a system directory, such as /usr/bin.")
        };
        let program = program("git").ok_or_else(missing)?;
        let root = cx.workspace().canonical_path().to_str().ok_or_else(|| {
            let message = "the path of the project is not UTF-8";
            ToolError::new(ErrorCode::ExecutionError, message)
        })?;
        let directory = program.rsplit_once('/').map_or("/usr/bin", |(directory, _)| directory);
        let mut variables = vec![
            ("PATH".to_owned(), format!("{directory}:{PROGRAMS}")),
            ("GIT_DIR".to_owned(), format!("{root}/.git")),
            ("GIT_WORK_TREE".to_owned(), root.to_owned()),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        variables.extend(VARIABLES.map(owned));
        let settings = SETTINGS.map(owned).to_vec();
        Ok(Git { program, variables, settings, is_confined: true })
    }

    /// Whether it has private directories to work in.
    pub(crate) fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// The words of a command.
    pub(crate) fn argv(
        &self,
        arguments: impl IntoIterator<Item = impl Into<String>>,
    ) -> Vec<String> {
        self.argv_with(&[], arguments)
    }

    /// The words of a command that sees these variables as well.
    pub(crate) fn argv_with(
        &self,
        more: &[(&str, &str)],
        arguments: impl IntoIterator<Item = impl Into<String>>,
    ) -> Vec<String> {
        let assigned = |name: &str, value: &str| format!("{name}={value}");
        let mut argv = vec![program("env").unwrap_or_else(|| "/usr/bin/env".to_owned())];
        argv.extend(self.variables.iter().map(|(name, value)| assigned(name, value)));
        argv.extend(more.iter().map(|(name, value)| assigned(name, value)));
        argv.push(assigned("GIT_CONFIG_COUNT", &self.settings.len().to_string()));
        for (index, (name, value)) in self.settings.iter().enumerate() {
            argv.push(format!("GIT_CONFIG_KEY_{index}={name}"));
            argv.push(format!("GIT_CONFIG_VALUE_{index}={value}"));
        }
        argv.extend([self.program.clone(), "--no-pager".to_owned()]);
        argv.extend(arguments.into_iter().map(Into::into));
        argv
    }

    /// A command that looks at the repository as it is and cannot change it.
    pub(crate) fn looking(
        &self,
        arguments: impl IntoIterator<Item = impl Into<String>>,
    ) -> CommandSpec {
        CommandSpec { project: ProjectMode::Live, ..command(self.argv(arguments)) }
    }
}

/// A command that changes the repository's own directory and nothing else; the user is told what it
/// does in these words.
pub(crate) fn changing(argv: Vec<String>, shown: String) -> CommandSpec {
    CommandSpec {
        project: ProjectMode::Live,
        writable: vec![".git".into()],
        shown: Some(shown),
        ..command(argv)
    }
}

fn command(argv: Vec<String>) -> CommandSpec {
    let working_dir = ".".into();
    CommandSpec { argv, working_dir, timeout_ms: LOOK_MS, ..CommandSpec::default() }
}

/// A program of the system by its whole path, as text.
pub(crate) fn program(name: &str) -> Option<String> {
    sandbox::system_program(name)?.to_str().map(str::to_owned)
}

/// The report on a command that only looks.
pub(crate) async fn look(cx: &ToolContext, spec: CommandSpec) -> ToolResult {
    cx.runner()?.peek(spec, cx).await
}

/// What `git diff --numstat --patch` prints, however long it is.
pub(crate) async fn look_at_diff(
    cx: &ToolContext,
    spec: CommandSpec,
    window: DiffWindow,
) -> Result<DiffPage, ToolError> {
    let reader = Arc::new(Mutex::new(DiffReader::new(window)));
    let reading = Arc::clone(&reader);
    let take = move |chunk: OutputChunk<'_>| {
        if chunk.stream == Stream::Stdout {
            locked(&reading).take(chunk.bytes);
        }
    };
    let ran = cx.runner()?.peek_through(spec, cx, take).await?;
    printed(&ran)?;
    let read = std::mem::replace(&mut *locked(&reader), DiffReader::new(window));
    Ok(read.finish())
}

/// Whether the project is a repository.
pub(crate) fn has_repository(project: &Workspace) -> bool {
    kind_of(project, ".git").is_some()
}

/// What lies there itself, if anything.
pub(super) fn kind_of(project: &Workspace, path: &str) -> Option<EntryKind> {
    let path = project.resolve(path).ok()?;
    project.metadata(&path).ok().map(|meta| meta.kind)
}

/// The repository has to be the project's own: a directory that holds all of it, or that of a
/// repository elsewhere of which the project is a worktree. (Of these, the sandbox shows only one that
/// names the project in turn.)
fn check_place(project: &Workspace) -> Result<(), ToolError> {
    let refused = |why: &str| {
        let message = format!("the repository is not the project's own: {why}");
        Err(ToolError::new(ErrorCode::PermissionDenied, message)
            .suggest("Ask the user to look at .git; such a repository is not used."))
    };
    match kind_of(project, ".git") {
        None => Err(ToolError::new(
            ErrorCode::ExecutionError,
            "the project is not a git repository",
        )
        .suggest(
            "Git sees only the project: the repository's .git must be in the project's root.",
        )),
        Some(EntryKind::Directory) if kind_of(project, ".git/commondir").is_some() => {
            refused("`.git/commondir` leads to another one")
        }
        Some(EntryKind::Directory) => {
            let is_link = |path: &&&str| kind_of(project, path) == Some(EntryKind::Symlink);
            match NO_LINKS.iter().find(is_link) {
                Some(link) => refused(&format!("`{link}` is a link")),
                None => Ok(()),
            }
        }
        Some(EntryKind::File) if leads_inside(project) => {
            refused("`.git` is a file that leads to a directory of the project")
        }
        Some(EntryKind::File) => Ok(()),
        Some(_) => refused("`.git` is neither a directory nor a file"),
    }
}

/// Whether the file `.git` names something within the project.
fn leads_inside(project: &Workspace) -> bool {
    let named = || {
        let link = project.resolve(".git").ok()?;
        let bytes = project.open_file(&link).ok()?.read_all(MAX_LINK_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.strip_prefix("gitdir:")?.lines().next()?.trim().to_owned())
    };
    let root = project.canonical_path();
    // One that cannot be read is not a worktree's.
    named().is_none_or(|named| {
        let inside =
            |name: &str| project.resolve(name).is_ok_and(|path| project.metadata(&path).is_ok());
        inside(&named) || std::path::Path::new(&named).starts_with(root)
    })
}
