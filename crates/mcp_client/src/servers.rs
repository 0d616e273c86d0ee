//! All servers of a session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use protocol::{ErrorCode, Proposal, ToolError, ToolResult, visible};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tool_system::{Approved, Asker, Performer, ToolContext, ToolRegistry};

use crate::definition::ServerTools;
use crate::foreign_tool::ForeignTool;
use crate::server::ForeignServer;

/// Servers that start at the same time. Many of them are slow to start and heavy.
const MOST_STARTS: usize = 2;
/// How long after the beginning of a session servers are asked that were never asked. Their programs would take the
/// processor from what the user waits for, and nothing needs their answer before the next session.
const BEFORE_LEARNING: Duration = Duration::from_millis(500);

/// The servers whose tools a session has. They end with this.
#[derive(Default)]
pub struct ForeignServers {
    servers: Vec<Arc<ForeignServer>>,
}

impl ForeignServers {
    /// These servers, none of which is started yet.
    pub fn new(servers: impl IntoIterator<Item = ForeignServer>) -> Self {
        Self { servers: servers.into_iter().map(Arc::new).collect() }
    }

    /// What servers wait for before they start.
    pub fn starts() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(MOST_STARTS))
    }

    /// All servers.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ForeignServer>> {
        self.servers.iter()
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<ForeignServer>> {
        self.servers.iter().find(|server| server.name().as_str() == name)
    }

    /// The servers that were never asked for their tools.
    pub fn unknown(&self) -> impl Iterator<Item = &Arc<ForeignServer>> {
        self.servers.iter().filter(|server| *server.tools() == ServerTools::default())
    }

    /// Asks servers that were never asked for their tools, a little later and beside everything else, so that they are
    /// known the next time. Outside of a runtime nothing happens.
    pub fn learn_unknown(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        for server in self.unknown().map(Arc::clone) {
            runtime.spawn(async move {
                tokio::time::sleep(BEFORE_LEARNING).await;
                // Whoever calls its tools, or tests it, is told why it does not work.
                let _ = server.learn().await;
                server.stop().await;
            });
        }
    }

    /// Adds the tools that are known. A name that is taken stays what it was.
    pub fn register(&self, registry: &mut ToolRegistry) {
        for server in &self.servers {
            for definition in &server.tools().tools {
                if !registry.has(&definition.name) {
                    let tool = ForeignTool::new(Arc::clone(server), definition.clone());
                    registry.register(Arc::new(tool));
                }
            }
        }
    }
}

#[async_trait]
impl Performer for ForeignServers {
    async fn perform(
        &self,
        approved: &Approved<'_>,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> ToolResult {
        let Proposal::Foreign(call) = &approved.proposal else {
            let message = "this is not a call of a foreign tool";
            return Err(ToolError::new(ErrorCode::Internal, message));
        };
        let server = self.get(&call.server).ok_or_else(|| {
            let message = format!("there is no MCP server {}", visible(&call.server));
            ToolError::new(ErrorCode::UnknownTool, message)
        })?;
        server.call(call, cx, asker).await
    }
}
