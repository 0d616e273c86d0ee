//! One server: started when it is first needed, and again when it has ended.

mod failures;
mod starting;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::{ContentHash, ErrorCode, ForeignCall, ToolError, ToolResult, visible};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tool_system::{Asker, ToolContext};

use crate::answer;
use crate::asking;
use crate::definition::{ForeignDefinition, ServerTools};
use crate::handshake::{Era, list_tools};
use crate::http::{self, ServerAddress};
use crate::locked::locked;
use crate::peer::{Heard, Lost, News, OpenRequest, Peer, PeerReply};
use crate::records::ServerRecords;
use crate::server_config::{ServerConfig, ServerName};
use crate::stdio::{self, ServerProgram};
use starting::{NotStarted, StartFailure};

/// How many times its time a call may take that shows progress.
const MOST_EXTENSIONS: u32 = 10;
/// How long a server that did not answer in time may take to show that it is alive.
const PING_PATIENCE: Duration = Duration::from_secs(2);
/// The longest that a server which fails again and again is left alone.
const MAX_BACKOFF_S: u64 = 30;
/// How often a server may ask for more input before it answers a call.
const MAX_ROUNDS: usize = 10;
/// Questions in one such round.
const MAX_QUESTIONS: usize = 4;
/// Hexadecimal digits that tell apart servers of the same name from different projects.
const ORIGIN_DIGITS: usize = 12;

/// Makes a connection for a peer.
type Connect = Box<dyn Fn(&Arc<Peer>) -> Result<(), String> + Send + Sync>;

/// A server whose tools can be called.
pub struct ForeignServer {
    name: ServerName,
    config: ServerConfig,
    identity: ContentHash,
    /// The name of its files.
    key: String,
    connect: Connect,
    records: ServerRecords,
    starts: Arc<Semaphore>,
    life: tokio::sync::Mutex<Life>,
    known: Mutex<Arc<ServerTools>>,
}

/// What became of the server so far.
#[derive(Default)]
struct Life {
    running: Option<(Arc<Peer>, Era)>,
    /// As it spoke before.
    era: Option<Era>,
    /// Failures since the last success.
    failures: u32,
    last_failure: Option<(Instant, String)>,
    /// It did not answer in time and has to show that it is alive.
    is_suspect: bool,
}

impl Life {
    fn failed(&mut self, why: String) {
        self.running = None;
        self.failures = self.failures.saturating_add(1);
        self.last_failure = Some((Instant::now(), why));
    }

    /// How long it is left alone after its last failure: the first time not at all.
    fn rest(&self) -> Option<(Duration, &str)> {
        let (at, why) = self.last_failure.as_ref()?;
        let doublings = self.failures.checked_sub(2)?;
        let seconds = 1_u64.checked_shl(doublings).unwrap_or(MAX_BACKOFF_S).clamp(1, MAX_BACKOFF_S);
        let left = (*at + Duration::from_secs(seconds)).checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some((left, why.as_str()))
    }
}

impl ForeignServer {
    /// A server that is a program; `program` says how it is run, once that is needed. `origin` is
    /// empty for the user's own servers, and else the project that defines it.
    pub fn program(
        name: ServerName,
        config: ServerConfig,
        origin: &str,
        records: ServerRecords,
        starts: Arc<Semaphore>,
        program: impl Fn() -> Result<ServerProgram, String> + Send + Sync + 'static,
    ) -> Self {
        let connect = move |peer: &Arc<Peer>| stdio::start(program()?, peer);
        Self::new(name, config, origin, (records, starts), Box::new(connect))
    }

    /// A server that is reached over HTTP.
    pub fn address(
        name: ServerName,
        config: ServerConfig,
        origin: &str,
        records: ServerRecords,
        starts: Arc<Semaphore>,
        address: impl Fn() -> Result<ServerAddress, String> + Send + Sync + 'static,
    ) -> Self {
        let connect = move |peer: &Arc<Peer>| http::start(address()?, peer);
        Self::new(name, config, origin, (records, starts), Box::new(connect))
    }

    fn new(
        name: ServerName,
        config: ServerConfig,
        origin: &str,
        (records, starts): (ServerRecords, Arc<Semaphore>),
        connect: Connect,
    ) -> Self {
        let identity = config.identity(origin);
        let key = match origin {
            "" => name.to_string(),
            origin => {
                let hash = ContentHash::of(origin.as_bytes()).to_string();
                format!("{name}.{}", &hash[..ORIGIN_DIGITS])
            }
        };
        let said = records.last_said(&key, identity);
        let only = config.tools.as_deref();
        let known =
            said.as_ref().map(|said| ServerTools::read(name.as_str(), identity, &said.tools, only));
        let life = Life { era: said.and_then(|said| said.era), ..Life::default() };
        Self {
            name,
            config,
            identity,
            key,
            connect,
            records,
            starts,
            life: tokio::sync::Mutex::new(life),
            known: Mutex::new(Arc::new(known.unwrap_or_default())),
        }
    }

    /// The name in the configuration.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// What is configured.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The tools that are known, from now or an earlier time.
    pub fn tools(&self) -> Arc<ServerTools> {
        Arc::clone(&locked(&self.known))
    }

    /// Starts it if need be, and asks for its tools.
    pub async fn learn(&self) -> Result<Arc<ServerTools>, ToolError> {
        self.connected().await?;
        Ok(self.tools())
    }

    /// Ends it until it is needed.
    pub async fn stop(&self) {
        self.life.lock().await.running = None;
    }

    /// What the user has not approved of a definition; none if exactly this is approved.
    pub fn news(&self, definition: &ForeignDefinition) -> Option<String> {
        self.records.news(&self.key, definition)
    }

    /// Keeps that the user has approved all tools as they are now.
    pub fn approve_all(&self) -> Result<(), ToolError> {
        self.keep(&self.tools().tools)
    }

    fn keep(&self, definitions: &[ForeignDefinition]) -> Result<(), ToolError> {
        self.records.approve(&self.key, definitions).map_err(|why| {
            let message = format!("what you approved cannot be kept: {why}");
            ToolError::new(ErrorCode::ExecutionError, message)
                .suggest("Ask the user to run `toolkiln doctor`.")
        })
    }

    /// The last lines that the running server wrote to its standard error.
    pub async fn last_words(&self) -> Option<String> {
        let life = self.life.lock().await;
        let (peer, _) = life.running.as_ref()?;
        Some(peer.last_words()).filter(|words| !words.is_empty())
    }

    /// Calls a tool as it was approved. The call is withdrawn, without waiting, when it is cancelled.
    pub(crate) async fn call(
        &self,
        call: &ForeignCall,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> ToolResult {
        tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => {
                Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"))
            }
            answered = self.called(call, cx, asker) => answered,
        }
    }

    async fn called(&self, call: &ForeignCall, cx: &ToolContext, asker: &Asker<'_>) -> ToolResult {
        let mut is_second = false;
        loop {
            let (peer, era) = self.connected().await?;
            let tools = self.tools();
            let definition = tools.get(&call.tool).filter(|now| now.hash == call.definition);
            let definition = definition.ok_or_else(|| self.changed(&call.tool))?;
            if call.unapproved.is_some() {
                self.keep(std::slice::from_ref(definition))?;
            }
            match self.exchanged(&peer, era, call, cx, asker).await {
                Ok(result) => {
                    let mut life = self.life.lock().await;
                    (life.failures, life.last_failure) = (0, None);
                    drop(life);
                    return answer::answer(self.name.as_str(), definition, result, cx);
                }
                // Nothing of it was sent, so it can be made again.
                Err(Failure::Lost(Lost::Unsent(why))) if !is_second => {
                    is_second = true;
                    self.forget(&peer, why, Blame::Nothing).await;
                }
                Err(Failure::Lost(Lost::Unsent(why) | Lost::Ended(why))) => {
                    let words = peer.last_words();
                    self.forget(&peer, why.clone(), Blame::Failure).await;
                    return Err(self.unusable("ended during the call", &why, &words));
                }
                Err(Failure::Lost(Lost::Busy)) => return Err(self.busy()),
                Err(Failure::Lost(Lost::NeedsLogin(why))) => return Err(self.needs_login(&why)),
                Err(Failure::Late) => {
                    self.life.lock().await.is_suspect = true;
                    return Err(self.late());
                }
                Err(Failure::Told(error)) => return Err(error),
            }
        }
    }

    /// One request, and those that follow if the server asks for input.
    async fn exchanged(
        &self,
        peer: &Arc<Peer>,
        era: Era,
        call: &ForeignCall,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> Result<Value, Failure> {
        let mut params = json!({"name": call.tool, "arguments": call.arguments});
        if let Some(context) = cx.trace_context() {
            let mut meta = Map::new();
            context.add_to(&mut meta);
            params["_meta"] = Value::Object(meta);
        }
        for round in 0..MAX_ROUNDS {
            let own = params.clone();
            let request = peer.request("tools/call", |id| era.params(own, Some(id)), true);
            let answered = match request {
                Ok(request) => self.waited(request, peer, call, cx, asker).await,
                Err(lost) => Err(Failure::Lost(lost)),
            };
            let reply = answered.map_err(|failure| failure.in_round(round))?;
            let mut result = match reply {
                PeerReply::Result(result) => result,
                reply => return Err(Failure::Told(self.refused(reply))),
            };
            match result.get("resultType").and_then(Value::as_str) {
                None | Some("complete") => return Ok(result),
                Some("input_required") => {}
                Some(other) => return Err(Failure::Told(self.odd(other))),
            }
            let mut responses = Map::new();
            let requests = result["inputRequests"].as_object().cloned().unwrap_or_default();
            for (key, request) in requests.into_iter().take(MAX_QUESTIONS) {
                if request["method"] != "elicitation/create" {
                    return Err(Failure::Told(self.odd("input that is not offered to servers")));
                }
                responses.insert(key, asking::answer(&request["params"], call, asker).await);
            }
            params["inputResponses"] = Value::Object(responses);
            // What was not sent is not sent back.
            match result.get_mut("requestState").map(Value::take) {
                Some(state) => params["requestState"] = state,
                None => {
                    _ = params
                        .as_object_mut()
                        .and_then(|params| params.shift_remove("requestState"))
                }
            }
        }
        Err(Failure::Told(self.odd("questions without an end")))
    }

    /// Waits for the answer. Progress gives it more time, up to a point; the time that the user takes
    /// for an answer does not count.
    async fn waited(
        &self,
        mut request: OpenRequest,
        peer: &Arc<Peer>,
        call: &ForeignCall,
        cx: &ToolContext,
        asker: &Asker<'_>,
    ) -> Result<PeerReply, Failure> {
        let patience = Duration::from_secs(self.config.timeout);
        let mut last = Instant::now() + patience * MOST_EXTENSIONS;
        let mut deadline = Instant::now() + patience;
        loop {
            let heard = tokio::time::timeout_at(deadline, request.next()).await;
            match heard.map_err(|_| Failure::Late)?.map_err(Failure::Lost)? {
                Heard::Reply(reply) => return Ok(reply),
                Heard::News(News::Progress(words)) => {
                    deadline = (Instant::now() + patience).min(last);
                    if let Some(words) = words {
                        cx.output(&format!("{}\n", visible(&words)));
                    }
                }
                Heard::News(News::Asks { id, params }) => {
                    let asked = Instant::now();
                    let answer = asking::answer(&params, call, asker).await;
                    peer.respond(&id, answer);
                    last += asked.elapsed();
                    deadline = (Instant::now() + patience).min(last);
                }
            }
        }
    }

    /// A running server whose tools are known. One that failed is left alone for a while.
    async fn connected(&self) -> Result<(Arc<Peer>, Era), ToolError> {
        let mut life = self.life.lock().await;
        if let Some((peer, era)) = life.running.clone() {
            let is_well = peer.end().is_none()
                && (!std::mem::take(&mut life.is_suspect) || is_alive(&peer, era).await);
            if is_well {
                if peer.take_outdated() {
                    let listed = list_tools(&peer, era).await;
                    let listed =
                        listed.map_err(|lost| self.unusable_for(&mut life, &peer, lost))?;
                    self.take(era, listed);
                }
                return Ok((peer, era));
            }
            life.running = None;
        }
        if let Some((left, why)) = life.rest() {
            let seconds = left.as_secs() + 1;
            let why = format!("{why}; it is tried again in {seconds} s");
            return Err(self.unusable("cannot be used", &why, ""));
        }
        let started = self.started(life.era).await;
        match started {
            Ok((peer, era, listed)) => {
                life.running = Some((Arc::clone(&peer), era));
                life.era = Some(era);
                self.take(era, listed);
                Ok((peer, era))
            }
            // The next call finds out whether the user has logged in meanwhile.
            Err(NotStarted { why, is_for: StartFailure::NeedsLogin, .. }) => {
                Err(self.needs_login(&why))
            }
            Err(NotStarted { why, words, .. }) => {
                life.era = None;
                life.failed(why.clone());
                Err(self.unusable("cannot be used", &why, &words))
            }
        }
    }

    fn unusable_for(&self, life: &mut Life, peer: &Peer, lost: Lost) -> ToolError {
        match lost {
            Lost::NeedsLogin(why) => self.needs_login(&why),
            Lost::Busy => self.busy(),
            Lost::Unsent(why) | Lost::Ended(why) => {
                life.failed(why.clone());
                self.unusable("cannot be used", &why, &peer.last_words())
            }
        }
    }

    /// Keeps what the server lists.
    fn take(&self, era: Era, listed: Vec<Value>) {
        let only = self.config.tools.as_deref();
        let tools = ServerTools::read(self.name.as_str(), self.identity, &listed, only);
        *locked(&self.known) = Arc::new(tools);
        self.records.keep_said(&self.key, self.identity, era, listed);
    }

    /// No longer uses this connection. It ends with the last request that is still open in it.
    async fn forget(&self, peer: &Arc<Peer>, why: String, blame: Blame) {
        let mut life = self.life.lock().await;
        let is_current = life.running.as_ref().is_some_and(|(now, _)| Arc::ptr_eq(now, peer));
        match blame {
            Blame::Failure if is_current => life.failed(why),
            _ if is_current => life.running = None,
            _ => {}
        }
    }
}

/// Why a call has no result.
enum Failure {
    Lost(Lost),
    Late,
    Told(ToolError),
}

impl Failure {
    /// Only the first request of a call can be repeated: what the server did before it asked back is done.
    fn in_round(self, round: usize) -> Self {
        match self {
            Self::Lost(Lost::Unsent(why)) if round > 0 => Self::Lost(Lost::Ended(why)),
            other => other,
        }
    }
}

/// Whether the end of a connection counts as a failure of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blame {
    Failure,
    Nothing,
}

/// Whether the server still answers anything.
async fn is_alive(peer: &Arc<Peer>, era: Era) -> bool {
    let method = if era == Era::Modern { "server/discover" } else { "ping" };
    match peer.request(method, |_| era.params(json!({}), None), false) {
        Err(_) => false,
        Ok(request) => {
            let reply = tokio::time::timeout(PING_PATIENCE, request.reply()).await;
            reply.is_ok_and(|reply| reply.is_ok())
        }
    }
}
