use serde_json::json;

use super::*;

fn server(provider: SearchProvider) -> SearchServer {
    let url = provider.usual_url().unwrap_or("http://localhost:8888/");
    SearchServer {
        kind: SearchKind::Known(provider),
        url: WebUrl::parse(url).expect(url),
        key: Some("secret-key".into()),
    }
}

fn question() -> SearchQuestion {
    SearchQuestion {
        query: "rust & \"async\"\r\nx".into(),
        results: 5,
        recency: Some(Recency::Week),
        since: Some("2026-11-09".into()),
    }
}

#[test]
fn each_server_is_asked_in_its_own_way_and_no_request_shows_the_key() {
    let asked: Vec<String> = SearchProvider::ALL
        .iter()
        .map(|provider| {
            let server = server(*provider);
            let request = server.request(&question(), 1000).expect("a request");
            let url = WebUrl::parse(&request.url).expect("an address");
            let mut headers = HeaderMap::new();
            server.sign(&url, &mut headers).expect("its own server");
            let (name, value) = headers.iter().next().expect("a key");
            assert!(value.is_sensitive());
            let signed = format!("{name}: {}", value.to_str().expect("ASCII"));
            let body = request.body.clone().unwrap_or_default();
            assert!(!format!("{request:?} {server:?}").contains("secret"));
            format!("{} {} {body}\n  {signed}", request.method, request.url)
        })
        .collect();
    insta::assert_snapshot!(asked.join("\n"), @r#"
    GET http://localhost:8888/search?q=rust+%26+%22async%22%0D%0Ax&format=json&time_range=week 
      authorization: Bearer secret-key
    GET https://api.search.brave.com/res/v1/web/search?q=rust+%26+%22async%22%0D%0Ax&count=5&freshness=pw 
      x-subscription-token: secret-key
    POST https://api.tavily.com/search {"query":"rust & \"async\"\r\nx","max_results":5,"time_range":"week"}
      authorization: Bearer secret-key
    POST https://api.exa.ai/search {"query":"rust & \"async\"\r\nx","numResults":5,"contents":{"highlights":true},"startPublishedDate":"2026-11-09"}
      x-api-key: secret-key
    GET https://kagi.com/api/v0/search?q=rust+%26+%22async%22%0D%0Ax+after%3A2026-11-09&limit=5 
      authorization: Bot secret-key
    "#);
}

#[test]
fn a_key_goes_to_the_configured_server_only() {
    let server = server(SearchProvider::Brave);
    for other in
        ["https://evil.org/", "http://api.search.brave.com/", "https://api.search.brave.com:8443/"]
    {
        let url = WebUrl::parse(other).expect(other);
        let mut headers = HeaderMap::new();
        let error = server.sign(&url, &mut headers).expect_err(other);
        assert_eq!(error.code, ErrorCode::PermissionDenied);
        assert!(headers.is_empty());
    }
}

#[test]
fn answers_become_results_without_markup() {
    let cases = [
        (
            SearchProvider::SearXng,
            json!({"results": [{"title": "A", "url": "https://a.org/", "content": "one <b>two</b>\u{1b}[2J",
                "publishedDate": null}, {"title": "bad", "url": "javascript:alert(1)"}]}),
        ),
        (
            SearchProvider::Brave,
            json!({"type": "search", "web": {"results": [{"title": "A", "url": "https://a.org/",
                "description": "one <strong>two</strong> [2J"}]}}),
        ),
        (
            SearchProvider::Tavily,
            json!({"results": [{"title": "A", "url": "https://a.org/", "content": "one two [2J"}]}),
        ),
        (
            SearchProvider::Exa,
            json!({"results": [{"title": "A", "url": "https://a.org/", "highlights": ["one two [2J"]}]}),
        ),
        (
            SearchProvider::Kagi,
            json!({"data": [{"t": 0, "title": "A", "url": "https://a.org/", "snippet": "one two [2J"},
                {"t": 1, "list": ["related"]}]}),
        ),
    ];
    for (provider, answer) in cases {
        let body = answer.to_string();
        let hits = server(provider).results(200, body.as_bytes(), 5).expect("results");
        let expected = SearchHit {
            title: "A".into(),
            url: "https://a.org/".into(),
            snippet: "one two [2J".into(),
            published: None,
        };
        assert_eq!(hits, [expected], "{provider}");
        assert_eq!(server(provider).results(200, body.as_bytes(), 0).expect("none").len(), 0);
        let error = server(provider).results(200, b"<html>", 5).expect_err("not JSON");
        assert!(error.message.contains("did not answer with results in JSON"), "{error}");
        assert!(server(provider).results(200, b"{}", 5).is_err(), "{provider}");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let told = |provider, status| {
        let error = server(provider).results(status, b"", 5).expect_err("a refusal");
        format!("{}\n{}", error.message, error.suggestion.expect("something to do"))
    };
    insta::assert_snapshot!([
        told(SearchProvider::SearXng, 403),
        told(SearchProvider::Brave, 401),
        told(SearchProvider::Kagi, 429),
        told(SearchProvider::Exa, 500),
    ].join("\n"), @"
    searxng answered with status 403
    A SearXNG server answers programs only if its settings list `json` under `search.formats`. Ask the user to add it.
    brave answered with status 401
    Ask the user to check the key of the search server.
    kagi answered with status 429
    Too many searches: wait, or search less often.
    exa answered with status 500
    Try again later, or fetch an address that you know.
    ");
}

/// A server that says what went wrong.
struct Complaining;

impl SearchFormat for Complaining {
    fn name(&self) -> String {
        "complaining".into()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        BEARER
    }

    fn request(
        &self,
        base: &WebUrl,
        _: &SearchQuestion,
    ) -> Result<AskedSearch, net::InvalidWebUrl> {
        Ok(AskedSearch { url: base.clone(), body: None })
    }

    fn failure(&self, answer: &Value) -> Option<String> {
        answer["error"].as_str().map(str::to_owned)
    }

    fn hits(&self, _: &Value) -> Option<Vec<SearchHit>> {
        None
    }
}

#[test]
fn an_error_that_repeats_the_key_is_not_told_whatever_its_status() {
    let server = SearchServer {
        kind: SearchKind::Other(Arc::new(Complaining)),
        ..server(SearchProvider::Exa)
    };
    // In the third, a line that is cut would end within the key; in the fourth, it stands where tags are left out.
    let long = format!("{}secret-key", "x".repeat(formats::MAX_SNIPPET - "secret".len()));
    for said in ["no credit", "bad key secret-key", long.as_str(), "secret<b></b>-key"] {
        for status in [200, 401] {
            let body = json!({"error": said}).to_string();
            let error = server.results(status, body.as_bytes(), 5).expect_err("a failure");
            assert_eq!(error.message.contains(said), said == "no credit", "{}", error.message);
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }
}
