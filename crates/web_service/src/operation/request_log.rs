//! What is logged of a request: nothing that could be secret. No header, no query, no body, no path as it was sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;

/// One request that was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Names it in the answer's header `x-request-id` too.
    pub request: String,
    /// By name, or how the client is known; absent if the client was not recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The method, if it is one that is known.
    pub method: &'static str,
    /// The route as the table has it, with names in place of values.
    pub route: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// From the end of the request's head to the head of the answer.
    pub duration_ms: f64,
}

/// Takes what is to be logged. It must not wait.
pub type RequestLog = Arc<dyn Fn(&RequestRecord) + Send + Sync>;

/// What is found out about a request on its way.
#[derive(Debug, Default)]
pub(crate) struct RequestNotes {
    route: OnceLock<&'static str>,
    user: OnceLock<String>,
}

/// The name of all requests that no route is for, the page's own files among them.
const OTHER: &str = "other";

impl RequestNotes {
    pub(crate) fn is_for(&self, route: &'static str) {
        let _ = self.route.set(route);
    }

    pub(crate) fn is_by(&self, user: &str) {
        let _ = self.user.set(user.to_owned());
    }

    pub(crate) fn route(&self) -> &'static str {
        self.route.get().copied().unwrap_or(OTHER)
    }

    pub(crate) fn user(&self) -> Option<String> {
        self.user.get().cloned()
    }
}

/// Gives requests names that no other has, also after a restart.
#[derive(Debug)]
pub(crate) struct RequestNames {
    beginning: String,
    next: AtomicU64,
}

impl RequestNames {
    pub(crate) fn new(started_s: u64, process: u32) -> Self {
        Self { beginning: format!("{started_s:x}-{process:x}"), next: AtomicU64::default() }
    }

    pub(crate) fn next(&self) -> String {
        format!("{}-{:x}", self.beginning, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// A method in a form that is one of few.
pub(crate) fn known_method(method: &axum::http::Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}
