//! What a running tool can use: the project, limits, events and images.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use code_index::CodeBase;
use net::WebUrl;
use protocol::{
    ActivityData, ActivityType, ContentHash, ErrorCode, Image, MessageHandle, ToolError,
    TraceContext,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use workspace::{RelPath, Workspace};

use crate::commands::Jobs;
use crate::executor::ExecutorState;
use crate::locked::locked;
use crate::result_store::{HANDLE_PREFIX, KeptText};
use crate::truncation::in_lines;
use crate::turn::RecordedAnswer;
use crate::web::is_named_in;
use crate::{AgentHost, CommandRunner, History, Limits, ListedTool, WebAccess};

/// What a tool sees during one call: the project, the limits, a way to show progress, and whether
/// the caller has cancelled. Cheap to clone into other threads.
#[derive(Clone)]
pub struct ToolContext {
    pub(crate) state: Arc<ExecutorState>,
    pub(crate) call_id: Arc<str>,
    pub(crate) tool: &'static str,
    pub(crate) cancel: CancellationToken,
    pub(crate) files_read: Arc<Mutex<Vec<(RelPath, ContentHash)>>>,
    /// What was saved of files whose unsaved text this call began with.
    pub(crate) saved_beneath: Arc<Mutex<HashMap<RelPath, ContentHash>>>,
    pub(crate) images: Arc<Mutex<Vec<Image>>>,
    pub(crate) found_tools: Arc<Mutex<Vec<String>>>,
}

impl ToolContext {
    pub(crate) fn new(
        state: &Arc<ExecutorState>,
        call_id: &Arc<str>,
        listed: &ListedTool,
        cancel: &CancellationToken,
    ) -> Self {
        Self {
            state: Arc::clone(state),
            call_id: Arc::clone(call_id),
            tool: listed.definition().name,
            cancel: cancel.clone(),
            files_read: Arc::default(),
            saved_beneath: Arc::default(),
            images: Arc::default(),
            found_tools: Arc::default(),
        }
    }

    /// The project's files.
    pub fn workspace(&self) -> &Arc<Workspace> {
        self.state.code.workspace()
    }

    /// The project as searches see it.
    pub fn code(&self) -> &Arc<CodeBase> {
        &self.state.code
    }

    /// The bounds to keep.
    pub fn limits(&self) -> &Limits {
        &self.state.options.limits
    }

    /// The caller's id for this call.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Fires when the caller withdraws the call.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The conversation that the call belongs to.
    pub fn agent_host(&self) -> Result<&dyn AgentHost, ToolError> {
        let message = "this session has no conversation, which the tool needs";
        let host = self.state.caller.agent_host.as_deref();
        host.ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, message))
    }

    /// The span of this call, for other programs that are called in it; none where nothing is traced.
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.state.caller.agent_host.as_deref()?.trace_context(&self.call_id)
    }

    /// What runs commands that only look.
    pub(crate) fn runner(&self) -> Result<Arc<CommandRunner>, ToolError> {
        self.state.performer()?.runner()
    }

    /// The way to the web, if the user lets tools reach it.
    pub(crate) fn web(&self) -> Result<Arc<WebAccess>, ToolError> {
        if !self.network() {
            let message = "the web cannot be reached: network access is switched off";
            return Err(ToolError::new(ErrorCode::ToolDisabled, message).suggest(
                "The user can allow it with `tools.network = true` in the configuration.",
            ));
        }
        self.state.performer()?.web()
    }

    /// Whether the conversation does not name an address, so that the model has made it up. Without a
    /// conversation it is not known.
    pub(crate) async fn is_unnamed(&self, url: &WebUrl) -> bool {
        let Some(host) = self.state.caller.agent_host.as_deref() else { return false };
        let url = url.clone();
        !host.was_told(Box::new(move |text| is_named_in(text, &url))).await
    }

    /// The commands that go on in the background.
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.state.jobs
    }

    /// Lets the model call these tools from its next request on.
    pub fn reveal(&self, names: impl IntoIterator<Item = String>) {
        locked(&self.found_tools).extend(names);
    }

    /// Whether the user lets code reach the network.
    pub fn network(&self) -> bool {
        self.state.options.network
    }

    /// Whether the caller has withdrawn the call.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Publishes a piece of output as an event. Never waits.
    pub fn output(&self, chunk: &str) {
        let data = || ActivityData::ToolOutputChunk { chunk: chunk.into() };
        self.state.activity.emit(&self.call_id, ActivityType::ToolOutputChunk, data);
    }

    /// Says that the model gets to see `path` with this content. A file is known by its own path,
    /// whatever link it was read through.
    pub fn note_read(&self, path: &RelPath, content: ContentHash) {
        let real = self.workspace().follow_links(path);
        self.state.files.note(real.as_ref().unwrap_or(path), content);
        locked(&self.files_read).push((path.clone(), content));
    }

    /// Shows an image with the answer, unless that shows as many as it may; says whether it does. The
    /// answer says in words what the image is, since not every model can see images.
    pub fn show(&self, image: Image) -> bool {
        let mut images = locked(&self.images);
        let bytes = images.iter().map(|image| image.size).sum::<u64>().saturating_add(image.size);
        let limits = self.limits();
        let fits =
            (images.len() as u64) < limits.answer_images && bytes <= limits.answer_image_bytes;
        if fits {
            images.push(image);
        }
        fits
    }

    /// Whether a change to `path`, whose content is `current`, is based on what the model knows.
    pub fn check_known(&self, path: &RelPath, current: ContentHash) -> Result<(), ToolError> {
        let known = self.state.files.check(path, current);
        // A parallel call may have written the file just now.
        known.or_else(|error| match self.state.own_changes.wrote(&path.to_text(), current) {
            true => Ok(()),
            false => Err(error),
        })
    }

    /// What was changed before, to read, if anything can be changed here.
    pub fn history(&self) -> Result<&History, ToolError> {
        let history = self.state.options.history.as_ref();
        let message = "this session is read-only";
        history.ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, message))
    }

    /// The session that changes are made in.
    pub fn session(&self) -> &str {
        &self.state.caller.session
    }

    /// The text behind a handle: what was cut from an earlier result, or an entry of the
    /// conversation's log. `None` if `path` is not a handle.
    pub(crate) async fn kept_text(&self, path: &str) -> Option<Result<KeptText, ToolError>> {
        if path.starts_with(HANDLE_PREFIX) {
            return Some(self.kept_result(path));
        }
        let host = self.state.caller.agent_host.as_deref()?;
        let recalled = host.recall(MessageHandle::parse(path)?).await;
        Some(recalled.map(|recalled| KeptText {
            size: recalled.text.len() as u64,
            text: recalled.text.into(),
            page_bytes: recalled.page_bytes,
        }))
    }

    fn kept_result(&self, handle: &str) -> Result<KeptText, ToolError> {
        let limits = self.limits();
        let kept = self.state.results.get(handle).map(|text| KeptText {
            size: text.len() as u64,
            text: in_lines(text, limits.read_line_bytes),
            page_bytes: limits.read_bytes,
        });
        kept.ok_or_else(|| {
            ToolError::new(ErrorCode::FileNotFound, format!("{handle} is no longer kept"))
                .suggest("Repeat the call whose result was cut.")
        })
    }

    /// An answer of this call with what it was made from, to be remembered.
    pub(crate) fn answered(&self, value: &Value) -> RecordedAnswer {
        let (files, images) = (locked(&self.files_read).clone(), locked(&self.images).clone());
        let found_tools = locked(&self.found_tools).clone();
        RecordedAnswer { value: value.clone(), files, images, found_tools }
    }

    /// Waits for `work` unless the call is withdrawn first.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"))
            }
            result = work => result,
        }
    }

    /// Runs code that waits for the disk or computes for long, off the async threads.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (cx, result) = (self.clone(), Arc::new(Mutex::new(None)));
        let here = Arc::clone(&result);
        on_blocking_thread(Box::new(move || *locked(&here) = Some(work(&cx)))).await;
        let done = locked(&result).take();
        done.unwrap_or_else(|| {
            Err(ToolError::new(ErrorCode::Cancelled, "the process is shutting down"))
        })
    }
}

/// Runs `work` to its end, unless the process shuts down. Boxed, so that a task is not compiled for every tool.
async fn on_blocking_thread(work: Box<dyn FnOnce() + Send>) {
    if let Err(error) = tokio::task::spawn_blocking(work).await
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
