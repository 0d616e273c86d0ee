//! Tools: which there are, calling them by hand, and what the policy says about calls.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use protocol::ToolCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use team::AuditKind;
use tokio_util::sync::CancellationToken;

use super::project::ProjectQuery;
use crate::api_error::{ApiError, ToldError};
use crate::credentials::{AccessScope, random_secret};
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};
use crate::view::ProjectView;

/// Bytes of a call, which may hold whole files.
const CALL_BODY: usize = 16 * 1024 * 1024;

pub(super) fn routes() -> Vec<Route> {
    let (tools, approve) = (Need::Scope(AccessScope::Tools), Need::Scope(AccessScope::Approve));
    vec![
        Route::new(Method::GET, "/api/tools", Need::Login, "The tools with their schemas.", list),
        Route::new(
            Method::POST,
            "/api/tools/{tool}",
            tools,
            "Calls a tool by hand. What needs approval is asked about as for a model.",
            call,
        )
        .up_to(CALL_BODY),
        Route::new(Method::GET, "/api/policy", Need::Login, "The mode and all rules.", policy),
        Route::new(
            Method::POST,
            "/api/policy/explain",
            tools,
            "What would be decided about a call, by which rule and why.",
            explain,
        )
        .up_to(CALL_BODY),
        Route::new(
            Method::DELETE,
            "/api/policy/{rule}",
            approve,
            "Forgets a rule that was remembered.",
            revoke,
        ),
    ]
}

/// The tools of a project.
#[derive(Debug, Serialize, JsonSchema)]
struct ToolList {
    tools: Vec<Value>,
}

async fn list(request: Request<ProjectQuery, Nothing>) -> Result<ToolList, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    let offered = project.direct_calls().executor().offered();
    Ok(ToolList { tools: offered.iter().map(|tool| tool.to_json()).collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallBody {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The result of a call by hand.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CallResult {
    /// Whether it ended well.
    ok: bool,
    /// The result, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// What went wrong, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToldError>,
    /// The result as a model reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// What the call did, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

async fn call(request: Request<Nothing, CallBody>) -> Result<CallResult, ApiError> {
    let project = request.hub.project(request.body.project.as_deref())?;
    call_by_hand(&project, request.part("tool"), request.body.arguments.clone()).await
}

/// Calls a tool for the user, who is asked as for a model.
pub(super) async fn call_by_hand(
    project: &ProjectView,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<CallResult, ApiError> {
    let name = random_secret().map_err(|error| ApiError::internal(error.to_string()))?;
    let call = ToolCall::new(format!("hand_{name}"), tool, arguments);
    // A tool that does not exist is a wrong address, not a call that failed.
    let calls = Arc::clone(project.direct_calls());
    calls.executor().tool_of(&call)?;
    let room = calls.room_by_hand().ok_or_else(|| {
        let message = "too many calls by hand run or wait for an answer";
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY", message)
    })?;
    let cancel = CancellationToken::new();
    // If the client goes away, the call ends in good order.
    let _cancels = cancel.clone().drop_guard();
    let running = tokio::spawn(async move {
        let _room = room;
        let executor = calls.executor();
        executor.report(&call, &cancel, executor.approver()).await
    });
    let report = running.await.map_err(|error| ApiError::internal(error.to_string()))?;
    let (text, title) = (report.text, report.title);
    Ok(match report.result {
        Ok(value) => CallResult { ok: true, value: Some(value), error: None, text, title },
        Err(error) => {
            let error = Some(*ApiError::from(error).told);
            CallResult { ok: false, value: None, error, text, title }
        }
    })
}

/// The policy of a project.
#[derive(Debug, Serialize, JsonSchema)]
struct PolicyRules {
    /// What needs approval where no rule decides.
    mode: String,
    rules: Vec<ListedRule>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedRule {
    id: String,
    /// The rule in words.
    text: String,
    /// Where it comes from.
    source: Value,
    /// The rule as it is written.
    rule: Value,
}

async fn policy(request: Request<ProjectQuery, Nothing>) -> Result<PolicyRules, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    let policy = project.direct_calls().executor().policy_now().await?;
    let rules = policy.rules().map(|rule| ListedRule {
        id: rule.id(),
        text: rule.to_string(),
        source: json!(rule.source),
        rule: json!(rule),
    });
    Ok(PolicyRules { mode: policy.mode().to_string(), rules: rules.collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainBody {
    project: Option<String>,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// What would be decided.
#[derive(Debug, Serialize, JsonSchema)]
struct PolicyExplanation {
    /// `allow`, `ask` or `deny`.
    decision: String,
    explanation: String,
    /// What the call would do, a line each.
    effects: Vec<String>,
}

async fn explain(request: Request<Nothing, ExplainBody>) -> Result<PolicyExplanation, ApiError> {
    let ExplainBody { project, tool, arguments } = request.body;
    let project = request.hub.project(project.as_deref())?;
    let call = ToolCall::new("explain", tool, arguments);
    let explained =
        project.direct_calls().executor().explain(&call, &CancellationToken::new()).await?;
    Ok(PolicyExplanation {
        decision: explained.verdict.decision.to_string(),
        explanation: explained.verdict.explanation.to_string(),
        effects: explained.effects.iter().map(ToString::to_string).collect(),
    })
}

async fn revoke(request: Request<ProjectQuery, Nothing>) -> Result<Nothing, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    let rule = request.part("rule");
    match project.revoke(rule).await? {
        true => {
            request.hub.note(AuditKind::RuleRevoked, project.name(), rule, "").await?;
            Ok(Nothing {})
        }
        false => Err(ApiError::not_found(format!("no rule `{rule}` was remembered"))),
    }
}
