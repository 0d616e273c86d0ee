//! Two users do not see each other's sessions, files, keys or questions, by any route.

use serde_json::json;
use team::{PeopleStore as _, Scope};

use crate::team_service::TeamService;

/// What `ada` says, which no other user may ever read.
const SAID: &str = "xylophone of ada";

#[tokio::test(flavor = "multi_thread")]
async fn lists_searches_statistics_and_exports_hold_only_what_the_user_may_see() {
    let service = TeamService::start().await;
    let of_ada = service.session("ada", SAID).await;
    let of_bob = service.session("bob", "hello of bob").await;
    for path in [
        "/api/sessions",
        "/api/sessions?limit=1",
        "/api/sessions?title=xylophone",
        "/api/overview",
        &format!("/api/overview?session={of_ada}"),
        "/api/search/all?query=xylophone",
        "/api/stats?project=web",
        "/api/stats/days",
        "/api/approvals",
        "/api/history?project=web",
        "/api/spending",
        "/api/projects",
        "/api/me",
        "/api/me/tokens",
    ] {
        let answer = service.ask("bob", &format!("GET {path}"), "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        for hidden in [of_ada.as_str(), "xylophone", service.user("ada").id.as_str(), "secret"] {
            // What was asked for is repeated nowhere.
            assert!(!answer.body.contains(hidden), "{path} shows {hidden}: {}", answer.body);
        }
    }
    let listed = service.good("bob", "GET /api/sessions?limit=1", "").await;
    assert_eq!(listed["sessions"][0]["id"], of_bob, "a hidden session takes no place in a list");
    let found = service.good("ada", "GET /api/search/all?query=xylophone", "").await;
    assert_eq!(found["sessions"]["found"][0]["session"], of_ada);
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_of_a_member_are_those_of_the_own_sessions() {
    let service = TeamService::start().await;
    service.session("ada", "hello").await;
    service.session("ada", "hello").await;
    service.session("bob", "hello").await;
    let answers = async |user: &str| {
        let stats = service.good(user, "GET /api/stats?project=web", "").await;
        let days = service.good(user, "GET /api/stats/days?project=web", "").await;
        let by_day = days["days"][0]["all"]["answers"].as_u64().unwrap_or(0);
        let sessions = stats["sessions"].as_array().unwrap().len();
        (stats["models"][0]["answers"].as_u64().unwrap_or(0), by_day, sessions)
    };
    assert_eq!(answers("ada").await, (2, 2, 2));
    assert_eq!(answers("bob").await, (1, 1, 1));
    assert_eq!(answers("vic").await, (0, 0, 0));
    // Approvers see all sessions of their projects, and admins of all.
    assert_eq!(answers("pat").await, (3, 3, 3));
    assert_eq!(answers("root").await, (3, 3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_those_of_projects_that_are_shared_with_the_user() {
    let service = TeamService::start().await;
    for target in [
        "GET /api/files?project=secret",
        "GET /api/files/content?project=secret&path=notes-secret.txt",
        "GET /api/search?project=secret&query=notes",
        "GET /api/search/all?project=secret&query=notes",
        "GET /api/complete?project=secret&query=n",
        "GET /api/models?project=secret",
        "GET /api/stats?project=secret",
        "GET /api/stats/days?project=secret",
        "GET /api/history?project=secret",
        "GET /api/tools?project=secret",
        "GET /api/policy?project=secret",
        "GET /api/custom-tools?project=secret",
        "GET /api/sessions?project=secret",
    ] {
        let answer = service.ask("bob", target, "").await;
        assert_eq!(answer.status, 404, "{target}: {answer:?}");
        assert_eq!(service.ask("ada", target, "").await.status, 200, "{target}");
    }
    for (target, body) in [
        ("POST /api/sessions", json!({"project": "secret"})),
        (
            "POST /api/tools/read_file",
            json!({"project": "secret", "arguments": {"path": "notes-secret.txt"}}),
        ),
        ("POST /api/policy/explain", json!({"project": "secret", "tool": "bash"})),
        ("POST /api/history/undo", json!({"project": "secret"})),
    ] {
        let answer = service.ask("bob", target, &body.to_string()).await;
        assert_eq!(answer.status, 404, "{target}: {answer:?}");
    }
    // The only project that a user sees need not be named; the other one does not count.
    let listed = service.good("bob", "GET /api/files", "").await;
    assert!(listed.to_string().contains("notes-web.txt"), "{listed}");
    let found = service.good("bob", "GET /api/search/all?query=notes", "").await;
    assert!(!found.to_string().contains("secret"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_of_users_have_connections_of_their_own() {
    let service = TeamService::start().await;
    let [ada, bob] = ["ada", "bob"].map(|name| service.user(name).id.to_string());
    let answer = service.ask("ada", "POST /mcp/web", "{}").await;
    assert_eq!(answer.body, format!("web {ada} false"));
    let answer = service.ask("bob", "POST /mcp/web", "{}").await;
    assert_eq!(answer.body, format!("web {bob} false"));
    assert_eq!(service.ask("bob", "POST /mcp/secret", "{}").await.status, 404);
    assert_eq!(service.ask("ada", "POST /mcp/secret", "{}").await.status, 200);
    assert_eq!(service.ask("vic", "POST /mcp/web", "{}").await.status, 403);
    assert_eq!(service.raw("POST /mcp/web", &[], "{}").await.status, 401);
    // A token for agents sees nothing of the API.
    let token = service.scoped("ada", &[Scope::Mcp]).await;
    for target in ["GET /api/sessions", "GET /api/me", "GET /api/events"] {
        assert_eq!(service.raw(target, &[&token], "").await.status, 403, "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_providers_are_used_for_their_owner_and_shown_to_none() {
    let service = TeamService::start().await;
    let key = json!({"key": "sk-of-ada"}).to_string();
    service.good("ada", "PUT /api/me/keys/anthropic", &key).await;
    let listed = service.good("ada", "GET /api/me/keys", "").await;
    assert_eq!(
        (listed["keys"][0]["provider"].as_str(), listed["can_keep"].as_bool()),
        (Some("anthropic"), Some(true))
    );
    assert!(!listed.to_string().contains("sk-of-ada"));
    for user in ["bob", "root"] {
        let others = service.good(user, "GET /api/me/keys", "").await;
        assert_eq!(others["keys"], json!([]), "{user}");
        assert_eq!(service.ask(user, "DELETE /api/me/keys/anthropic", "").await.status, 404);
    }
    service.session("bob", "hello").await;
    assert_eq!(*service.used_keys.lock().unwrap(), [""; 0]);
    service.session("ada", "").await;
    assert_eq!(*service.used_keys.lock().unwrap(), ["anthropic=sk-of-ada"]);
    let (owner, sealed) = service.people.sealed_keys(None).await.unwrap().remove(0);
    assert_eq!(owner.user, service.user("ada").id);
    assert!(!String::from_utf8_lossy(&sealed.bytes).contains("sk-of-ada"));
    service.good("ada", "DELETE /api/me/keys/anthropic", "").await;
    service.session("ada", "").await;
    assert_eq!(service.used_keys.lock().unwrap().len(), 1);
}

/// A change that needs approval.
const CREATE: &str = "/create_file new.txt hi";

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_seen_by_their_user_and_by_approvers_of_the_project() {
    let service = TeamService::start().await;
    let id = service.session("ada", CREATE).await;
    let questions = async |user: &str| {
        service.good(user, "GET /api/approvals", "").await["questions"].as_array().unwrap().clone()
    };
    let asked = questions("ada").await;
    assert_eq!((asked.len(), asked[0]["owner"].as_str()), (1, Some(id.as_str())));
    assert_eq!(questions("pat").await.len(), 1);
    for user in ["bob", "vic", "eve"] {
        assert_eq!(questions(user).await.len(), 0, "{user}");
    }
    let one = format!("/api/approvals/{id}/{}", asked[0]["question"].as_str().unwrap());
    let yes = r#"{"approve": true}"#;
    // A member may look at the own question and not answer it; another does not even see it.
    assert_eq!(service.ask("ada", &format!("GET {one}"), "").await.status, 200);
    assert_eq!(service.ask("ada", &format!("POST {one}"), yes).await.status, 403);
    assert_eq!(service.ask("bob", &format!("GET {one}"), "").await.status, 409);
    assert_eq!(service.ask("eve", &format!("POST {one}"), yes).await.status, 409);
    service.good("pat", &format!("POST {one}"), yes).await;
    // Who has approved stands in the log, which the audit reads.
    let mut log = service.stream("ada", &format!("/api/sessions/{id}/log")).await;
    let by = format!("\"by\":\"{}\"", service.user("pat").id);
    log.until(&by).await.unwrap();
    let audit = service.good("root", "GET /api/audit", "").await;
    let entries = audit["entries"].as_array().unwrap();
    let approved = entries.iter().find(|entry| entry["kind"] == "approved").unwrap();
    let expected = (Some(service.user("pat").id.as_str()), Some("create_file"), Some(id.as_str()));
    let told =
        (approved["user"].as_str(), approved["subject"].as_str(), approved["session"].as_str());
    assert_eq!(told, expected);
    let csv = service.ask("root", "GET /api/audit/export?format=csv", "").await;
    assert!(
        csv.body.starts_with("at,user,kind,") && csv.body.contains(",approved,web,"),
        "{csv:?}"
    );
    let jsonl = service.ask("root", "GET /api/audit/export", "").await;
    assert!(jsonl.body.lines().all(|line| line.starts_with('{')), "{jsonl:?}");
    // Pages of one row each have the same rows, in the same order.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    for _ in testkit::at_most(100, "the pages of the audit") {
        let page = service.good("root", &format!("GET /api/audit?limit=1{cursor}"), "").await;
        paged.extend(page["entries"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(&paged, entries);
    assert_eq!(jsonl.body.lines().count(), paged.len());
    for (filter, count) in [("project=web", 1), ("project=secret", 0), ("since=99999999999999", 0)]
    {
        let some = service.good("root", &format!("GET /api/audit?{filter}"), "").await;
        assert_eq!(some["entries"].as_array().unwrap().len(), count, "{filter}: {some}");
    }
    assert_eq!(service.ask("root", "GET /api/audit?cursor=x", "").await.status, 400);
    for user in ["ada", "pat"] {
        assert_eq!(service.ask(user, "GET /api/audit", "").await.status, 403);
        assert_eq!(service.ask(user, "GET /api/audit/export", "").await.status, 403);
    }
}

const YES: &str = r#"{"approve": true}"#;

/// Says yes to the only open question.
async fn approve(service: &TeamService) {
    let open = service.good("root", "GET /api/approvals", "").await;
    let one = &open["questions"][0];
    let (owner, name) = (one["owner"].as_str().unwrap(), one["question"].as_str().unwrap());
    service.good("root", &format!("POST /api/approvals/{owner}/{name}"), YES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_are_hidden_are_neither_undone_nor_made_again() {
    const UNKNOWN: u64 = 987;
    let service = TeamService::start().await;
    let id = service.session("ada", "/create_file private.txt hi").await;
    approve(&service).await;
    let mut log = service.stream("ada", &format!("/api/sessions/{id}/log?after=0")).await;
    log.until("\"turn_ended\"").await.unwrap();
    let made = service.good("ada", "GET /api/history?project=web", "").await;
    let change = made["changes"][0]["id"].as_u64().unwrap();
    // A call that finds a change asks about it.
    let tried = async |target: &str, id: Option<u64>| {
        let mut events = service.stream("root", "/api/events").await;
        let body = json!({"project": "web", "id": id}).to_string();
        let told = tokio::select! {
            answer = service.good("bob", target, &body) => answer.to_string(),
            _ = events.until("\"owner\":\"project:web:") => panic!("{target} {id:?} asks"),
        };
        assert!(!told.contains("private"), "{told}");
        id.map_or(told.clone(), |id| told.replace(&format!("change {id}"), "change N"))
    };
    let none = tried("POST /api/history/undo", None).await;
    assert!(none.contains("there is nothing to undo"), "{none}");
    let unknown = tried("POST /api/history/undo", Some(UNKNOWN)).await;
    assert!(unknown.contains("there is no change N"), "{unknown}");
    assert_eq!(tried("POST /api/history/undo", Some(change)).await, unknown);
    // Its user can undo it, and that is hidden too.
    let undo = json!({"project": "web", "id": change}).to_string();
    let mut events = service.stream("root", "/api/events").await;
    let answering = async {
        events.until("\"owner\":\"project:web:").await.unwrap();
        approve(&service).await;
    };
    let undoing = service.good("ada", "POST /api/history/undo", &undo);
    let (undone, ()) = tokio::join!(undoing, answering);
    assert_eq!(undone["ok"], true, "{undone}");
    let unknown = tried("POST /api/history/redo", Some(UNKNOWN)).await;
    assert_eq!(tried("POST /api/history/redo", Some(change)).await, unknown);
    assert_eq!(tried("POST /api/history/redo", Some(change + 1)).await, unknown);
    let none = tried("POST /api/history/redo", None).await;
    assert!(none.contains("there is nothing to redo"), "{none}");
}
