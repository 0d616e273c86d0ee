//! `toolkiln config`: where values come from, and that keys stay secret.

use providers::catalogue::{ENDPOINTS, OFFLINE};
use testkit::{Fixture, ModelServer, Reply};

use crate::run::{Ran, command, finish};

const USER: &str = r#"
//- /toolkiln/config.toml
[model]
provider = "openai"
name = "small"
base_url = "http://me:password@localhost:8080/v1"

[model.prices]
input = 3

[agent]
turn_limit = 20
token_budget = 1000

[tools]
disabled = ["glob"]

[[policy.rules]]
decision = "allow"
tool = "edit_lines"
expires = 2099-01-01
"#;

const PROJECT: &str = r#"
//- /.toolkiln/config.toml
[agent]
turn_limit = 5
token_budget = 5000

[tools]
disabled = ["grep"]
"#;

/// Runs with these files and variables; the directory of the configuration is shown as `CONFIG`.
fn run(config: &Fixture, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let project = Fixture::new(PROJECT);
    let mut command = command(Some(config));
    command.envs(variables.iter().copied());
    let mut ran = finish(command.args(arguments).arg("--root").arg(project.root()));
    for (root, name) in [(config.root(), "CONFIG"), (project.root(), "PROJECT")] {
        for text in [&mut ran.stdout, &mut ran.stderr] {
            *text = text.replace(&root.display().to_string(), name);
        }
    }
    ran
}

#[test]
fn every_value_is_shown_with_where_it_came_from() {
    let variables = [
        ("TOOLKILN_MODEL", "large"),
        ("ANTHROPIC_API_KEY", "sk-secret"),
        ("OLLAMA_HOST", "box"),
        ("https_proxy", "http://me:password@proxy:3128"),
    ];
    let ran = run(&Fixture::new(USER), &variables, &["config", "show", "--effort", "high"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let limits = |line: &&str| !line.starts_with("limits.") || line.starts_with("limits.grep_r");
    let shown: Vec<_> = ran.stdout.lines().filter(limits).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    model.provider                  "openai"                        CONFIG/toolkiln/config.toml:2
    model.name                      "large"                         TOOLKILN_MODEL (not CONFIG/toolkiln/config.toml:3)
    model.base_url                  "http://***@localhost:8080/v1"  CONFIG/toolkiln/config.toml:4
    model.effort                    "high"                          --effort
    model.max_tokens                not set
    model.context_tokens            not set
    model.tools                     true                            default
    model.tool_list                 "auto"                          default
    model.images                    not set
    model.key_file                  not set
    model.key_env                   not set
    model.prices.input              not set                         (not CONFIG/toolkiln/config.toml:7)
    model.prices.output             not set
    model.prices.cache_read         not set
    model.prices.cache_write        not set
    agent.turn_limit                5                               .toolkiln/config.toml:2 (not CONFIG/toolkiln/config.toml:10)
    agent.token_budget              1000                            CONFIG/toolkiln/config.toml:11 (not .toolkiln/config.toml:3)
    agent.cost_budget_usd           not set
    agent.wall_time_s               not set
    agent.instructions              not set
    agent.project_instructions      true                            default
    tools.disabled                  ["glob","grep"]                 CONFIG/toolkiln/config.toml:14, .toolkiln/config.toml:6
    tools.network                   false                           default
    web.hosts                       []                              default
    web.network_allow               []                              default
    web.ask_unnamed                 false                           default
    web.search.provider             not set
    web.search.url                  not set
    web.search.key_env              not set
    web.search.model                not set
    sandbox.network_allow           []                              default
    sandbox.ignored                 "private"                       default
    sandbox.layer_gb                20                              default
    sandbox.layer_days              30                              default
    checks.after_edit               []                              default
    limits.grep_results             100                             default
    policy.mode                     "strict"                        default
    policy.commands                 "run"                           default
    policy.rules                    1 in all                        CONFIG/toolkiln/config.toml:16
    roles                           {}                              default
    terminal.notify                 "bell"                          default
    mcp.servers                     {}                              default
    editor.writes                   "unsaved"                       default
    telemetry.endpoint              not set
    telemetry.content               false                           default
    base_url of ollama              "http://box:11434/v1"           OLLAMA_HOST
    proxy                           "http://***@proxy:3128"         https_proxy
    key of anthropic                "set"                           ANTHROPIC_API_KEY
    "#);
    assert!(!ran.stdout.contains("password") && !ran.stdout.contains("secret"), "{}", ran.stdout);
}

#[test]
fn another_provider_on_the_command_line_gets_nothing_that_was_meant_for_the_first() {
    let flags = ["config", "show", "--json", "--provider", "anthropic", "--time-limit", "1h 30m"];
    let ran = run(&Fixture::new(USER), &[], &flags);
    let rows = ran.json();
    let row = |key: &str| {
        let found = rows.as_array().unwrap().iter().find(|row| row["key"] == key);
        found.unwrap_or_else(|| panic!("{key} in {rows}")).to_string()
    };
    let keys = ["model.provider", "model.base_url", "model.name", "agent.wall_time_s"];
    insta::assert_snapshot!(keys.map(row).join("\n"), @r#"
    {"key":"model.provider","value":"anthropic","sources":["--provider"],"overridden":[{"value":"openai","source":"CONFIG/toolkiln/config.toml:2"}]}
    {"key":"model.base_url","value":null,"sources":[],"overridden":[{"value":"http://***@localhost:8080/v1","source":"CONFIG/toolkiln/config.toml:4"}]}
    {"key":"model.name","value":null,"sources":[],"overridden":[{"value":"small","source":"CONFIG/toolkiln/config.toml:3"}]}
    {"key":"agent.wall_time_s","value":5400,"sources":["--time-limit"],"overridden":[]}
    "#);
    assert!(!ran.stdout.contains("password"), "{}", ran.stdout);
}

#[test]
fn a_wrong_value_is_refused_by_the_name_of_its_option_or_variable() {
    let config = Fixture::new("");
    let refused = |variables: &[(&str, &str)], flags: &[&str]| {
        let ran = run(&config, variables, &[&["config", "show"], flags].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{flags:?}");
        ran.stderr
    };
    let told = [
        refused(&[], &["--provider", "antropic"]),
        refused(&[], &["--effort", "hihg"]),
        refused(&[], &["--max-turns", "0"]),
        refused(&[], &["--budget-usd=-1"]),
        refused(&[], &["--base-url", "localhost"]),
        refused(&[("TOOLKILN_PROVIDER", "olama")], &[]),
    ];
    let names = ENDPOINTS.iter().map(|endpoint| endpoint.name).chain([OFFLINE]);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    let told = told.concat().replace(&names.join(", "), "PROVIDERS");
    insta::assert_snapshot!(told, @"
    toolkiln: --provider: unknown provider `antropic`, expected one of PROVIDERS; did you mean `anthropic`?
    toolkiln: --effort: unknown variant `hihg`, expected one of `low`, `medium`, `high`; did you mean `high`?
    toolkiln: --max-turns: invalid value: integer `0`, expected a whole number above 0
    toolkiln: --budget-usd: -1 is not an amount of dollars
    toolkiln: --base-url: an address begins with http:// or https://, such as http://localhost:8080/v1
    toolkiln: TOOLKILN_PROVIDER: unknown provider `olama`, expected one of PROVIDERS; did you mean `ollama`?
    ");
}

#[test]
fn a_server_that_is_given_by_its_address_gets_its_own_key_and_no_vendors() {
    let sent = |variables: &[(&str, &str)]| {
        let server = ModelServer::start([Reply::text("Hello.")]);
        let url = server.base_url();
        let arguments = ["run", "hi", "--base-url", &url, "--model", "some"];
        let config = Fixture::new("");
        let state = config.root().display().to_string();
        let variables = [variables, &[("XDG_STATE_HOME", &*state)]].concat();
        let ran = run(&config, &variables, &arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        server.calls()[0].header("authorization").map(str::to_owned)
    };
    let vendors = [("OPENAI_API_KEY", "sk-1"), ("ANTHROPIC_API_KEY", "sk-2")];
    assert_eq!(sent(&vendors), None);
    let own = [vendors[0], vendors[1], ("TOOLKILN_API_KEY", "sk-3")];
    assert_eq!(sent(&own).as_deref(), Some("Bearer sk-3"));
}

#[test]
fn a_key_file_is_used_only_if_no_other_user_can_read_it() {
    let shown = |mode: &str| {
        let file = format!("//- /toolkiln/keys.toml mode={mode}\nanthropic = \"sk-secret\"\n");
        let config = Fixture::new(&file);
        let ran = run(&config, &[], &["config", "show"]);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("secret"), "{}", ran.stdout);
        let doctor = run(&config, &[], &["doctor"]);
        assert!(!doctor.stdout.contains("secret"), "{}", doctor.stdout);
        let checked = doctor.stdout.lines().find(|line| line.contains(" keys ")).unwrap();
        let key = ran.stdout.lines().find(|line| line.starts_with("key of")).unwrap_or_default();
        let key = key.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("exit {} `{key}`\n{}{checked}", ran.code, ran.stderr)
    };
    insta::assert_snapshot!(shown("600"), @r#"
    exit 0 `key of anthropic "set" CONFIG/toolkiln/keys.toml:1`
    ok        keys           anthropic (CONFIG/toolkiln/keys.toml:1)
    "#);
    insta::assert_snapshot!(shown("644"), @"
    exit 2 ``
    toolkiln: others can read the keys in CONFIG/toolkiln/keys.toml (mode 0644): run `chmod 600 CONFIG/toolkiln/keys.toml`
    degraded  keys           others can read the keys in CONFIG/toolkiln/keys.toml (mode 0644): run `chmod 600 CONFIG/toolkiln/keys.toml`
    ");
}

#[test]
fn the_files_that_are_looked_at_are_named_even_if_one_is_broken() {
    let config = Fixture::new("//- /toolkiln/config.toml\nnonsense\n");
    let ran = run(&config, &[], &["config", "path"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ran.stdout, @"
    user     CONFIG/toolkiln/config.toml
    project  PROJECT/.toolkiln/config.toml
    keys     CONFIG/toolkiln/keys.toml  (not there)
    ");
    let config = Fixture::new("//- /toolkiln/config.toml\n[model]\nkey_file = \"/mine.toml\"\n");
    let ran = run(&config, &[], &["config", "path"]);
    assert!(ran.stdout.contains("keys     /mine.toml  (not there)"), "{}", ran.stdout);
}

#[test]
fn the_doctor_says_which_values_were_overridden() {
    let ran = run(&Fixture::new(USER), &[("TOOLKILN_MODEL", "large")], &["doctor"]);
    let line = ran.stdout.lines().find(|line| line.contains("configuration")).unwrap();
    insta::assert_snapshot!(line, @"ok        configuration  CONFIG/toolkiln/config.toml, .toolkiln/config.toml; model.name: TOOLKILN_MODEL instead of CONFIG/toolkiln/config.toml:3; model.prices.input: nothing instead of CONFIG/toolkiln/config.toml:7; agent.turn_limit: .toolkiln/config.toml:2 instead of CONFIG/toolkiln/config.toml:10; agent.token_budget: CONFIG/toolkiln/config.toml:11 instead of .toolkiln/config.toml:3");
}
