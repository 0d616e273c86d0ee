//! Whole tasks: what the editor is shown, and what its user decides.

use serde_json::{Value, json};
use testkit::Reply;

use super::editor::{Desk, UserAnswer, text_of};

pub(super) const PROJECT: &str = "//- /src/main.rs\nfn main() {\n    let oven = 1;\n}\n";

fn edit() -> Reply {
    let change = json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"});
    Reply::text("I rename it. ").and_call("replace_in_file", change)
}

fn read() -> Reply {
    Reply::call("read_file", json!({"path": "src/main.rs"}))
}

#[test]
fn a_task_is_shown_as_it_happens_and_asks_with_whole_texts() {
    let desk = Desk::new(PROJECT, [read(), edit(), Reply::text("Done.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename oven to kiln"), "end_turn");
    assert_eq!(desk.project.read("src/main.rs"), "fn main() {\n    let kiln = 1;\n}\n");
    assert_eq!(editor.words(), "I rename it. Done.");

    let [question] = &editor.asked[..] else { panic!("{:#?}", editor.asked) };
    let file = editor.root().join("src/main.rs");
    let call = &question["toolCall"];
    let diff = call["content"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *diff,
        json!({
            "type": "diff",
            "path": file,
            "oldText": "fn main() {\n    let oven = 1;\n}\n",
            "newText": "fn main() {\n    let kiln = 1;\n}\n",
        })
    );
    assert_eq!(call["locations"], json!([{"path": file, "line": 2}]));
    let options: Vec<&Value> =
        question["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(options, ["allow_once", "allow_always", "reject_once", "reject_always"]);
    let always = question["options"][1]["name"].as_str().unwrap();
    assert!(always.contains("replace_in_file") && always.contains("src/main.rs"), "{always}");

    let never = question["options"][3]["name"].as_str().unwrap();
    assert_eq!(never, "Reject, and refuse in this session: replace_in_file src/main.rs");

    // The call was shown before it was asked about, under the same name.
    let shown = editor.call("Edited src/main.rs");
    assert_eq!(shown["toolCallId"], call["toolCallId"]);
    assert_eq!((&shown["kind"], &shown["status"]), (&json!("edit"), &json!("completed")));
    assert_eq!(shown["content"], json!([diff]));
    let read = editor.call("Read src/main.rs");
    assert_eq!(
        (&read["kind"], &read["rawInput"]),
        (&json!("read"), &json!({"path": "src/main.rs"}))
    );
    let usage = editor.kind("usage_update").last().unwrap();
    assert!(usage["used"].as_u64() > Some(0) && usage["size"].as_u64() > Some(0), "{usage}");
    assert_eq!(usage["cost"]["currency"], "USD");
    let title = editor.kind("session_info_update").last().unwrap();
    assert_eq!(title["title"], "Rename oven to kiln");
    assert!(editor.leave().success());
}

#[test]
fn commands_come_after_the_answer_to_a_new_session() {
    let desk = Desk::new(PROJECT, []);
    let mut editor = desk.plain_editor();
    let id = editor.send("session/new", json!({"cwd": editor.root(), "mcpServers": []}));
    let first = editor.take_message();
    assert_eq!(first["id"], id);
    assert_eq!(first["result"]["modes"]["currentModeId"], "actor:strict");
    let second = editor.take_message();
    assert_eq!(second["params"]["update"]["sessionUpdate"], "available_commands_update");
    let names = second["params"]["update"]["availableCommands"].as_array().unwrap();
    let names: Vec<&str> = names.iter().map(|command| command["name"].as_str().unwrap()).collect();
    insta::assert_snapshot!(names.join(" "), @"compact undo redo diff continue rewind fork rename context cost jobs init");
}

#[test]
fn a_no_reaches_the_model_and_always_no_is_not_asked_again() {
    let replies = [edit(), edit(), edit(), edit(), Reply::text("I give up.")];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.plain_editor();
    editor.answers.extend([
        UserAnswer::Option("reject"),
        UserAnswer::Cancelled,
        UserAnswer::Option("reject_always"),
    ]);
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename it"), "end_turn");
    assert_eq!(editor.asked.len(), 3);
    assert!(desk.project.read("src/main.rs").contains("oven"));
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert_eq!(told.len(), 4);
    assert!(told[..3].iter().all(|answer| answer.text.contains("User rejected")), "{told:#?}");
    assert!(told[3].text.contains("the user refused it for this session"), "{:#?}", told[3]);
    assert_eq!(editor.call("Edit src/main.rs")["status"], "failed");
}

#[test]
fn a_remembered_yes_is_not_asked_again() {
    let again = json!({"path": "src/main.rs", "find": "kiln", "replace": "stove"});
    let replies = [edit(), Reply::call("replace_in_file", again), Reply::text("Done.")];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.plain_editor();
    editor.answers.push_back(UserAnswer::Option("allow_always"));
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename it twice"), "end_turn");
    assert_eq!(editor.asked.len(), 1);
    assert!(desk.project.read("src/main.rs").contains("stove"));
    // A change that was not asked about is shown with whole texts too.
    let calls = editor.updates.iter().map(|update| &update["update"]);
    let last = calls.rev().find(|update| update["status"] == "completed").unwrap();
    let diff = &last["content"][0];
    assert_eq!(diff["oldText"], "fn main() {\n    let kiln = 1;\n}\n");
    assert_eq!(diff["newText"], "fn main() {\n    let stove = 1;\n}\n");
}

#[test]
fn a_user_with_forms_gives_a_reason_and_picks_parts() {
    let project = "//- /a.txt\none\n2\n3\n4\n5\n6\n7\n8\n9\nten\n";
    let both = json!({"path": "a.txt", "content": "ONE\n2\n3\n4\n5\n6\n7\n8\n9\nTEN\n"});
    let write = || Reply::call("write_file", both.clone());
    let desk = Desk::new(project, [write(), write(), Reply::text("Done.")]);
    let mut editor = desk.able_editor();
    editor.answers.extend([UserAnswer::Option("reject"), UserAnswer::Option("allow_parts")]);
    editor.forms.extend([
        json!({"action": "accept", "content": {"reason": "only the last line"}}),
        json!({"action": "accept", "content": {"parts": ["a.txt#1"]}}),
    ]);
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Shout"), "end_turn");
    assert_eq!(desk.project.read("a.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\nTEN\n");
    let told = desk.model.calls()[1].tool_answers();
    assert!(told[0].text.contains("only the last line"), "{told:#?}");
    // What is left of the change was asked about once more.
    assert_eq!(editor.asked.len(), 3);
}

#[test]
fn the_question_of_a_sub_agent_reaches_the_editor() {
    let task = json!({"task": "Rename oven to kiln", "role": "actor"});
    let replies = [
        Reply::call("delegate", task),
        edit(),
        Reply::text("Renamed."),
        Reply::text("It is done."),
    ];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Have it renamed"), "end_turn");
    assert_eq!(editor.asked.len(), 1);
    assert_eq!(editor.asked[0]["sessionId"], session.as_str());
    assert!(desk.project.read("src/main.rs").contains("kiln"));
    assert_eq!(editor.words(), "It is done.");
}

#[test]
fn a_plan_and_thoughts_are_shown() {
    let steps = json!({"steps": [{"text": "Look", "status": "done"}, {"text": "Act", "status": "pending"}]});
    let replies =
        [Reply::default().and_thinking("Hm.").and_call("plan", steps), Reply::text("So be it.")];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Plan"), "end_turn");
    let plan = editor.kind("plan").last().unwrap();
    assert_eq!(plan["entries"][0]["status"], "completed");
    assert_eq!(plan["entries"][1]["content"], "Act");
    let thought = editor.kind("agent_thought_chunk").next().unwrap();
    assert_eq!(thought["content"]["text"], "Hm.");
}

#[test]
fn two_sessions_work_side_by_side() {
    let shell = |word: &str| Reply::call("bash", json!({"command": format!("echo {word}")}));
    let desk = Desk::new(PROJECT, []);
    let model = testkit::ModelServer::answering(move |request| {
        let said = request.body.to_string();
        let word = if said.contains("left") { "left" } else { "right" };
        match request.tool_answers().is_empty() {
            true => shell(word),
            false => Reply::text(&format!("It is {word}.")),
        }
    });
    let desk = Desk { model, ..desk };
    let mut editor = desk.plain_editor();
    let (one, other) = (editor.begin(), editor.begin());
    let first = editor.begin_saying(&one, "left");
    let second = editor.begin_saying(&other, "right");
    assert_eq!(
        (editor.stop_reason(second), editor.stop_reason(first)),
        ("end_turn".into(), "end_turn".into())
    );
    for (session, word) in [(&one, "left"), (&other, "right")] {
        let own = editor.updates.iter().filter(|update| update["sessionId"] == **session);
        let text: String = own.map(Value::to_string).collect();
        assert!(text.contains(&format!("It is {word}.")), "{text}");
    }
    assert!(text_of(&editor.call("Ran echo left")).contains("left"));
}
