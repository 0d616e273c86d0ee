//! One conversation, from its first event to the present one.

use std::sync::Arc;

use context_manager::{
    AgentOptions, Budget, Charge, ChatContext, CompactOutcome, Effort, Inbox, LogError,
    ModelProvider, Prices, Purse, SessionLog, SharedBudget, TurnOutcome,
};
use protocol::{
    AgentRole, Content, ImageTokens, LogEntry, Opened, SessionEvent, Settings, ToolError,
};
use store::{Exchange, SessionId, Store, StoreError};
use tokio_util::sync::CancellationToken;
use tool_system::policy::Policy;
use tool_system::{Approver, LearnedRules, OnDemand, ProjectTools, ToolExecutor};

use crate::agent::{Agent, SessionHost};
use crate::approval::ApprovalManager;
use crate::attachments::{Attached, with_files};
use crate::log::StoredLog;
use crate::observer::LogObserver;
use crate::prompt::SystemPromptService;

/// A model and what is known about it.
#[derive(Clone)]
pub struct Model {
    /// The port to the provider.
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
pub struct SessionParts {
    /// Where it is kept.
    pub store: Arc<dyn Store>,
    /// The inbox and the rest that several processes share through the store, if they do.
    pub exchange: Option<Arc<dyn Exchange>>,
    /// The project and its tools, for any role.
    pub tools: ProjectTools,
    /// Decides about what needs approval; without one, questions wait for [`ApprovalManager::answer`].
    pub approver: Option<Arc<dyn Approver>>,
    /// The project's directory, as users are shown it.
    pub root: String,
    /// The model that answers.
    pub model: Model,
    /// The role that the conversation acts in.
    pub role: AgentRole,
    /// What every request tells the model first.
    pub prompts: SystemPromptService,
    /// After how many answers with tool calls in a row the user is asked.
    pub turn_limit: u32,
    /// What may be used up before the user is asked.
    pub budget: Budget,
    /// What other conversations spend too, and may be used up as well.
    pub shared_budget: Option<Arc<dyn SharedBudget>>,
    /// Are told everything that is written.
    pub observers: Vec<Arc<dyn LogObserver>>,
}

/// Why a conversation cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store cannot open, create or lease the session.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The conversation cannot go back to there.
    #[error("entry {sequence} is not a message that the conversation can go back to")]
    NotAMessage {
        /// The position in the log.
        sequence: u64,
    },
    /// The files of an earlier moment cannot be restored; nothing was changed.
    #[error("the files cannot be restored: {}", .0.message)]
    Files(ToolError),
    /// A budget in dollars cannot be kept with a model whose price is not known.
    #[error("the price of the model {model} is not known, so a budget in dollars cannot be kept")]
    NoPrice {
        /// As its provider calls it.
        model: String,
    },
}

/// A conversation that can be carried on. One process at a time has it open.
pub struct Session {
    id: SessionId,
    parts: Arc<SessionParts>,
    log: Arc<StoredLog>,
    context: ChatContext,
    /// What stays when the agent is made again.
    lasting: Lasting,
    agent: Agent,
    approvals: Arc<ApprovalManager>,
}

/// What a conversation has, whichever model answers in whatever role.
struct Lasting {
    /// What it and all its sub-agents may use.
    purse: Arc<Purse>,
    /// What the user says while a turn runs.
    inbox: Arc<Inbox>,
    /// What "always" has made.
    rules: Arc<LearnedRules>,
}

impl Session {
    /// Begins a conversation. It is in the store once something is said in it or it has a name.
    pub async fn begin(parts: SessionParts) -> Result<Self, SessionError> {
        Self::begin_as(parts, SessionId::generate()?)
    }

    /// The same under an id that [`SessionId::generate`] made.
    pub fn begin_as(parts: SessionParts, id: SessionId) -> Result<Self, SessionError> {
        check_price(&parts)?;
        let opened =
            Opened { root: parts.root.clone(), settings: settings(&parts), forked_from: None };
        let context = beginning(&opened);
        let log = StoredLog::beginning(&parts, id.clone(), opened);
        Ok(Self::assembled(parts, id, log, context))
    }

    /// Takes up a conversation where it stopped. What was open when the process ended is closed
    /// first. Answers also with what could not be read.
    pub async fn resume(
        parts: SessionParts,
        id: SessionId,
    ) -> Result<(Self, Vec<String>), SessionError> {
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

    async fn open(parts: SessionParts, id: SessionId) -> Result<(Self, Vec<String>), SessionError> {
        check_price(&parts)?;
        let lease = parts.store.claim(&id).await?;
        let loaded = parts.store.load(&id).await?;
        let context = ChatContext::replay(&loaded.entries);
        for observer in &parts.observers {
            observer.taken_up(&id, &loaded.entries);
        }
        let log = StoredLog::of_stored(&parts, id.clone(), lease);
        Ok((Self::assembled(parts, id, log, context), loaded.damage))
    }

    fn assembled(parts: SessionParts, id: SessionId, log: StoredLog, context: ChatContext) -> Self {
        let (parts, log) = (Arc::new(parts), Arc::new(log));
        let purse = parts.shared_budget.clone().map_or_else(Purse::new, Purse::drawing_on);
        let lasting = Lasting { purse, inbox: Arc::default(), rules: Arc::default() };
        let (agent, approvals) = assemble(&parts, &id, &log, &lasting);
        Self { id, parts, log, context, lasting, agent, approvals }
    }

    /// Ends the use of the conversation, so that others may go on with it at once.
    pub async fn close(self) {
        if let Some(lease) = self.log.take_lease() {
            lease.release().await;
        }
    }

    /// Has these items of the shared inbox done with what is written next: what is said, changed, taken back or
    /// continued.
    pub async fn taking(&mut self, items: Vec<i64>) -> &mut Self {
        self.log.take_with_next(items).await;
        self
    }

    /// Whether the conversation is in the store: something was said in it, or it has a name.
    pub async fn is_stored(&self) -> bool {
        self.log.is_stored().await
    }

    /// Puts the conversation into the store before anything is said in it, because a program is about to
    /// be told its id.
    pub async fn store_now(&mut self) -> Result<(), SessionError> {
        if !self.is_stored().await {
            self.log.append(Vec::new()).await?;
        }
        Ok(())
    }

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
        self.agent.runtime.executor()
    }

    /// What the user says while a turn runs. A turn takes it before its next request; what is left
    /// when the turn ends is for the front end to send.
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.lasting.inbox
    }

    /// The questions to the user.
    pub fn approvals(&self) -> &Arc<ApprovalManager> {
        &self.approvals
    }

    /// The model and the rest it is made of.
    pub fn parts(&self) -> &SessionParts {
        &self.parts
    }

    /// How the agent behaves at present.
    pub fn options(&self) -> &AgentOptions {
        &self.agent.options
    }

    /// The user says something; the turn is carried on until it ends or pauses.
    pub async fn send(
        &mut self,
        content: Vec<Content>,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        self.say(content).await?;
        self.answer(cancel).await
    }

    /// Writes down what the user says; [`Self::answer`] has it answered. Answers with its place in the log.
    pub async fn say(&mut self, content: Vec<Content>) -> Result<u64, SessionError> {
        let Agent { ports, options, .. } = &self.agent;
        Ok(self.context.say(content, ports, options).await?)
    }

    /// What was said is answered: the turn is carried on until it ends or pauses.
    pub async fn answer(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        let Agent { ports, options, .. } = &self.agent;
        Ok(self.context.run(ports, options, cancel).await?)
    }

    /// Goes on after a pause.
    pub async fn continue_turn(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        let Agent { ports, options, .. } = &self.agent;
        Ok(self.context.continue_turn(ports, options, cancel).await?)
    }

    /// Ends the turn at a pause.
    pub async fn stop_turn(&mut self) -> Result<TurnOutcome, SessionError> {
        Ok(self.context.stop_turn(&self.agent.ports).await?)
    }

    /// Makes the conversation shorter for the model.
    pub async fn compact(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<CompactOutcome, SessionError> {
        let Agent { ports, options, .. } = &self.agent;
        Ok(self.context.compact(ports, options, cancel).await?)
    }

    /// Has another model answer from now on.
    pub async fn set_model(&mut self, model: Model) -> Result<(), SessionError> {
        self.change_agent(Some(model), None).await
    }

    /// Acts in another role from now on.
    pub async fn set_role(&mut self, role: AgentRole) -> Result<(), SessionError> {
        self.change_agent(None, Some(role)).await
    }

    /// Goes on with another model, in another role, or both; what is not given stays.
    pub async fn change_agent(
        &mut self,
        model: Option<Model>,
        role: Option<AgentRole>,
    ) -> Result<(), SessionError> {
        let mut parts = (*self.parts).clone();
        parts.model = model.unwrap_or(parts.model);
        parts.role = role.unwrap_or(parts.role);
        self.change(parts).await
    }

    /// Judges by another policy from now on. What "always" has made in this session still holds.
    pub fn set_policy(&mut self, policy: OnDemand<Policy>) {
        let mut parts = (*self.parts).clone();
        parts.tools = parts.tools.with_policy(policy);
        self.parts = Arc::new(parts);
        (self.agent, self.approvals) = assemble(&self.parts, &self.id, &self.log, &self.lasting);
    }

    /// Gives the conversation a name.
    pub async fn rename(&mut self, title: &str) -> Result<(), SessionError> {
        self.write(vec![SessionEvent::Renamed { title: title.to_owned() }]).await
    }

    /// Lets the model know something that the user has done, without asking it anything.
    pub async fn tell(&mut self, text: &str) -> Result<(), SessionError> {
        self.write(vec![SessionEvent::Nudged { text: text.to_owned() }]).await
    }

    /// The text with the files it mentions.
    pub async fn with_files(&self, text: String, paths: &[String]) -> Attached {
        with_files(self.executor(), text, paths).await
    }

    async fn change(&mut self, parts: SessionParts) -> Result<(), SessionError> {
        check_price(&parts)?;
        let settings = settings(&parts);
        match self.log.begin_with(&settings).await {
            Some(opened) => self.context = beginning(&opened),
            None => self.write(vec![SessionEvent::SettingsChanged(settings)]).await?,
        }
        self.parts = Arc::new(parts);
        (self.agent, self.approvals) = assemble(&self.parts, &self.id, &self.log, &self.lasting);
        Ok(())
    }

    pub(crate) fn replace_context(&mut self, context: ChatContext) {
        self.context = context;
    }

    pub(crate) async fn write(&mut self, events: Vec<SessionEvent>) -> Result<(), SessionError> {
        if !events.is_empty() {
            let entries: Vec<LogEntry> = self.log.append(events).await?;
            entries.iter().for_each(|entry| self.context.apply(entry));
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Others hold the log for longer, such as jobs that run.
        drop(self.log.take_lease());
    }
}

/// A conversation in which nothing has been said.
fn beginning(opened: &Opened) -> ChatContext {
    let event = SessionEvent::Opened(opened.clone());
    ChatContext::replay(&[LogEntry { sequence: 1, at: 0, event }])
}

fn settings(parts: &SessionParts) -> Settings {
    Settings {
        provider: parts.model.provider.name().to_owned(),
        model: parts.model.name.clone(),
        role: parts.role.clone(),
    }
}

fn check_price(parts: &SessionParts) -> Result<(), SessionError> {
    match (parts.budget.cost_usd, parts.model.prices) {
        (Some(_), None) => Err(SessionError::NoPrice { model: parts.model.name.clone() }),
        _ => Ok(()),
    }
}

/// The conversation as an agent: made again when model or role change.
fn assemble(
    parts: &Arc<SessionParts>,
    id: &SessionId,
    log: &Arc<StoredLog>,
    lasting: &Lasting,
) -> (Agent, Arc<ApprovalManager>) {
    let approvals = Arc::new(ApprovalManager::new(log.aside(), parts.approver.clone()));
    let host = SessionHost {
        session: id.clone(),
        parts: Arc::clone(parts),
        role: parts.role.clone(),
        path: Vec::new(),
        log: log.aside(),
        session_log: log.aside(),
        approvals: Arc::clone(&approvals),
        purse: Arc::clone(&lasting.purse),
        inbox: Arc::clone(&lasting.inbox),
        rules: Arc::clone(&lasting.rules),
    };
    (host.agent(log.clone(), parts.turn_limit, parts.budget), approvals)
}
