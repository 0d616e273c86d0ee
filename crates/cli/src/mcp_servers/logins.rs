//! The logins to servers over HTTP, and where they are kept.

use std::path::PathBuf;
use std::sync::Arc;

use mcp_client::oauth::{LockedVault, LoginParts, LoginSecret, OAuthClient, Vault};
use mcp_client::{ServerConfig, ServerCredentials};
use protocol::visible;
use workspace::{Ownership, StateDir, Workspace};

use crate::environment;
use crate::project::Project;

/// The directory of logins. Each has one of its own below: to open a directory takes the rights of others to all
/// that is in it back, and whether others had such rights is asked of each login before that.
const DIRECTORY: &str = "logins";
/// The file of a login.
const FILE: &str = "login.json";
/// Far more than tokens take; a larger file is damaged.
const MAX_LOGIN_BYTES: u64 = 256 * 1024;

/// Files that only the user can read.
pub(crate) struct LoginVault {
    workspace: Arc<Workspace>,
    pub(crate) path: PathBuf,
}

impl LoginVault {
    pub(crate) fn of(project: &Project, key: &str) -> Result<Self, String> {
        let states = environment::state_dir().ok_or("neither XDG_STATE_HOME nor HOME is set")?;
        let path = states.join(DIRECTORY).join(key);
        Ok(Self { workspace: Arc::clone(&project.workspace), path })
    }

    /// The directory, made if need be.
    pub(crate) fn open(&self) -> Result<StateDir, String> {
        StateDir::open(&self.workspace, &self.path).map_err(|error| error.to_string())
    }

    fn existing(&self) -> Result<Option<StateDir>, String> {
        StateDir::existing(&self.workspace, &self.path).map_err(|error| error.to_string())
    }

    /// Whatever others could read, they may have. To take their right back now would only hide that.
    fn check(&self, name: &str) -> Result<(), String> {
        for path in [self.path.clone(), self.path.join(name)] {
            if Ownership::of(&path).is_some_and(|it| !it.is_ours || !it.is_private) {
                let path = visible(&path.display().to_string());
                return Err(format!("others could read the login in {path}, so it is not used"));
            }
        }
        Ok(())
    }
}

impl Vault for LoginVault {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        // Before it is opened, because that takes the rights of others back.
        self.check(name)?;
        let Some(directory) = self.existing()? else { return Ok(None) };
        directory.read(name, MAX_LOGIN_BYTES).map_err(|error| error.to_string())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        self.open()?.replace(name, bytes).map_err(|error| error.to_string())
    }

    fn remove(&self, name: &str) -> Result<bool, String> {
        let was_there = Ownership::of(&self.path.join(name)).is_some();
        if let Some(directory) = self.existing()? {
            directory.remove(name).map_err(|error| error.to_string())?;
        }
        Ok(was_there)
    }

    fn lock(&self) -> Result<Option<LockedVault>, String> {
        let lock = self.open()?.try_lock().map_err(|error| error.to_string())?;
        Ok(lock.map(|lock| Box::new(lock) as LockedVault))
    }
}

/// The login to a server; `key` names its file.
pub(crate) fn client(
    project: &Project,
    config: &ServerConfig,
    key: &str,
) -> impl Fn() -> Result<OAuthClient, String> + Send + Sync + 'static {
    let vault = LoginVault::of(project, key).map(|vault| Arc::new(vault) as Arc<dyn Vault>);
    let (url, oauth) = (config.url.clone().unwrap_or_default(), config.oauth.clone());
    let network = project.environment.network.for_web();
    move || {
        let config = oauth.clone().unwrap_or_default();
        let secret = config.client_secret_env.as_ref().map(|name| {
            let value = environment::variable(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("the variable {} is not set", visible(name)))
        });
        OAuthClient::new(LoginParts {
            url: url.clone(),
            config,
            client_secret: secret.transpose()?.map(LoginSecret::new),
            network: network.clone(),
            vault: vault.clone()?,
            file: FILE.to_owned(),
        })
    }
}

/// What a server is shown that the user may have logged in to. Where there can be no login, nothing is.
pub(crate) fn credentials(
    project: &Project,
    config: &ServerConfig,
    key: &str,
) -> impl Fn() -> Result<Option<Box<dyn ServerCredentials>>, String> + Send + Sync + 'static {
    let (client, is_configured) = (client(project, config, key), config.oauth.is_some());
    move || match client() {
        Ok(client) => Ok(Some(Box::new(client) as Box<dyn ServerCredentials>)),
        Err(why) if is_configured => Err(why),
        Err(_) => Ok(None),
    }
}
