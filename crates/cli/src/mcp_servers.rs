//! The foreign MCP servers of a project: those of the user's configuration, and those of a `.mcp.json`
//! whose exact text the user trusts.

pub(crate) mod import;
#[cfg(feature = "oauth")]
pub(crate) mod logins;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mcp_client::{
    ForeignServer, ForeignServers, SEPARATOR, ServerAddress, ServerApproval, ServerConfig,
    ServerName, ServerProgram, ServerRecords, Shelf, fixed_token,
};
use protocol::{ContentHash, visible};
use sandbox::Launcher;
use tool_system::policy::{Decision, Rule, RuleSource, ToolPattern};
use workspace::{StateDir, Workspace, bytes_to_text};

use crate::project::Project;
use crate::{custom_tools, environment, output};
use import::FoundServer;

/// The file in which a project names servers.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// Our own directories for servers.
const DIRECTORY: &str = "mcp";
/// A file with servers that is larger than this is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Far more than the definitions of a server take; a larger file is damaged.
const MAX_RECORD_BYTES: u64 = 32 * 1024 * 1024;
/// What stands for the project in arguments, paths and values.
const PROJECT: &str = "{project}";
/// What stands for the directory that a server can write, in arguments and values.
const DATA: &str = "{data}";
/// Where servers come from that an editor gives. No path of a project is written so.
const EDITOR: &str = "editor";
/// Hexadecimal digits that tell apart servers of the same name from different projects.
const ORIGIN_DIGITS: usize = 12;

/// A project's file with servers.
pub(crate) struct ProjectServers {
    pub(crate) text: String,
    pub(crate) trusted: bool,
    pub(crate) found: Result<Vec<FoundServer>, String>,
}

/// The file of the project, if there is one.
pub(crate) fn of_project(project: &Project) -> Option<ProjectServers> {
    let path = project.workspace.resolve(PROJECT_FILE).ok()?;
    let mut file = project.workspace.open_file(&path).ok()?;
    let bytes = file.read_all(MAX_FILE_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let trusted = custom_tools::trusted_files(project).covers(PROJECT_FILE, &text);
    let found = import::read(&text, import::Values::Kept);
    Some(ProjectServers { text, trusted, found })
}

/// All servers that may be started, once their tools are called. Nothing is started here.
pub(crate) fn of(project: &Project, unconfined: bool) -> ForeignServers {
    with_given(project, Vec::new(), unconfined)
}

/// The same, and those that an editor gives a session.
pub(crate) fn with_given(
    project: &Project,
    given: Vec<FoundServer>,
    unconfined: bool,
) -> ForeignServers {
    let all = known(project, given);
    if all.is_empty() {
        return ForeignServers::default();
    }
    let Some(records) = records(project) else {
        output::to_user("toolkiln: MCP servers are not used: HOME is not set");
        return ForeignServers::default();
    };
    let starts = ForeignServers::starts();
    let servers = all.into_iter().map(|server| {
        let (records, starts) = (records.clone(), Arc::clone(&starts));
        let key = server.key();
        let KnownServer { name, config, origin } = server;
        if config.url.is_some() {
            let address = address(project, &config, &key);
            return ForeignServer::address(name, config, &origin, records, starts, address);
        }
        let program = program(project, &config, key, unconfined);
        ForeignServer::program(name, config, &origin, records, starts, program)
    });
    ForeignServers::new(servers)
}

/// A server that may be started.
pub(crate) struct KnownServer {
    pub(crate) name: ServerName,
    pub(crate) config: ServerConfig,
    /// Empty for the user's own servers, and else what defines it.
    pub(crate) origin: String,
}

impl KnownServer {
    /// The name of its files.
    pub(crate) fn key(&self) -> String {
        match self.origin.as_str() {
            "" => self.name.to_string(),
            origin => {
                let hash = ContentHash::of(origin.as_bytes()).to_string();
                format!("{}.{}", self.name, &hash[..ORIGIN_DIGITS])
            }
        }
    }
}

/// All of them, each name once.
pub(crate) fn known(project: &Project, given: Vec<FoundServer>) -> Vec<KnownServer> {
    let mut all: BTreeMap<ServerName, (ServerConfig, String)> = BTreeMap::new();
    let mut add = |found: Vec<FoundServer>, origin: &str| {
        all.extend(found.into_iter().map(|one| (one.name, (one.config, origin.to_owned()))));
    };
    add(given, EDITOR);
    if let Some(ProjectServers { trusted: true, found: Ok(found), .. }) = of_project(project) {
        add(found, &project.workspace.canonical_path().display().to_string());
    }
    // The user's own word counts.
    let own = project.config.servers.iter();
    all.extend(own.map(|(name, config)| (name.clone(), (config.clone(), String::new()))));
    let known = |(name, (config, origin))| KnownServer { name, config, origin };
    all.into_iter().map(known).collect()
}

/// What the configuration says about calls of whole servers.
pub(crate) fn rules(project: &Project) -> Vec<Rule> {
    let rule = |(name, config): (&ServerName, &ServerConfig)| {
        let decision = match config.approval {
            ServerApproval::Ask => return None,
            ServerApproval::Allow => Decision::Allow,
            ServerApproval::Deny => Decision::Deny,
        };
        let tool = ToolPattern::new(format!("{name}{SEPARATOR}*")).ok()?;
        let note = Some(format!("mcp.servers.{name}.approval"));
        Some(Rule { tool, note, ..Rule::new(decision, RuleSource::User) })
    };
    project.config.servers.iter().filter_map(rule).collect()
}

pub(crate) fn records(project: &Project) -> Option<ServerRecords> {
    let shelf = |path: PathBuf| {
        let workspace = Arc::clone(&project.workspace);
        Arc::new(DirectoryShelf {
            workspace,
            path: path.join(DIRECTORY),
            existing: OnceLock::new(),
        })
    };
    Some(ServerRecords {
        cache: shelf(environment::cache_dir()?),
        approvals: shelf(environment::state_dir()?),
    })
}

/// Files in a private directory.
struct DirectoryShelf {
    workspace: Arc<Workspace>,
    path: PathBuf,
    /// Kept open: to open it is to look at everything in it.
    existing: OnceLock<StateDir>,
}

impl Shelf for DirectoryShelf {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let directory = match self.existing.get() {
            Some(directory) => directory,
            None => {
                let found = StateDir::existing(&self.workspace, &self.path).ok()??;
                self.existing.get_or_init(|| found)
            }
        };
        directory.read(name, MAX_RECORD_BYTES).ok()?
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let directory = StateDir::open(&self.workspace, &self.path);
        let written = directory.and_then(|directory| directory.replace(name, bytes));
        written.map_err(|error| error.to_string())
    }
}

/// Without the feature `oauth` there are no logins.
#[cfg(not(feature = "oauth"))]
mod logins {
    use mcp_client::{ServerConfig, ServerCredentials};

    use crate::project::Project;

    pub(super) fn credentials(
        _: &Project,
        config: &ServerConfig,
        _: &str,
    ) -> impl Fn() -> Result<Option<Box<dyn ServerCredentials>>, String> + Send + Sync + 'static
    {
        let is_configured = config.oauth.is_some();
        move || match is_configured {
            true => Err("it has `oauth`, and this program was built without it".to_owned()),
            false => Ok(None),
        }
    }
}

/// How a server over HTTP is reached. Its token is read when it is needed.
fn address(
    project: &Project,
    config: &ServerConfig,
    key: &str,
) -> impl Fn() -> Result<ServerAddress, String> + Send + Sync + 'static {
    let login = logins::credentials(project, config, key);
    let (url, variable) = (config.url.clone().unwrap_or_default(), config.token_env.clone());
    let network = project.environment.network.for_web();
    move || {
        let token = variable.as_ref().map(|name| {
            let value = environment::variable(name);
            value.ok_or_else(|| format!("the variable {} is not set", visible(name)))
        });
        let credentials = match token.transpose()? {
            Some(token) => Some(fixed_token(&token)?),
            None => login()?,
        };
        Ok(ServerAddress { url: url.clone(), credentials, network: network.clone() })
    }
}

/// How a server is run. What that takes is looked for when it is started.
fn program(
    project: &Project,
    config: &ServerConfig,
    key: String,
    unconfined: bool,
) -> impl Fn() -> Result<ServerProgram, String> + Send + Sync + 'static {
    let (workspace, config) = (Arc::clone(&project.workspace), config.clone());
    let network_allow = project.config.network_allow.clone();
    move || {
        let root = workspace.canonical_path();
        let shown = root.display().to_string();
        let data = environment::data_dir().ok_or("HOME is not set")?;
        let home = data.join(DIRECTORY).join(&key);
        if Workspace::open(&home).is_err() {
            StateDir::open(&workspace, &home).map_err(|error| error.to_string())?;
        }
        let filled = |text: &String| {
            text.replace(PROJECT, &shown).replace(DATA, &home.display().to_string())
        };
        let set = config.set.iter();
        let mut env: BTreeMap<_, _> =
            set.map(|(name, value)| (name.clone(), filled(value))).collect();
        for name in &config.env {
            let value = environment::variable(name);
            let value =
                value.ok_or_else(|| format!("the variable {} is not set", visible(name)))?;
            env.insert(name.clone(), value);
        }
        let words = config.command.iter().chain(&config.args);
        let mut profile = environment::confinement(root);
        // Only what is declared is seen of the user's own directories, and toolchains.
        profile.network.allow.clone_from(&network_allow);
        Ok(ServerProgram {
            argv: words.map(filled).collect(),
            project: config.reads_project().then(|| root.to_owned()),
            keeps: config.args.iter().chain(config.set.values()).any(|text| text.contains(DATA)),
            home,
            env,
            network: config.network,
            read: config.read.iter().map(|path| placed(path, root)).collect(),
            profile,
            launcher: Launcher::this_program(),
            unconfined,
        })
    }
}

/// A path of the configuration: `~` is the home directory, and others begin at the project.
fn placed(path: &str, root: &Path) -> PathBuf {
    let path = path.replace(PROJECT, &root.display().to_string());
    match (path.strip_prefix("~/"), environment::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => root.join(path),
    }
}

/// The text of a file anywhere, named by the user.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(directory) = Workspace::open(parent.unwrap_or(Path::new("."))) else { return Ok(None) };
    let Some(name) = path.file_name() else { return Ok(None) };
    let file = directory.resolve(&bytes_to_text(name.as_encoded_bytes()))?;
    let bytes = match directory.open_file(&file) {
        Ok(mut file) => file.read_all(MAX_FILE_BYTES)?,
        Err(workspace::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(Some(String::from_utf8(bytes)?))
}
