//! `toolkiln config`: every value with where it came from, and the files that are looked at.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use protocol::visible;
use providers::catalogue::{COMPATIBLE, ENDPOINTS};
use serde_json::{Value as Json, json};
use toml::Value;
use workspace::{Workspace, real_user_file};

use crate::args::ModelArgs;
use crate::config::{Config, FlagLayer, Keys, LayeredSetting, PROJECT_FILE, key_file, user_file};
use crate::environment::{Environment, FoundVariable};
use crate::output;
use crate::project::Project;

/// Characters of a value that the table shows.
const SHOWN_CHARS: usize = 60;

pub(crate) const EXAMPLES: &str = "\
Examples:
  toolkiln config show
  toolkiln config path";

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value and where it came from
    #[command(
        after_help = "Examples:\n  toolkiln config show\n  toolkiln config show --provider openai --json"
    )]
    Show(ConfigShowArgs),
    /// Show the files that are looked at
    #[command(after_help = "Examples:\n  toolkiln config path")]
    Path(ConfigPathArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPathArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

pub(crate) fn run(command: &ConfigCommand) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Path(args) => path(args),
    }
}

/// A line of what is shown.
struct ConfigRow {
    key: String,
    value: Json,
    sources: Vec<String>,
    /// What was said in vain, and by whom.
    overridden: Vec<(Json, String)>,
}

fn show(args: &ConfigShowArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::gather();
    let config = Project::open_with(&args.root, &args.model.layer())?.config;
    let mut rows: Vec<ConfigRow> = config.layers.settings().iter().map(ConfigRow::of).collect();
    rows.extend(from_environment(&environment));
    let keys = Keys::load(&environment, &config);
    if let Ok(keys) = &keys {
        rows.extend(of_keys(keys));
    }
    if args.json {
        output::json(&rows.iter().map(ConfigRow::to_json).collect())?;
    } else {
        table(&rows)?;
    }
    // What is known was shown; the keys are refused all the same.
    keys.map(|_| ExitCode::SUCCESS)
}

impl ConfigRow {
    fn of(setting: &LayeredSetting) -> Self {
        let shown = |value: &Value| match (setting.key.as_str(), value) {
            ("model.base_url", Value::String(url)) => without_password(url).into(),
            _ => to_json(value),
        };
        let value = setting.value.as_ref().map_or(Json::Null, shown);
        let overridden =
            setting.overridden().map(|said| (shown(&said.value), said.source.to_string()));
        Self {
            key: setting.key.clone(),
            value,
            sources: setting.sources().map(ToString::to_string).collect(),
            overridden: overridden.collect(),
        }
    }

    fn found(key: String, value: impl Into<Json>, source: &str) -> Self {
        Self { key, value: value.into(), sources: vec![source.into()], overridden: Vec::new() }
    }

    fn to_json(&self) -> Json {
        let overridden: Vec<_> = (self.overridden.iter())
            .map(|(value, source)| json!({"value": value, "source": source}))
            .collect();
        json!({
            "key": self.key,
            "value": self.value,
            "sources": self.sources,
            "overridden": overridden,
        })
    }

    fn value_text(&self) -> String {
        match &self.value {
            Json::Null => "not set".to_owned(),
            Json::Array(rules) if rules.first().is_some_and(Json::is_object) => {
                format!("{} in all", rules.len())
            }
            value => shortened(&visible(&value.to_string())),
        }
    }

    fn source_text(&self) -> String {
        let sources = self.sources.join(", ");
        if self.overridden.is_empty() {
            return sources;
        }
        let others: Vec<_> = self.overridden.iter().map(|(_, source)| source.as_str()).collect();
        format!("{sources} (not {})", others.join(", ")).trim_start().to_owned()
    }
}

/// What the environment says beside the keys of the configuration.
fn from_environment(environment: &Environment) -> Vec<ConfigRow> {
    let urls = ENDPOINTS.iter().filter_map(|endpoint| {
        let url = environment.usual_base_url(endpoint.name)?;
        Some((format!("base_url of {}", endpoint.name), url))
    });
    let network = &environment.network;
    let network = [
        ("certificates", &network.certificates),
        ("proxy", &network.proxy),
        ("proxy for http", &network.http_proxy),
        ("without proxy", &network.no_proxy),
    ];
    let network =
        network.into_iter().filter_map(|(key, found)| Some((key.into(), found.as_ref()?)));
    let row = |(key, found): (String, &FoundVariable)| {
        ConfigRow::found(key, without_password(&found.value), found.variable)
    };
    urls.chain(network).map(row).collect()
}

/// Which keys there are. Nothing about them is shown but that.
fn of_keys(keys: &Keys) -> Vec<ConfigRow> {
    let found = ENDPOINTS.iter().chain([&COMPATIBLE]).filter_map(|endpoint| {
        let key = keys.of(endpoint)?;
        Some(ConfigRow::found(format!("key of {}", endpoint.name), "set", &key.source))
    });
    found.collect()
}

fn table(rows: &[ConfigRow]) -> std::io::Result<()> {
    let widest = |text: fn(&ConfigRow) -> usize| rows.iter().map(text).max().unwrap_or(0);
    let key_width = widest(|row| row.key.chars().count());
    let value_width = widest(|row| row.value_text().chars().count());
    for row in rows {
        let (value, source) = (row.value_text(), row.source_text());
        let line = format!("{:key_width$}  {value:value_width$}  {source}", row.key);
        output::result(line.trim_end())?;
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// An address without the name and password that may stand in it.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match authority.rsplit_once('@') {
        Some((hidden, _)) => {
            let separator = if scheme.is_empty() { "" } else { "://" };
            format!("{scheme}{separator}***{}", &rest[hidden.len()..])
        }
        None => url.to_owned(),
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(switch) => (*switch).into(),
        Value::Datetime(time) => time.to_string().into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Table(table) => {
            Json::Object(table.iter().map(|(name, value)| (name.clone(), to_json(value))).collect())
        }
    }
}

fn path(args: &ConfigPathArgs) -> anyhow::Result<ExitCode> {
    let environment = Environment::gather();
    let project = Workspace::open(&args.root)?;
    // A file that cannot be understood must not keep the user from finding it.
    let config = Config::load(&environment, &project, &FlagLayer::default()).ok();
    let configured = config.and_then(|config| config.model.key_file);
    let keys = key_file(&environment, configured.as_deref());
    let files = [
        ("user", user_file(&environment)),
        ("project", Some(project.canonical_path().join(PROJECT_FILE))),
        ("keys", keys),
    ];
    for (name, path) in files {
        let Some(path) = path else { continue };
        let state = if is_there(&path) { "" } else { "  (not there)" };
        output::result(&format!("{name:7}  {}{state}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_there(path: &Path) -> bool {
    let Ok(path) = real_user_file(path) else { return false };
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let Ok(dir) = Workspace::open(dir) else { return false };
    let name = workspace::bytes_to_text(name.as_encoded_bytes());
    dir.resolve(&name).is_ok_and(|name| dir.open_file(&name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_hidden() {
        let cases = [
            ("https://me:secret@host/v1", "https://***@host/v1"),
            ("http://host/v1?at=me@you", "http://host/v1?at=me@you"),
            ("me:secret@proxy:3128", "***@proxy:3128"),
            ("http://host", "http://host"),
        ];
        for (url, shown) in cases {
            assert_eq!(without_password(url), shown);
        }
    }
}
