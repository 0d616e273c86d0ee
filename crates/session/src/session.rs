//! One conversation, from its first event to the present one.

use std::sync::Arc;

use context_manager::{
    AgentOptions, Budget, Charge, ChatContext, CompactOutcome, Ports, Effort, LogError,
    ModelProvider, Prices, Purse, SessionLog, TurnOutcome,
};
use protocol::{
    AgentRole, Content, ImageTokens, LogEntry, Opened, SessionEvent, Settings, ToolError,
};
use store::{Lease, SessionId, Store, StoreError};
use tokio_util::sync::CancellationToken;
use tool_system::{Approver, ToolExecutor};

use crate::agent::{Host, Shared};
use crate::approval::ApprovalManager;
use crate::attachments::{Attached, attach};
use crate::log::StoredLog;
use crate::prompt::SystemPromptService;
use crate::runtime::{ContextToolRuntime, Toolbox, Wiring};

/// A model and what is known about it.
#[derive(Clone)]
pub struct Model {
    /// Who is asked.
    pub provider: Arc<dyn ModelProvider>,
    /// The model, as its provider calls it.
    pub name: String,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// The most tokens that it can see.
    pub context_tokens: u64,
    /// How hard it is asked to think.
    pub effort: Option<Effort>,
    /// What tokens cost, where that is known.
    pub prices: Option<Prices>,
    /// Whether it can call tools.
    pub calls_tools: bool,
    /// What an image takes, if it can see images.
    pub images: Option<ImageTokens>,
}

impl Model {
    /// How an agent with this model behaves, apart from what the conversation decides.
    pub(crate) fn options(&self) -> AgentOptions {
        AgentOptions {
            model: self.name.clone(),
            max_tokens: self.max_tokens,
            context_tokens: self.context_tokens,
            effort: self.effort,
            prices: self.prices,
            offers_tools: self.calls_tools,
            images: self.images,
            ..AgentOptions::default()
        }
    }
}

/// What a conversation is made of.
#[derive(Clone)]
pub struct Parts {
    /// Where it is kept.
    pub store: Arc<dyn Store>,
    /// The tools, for any role.
    pub toolbox: Arc<dyn Toolbox>,
    /// Who answers for the person; without anybody, questions wait for [`ApprovalManager::answer`].
    pub approver: Option<Arc<dyn Approver>>,
    /// The project, as it is shown.
    pub root: String,
    /// The model.
    pub model: Model,
    /// The role.
    pub role: AgentRole,
    /// The instructions.
    pub prompts: SystemPromptService,
    /// After how many answers with tool calls in a row the person is asked.
    pub turn_limit: u32,
    /// What may be used up before the person is asked.
    pub budget: Budget,
}

/// Why a conversation cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A budget in dollars cannot be kept with a model whose price is not known.
    #[error("the price of the model {model} is not known, so a budget in dollars cannot be kept")]
    NoPrice {
        /// The model.
        model: String,
    },
    /// The tools cannot be set up.
    #[error("the tools cannot be set up: {}", .0.full_message())]
    Tools(ToolError),
}

/// A conversation that can be carried on. One process at a time has it open.
pub struct Session {
    id: SessionId,
    parts: Parts,
    log: Arc<StoredLog>,
    context: ChatContext,
    /// What it and all its sub-agents may use, whichever model answers.
    purse: Arc<Purse>,
    wired: Wired,
    lease: Lease,
}

/// What depends on model and role.
struct Wired {
    ports: Ports,
    runtime: Arc<ContextToolRuntime>,
    approvals: Arc<ApprovalManager>,
    options: AgentOptions,
}

impl Session {
    /// Begins a conversation.
    pub async fn begin(parts: Parts) -> Result<Self, SessionError> {
        check_price(&parts)?;
        let opened =
            Opened { root: parts.root.clone(), settings: settings(&parts), forked_from: None };
        let id = parts.store.create(&opened).await?;
        Self::open(parts, id).await.map(|(session, _)| session)
    }

    /// Takes up a conversation where it stopped. What was open when the process ended is closed
    /// first. Answers also with what could not be read.
    pub async fn resume(parts: Parts, id: SessionId) -> Result<(Self, Vec<String>), SessionError> {
        let (mut session, damage) = Self::open(parts, id).await?;
        let model = &session.parts.model;
        let charge = Charge::of(&*model.provider, model.prices);
        let unfinished = session.context.unfinished(charge);
        session.write(unfinished).await?;
        let now = settings(&session.parts);
        if session.context.settings() != Some(&now) {
            session.write(vec![SessionEvent::SettingsChanged(now)]).await?;
        }
        Ok((session, damage))
    }

    async fn open(parts: Parts, id: SessionId) -> Result<(Self, Vec<String>), SessionError> {
        check_price(&parts)?;
        let lease = parts.store.claim(&id).await?;
        let loaded = parts.store.load(&id).await?;
        let context = ChatContext::replay(&loaded.entries);
        let log = Arc::new(StoredLog::new(Arc::clone(&parts.store), id.clone()));
        let purse = Purse::new();
        let wired = wire(&parts, &id, &log, &purse)?;
        Ok((Self { id, parts, log, context, purse, wired, lease }, loaded.damage))
    }

    /// Ends the use of the conversation, so that others may go on with it at once.
    pub async fn close(self) {
        self.lease.give_back().await;
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// What is written down, as it is written.
    pub fn log(&self) -> &Arc<StoredLog> {
        &self.log
    }

    /// The conversation as it is now.
    pub fn context(&self) -> &ChatContext {
        &self.context
    }

    /// The executor of the present role.
    pub fn executor(&self) -> &ToolExecutor {
        self.wired.runtime.executor()
    }

    /// The questions to the person.
    pub fn approvals(&self) -> &Arc<ApprovalManager> {
        &self.wired.approvals
    }

    /// The model and the rest it is made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// How the agent behaves at present.
    pub fn options(&self) -> &AgentOptions {
        &self.wired.options
    }

    /// The person says something; the turn is carried on until it ends or pauses.
    pub async fn send(
        &mut self,
        content: Vec<Content>,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        let Wired { ports, options, .. } = &self.wired;
        Ok(self.context.send_message(content, ports, options, cancel).await?)
    }

    /// Goes on after a pause.
    pub async fn continue_turn(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        let Wired { ports, options, .. } = &self.wired;
        Ok(self.context.continue_turn(ports, options, cancel).await?)
    }

    /// Ends the turn at a pause.
    pub async fn stop_turn(&mut self) -> Result<TurnOutcome, SessionError> {
        Ok(self.context.stop_turn(&self.wired.ports).await?)
    }

    /// Makes the conversation shorter for the model.
    pub async fn compact(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<CompactOutcome, SessionError> {
        let Wired { ports, options, .. } = &self.wired;
        Ok(self.context.compact(ports, options, cancel).await?)
    }

    /// Has another model answer from now on.
    pub async fn set_model(&mut self, model: Model) -> Result<(), SessionError> {
        self.change(Parts { model, ..self.parts.clone() }).await
    }

    /// Acts in another role from now on.
    pub async fn set_role(&mut self, role: AgentRole) -> Result<(), SessionError> {
        self.change(Parts { role, ..self.parts.clone() }).await
    }

    /// Gives the conversation a name.
    pub async fn rename(&mut self, title: &str) -> Result<(), SessionError> {
        self.write(vec![SessionEvent::Renamed { title: title.to_owned() }]).await
    }

    /// Lets the model know something that the person has done, without asking it anything.
    pub async fn tell(&mut self, text: &str) -> Result<(), SessionError> {
        self.write(vec![SessionEvent::Nudged { text: text.to_owned() }]).await
    }

    /// The text with the files it mentions.
    pub async fn with_files(&self, text: String, paths: &[String]) -> Attached {
        attach(self.executor(), text, paths).await
    }

    async fn change(&mut self, parts: Parts) -> Result<(), SessionError> {
        check_price(&parts)?;
        let wired = wire(&parts, &self.id, &self.log, &self.purse)?;
        self.write(vec![SessionEvent::SettingsChanged(settings(&parts))]).await?;
        (self.parts, self.wired) = (parts, wired);
        Ok(())
    }

    async fn write(&mut self, events: Vec<SessionEvent>) -> Result<(), SessionError> {
        if !events.is_empty() {
            let entries: Vec<LogEntry> = self.log.append(events).await?;
            entries.iter().for_each(|entry| self.context.apply(entry));
        }
        Ok(())
    }
}

fn settings(parts: &Parts) -> Settings {
    Settings {
        provider: parts.model.provider.name().to_owned(),
        model: parts.model.name.clone(),
        role: parts.role.clone(),
    }
}

fn check_price(parts: &Parts) -> Result<(), SessionError> {
    match (parts.budget.cost_usd, parts.model.prices) {
        (Some(_), None) => Err(SessionError::NoPrice { model: parts.model.name.clone() }),
        _ => Ok(()),
    }
}

fn wire(
    parts: &Parts,
    id: &SessionId,
    log: &Arc<StoredLog>,
    purse: &Arc<Purse>,
) -> Result<Wired, SessionError> {
    let aside = log.aside();
    let approvals = Arc::new(ApprovalManager::new(aside.clone(), parts.approver.clone()));
    let shared = Arc::new(Shared {
        session: id.to_string(),
        model: parts.model.clone(),
        toolbox: Arc::clone(&parts.toolbox),
        prompts: parts.prompts.clone(),
        turn_limit: parts.turn_limit,
        approvals: Arc::clone(&approvals),
    });
    let host =
        Host { shared, log: aside, role: parts.role.clone(), depth: 0, purse: Arc::clone(purse) };
    let wiring = Wiring {
        role: parts.role.clone(),
        approver: approvals.clone(),
        agent_host: Arc::new(host),
        session: id.to_string(),
    };
    let executor = parts.toolbox.executor(wiring).map_err(SessionError::Tools)?;
    let options = AgentOptions {
        system: parts.prompts.prompt(&parts.role, &executor.useful()),
        turn_limit: parts.turn_limit,
        budget: parts.budget,
        ..parts.model.options()
    };
    let runtime = Arc::new(ContextToolRuntime::new(executor).following(&parts.prompts));
    let ports = Ports {
        model: Arc::clone(&parts.model.provider),
        tools: runtime.clone(),
        log: log.clone(),
        purse: Arc::clone(purse),
    };
    Ok(Wired { ports, runtime, approvals, options })
}
