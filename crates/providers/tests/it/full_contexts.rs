//! What servers answer when a conversation is too long for their model: room is made, the request is
//! sent once more, and the turn goes on.

mod bodies;

use context_manager::{AgentOptions, ModelErrorKind, TurnOutcome};
use protocol::{SessionEvent, TurnEnd};
use providers::error_of;
use testkit::model_server::validity;
use testkit::{Fault, ModelServer, Reply};

use crate::stage::Stage;
use crate::talk::provider;
use bodies::Says::{self, Refused, Streamed};
use bodies::{CHAT, FULL, NOT_FULL};

fn fault(says: Says) -> Reply {
    Reply::fault(match says {
        Refused(status, body) => {
            Fault::Status { status, headers: Vec::new(), body: body.to_owned() }
        }
        Streamed(stream) => {
            Fault::Body { content_type: "text/event-stream".into(), body: stream.into() }
        }
    })
}

fn small() -> Stage {
    Stage::new(AgentOptions {
        context_tokens: 10_000,
        max_tokens: 1_000,
        ..AgentOptions::default()
    })
}

fn story() -> Reply {
    Reply::text(&"a long story ".repeat(100))
}

#[tokio::test]
async fn of_every_server_a_full_context_is_understood_and_the_turn_goes_on() {
    for &(server_name, api, says) in FULL {
        let server =
            ModelServer::start([story(), fault(says), Reply::text("Ah."), Reply::text("spare")]);
        let (provider, mut stage) = (provider(api, &server), small());
        stage.send("one", &provider).await;
        let outcome = stage.send("two", &provider).await;
        assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Done), "{server_name}");
        let compactions = stage
            .events()
            .iter()
            .filter(|event| matches!(event, SessionEvent::Compacted(_)))
            .count();
        assert_eq!((compactions, server.unused()), (1, 1), "{server_name}");
        let calls = server.calls();
        let sizes: Vec<_> = calls.iter().map(|call| call.body.to_string().len()).collect();
        assert!(sizes[2] < sizes[1], "{server_name}: {sizes:?}");
        calls.iter().for_each(validity::check);
    }
}

#[tokio::test]
async fn if_it_is_still_full_the_turn_ends_and_says_so() {
    for &(server_name, api, says) in FULL {
        let server = ModelServer::start([story(), fault(says), fault(says), Reply::text("spare")]);
        let (provider, mut stage) = (provider(api, &server), small());
        stage.send("one", &provider).await;
        let outcome = stage.send("two", &provider).await;
        assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::ContextFull), "{server_name}");
        assert_eq!(server.unused(), 1, "{server_name}");
        let failed = stage.events().into_iter().filter_map(|event| match event {
            SessionEvent::ModelFailed { kind, retry_in_ms, .. } => Some((kind, retry_in_ms)),
            _ => None,
        });
        let failed: Vec<_> = failed.collect();
        let full = ModelErrorKind::ContextFull;
        assert_eq!(failed, [(full, Some(0)), (full, None)], "{server_name}");
    }
}

#[test]
fn other_limits_are_not_taken_for_a_full_context() {
    for (name, status, body, kind) in NOT_FULL {
        assert_eq!(error_of(*status, &[], body.as_bytes()).kind, *kind, "{name}");
    }
}

#[tokio::test]
async fn a_request_larger_than_a_minutes_share_is_not_sent_again() {
    let (_, status, body, _) = NOT_FULL[0];
    let server = ModelServer::start([fault(Refused(status, body)), Reply::text("spare")]);
    let outcome = small().send("one", &provider(CHAT, &server)).await;
    assert_eq!((outcome, server.unused()), (TurnOutcome::Ended(TurnEnd::Failed), 1));
}

#[test]
fn the_table_has_servers_enough() {
    let servers: std::collections::BTreeSet<_> =
        FULL.iter().map(|(name, ..)| name.split([' ', ',']).next()).collect();
    assert!(servers.len() >= 18, "{servers:?}");
}
