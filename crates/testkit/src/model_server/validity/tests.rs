use serde_json::json;

use super::*;

/// What the checks above are worth: each refuses a conversation that is broken in one place.
#[test]
fn broken_conversations_are_refused() {
    let user = json!({"role": "user", "content": [{"type": "text", "text": "hi"}]});
    let made = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": "ok"});
    let answered = json!({"role": "user", "content": [result]});
    let twice = json!({"role": "user", "content": [result, result]});
    refuses(
        anthropic,
        "messages",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &twice],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
            &[
                &user,
                &json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a.b:0", "name": "t", "input": {}}]}),
            ],
            &[
                &user,
                &json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "", "input": {}}]}),
            ],
            &[
                &user,
                &json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]}),
                &user,
            ],
        ],
    );

    let user = json!({"role": "user", "content": "hi"});
    let call = json!({"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let made = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let answered = json!({"role": "tool", "tool_call_id": "1", "content": "ok"});
    refuses(
        chat,
        "messages",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &answered, &answered],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
        ],
    );

    let said = json!([{"type": "input_text", "text": "hi"}]);
    let user = json!({"type": "message", "role": "user", "content": said});
    let made = json!({"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"});
    let answered = json!({"type": "function_call_output", "call_id": "1", "output": "ok"});
    refuses(
        responses,
        "input",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &answered, &answered],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
        ],
    );
}

/// Checks that of these conversations the first is accepted and the others are not.
fn refuses(accepts: Accepts, key: &str, good: &[&Value], bad: &[&[&Value]]) {
    let checked = |conversation: &[&Value]| accepts(&json!({key: conversation}));
    assert_eq!(checked(good), Ok(()));
    for conversation in bad {
        assert!(checked(conversation).is_err(), "{conversation:?}");
    }
}

#[test]
fn names_and_ids_have_to_fit_their_patterns() {
    for (name, longest, fits) in [
        ("read_file", 64, true),
        ("functions.read_file", 64, false),
        ("", 64, false),
        ("é", 64, false),
        ("abc", 2, false),
    ] {
        assert_eq!(named(&json!(name), longest).is_ok(), fits, "{name}");
    }
    for (id, fits) in [("functions.f:0", true), ("", false), ("a b", false), ("a\n", false)] {
        assert_eq!(short_id(&json!(id), CHAT_ID).is_ok(), fits, "{id}");
    }
    assert!(short_id(&json!("x".repeat(41)), CHAT_ID).is_err());
    let thought = json!({"type": "reasoning", "summary": []});
    let user = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]});
    assert!(responses(&json!({"input": [thought, user]})).is_err());
}
