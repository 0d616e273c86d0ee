//! Budgets of a run and of all its sub-agents: what is sent within them, and how the run ends.

use protocol::{LogEntry, SessionEvent, ToolResult};
use serde_json::json;
use testkit::model_server::{ModelCall, ReplyUsage, WireFormat};
use testkit::{Fault, Fixture, ModelServer, Reply};

use super::bench::{Bench, Model, answer_to};
use super::validity;
use crate::run::{Ran, command, finish};

const PROJECT: &str = "//- /notes.txt\nfirst\n";

fn used(reply: Reply, input: u64, output: u64) -> Reply {
    reply.using(Some(ReplyUsage { input, output, cache_read: 0 }))
}

/// A model that has others do everything: three at once, each of which looks around for ever.
fn delegating(input: u64, output: u64) -> ModelServer {
    let mut number = 0;
    ModelServer::answering(move |call: &ModelCall| {
        number += 1;
        let is_sub_agent = call.user_texts()[0].starts_with("Part");
        let reply = match is_sub_agent {
            true => Reply::call("glob", json!({"pattern": format!("*.{number}")})),
            false => (0..3).fold(Reply::text("I hand it on. "), |reply, part| {
                reply.and_call("delegate", json!({"task": format!("Part {part} of {number}")}))
            }),
        };
        used(reply, input, output)
    })
}

/// What each request has used, in tokens and dollars.
fn spent(log: &[LogEntry]) -> Vec<(u64, f64)> {
    let spent = log.iter().filter_map(|entry| entry.event.spent());
    spent.map(|(usage, cost)| (usage.total(), cost.unwrap_or_default())).collect()
}

/// The run has stopped at a limit and says how to raise it and how to go on.
#[track_caller]
fn assert_stopped(ran: &Ran, option: &str) {
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.contains(option), "{last}");
    assert!(last.contains("Go on with: toolkiln run --resume "), "{last}");
}

#[test]
fn a_budget_in_dollars_holds_for_all_sub_agents() {
    for format in WireFormat::ALL {
        let bench = Bench::new(PROJECT);
        let server = delegating(2_000, 100);
        let model = Model { format, server: &server };
        // A model whose price is known.
        let name = if format == WireFormat::Anthropic { "claude-sonnet-5-5" } else { "o3" };
        let ran = bench.ask(model, "Look", &["--model", name, "--budget-usd", "0.05"]);
        assert_stopped(&ran, "--budget-usd");
        let spent = spent(&bench.log(""));
        let (all, most) = spent
            .iter()
            .fold((0.0, 0.0_f64), |(all, most), (_, dollars)| (all + dollars, most.max(*dollars)));
        assert!(all > 0.0 && all <= 0.05 + most, "{format:?}: {all} of 0.05, one costs {most}");
        assert_eq!(spent.len(), server.calls().len(), "every request is in the log");
        server.calls().iter().for_each(validity::check);
    }
}

#[test]
fn a_budget_of_tokens_holds_for_sub_agents_that_work_at_once() {
    for format in WireFormat::ALL {
        let bench = Bench::new(PROJECT);
        let server = delegating(9_000, 500);
        let model = Model { format, server: &server };
        let ran = bench.ask(model, "Look", &["--budget-tokens", "120000"]);
        assert_stopped(&ran, "--budget-tokens");
        let all: u64 = spent(&bench.log("")).iter().map(|(tokens, _)| tokens).sum();
        assert!(all > 60_000 && all <= 120_000, "{format:?}: {all}");
        let again = bench.ask(model, "go on", &["--resume", "--budget-tokens", "120000"]);
        assert_eq!(again.code, 4, "the budget is that of the session");
    }
}

#[test]
fn the_time_limit_cuts_an_answer_and_the_session_can_be_resumed() {
    for format in WireFormat::ALL {
        let whole = Reply::text("I think that this is long");
        let stream = String::from_utf8(whole.render(format, 0)).unwrap();
        let bench = Bench::new(PROJECT);
        let fault = Fault::HangAfter(stream.find("this").unwrap());
        let server = ModelServer::start([whole.with_fault(fault)]);
        let model = Model { format, server: &server };
        let ran = bench.ask(model, "Think", &["--time-limit", "1s"]);
        assert_stopped(&ran, "--time-limit");
        server.watch().wait_for_abandoned(1);
        let [(tokens, _)] = spent(&bench.log(""))[..] else { panic!("one request has been sent") };
        assert!(tokens > 0, "it has not been for nothing");

        let server = ModelServer::start([Reply::text("I am here.")]);
        let model = Model { format, server: &server };
        let ran = bench.ask(model, "Are you there?", &["--resume", "--time-limit", "60s"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "I am here.\n"), "{}", ran.stderr);
        server.calls().iter().for_each(validity::check);
    }
}

#[test]
fn the_time_limit_cuts_a_command_and_its_result_says_so() {
    let bench = Bench::new(PROJECT);
    let format = WireFormat::Anthropic;
    let server = ModelServer::start([Reply::call("bash", json!({"command": "sleep 1000"}))]);
    let model = Model { format, server: &server };
    let ran = bench.ask(model, "Wait", &["--yes", "--time-limit", "1s"]);
    assert_stopped(&ran, "--time-limit");
    let results: Vec<ToolResult> = bench
        .log("")
        .into_iter()
        .filter_map(|entry| match entry.event {
            SessionEvent::CallEnded { result, .. } => Some(result),
            _ => None,
        })
        .collect();
    let [Err(error)] = &results[..] else { panic!("{results:?}") };
    assert!(error.message.starts_with("The time limit of 1 s cut this call"), "{error}");

    let server = ModelServer::start([Reply::text("It took too long.")]);
    let model = Model { format, server: &server };
    let ran = bench.ask(model, "And?", &["--resume"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It took too long.\n"), "{}", ran.stderr);
    let [request] = &server.calls()[..] else { panic!("one request") };
    validity::check(request);
    let told = request.tool_answers().remove(0);
    assert!(answer_to(request, &told.id).text.contains("The time limit of 1 s"), "{told:?}");
}

/// A run with a model that the catalogue does not know, and a configuration file.
fn unknown_model(config: &str, more: &[&str], server: &ModelServer) -> Ran {
    let project = Fixture::new(PROJECT);
    let config = Fixture::new(&format!("//- /toolkiln/config.toml\n{config}"));
    let mut command = command(Some(&config));
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.args(["run", "hello", "--provider", "ollama", "--model", "mystery"]);
    command.args(["--base-url", &server.base_url(), "--root"]).arg(project.root()).args(more);
    finish(&mut command)
}

#[test]
fn a_budget_in_dollars_without_a_price_is_an_error_that_says_how_to_give_one() {
    let server = ModelServer::start([Reply::text("Hello."), Reply::text("Hello.")]);
    let ran = unknown_model("", &["--budget-usd", "1"], &server);
    assert_eq!((ran.code, server.calls().len()), (2, 0));
    insta::assert_snapshot!(ran.stderr, @r#"
    toolkiln: the price of mystery is not known, so the budget in agent.cost_budget_usd (--budget-usd) cannot be kept. Use --budget-tokens instead, or give the price in dollars for a million tokens (0 if it is free) in the file that `toolkiln config path` names:

    [model]
    name = "mystery"

    [model.prices]
    input = …
    output = …
    "#);
    for config in [
        "[model.prices]\ninput = 1\noutput = 2\n",
        "[model]\nname = \"mystery\"\n[model.prices]\ninput = 0\noutput = 0\n",
    ] {
        let ran = unknown_model(config, &["--budget-usd", "1"], &server);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Hello.\n"), "{}", ran.stderr);
    }
    // Half of a price is none.
    let ran = unknown_model("[model.prices]\ninput = 1\n", &["--budget-usd", "1"], &server);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}
