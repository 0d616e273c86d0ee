//! Being asked, and answering, in the way of either era.

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};

/// A client that can show forms.
pub(crate) async fn asked_client(era: Era) -> Client {
    Client::open(Setup { capabilities: json!({"elicitation": {}}), ..Setup::new(era) }).await
}

/// A question about a call.
pub(crate) struct Question {
    /// The call as the client sent it.
    pub(crate) call: Value,
    pub(crate) form: Value,
    token: Token,
}

enum Token {
    /// The call is still open, and so is a request of the server.
    Open { call: i64, question: Value },
    /// The call has ended and is to be repeated with this state.
    Ended { state: Value },
}

impl Question {
    /// Calls a tool, which must lead to a question.
    pub(crate) async fn about(client: &mut Client, name: &str, arguments: Value) -> Question {
        let call = json!({"name": name, "arguments": arguments});
        let id = client.send_request("tools/call", call.clone()).await;
        if client.era() == Era::Stateless {
            let answer = client.answer(id).await;
            return Question::in_answer(call, &answer);
        }
        let mut asked = client.next().await.expect("a question");
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let token = Token::Open { call: id, question: asked["id"].take() };
        Question { call, form: asked["params"].take(), token }
    }

    /// The question that a call of the stateless era ended with.
    pub(crate) fn in_answer(call: Value, answer: &Value) -> Question {
        let result = &answer["result"];
        assert_eq!(result["resultType"], "input_required", "{answer}");
        let input = &result["inputRequests"]["approval"];
        assert_eq!(input["method"], "elicitation/create");
        let token = Token::Ended { state: result["requestState"].clone() };
        Question { call, form: input["params"].clone(), token }
    }

    /// The id of the open call.
    pub(crate) fn open_call(&self) -> i64 {
        match self.token {
            Token::Open { call, .. } => call,
            Token::Ended { .. } => panic!("the call has ended"),
        }
    }

    /// The id of the server's request.
    pub(crate) fn open_question(&self) -> &Value {
        match &self.token {
            Token::Open { question, .. } => question,
            Token::Ended { .. } => panic!("the call has ended"),
        }
    }

    /// The call once more, with this answer.
    pub(crate) fn repeated(&self, answer: &Value) -> Value {
        let Token::Ended { state } = &self.token else { panic!("the call is still open") };
        let mut call = self.call.clone();
        call["inputResponses"] = json!({"approval": answer});
        call["requestState"] = state.clone();
        call
    }

    /// Sends the answer; what becomes of the call comes later.
    pub(crate) async fn reply(&self, client: &mut Client, answer: &Value) -> i64 {
        match &self.token {
            Token::Open { call, question } => {
                let reply = json!({"jsonrpc": "2.0", "id": question, "result": answer});
                client.send(&reply).await;
                *call
            }
            Token::Ended { .. } => client.send_request("tools/call", self.repeated(answer)).await,
        }
    }

    /// Answers and waits for what becomes of the call.
    pub(crate) async fn answer(&self, client: &mut Client, answer: Value) -> Value {
        let call = self.reply(client, &answer).await;
        client.answer(call).await
    }
}

/// An accepted form with this decision.
pub(crate) fn accept(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

/// The code and the message of a call that failed.
pub(crate) fn failure(answer: &Value) -> (&str, &str) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let error = &answer["result"]["_meta"]["toolkiln/error"];
    (error["code"].as_str().expect("a code"), error["message"].as_str().expect("a message"))
}

/// That a call went well.
pub(crate) fn assert_done(answer: &Value) {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
