//! What servers send when a context is full, and what they send for other limits.
//!
//! The words are those of real servers, from where the comment above a body says; a body without a
//! comment is like the one before it, or common.

use context_manager::ModelErrorKind;
use providers::Api;

/// How a server says it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Says {
    Refused(u16, &'static str),
    /// With status 200, in the stream of the answer.
    Streamed(&'static str),
}

use Says::{Refused, Streamed};

pub(super) const CHAT: Api = Api::OpenAiChat;

pub(super) const FULL: &[(&str, Api, Says)] = &[
    // anthropics/claude-code#11281
    (
        "Anthropic",
        Api::Anthropic,
        Refused(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 201130 tokens > 200000 maximum"},"request_id":"req_011CUxvgPsLcjkyzm6NHj17F"}"#,
        ),
    ),
    // docker/docker-agent#569
    (
        "Anthropic with the answer",
        Api::Anthropic,
        Refused(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"},"request_id":"req_011CUB2XUHWkFnQzxcKBbjpF"}"#,
        ),
    ),
    // chathub-dev/chathub#126
    (
        "OpenAI",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
    ),
    // james-6-23/codex2api#310: with status 200, in a `response.failed`
    (
        "OpenAI Responses",
        Api::OpenAiResponses,
        Streamed(
            "data: {\"type\":\"response.failed\",\"sequence_number\":3,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model. Please adjust your input and try again.\"}}}\n\n",
        ),
    ),
    // openai/codex#20866
    (
        "OpenAI Responses, refused",
        Api::OpenAiResponses,
        Refused(
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
        ),
    ),
    // oobabooga/textgen#7257
    (
        "llama.cpp",
        CHAT,
        Refused(
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#,
        ),
    ),
    // ggml-org/llama.cpp#15780
    (
        "llama.cpp, 500",
        CHAT,
        Refused(
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}"#,
        ),
    ),
    // ggml-org/llama.cpp#19774: one or the other, for the same request
    (
        "llama.cpp while it generates",
        CHAT,
        Refused(
            500,
            r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
        ),
    ),
    (
        "llama.cpp, newer",
        CHAT,
        Refused(
            400,
            r#"{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}"#,
        ),
    ),
    // fedora-copr/logdetective-website#193
    (
        "llama-cpp-python",
        CHAT,
        Refused(
            500,
            r#"{"error":{"message":"Requested tokens (2285) exceed context window of 2048","type":"internal_server_error","param":null,"code":null}}"#,
        ),
    ),
    // tinyhumansai/openhuman#3550
    (
        "LM Studio",
        CHAT,
        Refused(
            400,
            r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 80566>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}"#,
        ),
    ),
    (
        "LM Studio in the stream",
        CHAT,
        Streamed(
            "event: error\ndata: {\"error\":{\"message\":\"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 23678>= n_ctx: 9472). Try to load the model with a larger context length, or provide a shorter input.\"}}\n\n",
        ),
    ),
    // lmstudio-ai/lmstudio-bug-tracker#237 and #546
    (
        "LM Studio, older",
        CHAT,
        Refused(
            400,
            r#"{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."}"#,
        ),
    ),
    // meta-llama/llama-verifications#58
    (
        "vLLM, older",
        CHAT,
        Refused(
            400,
            r#"{"object":"error","message":"This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#,
        ),
    ),
    // UKGovernmentBEIS/inspect_ai#2634
    (
        "vLLM",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"This model's maximum context length is 200 tokens. However, your request has 203 input tokens. Please reduce the length of the input messages. None","type":"BadRequestError","param":null,"code":400}}"#,
        ),
    ),
    (
        "vLLM with the answer",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 1000 tokens and your request has 203 input tokens (1000 > 1000 - 203). None","type":"BadRequestError","param":null,"code":400}}"#,
        ),
    ),
    // bytedance/UI-TARS-desktop#626
    (
        "TGI",
        CHAT,
        Refused(
            422,
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`","error_type":"validation"}"#,
        ),
    ),
    // huggingface/text-generation-inference#937
    (
        "TGI, the input alone",
        CHAT,
        Refused(
            422,
            r#"{"error":"Input validation error: `inputs` must have less than 1024 tokens. Given: 1872","error_type":"validation"}"#,
        ),
    ),
    // google-gemini/gemini-cli#6678
    (
        "Gemini",
        CHAT,
        Refused(
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","errors":[{"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]"#,
        ),
    ),
    // BerriAI/litellm#18282
    (
        "Gemini, newer",
        CHAT,
        Refused(
            400,
            r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        ),
    ),
    // nano-step/nano-brain#208
    ("Ollama", CHAT, Refused(400, r#"{"error":"the input length exceeds the context length"}"#)),
    (
        "Ollama, 500",
        CHAT,
        Refused(500, r#"{"error":"the input length exceeds the context length"}"#),
    ),
    // OpenHands/OpenHands#9937
    (
        "OpenRouter",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}"#,
        ),
    ),
    // tailcallhq/forgecode#1142 for the form, anthropics/claude-code#11281 for what is quoted
    (
        "OpenRouter, quoting",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 201130 tokens > 200000 maximum\"}}","provider_name":"Google"}}}"#,
        ),
    ),
    // ai-christianson/RA.Aid#41
    (
        "DeepInfra behind OpenRouter",
        CHAT,
        Refused(
            502,
            r#"{"error":{"message":"ConnectionError: {\"object\":\"error\",\"message\":\"This model's maximum context length is 16000 tokens. However, you requested 17165 tokens (13069 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}","code":502,"metadata":{"provider_name":"DeepInfra"}}}"#,
        ),
    ),
    // cline/cline#5140
    (
        "Cerebras",
        CHAT,
        Refused(
            400,
            r#"{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}"#,
        ),
    ),
    // docs.mistral.ai/resources/known-limitations for the words, nearai/ironclaw#1241 for the form
    (
        "Mistral",
        CHAT,
        Refused(
            400,
            r#"{"object":"error","message":"Prompt contains 300000 tokens, too large for model with 131072 maximum context length","type":"invalid_request_invalid_args","param":null,"code":"3051"}"#,
        ),
    ),
    // egoist/chatwise-releases#745
    (
        "DeepSeek",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 116193 tokens (116193 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
        ),
    ),
    // cline/cline#3120
    (
        "xAI",
        CHAT,
        Refused(
            400,
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}"#,
        ),
    ),
    // aws-samples/bedrock-chat#95
    ("Bedrock", CHAT, Refused(400, r#"{"message":"Input is too long for requested model."}"#)),
    // QwenLM/Qwen3#1321
    (
        "SGLang",
        CHAT,
        Refused(
            400,
            r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#,
        ),
    ),
    // microsoft/copilot-intellij-feedback#94
    (
        "GitHub Copilot",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"prompt token count of 138898 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}"#,
        ),
    ),
    // BigPizzaV3/CodexPlusPlus#1803
    (
        "Moonshot",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 287431)","type":"invalid_request_error"}}"#,
        ),
    ),
    // agentscope-ai/QwenPaw#6255
    (
        "DashScope",
        CHAT,
        Refused(
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]","param":null,"type":"invalid_request_error"},"request_id":"81a373d6-28bd-9968-8335-e22a2127c41b"}"#,
        ),
    ),
    // BrokkAi/brokk-app#540
    (
        "LiteLLM",
        CHAT,
        Refused(
            400,
            r#"{"error":{"message":"litellm.BadRequestError: AnthropicException - b'{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000, decrease input length or `max_tokens` and try again\"}}'. Received Model Group=anthropic/claude-sonnet-4-20250514\nAvailable Model Group Fallbacks=None","type":null,"param":null,"code":"400"}}"#,
        ),
    ),
    (
        "a proxy",
        CHAT,
        Refused(413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    ),
    ("a proxy without a word", CHAT, Refused(413, "")),
];

/// Refusals that speak of tokens and lengths and mean something else.
pub(super) const NOT_FULL: &[(&str, u16, &str, ModelErrorKind)] = &[
    // bklieger-groq/NotebookLlama-Groq#1
    (
        "Groq's rate",
        413,
        r#"{"error":{"message":"Request too large for model `llama-3.1-70b-versatile` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 18993, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.","type":"tokens","code":"rate_limit_exceeded"}}"#,
        ModelErrorKind::RateLimited,
    ),
    // vanna-ai/vanna-flask#11
    (
        "OpenAI's rate",
        429,
        r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
        ModelErrorKind::RateLimited,
    ),
    (
        "a rate without a code",
        413,
        r#"{"error":"limit of 6000 tokens per minute reached"}"#,
        ModelErrorKind::RateLimited,
    ),
    // aws-samples/amazon-bedrock-client-for-mac#99
    (
        "Bedrock's rate",
        429,
        r#"{"message":"Too many tokens, please wait before trying again."}"#,
        ModelErrorKind::RateLimited,
    ),
    (
        "a rate in the words of a full context",
        429,
        r#"{"error":{"message":"Please reduce the length of the messages"}}"#,
        ModelErrorKind::RateLimited,
    ),
    // continuedev/continue#11584
    (
        "OpenRouter's credit",
        402,
        r#"{"error":{"message":"Prompt tokens limit exceeded: 23229 > 14796. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account","code":402}}"#,
        ModelErrorKind::Unauthorized,
    ),
    // tailcallhq/forgecode#1185
    (
        "the limit of an answer",
        400,
        r#"{"error":{"message":"max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}"#,
        ModelErrorKind::InvalidRequest,
    ),
    // huggingface/transformers#28523
    (
        "TGI's limit of an answer",
        422,
        r#"{"error":"Input validation error: `max_new_tokens` must be <= 192. Given: 200","error_type":"validation"}"#,
        ModelErrorKind::InvalidRequest,
    ),
    (
        "DashScope's limit of an answer",
        400,
        r#"{"error":{"code":"invalid_parameter_error","message":"Range of max_tokens should be [1, 8192]"}}"#,
        ModelErrorKind::InvalidRequest,
    ),
    // anomalyco/opencode#12653
    (
        "an id that is too long",
        400,
        r#"{"error":{"message":"Invalid 'messages[68].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.","type":"invalid_request_error","param":"messages[68].tool_calls[0].id","code":"string_above_max_length"}}"#,
        ModelErrorKind::InvalidRequest,
    ),
    // BerriAI/litellm#17343, which LiteLLM itself takes for a full context
    (
        "an id that is too long, behind LiteLLM",
        400,
        r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: Github_copilotException - Invalid 'messages[11].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.","type":null,"param":null,"code":"400"}}"#,
        ModelErrorKind::InvalidRequest,
    ),
    // QwenLM/Qwen3-VL#2069
    (
        "a name that is too long",
        400,
        r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: The length of the tool name cannot exceed 64.","type":"invalid_request_error","code":"invalid_parameter_error"}}"#,
        ModelErrorKind::InvalidRequest,
    ),
];
