//! What the server answers to each method.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use protocol::{ActivityType, CallReport, ToolCall};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, InputResponses,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tool_system::{Approver, ToolExecutor};

use crate::approval::{self, ApproverChoice, ElicitingApprover};
use crate::tool_list::listed_tool;
use crate::waiting_calls::{CallStep, Resumption, RunningCall, WaitingCalls, no_such_question};
use crate::{answer, progress};

/// How long a client may keep the tool list and the discovery, which do not change while the
/// process lives.
const FRESH_MS: u64 = 60 * 60 * 1000;

/// What a model should know before it picks a tool. A host that loads tools on demand shows a model
/// nothing else, so it names what the tools can do, in the words a model would search for.
const INSTRUCTIONS: &str = "Tools for one project directory. Use them to explore code (find files, \
     search text and symbols, list directories, read files and images), to edit files (replace \
     text, edit lines, patch several files at once, rename symbols, move, delete), to run commands, \
     tests and formatters in a sandbox, to look at and commit to git, and to undo and redo changes. \
     Paths are relative to the project's root, and nothing outside can be reached. A result that \
     was cut says how to get the rest; an error says what to do next.";

/// Methods that rmcp hands over as unknown when their parameters do not fit.
const KNOWN_METHODS: [&str; 4] = ["initialize", "server/discover", "tools/list", "tools/call"];

/// One executor's tools as an MCP server.
pub(crate) struct McpHandler {
    executor: Arc<ToolExecutor>,
    approver: ApproverChoice,
    waiting: WaitingCalls,
    tools: OnceLock<Result<Vec<Tool>, String>>,
    calls: AtomicU64,
}

impl McpHandler {
    pub(crate) fn new(executor: Arc<ToolExecutor>, approver: ApproverChoice) -> Self {
        let (waiting, calls) = (WaitingCalls::default(), AtomicU64::new(0));
        Self { executor, approver, waiting, tools: OnceLock::new(), calls }
    }

    /// Runs a call with an approver; output goes to the client if it wants progress.
    async fn execute(
        &self,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
        approver: &dyn Approver,
    ) -> CallReport {
        let work = self.executor.report(call, &context.ct, approver);
        self.forwarding(work, &call.id, context).await
    }

    /// Begins a call, or goes on with one that waits for its answer, until its end or a question.
    async fn advance(
        &self,
        call: ToolCall,
        version: &ProtocolVersion,
        (state, inputs): (Option<String>, Option<InputResponses>),
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let resumed = match state {
            Some(id) => self.waiting.resume(&id, &call, inputs),
            None if inputs.is_some() => Err(no_such_question()),
            None => Ok(Resumption::Answered(RunningCall::start(Arc::clone(&self.executor), call))),
        };
        let mut running = match resumed {
            Ok(Resumption::Answered(running)) => running,
            Ok(Resumption::Unanswered(again)) => return Ok(CallToolResponse::InputRequired(again)),
            Err(error) => return answer::of(Err(error).into()).map(CallToolResponse::Complete),
        };
        let id = running.id.clone();
        let result = match self.forwarding(running.next(&context.ct), &id, context).await {
            CallStep::Done(result) => result,
            CallStep::Asks(request, reply) => {
                match self.waiting.keep(running, request, reply, version) {
                    Ok(question) => return Ok(CallToolResponse::InputRequired(question)),
                    Err(error) => Err(error).into(),
                }
            }
        };
        answer::of(result).map(CallToolResponse::Complete)
    }

    /// Waits for a part of a call; output goes to the client if it wants progress.
    async fn forwarding<T>(
        &self,
        work: impl Future<Output = T>,
        call_id: &str,
        context: &RequestContext<RoleServer>,
    ) -> T {
        let RequestContext { ct: cancel, meta, peer, .. } = context;
        match meta.get_progress_token() {
            None => work.await,
            Some(token) => {
                let chunks = self.executor.activity().subscribe(ActivityType::ToolOutputChunk);
                progress::forward(work, chunks, call_id, cancel, peer, token).await
            }
        }
    }

    /// The tool list, made when it is first asked for so that starting stays quick.
    fn tools(&self) -> Result<&[Tool], ErrorData> {
        let tools = self.tools.get_or_init(|| {
            let offered = self.executor.offered();
            let rendered = offered.iter().map(|tool| {
                serde_json::from_value(listed_tool(tool))
                    .map_err(|error| format!("the definition of {}: {error}", tool.name()))
            });
            rendered.collect()
        });
        tools.as_deref().map_err(|why| ErrorData::internal_error(why.clone(), None))
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("toolkiln", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.into());
        info
    }

    /// A client that shakes hands again gets the same answer, and the revision that was agreed on
    /// holds, not the one that was asked for.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = FRESH_MS;
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let message = "unknown cursor: the tool list has one page";
            return Err(ErrorData::invalid_params(message, None));
        }
        let list = ListToolsResult::with_all_items(self.tools()?.to_vec());
        Ok(list.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The client's ids are not used: they may repeat, and the stream of events is shared.
        let id = format!("mcp-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = ToolCall::new(id, request.name, request.arguments.unwrap_or_default());
        let version = context.protocol_version();
        let version = version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let shows_forms =
            || context.client_capabilities().as_ref().is_some_and(approval::shows_forms);
        let result = match self.approver {
            ApproverChoice::Configured => {
                self.execute(&call, &context, self.executor.approver()).await
            }
            ApproverChoice::Host if !shows_forms() => {
                self.execute(&call, &context, &approval::no_approver()).await
            }
            ApproverChoice::Host if answers_by_repetition(&version) => {
                let brought = (request.request_state, request.input_responses);
                return self.advance(call, &version, brought, &context).await;
            }
            ApproverChoice::Host => {
                let approver = ElicitingApprover { peer: &context.peer, version };
                self.execute(&call, &context, &approver).await
            }
        };
        answer::of(result).map(CallToolResponse::Complete)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if KNOWN_METHODS.contains(&request.method.as_str()) {
            let message = format!("the parameters do not fit {}", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    // What follows is not declared as a capability. rmcp would answer with empty lists, which says
    // that there are such things but none at present.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }
}

/// Whether a client of this revision repeats a call to answer a question.
fn answers_by_repetition(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}
