//! What the service tells the user who runs it: lines for people, or lines of JSON for programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;
use web_service::{RequestLog, RequestRecord, WebLog};

use crate::output;

/// Lines that wait until they can be written.
const WAITING_LINES: usize = 100;
/// The same where every request is a line.
const WAITING_RECORDS: usize = 10_000;

/// How the service tells what happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// What the user has to know
    #[default]
    Text,
    /// Also every request, as lines of JSON
    Json,
}

#[derive(Serialize)]
struct JsonLine<T> {
    at: String,
    #[serde(flatten)]
    told: T,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Told<'a> {
    /// What the user has to know.
    Message { message: &'a str },
    /// A request that was answered.
    Request(&'a RequestRecord),
    /// Lines for which there was no room.
    Lost { lines: u64 },
}

/// Both logs of a service.
pub(crate) struct ServiceLog {
    pub(crate) lines: WebLog,
    pub(crate) requests: Option<RequestLog>,
}

impl ServiceLog {
    pub(crate) fn new(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => {
                let lines = Lines::start(WAITING_LINES, |_| None);
                Self {
                    lines: Arc::new(move |line| lines.tell(format!("toolkiln web: {line}"))),
                    requests: None,
                }
            }
            LogFormat::Json => {
                let lost = |lines| Some(json_line(Told::Lost { lines }));
                let lines = Arc::new(Lines::start(WAITING_RECORDS, lost));
                let records = Arc::clone(&lines);
                Self {
                    lines: Arc::new(move |line| {
                        lines.tell(json_line(Told::Message { message: line }))
                    }),
                    requests: Some(Arc::new(move |record| {
                        records.tell(json_line(Told::Request(record)))
                    })),
                }
            }
        }
    }
}

fn json_line(told: Told<'_>) -> String {
    let line = JsonLine { at: Timestamp::now().to_string(), told };
    serde_json::to_string(&line).unwrap_or_default()
}

/// Writes from a thread of its own: a terminal that is held, or a pipe that is not read, does not hold up any request.
/// What finds no room is not told, but counted.
struct Lines {
    waiting: SyncSender<String>,
    lost: AtomicU64,
    lost_line: fn(u64) -> Option<String>,
}

impl Lines {
    fn start(room: usize, lost_line: fn(u64) -> Option<String>) -> Self {
        let (waiting, told) = sync_channel::<String>(room);
        std::thread::spawn(move || told.into_iter().for_each(|line| output::to_user(&line)));
        Self { waiting, lost: AtomicU64::default(), lost_line }
    }

    fn tell(&self, line: String) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let told = (lost > 0).then(|| (self.lost_line)(lost)).flatten();
        let is_told = told.is_none_or(|told| self.waiting.try_send(told).is_ok());
        let more = u64::from(self.waiting.try_send(line).is_err());
        self.lost.fetch_add(more + if is_told { 0 } else { lost }, Ordering::Relaxed);
    }
}
