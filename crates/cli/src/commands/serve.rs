//! `toolkiln serve`: the projects of a team, from any number of replicas that share a PostgreSQL database.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use store::{PostgresDatabase, PostgresOptions};
use team::oidc::{ClientSecret, OidcProvider, OidcSettings};
use team::{MasterKeys, TeamRole};
use tokio_util::sync::CancellationToken;
use tool_system::Vocabulary;
use web_service::{
    Bounds, ReplicaOptions, ServedProject, SessionHub, TeamAccess, WebApp, WebLog, listen, serve,
};

use super::web::{OperationArgs, ServedRoot};
use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::environment::Environment;
use crate::interrupt::StopSignal;
use crate::project::Project;
use crate::session_worktrees::SessionWorktrees;
use crate::{environment, output, telemetry};

const EXAMPLES: &str = "\
Examples:
  toolkiln serve --database postgres://kiln@db/kiln --project app=~/app
  toolkiln serve --project app=/srv/app --project site=/srv/site --worktrees   # with TOOLKILN_DATABASE
  toolkiln serve --project app=/srv/app --listen 0.0.0.0:4747 --proxy https://kiln.example.org";

/// The variable that names the database, so that no password stands on a command line.
const DATABASE: &str = "TOOLKILN_DATABASE";
/// The variable with the secret of this service at the identity provider.
const OIDC_SECRET: &str = "TOOLKILN_OIDC_SECRET";
/// The variable with the keys that seal what users keep.
const MASTER_KEYS: &str = "TOOLKILN_MASTER_KEYS";
/// How often old sessions are removed.
const REMOVAL_PAUSE: Duration = Duration::from_secs(6 * 60 * 60);
/// Streams of one replica: many people's pages watch at a time.
const STREAMS: usize = 8_000;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The database of all replicas: postgres://USER:PASSWORD@HOST/NAME; else TOOLKILN_DATABASE says it
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// A project to serve, and what it is called in all replicas; may be given several times
    #[arg(long = "project", value_name = "NAME=DIR", required = true)]
    projects: Vec<NamedProject>,
    /// Where to listen; an address that other machines reach needs --proxy
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4747")]
    listen: SocketAddr,
    /// The https address of the proxy before all replicas, which speaks TLS to browsers
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Have each session work in a git worktree of its own, on the branch toolkiln/SESSION
    #[arg(long)]
    worktrees: bool,
    /// How long turns may go on after SIGTERM; then they are interrupted
    #[arg(long, value_name = "NUMBER", default_value_t = 30)]
    drain_seconds: u64,
    /// What this replica is called where others name it; the address if left out
    #[arg(long, value_name = "NAME")]
    replica: Option<String>,
    #[command(flatten)]
    users: UserArgs,
    /// Remove sessions to which nothing was written for so many days
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<NonZeroU32>,
    /// Names and spellings of the tools: standard, explorer, workspace or ally
    #[arg(long, value_name = "NAME", default_value = "standard")]
    vocabulary: Vocabulary,
    /// The role: planner, actor, or one from the configuration
    #[arg(long, value_name = "NAME", default_value = "actor")]
    role: String,
    #[command(flatten)]
    operation: OperationArgs,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// Who may use the service.
#[derive(Debug, Args)]
struct UserArgs {
    /// The identity provider at which users log in (OpenID Connect); TOOLKILN_OIDC_SECRET holds our secret there
    #[arg(long, value_name = "URL", requires = "oidc_client")]
    oidc_issuer: Option<String>,
    /// What this service is called at the identity provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client: Option<String>,
    /// The role of users whom the provider knows and no admin has invited: viewer, member, approver; refused if left out
    #[arg(long, value_name = "ROLE", requires = "oidc_issuer")]
    new_users: Option<TeamRole>,
    /// The user who asks for a call may not approve it
    #[arg(long, conflicts_with = "yes")]
    two_users: bool,
}

/// A project with the name that it has in all replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedProject {
    name: String,
    root: PathBuf,
}

impl FromStr for NamedProject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        match text.split_once('=') {
            Some((name, root)) if is_plain(name) && !root.is_empty() => {
                Ok(Self { name: name.to_owned(), root: PathBuf::from(root) })
            }
            _ => {
                Err("a project is NAME=DIR; a name has letters, digits, `-`, `_` and `.`"
                    .to_owned())
            }
        }
    }
}

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let stop = StopSignal::listen()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(served(args, &stop))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(stop.exit_code().map_or(ExitCode::SUCCESS, ExitCode::from))
}

async fn served(args: &ServeArgs, stop: &StopSignal) -> anyhow::Result<()> {
    // Before anything is opened: an address that is refused changes nothing.
    let (listener, site) = listen(args.listen, args.proxy.as_deref()).await?;
    let url = args.database.clone().or_else(|| environment::variable(DATABASE));
    let url = url.with_context(|| format!("name the database with --database or in {DATABASE}"))?;
    let name = args.replica.clone().unwrap_or_else(|| site.url().to_owned());
    let database = PostgresDatabase::open(PostgresOptions::new(url, name)).await?;
    let log = args.operation.log();
    let mut projects = Vec::new();
    for named in &args.projects {
        let project = Project::open_with(&named.root, &args.model.layer())?;
        let served = served_project(args, named, project, (&database, &log.lines), &projects);
        projects.push(served.await?);
    }
    let access = access(&args.users, &site.url(), &database)?;
    let drain_time = Duration::from_secs(args.drain_seconds);
    let replica = ReplicaOptions { exchange: Arc::new(database.clone()), drain_time };
    let hub = SessionHub::shared(projects, replica);
    let removing = removing(args.keep_days, database, Arc::clone(&log.lines), stop.cancel.clone());
    let (app, code) = WebApp::for_team(hub, site, access, log.lines).await?;
    app.operate(args.operation.settings(log.requests, Bounds::with_streams(STREAMS)));
    let url = app.site().url();
    output::result(&match code {
        Some(code) => format!("{url}/#code={code}"),
        None => url,
    })?;
    tokio::join!(serve(listener, app, stop.cancel.clone()), removing);
    telemetry::flush().await;
    Ok(())
}

/// Removes old sessions now and then, if any are to be removed. Several replicas may do so at once.
async fn removing(
    days: Option<NonZeroU32>,
    database: PostgresDatabase,
    log: WebLog,
    stop: CancellationToken,
) {
    let Some(days) = days else { return };
    loop {
        match database.remove_older_than(days.get()).await {
            Ok(removed) if removed.sessions == 0 => {}
            Ok(removed) => {
                log(&format!("removed {} sessions older than {days} days", removed.sessions))
            }
            Err(error) => log(&format!("old sessions are not removed: {error}")),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(REMOVAL_PAUSE) => {}
        }
    }
}

/// Who may do what: the users in the database.
fn access(args: &UserArgs, url: &str, database: &PostgresDatabase) -> anyhow::Result<TeamAccess> {
    let oidc = match (&args.oidc_issuer, &args.oidc_client) {
        (Some(issuer), Some(client_id)) => Some(OidcProvider::new(OidcSettings {
            issuer: issuer.clone(),
            client_id: client_id.clone(),
            client_secret: environment::variable(OIDC_SECRET).map(ClientSecret::new),
            redirect: format!("{url}/"),
            new_users: args.new_users,
            network: Environment::gather().network.for_web(),
        })?),
        _ => None,
    };
    let master_keys = environment::variable(MASTER_KEYS);
    let master_keys = master_keys.map(|text| MasterKeys::parse(&text)).transpose();
    Ok(TeamAccess {
        people: Arc::new(database.clone()),
        oidc,
        master_keys: master_keys.with_context(|| format!("{MASTER_KEYS} cannot be used"))?,
        who_asks_may_not_approve: args.two_users,
        all_projects: Some(Arc::new(database.clone())),
    })
}

async fn served_project(
    args: &ServeArgs,
    named: &NamedProject,
    project: Project,
    (database, log): (&PostgresDatabase, &WebLog),
    others: &[ServedProject],
) -> anyhow::Result<ServedProject> {
    if others.iter().any(|other| other.name == named.name) {
        bail!("two projects are called {}", named.name);
    }
    let (vocabulary, role) = (args.vocabulary, args.role.clone());
    let scope = ProjectArgs { root: Some(named.root.clone()), vocabulary, role };
    let worktrees = args.worktrees.then(|| {
        let (approval, flags) = (args.approval.clone(), args.model.layer());
        let home = format!("{} of {}", named.name, database.place());
        SessionWorktrees::new(scope.clone(), approval, flags, Arc::clone(log), home)
    });
    let serving = ServedRoot {
        root: named.root.clone(),
        project,
        name: Some(named.name.clone()),
        store: Some(Arc::new(database.store(&named.name))),
        worktrees,
        scope: &scope,
        approval: &args.approval,
    };
    serving.served(others).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn an_approver_that_says_yes_to_all_is_not_a_second_user() {
        let read = |flags: &[&str]| {
            let line = ["serve", "--project", "app=."].iter().chain(flags);
            <Line as clap::Parser>::try_parse_from(line).map(|line| line.args.users.two_users)
        };
        assert!(read(&["--two-users"]).unwrap());
        assert!(read(&["--yes"]).is_ok() && read(&["--two-users", "--yes"]).is_err());
    }

    #[test]
    fn a_project_has_a_plain_name_and_a_directory() {
        let read = |text: &str| text.parse::<NamedProject>();
        let good = read("app=/srv/a=b").unwrap();
        assert_eq!((good.name.as_str(), good.root), ("app", PathBuf::from("/srv/a=b")));
        for bad in ["app", "=dir", "app=", "a b=dir", "a/b=dir", ""] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
