//! Budgets of a day, and that two users have to agree.

use serde_json::json;

use crate::team_service::{Setup, TeamService};

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_used_up_stops_its_user_until_the_next_day() {
    let service = TeamService::start_with(Setup { has_clock: true, ..Setup::default() }).await;
    let ada = service.user("ada").id.to_string();
    let budget = json!({"user": ada, "usd_per_day": 2.5}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    // An answer of the model costs a dollar here.
    let id = service.session("ada", "hello").await;
    let spent =
        async |user: &str| service.good(user, "GET /api/spending", "").await["spending"].clone();
    assert_eq!(spent("ada").await, json!([{"user": ada, "project": "web", "usd": 1.0}]));
    assert_eq!(spent("bob").await, json!([]));
    service.say("ada", &id, "hello").await;
    let other = service.session("ada", "hello").await;
    for target in [
        format!("POST /api/sessions/{id}/messages"),
        format!("POST /api/sessions/{other}/messages"),
        "POST /api/sessions".to_owned(),
    ] {
        let body = if target.ends_with("messages") {
            r#"{"text": "more"}"#
        } else {
            r#"{"project": "web"}"#
        };
        let answer = service.ask("ada", &target, body).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["code"].as_str()),
            (402, Some("OVER_BUDGET")),
            "{target}"
        );
    }
    // Others are not stopped, and reading costs nothing.
    service.session("bob", "hello").await;
    assert_eq!(service.ask("ada", &format!("GET /api/sessions/{id}"), "").await.status, 200);
    let audit = service.good("root", "GET /api/audit", "").await;
    assert!(audit["entries"].to_string().contains("budget_refused"), "{audit}");
    service.good("root", &format!("DELETE /api/budgets?user={ada}"), "").await;
    service.say("ada", &id, "hello").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_of_a_project_is_spent_by_all_of_its_users() {
    let service = TeamService::start_with(Setup { has_clock: true, ..Setup::default() }).await;
    let budget = json!({"project": "web", "usd_per_day": 2.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    service.session("ada", "hello").await;
    service.session("bob", "hello").await;
    for user in ["ada", "bob"] {
        let answer = service.ask(user, "POST /api/sessions", r#"{"project": "web"}"#).await;
        assert_eq!(answer.status, 402, "{user}: {answer:?}");
    }
    let elsewhere = service.ask("ada", "POST /api/sessions", r#"{"project": "secret"}"#).await;
    assert_eq!(elsewhere.status, 200, "{elsewhere:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_pauses_where_the_budget_ends() {
    let service = TeamService::start_with(Setup { has_clock: true, ..Setup::default() }).await;
    let ada = service.user("ada").id.to_string();
    let budget = json!({"user": ada, "usd_per_day": 1.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    // One answer with the call, and one after it, for which nothing is left.
    let id = service.session("ada", "").await;
    let text = json!({"text": "/list_directory ."}).to_string();
    let mut events = service.stream("ada", &format!("/api/events?follow={id}")).await;
    service.good("ada", &format!("POST /api/sessions/{id}/messages"), &text).await;
    events.until("\"state\":\"paused\"").await.unwrap();
    let spent = service.good("ada", "GET /api/spending", "").await;
    assert!(spent["spending"][0]["usd"].as_f64().unwrap() <= 1.0, "{spent}");
}

/// A change that needs approval.
const CREATE: &str = "/create_file new.txt hi";
const YES: &str = r#"{"approve": true}"#;

async fn question(service: &TeamService, user: &str) -> (String, serde_json::Value) {
    let open = service.good(user, "GET /api/approvals", "").await;
    let one = open["questions"][0].clone();
    let (owner, name) = (one["owner"].as_str().unwrap(), one["question"].as_str().unwrap());
    (format!("/api/approvals/{owner}/{name}"), one)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_budget_is_read_before_each_request() {
    let service = TeamService::start_with(Setup { has_clock: true, ..Setup::default() }).await;
    let ada = service.user("ada").id.to_string();
    let budget = json!({"user": ada, "usd_per_day": 3.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    // It waits for an answer in its turn. Meanwhile another session spends the rest.
    let waiting = service.session("ada", CREATE).await;
    let (one, _) = question(&service, "pat").await;
    let other = service.session("ada", "hello").await;
    service.say("ada", &other, "hello").await;
    service.good("pat", &format!("POST {one}"), YES).await;
    let mut log = service.stream("ada", &format!("/api/sessions/{waiting}/log?after=0")).await;
    let end = loop {
        let line = log.until("\n").await.unwrap();
        if line.contains("\"turn_ended\"") || line.contains("cost_budget") {
            break line;
        }
    };
    assert!(end.contains("cost_budget"), "{end}");
    let spent = service.good("ada", "GET /api/spending", "").await;
    assert_eq!(spent["spending"][0]["usd"], 3.0, "{spent}");
    // Going on does not help, until there is something to spend.
    let go_on = format!("POST /api/sessions/{waiting}/continue");
    assert_eq!(service.ask("ada", &go_on, "{}").await.status, 402);
    let budget = json!({"user": ada, "usd_per_day": 5.0}).to_string();
    service.good("root", "PUT /api/budgets", &budget).await;
    service.good("ada", &go_on, "{}").await;
    log.until("\"turn_ended\"").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_who_asks_does_not_approve_if_the_team_wants_that() {
    let service = TeamService::start_with(Setup { four_eyes: true, ..Setup::default() }).await;
    service.session("pat", CREATE).await;
    let (one, asked) = question(&service, "pat").await;
    let refused = service.ask("pat", &format!("POST {one}"), YES).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    // A rule for the project would let the next one pass alone.
    let rule = asked["always"].as_str();
    if let Some(rule) = rule {
        let always = json!({"approve": true, "remember": {"scope": "project", "rule": rule}});
        let answer = service.ask("root", &format!("POST {one}"), &always.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    } else {
        service.good("root", &format!("POST {one}"), YES).await;
    }
    // A no is always good.
    service.session("pat", "/create_file other.md hi").await;
    let (one, _) = question(&service, "pat").await;
    service.good("pat", &format!("POST {one}"), r#"{"approve": false}"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_by_hand_are_approved_by_another_user_too() {
    let service = TeamService::start_with(Setup { four_eyes: true, ..Setup::default() }).await;
    let call =
        json!({"project": "web", "arguments": {"path": "by-hand.txt", "content": "x"}}).to_string();
    let mut events = service.stream("pat", "/api/events").await;
    let calling = service.ask("pat", "POST /api/tools/create_file", &call);
    let answering = async {
        events.until("by-hand.txt").await.unwrap();
        let (one, asked) = question(&service, "pat").await;
        let owner = format!("project:web:{}", service.user("pat").id);
        assert_eq!(asked["owner"], owner);
        assert_eq!(service.good("bob", "GET /api/approvals", "").await["questions"], json!([]));
        assert_eq!(service.ask("pat", &format!("POST {one}"), YES).await.status, 403);
        service.good("root", &format!("POST {one}"), YES).await;
    };
    let (called, ()) = tokio::join!(calling, answering);
    assert_eq!(called.json()["ok"], true, "{called:?}");
    let audit = service.good("root", "GET /api/audit", "").await;
    assert!(audit["entries"].to_string().contains("\"approved\""), "{audit}");
    // What was done by hand is in the history of its user and of approvers.
    let by = async |user: &str| {
        let list = service.good(user, "GET /api/history?project=web", "").await;
        list["changes"].as_array().unwrap().len()
    };
    assert_eq!((by("pat").await, by("root").await, by("bob").await), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approver_does_not_write_what_it_approves() {
    let service = TeamService::start_with(Setup { four_eyes: true, ..Setup::default() }).await;
    service.session("ada", CREATE).await;
    let (one, _) = question(&service, "pat").await;
    let anew = [
        json!({"approve": true, "arguments": {"path": "evil.txt", "content": "evil"}}),
        json!({"approve": true, "files": {"new.txt": "evil"}}),
    ];
    for body in anew {
        let answer = service.ask("pat", &format!("POST {one}"), &body.to_string()).await;
        assert_eq!(answer.status, 403, "{body}: {answer:?}");
    }
    service.good("pat", &format!("POST {one}"), YES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_by_hand_that_a_rule_lets_pass_is_in_the_audit() {
    let service = TeamService::start().await;
    let call = json!({"project": "web", "arguments": {"path": "docs/one.txt", "content": "x"}});
    let call = call.to_string();
    let mut events = service.stream("root", "/api/events").await;
    let answering = async {
        events.until("docs/one.txt").await.unwrap();
        let asked = loop {
            let open = service.good("root", "GET /api/approvals", "").await["questions"].clone();
            if open.as_array().unwrap().len() == 2 {
                break open[0].clone();
            }
            events.until("event: questions").await.unwrap();
        };
        let (owner, name) = (asked["owner"].as_str().unwrap(), asked["question"].as_str().unwrap());
        let remember = json!({"scope": "project", "rule": asked["always"]});
        let always = json!({"approve": true, "remember": remember}).to_string();
        service.good("root", &format!("POST /api/approvals/{owner}/{name}"), &always).await;
    };
    // Both want to make the same file, so that one of them comes too late.
    let target = "POST /api/tools/create_file";
    let (ada, bob, ()) = tokio::join!(
        service.good("ada", target, &call),
        service.good("bob", target, &call),
        answering
    );
    assert_ne!(ada["ok"], bob["ok"], "{ada} {bob}");
    let audit = service.good("root", "GET /api/audit", "").await["entries"].take();
    let root = service.user("root").id.to_string();
    let approved = audit.as_array().unwrap().iter().filter(|row| row["kind"] == "approved");
    let by: Vec<_> = approved.map(|row| row["user"].as_str().unwrap()).collect();
    assert_eq!(by, [root.as_str(), root.as_str()], "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_takes_no_changes_back_that_two_users_have_agreed_to() {
    let service = TeamService::start_with(Setup { four_eyes: true, ..Setup::default() }).await;
    let id = service.session("ada", "hello").await;
    let target = format!("POST /api/sessions/{id}/rewind");
    let restore = service.ask("ada", &target, r#"{"to": 2, "files": "restore"}"#).await;
    assert_eq!(restore.status, 403, "{restore:?}");
    service.good("ada", &target, r#"{"to": 2}"#).await;
}
