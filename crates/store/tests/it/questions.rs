//! What replicas tell each other outside of sessions: questions, and rules that were taken back.

use serde_json::json;
use store::{Exchange, PostgresDatabase, QuestionBoard, QuestionState, RevokedRule, RuleBoard};

use crate::stage::replica;

async fn state(replica: &PostgresDatabase, number: i64) -> Option<QuestionState> {
    replica.question_states(&[number]).await.unwrap().pop().map(|(_, state)| state)
}

#[tokio::test]
async fn the_first_answer_is_taken_once_by_the_replica_that_asks() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (one, other) = (replica(&database, "one").await, replica(&database, "other").await);
    let number = one.show_question(json!({"asks": "\0"})).await.unwrap();
    assert_eq!(one.questions_elsewhere(&[]).await.unwrap(), [], "it is its own");
    let shown = other.questions_elsewhere(&[]).await.unwrap();
    assert_eq!((shown[0].number, &shown[0].question), (number, &Some(json!({"asks": "\0"}))));
    assert_eq!(other.questions_elsewhere(&[number]).await.unwrap()[0].question, None);
    assert!(!one.leave_answer(number, json!("own")).await.unwrap());
    // An answer that was not taken can be taken back, and another one left.
    assert!(other.leave_answer(number, json!("first")).await.unwrap());
    assert!(!other.leave_answer(number, json!("second")).await.unwrap());
    assert!(other.take_back_answer(number).await.unwrap());
    assert_eq!(state(&one, number).await, Some(QuestionState::Open));
    assert_eq!(one.take_answer(number).await.unwrap(), None);
    assert!(other.leave_answer(number, json!("third")).await.unwrap());
    assert_eq!(other.questions_elsewhere(&[]).await.unwrap(), []);
    assert_eq!(other.take_answer(number).await.unwrap(), None, "it does not ask");
    assert_eq!(one.take_answer(number).await.unwrap(), Some(json!("third")));
    assert!(!other.take_back_answer(number).await.unwrap());
    assert_eq!(state(&other, number).await, Some(QuestionState::Taken));
    // The way back from the database may have broken the first time.
    assert_eq!(one.take_answer(number).await.unwrap(), Some(json!("third")));
    one.settle_answer(number, true).await.unwrap();
    assert_eq!(one.take_answer(number).await.unwrap(), None);
    assert_eq!(state(&other, number).await, Some(QuestionState::Done));
    // What was settled is not removed as if it had no answer.
    one.remove_question(number).await.unwrap();
    assert_eq!(state(&other, number).await, Some(QuestionState::Done));
}

#[tokio::test]
async fn questions_go_with_the_replica_that_asks() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (one, other) = (replica(&database, "one").await, replica(&database, "other").await);
    let removed = one.show_question(json!(1)).await.unwrap();
    other.remove_question(removed).await.unwrap();
    assert_eq!(state(&one, removed).await, Some(QuestionState::Open), "it is not the other's");
    one.remove_question(removed).await.unwrap();
    let left = one.show_question(json!(2)).await.unwrap();
    assert_eq!(
        (state(&other, removed).await, state(&other, left).await),
        (None, Some(QuestionState::Open))
    );
    one.leave().await.unwrap();
    assert_eq!(state(&other, left).await, None);
    assert!(!other.leave_answer(left, json!("late")).await.unwrap());
}

#[tokio::test]
async fn a_rule_that_is_taken_back_is_so_for_all_replicas_until_it_is_made_again() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (one, other) = (replica(&database, "one").await, replica(&database, "other").await);
    let number = one.revoke_rule("web", "r").await.unwrap();
    let revoked = |number| vec![RevokedRule { rule: "r".to_owned(), number }];
    assert_eq!(other.revoked_rules("web").await.unwrap(), revoked(number));
    assert_eq!(other.revoked_rules("api").await.unwrap(), []);
    let again = other.revoke_rule("web", "r").await.unwrap();
    assert_ne!(again, number);
    // The first one is not there any more.
    one.restore_rule("web", "r", Some(number)).await.unwrap();
    assert_eq!(one.revoked_rules("web").await.unwrap(), revoked(again));
    one.restore_rule("web", "r", None).await.unwrap();
    assert_eq!(other.revoked_rules("web").await.unwrap(), []);
}
