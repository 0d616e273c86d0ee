//! An editor as the agent sees it: buffers with unsaved text, answers to questions, and what was shown.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply, StdioServer};

use super::schema;
use crate::run::command;

/// How long something that must come is waited for.
const WATCHDOG: Duration = Duration::from_secs(30);

/// What the user says to a question.
#[derive(Clone, Debug)]
pub(super) enum UserAnswer {
    Option(&'static str),
    Cancelled,
    /// The editor refuses to ask.
    Error,
    /// The editor answers yes, and then again.
    Twice,
    /// Nothing comes back.
    Silence,
}

/// The client side of a connection.
pub(super) struct Editor {
    agent: StdioServer,
    root: PathBuf,
    last_id: u64,
    /// The methods that wait for an answer.
    waiting: HashMap<u64, String>,
    /// Answers that came while another one was waited for.
    answered: HashMap<u64, Value>,
    /// What the user says to the next questions; yes if nothing is left.
    pub(super) answers: VecDeque<UserAnswer>,
    /// What the user fills into the next forms.
    pub(super) forms: VecDeque<Value>,
    /// Texts that are not saved.
    pub(super) buffers: HashMap<PathBuf, String>,
    /// Put behind what is saved, as a formatter would.
    pub(super) formatting: &'static str,
    /// Whether it tells texts at all.
    pub(super) tells_texts: bool,
    /// Every update, in order.
    pub(super) updates: Vec<Value>,
    /// Every question.
    pub(super) asked: Vec<Value>,
    /// The id of the last one.
    pub(super) last_question: Value,
    /// Files that were asked for or written through the editor.
    pub(super) files: Vec<(String, PathBuf)>,
    /// Requests of the agent that it took back.
    pub(super) withdrawn: Vec<Value>,
}

/// A project, and a model with a script.
pub(super) struct Desk {
    pub(super) project: Fixture,
    pub(super) config: Option<Fixture>,
    pub(super) model: ModelServer,
}

impl Desk {
    pub(super) fn new(project: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        let model = ModelServer::start(replies);
        Self { project: Fixture::new(project), config: None, model }
    }

    fn command(&self) -> Command {
        let mut command = command(self.config.as_ref());
        command.env("XDG_STATE_HOME", self.project.root().with_file_name("state"));
        command.env("XDG_CACHE_HOME", self.project.root().with_file_name("cache"));
        command.env("HOME", self.project.root().with_file_name("home"));
        command.env("ANTHROPIC_API_KEY", "test-key");
        command.args(["acp", "--provider", "anthropic", "--base-url", &self.model.base_url()]);
        command
    }

    /// An editor without any powers of its own.
    pub(super) fn plain_editor(&self) -> Editor {
        self.editor(json!({}))
    }

    /// An editor that has everything.
    pub(super) fn able_editor(&self) -> Editor {
        self.editor(json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
            "session": {"notices": {}, "compaction": {}},
            "elicitation": {"form": {}},
        }))
    }

    pub(super) fn editor(&self, capabilities: Value) -> Editor {
        let mut editor = Editor {
            agent: StdioServer::start(self.command()),
            root: self.project.root().canonicalize().unwrap(),
            last_id: 0,
            waiting: HashMap::new(),
            answered: HashMap::new(),
            answers: VecDeque::new(),
            forms: VecDeque::new(),
            buffers: HashMap::new(),
            formatting: "",
            tells_texts: true,
            updates: Vec::new(),
            asked: Vec::new(),
            last_question: Value::Null,
            files: Vec::new(),
            withdrawn: Vec::new(),
        };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        assert_eq!(editor.request("initialize", hello)["result"]["protocolVersion"], 1);
        editor
    }
}

impl Editor {
    /// Begins a session. Answers with its id.
    #[track_caller]
    pub(super) fn begin(&mut self) -> String {
        let answer = self.request("session/new", json!({"cwd": self.root, "mcpServers": []}));
        let id = answer["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Shows a session again.
    #[track_caller]
    pub(super) fn load(&mut self, session: &str) -> Value {
        self.updates.clear();
        let wanted = json!({"sessionId": session, "cwd": self.root, "mcpServers": []});
        self.request("session/load", wanted)
    }

    /// Says something. Answers with why the turn ended.
    #[track_caller]
    pub(super) fn say(&mut self, session: &str, text: &str) -> String {
        let id = self.begin_saying(session, text);
        self.stop_reason(id)
    }

    pub(super) fn begin_saying(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    #[track_caller]
    pub(super) fn stop_reason(&mut self, id: u64) -> String {
        let answer = self.answer_to(id);
        let reason = answer["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    #[track_caller]
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.waiting.insert(id, method.to_owned());
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.agent.notify(method, params);
    }

    pub(super) fn write(&mut self, message: &Value) {
        self.agent.send_raw_line(message.to_string().as_bytes());
    }

    pub(super) fn write_line(&mut self, line: &[u8]) {
        self.agent.send_raw_line(line);
    }

    #[track_caller]
    pub(super) fn answer_to(&mut self, id: u64) -> Value {
        while !self.answered.contains_key(&id) {
            self.take_message();
        }
        self.answered.remove(&id).unwrap()
    }

    /// Takes messages until something is true.
    #[track_caller]
    pub(super) fn wait_until(&mut self, is_true: impl Fn(&Self) -> bool) {
        while !is_true(self) {
            self.take_message();
        }
    }

    /// Takes a message, and answers if it is a request.
    #[track_caller]
    pub(super) fn take_message(&mut self) -> Value {
        let message = self.agent.read_message(WATCHDOG).expect("the agent says something");
        let id = message["id"].as_u64();
        let asked = id.and_then(|id| self.waiting.get(&id)).cloned();
        schema::check(&message, asked.as_deref());
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => self.serve(method, id, &message["params"]),
            (Some("session/update"), None) => self.updates.push(message["params"].clone()),
            (Some("$/cancel_request"), None) => self.withdrawn.push(message["params"].clone()),
            (Some(_), None) => {}
            (None, _) => {
                if let Some(id) = id.filter(|id| self.waiting.remove(id).is_some()) {
                    self.answered.insert(id, message.clone());
                }
            }
        }
        message
    }

    fn serve(&mut self, method: &str, id: &Value, params: &Value) {
        let result = match method {
            "session/request_permission" => {
                self.asked.push(params.clone());
                self.last_question = id.clone();
                let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
                match self.answers.pop_front() {
                    None => Ok(yes),
                    Some(UserAnswer::Option(option)) => {
                        Ok(json!({"outcome": {"outcome": "selected", "optionId": option}}))
                    }
                    Some(UserAnswer::Cancelled) => Ok(json!({"outcome": {"outcome": "cancelled"}})),
                    Some(UserAnswer::Error) => Err("no window".to_owned()),
                    Some(UserAnswer::Twice) => {
                        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": yes}));
                        Ok(yes)
                    }
                    Some(UserAnswer::Silence) => return,
                }
            }
            "elicitation/create" => {
                Ok(self.forms.pop_front().unwrap_or(json!({"action": "cancel"})))
            }
            "fs/read_text_file" => {
                let path = self.file(method, params);
                if !self.tells_texts {
                    return;
                }
                let held = self.buffers.get(&path).cloned();
                let text = held.map_or_else(|| fs::read_to_string(&path), Ok);
                text.map(|text| json!({"content": text})).map_err(|error| error.to_string())
            }
            "fs/write_text_file" => {
                let path = self.file(method, params);
                let text = format!("{}{}", params["content"].as_str().unwrap(), self.formatting);
                fs::write(&path, text).unwrap();
                self.buffers.remove(&path);
                Ok(json!({}))
            }
            _ => Err(format!("{method} is not known")),
        };
        let answer = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(why) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": why}})
            }
        };
        self.write(&answer);
    }

    /// A file that the agent asks for, which is never outside of the project.
    fn file(&mut self, method: &str, params: &Value) -> PathBuf {
        let path = PathBuf::from(params["path"].as_str().unwrap());
        assert!(path.starts_with(&self.root), "{}", path.display());
        self.files.push((method.to_owned(), path.clone()));
        path
    }

    /// The user types into a file and does not save it.
    pub(super) fn type_into(&mut self, path: &str, text: &str) {
        self.buffers.insert(self.root.join(path), text.to_owned());
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// All that the agent has said in words.
    pub(super) fn words(&self) -> String {
        let chunks = self.kind("agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    pub(super) fn kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let updates = self.updates.iter().map(|update| &update["update"]);
        updates.filter(move |update| update["sessionUpdate"] == kind)
    }

    /// What the editor shows of a call, by the end of its id: all updates laid over each other.
    #[track_caller]
    pub(super) fn call(&self, title: &str) -> Value {
        let mut calls: HashMap<String, Value> = HashMap::new();
        for update in self.updates.iter().map(|update| &update["update"]) {
            let Some(id) = update["toolCallId"].as_str() else { continue };
            let call = calls.entry(id.to_owned()).or_insert_with(|| json!({"status": "pending"}));
            for (key, value) in update.as_object().unwrap() {
                call[key] = value.clone();
            }
        }
        let found = calls.values().find(|call| call["title"].as_str().unwrap().starts_with(title));
        found.unwrap_or_else(|| panic!("no {title} in {calls:#?}")).clone()
    }

    /// Kills the agent, as a machine does that loses power.
    pub(super) fn kill(self) {
        drop(self.agent);
    }

    /// Sends SIGTERM and waits for its end, with its input still open.
    pub(super) fn terminate(self) -> std::process::ExitStatus {
        self.agent.terminate()
    }

    /// Closes its input and waits for its end.
    pub(super) fn leave(self) -> std::process::ExitStatus {
        self.agent.finish()
    }
}

/// The text of all content of a call.
pub(super) fn text_of(call: &Value) -> String {
    let content = call["content"].as_array().cloned().unwrap_or_default();
    let texts = content.iter().filter_map(|part| part["content"]["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
