//! What a server of the legacy era says by itself, and when it can be asked.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use net::RequestBody;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::SharedHttp;
use crate::credentials::NotAdmitted;
use crate::event_stream::StreamPlace;

/// How long a server may take until it says that it listens. One that says so only with its first words is asked
/// without.
const PATIENCE: Duration = Duration::from_secs(3);

impl SharedHttp {
    /// Takes what a server sends outside of answers, if it offers that, once it has been told that we are ready. The
    /// greeting has ended with `begun`: a server that asks back in the middle of a call may do so here, and drops
    /// its question if this stream is not open yet.
    pub(super) async fn listen(
        &self,
        headers: HeaderMap,
        told: CancellationToken,
        begun: DropGuard,
    ) {
        let opening = async {
            told.cancelled().await;
            self.opened(headers).await
        };
        tokio::pin!(opening);
        let early = tokio::time::timeout(PATIENCE, &mut opening).await;
        drop(begun);
        let opened = match early {
            Ok(opened) => opened,
            Err(_) => opening.await,
        };
        if let Ok(response) = opened {
            // It ends when the server wants; calls do not depend on it.
            self.streamed(response, false, &mut StreamPlace::default()).await;
        }
    }

    /// Opens a stream of the legacy era that is not the answer to a message.
    pub(super) async fn opened(
        &self,
        mut headers: HeaderMap,
    ) -> Result<Response<Incoming>, String> {
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let shown = self.shown().await.map_err(|error| match error {
            NotAdmitted::NeedsLogin(why) | NotAdmitted::Failed(why) => why,
        })?;
        headers.extend(shown.map(|shown| (AUTHORIZATION, shown)));
        let mut request = Request::new(RequestBody::default());
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        let response = self.transport.send(request).await.map_err(|error| error.why)?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(format!("it refuses with the status {}", response.status())),
        }
    }
}
