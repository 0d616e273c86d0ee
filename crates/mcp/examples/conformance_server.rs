//! The server over HTTP with the tools that the official conformance suite calls by name, for what our own tools cannot
//! show it. It has no guard and no token, and prints its address.
//!
//! Usage: conformance_server DIRECTORY

// This is a program for tests: it prints.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp::{ApproverChoice, HttpClient, HttpEndpoint, ServerParts};
use serde_json::Map;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tool_system::prelude::*;
use tool_system::{ExecutorOptions, ToolExecutor, ToolRegistry, handed_image};
use workspace::Workspace;

type AnyObject = Map<String, Value>;

/// A red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// How long the suite wants the tool with progress to wait between two of its steps.
const STEP: Duration = Duration::from_millis(50);

/// A tool that the suite calls.
#[derive(Clone, Copy)]
enum SuiteTool {
    Text,
    Failure,
    Image,
    Progress,
}

#[async_trait]
impl Tool for SuiteTool {
    fn definition(&self) -> ToolDefinition {
        let name = match self {
            Self::Text => "test_simple_text",
            Self::Failure => "test_error_handling",
            Self::Image => "test_image_content",
            Self::Progress => "test_tool_with_progress",
        };
        ToolDefinition::new::<AnyObject, AnyObject>(name, Category::Search)
    }

    async fn execute(&self, _: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        match self {
            Self::Text => {}
            Self::Failure => {
                let message = "This tool intentionally returns an error for testing";
                return Err(ToolError::new(ErrorCode::ExecutionError, message));
            }
            Self::Image => {
                let bytes = STANDARD.decode(PIXEL).unwrap_or_default();
                let (image, _) = handed_image("pixel.png", &bytes, cx.limits())?;
                cx.show(image);
            }
            Self::Progress => {
                for step in ["0", "50", "100"] {
                    cx.output(step);
                    tokio::time::sleep(STEP).await;
                }
            }
        }
        Outcome::answer(json!({}))
    }

    fn text(&self, _: &ToolArguments, _: &Value) -> Option<String> {
        Some("This is a simple text response for testing.".to_owned())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).ok_or("Usage: conformance_server DIRECTORY")?;
    let mut registry = ToolRegistry::builtin();
    for tool in [SuiteTool::Text, SuiteTool::Failure, SuiteTool::Image, SuiteTool::Progress] {
        registry.register(Arc::new(tool));
    }
    let workspace = Arc::new(Workspace::open(root.as_ref())?);
    let executor = ToolExecutor::new(Arc::new(registry), workspace, ExecutorOptions::default());
    let parts = ServerParts::new(Arc::new(executor), ApproverChoice::Host);
    let endpoint = Arc::new(HttpEndpoint::new(parts, &CancellationToken::new()));
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
