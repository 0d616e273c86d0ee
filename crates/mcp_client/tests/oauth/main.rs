//! Logging in to servers over HTTP, against a real authorization server on this machine.

#![cfg(feature = "oauth")]

mod attacks;
mod endings;
mod logins;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp_client::oauth::{
    Begun, LockedVault, LoginAttempt, LoginParts, LoginSecret, OAuthClient, Vault,
};
use mcp_client::{
    ForeignServer, ForeignServers, OAuthConfig, ServerAddress, ServerConfig, ServerName,
    ServerRecords, Shelf,
};
use protocol::ToolError;
use testkit::LoginServer;

/// Where the browser would come back to. Nothing listens there.
const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// Files in memory.
#[derive(Default)]
struct MemoryVault {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    is_full: AtomicBool,
    locked: Arc<Mutex<bool>>,
}

struct MemoryLock(Arc<Mutex<bool>>);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        *self.0.lock().expect("no panic") = false;
    }
}

impl MemoryVault {
    fn text(&self) -> String {
        let files = self.files.lock().expect("no panic");
        files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

impl Vault for MemoryVault {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.files.lock().expect("no panic").get(name).cloned())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err("there is no space left".to_owned());
        }
        self.files.lock().expect("no panic").insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<bool, String> {
        Ok(self.files.lock().expect("no panic").remove(name).is_some())
    }

    fn lock(&self) -> Result<Option<LockedVault>, String> {
        let mut locked = self.locked.lock().expect("no panic");
        let was = std::mem::replace(&mut *locked, true);
        Ok((!was).then(|| Box::new(MemoryLock(Arc::clone(&self.locked))) as LockedVault))
    }
}

struct NoShelf;

impl Shelf for NoShelf {
    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn write(&self, _: &str, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// A user with a configuration and a vault.
#[derive(Clone)]
struct User {
    url: String,
    config: OAuthConfig,
    secret: Option<&'static str>,
    vault: Arc<MemoryVault>,
    network: net::Network,
}

impl User {
    fn of(server: &LoginServer) -> Self {
        let (config, vault) = (OAuthConfig::default(), Arc::default());
        let network = net::Network::default();
        Self { url: server.url(), config, secret: None, vault, network }
    }

    /// Another process of the same user.
    fn client(&self) -> OAuthClient {
        let parts = LoginParts {
            url: self.url.clone(),
            config: self.config.clone(),
            client_secret: self.secret.map(LoginSecret::new),
            network: self.network.clone(),
            vault: Arc::clone(&self.vault) as Arc<dyn Vault>,
            file: "t.json".to_owned(),
        };
        OAuthClient::new(parts).expect("a server that can be logged in to")
    }

    fn server(&self, client: &OAuthClient) -> ForeignServer {
        let name = ServerName::try_from("t".to_owned()).expect("a name");
        let config = ServerConfig { url: Some(self.url.clone()), ..ServerConfig::default() };
        let records = ServerRecords { cache: Arc::new(NoShelf), approvals: Arc::new(NoShelf) };
        let (url, client, network) = (self.url.clone(), client.clone(), self.network.clone());
        let address = move || {
            Ok(ServerAddress {
                url: url.clone(),
                credentials: Some(Box::new(client.clone())),
                network: network.clone(),
            })
        };
        ForeignServer::address(name, config, "", records, ForeignServers::starts(), address)
    }

    /// Uses the server from another process.
    async fn used(&self) -> Result<usize, ToolError> {
        let server = self.server(&self.client());
        server.learn().await.map(|tools| tools.tools.len())
    }

    /// Begins a login as `toolkiln mcp login` does.
    async fn begun(&self) -> Result<(OAuthClient, Begun), String> {
        let client = self.client();
        client.ask_only().await;
        let answers = self.server(&client).learn().await.is_ok();
        let begun = client.begin(REDIRECT, answers).await?;
        Ok((client, begun))
    }

    async fn asked(&self) -> Result<(OAuthClient, LoginAttempt), String> {
        match self.begun().await? {
            (client, Begun::Asks(attempt)) => Ok((client, *attempt)),
            (_, Begun::Done) => panic!("the user was not asked"),
        }
    }

    async fn logged_in(&self) -> Result<(), String> {
        let (client, attempt) = self.asked().await?;
        let redirected = LoginServer::browse(attempt.url());
        client.finish(&attempt, &redirected).await
    }
}
