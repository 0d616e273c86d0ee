//! The habits of the house as commands: `cargo xtask test` before every commit, `cargo xtask bench`
//! whenever speed is in question.

// This is a program for developers: it starts processes, writes below `target` and prints.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod confined;
mod conformance;
mod differential;
mod fetch;
mod history;
mod house;
mod imports;
mod interop;
mod judges;
mod languages;
mod logins;
mod page;
mod postgres;
mod python;
mod record;
mod soak;
mod step;
mod symbols;
mod telemetry;
mod test;
mod vendor;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test                    Everything a change must pass: lints, tests, documentation, history, clients.
  test projects           Only the real projects of that, which are built and tested confined.
  test page               Only the tests of the page in a browser.
  bench front_ends [--quick]
                          Start, read and memory costs beside other MCP servers, against targets.
  bench agent [--quick]   Costs of a conversation with a scripted model, against targets.
  bench answers           Tokens of answers to everyday questions beside other agents, against targets.
  bench changes           Costs of changing files beside plain atomic writes, against targets.
  bench connected [--quick]
                          Foreign MCP servers, good and bad ones, and editors, against targets.
  bench exec [--quick]    Costs of confining a command beside bubblewrap, against targets.
  bench ranking [DIR] [--quick | --ablation | --time TREE | --choose]
                          Whether `search` leads to the files that real commits changed, beside BM25,
                          ripgrep and probe, against targets. DIR holds git mirrors (owner+name);
                          what it lacks is cloned. --ablation shows what each weight adds,
                          --time only measures times, on another tree,
                          --choose prints a new list of commits.
  bench search [DIR] [--quick]
                          Costs of finding things in the Linux source, or in DIR, beside ripgrep, git,
                          fd and ctags, against targets.
  bench team [--quick | --debug]
                          Appends and memory of a service for a team, on SQLite and PostgreSQL;
                          --debug only tries the measurements.
  bench terminal [--quick | --debug]
                          Costs of the chat at a terminal: start, echo of keys, long answers, stopping,
                          against targets; --debug only tries the measurements.
  bench web [--quick | --debug]
                          Costs of the web service and its page in Chromium beside opencode, against targets;
                          --debug only tries the measurements.
  interop                 The MCP server under other people's SDKs, MCP servers of others under us, ACP clients.
  interop firefox         A whole task on the page in Firefox.
  interop hosts           A task by Claude Code, Codex, gemini-cli and opencode, with a scripted model; and our
                          questions in the first two.
  interop telemetry       Traces of real conversations in Arize Phoenix, and as OpenTelemetry's types read them.
  interop languages       Imports of C# beside Roslyn, renames and impacts beside language servers.
  record [--release]      Plays a conversation at a terminal and draws it as docs/chat.svg.
  soak [--minutes N]      Made-up command lines for an hour, or N minutes; then 5,000 killed executors.
  soak replicas [--seconds N] [--sessions N] [--watchers N] [--debug]
                          Three replicas of `toolkiln serve` on one PostgreSQL, 200 sessions and 1,000 watchers for a
                          minute, or N seconds, then as long with a replica killed every few seconds.
  soak store [--runs N]   Sessions in PostgreSQL under random faults, 200 times or N, each with its history checked.
  symbols                 Definitions in many packages beside ctags and each language's own parser.
  vendor [--update]       Compares the page's libraries with their packages, or takes the listed versions.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["test"] => test::run(),
        ["test", "projects"] => test::projects(),
        ["test", "page"] => test::page(),
        ["vendor"] => vendor::run(vendor::Purpose::Check),
        ["vendor", "--update"] => vendor::run(vendor::Purpose::Update),
        [confined::STORY_COMMAND, kind, root, binary, state] => {
            confined::story_in(kind, root, binary, state)
        }
        ["bench", "front_ends"] => bench::front_ends(bench::Effort::Full),
        ["bench", "front_ends", "--quick"] => bench::front_ends(bench::Effort::Quick),
        ["bench", "agent"] => bench::agent(bench::Effort::Full),
        ["bench", "agent", "--quick"] => bench::agent(bench::Effort::Quick),
        ["bench", "answers"] => bench::answers(),
        ["bench", "changes"] => bench::changes(),
        ["bench", "connected"] => bench::connected(bench::Effort::Full),
        ["bench", "connected", "--quick"] => bench::connected(bench::Effort::Quick),
        ["bench", "exec"] => bench::exec(bench::Effort::Full),
        ["bench", "exec", "--quick"] => bench::exec(bench::Effort::Quick),
        ["bench", "ranking"] => bench::ranking(None, bench::Effort::Full),
        ["bench", "ranking", "--quick"] => bench::ranking(None, bench::Effort::Quick),
        ["bench", "ranking", directory] if !directory.starts_with('-') => {
            bench::ranking(Some(directory), bench::Effort::Full)
        }
        ["bench", "ranking", directory, "--quick"] => {
            bench::ranking(Some(directory), bench::Effort::Quick)
        }
        ["bench", "ranking", directory, "--ablation"] => bench::ablate_ranking(directory),
        ["bench", "ranking", directory, "--time", tree] => bench::time_ranking(directory, tree),
        ["bench", "ranking", directory, "--choose"] => bench::choose_ranking_cases(directory),
        ["bench", "search"] => bench::search(None, bench::Effort::Full),
        ["bench", "search", "--quick"] => bench::search(None, bench::Effort::Quick),
        ["bench", "search", directory] if !directory.starts_with('-') => {
            bench::search(Some(directory), bench::Effort::Full)
        }
        ["bench", "search", directory, "--quick"] => {
            bench::search(Some(directory), bench::Effort::Quick)
        }
        ["bench", "team"] => bench::team(bench::Effort::Full, "release"),
        ["bench", "team", "--quick"] => bench::team(bench::Effort::Quick, "release"),
        ["bench", "team", "--debug"] => bench::team(bench::Effort::Quick, "debug"),
        ["bench", "terminal"] => bench::terminal(bench::Effort::Full, "release"),
        ["bench", "terminal", "--quick"] => bench::terminal(bench::Effort::Quick, "release"),
        ["bench", "terminal", "--debug"] => bench::terminal(bench::Effort::Quick, "debug"),
        ["bench", "web"] => bench::web(bench::Effort::Full, "release"),
        ["bench", "web", "--quick"] => bench::web(bench::Effort::Quick, "release"),
        ["bench", "web", "--debug"] => bench::web(bench::Effort::Quick, "debug"),
        ["record"] => record::run("debug"),
        ["record", "--release"] => record::run("release"),
        ["interop"] => interop::run(),
        ["interop", "firefox"] => interop::firefox(),
        ["interop", "languages"] => languages::servers(),
        ["symbols"] => languages::symbols(),
        ["interop", "hosts"] => interop::hosts(),
        ["interop", "telemetry"] => telemetry::interop(),
        ["soak"] => soak::run(soak::DEFAULT_MINUTES),
        ["soak", "--minutes", minutes] if minutes.parse::<u64>().is_ok() => {
            soak::run(minutes.parse().unwrap_or(soak::DEFAULT_MINUTES))
        }
        ["soak", "replicas", ref options @ ..] => {
            soak::replicas::Load::parse(options).and_then(|load| soak::replicas::run(&load))
        }
        ["soak", "store"] => soak::store(soak::DEFAULT_RUNS),
        ["soak", "store", "--runs", runs] if runs.parse::<u64>().is_ok() => {
            soak::store(runs.parse().unwrap_or(soak::DEFAULT_RUNS))
        }
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
