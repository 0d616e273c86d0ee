//! Servers as other hosts write them down: Claude Code and Desktop, Cursor, Gemini, VS Code, Codex.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_client::{ServerConfig, ServerName};
use protocol::visible;
use serde_json::{Map, Value};

/// A server in a file of another host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundServer {
    pub(crate) name: ServerName,
    pub(crate) config: ServerConfig,
    /// What the user has to know or do.
    pub(crate) notes: Vec<String>,
}

/// What becomes of values that the file gives to variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// They stay where they are: it is that file that is used.
    Kept,
    /// They are not copied, since they may be secret; the user's environment has to have them.
    Named,
}

/// Where other hosts keep their servers, for a user with this home directory and project.
pub(crate) fn usual_files(home: &Path, project: &Path) -> Vec<PathBuf> {
    let at_home = [
        ".claude.json",
        ".config/Claude/claude_desktop_config.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".config/Code/User/mcp.json",
        ".codex/config.toml",
    ];
    let in_project = [".cursor/mcp.json", ".gemini/settings.json", ".vscode/mcp.json"];
    let at_home = at_home.iter().map(|file| home.join(file));
    at_home.chain(in_project.iter().map(|file| project.join(file))).collect()
}

/// All servers in the text of a file, whichever host it belongs to.
pub(crate) fn read(text: &str, values: Values) -> Result<Vec<FoundServer>, String> {
    let file: Value = match serde_json::from_str(&without_comments(text)) {
        Ok(file) => file,
        Err(error) => match text.parse::<toml::Table>() {
            Ok(table) => serde_json::to_value(table).map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("it is neither valid JSON nor TOML: {error}")),
        },
    };
    let keys = ["mcpServers", "servers", "mcp_servers"];
    let servers = keys.iter().find_map(|key| file[key].as_object());
    let Some(servers) = servers else {
        return Err("it names no servers (mcpServers, servers or mcp_servers)".to_owned());
    };
    servers.iter().map(|(name, server)| found(name, server, values)).collect()
}

fn found(name: &str, server: &Value, values: Values) -> Result<FoundServer, String> {
    let shown = visible(name);
    let Value::Object(server) = server else { return Err(format!("{shown} is not an object")) };
    let mut notes = Vec::new();
    let own = plain_name(name)?;
    if own.as_str() != name {
        notes.push(format!("`{shown}` is called `{own}` here"));
    }
    let text =
        |keys: &[&str]| keys.iter().find_map(|key| server.get(*key)?.as_str()).map(in_project);
    let list = |keys: &[&str]| {
        let list = keys.iter().find_map(|key| server.get(*key)?.as_array());
        list.map(|list| list.iter().filter_map(Value::as_str).map(in_project).collect::<Vec<_>>())
    };
    let seconds = ["tool_timeout_sec"].iter().find_map(|key| server.get(*key)?.as_u64());
    // Gemini counts milliseconds.
    let milliseconds = server.get("timeout").and_then(Value::as_u64).map(|time| time / 1000);
    let usual = ServerConfig::default();
    let (env, set) = variables(server, values, &mut notes);
    let config = ServerConfig {
        command: text(&["command"]),
        args: list(&["args"]).unwrap_or_default(),
        url: text(&["url", "httpUrl", "serverUrl"]),
        token_env: text(&["bearer_token_env_var"]),
        env,
        set,
        timeout: seconds.or(milliseconds).filter(|time| *time > 0).unwrap_or(usual.timeout),
        tools: list(&["includeTools", "enabled_tools", "tools"]),
        network: server.get("network").and_then(Value::as_bool).unwrap_or(false),
        project: server.get("project").and_then(Value::as_bool),
        read: list(&["read"]).unwrap_or_default(),
        ..usual
    };
    if let Some(mistake) = config.mistake() {
        return Err(format!("{shown}: {mistake}"));
    }
    if server.contains_key("headers") || server.contains_key("http_headers") {
        notes.push("its headers are not copied".to_owned());
    }
    let is_fetched = matches!(config.command.as_deref(), Some("npx" | "uvx" | "bunx" | "pnpm"));
    if is_fetched && !config.network {
        notes.push(
            "its program is fetched when it starts: set `network = true` if it is not in your cache"
                .to_owned(),
        );
    }
    Ok(FoundServer { name: own, config, notes })
}

/// The nearest name that we take.
pub(crate) fn plain_name(name: &str) -> Result<ServerName, String> {
    if let Ok(name) = ServerName::try_from(name.to_owned()) {
        return Ok(name);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let words: Vec<&str> = name.split(|c| !is_plain(c)).filter(|word| !word.is_empty()).collect();
    let mut plain = words.join("-");
    plain.truncate(24);
    ServerName::try_from(plain.trim_end_matches('-').to_owned())
}

/// Where other hosts have a variable for the project.
fn in_project(text: &str) -> String {
    ["${workspaceFolder}", "${workspaceRoot}", "${CLAUDE_PROJECT_DIR}", "${PWD}"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, "{project}"))
}

/// The names of variables that are passed, and those that have a value in the file.
fn variables(
    server: &Map<String, Value>,
    values: Values,
    notes: &mut Vec<String>,
) -> (Vec<String>, BTreeMap<String, String>) {
    let (mut env, mut set) = (Vec::new(), BTreeMap::new());
    let passed = server.get("env_vars").and_then(Value::as_array).into_iter().flatten();
    env.extend(passed.filter_map(Value::as_str).map(str::to_owned));
    for (name, value) in server.get("env").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let is_reference = [format!("${{{name}}}"), format!("${name}"), format!("${{env:{name}}}")]
            .contains(&value);
        match values {
            _ if is_reference => env.push(name.clone()),
            Values::Kept => _ = set.insert(name.clone(), value),
            Values::Named => {
                notes.push(format!(
                    "the value of {} is not copied: set the variable in your environment",
                    visible(name)
                ));
                env.push(name.clone());
            }
        }
    }
    (env, set)
}

/// JSON as some hosts write it, without comments and commas before an end.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let (mut in_text, mut is_escaped) = (false, false);
    while let Some(c) = letters.next() {
        match (in_text, c, letters.peek()) {
            (true, _, _) if is_escaped => is_escaped = false,
            (true, '\\', _) => is_escaped = true,
            (_, '"', _) => in_text = !in_text,
            (false, '/', Some('/')) => {
                while letters.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                for c in letters.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let end = kept.trim_end().len();
                if kept[..end].ends_with(',') {
                    kept.truncate(end - 1);
                }
            }
            _ => {}
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, values: Values) -> String {
        match read(text, values) {
            Err(why) => format!("error: {why}"),
            Ok(found) => {
                let one = |found: FoundServer| {
                    let config = toml::to_string(&found.config).unwrap();
                    let notes: Vec<String> =
                        found.notes.iter().map(|note| format!("# {note}\n")).collect();
                    format!("[{}]\n{config}{}", found.name, notes.concat())
                };
                found.into_iter().map(one).collect::<Vec<_>>().join("")
            }
        }
    }

    #[test]
    fn claude_and_cursor_files_are_read() {
        let text = r#"{"mcpServers": {
            "my notes": {"command": "npx", "args": ["-y", "@a/b", "${workspaceFolder}/x"],
                         "env": {"TOKEN": "secret", "HOST": "${HOST}"}},
            "remote": {"type": "http", "url": "https://example.org/mcp", "headers": {"A": "b"}}
        }}"#;
        insta::assert_snapshot!(told(text, Values::Named), @r#"
        [my-notes]
        command = "npx"
        args = ["-y", "@a/b", "{project}/x"]
        env = ["TOKEN", "HOST"]
        # `my notes` is called `my-notes` here
        # the value of TOKEN is not copied: set the variable in your environment
        # its program is fetched when it starts: set `network = true` if it is not in your cache
        [remote]
        url = "https://example.org/mcp"
        # its headers are not copied
        "#);
        assert!(!told(text, Values::Named).contains("secret"));
        assert!(told(text, Values::Kept).contains("TOKEN = \"secret\""));
    }

    #[test]
    fn vs_code_codex_and_gemini_files_are_read() {
        let code = "{\n// mine\n\"servers\": {\"a\": {\"command\": \"x//y\", /* z */ \"args\": [\"1\",],},},}";
        insta::assert_snapshot!(told(code, Values::Named), @r#"
        [a]
        command = "x//y"
        args = ["1"]
        "#);
        let codex = "model = \"m\"\n[mcp_servers.docs]\ncommand = \"d\"\nargs = [\"-x\"]\ntool_timeout_sec = 30\n\
                     enabled_tools = [\"a\"]\nenv_vars = [\"KEY\"]\n";
        insta::assert_snapshot!(told(codex, Values::Named), @r#"
        [docs]
        command = "d"
        args = ["-x"]
        env = ["KEY"]
        timeout = 30
        tools = ["a"]
        "#);
        let gemini =
            r#"{"theme": "x", "mcpServers": {"g": {"httpUrl": "https://e.org", "timeout": 5000}}}"#;
        insta::assert_snapshot!(told(gemini, Values::Named), @r#"
        [g]
        url = "https://e.org"
        timeout = 5
        "#);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for text in
            ["", "[]", "{}", "{\"mcpServers\": {\"a\": 1}}", "{\"mcpServers\": {\"a\": {}}}"]
        {
            assert!(told(text, Values::Named).starts_with("error: "), "{text}");
        }
    }
}
