//! The names that traces and metrics have, from one revision of the OpenTelemetry semantic conventions.
//!
//! The conventions for generative AI are all in development. They are pinned to the last release of the general
//! repository that held them; they have moved to `open-telemetry/semantic-conventions-genai` since. To follow a later
//! revision, change this file, and `crates/telemetry/tests/judges/otlp.py`, which compares every name with the packages
//! of OpenTelemetry.

/// The revision: `open-telemetry/semantic-conventions` v1.41.1, commit ead83b9b0fa3.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

/// Names of attributes.
pub mod key {
    /// The agent that is invoked.
    pub const AGENT_NAME: &str = "gen_ai.agent.name";
    /// The session.
    pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
    /// What a span with status error failed of.
    pub const ERROR_TYPE: &str = "error.type";
    /// What the user said; content.
    pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    /// One of the names in [`super::operation`].
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// What the model answered; content.
    pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    /// Who serves the model.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The method of a request over MCP.
    pub const MCP_METHOD: &str = "mcp.method.name";
    /// The revision of MCP.
    pub const MCP_VERSION: &str = "mcp.protocol.version";
    /// The id of a request over MCP, as its sender gave it.
    pub const REQUEST_ID: &str = "jsonrpc.request.id";
    pub const REQUEST_MODEL: &str = "gen_ai.request.model";
    /// Why the answer ended.
    pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    /// `input` or `output`.
    pub const TOKEN_TYPE: &str = "gen_ai.token.type";
    /// The arguments of a call; content.
    pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    /// What a call answered; content.
    pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    pub const TOOL_NAME: &str = "gen_ai.tool.name";
    /// Always `function`: the tools run here.
    pub const TOOL_TYPE: &str = "gen_ai.tool.type";
    /// Tokens that were put into the provider's cache.
    pub const CACHE_CREATION_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
    /// Tokens that were taken from the provider's cache.
    pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    /// All tokens that the model has seen, those of the cache included.
    pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    /// All tokens that the model has written.
    pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    /// The name of the program.
    pub const SERVICE_NAME: &str = "service.name";
    /// Which of several processes.
    pub const SERVICE_INSTANCE: &str = "service.instance.id";
    /// The version of the program.
    pub const SERVICE_VERSION: &str = "service.version";

    /// Whether a question was approved; our own, as all below.
    pub const APPROVED: &str = "toolkiln.approval.approved";
    /// What the model cost in US dollars, where the price is known.
    pub const COST: &str = "toolkiln.cost_usd";
    /// The role that the agent acts in.
    pub const ROLE: &str = "toolkiln.role";
    /// How the turn ended.
    pub const TURN_END: &str = "toolkiln.turn.end";
}

/// Names of operations, with which the names of spans begin.
pub mod operation {
    /// One turn of an agent.
    pub const INVOKE_AGENT: &str = "invoke_agent";
    /// One request to a model.
    pub const CHAT: &str = "chat";
    /// One call of a tool.
    pub const EXECUTE_TOOL: &str = "execute_tool";
    /// A call waits for the approver; our own.
    pub const AWAIT_APPROVAL: &str = "await_approval";
    /// A turn waits for the user to go on; our own.
    pub const AWAIT_USER: &str = "await_user";
}

/// Methods of MCP, with which the names of spans begin that other programs ask for.
pub mod method {
    pub const TOOLS_CALL: &str = "tools/call";
}

/// Names of metrics.
pub mod metric {
    /// A histogram, in seconds.
    pub const DURATION: &str = "gen_ai.client.operation.duration";
    /// A histogram, in tokens.
    pub const TOKENS: &str = "gen_ai.client.token.usage";
}

/// The bounds of the buckets of [`metric::DURATION`], in seconds.
pub const DURATION_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The bounds of the buckets of [`metric::TOKENS`].
pub const TOKEN_BOUNDS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The agents, which are few: their names are parts of the names of spans.
pub(crate) const AGENT: &str = "toolkiln";
pub(crate) const SUB_AGENT: &str = "toolkiln sub-agent";
/// The kind of all tools.
pub(crate) const TOOL_TYPE: &str = "function";
/// What went wrong with a span that nothing ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Bytes of the name of a tool. A model can call anything by any name.
const NAME_BYTES: usize = 64;

/// A name that others have chosen, cut where it is too long.
pub(crate) fn bounded_name(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// A provider of the configuration, as the conventions call it. Those that they do not list keep their name.
pub(crate) fn provider(configured: &str) -> &str {
    match configured {
        "openai-chat" => "openai",
        other => other,
    }
}
