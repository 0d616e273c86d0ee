//! One search over everything, and what can follow an `@` or a `/`.

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply, in_time};

use super::conversation::until_idle;
use super::service::Service;
use crate::run::run_with_state;

const PROJECT: &str = "//- /src/cart.ts
export class Cart { total() { return 0; } }
//- /notes.txt
a (first) line about zebras
//- /.toolkiln/commands/review.md
Review it.
";

fn texts(group: &Value, name: &str) -> Vec<String> {
    let found = group["found"].as_array().unwrap().iter();
    found.map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

#[test]
fn one_search_finds_sessions_files_symbols_and_text() {
    let project = Fixture::new(PROJECT);
    let model =
        ModelServer::start([Reply::text("They have stripes, all zebras."), Reply::text("No.")]);
    let service = Service::start(&project, &model);
    let (talk, other) = (service.begin(), service.begin());
    let mut watcher = service.watch("*");
    service.say(&talk, "What do you know of animals in Africa?");
    until_idle(&mut watcher, &talk);
    service.say(&other, "Something else (first) entirely");
    until_idle(&mut watcher, &other);
    service.patch(&format!("/api/sessions/{other}"), json!({"title": "Cart work"}));

    let zebras = service.get("/api/search/all?query=zebr");
    assert_eq!(texts(&zebras["sessions"], "session"), std::slice::from_ref(&talk));
    let hit = &zebras["sessions"]["found"][0];
    assert_eq!(hit["excerpt"], "They have stripes, all zebras.");
    let items = service.items(&talk);
    let answer = items.iter().find(|item| item["kind"] == "answer").unwrap();
    assert!(hit["sequence"].as_u64() >= answer["sequence"].as_u64(), "{hit} {answer}");
    assert_eq!(texts(&zebras["text"], "path"), ["notes.txt"]);
    let carts = service.get("/api/search/all?query=Cart");
    assert_eq!(texts(&carts["sessions"], "title"), ["Cart work"]);
    assert_eq!(texts(&carts["symbols"], "text"), ["Cart"]);
    assert_eq!(carts["symbols"]["found"][0]["target"], "src/cart.ts");
    // Symbols by letters in their order, the best first.
    // The first list of names is being made meanwhile.
    let letters = in_time("the list of names")
        .map(|_| service.get("/api/search/all?query=ttl"))
        .find(|found| found["symbols"]["unfinished"] != true)
        .unwrap();
    assert_eq!(texts(&letters["symbols"], "text"), ["total"]);
    assert_eq!(letters["symbols"]["found"][0]["detail"], "method src/cart.ts:1");
    // As in the chat, small letters mean large ones too, and not the other way round.
    assert_eq!(texts(&service.get("/api/search/all?query=cart")["files"], "text"), ["src/cart.ts"]);
    // What is looked for is taken as it is, by the index and in files.
    let first = service.get("/api/search/all?query=(first)");
    assert_eq!(texts(&first["sessions"], "session"), std::slice::from_ref(&other));
    assert_eq!(texts(&first["text"], "path"), ["notes.txt"]);
    for odd in ["%22", "*", "a%20OR", "NEAR(", "%5C", "said:x", "%00"] {
        let found = service.get(&format!("/api/search/all?query={odd}"));
        assert!(found["sessions"]["found"].is_array(), "{odd}");
    }
    // A session that goes on is found by what it says then, and a deleted one not at all.
    let none = service.get("/api/search/all?query=platypus");
    assert_eq!(texts(&none["sessions"], "session"), Vec::<String>::new());
    service.say(&talk, "And the platypus?");
    assert_eq!(
        texts(&service.get("/api/search/all?query=platypus")["sessions"], "session"),
        std::slice::from_ref(&talk)
    );
    let all = service.token("all");
    assert_eq!(service.request(&format!("DELETE /api/sessions/{talk}"), &[&all], "").status, 200);
    let gone = service.get("/api/search/all?query=platypus");
    assert_eq!(texts(&gone["sessions"], "session"), Vec::<String>::new());

    // Who may not look at files finds none.
    let chat = service.token("chat");
    let found = service.request("GET /api/search/all?query=Cart", &[&chat], "").json();
    assert_eq!(texts(&found["sessions"], "title"), ["Cart work"]);
    assert_eq!((&found["files"]["found"], &found["text"]["found"]), (&json!([]), &json!([])));
    let empty = service.request("GET /api/search/all?query=%20", &[&chat], "");
    assert_eq!(empty.refusal(), "400 INVALID_ARGUMENTS");
}

#[test]
fn mentions_and_commands_are_completed_as_in_the_chat() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let named = |address: &str, group: &str, name: &str| -> Vec<String> {
        let found = service.get(address)[group].as_array().unwrap().clone();
        found.iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(named("/api/complete?query=crt", "mentions", "text"), ["src/cart.ts"]);
    assert_eq!(named("/api/complete?query=", "mentions", "text"), ["src/", "notes.txt"]);
    let commands = named("/api/complete?kind=command&query=mod", "commands", "usage");
    assert_eq!(commands[0], "/model [NAME]");
    let all = named("/api/complete?kind=command", "commands", "name");
    assert!(all.len() > 10, "{all:?}");
    // A command that a file of the project defines is refused until its text is trusted.
    let review = || {
        let address = "/api/complete?kind=command&query=review&arguments=src%2Fcart.ts";
        let found = service.get(address)["commands"].as_array().unwrap().clone();
        found.into_iter().find(|command| command["name"] == "review").unwrap()
    };
    let refused = review();
    assert!(refused["refused"].as_str().unwrap().contains("is not trusted"), "{refused}");
    assert!(refused.get("message").is_none(), "{refused}");
    let trusted = run_with_state(&project, &["tools", "trust", ".toolkiln/commands/review.md"]);
    assert_eq!(trusted.code, 0);
    assert_eq!(review()["message"], "Review it.\n\nsrc/cart.ts");
    let tools = service.token("tools");
    let refused = service.request("GET /api/complete?query=x", &[&tools], "");
    assert_eq!(refused.refusal(), "403 PERMISSION_DENIED");
}
