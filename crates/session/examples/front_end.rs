//! A front end in a page: opens a project, sends a message, prints what happens, and asks before a
//! change is made.
//!
//! ```sh
//! cargo run -p session --example front_end -- PROJECT STATE '/create_file hello.txt hi'
//! ```
//!
//! `STATE` is a directory outside of the project. The model is the built-in guide, which needs neither
//! network nor key; any other `ModelProvider` takes its place in [`model`].

// Printing is what this front end does.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use context_manager::Budget;
use guide::Guide;
use protocol::{
    AgentRole, ApprovalRequest, ApprovalResponse, Content, ErrorCode, SessionEvent, ToolError,
    unified,
};
use session::{Model, Session, SessionParts, SystemPromptService, TurnOutcome};
use store::SqliteStore;
use tokio_util::sync::CancellationToken;
use tool_system::{
    Approver, ExecutorOptions, History, JournalPerformer, OnDemand, ProjectTools, ToolRegistry,
};
use workspace::{Journal, JournalOptions, Workspace};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [project, state, message] = arguments.as_slice() else {
        return Err("usage: front_end PROJECT STATE MESSAGE".into());
    };
    let tools = tools(project.as_ref(), state.as_ref())?;
    let print = |event: SessionEvent| match event {
        SessionEvent::TextDelta { text } => print!("{text}"),
        SessionEvent::CallEnded { result, .. } => println!("[{result:?}]"),
        _ => {}
    };
    let ended = converse(tools, state.as_ref(), message, Arc::new(Terminal), print).await?;
    println!("\n{ended:?}");
    Ok(())
}

/// The project with its tools, and how it is changed: through a journal, so that it can be undone.
pub(crate) fn tools(project: &Path, state: &Path) -> Result<ProjectTools, Box<dyn Error>> {
    let workspace = Arc::new(Workspace::open(project)?);
    let journal = Journal::open(Arc::clone(&workspace), state, JournalOptions::default())?;
    let journal = Arc::new(OnDemand::from(Arc::new(journal)));
    let options = ExecutorOptions {
        performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
        history: Some(History::of(journal)),
        ..ExecutorOptions::default()
    };
    Ok(ProjectTools::new(ToolRegistry::builtin(), workspace, options))
}

/// Sends one message in a conversation of its own. Everything that happens is in the log, from which
/// `show` gets it while it happens.
pub(crate) async fn converse(
    tools: ProjectTools,
    state: &Path,
    message: &str,
    approver: Arc<dyn Approver>,
    mut show: impl FnMut(SessionEvent) + Send + 'static,
) -> Result<TurnOutcome, Box<dyn Error>> {
    let mut session = Session::begin(SessionParts {
        exchange: None,
        store: Arc::new(SqliteStore::open(state.join("sessions.db")).await?),
        root: tools.code.workspace().canonical_path().display().to_string(),
        tools,
        approver: Some(approver),
        model: model(),
        role: AgentRole::Actor,
        prompts: SystemPromptService::default(),
        turn_limit: 20,
        budget: Budget::default(),
        shared_budget: None,
        observers: Vec::new(),
    })
    .await?;
    let mut log = session.log().watch();
    let showing = tokio::spawn(async move {
        while let Some(entry) = log.recv().await {
            show(entry.event);
        }
    });
    let content = vec![Content::Text { text: message.into() }];
    let ended = session.send(content, &CancellationToken::new()).await?;
    session.close().await;
    showing.await?;
    Ok(ended)
}

fn model() -> Model {
    Model {
        provider: Arc::new(Guide),
        name: guide::NAME.to_owned(),
        max_tokens: 4_096,
        context_tokens: 200_000,
        effort: None,
        prices: None,
        calls_tools: true,
        images: None,
    }
}

/// Asks the user at the terminal, who sees the whole change.
struct Terminal;

#[async_trait]
impl Approver for Terminal {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        println!("{} {}\n{}", request.tool, request.reason, unified(&request.diffs));
        let answer = tokio::task::spawn_blocking(|| {
            print!("Approve? [y/N] ");
            std::io::stdout().flush()?;
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map(|_| line)
        });
        let answer = answer.await.map_err(|error| error.to_string());
        let answer = answer.and_then(|line| line.map_err(|error| error.to_string()));
        match answer.map_err(|error| ToolError::new(ErrorCode::ApprovalRequired, error))?.trim() {
            "y" | "yes" => Ok(request.approve()),
            _ => Ok(ApprovalResponse::no(None)),
        }
    }
}
