//! A sign of life while an answer takes long.
//!
//! A client, or a proxy before it, gives up a request that shows nothing for a while; a call that waits for
//! the user can take minutes. The status of an answer is sent with its first byte, so it is waited for a
//! moment: what is wrong with a request is known by then.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, StreamBody};

use crate::http_endpoint::AnswerBody;

/// How long an answer may take before its stream is opened.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a comment is sent while nothing else is. Proxies give up after a minute, some after less.
const BEAT: Duration = Duration::from_secs(10);
/// A comment of an event stream, which no client takes for a message.
const COMMENT: &[u8] = b": still running\n\n";
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
/// Has proxies hand on what they get at once.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

type WholeAnswer = Response<BoxBody<Bytes, Infallible>>;
type Answering = Pin<Box<dyn Future<Output = WholeAnswer> + Send>>;

/// The answer, as a stream that begins at once if it takes long. Dropping it drops `answering`.
pub(crate) async fn of(mut answering: Answering) -> Response<AnswerBody> {
    match tokio::time::timeout(PATIENCE, &mut answering).await {
        Ok(answer) => answer.map(|body| body.boxed_unsync()),
        Err(_) => streamed(answering),
    }
}

fn streamed(answering: Answering) -> Response<AnswerBody> {
    let frames = unfold(AnswerState::Waiting(answering), |state| async {
        let (bytes, next) = state.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), next))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(UNBUFFERED.0, UNBUFFERED.1);
    response
}

enum AnswerState {
    Waiting(Answering),
    Forwarding(BoxBody<Bytes, Infallible>),
    Done,
}

impl AnswerState {
    /// The next bytes of the stream, and what comes after them.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            self = match self {
                Self::Waiting(mut answering) => {
                    match tokio::time::timeout(BEAT, &mut answering).await {
                        Err(_) => {
                            let comment = Bytes::from_static(COMMENT);
                            return Some((comment, Self::Waiting(answering)));
                        }
                        Ok(answer) if is_stream(&answer) => Self::Forwarding(answer.into_body()),
                        Ok(answer) => return Some((as_event(answer).await, Self::Done)),
                    }
                }
                Self::Forwarding(mut body) => match body.frame().await?.map(|it| it.into_data()) {
                    Ok(Ok(bytes)) => return Some((bytes, Self::Forwarding(body))),
                    _ => Self::Forwarding(body),
                },
                Self::Done => return None,
            }
        }
    }
}

fn is_stream(answer: &WholeAnswer) -> bool {
    answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM)
}

/// A message as an event. It stands on one line.
async fn as_event(answer: WholeAnswer) -> Bytes {
    let body = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    [b"data: ", &body[..], b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    fn answering(after: Duration, kind: &'static str, body: &'static str) -> Answering {
        Box::pin(async move {
            tokio::time::sleep(after).await;
            let mut answer = Response::new(Full::new(Bytes::from(body)).boxed());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            answer
        })
    }

    async fn told(answering: Answering) -> (String, String) {
        let answer = of(answering).await;
        let kind = answer.headers()[CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (kind, String::from_utf8(body.to_vec()).unwrap())
    }

    // Time passes only where it is waited for, so none of this takes long.

    #[tokio::test(start_paused = true)]
    async fn a_quick_answer_is_handed_on_as_it_is() {
        let quick = answering(Duration::from_secs(1), "application/json", "{}");
        assert_eq!(told(quick).await, ("application/json".into(), "{}".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_one_is_a_stream_with_comments_before_it() {
        let slow = || Duration::from_secs(25);
        let comments = ": still running\n\n".repeat(2);
        let message = answering(slow(), "application/json", "{}");
        let expected = format!("{comments}data: {{}}\n\n");
        assert_eq!(told(message).await, ("text/event-stream".into(), expected));
        let events = answering(slow(), "text/event-stream", "data: 1\n\ndata: 2\n\n");
        let expected = format!("{comments}data: 1\n\ndata: 2\n\n");
        assert_eq!(told(events).await, ("text/event-stream".into(), expected));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_dropped_drops_the_work() {
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        let never: Answering = Box::pin(async move {
            let _held = held;
            std::future::pending().await
        });
        drop(of(never).await);
        assert!(dropped.await.is_err());
    }
}
