//! What can follow an `@` or a `/` in a message.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::{CompletedCommand, Mentionable};
use crate::route::{Nothing, Request, Route};

pub(super) fn routes() -> Vec<Route> {
    // Whoever may send messages may attach what is named here.
    let chat = Need::Scope(AccessScope::Chat);
    let about =
        "Files, directories and symbols after an `@`, or commands after a `/`, the best first.";
    vec![Route::new(Method::GET, "/api/complete", chat, about, complete)]
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CompletedKind {
    /// After `@`.
    #[default]
    Mention,
    /// After `/`.
    Command,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompletionQuery {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    /// What was typed after the mark.
    #[serde(default)]
    query: String,
    #[serde(default)]
    kind: CompletedKind,
    /// What was typed after the command, for the message that it sends.
    #[serde(default)]
    arguments: String,
}

/// What may be meant.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Completions {
    mentions: Vec<Mentionable>,
    commands: Vec<CompletedCommand>,
}

async fn complete(request: Request<CompletionQuery, Nothing>) -> Result<Completions, ApiError> {
    let CompletionQuery { project, query, kind, arguments } = request.query;
    let project = request.hub.project(project.as_deref())?;
    let port = project.port();
    Ok(match kind {
        CompletedKind::Mention => {
            Completions { mentions: port.mentions(&query).await, ..Completions::default() }
        }
        CompletedKind::Command => {
            Completions { commands: port.commands(&query, &arguments), ..Completions::default() }
        }
    })
}
