//! Performs approved web requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Method;
use hyper::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use net::{Allowance, Network, Reach, WebCall, WebClient, WebError, WebReply, WebUrl};
use protocol::{ErrorCode, Proposal, ToolError, ToolResult, WebRequest};
use serde_json::json;

use super::rate_limit::HostRequests;
use super::{PageKey, SearchServer, WebPage};
use crate::policy::{Decision, effects_of};
use crate::{OnDemand, ToolContext, json_of};

/// Says who asks, as servers wish to know.
const AGENT: &str = concat!("toolkiln/", env!("CARGO_PKG_VERSION"), " (web_fetch; for its user)");
/// Markdown where a server has it, because that is what a model reads.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/json;q=0.8, text/plain;q=0.8, \
                        */*;q=0.5";
/// Headers that are sent to another server too.
const NOT_SECRET: [HeaderName; 3] = [ACCEPT, ACCEPT_LANGUAGE, USER_AGENT];

/// What the user's configuration says about the web.
pub struct WebOptions {
    /// How it is reached.
    pub network: Network,
    /// What may be reached besides public addresses.
    pub allow: Vec<Allowance>,
    /// Where searches go, if that is configured.
    pub search: OnDemand<Option<SearchServer>>,
}

/// The way to the web for all sessions of a process. Nothing is opened before it is needed.
pub struct WebAccess {
    pages: OnDemand<WebClient>,
    searches: OnDemand<WebClient>,
    search: Arc<OnDemand<Option<SearchServer>>>,
    visits: HostRequests,
}

impl WebAccess {
    /// The way that these options describe.
    pub fn new(options: WebOptions) -> Self {
        let WebOptions { network, allow, search } = options;
        let client = |network: &Network, reach: Reach| {
            WebClient::new(network, reach)
                .map_err(|error| ToolError::new(ErrorCode::ExecutionError, error.to_string()))
        };
        let (for_search, search) = (network.clone(), Arc::new(search));
        let named = Arc::clone(&search);
        let pages = OnDemand::new(move || client(&network, Reach::Besides(allow.clone())));
        let searches = OnDemand::new(move || {
            // The user named it, wherever it is.
            let server = named.get()?.as_ref().map(|server| server.url.authority().clone());
            client(&for_search, Reach::Named(server.into_iter().collect()))
        });
        Self { pages, searches, search, visits: HostRequests::default() }
    }

    /// The configured search server.
    pub(crate) fn search(&self) -> Result<&SearchServer, ToolError> {
        self.search.get()?.as_ref().ok_or_else(|| {
            ToolError::new(ErrorCode::ToolDisabled, "no search server is configured").suggest(
                "The user can name one in the configuration, such as `[web.search]` with `provider = \
                 \"searxng\"` and `url = \"http://localhost:8888\"`, or `provider = \"brave\"` with \
                 the key in BRAVE_API_KEY. An address that is known can be fetched without one.",
            )
        })
    }

    /// Sends an approved request and reports what came back.
    pub(crate) async fn perform(&self, request: &WebRequest, cx: &ToolContext) -> ToolResult {
        let url = WebUrl::parse(&request.url).map_err(|error| {
            ToolError::new(ErrorCode::InvalidArguments, format!("{}: {error}", request.url))
        })?;
        let limits = cx.limits();
        let host = url.authority().host.to_string();
        self.visits.take(&host, limits.web_requests_per_minute, Instant::now()).map_err(
            |wait| {
                let message = format!(
                    "{host} was asked {} times within a minute already",
                    limits.web_requests_per_minute
                );
                let seconds = wait.as_secs() + 1;
                ToolError::new(ErrorCode::ExecutionError, message).suggest(format!(
                    "Go on with something else, and ask again in {seconds} seconds."
                ))
            },
        )?;
        let mut headers = headers_of(request)?;
        let client = match &request.search {
            Some(_) => {
                self.search()?.sign(&url, &mut headers)?;
                self.searches.get()?
            }
            None => self.pages.get()?,
        };
        let method = Method::from_bytes(request.method.as_bytes());
        let call = WebCall {
            method: method.unwrap_or(Method::GET),
            url,
            headers,
            body: request.body.clone().map(Into::into),
            timeout: Duration::from_millis(request.timeout_ms),
            max_body: usize::try_from(limits.web_body_bytes).unwrap_or(usize::MAX),
        };
        let may_follow = |next: &WebUrl| passes_unasked(request, next, cx);
        let fetching = async { client.fetch(call, &may_follow).await.map_err(in_words) };
        let reply = cx.unless_cancelled(fetching).await?;
        match &request.search {
            Some(_) => self.searched(&reply, cx),
            None => fetched(request, reply, cx).await,
        }
    }

    fn searched(&self, reply: &WebReply, cx: &ToolContext) -> ToolResult {
        let most = usize::try_from(cx.limits().web_search_max).unwrap_or(usize::MAX);
        let hits = self.search()?.results(reply.status.as_u16(), &reply.body, most)?;
        Ok(json!({"results": json_of(hits)?}))
    }
}

async fn fetched(request: &WebRequest, reply: WebReply, cx: &ToolContext) -> ToolResult {
    let key = PageKey::of(request);
    // A large page takes a while to be read.
    cx.blocking(move |cx| {
        let limits = cx.limits();
        let page = Arc::new(WebPage::of(&reply, limits.read_line_bytes));
        cx.state.pages.put(key, &page, limits.web_kept_bytes, Instant::now());
        json_of(page.view(1, limits.web_page_bytes))
    })
    .await
}

/// Whether a redirect to another server would pass if it were asked for by itself.
fn passes_unasked(request: &WebRequest, next: &WebUrl, cx: &ToolContext) -> Result<(), String> {
    let followed =
        WebRequest { method: "GET".into(), url: next.to_string(), ..WebRequest::default() };
    let policy = cx.state.policy().map_err(|error| error.message)?;
    let effects = effects_of(&Proposal::Web(followed));
    let decision = policy.decide(cx.tool, cx.state.caller.role.name(), &effects);
    match decision {
        Decision::Allow if request.search.is_none() => Ok(()),
        Decision::Deny => Err("a rule denies that server".into()),
        _ => Err("it leads to another server, which needs approval of its own".into()),
    }
}

/// What is sent beside the address. Whatever the model adds stays with the first server.
fn headers_of(request: &WebRequest) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    for (name, value) in &request.headers {
        let invalid = || {
            let message = format!("the header `{}` cannot be sent", name.escape_debug());
            ToolError::new(ErrorCode::InvalidArguments, message)
        };
        let name: HeaderName = name.parse().map_err(|_| invalid())?;
        let mut value: HeaderValue = value.parse().map_err(|_| invalid())?;
        value.set_sensitive(!NOT_SECRET.contains(&name));
        headers.insert(name, value);
    }
    Ok(headers)
}

fn in_words(error: WebError) -> ToolError {
    let message = error.to_string();
    match error {
        WebError::Refused { .. } => ToolError::new(ErrorCode::PermissionDenied, message).suggest(
            "Only public addresses are fetched. The user can allow another one with \
             `web.network_allow` in the configuration.",
        ),
        WebError::TimedOut(_) => ToolError::new(ErrorCode::Timeout, message)
            .suggest("Try again with a longer timeout, or another address."),
        WebError::Failed(_) => ToolError::new(ErrorCode::ExecutionError, message)
            .suggest("Check the address; the server may be down."),
    }
}
