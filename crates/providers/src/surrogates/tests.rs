use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::meaning;
use crate::{AnthropicStream, ChatStream, Quirks, ResponsesStream};

/// A stream of these events, which are written as they are: no JSON library would write them.
fn stream(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn only_lone_halves_are_marked() {
    for json in
        [r#""plain""#, r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e4\n""#, r#""\ud""#, "\\"]
    {
        assert_eq!(marked(json), None, "{json}");
    }
    let cases = [
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""a\uDE00b""#, "a\u{fffd}b"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\\\ud83d\\ude00""#, "\\\u{fffd}\\ude00"),
    ];
    for (json, text) in cases {
        assert_eq!(read_json(json).unwrap(), json!(text), "{json}");
    }
    assert_eq!(read_json(r#"{"\ud83d":["\ude00"]}"#).unwrap(), json!({"\u{fffd}": ["\u{fffd}"]}));
    assert!(read_json(r#""\ud83d"#).is_err());
}

#[test]
fn anthropic_halves_come_together_in_text_thoughts_and_arguments() {
    let events = stream(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm \ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\ud83d"}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\ude00b\ud83d"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"\ud83d","name":"grep","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"p\":\"\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\ude00\ude00\"}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    insta::assert_snapshot!(meaning(AnthropicStream::new, &events), @r#"
    thinking "hm "
    thinking "😀"
    kept anthropic {"type":"thinking","thinking":"hm 😀","signature":""}
    text "a"
    text "😀b"
    text "�"
    started � grep
    call � grep {"p":"😀�"}
    done ToolUse
    "#);
}

#[test]
fn chat_halves_come_together_in_text_thoughts_and_arguments() {
    let delta = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let events = [
        delta(r#"{"reasoning_content":"hm \ud83d"}"#),
        delta(r#"{"reasoning_content":"\ude00"}"#),
        delta(r#"{"content":"a\ud83d"}"#),
        delta(r#"{"content":"\ude00"}"#),
        delta(
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"grep","arguments":"{\"p\":\"\ud83d"}}]}"#,
        ),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
        "[DONE]".to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let new = || ChatStream::new(Quirks::openai());
    insta::assert_snapshot!(meaning(new, &stream(&events)), @r#"
    thinking "hm "
    thinking "😀"
    text "a"
    text "😀"
    started c grep
    call c grep {"p":"😀"}
    done ToolUse
    "#);
}

#[test]
fn responses_halves_come_together_in_text_thoughts_and_arguments() {
    let events = stream(&[
        r#"{"type":"response.reasoning_summary_text.delta","delta":"hm \ud83d"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","delta":"\ude00"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"\ud83d"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"\ude00"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"grep","arguments":"{\"p\":\"\ud83d\"}"}}"#,
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    insta::assert_snapshot!(meaning(ResponsesStream::new, &events), @r#"
    thinking "hm "
    thinking "😀"
    text "😀"
    started c grep
    call c grep {"p":"�"}
    done ToolUse
    "#);
}

/// Text as UTF-16 in JSON, cut into pieces wherever it may be.
fn pieces() -> impl Strategy<Value = (String, Vec<String>)> {
    let text = prop::collection::vec(
        prop_oneof!["[a\\\\\"é]", Just("😀".to_owned()), Just("\u{100000}".to_owned())],
        1..12,
    );
    (
        text.prop_map(|parts| parts.concat()),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(text, one, two)| {
            let units: Vec<u16> = text.encode_utf16().collect();
            let mut borders = [one.index(units.len() + 1), two.index(units.len() + 1)];
            borders.sort_unstable();
            let parts =
                [&units[..borders[0]], &units[borders[0]..borders[1]], &units[borders[1]..]];
            let escaped = |part: &[u16]| part.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            (text, parts.map(escaped).to_vec())
        })
}

proptest! {
    #[test]
    fn wherever_a_text_is_cut_it_is_the_same_in_the_end((text, pieces) in pieces()) {
        let deltas = pieces.iter().map(|piece| format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"));
        let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let stream: String = deltas.chain([end.to_owned()]).collect();
        let (mut decoder, mut reader) = (crate::SseDecoder::new(), ChatStream::new(Quirks::openai()));
        let mut read = String::new();
        for event in decoder.push(stream.as_bytes()) {
            for event in reader.push(event.unwrap()) {
                if let ModelEvent::Text(piece) = event.unwrap() {
                    read += &piece;
                }
            }
        }
        prop_assert_eq!(read, text);
    }

    #[test]
    fn any_json_is_read_as_serde_reads_it_or_made_readable(text in "[\\\\u\"d83e0a{}:, ]{0,40}") {
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => prop_assert_eq!(read_json(&text).unwrap(), value),
            Err(_) => drop(read_json(&text)),
        }
    }
}
