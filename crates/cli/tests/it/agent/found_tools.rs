//! What was found stays found: after a crash, with other models, without the message that told of it,
//! and only as far as the role goes.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fault, Fixture, ModelServer, Reply};

use super::bench::{Bench, Model, answer_to};
use super::on_demand::{finder, knows};
use super::size::EVERYTHING;
use super::validity;
use crate::run::{Ran, fed, finish, run_with_state};

/// Tools are found at any address, or all are listed.
fn config(tool_list: &str) -> Fixture {
    Fixture::new(&format!("//- /toolkiln/config.toml\n[model]\ntool_list = \"{tool_list}\"\n"))
}

fn asking(bench: &Bench, model: Model<'_>, config: &Fixture, more: &[&str]) -> Command {
    let mut command = bench.asking(model, "Move the manifest");
    command.env("XDG_CONFIG_HOME", config.root()).args(more);
    command
}

fn ask(bench: &Bench, model: Model<'_>, more: &[&str]) -> Ran {
    let ran = finish(&mut asking(bench, model, &config("on_demand"), more));
    assert_eq!(ran.code, 0, "{:?}: {}", model.format, ran.stderr);
    ran
}

fn find(format: WireFormat, query: &str) -> Reply {
    Reply::call(finder(format), json!({"query": query}))
}

fn move_it() -> Reply {
    Reply::call("move_file", json!({"from": "Cargo.toml", "to": "Moved.toml"}))
}

fn list(call: &ModelCall) -> Vec<String> {
    call.body["tools"].as_array().unwrap().iter().map(Value::to_string).collect()
}

/// The conversation without the marks that move with its end.
fn said(call: &ModelCall) -> Vec<String> {
    let key = if call.format == WireFormat::Responses { "input" } else { "messages" };
    let mut items = call.body[key].clone();
    for item in items.as_array_mut().unwrap() {
        let blocks = item["content"].as_array_mut().into_iter().flatten();
        for block in blocks.filter_map(Value::as_object_mut) {
            block.shift_remove("cache_control");
        }
    }
    items.as_array().unwrap().iter().map(Value::to_string).collect()
}

#[track_caller]
fn begins_with(after: &[String], before: &[String]) {
    let common = after.iter().zip(before).take_while(|(one, other)| one == other).count();
    assert_eq!(common, before.len(), "{:#?}\n{:#?}", before.get(common), after.get(common));
}

/// Everything that a provider's cache may have kept of `before` is sent again.
#[track_caller]
fn is_continued(before: &ModelCall, after: &ModelCall) {
    assert_eq!(after.system(), before.system());
    begins_with(&list(after), &list(before));
    begins_with(&said(after), &said(before));
}

#[test]
fn what_was_found_before_a_crash_is_listed_and_works_after_it() {
    for format in WireFormat::ALL {
        let bench = Bench::new(EVERYTHING);
        let server =
            ModelServer::start([find(format, "move_file"), Reply::fault(Fault::HangBefore)]);
        let on_demand = config("on_demand");
        let mut command = asking(&bench, Model { format, server: &server }, &on_demand, &["--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        server.watch().wait_for_calls(2);
        child.kill().unwrap();
        child.wait().unwrap();

        let again = ModelServer::start([move_it(), Reply::text("Moved.")]);
        ask(&bench, Model { format, server: &again }, &["--yes", "--resume"]);
        let calls = again.calls();
        calls.iter().for_each(validity::check);
        assert!(calls.iter().all(|call| knows(call, "move_file")), "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
        begins_with(&list(&calls[0]), &list(&server.calls()[1]));
        is_continued(&calls[0], &calls[1]);
    }
}

#[test]
fn a_call_that_a_crash_kept_from_ending_has_found_nothing() {
    let format = WireFormat::Anthropic;
    let bench = Bench::new(EVERYTHING);
    let half = find(format, "move_file").with_fault(Fault::HangAfter(600));
    let server = ModelServer::start([half]);
    let on_demand = config("on_demand");
    let mut command = asking(&bench, Model { format, server: &server }, &on_demand, &["--yes"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    server.watch().wait_for_calls(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let again = ModelServer::start([Reply::text("Hello.")]);
    ask(&bench, Model { format, server: &again }, &["--resume"]);
    let calls = again.calls();
    calls.iter().for_each(validity::check);
    assert!(!knows(&calls[0], "move_file"));
}

/// Each provider tells the model of the tool in its own way, whoever has found it.
#[test]
fn what_was_found_is_known_to_every_model_that_follows() {
    use WireFormat::{Anthropic, Chat, Responses};
    for first in WireFormat::ALL {
        let bench = Bench::new(EVERYTHING);
        let server = ModelServer::start([find(first, "move_file"), Reply::text("Found.")]);
        ask(&bench, Model { format: first, server: &server }, &[]);
        let before = server.calls();
        for (format, tool_list) in [
            (Anthropic, "on_demand"),
            (Chat, "on_demand"),
            (Chat, "all"),
            (Responses, "on_demand"),
            (Responses, "all"),
            (Anthropic, "auto"),
            (first, "on_demand"),
        ] {
            let server = ModelServer::start([Reply::text("I know.")]);
            let model = Model { format, server: &server };
            let config = config(tool_list);
            let ran = finish(&mut asking(&bench, model, &config, &["--resume"]));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            let calls = server.calls();
            calls.iter().for_each(validity::check);
            let [call] = &calls[..] else { panic!("one request") };
            assert!(knows(call, "move_file"), "{first:?} {format:?} {tool_list}");
            // At an address that is not the provider's own, "auto" lists everything too.
            let lists_all = tool_list != "on_demand";
            assert_eq!(knows(call, "undo"), lists_all, "{first:?} {format:?} {tool_list}");
            let told = call.system().contains("More tools");
            assert_eq!(told, !lists_all, "{first:?} {format:?} {tool_list}");
            if format == first && !lists_all {
                is_continued(&before[1], call);
            }
        }
    }
}

/// A chat with lines that are fed to it, in which models of all formats can be named.
fn chat(bench: &Bench, server: &ModelServer, more: &[&str], lines: &str) -> Ran {
    let config = config("on_demand");
    let mut command = bench.chat();
    command.env("XDG_CONFIG_HOME", config.root());
    for (variable, value) in [("ANTHROPIC", server.address()), ("OPENAI", server.base_url())] {
        let value = if value.starts_with("http") { value } else { format!("http://{value}") };
        command.env(format!("{variable}_BASE_URL"), value);
        command.env(format!("{variable}_API_KEY"), "test-key");
    }
    let ran = fed(command.args(["--yes"]).args(more), lines);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran
}

#[test]
fn what_was_found_is_known_after_the_model_was_changed_and_changed_back() {
    let server = ModelServer::start([
        find(WireFormat::Anthropic, "move_file"),
        Reply::text("Found."),
        Reply::text("I am another."),
        find(WireFormat::Responses, "undo"),
        Reply::text("I have found one too."),
        move_it(),
        Reply::text("Moved."),
    ]);
    let bench = Bench::new(EVERYTHING);
    let lines = "find it\n/model openai-chat:gpt-5.5\nwho?\n/model openai:gpt-5.5\nwho?\n\
                 /model anthropic:claude-sonnet-5-5\nmove it\n";
    chat(&bench, &server, &["--provider", "anthropic"], lines);
    let calls = server.calls();
    calls.iter().for_each(validity::check);
    let known: Vec<_> =
        calls.iter().map(|call| (knows(call, "move_file"), knows(call, "undo"))).collect();
    let (none, one, both) = ((false, false), (true, false), (true, true));
    assert_eq!(known, [none, one, one, one, both, both, both]);
    assert!(bench.project.path("Moved.toml").exists());
    is_continued(&calls[1], &calls[5]);
    is_continued(&calls[5], &calls[6]);
}

#[test]
fn what_was_found_is_listed_when_the_message_that_told_of_it_is_left_out() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            find(format, "move_file"),
            Reply::text("Found."),
            Reply::text(&"I have thought about it. ".repeat(200)),
            Reply::text("They looked for a tool."),
            find(format, "move_file"),
            find(format, "undo"),
            move_it(),
            Reply::text("Moved."),
        ]);
        let bench = Bench::new(EVERYTHING);
        let long = "and think about all of it ".repeat(200);
        let lines = format!("find it {long}\nmore {long}\n/compact\nmove it\n");
        let provider = match format {
            WireFormat::Anthropic => "anthropic",
            WireFormat::Chat => "openai-chat",
            WireFormat::Responses => "openai",
        };
        let ran = chat(&bench, &server, &["--provider", provider], &lines);
        let calls = server.calls();
        let [.., first, again, other, last] = &calls[..] else { panic!("{}", ran.stderr) };
        assert_eq!(calls.len(), 8, "{}", ran.stderr);
        calls.iter().for_each(validity::check);
        // The summary, after the instructions where these are a message.
        let messages = if format == WireFormat::Chat { 2 } else { 1 };
        assert_eq!(said(first).len(), messages, "{format:?}: {:#?}", said(first));
        for call in [first, again, other, last] {
            assert!(list(call).iter().any(|tool| tool.contains("move_file")), "{format:?}");
        }
        // What is listed stays as it is listed, also when it is found once more.
        is_continued(first, again);
        is_continued(again, other);
        is_continued(other, last);
        assert!(knows(other, "undo"), "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}

/// Room is made between two requests of one turn; the second must not refer to what the first told.
#[test]
fn what_was_found_is_listed_when_room_is_made_in_the_middle_of_a_turn() {
    let text = "a line that takes its room in the conversation\n".repeat(200);
    let files: String = (0..6).map(|at| format!("//- /long{at}.txt\n{text}")).collect();
    for format in WireFormat::ALL {
        let bench = Bench::new(&format!("{EVERYTHING}{files}"));
        let read = |at: usize| Reply::call("read_file", json!({"path": format!("long{at}.txt")}));
        let mut script = vec![find(format, "move_file")];
        script.extend((0..6).map(read));
        script.extend([move_it(), Reply::text("Moved.")]);
        let mut script = script.into_iter();
        let server = ModelServer::answering(move |request| match request.tools().is_empty() {
            true => Reply::text("They looked for a tool and read."),
            false => script.next().unwrap_or_else(|| Reply::text("It is over.")),
        });
        let config = Fixture::new(
            "//- /toolkiln/config.toml\n[model]\ntool_list = \"on_demand\"\ncontext_tokens = 16000\nmax_tokens = 1000\n",
        );
        let model = Model { format, server: &server };
        let ran = finish(&mut asking(&bench, model, &config, &["--yes"]));
        assert_eq!(ran.code, 0, "{format:?}: {}", ran.stderr);
        let mut calls = server.calls();
        calls.iter().for_each(validity::check);
        calls.retain(|call| !call.tools().is_empty());
        let searches = |call: &ModelCall| {
            let said = said(call).concat();
            said.contains("\"tool_reference\"")
                || said.contains("\"tool_search_call\"")
                || said.contains("\"name\":\"find_tools\"")
        };
        let searched: Vec<bool> = calls.iter().map(searches).collect();
        assert!(searched[1] && !searched.last().unwrap(), "{format:?}: {searched:?}");
        assert!(calls[1..].iter().all(|call| knows(call, "move_file")), "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}

/// The instructions name the tool, although some providers have a kind of call of their own for it.
#[test]
fn a_search_by_the_name_of_the_tool_finds_too() {
    for format in WireFormat::ALL {
        let search = Reply::call("find_tools", json!({"query": "move_file"}));
        let server = ModelServer::start([search, move_it(), Reply::text("Moved.")]);
        let bench = Bench::new(EVERYTHING);
        ask(&bench, Model { format, server: &server }, &["--yes"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(knows(&calls[1], "move_file") && knows(&calls[2], "move_file"), "{format:?}");
        is_continued(&calls[1], &calls[2]);
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}

#[test]
fn two_searches_at_once_find_both() {
    for format in WireFormat::ALL {
        let both = find(format, "move_file").and_call(finder(format), json!({"query": "undo"}));
        let server = ModelServer::start([both, move_it(), Reply::text("Moved.")]);
        let bench = Bench::new(EVERYTHING);
        ask(&bench, Model { format, server: &server }, &["--yes"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(knows(&calls[1], "move_file") && knows(&calls[1], "undo"), "{format:?}");
        is_continued(&calls[0], &calls[1]);
        is_continued(&calls[1], &calls[2]);
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}

/// The tokens of all tools, as the chat has told them each time it was asked: `1.6k`.
fn tokens_of_tools(ran: &Ran) -> Vec<f64> {
    let rows = ran.stderr.lines().filter_map(|line| line.trim_start().strip_prefix("tools "));
    let thousands = rows.filter_map(|row| row.split_whitespace().next()?.strip_suffix('k'));
    thousands.map(|number| number.parse::<f64>().unwrap() * 1000.0).collect()
}

#[test]
fn what_was_found_is_counted_among_the_tools() {
    let server = ModelServer::start([
        find(
            WireFormat::Chat,
            "move_file undo redo git_log git_diff git_status git_commit git_push",
        ),
        Reply::text("Found."),
    ]);
    let bench = Bench::new(EVERYTHING);
    let lines = "/context\nfind them\n/context\n";
    let ran = chat(&bench, &server, &["--provider", "openai-chat"], lines);
    let calls = server.calls();
    let [before, after] = &tokens_of_tools(&ran)[..] else { panic!("{}", ran.stderr) };
    // About four bytes a token.
    let added = (list(&calls[1]).concat().len() - list(&calls[0]).concat().len()) as f64;
    let told = (after - before) * 4.0;
    assert!((added / 2.0..added * 2.0).contains(&told), "{before} {after} {added}");
    assert_eq!(list(&calls[1]).len() - list(&calls[0]).len(), 8, "all that were named");
}

/// A provider that shows nothing but the found tools would show that there are none.
#[test]
fn a_search_that_is_made_again_finds_the_same() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            find(format, "move_file"),
            find(format, "move_file"),
            Reply::text("Twice."),
        ]);
        let bench = Bench::new(EVERYTHING);
        ask(&bench, Model { format, server: &server }, &[]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(said(&calls[2]).last().unwrap().contains("move_file"), "{format:?}");
        is_continued(&calls[1], &calls[2]);
    }
}

#[test]
fn a_tool_of_the_project_can_be_found_too_as_long_as_it_is_trusted() {
    const FILE: &str = ".toolkiln/tools/greet.toml";
    let text = "name = \"greet\"\ndescription = \"Greet a user by name.\"\non_demand = true\n\
                command = [\"echo\", \"hello {who}\"]\n[parameters.who]\ntype = \"string\"\n";
    for format in WireFormat::ALL {
        let bench = Bench::new(&format!("{EVERYTHING}//- /{FILE}\n{text}"));
        let trusted = run_with_state(&bench.project, &["tools", "trust", FILE]);
        assert_eq!(trusted.code, 0, "{}", trusted.stderr);
        let greet = || Reply::call("greet", json!({"who": "Ada"}));
        let server = ModelServer::start([find(format, "greet"), greet(), Reply::text("Greeted.")]);
        ask(&bench, Model { format, server: &server }, &["--yes"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        let known: Vec<bool> = calls.iter().map(|call| knows(call, "greet")).collect();
        assert_eq!(known, [false, true, true], "{format:?}");
        assert!(calls[0].system().contains("greet"), "{format:?}");
        let told = calls[2].tool_answers().last().unwrap().text.clone();
        let is_run = told.contains("hello Ada") || told.contains("SANDBOX_UNAVAILABLE");
        assert!(is_run, "{format:?}: {told}");
        is_continued(&calls[0], &calls[1]);

        bench.project.write(FILE, text.replace("hello", "goodbye"));
        let server = ModelServer::start([greet(), Reply::text("It is not trusted.")]);
        ask(&bench, Model { format, server: &server }, &["--yes", "--resume"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(calls.iter().all(|call| !knows(call, "greet")), "{format:?}");
        let told = calls[1].tool_answers().last().unwrap().text.clone();
        assert!(told.contains("not trusted"), "{format:?}: {told}");
    }
}

#[test]
fn a_sub_agent_finds_for_itself_alone() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            Reply::call("delegate", json!({"task": "Move the manifest", "role": "actor"})),
            find(format, "move_file"),
            move_it(),
            Reply::text("I have moved it."),
            Reply::text("Moved."),
        ]);
        let bench = Bench::new(EVERYTHING);
        ask(&bench, Model { format, server: &server }, &["--yes"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        let known: Vec<bool> = calls.iter().map(|call| knows(call, "move_file")).collect();
        assert_eq!(known, [false, false, true, true, false], "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
        is_continued(&calls[0], &calls[4]);
        is_continued(&calls[2], &calls[3]);
    }
}

#[test]
fn a_tool_that_the_project_switches_off_is_neither_listed_nor_found_nor_run() {
    for format in WireFormat::ALL {
        let bench = Bench::new(EVERYTHING);
        let found = ModelServer::start([find(format, "move_file"), Reply::text("Found.")]);
        ask(&bench, Model { format, server: &found }, &["--yes"]);
        assert!(knows(&found.calls()[1], "move_file"), "{format:?}");
        let off = "[tools]\ndisabled = [\"move_file\"]\n";
        bench.project.write(".toolkiln/config.toml", off);
        let server =
            ModelServer::start([find(format, "move_file"), move_it(), Reply::text("It is off.")]);
        ask(&bench, Model { format, server: &server }, &["--yes", "--resume"]);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(calls.iter().all(|call| !knows(call, "move_file")), "{format:?}");
        assert!(!calls[0].system().contains("move_file"), "{format:?}");
        let refused = calls[2].tool_answers().last().unwrap().text.clone();
        assert!(refused.contains("switched off") || refused.contains("disabled"), "{refused}");
        assert!(bench.project.path("Cargo.toml").exists(), "{format:?}");
    }
}

#[test]
fn a_role_without_the_right_takes_away_what_was_found_and_another_gives_it_back() {
    for format in WireFormat::ALL {
        let bench = Bench::new(EVERYTHING);
        let found = ModelServer::start([find(format, "move_file git_log"), Reply::text("Found.")]);
        ask(&bench, Model { format, server: &found }, &["--yes"]);
        let mut replies = vec![move_it(), find(format, "move_file"), Reply::text("I may not.")];
        let planner = ModelServer::start(replies.clone());
        let model = Model { format, server: &planner };
        ask(&bench, model, &["--yes", "--resume", "--role", "planner"]);
        let calls = planner.calls();
        calls.iter().for_each(validity::check);
        for call in &calls {
            assert!(!knows(call, "move_file"), "{format:?}: {:#}", call.body);
            assert!(knows(call, "git_log"), "{format:?}: {:#}", call.body);
        }
        let refused = answer_to(&calls[1], &calls[1].tool_answers().last().unwrap().id.clone());
        assert!(refused.text.contains("PERMISSION_DENIED") || refused.text.contains("role"));
        assert!(bench.project.path("Cargo.toml").exists(), "{format:?}");

        replies.remove(1);
        let actor = ModelServer::start(replies);
        let model = Model { format, server: &actor };
        ask(&bench, model, &["--yes", "--resume", "--role", "actor"]);
        let calls = actor.calls();
        calls.iter().for_each(validity::check);
        assert!(calls.iter().all(|call| knows(call, "move_file")), "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}
