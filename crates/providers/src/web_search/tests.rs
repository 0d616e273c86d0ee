use serde_json::{Value, json};

use super::*;

/// Answers in the format of each provider, as their references show them.
fn answers_of_models() -> [(ModelSearch, Value); 3] {
    let anthropic = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [
            {"type": "text", "text": "I search."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "kiln"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://a.org/", "title": "A", "encrypted_content": "x",
                 "page_age": "May 1, 2026"},
                {"type": "web_search_result", "url": "https://b.org/", "title": "B", "encrypted_content": "y",
                 "page_age": null},
                {"type": "web_search_result", "url": "javascript:alert(1)", "title": "bad"}]},
            {"type": "text", "text": "Hot.", "citations": [
                {"type": "web_search_result_location", "url": "https://a.org/", "title": "A",
                 "encrypted_index": "z", "cited_text": "one <b>two</b>\u{1b}[2J"}]},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "server_tool_use": {"web_search_requests": 1}},
    });
    let openai = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {
                "type": "search", "query": "kiln",
                "sources": [{"type": "url", "url": "https://a.org/"}, {"type": "url", "url": "https://b.org/"}]}},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "one two [2J ([A](https://a.org/))", "logprobs": [], "annotations": [
                    {"type": "url_citation", "start_index": 12, "end_index": 33, "url": "https://a.org/",
                     "title": "A"}]}]},
        ],
    });
    let gemini = json!({
        "candidates": [{
            "content": {"role": "model", "parts": [{"text": "one two [2J"}]},
            "finishReason": "STOP",
            "groundingMetadata": {
                "webSearchQueries": ["kiln"],
                "searchEntryPoint": {"renderedContent": "<style></style>"},
                "groundingChunks": [{"web": {"uri": "https://a.org/", "title": "A"}},
                                    {"web": {"uri": "https://b.org/", "title": "B"}}],
                "groundingSupports": [{"segment": {"startIndex": 0, "endIndex": 11, "text": "one two [2J"},
                                       "groundingChunkIndices": [0, 7]}]}}],
        "usageMetadata": {"promptTokenCount": 1},
    });
    [
        (ModelSearch::Anthropic, anthropic),
        (ModelSearch::OpenAi, openai),
        (ModelSearch::Gemini, gemini),
    ]
}

#[test]
fn what_a_model_found_is_read_from_its_citations() {
    for (search, answer) in answers_of_models() {
        assert_eq!(search.failure(&answer), None, "{search}");
        let pages = search.pages(&answer);
        assert_eq!((pages[0].title.as_str(), pages[0].url.as_str()), ("A", "https://a.org/"));
        assert!(["one two [2J", "one <b>two</b>\u{1b}[2J"].contains(&pages[0].snippet.as_str()));
        assert_eq!(pages[1].url, "https://b.org/");
        assert!(["B", "https://b.org/"].contains(&pages[1].title.as_str()), "{search}");
        let published = pages[0].published.as_deref();
        assert_eq!(published, (search == ModelSearch::Anthropic).then_some("May 1, 2026"));
        for odd in ["{}", "[]", "null", r#"{"output":[],"content":[],"candidates":[]}"#] {
            let odd: Value = serde_json::from_str(odd).expect("JSON");
            assert!(search.failure(&odd).is_some() && search.pages(&odd).is_empty(), "{search}");
        }
    }
}

#[test]
fn a_model_that_did_not_search_says_why() {
    let told = |search: ModelSearch, answer: Value| search.failure(&answer).expect("a failure");
    let failed = json!({"content": [{"type": "web_search_tool_result", "tool_use_id": "s",
        "content": {"type": "web_search_tool_result_error", "error_code": "too_many_requests"}}]});
    let silent = json!({"content": [{"type": "text", "text": "I know that by heart."}]});
    let refused = json!({"type": "error", "error": {"type": "x", "message": "not enabled"}});
    let late = json!({"status": "failed", "output": [], "error": {"message": "later"}});
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    assert_eq!(told(ModelSearch::Anthropic, failed), "too_many_requests");
    assert_eq!(told(ModelSearch::Anthropic, silent), "the model did not search");
    assert_eq!(told(ModelSearch::Anthropic, refused), "not enabled");
    assert_eq!(told(ModelSearch::OpenAi, late), "later");
    assert_eq!(told(ModelSearch::Gemini, blocked), "SAFETY");
}

#[test]
fn a_model_is_told_the_query_and_has_a_small_budget() {
    for (search, limit) in [
        (ModelSearch::Anthropic, "/max_tokens"),
        (ModelSearch::OpenAi, "/max_output_tokens"),
        (ModelSearch::Gemini, "/generationConfig/maxOutputTokens"),
    ] {
        let asked = ModelQuestion {
            query: "rust & \"async\"\r\nx",
            results: 5,
            since: Some("2026-11-09"),
            model: "small-1",
        };
        let (path, body) = search.request(&asked);
        let tokens = body.pointer(limit).and_then(Value::as_u64).expect(limit);
        assert!((500..5000).contains(&tokens), "{tokens}");
        assert!(format!("{path} {body}").contains("small-1"), "{search}");
        let told = body.to_string();
        assert!(told.contains(r#"rust & \"async\"\r\nx"#) && told.contains("2026-11-09"), "{told}");
    }
}
