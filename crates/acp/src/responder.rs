//! A request of the editor, and what it is answered with: exactly one answer, whatever happens to it.

use std::marker::PhantomData;

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::connection::EditorConnection;

/// A request whose parameters are not read yet.
pub(crate) struct IncomingRequest {
    pub(crate) method: String,
    params: Value,
    reply: PendingReply,
}

impl IncomingRequest {
    pub(crate) fn new(
        connection: EditorConnection,
        id: RequestId,
        method: String,
        params: Value,
        (arrival, cancellation): (u64, CancellationToken),
    ) -> Self {
        let reply = PendingReply {
            connection,
            id,
            method: method.clone(),
            arrival,
            cancellation,
            is_answered: false,
        };
        Self { method, params, reply }
    }

    /// Hands on the parameters with the means to answer. Wrong parameters are answered here.
    pub(crate) fn take<P: DeserializeOwned, A: Serialize>(
        self,
        take: impl FnOnce(P, Responder<A>),
    ) {
        let Self { params, reply, .. } = self;
        match serde_json::from_value(params) {
            Ok(params) => take(params, Responder { reply, answer: PhantomData }),
            Err(error) => reply.send(Err(wrong_params(&error))),
        }
    }

    /// Answers at once.
    pub(crate) fn answer<P: DeserializeOwned, A: Serialize>(
        self,
        answer: impl FnOnce(P) -> Result<A, Error>,
    ) {
        self.take(|params, responder| responder.respond(answer(params)));
    }

    /// Answers when a task is done.
    pub(crate) fn answer_later<P, A, F>(self, answer: impl FnOnce(P) -> F)
    where
        P: DeserializeOwned,
        A: Serialize + 'static,
        F: Future<Output = Result<A, Error>> + Send + 'static,
    {
        self.take(|params, responder| {
            let answer = answer(params);
            tokio::spawn(async move { responder.respond(answer.await) });
        });
    }

    pub(crate) fn refuse(self, error: Error) {
        self.reply.send(Err(error));
    }

    /// There is no such method.
    pub(crate) fn refuse_method(self) {
        let error = Error::method_not_found().data(json!(self.method));
        self.refuse(error);
    }
}

/// Parameters that are not what the method takes.
pub(crate) fn wrong_params(error: &serde_json::Error) -> Error {
    Error::invalid_params().data(json!({"error": error.to_string()}))
}

/// The means to answer a request with `A` or an error.
pub(crate) struct Responder<A> {
    reply: PendingReply,
    answer: PhantomData<fn(A)>,
}

impl<A: Serialize> Responder<A> {
    /// An editor that has gone away needs no answer.
    pub(crate) fn respond(self, answer: Result<A, Error>) {
        let json = |answer| serde_json::to_string(&answer).map_err(Error::into_internal_error);
        self.reply.send(answer.and_then(json));
    }

    /// Fires when the editor takes the request back, which has to be answered all the same.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.reply.cancellation.clone()
    }
}

/// What is the same in every responder.
struct PendingReply {
    connection: EditorConnection,
    id: RequestId,
    method: String,
    arrival: u64,
    cancellation: CancellationToken,
    is_answered: bool,
}

impl PendingReply {
    /// Answers with a result, as JSON, or an error.
    fn send(mut self, result: Result<String, Error>) {
        self.is_answered = true;
        self.connection.answer(&self.id, self.arrival, result);
    }
}

impl Drop for PendingReply {
    /// The editor would wait for ever.
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let error = match self.cancellation.is_cancelled() {
            true => Error::request_cancelled(),
            false => {
                let method = &self.method;
                Error::internal_error().data(json!(format!("`{method}` ended without an answer")))
            }
        };
        self.connection.answer(&self.id, self.arrival, Err(error));
    }
}
