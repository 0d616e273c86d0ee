//! What outlives a session that is deleted: what it has spent, and who has answered its questions.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use protocol::{AgentRole, ModelErrorKind, Opened, SessionEvent, Settings, Usage};
use serde_json::{Value, json};
use store::{ProjectStores, SqliteStore, Store, StoreError};
use team::PeopleStore as _;

use crate::team_service::{Setup, TeamService};

async fn with_clock() -> TeamService {
    TeamService::start_with(Setup { has_clock: true, ..Setup::default() }).await
}

async fn spent(service: &TeamService, user: &str) -> Value {
    service.good(user, "GET /api/spending", "").await["spending"].clone()
}

async fn is_refused(service: &TeamService, user: &str) -> bool {
    let answer = service.ask(user, "POST /api/sessions", r#"{"project": "web"}"#).await;
    assert!([200, 402].contains(&answer.status), "{answer:?}");
    answer.status == 402
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_not_spent_again_by_deleting_what_it_was_spent_in() {
    let service = with_clock().await;
    let ada = service.user("ada").id.to_string();
    let budget = json!({"user": ada, "usd_per_day": 1.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    // An answer of the model costs a dollar here.
    let id = service.session("ada", "hello").await;
    assert!(is_refused(&service, "ada").await);
    service.good("ada", &format!("DELETE /api/sessions/{id}"), "").await;
    let same = json!([{"user": ada, "project": "web", "usd": 1.0}]);
    assert_eq!(spent(&service, "ada").await, same);
    assert!(is_refused(&service, "ada").await);
    // On the next day all of it is there again.
    service.people.pass_seconds(24 * 60 * 60);
    assert!(!is_refused(&service, "ada").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_session_does_not_pay_for_it_when_it_is_deleted() {
    let service = with_clock().await;
    let (ada, bob) = (service.user("ada").id.to_string(), service.user("bob").id.to_string());
    let budget = json!({"user": bob, "usd_per_day": 1.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    let id = service.session("ada", "hello").await;
    let access = format!("PUT /api/sessions/{id}/access");
    service.good("ada", &access, r#"{"visibility": "project"}"#).await;
    service.good("bob", &format!("POST /api/sessions/{id}/fork"), "{}").await;
    service.good("ada", &format!("DELETE /api/sessions/{id}"), "").await;
    assert_eq!(spent(&service, "bob").await, json!([]));
    assert!(!is_refused(&service, "bob").await);
    assert_eq!(spent(&service, "ada").await, json!([{"user": ada, "project": "web", "usd": 1.0}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_stay_in_the_audit_when_their_session_is_deleted() {
    let service = TeamService::start().await;
    let id = service.session("ada", "/create_file new.txt hi").await;
    let open = service.good("pat", "GET /api/approvals", "").await;
    let question = open["questions"][0]["question"].as_str().unwrap().to_owned();
    let mut log = service.stream("ada", &format!("/api/sessions/{id}/log")).await;
    let target = format!("POST /api/approvals/{id}/{question}");
    service.good("pat", &target, r#"{"approve": true}"#).await;
    log.until("\"turn_ended\"").await.unwrap();
    let answers = async || {
        let rows = service.good("root", "GET /api/audit", "").await["entries"].take();
        let rows = rows.as_array().unwrap().iter();
        let mut about = rows.filter(|row| row["session"] == id || row["subject"] == id).cloned();
        (
            about.find(|row| row["kind"] == "approved"),
            rows_of(&service, &id, "session_deleted").await,
        )
    };
    let (before, deleted) = answers().await;
    let pat = service.user("pat").id.to_string();
    assert_eq!((before.as_ref().unwrap()["user"].as_str(), deleted), (Some(pat.as_str()), 0));
    service.good("ada", &format!("DELETE /api/sessions/{id}"), "").await;
    assert_eq!(answers().await, (before, 1));
    assert_eq!(rows_of(&service, &id, "approved").await, 1);
}

/// How many rows of a kind the audit has about a session, as a file.
async fn rows_of(service: &TeamService, id: &str, kind: &str) -> usize {
    let export = service.ask("root", "GET /api/audit/export", "").await.body;
    let rows = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| (row["session"] == id || row["subject"] == id) && row["kind"] == kind).count()
}

/// Projects of other replicas, which come while this one runs.
#[derive(Default)]
struct OtherProjects(Mutex<Vec<(String, Arc<dyn Store>)>>);

#[async_trait]
impl ProjectStores for OtherProjects {
    async fn project_stores(&self) -> Result<Vec<(String, Arc<dyn Store>)>, StoreError> {
        Ok(self.0.lock().unwrap().clone())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_of_other_replicas_count_from_their_first_session_on() {
    let others = Arc::new(OtherProjects::default());
    let all_projects: Option<Arc<dyn ProjectStores>> = Some(others.clone());
    let setup = Setup { has_clock: true, all_projects, ..Setup::default() };
    let service = TeamService::start_with(setup).await;
    let ada = service.user("ada").id.clone();
    let budget = json!({"user": ada.to_string(), "usd_per_day": 2.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    assert!(!is_refused(&service, "ada").await);
    let elsewhere = testkit::Fixture::new("");
    let store = SqliteStore::open(elsewhere.root().join("sessions.db")).await.unwrap();
    let settings = Settings { provider: "p".into(), model: "m".into(), role: AgentRole::Actor };
    let opened = Opened { root: "/elsewhere".into(), settings, forked_from: None };
    let id = store.create(&opened).await.unwrap();
    let cut = SessionEvent::ModelFailed {
        kind: ModelErrorKind::Cancelled,
        message: "interrupted".into(),
        retry_in_ms: None,
        usage: Usage::default(),
        cost_usd: Some(3.0),
    };
    let mut response = protocol::ApprovalResponse::no(None);
    response.by = Some("eve".into());
    let denied = SessionEvent::ApprovalAnswered { call_id: "c".into(), response };
    store.append(&id, vec![cut, denied]).await.unwrap();
    service.people.own(id.as_str(), "late", &ada).await.unwrap();
    others.0.lock().unwrap().push(("late".to_owned(), Arc::new(store)));
    assert!(is_refused(&service, "ada").await);
    assert_eq!(rows_of(&service, id.as_str(), "denied").await, 1);
}
