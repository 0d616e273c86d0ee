//! What the server answers to each method.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use protocol::{ActivityType, CallReport, ToolCall};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    Implementation, InputResponses, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tool_system::{Approver, Rendering, ToolExecutor};

use crate::approval::{self, Asking, ByRequest};
use crate::parked::{ParkedCalls, Resumed, RunningCall, Step, no_such_question};
use crate::{answer, progress};

/// How long a client may keep the tool list and the discovery, which do not change while the
/// process lives.
const FRESH_MS: u64 = 60 * 60 * 1000;

/// What a model should know before it picks a tool.
const INSTRUCTIONS: &str = "Tools for one project directory. Paths are relative to its root, and \
     nothing outside can be reached. A result that was cut says how to get the rest; an error \
     begins with its code and says what to do next.";

/// Methods that rmcp hands over as unknown when their parameters do not fit.
const KNOWN_METHODS: [&str; 4] = ["initialize", "server/discover", "tools/list", "tools/call"];

/// One executor's tools as an MCP server.
pub(crate) struct Handler {
    executor: Arc<ToolExecutor>,
    asking: Asking,
    parked: ParkedCalls,
    tools: OnceLock<Result<Vec<Tool>, String>>,
    calls: AtomicU64,
}

impl Handler {
    pub(crate) fn new(executor: Arc<ToolExecutor>, asking: Asking) -> Self {
        let (parked, calls) = (ParkedCalls::default(), AtomicU64::new(0));
        Self { executor, asking, parked, tools: OnceLock::new(), calls }
    }

    /// Runs a call with an approver; output goes to the client if it wants progress.
    async fn execute(
        &self,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
        approver: &dyn Approver,
    ) -> CallReport {
        let work = self.executor.report_asking(call, &context.ct, approver);
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
            Some(id) => self.parked.resume(&id, &call, inputs),
            None if inputs.is_some() => Err(no_such_question()),
            None => Ok(Resumed::Answered(RunningCall::start(Arc::clone(&self.executor), call))),
        };
        let mut running = match resumed {
            Ok(Resumed::Answered(running)) => running,
            Ok(Resumed::Unanswered(again)) => return Ok(CallToolResponse::InputRequired(again)),
            Err(error) => return answer::of(Err(error).into()).map(CallToolResponse::Complete),
        };
        let id = running.id.clone();
        let result = match self.forwarding(running.next(&context.ct), &id, context).await {
            Step::Done(result) => result,
            Step::Asks(request, reply) => {
                match self.parked.park(running, request, reply, version) {
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
                serde_json::from_value(Rendering::Mcp.render(tool))
                    .map_err(|error| format!("the definition of {}: {error}", tool.name()))
            });
            rendered.collect()
        });
        tools.as_deref().map_err(|why| ErrorData::internal_error(why.clone(), None))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("toolkiln", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.into());
        info
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
        let result = match self.asking {
            Asking::AsConfigured => self.execute(&call, &context, &*self.executor.approver()).await,
            Asking::TheHost if !shows_forms() => {
                self.execute(&call, &context, &approval::nobody()).await
            }
            Asking::TheHost if answers_by_repetition(&version) => {
                let brought = (request.request_state, request.input_responses);
                return self.advance(call, &version, brought, &context).await;
            }
            Asking::TheHost => {
                let approver = ByRequest { peer: &context.peer, version };
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
