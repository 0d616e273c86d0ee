//! One row of the table of routes: everything that the router, the guard and the API description have
//! to know about a request.

use std::any::TypeId;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::app::WebApp;
use crate::credentials::{AccessScope, KnownClient};
use crate::guard::Need;
use crate::view::HubView;

/// Bytes of the body of an ordinary request.
const USUAL_BODY: usize = 1024 * 1024;
/// Bytes of a body that is sent without a login: no more than a code or a token.
const BODY_WITHOUT_LOGIN: usize = 4 * 1024;

/// No query, or no body.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Nothing {}

/// A request that was let in and understood.
pub struct Request<Q, B> {
    /// The service.
    pub app: Arc<WebApp>,
    /// The sessions and projects that the client may see.
    pub(crate) hub: HubView,
    /// The client; none where no login is needed and there is none.
    pub caller: Option<KnownClient>,
    /// The parts of the path by name.
    pub path: HashMap<String, String>,
    pub query: Q,
    pub body: B,
    pub headers: HeaderMap,
}

impl<Q, B> Request<Q, B> {
    /// Whether the client may do what needs this scope.
    pub fn may(&self, scope: AccessScope) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.may(scope))
    }

    /// A part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// A part of the path that is a name of something.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Result<T, ApiError> {
        let text = self.part(name);
        text.parse().map_err(|_| ApiError::not_found(format!("there is no {name} `{text}`")))
    }
}

/// A request as it came, after the guard.
pub(crate) struct RawRequest {
    pub(crate) app: Arc<WebApp>,
    pub(crate) hub: HubView,
    pub(crate) caller: Option<KnownClient>,
    pub(crate) path: HashMap<String, String>,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub struct RouteAnswer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) cookies: Vec<HeaderValue>,
    pub(crate) body: Body,
}

impl RouteAnswer {
    /// Something that is not JSON.
    pub fn text(content_type: &'static str, body: impl Into<Body>) -> Self {
        Self { status: StatusCode::OK, content_type, cookies: Vec::new(), body: body.into() }
    }

    /// A value as JSON.
    pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Self, ApiError> {
        Self::written(status, serde_json::to_vec(value))
    }

    fn written(status: StatusCode, json: serde_json::Result<Vec<u8>>) -> Result<Self, ApiError> {
        let json = json.map_err(|it| ApiError::internal(it.to_string()))?;
        Ok(Self { status, content_type: JSON, cookies: Vec::new(), body: json.into() })
    }
}

/// The type of bodies and answers.
pub(crate) const JSON: &str = "application/json";

type Answering = Pin<Box<dyn Future<Output = Result<RouteAnswer, ApiError>> + Send>>;
type Handler = Box<dyn Fn(RawRequest) -> Answering + Send + Sync>;
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A row of the table.
pub struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) need: Need,
    pub(crate) summary: &'static str,
    pub(crate) body_limit: usize,
    pub(crate) status: StatusCode,
    /// The type of the answer.
    pub(crate) content_type: &'static str,
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
    pub(crate) answer: Option<SchemaOf>,
    pub(crate) handler: Handler,
}

fn schema_of<T: JsonSchema + 'static>() -> Option<SchemaOf> {
    let is_something = TypeId::of::<T>() != TypeId::of::<Nothing>();
    is_something.then_some(|generator: &mut SchemaGenerator| generator.subschema_for::<T>())
}

impl Route {
    /// A route whose answer is a value.
    pub fn new<Q, B, A, F, Fut>(
        method: Method,
        path: &'static str,
        need: Need,
        summary: &'static str,
        handle: F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
        F: Fn(Request<Q, B>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ApiError>> + Send + 'static,
    {
        let handler: Handler = Box::new(move |raw| {
            let handle = handle.clone();
            Box::pin(async move {
                let answer = handle(understood(raw)?).await?;
                RouteAnswer::json(StatusCode::OK, &answer)
            })
        });
        let asked = (schema_of::<Q>(), schema_of::<B>());
        let route = Self::row(method, path, need, summary, JSON, asked, handler);
        Self { answer: schema_of::<A>(), ..route }
    }

    /// A route that makes its answer itself.
    pub fn raw<Q, B, F, Fut>(
        method: Method,
        path: &'static str,
        need: Need,
        summary: &'static str,
        content_type: &'static str,
        handle: F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Request<Q, B>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<RouteAnswer, ApiError>> + Send + 'static,
    {
        let handler: Handler = Box::new(move |raw| {
            let handle = handle.clone();
            Box::pin(async move { handle(understood(raw)?).await })
        });
        let asked = (schema_of::<Q>(), schema_of::<B>());
        Self::row(method, path, need, summary, content_type, asked, handler)
    }

    /// `asked` are the types of the query and the body.
    fn row(
        method: Method,
        path: &'static str,
        need: Need,
        summary: &'static str,
        content_type: &'static str,
        (query, body): (Option<SchemaOf>, Option<SchemaOf>),
        handler: Handler,
    ) -> Self {
        Self {
            method,
            path,
            need,
            summary,
            body_limit: if need == Need::Nothing { BODY_WITHOUT_LOGIN } else { USUAL_BODY },
            status: StatusCode::OK,
            content_type,
            query,
            body,
            answer: None,
            handler,
        }
    }

    /// Takes bodies of up to this many bytes.
    #[must_use]
    pub fn up_to(self, body_limit: usize) -> Self {
        Self { body_limit, ..self }
    }
}

fn understood<Q: DeserializeOwned, B: DeserializeOwned>(
    raw: RawRequest,
) -> Result<Request<Q, B>, ApiError> {
    let RawRequest { app, hub, caller, path, uri, headers, body } = raw;
    let (query, body) = (query_of(&uri)?, body_of(&body)?);
    Ok(Request { app, hub, caller, path, query, body, headers })
}

// Apart, so that each type is compiled once and not with every other.
fn query_of<Q: DeserializeOwned>(uri: &Uri) -> Result<Q, ApiError> {
    let Query(query) =
        Query::try_from_uri(uri).map_err(|error| ApiError::invalid(error.body_text()))?;
    Ok(query)
}

fn body_of<B: DeserializeOwned>(body: &Bytes) -> Result<B, ApiError> {
    // A request without a body is one with an empty object.
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body)
        .map_err(|error| ApiError::invalid(format!("the body cannot be understood: {error}")))
}
