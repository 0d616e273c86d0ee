//! How servers say that a conversation is longer than their model can read, as data.
//!
//! Every sign names the server whose words it is. Whole bodies with their sources are in
//! `tests/it/full_contexts/bodies.rs`, and each of them makes room in a running conversation.

/// Codes and types that mean a full context wherever they occur.
const NAMES: [(&str, &str); 6] = [
    ("context_length_exceeded", "OpenAI, Azure, Groq, Cerebras"),
    ("exceed_context_size_error", "llama.cpp"),
    ("model_max_prompt_tokens_exceeded", "GitHub Models and Copilot"),
    ("model_context_window_exceeded", "Z.ai"),
    ("request_too_large", "Anthropic"),
    ("request_body_too_large_after_decoding", "OpenAI"),
];

/// Fragments of messages, in lower case and in this order. One alone would often say too little.
const PHRASES: [(&[&str], &str); 31] = [
    (&["prompt is too long"], "Anthropic"),
    (&["exceed context limit"], "Anthropic, together with the answer"),
    (&["requested tokens", "exceed context window"], "llama-cpp-python"),
    (&["exceeds the context window"], "OpenAI Responses"),
    (&["maximum context length"], "OpenAI, vLLM, DeepSeek, OpenRouter, Mistral"),
    (&["context length exceeded"], "gateways"),
    (&["context_length_exceeded"], "gateways that quote OpenAI"),
    (&["exceeds the available context size"], "llama.cpp"),
    (&["context size has been exceeded"], "llama.cpp while it generates, LM Studio"),
    (&["greater than the context length"], "LM Studio"),
    (&["trying to keep the first", "context"], "LM Studio before 0.3.16"),
    (&["input length exceeds the context length"], "Ollama"),
    (&["prompt too long; exceeded", "context length"], "Ollama"),
    (&["longer than the model's context length"], "SGLang"),
    (&["longer than the maximum model length"], "vLLM"),
    (&["context length is only"], "vLLM"),
    (&["`inputs` tokens + `max_new_tokens` must be <="], "TGI"),
    (&["`inputs` must have less than", "tokens"], "TGI"),
    (&["input token count", "exceeds the maximum number of tokens"], "Gemini"),
    (&["maximum prompt length is"], "xAI"),
    (&["reduce the length of the messages"], "Groq, Cerebras"),
    (&["input is too long for requested model"], "Bedrock"),
    (&["exceeded model token limit"], "Moonshot"),
    (&["prompt token count of", "exceeds the limit of"], "GitHub Models and Copilot"),
    (&["range of input length should be"], "DashScope"),
    (&["context window exceeds limit"], "MiniMax"),
    (&["too many tokens", "prompt", "exceed"], "Cohere"),
    (&["prompt length", "exceeds maximum input length"], "TensorRT-LLM"),
    (&["exceeds", "maximum allowed context"], "gateways"),
    (&["exceeds maximum context"], "gateways"),
    (&["context window of", "your request has"], "gateways"),
];

/// Whether one of these names from a `type` or a `code` means a full context.
pub(super) fn is_named(name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == name)
}

/// Whether a message, in lower case, says that the context is full.
pub(super) fn is_said(message: &str) -> bool {
    PHRASES.iter().any(|(fragments, _)| occur_in_order(fragments, message))
}

fn occur_in_order(fragments: &[&str], text: &str) -> bool {
    let mut rest = text;
    fragments.iter().all(|fragment| match rest.split_once(fragment) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_in_lower_case_and_name_their_server() {
        for (fragments, server) in PHRASES {
            assert!(!server.is_empty() && !fragments.is_empty());
            assert!(fragments.iter().all(|part| **part == part.to_lowercase()), "{fragments:?}");
        }
        assert!(NAMES.iter().all(|(name, _)| *name == name.to_lowercase()));
    }

    #[test]
    fn fragments_count_in_their_order_only() {
        assert!(occur_in_order(&["a", "b"], "xaxbx"));
        assert!(!occur_in_order(&["a", "b"], "ba"));
        assert!(!occur_in_order(&["a", "a"], "a"));
    }
}
