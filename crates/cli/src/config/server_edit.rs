//! Adds a server to the user's file, or takes one out, and leaves everything else as it is.

use mcp_client::{ServerConfig, ServerName};
use toml::{Table, Value};

/// The section of all servers.
const SECTION: &str = "mcp";
const SERVERS: &str = "servers";

/// `text` with this server, or without one of this name; none if that cannot be done safely.
pub(super) fn with_server(
    text: &str,
    name: &ServerName,
    server: Option<&ServerConfig>,
) -> Option<String> {
    let without = without(text, name.as_str());
    let edited = match server {
        None => without,
        Some(server) => {
            let gap = match without.as_str() {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{without}{gap}{}", section(name, server)?)
        }
    };
    // The text is judged by what it means.
    let (mut before, after): (Table, Table) = (text.parse().ok()?, edited.parse().ok()?);
    let servers = before.entry(SECTION).or_insert_with(|| Value::Table(Table::new()));
    let servers = servers.as_table_mut()?.entry(SERVERS);
    let servers = servers.or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
    servers.remove(name.as_str());
    if let Some(server) = server {
        servers.insert(name.to_string(), Value::try_from(server).ok()?);
    }
    (pruned(before) == pruned(after)).then_some(edited)
}

/// The server as it stands in a file.
fn section(name: &ServerName, server: &ServerConfig) -> Option<String> {
    let one = Table::from_iter([(name.to_string(), Value::try_from(server).ok()?)]);
    let servers = Table::from_iter([(SERVERS.to_owned(), Value::Table(one))]);
    toml::to_string(&Table::from_iter([(SECTION.to_owned(), Value::Table(servers))])).ok()
}

/// Without the lines from the header of the server to the next header.
fn without(text: &str, name: &str) -> String {
    let mut kept = String::new();
    let mut is_its = false;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = code.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let parts: Vec<&str> =
                header.split('.').map(|part| part.trim().trim_matches(['"', '\''])).collect();
            is_its = parts.len() >= 3 && parts[..3] == [SECTION, SERVERS, name];
        }
        if !is_its {
            kept.push_str(line);
        }
    }
    kept
}

/// Without tables that hold nothing.
fn pruned(mut table: Table) -> Table {
    for name in [SERVERS, SECTION] {
        let inner = match name {
            SERVERS => table.get_mut(SECTION).and_then(Value::as_table_mut),
            _ => Some(&mut table),
        };
        if let Some(inner) = inner
            && inner.get(name).and_then(Value::as_table).is_some_and(Table::is_empty)
        {
            inner.remove(name);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::try_from(text.to_owned()).unwrap()
    }

    fn server() -> ServerConfig {
        ServerConfig {
            command: Some("npx".into()),
            args: vec!["-y".into(), "@a/b".into()],
            env: vec!["TOKEN".into()],
            set: [("LEVEL".to_owned(), "1".to_owned())].into(),
            network: true,
            ..ServerConfig::default()
        }
    }

    #[test]
    fn a_server_is_added_replaced_and_taken_out_and_the_rest_stays() {
        let before =
            "# mine\n[agent]\nturn_limit = 20 # enough\n\n[mcp.servers.other]\ncommand = \"x\"\n";
        let added = with_server(before, &name("notes"), Some(&server())).unwrap();
        insta::assert_snapshot!(added, @r#"
        # mine
        [agent]
        turn_limit = 20 # enough

        [mcp.servers.other]
        command = "x"

        [mcp.servers.notes]
        args = ["-y", "@a/b"]
        command = "npx"
        env = ["TOKEN"]
        network = true

        [mcp.servers.notes.set]
        LEVEL = "1"
        "#);
        let replaced = with_server(
            &added,
            &name("notes"),
            Some(&ServerConfig {
                url: Some("https://example.org/mcp".into()),
                ..ServerConfig::default()
            }),
        );
        insta::assert_snapshot!(replaced.unwrap(), @r#"
        # mine
        [agent]
        turn_limit = 20 # enough

        [mcp.servers.other]
        command = "x"


        [mcp.servers.notes]
        url = "https://example.org/mcp"
        "#);
        let removed = with_server(&added, &name("other"), None).unwrap();
        assert!(
            !removed.contains("other") && removed.contains("notes") && removed.contains("# mine")
        );
        assert_eq!(with_server("", &name("notes"), None).as_deref(), Some(""));
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        for text in [
            "[mcp]\nservers = { notes = { command = \"x\" } }\n",
            "mcp.servers.notes.command = \"x\"\n",
            "[agent]\ninstructions = \"\"\"\n[mcp.servers.notes]\nx\n\"\"\"\n",
            "[mcp\n",
        ] {
            assert_eq!(with_server(text, &name("notes"), None), None, "{text}");
        }
    }
}
