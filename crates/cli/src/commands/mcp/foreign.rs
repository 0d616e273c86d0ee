//! `toolkiln mcp add|list|test|trust|remove|import|login|logout`: foreign servers whose tools are used here.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use mcp_client::{ForeignServer, ServerApproval, ServerConfig, ServerName};
use protocol::{ErrorCode, visible};

#[cfg(feature = "oauth")]
use super::login::{self, LoginArgs};
use crate::commands::call::online_runtime;
use crate::config::UserFileDraft;
use crate::mcp_servers::{PROJECT_FILE, ProjectServers, import, of_project, text_of};
use crate::project::Project;
use crate::{custom_tools, environment, output};

const ADD_EXAMPLES: &str = "\
Examples:
  toolkiln mcp add time -- uvx mcp-server-time --local-timezone UTC
  toolkiln mcp add notes --env NOTES_TOKEN --network -- npx -y @example/notes
  toolkiln mcp add docs --url https://example.org/mcp --token-env DOCS_TOKEN";
const LIST_EXAMPLES: &str = "\
Examples:
  toolkiln mcp list";
const TEST_EXAMPLES: &str = "\
Examples:
  toolkiln mcp test time";
const TRUST_EXAMPLES: &str = "\
Examples:
  toolkiln mcp trust time
  toolkiln mcp trust .mcp.json";
const REMOVE_EXAMPLES: &str = "\
Examples:
  toolkiln mcp remove time";
#[cfg(feature = "oauth")]
const LOGIN_EXAMPLES: &str = "\
Examples:
  toolkiln mcp login docs
  toolkiln mcp login docs --no-browser    # the browser is on another machine";
#[cfg(feature = "oauth")]
const LOGOUT_EXAMPLES: &str = "\
Examples:
  toolkiln mcp logout docs";
const IMPORT_EXAMPLES: &str = "\
Examples:
  toolkiln mcp import
  toolkiln mcp import ~/.cursor/mcp.json";

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Add a server to your configuration, and start it once to learn its tools
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// List the servers, and how many of their tools you have approved
    #[command(after_help = LIST_EXAMPLES)]
    List(OfProject),
    /// Start a server and show its tools, or why it does not work
    #[command(after_help = TEST_EXAMPLES)]
    Test(OneServer),
    /// Approve the tools of a server as they are now, or the project's .mcp.json
    #[command(after_help = TRUST_EXAMPLES)]
    Trust(OneServer),
    /// Take a server out of your configuration
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(OneServer),
    /// Log in to a server over HTTP, in a browser
    #[cfg(feature = "oauth")]
    #[command(after_help = LOGIN_EXAMPLES)]
    Login(LoginArgs),
    /// Forget the login to a server
    #[cfg(feature = "oauth")]
    #[command(after_help = LOGOUT_EXAMPLES)]
    Logout(OneServer),
    /// Add the servers that other agents on this machine have
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What its tools' names begin with
    name: String,
    /// The address of a server that is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// The variable of yours with the token for a server with an address
    #[arg(long, value_name = "NAME", requires = "url")]
    token_env: Option<String>,
    /// A variable of yours that it gets
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// Let it reach the network
    #[arg(long)]
    network: bool,
    /// Let it read the project, or not
    #[arg(long, value_name = "YES_OR_NO")]
    project: Option<bool>,
    /// A directory or file that it can read
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// Seconds that a call may take without a sign of progress
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// The only tools to use, as the server names them
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// Whether calls need your approval
    #[arg(long, value_enum, default_value = "ask")]
    approval: ApprovalChoice,
    #[command(flatten)]
    of: OfProject,
    /// The program and its arguments, after --
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ApprovalChoice {
    Ask,
    Allow,
    Deny,
}

#[derive(Debug, Args)]
pub(crate) struct OfProject {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// The server
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) of: OfProject,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files of other agents; without any, the usual ones
    files: Vec<PathBuf>,
    #[command(flatten)]
    of: OfProject,
}

pub(crate) fn run(command: &ServersCommand) -> anyhow::Result<ExitCode> {
    match command {
        ServersCommand::Add(args) => add(args),
        ServersCommand::List(of) => list(&Project::open(&of.root)?),
        ServersCommand::Test(args) => test(&args.name, &args.of.root),
        ServersCommand::Trust(args) => trust(&args.name, &args.of.root),
        ServersCommand::Remove(args) => remove(&args.name, &args.of.root),
        #[cfg(feature = "oauth")]
        ServersCommand::Login(args) => login::login(args),
        #[cfg(feature = "oauth")]
        ServersCommand::Logout(args) => login::logout(args),
        ServersCommand::Import(args) => import_files(args),
    }
}

fn add(args: &AddArgs) -> anyhow::Result<ExitCode> {
    let name = named(&args.name)?;
    let usual = ServerConfig::default();
    let config = ServerConfig {
        command: args.command.first().cloned(),
        args: args.command.iter().skip(1).cloned().collect(),
        url: args.url.clone(),
        token_env: args.token_env.clone(),
        env: args.env.clone(),
        timeout: args.timeout.unwrap_or(usual.timeout),
        tools: (!args.tool.is_empty()).then(|| args.tool.clone()),
        approval: match args.approval {
            ApprovalChoice::Ask => ServerApproval::Ask,
            ApprovalChoice::Allow => ServerApproval::Allow,
            ApprovalChoice::Deny => ServerApproval::Deny,
        },
        network: args.network,
        project: args.project,
        read: args.read.clone(),
        ..usual
    };
    if let Some(mistake) = config.mistake() {
        bail!("{mistake}; for example: toolkiln mcp add time -- uvx mcp-server-time");
    }
    let project = Project::open(&args.of.root)?;
    if project.config.servers.contains_key(&name) {
        bail!("there is a server {name} already; remove it first: toolkiln mcp remove {name}");
    }
    let draft = UserFileDraft::with_server(&project.environment, &name, Some(&config))?;
    draft.write()?;
    output::result(&format!("{name} is in {}.", draft.path.display()))?;
    test(name.as_str(), &args.of.root)
}

fn list(project: &Project) -> anyhow::Result<ExitCode> {
    let servers = project.servers(false);
    for server in servers.iter() {
        let tools = server.tools();
        let approved = tools.tools.iter().filter(|tool| server.news(tool).is_none()).count();
        let known = match tools.tools.len() {
            0 => "tools not known yet".to_owned(),
            count => format!("{count} tools, {approved} approved"),
        };
        output::result(&format!("{}: {known}\n  {}", server.name(), shown(server.config())))?;
    }
    if servers.iter().next().is_none() {
        output::result("No MCP servers are used. Add one: toolkiln mcp add NAME -- COMMAND")?;
    }
    if let Some(ProjectServers { trusted: false, found, .. }) = of_project(project) {
        output::result(&untrusted(found))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a project's file would start.
fn untrusted(found: Result<Vec<import::FoundServer>, String>) -> String {
    match found {
        Err(why) => format!("{PROJECT_FILE} of the project cannot be used: {}", visible(&why)),
        Ok(found) => {
            let servers =
                found.iter().map(|one| format!("  {}: {}\n", one.name, shown(&one.config)));
            let servers: String = servers.collect();
            format!(
                "{PROJECT_FILE} of the project names servers and is not trusted. It would run:\n{servers}\
                 Trust it with: toolkiln mcp trust {PROJECT_FILE}"
            )
        }
    }
}

/// What is run or asked, with which rights, on one line.
fn shown(config: &ServerConfig) -> String {
    let words = config.command.iter().chain(&config.args).map(|word| visible(word));
    let mut text = match &config.url {
        Some(url) => visible(url),
        None => words.collect::<Vec<_>>().join(" "),
    };
    if config.network {
        text.push_str(" (with the network)");
    }
    if config.command.is_some() && !config.reads_project() {
        text.push_str(" (without the project)");
    }
    for name in config.env.iter().chain(config.set.keys()) {
        text.push_str(&format!(" ({})", visible(name)));
    }
    text
}

/// Starts a server; what it says is kept for later.
fn learned(project: &Project, name: &str) -> anyhow::Result<Arc<ForeignServer>> {
    let server = project.servers(false).get(name);
    let server = Arc::clone(server.ok_or_else(|| no_server(project, name))?);
    let learned = online_runtime()?.block_on(server.learn());
    match learned {
        Ok(_) => Ok(server),
        Err(error) => {
            let words = error.details.get("stderr").and_then(|words| words.as_array());
            let words = words.into_iter().flatten().filter_map(|line| line.as_str());
            let words: String = words.map(|line| format!("\n  {line}")).collect();
            let said = if words.is_empty() { "" } else { "\nIt wrote:" };
            let login = match error.code {
                ErrorCode::PermissionDenied => format!("\nLog in with: toolkiln mcp login {name}"),
                _ => String::new(),
            };
            Err(anyhow!("{}{login}{said}{words}", error.message))
        }
    }
}

pub(crate) fn test(name: &str, root: &Path) -> anyhow::Result<ExitCode> {
    let project = Project::open(root)?;
    let server = learned(&project, name)?;
    let tools = server.tools();
    for tool in &tools.tools {
        let mark = if server.news(tool).is_some() { " (not approved yet)" } else { "" };
        output::result(&format!("  {}{mark}", tool.name))?;
    }
    for problem in &tools.problems {
        output::to_user(&format!("toolkiln: {name}: {problem}"));
    }
    let count = tools.tools.len();
    let news = tools.tools.iter().filter(|tool| server.news(tool).is_some()).count();
    output::result(&format!("{name} works and has {count} tools."))?;
    if news > 0 {
        output::result(&format!(
            "You are asked about each of {news} when it is first called; approve all at once with: \
             toolkiln mcp trust {name}"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn trust(name: &str, root: &Path) -> anyhow::Result<ExitCode> {
    let project = Project::open(root)?;
    if name == PROJECT_FILE {
        let file = of_project(&project).with_context(|| format!("there is no {PROJECT_FILE}"))?;
        let found = file.found.map_err(|why| anyhow!("{PROJECT_FILE}: {}", visible(&why)))?;
        custom_tools::keep_trusted(&project, PROJECT_FILE, &file.text)?;
        output::result(&format!("{PROJECT_FILE} is trusted as it is now. It runs:"))?;
        for server in found {
            output::result(&format!("  {}: {}", server.name, shown(&server.config)))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let server = learned(&project, name)?;
    let tools = server.tools();
    for tool in &tools.tools {
        if let Some(news) = server.news(tool) {
            let lines: Vec<String> = news.lines().map(visible).collect();
            output::result(&format!("{}\n{}\n", tool.name, lines.join("\n")))?;
        }
    }
    server.approve_all().map_err(|error| anyhow!(error.full_message()))?;
    output::result(&format!(
        "{} tools of {name} are approved as they are now.",
        tools.tools.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(name: &str, root: &Path) -> anyhow::Result<ExitCode> {
    let project = Project::open(root)?;
    let name = named(name)?;
    if !project.config.servers.contains_key(&name) {
        return Err(no_server(&project, name.as_str()));
    }
    #[cfg(feature = "oauth")]
    login::forget(&project, name.as_str());
    let draft = UserFileDraft::with_server(&project.environment, &name, None)?;
    draft.write()?;
    output::result(&format!("{name} is no longer in {}.", draft.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn import_files(args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.of.root)?;
    let named = !args.files.is_empty();
    let files = match named {
        true => args.files.clone(),
        false => {
            let home = environment::home_dir().context("HOME is not set")?;
            import::usual_files(&home, project.workspace.canonical_path())
        }
    };
    let mut count = 0;
    let mut taken: Vec<ServerName> = project.config.servers.keys().cloned().collect();
    for file in files {
        let shown_file = visible(&file.display().to_string());
        let Some(text) = text_of(&file)? else {
            if named {
                bail!("{shown_file} does not exist");
            }
            continue;
        };
        let found = match import::read(&text, import::Values::Named) {
            Ok(found) => found,
            Err(why) if named => bail!("{shown_file}: {}", visible(&why)),
            // Most files of other agents are about other things too.
            Err(_) => continue,
        };
        for server in found {
            let name = &server.name;
            if taken.contains(name) {
                output::result(&format!(
                    "{name} of {shown_file} is left out: there is one already."
                ))?;
                continue;
            }
            let draft =
                UserFileDraft::with_server(&project.environment, name, Some(&server.config))?;
            draft.write()?;
            output::result(&format!("{name}: {}", shown(&server.config)))?;
            for note in &server.notes {
                output::result(&format!("  {note}"))?;
            }
            taken.push(name.clone());
            count += 1;
        }
    }
    output::result(&format!("{count} servers were added. Test each with: toolkiln mcp test NAME"))?;
    Ok(ExitCode::SUCCESS)
}

fn named(name: &str) -> anyhow::Result<ServerName> {
    ServerName::try_from(name.to_owned()).map_err(|why| anyhow!(why))
}

pub(crate) fn no_server(project: &Project, name: &str) -> anyhow::Error {
    let servers: Vec<&str> = project.config.servers.keys().map(ServerName::as_str).collect();
    let known = match servers.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there are {}", servers.join(", ")),
    };
    anyhow!("there is no MCP server {}; {known}", visible(name))
}
