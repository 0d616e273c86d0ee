//! What hosts can read of a project over MCP.

use std::sync::Arc;

use async_trait::async_trait;
use mcp::{FileVersion, ProjectResources, ResourceFile};
use protocol::{ContentHash, ErrorCode, ToolCall, ToolError, unified};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::execution::job;
use tool_system::{History, ProjectTools, ToolExecutor};
use workspace::{EntryKind, Flow, RelPath, WalkEntry, WalkOptions, Workspace};

/// Bytes of a file that is shown as a whole. A host hands it to a model as it is, so a larger one is to be
/// read in parts, by a tool.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Files of a list. Those beyond are found by tools.
const MAX_FILES: usize = 200_000;

/// A project, read through its confined handle.
pub(crate) struct ShownProject {
    workspace: Arc<Workspace>,
    root: String,
    history: Option<History>,
    session: String,
    executor: Arc<ToolExecutor>,
}

impl ShownProject {
    /// The project of these tools; `executor` runs its calls.
    pub(crate) fn new(tools: &ProjectTools, executor: &Arc<ToolExecutor>) -> Self {
        let workspace = Arc::clone(tools.code.workspace());
        Self {
            root: workspace.canonical_path().to_string_lossy().into_owned(),
            workspace,
            history: tools.options.history.clone(),
            session: executor.session().to_owned(),
            executor: Arc::clone(executor),
        }
    }
}

#[async_trait]
impl ProjectResources for ShownProject {
    fn root(&self) -> &str {
        &self.root
    }

    async fn files(
        &self,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<ResourceFile>, ToolError> {
        let (workspace, after) = (Arc::clone(&self.workspace), after.map(str::to_owned));
        blocking(move || {
            let mut paths = paths(&workspace)?;
            paths.sort_unstable();
            let first = after.map_or(0, |after| paths.partition_point(|(path, _)| *path <= after));
            let page = paths.into_iter().skip(first).take(most);
            // A file that has gone since is not listed.
            let listed = page.filter_map(|(path, own)| {
                let size = workspace.metadata(&own).ok()?.size;
                Some(ResourceFile { path, size })
            });
            Ok(listed.collect())
        })
        .await
    }

    async fn file(&self, path: &str) -> Result<Vec<u8>, ToolError> {
        let (workspace, path) = (Arc::clone(&self.workspace), path.to_owned());
        blocking(move || {
            let path = workspace.resolve(&path)?;
            Ok(workspace.open_file(&path)?.read_all(MAX_FILE_BYTES)?)
        })
        .await
    }

    async fn file_version(&self, path: &str) -> Option<FileVersion> {
        let (workspace, path) = (Arc::clone(&self.workspace), path.to_owned());
        let looked = blocking(move || {
            let path = workspace.resolve(&path)?;
            // Opened, since a link changes with what it leads to.
            let meta = workspace.open_file(&path)?.meta;
            let known = (meta.dev, meta.ino, meta.size, meta.modified, meta.changed);
            let hash = ContentHash::of(format!("{known:?}").as_bytes());
            Ok(FileVersion { hash, changed: meta.changed })
        });
        looked.await.ok()
    }

    async fn changes(&self) -> Result<String, ToolError> {
        let Some(history) = self.history.clone() else { return Ok(String::new()) };
        let session = self.session.clone();
        blocking(move || {
            let diff = history.session_diff(&session)?;
            let notes = diff.notes.iter().map(|note| format!("# {note}\n"));
            Ok(notes.chain([unified(&diff.files)]).collect())
        })
        .await
    }

    async fn job(&self, id: &str) -> Result<String, ToolError> {
        let arguments = json!({"action": "output", "id": id});
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("resource", job::NAME, arguments);
        let looked = self.executor.execute_tool(&call, &CancellationToken::new()).await?;
        Ok(looked["output"].as_str().unwrap_or_default().to_owned())
    }
}

/// The files that searches see, with their paths as text.
fn paths(workspace: &Workspace) -> Result<Vec<(String, RelPath)>, ToolError> {
    let options = WalkOptions { max_entries: MAX_FILES, ..WalkOptions::default() };
    let (_, found) = workspace.walk(&options, &|| false, FoundFiles::default)?;
    Ok(found.into_iter().flat_map(|found| found.0).collect())
}

#[derive(Default)]
struct FoundFiles(Vec<(String, RelPath)>);

impl workspace::Visitor for FoundFiles {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        if entry.kind() == EntryKind::File {
            let path = entry.path();
            self.0.push((path.to_text(), path));
        }
        Flow::Continue
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError::new(ErrorCode::Internal, error.to_string())))
}
