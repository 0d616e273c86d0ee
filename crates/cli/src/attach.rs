//! A terminal that joins a running `toolkiln web`: the service runs the session, this process shows it.
//!
//! What is shown comes from the same log as in a session of one's own, so the same screen draws it. Messages, answers
//! and interruptions go to the service, where other terminals and browsers see them too.

mod attached_chat;
mod attached_run;
mod remote_session;
mod service_address;

pub(crate) use attached_chat::chat;
pub(crate) use attached_run::{AttachedRun, run};

use anyhow::{Context as _, bail};
use providers::{JsonAnswer, JsonEvents, JsonServer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use remote_session::RemoteSession;
use service_address::ServiceClaim;

/// Where `toolkiln web` listens unless told otherwise.
pub(crate) const USUAL_ADDRESS: &str = "http://127.0.0.1:4747";

/// Options that are settled where the service was started; a session of it cannot have others.
pub(crate) const SETTLED_THERE: [&str; 15] = [
    "root",
    "vocabulary",
    "role",
    "mode",
    "allow",
    "deny",
    "unsafe_no_sandbox",
    "provider",
    "model",
    "base_url",
    "effort",
    "max_turns",
    "budget_usd",
    "budget_tokens",
    "time_limit",
];

/// A service that is known to be the right one.
#[derive(Clone, Debug)]
struct Service {
    server: JsonServer,
    url: String,
    /// What it proves before each request, where another program could have taken its place.
    claim: Option<ServiceClaim>,
}

/// Why a service does not do what it is asked for.
#[derive(Debug)]
enum ServiceFailure {
    /// It may later: it is not there, or busy.
    Passing(anyhow::Error),
    /// It will not: the session is gone, the token is not good, or it is another service.
    Lasting(anyhow::Error),
}

impl From<ServiceFailure> for anyhow::Error {
    fn from(failure: ServiceFailure) -> Self {
        match failure {
            ServiceFailure::Passing(error) | ServiceFailure::Lasting(error) => error,
        }
    }
}

/// A session in short.
#[derive(Clone, Debug, Deserialize)]
struct RemoteBrief {
    id: String,
    #[serde(default)]
    title: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RemoteList {
    sessions: Vec<RemoteBrief>,
}

/// What became of a message.
#[derive(Debug, Deserialize)]
struct RemoteSent {
    /// Its entry in the log, or none if it waits for the running turn.
    sequence: Option<u64>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct RemoteProject {
    name: String,
    root: String,
}

#[derive(Debug, Deserialize)]
struct RemoteProjects {
    projects: Vec<RemoteProject>,
}

impl Service {
    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.proven().await?;
        understood(self.server.get(path).await?)
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> anyhow::Result<T> {
        self.proven().await?;
        understood(self.server.post(path, body).await?)
    }

    /// Opens a stream of events.
    async fn events(&self, path: &str) -> Result<JsonEvents, ServiceFailure> {
        self.proven().await?;
        let opened = self.server.events(path).await;
        match opened.map_err(|error| ServiceFailure::Passing(error.into()))? {
            Ok(events) => Ok(events),
            Err(answer) => Err(failure(answer)),
        }
    }

    /// Makes sure that it still is the right one: it may have ended since, and another program listen there.
    async fn proven(&self) -> Result<(), ServiceFailure> {
        match &self.claim {
            Some(claim) => claim.check().await,
            None => Ok(()),
        }
    }

    /// Begins a session in the project that this process stands in or, if the service has only one, in that.
    async fn begin(&self) -> anyhow::Result<RemoteBrief> {
        let RemoteProjects { projects } = self.get("/api/projects").await?;
        let here = std::env::current_dir()?;
        let is_here = |project: &&RemoteProject| here.starts_with(&project.root);
        let project = match (projects.iter().find(is_here), projects.as_slice()) {
            (Some(project), _) | (None, [project]) => project,
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).collect();
                let names = names.join(", ");
                bail!("{} serves {names}; start this in the directory of one of them", self.url)
            }
        };
        self.post("/api/sessions", &json!({"project": project.name})).await
    }

    /// The session that is meant: by its id, the beginning of it, or its title; the last one if empty.
    async fn find(&self, text: &str) -> anyhow::Result<RemoteBrief> {
        let RemoteList { sessions } = self.get("/api/sessions?limit=1000").await?;
        if text.is_empty() {
            return sessions
                .into_iter()
                .next()
                .with_context(|| format!("{} has no session", self.url));
        }
        let is_meant =
            |it: &RemoteBrief| it.id.starts_with(text) || it.title.as_deref() == Some(text);
        let mut found = sessions.into_iter().filter(is_meant);
        match (found.next(), found.next()) {
            (Some(session), None) => Ok(session),
            // A message must not go to another session than the user means.
            (Some(_), Some(_)) => {
                bail!("`{text}` is the beginning or the title of several sessions")
            }
            (None, _) => bail!("{} has no session `{text}`", self.url),
        }
    }

    /// The session to work in.
    async fn session(&self, resumed: Option<&str>) -> anyhow::Result<RemoteBrief> {
        match resumed {
            None => self.begin().await,
            Some(text) => self.find(text).await,
        }
    }
}

/// What an answer that is not a success says.
fn failure(answer: JsonAnswer) -> ServiceFailure {
    let is_busy = matches!(answer.status, 408 | 429 | 500..);
    match (understood::<Value>(answer), is_busy) {
        (Err(error), true) => ServiceFailure::Passing(error),
        (Err(error), false) => ServiceFailure::Lasting(error),
        (Ok(_), _) => ServiceFailure::Lasting(anyhow::anyhow!("the service answers otherwise")),
    }
}

/// The body of an answer, or what the service says is wrong.
fn understood<T: DeserializeOwned>(answer: JsonAnswer) -> anyhow::Result<T> {
    if answer.is_success() {
        return serde_json::from_value(answer.body)
            .context("the service answers otherwise than this version of Toolkiln expects");
    }
    let told = &answer.body["error"];
    let message = told["message"].as_str().map_or_else(
        || format!("the service answered with the status {}", answer.status),
        str::to_owned,
    );
    match told["suggestion"].as_str() {
        Some(suggestion) => bail!("{message}. {suggestion}"),
        None => bail!("{message}"),
    }
}
