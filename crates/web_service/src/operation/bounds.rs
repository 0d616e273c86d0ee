//! How much the service does at a time. What comes beyond is told to come back, at once and in a few bytes.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api_error::ApiError;

/// Requests that are being answered at a time. Each holds its body and a task; most take a few milliseconds.
const IN_FLIGHT: usize = 512;
/// Streams at a time, so that there are connections and descriptors left for requests. A page has one.
const STREAMS: usize = 400;
/// Connections at a time beside those of streams. Each costs a task and a few kilobytes.
const CONNECTIONS_BESIDE: usize = 624;
/// Connections that are taken beyond that, only to be told that there is no room, or that the service is well.
const SPARE_CONNECTIONS: usize = 64;
/// After how many seconds it may be tried again.
pub(crate) const RETRY_AFTER_S: u64 = 2;
/// The code of what is refused for want of room.
const OVERLOADED: &str = "OVERLOADED";

/// How much is done at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Requests that are being answered.
    pub in_flight: usize,
    /// Streams that are open.
    pub streams: usize,
    /// Connections that are open, those of streams included.
    pub connections: usize,
    /// Connections beyond that, which are only told that there is no room.
    pub spare_connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::with_streams(STREAMS)
    }
}

impl Bounds {
    /// Room for so many streams, and for requests beside them.
    pub fn with_streams(streams: usize) -> Self {
        Self {
            in_flight: IN_FLIGHT,
            streams,
            connections: streams.saturating_add(CONNECTIONS_BESIDE),
            spare_connections: SPARE_CONNECTIONS,
        }
    }
}

/// The room that is left.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) bounds: Bounds,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    spare: Arc<Semaphore>,
}

/// A connection that was taken.
pub(crate) struct ConnectionRoom {
    /// Whether there was no room for it.
    pub(crate) is_spare: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let room = |size: usize| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Self {
            bounds,
            requests: room(bounds.in_flight),
            streams: room(bounds.streams),
            connections: room(bounds.connections),
            spare: room(bounds.spare_connections),
        }
    }

    /// Room for one more request, until it is dropped.
    pub(crate) fn request(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let room = Arc::clone(&self.requests).try_acquire_owned();
        room.map_err(|_| overloaded(self.bounds.in_flight, "requests are being answered"))
    }

    /// Room for one more stream, until it is dropped.
    pub(crate) fn stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let room = Arc::clone(&self.streams).try_acquire_owned();
        room.map_err(|_| overloaded(self.bounds.streams, "streams are open"))
    }

    /// Room for one more connection. If there is none but a spare one, it is told so; if there is not even that, it
    /// waits to be accepted.
    pub(crate) async fn connection(&self) -> ConnectionRoom {
        if let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() {
            return ConnectionRoom { is_spare: false, _permit: Some(permit) };
        }
        let (connections, spare) = (Arc::clone(&self.connections), Arc::clone(&self.spare));
        // The semaphores are never closed.
        tokio::select! {
            biased;
            permit = connections.acquire_owned() => ConnectionRoom { is_spare: false, _permit: permit.ok() },
            permit = spare.acquire_owned() => ConnectionRoom { is_spare: true, _permit: permit.ok() },
        }
    }

    /// The same room, or a better one that has become free meanwhile.
    pub(crate) fn better(&self, room: ConnectionRoom) -> ConnectionRoom {
        match Arc::clone(&self.connections).try_acquire_owned() {
            Ok(permit) if room.is_spare => {
                ConnectionRoom { is_spare: false, _permit: Some(permit) }
            }
            _ => room,
        }
    }

    /// What is said to a connection that there is no room for.
    pub(crate) fn no_connection(&self) -> ApiError {
        overloaded(self.bounds.connections, "connections are open")
    }

    pub(crate) fn requests_in_flight(&self) -> usize {
        self.bounds.in_flight.saturating_sub(self.requests.available_permits())
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.bounds.streams.saturating_sub(self.streams.available_permits())
    }
}

fn overloaded(bound: usize, what: &str) -> ApiError {
    let message = format!("{bound} {what} already; try again in {RETRY_AFTER_S} s");
    let mut error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, OVERLOADED, message);
    error.told.details.insert("retry_after_s".to_owned(), RETRY_AFTER_S.into());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_finds_no_room_is_told_so_and_what_is_given_back_is_used_again() {
        let bounds = Bounds { in_flight: 1, streams: 2, connections: 1, spare_connections: 1 };
        let room = Room::new(bounds);
        let first = room.request().unwrap();
        let error = room.request().unwrap_err();
        assert_eq!((error.status.as_u16(), error.told.code.as_str()), (503, "OVERLOADED"));
        assert_eq!(error.told.message, "1 requests are being answered already; try again in 2 s");
        assert_eq!((room.requests_in_flight(), room.open_streams()), (1, 0));
        drop(first);
        assert!(room.request().is_ok());
        let streams = [room.stream(), room.stream(), room.stream()].map(|room| room.is_ok());
        assert_eq!(streams, [true, true, false]);
        let (one, two) = (room.connection().await, room.connection().await);
        assert_eq!((one.is_spare, two.is_spare), (false, true));
        drop(one);
        assert!(!room.better(two).is_spare);
        assert!(!room.connection().await.is_spare);
    }
}
