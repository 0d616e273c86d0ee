//! The client that the official conformance suite tests: our own, which asks a server over HTTP for its tools and calls each once,
//! through the executor like any other call. The approver says yes to everything, also to what the server asks.
//!
//! Usage: conformance_client URL
//!
//! Arguments are made up to fit the schema of a tool, unless the suite says which it wants.

// This is a program for tests: it is told by the environment what to do, and prints.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mcp_client::{
    ForeignDefinition, ForeignServer, ForeignServers, ServerAddress, ServerConfig, ServerName,
    ServerRecords, Shelf,
};
use net::Network;
use protocol::{ApprovalRequest, ApprovalResponse, ToolCall, ToolError};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{Approver, Caller, ExecutorOptions, ProjectTools, ToolRegistry, Vocabulary};
use workspace::Workspace;

const USAGE: &str = "Usage: conformance_client URL";
const NAME: &str = "suite";
/// What the suite wants to be done, where it matters.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// Files in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Shelf for Memory {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// A user who says yes.
struct Yes;

#[async_trait]
impl Approver for Yes {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        Ok(request.approve())
    }
}

/// Arguments that fit the properties of a schema.
fn made_up(schema: &Value) -> Map<String, Value> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let values = properties.into_iter().map(|(name, schema)| {
        let value = match schema["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("object") => json!({}),
            Some("array") => json!([]),
            _ => json!("word"),
        };
        (name, value)
    });
    values.collect()
}

/// The calls that the suite wants: of which tool, with what.
fn wanted() -> Option<Vec<(String, Map<String, Value>)>> {
    let context: Value = serde_json::from_str(&std::env::var(CONTEXT).ok()?).ok()?;
    let calls = context["toolCalls"].as_array()?.iter();
    let calls = calls.filter_map(|call| {
        let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
        Some((call["name"].as_str()?.to_owned(), arguments))
    });
    Some(calls.collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or(USAGE)?;
    let config = ServerConfig { url: Some(url.clone()), ..ServerConfig::default() };
    let records =
        ServerRecords { cache: Arc::<Memory>::default(), approvals: Arc::<Memory>::default() };
    let address = move || {
        Ok(ServerAddress { url: url.clone(), credentials: None, network: Network::default() })
    };
    let (name, starts) = (ServerName::try_from(NAME.to_owned())?, ForeignServers::starts());
    let server = ForeignServer::address(name, config, "", records, starts, address);
    let servers = Arc::new(ForeignServers::new([server]));
    for server in servers.iter() {
        server.learn().await.map_err(|error| error.full_message())?;
    }
    let mut registry = ToolRegistry::builtin();
    servers.register(&mut registry);
    let known: Vec<ForeignDefinition> =
        servers.iter().flat_map(|server| server.tools().tools.clone()).collect();
    let calls = match wanted() {
        Some(wanted) => {
            let named = |tool: &str| known.iter().find(|known| known.tool == tool);
            let calls = wanted.into_iter();
            calls.filter_map(|(tool, with)| Some((named(&tool)?.name.clone(), with))).collect()
        }
        None => {
            let calls = known.iter().filter_map(|known| {
                let tool = registry.get(Vocabulary::Standard, &known.name).ok()?;
                Some((known.name.clone(), made_up(tool.definition().parameters())))
            });
            calls.collect::<Vec<_>>()
        }
    };
    let options =
        ExecutorOptions { performer: Some(servers), network: true, ..ExecutorOptions::default() };
    let workspace = Arc::new(Workspace::open(".".as_ref())?);
    let tools = ProjectTools::new(registry, workspace, options);
    let executor = tools.executor(Caller { approver: Arc::new(Yes), ..Caller::default() });
    for (number, (tool, arguments)) in calls.into_iter().enumerate() {
        let call = ToolCall::new(number.to_string(), tool.clone(), arguments);
        let result = executor.execute_tool(&call, &CancellationToken::new()).await;
        // What a tool says is not judged here: the suite looks at what was sent.
        println!(
            "{tool}: {}",
            result.map_or_else(|error| error.full_message(), |it| it.to_string())
        );
    }
    Ok(())
}
