//! What the server answers to each method.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use protocol::{ActivityType, ToolCall, ToolPermission};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tool_system::{Approver, ToolExecutor};

use crate::approval::{self, ApproverChoice, ElicitingApprover, LinkingApprover, QuestionPage};
use crate::host_roots::HostRoots;
use crate::http_client::HttpClient;
use crate::resources::ResourceAnswers;
use crate::serve::ServerParts;
use crate::subscriptions::{self, Subscriptions};
use crate::tool_list::listed_tool;
use crate::traced_call::{CallTracer, TracedCall};
use crate::waiting_calls::{
    CallStep, Resumption, RunningCall, StepAsking, WaitingCalls, no_such_question,
};
use crate::{answer, progress, prompts};

/// How long a client may keep the tool list and the discovery, which do not change while the
/// process lives.
pub(crate) const FRESH_MS: u64 = 60 * 60 * 1000;

/// What a model should know before it picks a tool. A host that loads tools on demand shows a model
/// nothing else, so it names what the tools can do, in the words a model would search for.
const INSTRUCTIONS: &str = "Tools for one project directory. Use them to explore code (find files, \
     search text and symbols, list directories, read files and images), to edit files (replace \
     text, edit lines, patch several files at once, rename symbols, move, delete), to run commands, \
     tests and formatters in a sandbox, to look at and commit to git, and to undo and redo changes. \
     Paths are relative to the project's root, and nothing outside can be reached. A result that \
     was cut says how to get the rest; an error says what to do next.";

/// Methods that rmcp hands over as unknown when their parameters do not fit.
const KNOWN_METHODS: [&str; 13] = [
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "subscriptions/listen",
];

/// Those of them that stateless requests do not have, whatever their parameters.
const HANDSHAKE_METHODS: [&str; 3] = ["initialize", "resources/subscribe", "resources/unsubscribe"];

/// One executor's tools as an MCP server.
pub struct McpHandler {
    executor: Arc<ToolExecutor>,
    approver: ApproverChoice,
    waiting: WaitingCalls,
    resources: Option<ResourceAnswers>,
    roots: Option<HostRoots>,
    subscriptions: Subscriptions,
    tools: OnceLock<Result<Vec<Tool>, String>>,
    tracer: Option<Arc<dyn CallTracer>>,
    calls: AtomicU64,
}

impl McpHandler {
    /// Answers for the project of these parts.
    pub fn new(parts: ServerParts) -> Self {
        let ServerParts { executor, approver, resources, assumed_root, tracer } = parts;
        // A role that may not read files does not read them in another way.
        let reads = executor.role().permissions().contains(ToolPermission::ReadFiles);
        let (waiting, calls) = (WaitingCalls::default(), AtomicU64::new(0));
        Self {
            executor,
            approver,
            waiting,
            resources: resources.filter(|_| reads).map(ResourceAnswers),
            roots: assumed_root.map(HostRoots::new),
            subscriptions: Subscriptions::default(),
            tools: OnceLock::new(),
            tracer,
            calls,
        }
    }

    fn resources(&self) -> Result<&ResourceAnswers, ErrorData> {
        let none = ErrorData::method_not_found::<ListResourcesRequestMethod>;
        self.resources.as_ref().ok_or_else(none)
    }

    /// Asks a client of the handshake era where it works, if it can tell.
    #[expect(deprecated, reason = "the handshake era has roots, and its hosts name them")]
    async fn ask_for_roots(&self, peer: &Peer<RoleServer>) {
        let client = peer.peer_info();
        let tells = client.is_some_and(|client| client.capabilities.roots.is_some());
        let Some(roots) = self.roots.as_ref().filter(|_| tells) else { return };
        // A client that does not answer after all is not held against it.
        if let Ok(answer) = peer.list_roots().await {
            roots.are(&answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>());
        }
    }

    /// Makes a call, or goes on with one that has asked.
    async fn called(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The client's ids are not used: they may repeat, and the stream of events is shared.
        let id = format!("mcp-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let call = ToolCall::new(id, request.name, request.arguments.unwrap_or_default());
        let version = context.protocol_version();
        let version = version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
        if let Some(Err(error)) = self.roots.as_ref().map(HostRoots::check) {
            return answer::of(Err(error).into()).map(CallToolResponse::Complete);
        }
        let brought = (request.request_state, request.input_responses);
        match self.asking_way(context, version.clone(), brought.0.is_some()) {
            AskingWay::ByRepetition(page) => {
                Box::pin(self.advance(call, &version, brought, page, context)).await
            }
            AskingWay::Now(approver) => self.completed(&call, context, &*approver).await,
            AskingWay::Elsewhere(approver) => self.completed(&call, context, approver).await,
            AskingWay::NotAsked => Err(no_such_question()),
        }
    }

    /// Runs a call with an approver; output goes to the client if it wants progress. Boxed, because what
    /// a call needs on the stack would be needed by every request.
    fn completed<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a RequestContext<RoleServer>,
        approver: &'a dyn Approver,
    ) -> Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'a>> {
        Box::pin(async move {
            let work = self.executor.report(call, &context.ct, approver);
            let report = self.forwarding(work, &call.id, context).await;
            answer::of(report).map(CallToolResponse::Complete)
        })
    }

    /// Our page, if questions can be answered on one.
    fn page(&self) -> Option<&Arc<dyn QuestionPage>> {
        match &self.approver {
            ApproverChoice::Page(page) => Some(page),
            ApproverChoice::Host | ApproverChoice::Configured => None,
        }
    }

    /// How questions of a call reach the user.
    fn asking_way<'a>(
        &'a self,
        context: &'a RequestContext<RoleServer>,
        version: ProtocolVersion,
        brings_answer: bool,
    ) -> AskingWay<'a> {
        let capabilities = context.client_capabilities();
        let can = |what: fn(&_) -> bool| capabilities.as_ref().is_some_and(what);
        let asked_by_form = HttpClient::of(context).may_answer && can(approval::shows_forms);
        if let ApproverChoice::Configured = self.approver {
            return AskingWay::Elsewhere(self.executor.approver());
        }
        let page = self.page();
        let link = page.filter(|_| can(approval::shows_links));
        let repeats = answers_by_repetition(&version);
        let client =
            ElicitingApprover { peer: &context.peer, version, page: page.map(|page| &**page) };
        match (link, page) {
            (Some(_), _) if repeats => AskingWay::ByRepetition(link),
            (Some(page), _) => AskingWay::Now(Box::new(LinkingApprover { client, page: &**page })),
            (None, _) if asked_by_form && repeats => AskingWay::ByRepetition(None),
            (None, _) if asked_by_form => AskingWay::Now(Box::new(client)),
            (None, Some(_)) if brings_answer => AskingWay::NotAsked,
            (None, Some(page)) => AskingWay::Elsewhere(&**page),
            (None, None) => AskingWay::Now(Box::new(approval::no_approver())),
        }
    }

    /// Begins a call, or goes on with one that waits for its answer, until its end or a question.
    async fn advance(
        &self,
        call: ToolCall,
        version: &ProtocolVersion,
        (state, inputs): (Option<String>, Option<InputResponses>),
        page: Option<&Arc<dyn QuestionPage>>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = HttpClient::of(context);
        let resumed = match state {
            Some(id) => self.waiting.resume(&id, &call, client, inputs),
            None if inputs.is_some() => Err(no_such_question()),
            None => {
                let executor = Arc::clone(&self.executor);
                let asking = match page {
                    Some(page) => StepAsking::OnPage(Arc::clone(page)),
                    None => StepAsking::ByForm(self.page().cloned()),
                };
                let running = RunningCall::start(executor, call, client, asking);
                Ok(Resumption::Answered(running))
            }
        };
        let mut running = match resumed {
            Ok(Resumption::Answered(running)) => running,
            Ok(Resumption::Unanswered(again)) => return Ok(CallToolResponse::InputRequired(again)),
            Err(error) => return Err(error),
        };
        let id = running.id.clone();
        let result = match self.forwarding(running.next(&context.ct), &id, context).await {
            CallStep::Done(result) => result,
            CallStep::Asks(request, reply) => {
                match self.waiting.keep(running, request, reply, version, page.map(|page| &**page))
                {
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
        let mut can = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        if self.resources.is_some() {
            let mut resources = ResourcesCapability::default();
            resources.subscribe = Some(true);
            can.resources = Some(resources);
            can.completions = Some(Default::default());
        }
        let mut info = ServerConfig::new(can);
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
        refuse_cursor(request)?;
        let list = ListToolsResult::with_all_items(self.tools()?.to_vec());
        Ok(list.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tracer = self.tracer.as_ref();
        let traced = tracer.and_then(|_| TracedCall::begin(&request.name, &context));
        let answer = self.called(request, &context).await;
        if let Some((tracer, traced)) = tracer.zip(traced) {
            tracer.ended(traced.answered(&answer));
        }
        answer
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let version = context.meta.protocol_version();
        let is_gone = HANDSHAKE_METHODS.contains(&request.method.as_str())
            && version.is_some_and(|version| answers_by_repetition(&version));
        if !is_gone && KNOWN_METHODS.contains(&request.method.as_str()) {
            let message = format!("the parameters do not fit {}", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.ask_for_roots(&context.peer).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.ask_for_roots(&context.peer).await;
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        refuse_cursor(request)?;
        Ok(prompts::list().with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request.name, request.arguments.as_ref()).map(GetPromptResponse::Complete)
    }

    // Where there are no resources, they are not declared as a capability. rmcp would answer with empty
    // lists, which says that there are such things but none at present.

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.resources()?.list(cursor.as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let resources = self.resources()?;
        refuse_cursor(request)?;
        Ok(resources.templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.resources()?.read(&request.uri).await.map(ReadResourceResponse::Complete)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(subscriptions::accepted(self.resources.as_ref()?, requested))
    }

    async fn listen(&self, stream: SubscriptionContext) -> Result<(), ErrorData> {
        subscriptions::listen(self.resources()?, &stream).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.add(self.resources()?, request.uri, &context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.resources()?;
        self.subscriptions.remove(request.uri, &context);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let resources = self.resources()?;
        let argument = request.argument;
        resources.completed(&argument.name, &argument.value).await.map(CompleteResult::new)
    }
}

/// How questions of a call reach the user.
enum AskingWay<'a> {
    /// The call ends with its question, and is repeated with the answer, or after the answer was given on the
    /// page.
    ByRepetition(Option<&'a Arc<dyn QuestionPage>>),
    /// Through the client, while the call is open.
    Now(Box<dyn Approver + 'a>),
    /// Without the client, while the call is open.
    Elsewhere(&'a dyn Approver),
    /// The client brings an answer that it cannot have been asked for.
    NotAsked,
}

/// Lists of one page have no cursors.
fn refuse_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("unknown cursor: the list has one page", None)),
    }
}

/// Whether a client of this revision repeats a call to answer a question.
fn answers_by_repetition(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}
