//! `toolkiln mcp login|logout`: the user's consent to use a server over HTTP.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use mcp_client::oauth::{Begun, Callback, LoginAttempt, OAuthClient};
use mcp_client::{ForeignServer, ForeignServers, ServerAddress};
use protocol::visible;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::foreign::{self, OfProject, OneServer};
use crate::commands::call::online_runtime;
use crate::mcp_servers::logins::{self, LoginVault};
use crate::mcp_servers::{self, KnownServer};
use crate::project::Project;
use crate::{browser, environment, output};

/// How long the user may take in the browser.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// The longest address that is pasted.
const MAX_LINE: u64 = 64 * 1024;
/// The file that the browser is given.
const LINK_FILE: &str = "open.html";
/// Where one of these is set, a browser can open a window.
const DISPLAYS: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"];

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server
    name: String,
    /// Only print the address to open
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    of: OfProject,
}

pub(crate) fn login(args: &LoginArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.of.root)?;
    let server = known(&project, &args.name)?;
    let client = logins::client(&project, &server.config, &server.key())();
    let client = client.map_err(|why| anyhow!("{}: {why}", args.name))?;
    let runtime = online_runtime()?;
    let done = runtime.block_on(logged_in(&project, &server, &client, args.no_browser));
    // The line that is still waited for may never be typed.
    runtime.shutdown_background();
    done.map_err(|why| anyhow!("you are not logged in to {}: {}", args.name, visible(&why)))?;
    output::result(&format!("You are logged in to {}.", args.name))?;
    foreign::test(&args.name, &args.of.root)
}

pub(crate) fn logout(args: &OneServer) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.of.root)?;
    let server = known(&project, &args.name)?;
    let client = logins::client(&project, &server.config, &server.key())();
    let client = client.map_err(|why| anyhow!("{}: {why}", args.name))?;
    let was_there = online_runtime()?.block_on(client.log_out());
    let told = match was_there.map_err(|why| anyhow!("{}: {why}", args.name))? {
        true => format!("You are logged out of {}.", args.name),
        false => format!("You were not logged in to {}.", args.name),
    };
    output::result(&told)?;
    Ok(ExitCode::SUCCESS)
}

/// Forgets the login to a server that is used no more, if there is one.
pub(crate) fn forget(project: &Project, name: &str) {
    let forgotten = || {
        let server = known(project, name).ok()?;
        let client = logins::client(project, &server.config, &server.key())().ok()?;
        online_runtime().ok()?.block_on(client.log_out()).ok()
    };
    // Without it, nothing uses what is left.
    let _ = forgotten();
}

/// A server that can be logged in to.
fn known(project: &Project, name: &str) -> anyhow::Result<KnownServer> {
    let server = mcp_servers::known(project, Vec::new()).into_iter();
    let server = server.into_iter().find(|server| server.name.as_str() == name);
    let server = server.ok_or_else(|| foreign::no_server(project, name))?;
    if server.config.url.is_none() {
        bail!("{name} is a program and not an address; it gets secrets by `env`");
    }
    if let Some(variable) = &server.config.token_env {
        bail!(
            "{name} is shown the token in {}; without `token_env` it can be logged in to",
            visible(variable)
        );
    }
    Ok(server)
}

async fn logged_in(
    project: &Project,
    server: &KnownServer,
    client: &OAuthClient,
    no_browser: bool,
) -> Result<(), String> {
    let vault = LoginVault::of(project, &server.key())?;
    // Before the user takes the trouble.
    vault.open()?;
    let answers_unasked = asked(project, server, client).await?;
    let port = server.config.oauth.as_ref().and_then(|oauth| oauth.redirect_port);
    let callback = Callback::listen(port).await?;
    let attempt = match client.begin(&callback.redirect(), answers_unasked).await? {
        Begun::Done => return Ok(()),
        Begun::Asks(attempt) => Arc::new(*attempt),
    };
    let told = format!(
        "Log in to {} at {}. Open this address in a browser:\n\n{}\n\n\
         If that browser is on another machine, it ends at a page that it cannot show: paste the address \
         of that page here. It begins with {}.",
        server.name,
        attempt.origin(),
        attempt.url(),
        callback.redirect()
    );
    output::result(&told).map_err(|error| error.to_string())?;
    let has_display = DISPLAYS.iter().any(|name| environment::variable(name).is_some());
    if has_display && !no_browser {
        let (states, file) = (vault.open()?, vault.path.join(LINK_FILE));
        if let Err(why) = browser::show(&states, &file, attempt.url()) {
            output::to_user(&format!("toolkiln: the browser is not opened: {why}"));
        }
    }
    let redirected = async {
        tokio::select! {
            redirected = callback.redirected(&attempt) => redirected,
            pasted = pasted(&attempt) => pasted,
        }
    };
    let redirected = tokio::time::timeout(PATIENCE, redirected).await;
    // Nothing is left of it for the next browser.
    let _ = vault.open().map(|states| states.remove(LINK_FILE));
    let redirected = redirected.map_err(|_| {
        format!("the browser did not come back within {} minutes", PATIENCE.as_secs() / 60)
    })?;
    client.finish(&attempt, &redirected).await
}

/// Asks the server without a login, so that it says what it wants. Answers whether it wants nothing.
async fn asked(
    project: &Project,
    server: &KnownServer,
    client: &OAuthClient,
) -> Result<bool, String> {
    client.ask_only().await;
    let (url, network) = (server.config.url.clone(), project.environment.network.for_web());
    let credentials = client.clone();
    let address = move || {
        Ok(ServerAddress {
            url: url.clone().unwrap_or_default(),
            credentials: Some(Box::new(credentials.clone())),
            network: network.clone(),
        })
    };
    let records = mcp_servers::records(project).ok_or("HOME is not set")?;
    let (name, config) = (server.name.clone(), server.config.clone());
    let starts = ForeignServers::starts();
    let asked = ForeignServer::address(name, config, &server.origin, records, starts, address);
    // Why it does not answer is told by the login, or when the server is tested after it.
    let answers = asked.learn().await.is_ok();
    asked.stop().await;
    Ok(answers)
}

/// The address that the user pastes. Without standard input there is none.
async fn pasted(attempt: &LoginAttempt) -> String {
    let mut input = BufReader::new(tokio::io::stdin());
    loop {
        let mut line = String::new();
        match (&mut input).take(MAX_LINE).read_line(&mut line).await {
            Ok(0) | Err(_) => std::future::pending().await,
            Ok(_) if line.trim().is_empty() => {}
            Ok(_) if attempt.is_answered_by(&line) => return line,
            Ok(_) => {
                output::to_user("toolkiln: this is not the address that this login ends at");
            }
        }
    }
}
