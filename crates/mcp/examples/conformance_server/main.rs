//! Our server over HTTP with everything that the official conformance suite asks for by name. It has no guard and no token,
//! and prints its address.
//!
//! What the product does is shown by its own code: the tools in `tools.rs` run in the executor, ask by the form for
//! approvals and report progress like any other, and a resource is watched by the same watcher. What no tool, prompt
//! or resource of ours does (sound, sampling, log messages, forms of other kinds) is answered by `fixtures.rs` over the same
//! transport, which has to carry it.
//!
//! Usage: conformance_server PROJECT STATE

// This is a program for tests: it prints.
#![allow(clippy::print_stdout)]

mod fixtures;
mod forms;
mod material;
mod tools;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp::{
    ApproverChoice, FileVersion, HttpClient, HttpEndpoint, McpHandler, ProjectResources,
    ResourceFile, ServerParts,
};
use protocol::{ContentHash, ErrorCode, ToolError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tool_system::{
    Caller, ExecutorOptions, JournalPerformer, OnDemand, ProjectTools, ToolRegistry,
};
use workspace::{Journal, JournalOptions, Workspace};

use crate::fixtures::SuiteHandler;

const USAGE: &str = "Usage: conformance_server PROJECT STATE";

/// A project of one file.
struct OneFile {
    root: String,
}

const NOTES: &str = "notes.txt";
const NOTES_TEXT: &str = "first\n";

#[async_trait]
impl ProjectResources for OneFile {
    fn root(&self) -> &str {
        &self.root
    }

    async fn files(&self, after: Option<&str>, _: usize) -> Result<Vec<ResourceFile>, ToolError> {
        let notes = ResourceFile { path: NOTES.into(), size: NOTES_TEXT.len() as u64 };
        Ok(Some(notes).filter(|_| after.is_none()).into_iter().collect())
    }

    async fn file(&self, path: &str) -> Result<Vec<u8>, ToolError> {
        match path {
            NOTES => Ok(NOTES_TEXT.into()),
            _ => Err(ToolError::new(ErrorCode::FileNotFound, format!("there is no {path}"))),
        }
    }

    async fn file_version(&self, path: &str) -> Option<FileVersion> {
        let (hash, changed) = (ContentHash::of(NOTES_TEXT.as_bytes()), SystemTime::UNIX_EPOCH);
        (path == NOTES).then_some(FileVersion { hash, changed })
    }

    async fn changes(&self) -> Result<String, ToolError> {
        Ok(String::new())
    }

    async fn job(&self, id: &str) -> Result<String, ToolError> {
        Err(ToolError::new(ErrorCode::FileNotFound, format!("there is no job {id}")))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut places = std::env::args_os().skip(1);
    let (Some(root), Some(state)) = (places.next(), places.next()) else {
        return Err(USAGE.into());
    };
    let mut registry = ToolRegistry::builtin();
    tools::ALL.into_iter().for_each(|tool| registry.register(Arc::new(tool)));
    let workspace = Arc::new(Workspace::open(root.as_ref())?);
    let root = workspace.canonical_path().to_string_lossy().into_owned();
    let journal = Journal::open(Arc::clone(&workspace), state.as_ref(), JournalOptions::default())?;
    let journal = Arc::new(OnDemand::from(Arc::new(journal)));
    let options = ExecutorOptions {
        performer: Some(Arc::new(JournalPerformer::new(journal))),
        ..ExecutorOptions::default()
    };
    let executor = ProjectTools::new(registry, workspace, options).executor(Caller::default());
    let parts = ServerParts::new(Arc::new(executor), ApproverChoice::Host);
    let parts = ServerParts { resources: Some(Arc::new(OneFile { root })), ..parts };
    let handler = SuiteHandler { product: McpHandler::new(parts) };
    let endpoint = Arc::new(HttpEndpoint::of(handler, &CancellationToken::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let endpoint = Arc::clone(&endpoint);
        tokio::spawn(async move {
            let answering = service_fn(move |request: hyper::Request<Incoming>| {
                let endpoint = Arc::clone(&endpoint);
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await?.to_bytes();
                    let client = HttpClient { may_answer: true };
                    Ok::<_, hyper::Error>(endpoint.answer(parts, body, client).await)
                }
            });
            // A connection that breaks is the client's affair.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answering).await;
        });
    }
}
