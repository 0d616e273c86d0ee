//! The agent that an editor talks to: its projects and the sessions that are open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodTerminal, Error, ErrorCode, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, McpCapabilities, McpServer, NewSessionRequest, PromptCapabilities,
    ResumeSessionRequest, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionId as WireId, SessionInfo as ListedSession, SessionListCapabilities,
    SessionResumeCapabilities,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use session::{Session, SessionParts};
use store::{ListFilter, SessionId, SessionInfo};

use crate::choices::Choices;
use crate::commands;
use crate::connection::EditorConnection;
use crate::editor_documents::EditorDocuments;
use crate::editor_host::{EditorHost, EditorProject, GivenServer, NotOpened};
use crate::live_editor::{LiveEditor, Replay, session_id};
use crate::responder::wrong_params;
use crate::wire::{EditorTraits, SessionWire, failed, invalid};

/// Sessions that one answer lists.
const PAGE: usize = 50;
/// Sessions that are open at a time.
const MOST_OPEN: usize = 64;
/// The name of the way to set up a model.
const SETUP: &str = "setup";

/// Everything that the editor has opened.
pub(crate) struct AcpAgent {
    connection: EditorConnection,
    host: Arc<dyn EditorHost>,
    version: String,
    editor: OnceLock<EditorTraits>,
    projects: Mutex<HashMap<PathBuf, Arc<dyn EditorProject>>>,
    live: Mutex<HashMap<WireId, Arc<LiveEditor>>>,
    /// Held while a session is opened or closed: two requests for the same one get the same one.
    opening: tokio::sync::Mutex<()>,
}

/// A session that the editor wants to go on with.
pub(crate) struct WantedSession {
    pub(crate) id: WireId,
    pub(crate) root: PathBuf,
    pub(crate) servers: Vec<McpServer>,
    pub(crate) directories: Vec<PathBuf>,
}

impl From<LoadSessionRequest> for WantedSession {
    fn from(request: LoadSessionRequest) -> Self {
        Self {
            id: request.session_id,
            root: request.cwd,
            servers: request.mcp_servers,
            directories: request.additional_directories,
        }
    }
}

impl From<ResumeSessionRequest> for WantedSession {
    fn from(request: ResumeSessionRequest) -> Self {
        Self {
            id: request.session_id,
            root: request.cwd,
            servers: request.mcp_servers,
            directories: request.additional_directories,
        }
    }
}

/// What another session is made of.
struct SessionRoom {
    parts: SessionParts,
    documents: Option<Arc<EditorDocuments>>,
    /// What the user should know, one line each.
    notes: Vec<String>,
}

/// A session that was opened, with what the editor is told about it.
pub(crate) struct OpenedSession {
    pub(crate) wire: SessionWire,
    pub(crate) choices: Choices,
    project: Arc<dyn EditorProject>,
    notes: Vec<String>,
}

impl OpenedSession {
    /// Tells what has to come after the answer: editors take updates of a session only once they know it.
    pub(crate) fn tell_rest(&self) {
        self.notes.iter().for_each(|note| self.wire.say(&format!("_{note}_\n\n")));
        self.wire.update(commands::offered(&*self.project));
    }
}

impl AcpAgent {
    pub(crate) fn new(
        connection: EditorConnection,
        host: Arc<dyn EditorHost>,
        version: &str,
    ) -> Self {
        Self {
            connection,
            host,
            version: version.to_owned(),
            editor: OnceLock::new(),
            projects: Mutex::default(),
            live: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the editor has said what it can do.
    pub(crate) fn is_initialized(&self) -> bool {
        self.editor.get().is_some()
    }

    /// What we can do, in version 1, whichever the editor asks for. Nothing is opened for it.
    pub(crate) fn initialize(&self, params: Value) -> Result<InitializeResponse, Error> {
        let version = params.get("protocolVersion").cloned().unwrap_or_default();
        let version: ProtocolVersion = serde_json::from_value(version).map_err(|_| {
            let why = "initialize.protocolVersion must be a valid ACP protocol version";
            Error::invalid_params().data(json!(why))
        })?;
        let editor = if version > ProtocolVersion::V1 {
            EditorTraits::of_newer(&params)
        } else {
            let request = serde_json::from_value::<InitializeRequest>(params);
            EditorTraits::of(&request.map_err(|error| wrong_params(&error))?.client_capabilities)
        };
        let editor = *self.editor.get_or_init(|| editor);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new())
            .session_capabilities(sessions);
        let mut methods = Vec::new();
        if editor.sets_up_in_terminal && self.host.needs_setup() {
            let setup = AuthMethodTerminal::new(SETUP, "Set up a model")
                .description("Finds a provider and a key, and tests them".to_owned())
                .args(self.host.setup_arguments());
            methods.push(AuthMethod::Terminal(setup));
        }
        let info = Implementation::new("toolkiln", self.version.clone());
        Ok(InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(methods)
            .agent_info(info.title("Toolkiln".to_owned())))
    }

    async fn project(&self, root: &Path) -> Result<Arc<dyn EditorProject>, Error> {
        // Some clients say it so, against the protocol: the directory that they have started this program in.
        let here = (root == Path::new(".")).then(|| self.host.usual_root()).flatten();
        let root = here.as_deref().unwrap_or(root);
        if !root.is_absolute() {
            return Err(invalid(format!("`{}` is not an absolute path", root.display())));
        }
        if let Some(project) = locked(&self.projects).get(root) {
            return Ok(Arc::clone(project));
        }
        let project = self.host.open(root).await.map_err(not_opened)?;
        locked(&self.projects).insert(root.to_owned(), Arc::clone(&project));
        Ok(project)
    }

    /// Begins a session. It is in the store once something is said in it.
    pub(crate) async fn begin(&self, request: NewSessionRequest) -> Result<OpenedSession, Error> {
        refuse_directories(&request.additional_directories)?;
        let _opening = self.opening.lock().await;
        let project = self.project(&request.cwd).await?;
        let room = self.room_for(&*project, request.mcp_servers)?;
        let session = Session::begin(room.parts).await.map_err(failed)?;
        let rest = (room.documents, room.notes);
        self.run(project, session, rest, Replay::No).await
    }

    /// Takes up a session, and shows what was said in it if that is wanted.
    pub(crate) async fn take_up(
        &self,
        wanted: WantedSession,
        replay: Replay,
    ) -> Result<OpenedSession, Error> {
        let WantedSession { id, root, servers, directories } = wanted;
        refuse_directories(&directories)?;
        let opening = self.opening.lock().await;
        let project = self.project(&root).await?;
        if let Some(live) = self.live(&id) {
            // What it does may take long, and others need not wait for that.
            drop(opening);
            let wire = self.wire(id.clone());
            let choices = live.describe(replay).await?;
            return Ok(OpenedSession { wire, choices, project, notes: Vec::new() });
        }
        let stored = session_id(&id.0)?;
        if project.parts().store.info(&stored).await.map_err(failed)?.is_none() {
            return Err(unknown(&id));
        }
        let mut room = self.room_for(&*project, servers)?;
        let (session, damage) = Session::resume(room.parts, stored).await.map_err(failed)?;
        room.notes.extend(damage);
        let rest = (room.documents, room.notes);
        self.run(project, session, rest, replay).await
    }

    /// The parts of another session, if there may be one.
    fn room_for(
        &self,
        project: &dyn EditorProject,
        servers: Vec<McpServer>,
    ) -> Result<SessionRoom, Error> {
        if locked(&self.live).len() >= MOST_OPEN {
            return Err(invalid(format!("{MOST_OPEN} sessions are open: close one first")));
        }
        let mut given = Vec::new();
        for server in servers {
            match server {
                McpServer::Stdio(server) => given.push(GivenServer {
                    name: server.name,
                    command: server.command,
                    arguments: server.args,
                    environment: server.env.into_iter().map(|it| (it.name, it.value)).collect(),
                }),
                _ => return Err(invalid("only MCP servers that are programs can be given")),
            }
        }
        let mut parts = project.parts().clone();
        let (mut tools, notes) = project.connect(parts.tools, &given);
        // The editor is asked.
        parts.approver = None;
        let editor = self.editor.get().copied().unwrap_or_default();
        let writes_all = project.editor_writes_all() && editor.writes_files;
        let documents = (editor.reads_files || writes_all)
            .then(|| Arc::new(EditorDocuments::new(editor, writes_all)));
        if let Some(documents) = &documents {
            tools = tools.with_documents(documents.clone());
        }
        parts.tools = tools;
        Ok(SessionRoom { parts, documents, notes })
    }

    async fn run(
        &self,
        project: Arc<dyn EditorProject>,
        session: Session,
        (documents, notes): (Option<Arc<EditorDocuments>>, Vec<String>),
        replay: Replay,
    ) -> Result<OpenedSession, Error> {
        let id = WireId::new(session.id().to_string());
        let wire = self.wire(id.clone());
        if let Some(documents) = documents {
            documents.belong_to(wire.clone());
        }
        let live = LiveEditor::start(session, Arc::clone(&project), wire.clone());
        let live = Arc::new(live);
        locked(&self.live).insert(id, Arc::clone(&live));
        let choices = live.describe(replay).await?;
        Ok(OpenedSession { wire, choices, project, notes })
    }

    fn wire(&self, id: WireId) -> SessionWire {
        let editor = self.editor.get().copied().unwrap_or_default();
        SessionWire { connection: self.connection.clone(), id, editor }
    }

    /// The session, if it is open here. One whose task has panicked is not, so that it can be loaded again.
    pub(crate) fn live(&self, id: &WireId) -> Option<Arc<LiveEditor>> {
        locked(&self.live).get(id).filter(|live| !live.is_closed()).cloned()
    }

    /// The session, which has to be open here.
    pub(crate) fn open(&self, id: &WireId) -> Result<Arc<LiveEditor>, Error> {
        self.live(id).ok_or_else(|| unknown(id))
    }

    /// Sessions of a project, the one written last first.
    pub(crate) async fn list(
        &self,
        request: ListSessionsRequest,
    ) -> Result<ListSessionsResponse, Error> {
        let from = match &request.cursor {
            None => 0,
            Some(cursor) => cursor
                .parse::<usize>()
                .map_err(|_| invalid(format!("`{cursor}` is not a cursor of this agent")))?,
        };
        let mut listed: Vec<SessionInfo> = Vec::new();
        for project in self.projects_meant(request.cwd.as_deref()).await? {
            let filter = ListFilter::default();
            listed.extend(project.parts().store.list(&filter).await.map_err(failed)?);
        }
        listed.sort_by_key(|info| std::cmp::Reverse(info.updated));
        let more = listed.len() > from.saturating_add(PAGE);
        let page = listed.into_iter().skip(from).take(PAGE).map(drawn).collect();
        let next = more.then(|| (from + PAGE).to_string());
        Ok(ListSessionsResponse::new(page).next_cursor(next))
    }

    /// The project at a path or, without one, all that are open and the usual one.
    async fn projects_meant(
        &self,
        root: Option<&Path>,
    ) -> Result<Vec<Arc<dyn EditorProject>>, Error> {
        if let Some(root) = root {
            return Ok(vec![self.project(root).await?]);
        }
        if let Some(usual) = self.host.usual_root() {
            // One that cannot be opened has no sessions to list.
            let _ = self.project(&usual).await;
        }
        let mut projects: Vec<Arc<dyn EditorProject>> = Vec::new();
        for project in locked(&self.projects).values() {
            let root = &project.parts().root;
            if !projects.iter().any(|known| known.parts().root == *root) {
                projects.push(Arc::clone(project));
            }
        }
        Ok(projects)
    }

    /// Ends what a session does and releases it.
    pub(crate) async fn close_session(&self, id: &WireId) -> Result<(), Error> {
        let _opening = self.opening.lock().await;
        let live = locked(&self.live).remove(id).ok_or_else(|| unknown(id))?;
        live.close().await;
        Ok(())
    }

    /// Removes a session for good.
    pub(crate) async fn delete(&self, id: &WireId) -> Result<(), Error> {
        let _opening = self.opening.lock().await;
        let stored: SessionId = session_id(&id.0)?;
        let live = locked(&self.live).remove(id);
        let was_live = live.is_some();
        if let Some(live) = live {
            live.close().await;
        }
        for project in self.projects_meant(None).await? {
            let store = &project.parts().store;
            if store.info(&stored).await.map_err(failed)?.is_some() {
                return store.delete(&stored).await.map_err(failed);
            }
        }
        // One in which nothing was said is not in the store.
        if was_live { Ok(()) } else { Err(unknown(id)) }
    }

    /// Ends the turns of all sessions.
    pub(crate) fn cancel(&self) {
        locked(&self.live).values().for_each(|live| live.cancel());
    }

    /// Ends everything and releases all sessions.
    pub(crate) async fn close(&self) {
        self.cancel();
        let live: Vec<_> = locked(&self.live).drain().map(|(_, live)| live).collect();
        for live in live {
            live.close().await;
        }
    }
}

fn not_opened(why: NotOpened) -> Error {
    match why {
        NotOpened::NoModel(why) => Error::new(ErrorCode::AuthRequired.into(), why),
        NotOpened::Refused(why) => invalid(why),
    }
}

fn refuse_directories(directories: &[PathBuf]) -> Result<(), Error> {
    match directories {
        [] => Ok(()),
        [first, ..] => Err(invalid(format!(
            "a session has one project: {} cannot be added to it",
            first.display()
        ))),
    }
}

fn unknown(id: &WireId) -> Error {
    Error::session_not_found(id.clone())
}

fn drawn(info: SessionInfo) -> ListedSession {
    let updated = Timestamp::from_millisecond(info.updated).ok().map(|at| at.to_string());
    ListedSession::new(info.id.to_string(), info.root).title(info.title).updated_at(updated)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
