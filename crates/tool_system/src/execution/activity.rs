//! The stream of events that front ends and logs follow while tools run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use protocol::{ActivityData, ActivityEvent, ActivityType};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::locked::locked;

/// Events that a reader may fall behind before it loses the oldest.
const CAPACITY: usize = 1024;

/// Publishes events to any number of readers. Publishing never waits: a slow reader loses the
/// oldest events and is told how many.
#[derive(Clone)]
pub struct ActivityStream {
    sender: broadcast::Sender<Arc<ActivityEvent>>,
    sequence: Arc<Mutex<u64>>,
    readers: Arc<Readers>,
}

/// How many readers each type has, so that an event without readers is never made.
#[derive(Default)]
struct Readers {
    by_type: [AtomicUsize; ActivityType::ALL.len()],
    of_all: AtomicUsize,
}

impl Readers {
    fn of(&self, only: Option<ActivityType>) -> &AtomicUsize {
        only.map_or(&self.of_all, |only| &self.by_type[only as usize])
    }
}

impl Default for ActivityStream {
    fn default() -> Self {
        let sender = broadcast::Sender::new(CAPACITY);
        Self { sender, sequence: Arc::default(), readers: Arc::default() }
    }
}

impl ActivityStream {
    /// Publishes an event of the type `kind`. It is only made if there is a reader.
    pub fn emit(
        &self,
        call_id: &Arc<str>,
        kind: ActivityType,
        data: impl FnOnce() -> ActivityData,
    ) {
        let wanted = [None, Some(kind)].map(|only| self.readers.of(only).load(Ordering::Relaxed));
        if wanted == [0, 0] {
            return;
        }
        let data = data();
        // Numbering and sending under one lock keeps the numbers in the order of the stream.
        let mut sequence = locked(&self.sequence);
        *sequence += 1;
        let event = ActivityEvent { sequence: *sequence, call_id: Arc::clone(call_id), data };
        // An error means that the last reader has just left, which is no error.
        let _ = self.sender.send(Arc::new(event));
    }

    /// Follows the events of one type.
    pub fn subscribe(&self, only: ActivityType) -> Subscription {
        self.follow(Some(only))
    }

    /// Follows all events: the `*` of event systems.
    pub fn subscribe_all(&self) -> Subscription {
        self.follow(None)
    }

    fn follow(&self, only: Option<ActivityType>) -> Subscription {
        let receiver = self.sender.subscribe();
        self.readers.of(only).fetch_add(1, Ordering::Relaxed);
        Subscription { receiver, only, readers: Arc::clone(&self.readers) }
    }
}

/// A reader of the stream. Dropping it unsubscribes.
pub struct Subscription {
    receiver: broadcast::Receiver<Arc<ActivityEvent>>,
    only: Option<ActivityType>,
    readers: Arc<Readers>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.readers.of(self.only).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Subscription {
    /// The next event, or `None` once the stream is gone. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Arc<ActivityEvent>> {
        loop {
            match self.receiver.recv().await {
                Ok(event) if self.wants(&event) => return Some(event),
                Ok(_) => {}
                Err(RecvError::Lagged(events)) => return Some(missed(events)),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The next event that is already there.
    pub fn try_next(&mut self) -> Option<Arc<ActivityEvent>> {
        loop {
            match self.receiver.try_recv() {
                Ok(event) if self.wants(&event) => return Some(event),
                Ok(_) => {}
                Err(TryRecvError::Lagged(events)) => return Some(missed(events)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    /// Stops following.
    pub fn unsubscribe(self) {}

    fn wants(&self, event: &ActivityEvent) -> bool {
        self.only.is_none_or(|only| event.data.activity_type() == only)
    }
}

fn missed(events: u64) -> Arc<ActivityEvent> {
    let data = ActivityData::Missed { events };
    Arc::new(ActivityEvent { sequence: 0, call_id: "".into(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(stream: &ActivityStream, text: &str) {
        let data = || ActivityData::ToolOutputChunk { chunk: text.into() };
        stream.emit(&"c".into(), ActivityType::ToolOutputChunk, data);
    }

    fn start(stream: &ActivityStream) {
        let data = || ActivityData::ToolCallStart {
            tool_name: "t".into(),
            arguments: serde_json::Map::new(),
        };
        stream.emit(&"c".into(), ActivityType::ToolCallStart, data);
    }

    #[test]
    fn a_reader_sees_the_type_it_subscribed_to_and_a_star_reader_everything() {
        let stream = ActivityStream::default();
        let mut starts = stream.subscribe(ActivityType::ToolCallStart);
        let mut all = stream.subscribe_all();
        chunk(&stream, "a");
        start(&stream);
        assert_eq!(starts.try_next().unwrap().sequence, 2);
        assert!(starts.try_next().is_none());
        assert_eq!(all.try_next().unwrap().sequence, 1);
        assert_eq!(all.try_next().unwrap().sequence, 2);
    }

    #[test]
    fn an_event_without_a_reader_is_never_made() {
        let stream = ActivityStream::default();
        let _errors = stream.subscribe(ActivityType::Error);
        stream.subscribe_all().unsubscribe();
        let nothing = || unreachable!("no reader");
        stream.emit(&"c".into(), ActivityType::ToolOutputChunk, nothing);
    }

    #[tokio::test]
    async fn a_slow_reader_never_blocks_and_is_told_what_it_missed() {
        let stream = ActivityStream::default();
        let mut slow = stream.subscribe_all();
        for _ in 0..CAPACITY + 10 {
            chunk(&stream, "x");
        }
        let first = slow.next().await.unwrap();
        assert_eq!(first.data, ActivityData::Missed { events: 10 });
        assert_eq!(slow.next().await.unwrap().sequence, 11);
    }

    #[tokio::test]
    async fn the_end_of_the_stream_ends_its_readers() {
        let stream = ActivityStream::default();
        let mut reader = stream.subscribe_all();
        drop(stream);
        assert!(reader.next().await.is_none());
    }
}
