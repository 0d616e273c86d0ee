//! What the service cannot know about a project by itself, because it lies in configuration.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::response::Response;
use protocol::ToolError;
use schemars::JsonSchema;
use serde::Serialize;
use session::Model;
use store::{SessionId, Store};
use team::ProviderKey;
use tokio_util::sync::CancellationToken;
use tool_system::ProjectTools;

use super::DirectCalls;

/// Answers what only the configuration, the user's files and the machine can tell.
#[async_trait]
pub trait ProjectPort: Send + Sync {
    /// Whether the project's directory is still there, and the same. It may take a moment, but waits for no network.
    fn is_reachable(&self) -> bool;

    /// Forgets a rule that was remembered. Answers whether there was one.
    fn revoke(&self, rule: &str) -> Result<bool, ToolError>;

    /// The models that can be chosen, the usual one first.
    async fn models(&self) -> Vec<String>;

    /// The model that a user means by this name.
    async fn model(&self, name: &str) -> Result<Model, ToolError>;

    /// The same with keys of the user, by the names of providers, which count before those of the configuration. Without
    /// a name it is the usual model; none if these keys change nothing about that.
    async fn model_with_keys(
        &self,
        name: Option<&str>,
        keys: &[(String, ProviderKey)],
    ) -> Result<Option<Model>, ToolError>;

    /// What is configured. No network is used, and nothing is waited for.
    fn configured(&self) -> ConfiguredFacts;

    /// The tools that files of the project define, trusted or not.
    fn custom_tools(&self) -> Vec<CustomToolFile>;

    /// Trusts the text of a file, if it is the one with this hash. Answers what that means, in words.
    fn trust(&self, file: &str, hash: &str) -> Result<String, ToolError>;

    /// What can be mentioned in a message by these letters, the best first.
    async fn mentions(&self, query: &str) -> Vec<Mentionable>;

    /// Symbols whose names hold these letters in their order, the best first; and whether all names were looked at.
    async fn symbols(&self, letters: &str) -> (Vec<Mentionable>, bool);

    /// The commands of the chat that these letters may mean, the best first. Messages hold the arguments.
    fn commands(&self, query: &str, arguments: &str) -> Vec<CompletedCommand>;

    /// The tools of one session, if it works in a directory of its own; none if it works in the project's.
    async fn tools_for(&self, _session: &SessionId) -> Result<Option<ProjectTools>, ToolError> {
        Ok(None)
    }

    /// The session was deleted. What only it worked in goes too, unless that holds work that is nowhere else.
    async fn session_gone(&self, _session: &SessionId) -> Option<KeptWorktree> {
        None
    }

    /// Looks for what sessions have left behind here that are not in the store any more. It is called now and then.
    async fn sweep(&self, _store: &dyn Store) {}

    /// The tools of the project for other agents, as `calls` has them. `site` is where our page is, and streams end when
    /// `closing` fires. It is asked for once for each user, when the first agent connects.
    fn agents(
        &self,
        calls: &DirectCalls,
        site: &str,
        closing: &CancellationToken,
    ) -> Arc<dyn AgentEndpoint>;
}

/// Speaks the protocol of other agents, behind the guard of the service.
#[async_trait]
pub trait AgentEndpoint: Send + Sync {
    /// Answers a request. `may_approve` says whether the client may also answer questions.
    async fn answer(&self, parts: Parts, body: Bytes, may_approve: bool) -> Response<Body>;
}

/// The directory of a deleted session that stays, because of what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptWorktree {
    /// Where it is, on the machine of the replica.
    pub path: String,
    /// What it holds that is nowhere else.
    pub why: String,
}

/// What is configured for a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfiguredFacts {
    /// The models that are known without asking a provider, the usual one first.
    pub models: Vec<String>,
    /// For each provider that needs a key, whether there is one. Never the key itself.
    pub keys: Vec<KeyStatus>,
    /// How commands are confined, in words; absent until that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// Whether there is a key for a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeyStatus {
    /// The provider.
    pub provider: String,
    /// Whether a key was found.
    pub found: bool,
    /// The variable or the file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A file of the project that defines a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CustomToolFile {
    /// Its path.
    pub file: String,
    /// The name of the tool; absent if the file has mistakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its exact text, which is what is trusted.
    pub text: String,
    /// The hash of the text.
    pub hash: String,
    /// Whether the user trusts exactly this text.
    pub trusted: bool,
    /// What a call would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What is wrong with the file, a line each.
    pub mistakes: Vec<String>,
}

/// What something is that can be mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MentionableKind {
    File,
    Directory,
    Symbol,
}

/// Something that can be mentioned with an `@`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mentionable {
    /// What it is.
    pub kind: MentionableKind,
    /// Its path or name.
    pub text: String,
    /// What is attached for it, if that is not the text: the file of a symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// More about it, such as the place of a symbol; empty if there is nothing more to say.
    pub detail: String,
}

/// A command that can be typed after a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletedCommand {
    /// Without the slash.
    pub name: String,
    /// As it is typed, such as `/model [NAME]`.
    pub usage: String,
    /// What it does, in a few words.
    pub about: String,
    /// What it sends, if the user has written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it cannot be used, if there is a file for it that cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
