use ModelErrorKind::*;

use super::*;

#[test]
fn status_and_body_tell_the_kind() {
    let cases = [
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#,
            InvalidRequest,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long: 9 > 8"}}"#,
            ContextFull,
        ),
        (
            400,
            r#"{"error":{"message":"too much","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ContextFull,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ContextFull,
        ),
        (400, r#"{"detail":"This model's maximum context length is 8 tokens."}"#, ContextFull),
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"x"}}"#,
            Unauthorized,
        ),
        (
            401,
            r#"{"error":{"message":"x","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Unauthorized,
        ),
        (402, "", Unauthorized),
        (403, r#"{"error":{"type":"permission_error"}}"#, Unauthorized),
        (
            404,
            r#"{"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}}"#,
            UnknownModel,
        ),
        (404, r#"{"error":"model 'x' not found"}"#, UnknownModel),
        (408, "", Overloaded),
        (413, r#"{"error":{"type":"invalid_request_error"}}"#, ContextFull),
        (413, "<html>nginx</html>", ContextFull),
        (422, "[]", InvalidRequest),
        (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#, RateLimited),
        (
            429,
            r#"{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Unauthorized,
        ),
        (
            429,
            r#"{"error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            Unauthorized,
        ),
        (500, "no JSON", Overloaded),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Overloaded,
        ),
        (502, "<!doctype html><p>Bad Gateway", Overloaded),
        (301, "", Malformed),
    ];
    for (status, body, kind) in cases {
        assert_eq!(error_of(status, &[], body.as_bytes()).kind, kind, "{status} {body}");
    }
}

#[test]
fn the_message_is_one_short_line() {
    let message = |body: &[u8]| error_of(500, &[], body).message;
    let said = "the provider answered with status 500";
    assert_eq!(message(br#"{"error":{"message":"a\n  b\u001b[1m"}}"#), format!("{said}: a b [1m"));
    assert_eq!(message(b"upstream\xff died\n"), format!("{said}: upstream\u{fffd} died"));
    assert_eq!(message(b"  <html>"), format!("{said} and no explanation"));
    assert_eq!(message(b"{}"), format!("{said} and no explanation"));
    assert_eq!(message(b""), format!("{said} and no explanation"));
    let long = message("é".repeat(5000).as_bytes());
    assert_eq!(long, format!("{said}: {}…", "é".repeat(MAX_SHOWN)));
}

#[test]
fn the_time_to_wait_is_read_in_every_form() {
    let date = ("Date", "Sun, 15 Nov 2026 08:00:00 GMT");
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Headers<'_>, Option<u64>); 10] = [
        (&[("retry-after", "7")], Some(7000)),
        (&[("Retry-After", " 0.5 ")], Some(500)),
        (&[("retry-after", "7"), ("retry-after-ms", "1200")], Some(1200)),
        (&[("retry-after", "7"), ("retry-after-ms", "soon")], Some(7000)),
        (&[("retry-after", "Sun, 15 Nov 2026 08:00:30 GMT"), date], Some(30_000)),
        (&[("retry-after", "Sun, 15 Nov 2026 07:00:00 GMT"), date], Some(0)),
        (&[("retry-after", "Sun, 15 Nov 2026 08:00:30 GMT")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[], None),
    ];
    for (headers, expected) in cases {
        let owned: Vec<_> =
            headers.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let wait = error_of(429, &owned, b"").retry_after;
        assert_eq!(wait, expected.map(Duration::from_millis), "{headers:?}");
    }
}

#[test]
fn a_provider_can_say_that_asking_again_is_no_use() {
    let told = |value: &str| {
        let headers = [("X-Should-Retry".to_owned(), value.to_owned())];
        error_of(500, &headers, b"").should_retry
    };
    assert_eq!((told("false"), told("true"), told("?")), (Some(false), Some(true), None));
    assert_eq!(error_of(500, &[], b"").should_retry, None);
}

#[test]
fn errors_inside_a_stream_have_a_kind_too() {
    let cases = [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, Overloaded),
        (r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#, RateLimited),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#,
            InvalidRequest,
        ),
        (r#"{"type":"error","code":"rate_limit_exceeded","message":"x"}"#, RateLimited),
        (r#"{"error":{"code":429,"message":"x"}}"#, RateLimited),
        (r#"{"error":{"code":"server_error","message":"x"}}"#, Overloaded),
        (r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, ContextFull),
        (r#"{"error":"prompt is too long"}"#, ContextFull),
        ("null", Overloaded),
    ];
    for (event, kind) in cases {
        assert_eq!(error_in_stream(&serde_json::from_str(event).unwrap()).kind, kind, "{event}");
    }
}
