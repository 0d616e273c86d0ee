//! A running service of a team with two projects, and its users.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_manager::{
    Budget, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, Prices, Usage,
};
use futures_util::StreamExt as _;
use guide::Guide;
use protocol::{AgentRole, ErrorCode, ToolError};
use serde_json::{Value, json};
use session::{Model, SessionParts, SystemPromptService};
use store::{ProjectStores, SqliteStore, Store};
use team::{
    MasterKeys, MemoryPeople, NewToken, NewUser, PeopleStore, ProviderKey, Scope, SecretKind,
    SecretText, Share, TeamRole, User,
};
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{
    ExecutorOptions, History, JournalPerformer, OnDemand, ProjectTools, ToolRegistry,
};
use web_service::{
    AgentEndpoint, Body, Bytes, CompletedCommand, ConfiguredFacts, CustomToolFile, DirectCalls,
    Mentionable, MentionableKind, Parts, ProjectPort, Response, ServedProject, SessionHub,
    TeamAccess, WebApp, listen, serve,
};
use workspace::{Journal, JournalOptions, Workspace};

use crate::client::{Answer, EventReader, open, send};

/// Dollars for a million tokens, so that an answer of a thousand costs one.
const PRICES: Prices = Prices { input: 0.0, output: 1_000.0, cache_read: 0.0, cache_write: 0.0 };

/// The guide, whose answers cost a dollar each.
struct PaidGuide;

#[async_trait]
impl ModelProvider for PaidGuide {
    fn name(&self) -> &str {
        guide::NAME
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let paid = |event| match event {
            ModelEvent::Usage(_) => ModelEvent::Usage(Usage { output: 1_000, ..Usage::default() }),
            other => other,
        };
        let answer = Guide.stream(request).await?;
        Ok(Box::pin(answer.map(move |event| event.map(paid))))
    }
}

/// A service that runs until it is dropped.
pub(crate) struct TeamService {
    pub(crate) address: String,
    pub(crate) people: Arc<MemoryPeople>,
    /// The code of the link for the first admin, if there was none.
    pub(crate) first_admin: Option<String>,
    /// Which keys sessions were opened with.
    pub(crate) used_keys: Arc<Mutex<Vec<String>>>,
    /// The sessions of the project `web`.
    pub(crate) web: Arc<dyn Store>,
    tokens: BTreeMap<String, (User, String)>,
    stop: CancellationToken,
    _projects: Vec<Fixture>,
}

/// How the service is set up.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) four_eyes: bool,
    pub(crate) oidc: Option<team::oidc::OidcProvider>,
    /// Where to listen, if that was decided before.
    pub(crate) listener: Option<(web_service::Listeners, web_service::guard::Site)>,
    /// Starts without any user.
    pub(crate) is_empty: bool,
    /// Whether time passes, as it does for logs.
    pub(crate) has_clock: bool,
    /// The projects of the database, if other replicas serve more.
    pub(crate) all_projects: Option<Arc<dyn ProjectStores>>,
}

impl Drop for TeamService {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct TestPort {
    name: &'static str,
    used_keys: Arc<Mutex<Vec<String>>>,
}

struct TestEndpoint(String);

#[async_trait]
impl AgentEndpoint for TestEndpoint {
    async fn answer(&self, parts: Parts, _: Bytes, may_approve: bool) -> Response<Body> {
        let told = format!("{} {may_approve}", self.0);
        if parts.method == "POST" {
            return Response::new(Body::from(told));
        }
        // Waits for news that never come.
        let told = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(told)]);
        Response::new(Body::from_stream(told.chain(futures_util::stream::pending())))
    }
}

#[async_trait]
impl ProjectPort for TestPort {
    fn is_reachable(&self) -> bool {
        true
    }

    fn revoke(&self, _: &str) -> Result<bool, ToolError> {
        Ok(false)
    }
    async fn models(&self) -> Vec<String> {
        vec![guide::NAME.to_owned()]
    }
    async fn model(&self, name: &str) -> Result<Model, ToolError> {
        match name == guide::NAME {
            true => Ok(model()),
            false => Err(ToolError::new(ErrorCode::InvalidArguments, "no such model")),
        }
    }
    async fn model_with_keys(
        &self,
        _: Option<&str>,
        keys: &[(String, ProviderKey)],
    ) -> Result<Option<Model>, ToolError> {
        let mut used = self.used_keys.lock().unwrap();
        used.extend(keys.iter().map(|(provider, key)| format!("{provider}={}", key.expose())));
        Ok(None)
    }
    fn configured(&self) -> ConfiguredFacts {
        ConfiguredFacts::default()
    }
    fn custom_tools(&self) -> Vec<CustomToolFile> {
        let (file, text) = ("tools/lint.toml".to_owned(), "command = [\"lint\"]".to_owned());
        let (hash, mistakes) = (String::new(), Vec::new());
        let (tool, trusted, command) = (Some("lint".to_owned()), false, None);
        vec![CustomToolFile { file, tool, text, hash, trusted, command, mistakes }]
    }
    fn trust(&self, _: &str, _: &str) -> Result<String, ToolError> {
        Err(ToolError::new(ErrorCode::FileNotFound, "no such file"))
    }
    async fn mentions(&self, _: &str) -> Vec<Mentionable> {
        let text = format!("file of {}", self.name);
        let (kind, target) = (MentionableKind::File, None);
        vec![Mentionable { kind, text, target, detail: String::new() }]
    }
    async fn symbols(&self, _: &str) -> (Vec<Mentionable>, bool) {
        (Vec::new(), true)
    }
    fn commands(&self, _: &str, _: &str) -> Vec<CompletedCommand> {
        Vec::new()
    }
    fn agents(
        &self,
        calls: &DirectCalls,
        _: &str,
        _: &CancellationToken,
    ) -> Arc<dyn AgentEndpoint> {
        let user = calls.user().map_or("no user", |user| user.as_str());
        Arc::new(TestEndpoint(format!("{} {user}", self.name)))
    }
}

fn model() -> Model {
    Model {
        provider: Arc::new(PaidGuide),
        name: guide::NAME.to_owned(),
        max_tokens: 1_000,
        context_tokens: 200_000,
        effort: None,
        prices: Some(PRICES),
        calls_tools: true,
        images: None,
    }
}

async fn project(
    name: &'static str,
    used_keys: &Arc<Mutex<Vec<String>>>,
) -> (Fixture, ServedProject) {
    let fixture = Fixture::new(&format!("//- /notes-{name}.txt\nthe notes of {name}\n"));
    let state = fixture.root().with_file_name("state");
    std::fs::create_dir(&state).unwrap();
    let workspace = Arc::new(Workspace::open(fixture.root()).unwrap());
    let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default()).unwrap();
    let journal = Arc::new(OnDemand::from(Arc::new(journal)));
    let options = ExecutorOptions {
        performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
        history: Some(History::of(journal)),
        ..ExecutorOptions::default()
    };
    let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, options);
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(state.join("sessions.db")).await.unwrap());
    let parts = SessionParts {
        exchange: None,
        observers: Vec::new(),
        store,
        root: fixture.root().display().to_string(),
        tools,
        approver: None,
        model: model(),
        role: AgentRole::Actor,
        prompts: SystemPromptService::default(),
        turn_limit: 20,
        budget: Budget::default(),
        shared_budget: None,
    };
    let port = TestPort { name, used_keys: Arc::clone(used_keys) };
    (fixture, ServedProject::new(name.to_owned(), parts, String::new(), Arc::new(port)))
}

/// The users of a usual service, and the projects that are shared with them.
const USERS: [(&str, TeamRole, &[&str]); 6] = [
    ("vic", TeamRole::Viewer, &["web"]),
    ("ada", TeamRole::Member, &["web", "secret"]),
    ("bob", TeamRole::Member, &["web"]),
    ("pat", TeamRole::Approver, &["web"]),
    ("eve", TeamRole::Approver, &["secret"]),
    ("root", TeamRole::Admin, &[]),
];

impl TeamService {
    pub(crate) async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    pub(crate) async fn start_with(setup: Setup) -> Self {
        let people = Arc::new(MemoryPeople::default());
        if setup.has_clock {
            people.set_clock();
        }
        let mut tokens = BTreeMap::new();
        if !setup.is_empty {
            for (name, role, projects) in USERS {
                let user = add_user(&people, name, role, projects).await;
                let token = add_token(&people, &user, user.role.scopes(), 30).await;
                tokens.insert(name.to_owned(), (user, token));
            }
        }
        let used_keys = Arc::default();
        let mut projects = Vec::new();
        let mut fixtures = Vec::new();
        for name in ["web", "secret"] {
            let (fixture, served) = project(name, &used_keys).await;
            fixtures.push(fixture);
            projects.push(served);
        }
        let web = Arc::clone(&projects[0].parts.store);
        let (listeners, site) = match setup.listener {
            Some(listener) => listener,
            None => listen(([127, 0, 0, 1], 0).into(), None).await.unwrap(),
        };
        let address = site.url().strip_prefix("http://").unwrap().to_owned();
        let master = MasterKeys::parse(&MasterKeys::generate_line().unwrap()).unwrap();
        let access = TeamAccess {
            people: people.clone(),
            oidc: setup.oidc,
            master_keys: Some(master),
            who_asks_may_not_approve: setup.four_eyes,
            all_projects: setup.all_projects,
        };
        let hub = SessionHub::new(projects);
        let log = Arc::new(|_: &str| ());
        let (app, first_admin) = WebApp::for_team(hub, site, access, log).await.unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve(listeners, app, stop.clone()));
        Self { address, people, first_admin, used_keys, web, tokens, stop, _projects: fixtures }
    }

    pub(crate) fn user(&self, name: &str) -> &User {
        &self.tokens[name].0
    }

    /// The header of a user.
    pub(crate) fn header(&self, name: &str) -> String {
        bearer(&self.tokens[name].1)
    }

    /// A token of a user with these scopes, as a header.
    pub(crate) async fn scoped(&self, name: &str, scopes: &[Scope]) -> String {
        bearer(&add_token(&self.people, self.user(name), scopes, 30).await)
    }

    /// A request without a login.
    pub(crate) async fn raw(&self, target: &str, headers: &[&str], body: &str) -> Answer {
        send(&self.address, target, headers, body).await
    }

    /// A request of a user.
    pub(crate) async fn ask(&self, user: &str, target: &str, body: &str) -> Answer {
        send(&self.address, target, &[&self.header(user)], body).await
    }

    /// A request of a user that must be answered.
    #[track_caller]
    pub(crate) fn good<'a>(
        &'a self,
        user: &'a str,
        target: &'a str,
        body: &'a str,
    ) -> impl Future<Output = Value> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let answer = self.ask(user, target, body).await;
            assert_eq!(answer.status, 200, "{place}: {target} of {user}: {answer:?}");
            answer.json()
        }
    }

    /// A stream of a user.
    pub(crate) async fn stream(&self, user: &str, path: &str) -> EventReader {
        let (status, reader) =
            open(&self.address, &format!("GET {path}"), &[&self.header(user)], "").await;
        assert_eq!(status, 200, "{path} of {user}");
        reader
    }

    /// A new session of a user in the project `web`, with a message that was answered.
    pub(crate) async fn session(&self, user: &str, said: &str) -> String {
        let body = json!({"project": "web"}).to_string();
        let made = self.good(user, "POST /api/sessions", &body).await;
        let id = made["id"].as_str().unwrap().to_owned();
        if !said.is_empty() {
            self.say(user, &id, said).await;
        }
        id
    }

    /// Says something in a session and waits until its turn has ended, or asks something.
    pub(crate) async fn say(&self, user: &str, id: &str, said: &str) {
        let target = format!("POST /api/sessions/{id}/messages");
        let sent = self.good(user, &target, &json!({"text": said}).to_string()).await;
        let after = sent["sequence"].as_u64().unwrap();
        let mut log = self.stream(user, &format!("/api/sessions/{id}/log?after={after}")).await;
        loop {
            let line = log.until("\n").await.unwrap();
            let is_asked = line.starts_with("data: [{");
            if is_asked || line.contains("\"turn_ended\"") || line.contains("\"paused\"") {
                return;
            }
        }
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}

pub(crate) async fn add_user(
    people: &MemoryPeople,
    name: &str,
    role: TeamRole,
    projects: &[&str],
) -> User {
    let new = NewUser { name: name.to_owned(), email: None, identity: None };
    let user = people.add_user(new, role).await.unwrap();
    for project in projects {
        let share = Share { project: (*project).to_owned(), user: user.id.clone() };
        people.share(&user.id, &share).await.unwrap();
    }
    user
}

pub(crate) async fn add_token(
    people: &MemoryPeople,
    user: &User,
    scopes: &[Scope],
    days: u32,
) -> String {
    let secret = SecretText::generate(SecretKind::Token).unwrap();
    let new = NewToken {
        user: user.id.clone(),
        name: "test".to_owned(),
        scopes: scopes.to_vec(),
        days,
        hash: secret.hash(),
        made_with: None,
    };
    people.add_token(&user.id, new).await.unwrap();
    secret.expose().to_owned()
}
