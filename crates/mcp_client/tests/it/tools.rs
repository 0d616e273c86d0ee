//! An executor with the tools of one server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mcp_client::{
    ForeignServer, ForeignServers, ServerAddress, ServerConfig, ServerName, ServerRecords, Shelf,
};
use net::Network;
use protocol::{ToolCall, ToolError};
use serde_json::json;
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{
    AgentHost, ApproveAll, Caller, ExecutorOptions, ProjectTools, ToolExecutor, ToolRegistry,
};
use workspace::Workspace;

use crate::http_server::HttpServer;

/// Files in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Shelf for Memory {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        self.0.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// The server, of which nothing is known yet.
pub(crate) fn unknown(server: &HttpServer) -> ForeignServers {
    let url = server.url.clone();
    let config = ServerConfig { url: Some(url.clone()), ..ServerConfig::default() };
    let records =
        ServerRecords { cache: Arc::<Memory>::default(), approvals: Arc::<Memory>::default() };
    let address = move || {
        Ok(ServerAddress { url: url.clone(), credentials: None, network: Network::default() })
    };
    let name = ServerName::try_from("little".to_owned()).expect("the name is good");
    let server =
        ForeignServer::address(name, config, "", records, ForeignServers::starts(), address);
    ForeignServers::new([server])
}

pub(crate) struct Tools {
    executor: ToolExecutor,
    _project: Fixture,
}

impl Tools {
    /// The tools of a server, which is asked for them.
    pub(crate) async fn of(server: &HttpServer) -> Self {
        Self::of_conversation(server, None).await
    }

    /// The same, called from a conversation.
    pub(crate) async fn of_conversation(
        server: &HttpServer,
        agent_host: Option<Arc<dyn AgentHost>>,
    ) -> Self {
        let servers = Arc::new(unknown(server));
        for server in servers.iter() {
            server.learn().await.expect("the server lists its tools");
        }
        let mut registry = ToolRegistry::builtin();
        servers.register(&mut registry);
        let project = Fixture::new("//- /a.txt\na\n");
        let workspace = Arc::new(Workspace::open(project.root()).expect("the project opens"));
        let options = ExecutorOptions {
            performer: Some(servers),
            network: true,
            ..ExecutorOptions::default()
        };
        let caller = Caller { approver: Arc::new(ApproveAll), agent_host, ..Caller::default() };
        let executor = ProjectTools::new(registry, workspace, options).executor(caller);
        Self { executor, _project: project }
    }

    /// The text that the server gives back.
    pub(crate) async fn echo(&self, word: &str) -> Result<String, ToolError> {
        self.withdrawn(word, std::future::pending()).await
    }

    /// The same, unless the call is withdrawn before.
    pub(crate) async fn withdrawn(
        &self,
        word: &str,
        when: impl Future<Output = ()>,
    ) -> Result<String, ToolError> {
        let arguments = json!({"word": word}).as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("c1", "little__echo", arguments);
        let cancel = CancellationToken::new();
        let calling = self.executor.execute_tool(&call, &cancel);
        tokio::pin!(calling);
        let result = tokio::select! {
            result = &mut calling => result?,
            () = when => {
                cancel.cancel();
                calling.await?
            }
        };
        Ok(result["text"].as_str().unwrap_or_default().to_owned())
    }
}
