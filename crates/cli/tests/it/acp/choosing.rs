//! Modes and options: what the user chooses holds from the next request on.

use serde_json::{Value, json};
use testkit::Reply;

use super::editor::Desk;
use super::tasks::PROJECT;

#[test]
fn a_mode_is_a_role_and_what_needs_approval() {
    let create = || Reply::call("create_file", json!({"path": "new.txt", "content": "x\n"}));
    let desk = Desk::new(PROJECT, [Reply::text("Plan."), create(), Reply::text("Done.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let mode = |id: &str| json!({"sessionId": session, "modeId": id});
    assert!(editor.request("session/set_mode", mode("planner")).get("error").is_none());
    editor.wait_until(|editor| editor.kind("config_option_update").count() == 1);
    assert_eq!(editor.say(&session, "Plan"), "end_turn");
    let tools = desk.model.calls()[0].body["tools"].to_string();
    assert!(tools.contains("read_file") && !tools.contains("create_file"), "{tools}");

    let option = json!({"sessionId": session, "configId": "mode", "value": "actor:workspace"});
    let set = editor.request("session/set_config_option", option);
    assert_eq!(set["result"]["configOptions"][0]["currentValue"], "actor:workspace");
    editor.wait_until(|editor| editor.kind("current_mode_update").count() == 1);
    assert_eq!(editor.say(&session, "Create it"), "end_turn");
    // New files pass in this mode.
    assert_eq!((editor.asked.len(), desk.project.read("new.txt").as_str()), (0, "x\n"));
    let unknown = editor.request("session/set_mode", mode("root"));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`root`"));
}

#[test]
fn model_and_effort_are_options() {
    let desk = Desk::new(PROJECT, [Reply::text("One."), Reply::text("Two.")]);
    let mut editor = desk.plain_editor();
    let answer = editor.request("session/new", json!({"cwd": editor.root(), "mcpServers": []}));
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let options = answer["result"]["configOptions"].as_array().unwrap();
    let ids: Vec<&Value> = options.iter().map(|option| &option["category"]).collect();
    assert_eq!(ids, ["mode", "model", "thought_level"]);
    let models = options[1]["options"].as_array().unwrap();
    let mut names = models.iter().map(|model| model["value"].as_str().unwrap());
    let other = names.find(|name| *name != options[1]["currentValue"]);
    let other = other.unwrap_or("claude-haiku-4-5").to_owned();
    let other = other.as_str();
    let set = |config: &str, value: &str| json!({"sessionId": session, "configId": config, "value": value});
    let answer = editor.request("session/set_config_option", set("model", other));
    assert_eq!(answer["result"]["configOptions"][1]["currentValue"], other);
    let answer = editor.request("session/set_config_option", set("effort", "high"));
    assert_eq!(answer["result"]["configOptions"][2]["currentValue"], "high");
    for (config, value) in [("effort", "extreme"), ("colour", "red")] {
        let refused = editor.request("session/set_config_option", set(config, value));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    editor.say(&session, "Hello");
    assert_eq!(desk.model.calls()[0].body["model"], other);
}

#[test]
fn setting_up_is_offered_only_where_nothing_is_set_up() {
    let desk = Desk::new(PROJECT, []);
    let hello = |terminal: bool| json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": terminal}}});
    let mut configured = desk.plain_editor();
    let answer = configured.request("initialize", hello(true));
    insta::assert_json_snapshot!(answer["result"], @r#"
    {
      "protocolVersion": 1,
      "agentCapabilities": {
        "loadSession": true,
        "promptCapabilities": {
          "image": true,
          "audio": false,
          "embeddedContext": true
        },
        "mcpCapabilities": {
          "http": false,
          "sse": false
        },
        "sessionCapabilities": {
          "list": {},
          "delete": {},
          "resume": {},
          "close": {}
        },
        "auth": {}
      },
      "authMethods": [],
      "agentInfo": {
        "name": "toolkiln",
        "title": "Toolkiln",
        "version": "0.1.0"
      }
    }
    "#);
    let mut command = crate::run::command(None);
    command.arg("acp");
    let mut fresh = testkit::StdioServer::start(command);
    let answer = fresh.request("initialize", hello(true));
    assert_eq!(answer["result"]["authMethods"][0]["args"], json!(["--setup"]));
    assert_eq!(answer["result"]["authMethods"][0]["type"], "terminal");
}
