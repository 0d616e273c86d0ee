//! The handler of the product, with what only the suite asks for.

// Sampling, logging and roots are deprecated, and hosts of the handshake era have them.
#![allow(deprecated)]

use std::time::Duration;

use mcp::McpHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, ContentBlock, CreateMessageRequestParams, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    InitializeRequestParams, InitializeResult, InputResponses, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::{forms, material};

/// A resource of the product that is watched in place of the suite's own.
const WATCHED_HERE: &str = "toolkiln://changes";
/// Between two log messages.
const STEP: Duration = Duration::from_millis(50);

/// Tools that answer here, beside those of the executor.
const TOOLS: [&str; 15] = [
    "test_audio_content",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_sampling",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_sampling",
    "test_tool_with_logging",
    HEADED,
];

/// A tool with an argument that travels in the head of the request too.
const HEADED: &str = "test_x_mcp_header";

/// Answers the suite.
pub(crate) struct SuiteHandler {
    pub(crate) product: McpHandler,
}

type Context = RequestContext<RoleServer>;

impl SuiteHandler {
    /// A tool of the list above.
    async fn answered(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &*request.name;
        if let Some(contents) = material::contents(name) {
            return Ok(CallToolResult::success(contents).into());
        }
        if let Some(form) = forms::open_form(name) {
            let answer = context.peer.create_elicitation(form).await.map_err(failed)?;
            return Ok(said(&format!("{:?} {:?}", answer.action, answer.content)));
        }
        match name {
            HEADED => Ok(said("called")),
            "test_missing_capability" => {
                let sampling = ClientCapabilities::builder().enable_sampling().build();
                match context.client_capabilities().is_some_and(|can| can.sampling.is_some()) {
                    true => Ok(said("the client has it")),
                    false => Err(ErrorData::missing_required_client_capability(sampling)),
                }
            }
            "test_sampling" => {
                let text = request.arguments.as_ref().and_then(|given| given.get("prompt"));
                let content = json!({"type": "text", "text": text});
                let wanted =
                    json!({"messages": [{"role": "user", "content": content}], "maxTokens": 100});
                let wanted: CreateMessageRequestParams = parsed(wanted)?;
                let answer = context.peer.create_message(wanted).await.map_err(failed)?;
                Ok(said(&format!("{:?}", answer.message)))
            }
            "test_tool_with_logging" => {
                for text in ["begun", "at work", "done"] {
                    let news =
                        LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
                    context.peer.notify_logging_message(news).await.map_err(failed)?;
                    tokio::time::sleep(STEP).await;
                }
                Ok(said("done"))
            }
            _ => {
                let brought = (request.request_state, request.input_responses);
                match asked(name, brought, &context)? {
                    Some(question) => Ok(CallToolResponse::InputRequired(question)),
                    None => Ok(said("all inputs are there")),
                }
            }
        }
    }
}

/// What is still to be asked: the inputs of this round that are missing, or those of the next.
fn asked(
    name: &str,
    (state, inputs): (Option<String>, Option<InputResponses>),
    context: &Context,
) -> Result<Option<rmcp::model::InputRequiredResult>, ErrorData> {
    let unknown = || ErrorData::invalid_params("this state was not given out", None);
    let round = match state {
        Some(state) => forms::round_of(name, &state).ok_or_else(unknown)?,
        None => 0,
    };
    let can = context.client_capabilities().unwrap_or_default();
    let wanted = |round| {
        let mut all: Value = forms::inputs(name, round)?;
        let all_of_them = all.as_object_mut()?;
        all_of_them.retain(|_, input| match input["method"].as_str() {
            Some("elicitation/create") => can.elicitation.is_some(),
            Some("sampling/createMessage") => can.sampling.is_some(),
            _ => true,
        });
        Some(all)
    };
    let Some(now) = wanted(round) else { return Ok(None) };
    let is_there = |key: &String| {
        inputs.as_ref().is_some_and(|inputs| inputs.get(key).is_some_and(Value::is_object))
    };
    let is_answered = now.as_object().is_some_and(|now| now.keys().all(is_there));
    let next = match is_answered {
        true => wanted(round + 1).map(|inputs| (round + 1, inputs)),
        false => Some((round, now)),
    };
    Ok(next.and_then(|(round, inputs)| forms::asking(name, round, inputs)))
}

fn said(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn failed(error: rmcp::ServiceError) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, error.to_string(), None)
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn listed(name: &'static str) -> Result<Tool, ErrorData> {
    let schema = match name {
        HEADED => {
            let region = json!({"type": "string", "x-mcp-header": "Region"});
            json!({"type": "object", "properties": {"region": region}, "required": ["region"]})
        }
        _ => json!({"type": "object"}),
    };
    parsed(json!({"name": name, "description": "A tool of the suite", "inputSchema": schema}))
}

impl ServerHandler for SuiteHandler {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.product.get_info();
        info.capabilities.logging = Some(Default::default());
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.product.initialize(request, context).await?;
        result.capabilities = self.get_info().capabilities;
        Ok(result)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        self.product.discover(context).await
    }

    async fn set_level(&self, _: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        let version = context.meta.protocol_version();
        match version {
            None => Ok(()),
            Some(_) => Err(ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>()),
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.product.list_tools(request, context).await?;
        for name in TOOLS {
            list.tools.push(listed(name)?);
        }
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.into_iter().find(|known| *known == name).and_then(|known| listed(known).ok())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        match TOOLS.contains(&&*request.name) {
            true => self.answered(request, context).await,
            false => self.product.call_tool(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.product.list_prompts(request, context).await?;
        list.prompts.extend(material::prompts());
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let Some(prompt) = material::prompt(&request.name, &arguments) else {
            return self.product.get_prompt(request, context).await;
        };
        if request.name == material::ASKING_PROMPT {
            let brought = (request.request_state, request.input_responses);
            if let Some(question) = asked(&request.name, brought, &context)? {
                return Ok(GetPromptResponse::InputRequired(question));
            }
        }
        Ok(GetPromptResponse::Complete(prompt))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.product.list_resources(request, context).await?;
        list.resources.extend(material::resources());
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.product.list_resource_templates(request, context).await?;
        list.resource_templates.push(material::template());
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match material::read(&request.uri) {
            Some(contents) => {
                Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![contents])))
            }
            None => self.product.read_resource(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        mut request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if request.uri == material::WATCHED {
            request.uri = WATCHED_HERE.into();
        }
        self.product.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        mut request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if request.uri == material::WATCHED {
            request.uri = WATCHED_HERE.into();
        }
        self.product.unsubscribe(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.product.accepted_subscription_filter(requested)
    }

    async fn listen(&self, stream: SubscriptionContext) -> Result<(), ErrorData> {
        self.product.listen(stream).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        self.product.complete(request, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        self.product.on_custom_request(request, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.product.on_initialized(context).await;
    }
}
