//! What is known of the client behind a request.

use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

/// What a client may do, by the credentials that it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpClient {
    /// Whether its answers to questions count. One that may only ask must not approve what it asks for.
    pub may_answer: bool,
}

impl HttpClient {
    /// The client of a request. On standard streams it is the program that has started us, which
    /// answers for its user.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let Some(parts) = context.extensions.get::<Parts>() else {
            return Self { may_answer: true };
        };
        parts.extensions.get().copied().unwrap_or(Self { may_answer: false })
    }
}
