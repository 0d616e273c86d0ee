//! Configuration in layers: what is built in, the user's own file, a project's file that may only
//! narrow, the environment, and the command line. Each value remembers where it came from.

mod edit;
mod file;
mod keys;
mod layers;
mod narrowing;
mod provider;
mod schema;
mod server_edit;
mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use mcp_client::{ServerConfig, ServerName};
use net::Allowance;
use protocol::{AgentRole, visible};
use sandbox::LayerLimits;
use terminal::NotificationKind;
use toml::Value;
use tool_system::policy::{ApprovalMode, CommandMode, PolicyTable, Rule, RuleSource};
use tool_system::{EditCheck, IgnoredFiles, Limits, Vocabulary};
use workspace::{Workspace, bytes_to_text, real_user_file, replace_user_file};

pub(crate) use keys::{Keys, key_file};
pub(crate) use layers::{ConfigSource, Given, LayerValue, LayeredSetting, Layers, PROJECT_FILE};
pub(crate) use settings::{
    AgentConfig, EditorConfig, EditorWritesSetting, ModelConfig, SearchChoice, TelemetryConfig,
    ToolListSetting, WebConfig,
};

use crate::environment::Environment;
use file::{Author, FileMistake, FileValue, in_words};
use schema::{Schema, nested, read_back};
use settings::{CheckConfig, ChecksConfig, ConfigSettings, IgnoredConfig, RoleConfig};

/// The user's file in the configuration directory.
const USER_FILE: &str = "config.toml";
/// Rounds of tools before a pause in the vocabulary `explorer`.
const EXPLORER_TURNS: u32 = 10;
const GB: u64 = 1_000_000_000;
const DAY_S: u64 = 24 * 60 * 60;
/// A configuration file larger than this is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What is configured, after all layers.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) disabled_tools: Vec<String>,
    /// Whether code may reach the network.
    pub(crate) network: bool,
    /// What commands with the network may reach besides the public Internet.
    pub(crate) network_allow: Vec<Allowance>,
    /// What the web tools may reach.
    pub(crate) web: WebConfig,
    /// What becomes of ignored files that commands write.
    pub(crate) ignored: IgnoredFiles,
    /// How much of them is kept, and how long.
    pub(crate) layer_limits: LayerLimits,
    /// What is run after files have been changed.
    pub(crate) checks: Vec<EditCheck>,
    pub(crate) limits: Limits,
    pub(crate) mode: ApprovalMode,
    /// Whether commands that can reach nothing are asked about before they run.
    pub(crate) commands: CommandMode,
    pub(crate) rules: Vec<Rule>,
    pub(crate) model: ModelConfig,
    pub(crate) agent: AgentConfig,
    pub(crate) editor: EditorConfig,
    roles: BTreeMap<String, RoleConfig>,
    /// How the user is called back to the terminal.
    pub(crate) notify: NotificationKind,
    /// Where traces and metrics go.
    pub(crate) telemetry: TelemetryConfig,
    /// Foreign MCP servers.
    pub(crate) servers: BTreeMap<ServerName, ServerConfig>,
    /// The files that were read.
    pub(crate) sources: Vec<String>,
    /// Every value with where it came from.
    pub(crate) layers: Layers,
}

/// What the command line says about configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlagLayer(Vec<Given>);

impl FlagLayer {
    /// Sets `key` by the option `flag` if that was given.
    pub(crate) fn set(&mut self, flag: &'static str, key: &str, value: Option<impl Into<Value>>) {
        let source = ConfigSource::Flag { name: flag };
        let given = |value: Value| Given { key: key.to_owned(), value, source };
        self.0.extend(value.map(Into::into).map(given));
    }
}

impl Config {
    /// Lays all layers over each other. Every mistake in both files is told at once.
    pub(crate) fn load(
        environment: &Environment,
        project: &Workspace,
        flags: &FlagLayer,
    ) -> anyhow::Result<Self> {
        Self::lay_all(environment, user_text(environment)?, Some(project), flags)
    }

    /// What holds outside of every project.
    pub(crate) fn of_user(environment: &Environment, flags: &FlagLayer) -> anyhow::Result<Self> {
        Self::lay_all(environment, user_text(environment)?, None, flags)
    }

    fn lay_all(
        environment: &Environment,
        user: Option<UserText>,
        project: Option<&Workspace>,
        flags: &FlagLayer,
    ) -> anyhow::Result<Self> {
        let schema = Schema::new();
        let files = ConfigFiles::read(user, project, &schema)?;
        let mut layers = Layers::new(schema);
        layers.lay(files.user);
        for given in files.project {
            if let Ok(narrow) = narrowing::of_project(&given.key) {
                layers.narrow(narrow, given);
            }
        }
        for layer in [&environment.layer, &flags.0] {
            layer.iter().try_for_each(check)?;
            layers.lay(layer.clone());
        }
        Self::from_layers(layers, files.names)
    }

    fn from_layers(layers: Layers, sources: Vec<String>) -> anyhow::Result<Self> {
        let values = layers.settings().iter();
        let values =
            values.filter_map(|setting| Some((setting.key.as_str(), setting.value.clone()?)));
        let settings: ConfigSettings = read_back(&nested(values)).context("the configuration")?;
        Ok(Self {
            disabled_tools: settings.tools.disabled,
            network: settings.tools.network,
            network_allow: settings.sandbox.network_allow,
            web: settings.web,
            ignored: match settings.sandbox.ignored {
                IgnoredConfig::Private => IgnoredFiles::Private,
                IgnoredConfig::Through => IgnoredFiles::Through,
            },
            layer_limits: LayerLimits {
                max_bytes: settings.sandbox.layer_gb.get().saturating_mul(GB),
                max_age: Duration::from_secs(
                    settings.sandbox.layer_days.get().saturating_mul(DAY_S),
                ),
            },
            checks: checks(settings.checks)?,
            limits: Limits::default().set_by(&settings.limits),
            mode: settings.policy.mode,
            commands: settings.policy.commands,
            rules: rules(&layers)?,
            model: settings.model,
            agent: settings.agent,
            editor: settings.editor,
            roles: settings.roles,
            notify: settings.terminal.notify.into(),
            telemetry: settings.telemetry,
            servers: checked_servers(settings.mcp.servers)?,
            sources,
            layers,
        })
    }

    /// The address for a provider: the configured one, else what its usual variable says. None
    /// means the provider's own.
    pub(crate) fn base_url(&self, environment: &Environment, provider: &str) -> Option<String> {
        let configured = self.model.base_url.as_ref().map(|url| url.as_str().to_owned());
        configured.or_else(|| Some(environment.usual_base_url(provider)?.value.clone()))
    }

    /// Rounds of tools before a pause. The vocabulary `explorer` has a default of its own, which only
    /// the user can raise.
    pub(crate) fn turn_limit(&self, vocabulary: Vocabulary) -> u32 {
        let limit = self.agent.turn_limit.get();
        let by_user = |said: &LayerValue| {
            !matches!(said.source, ConfigSource::Default | ConfigSource::ProjectFile { .. })
        };
        let setting = self.layers.setting("agent.turn_limit");
        let is_set = setting.is_some_and(|setting| setting.said.iter().any(by_user));
        if vocabulary == Vocabulary::Explorer && !is_set {
            limit.min(EXPLORER_TURNS)
        } else {
            limit
        }
    }

    pub(crate) fn all_roles(&self) -> Vec<AgentRole> {
        let own = self.roles.iter().map(|(name, role)| AgentRole::Custom {
            name: name.clone(),
            permissions: role.permissions,
        });
        [AgentRole::Planner, AgentRole::Actor].into_iter().chain(own).collect()
    }

    pub(crate) fn role(&self, name: &str) -> anyhow::Result<AgentRole> {
        match name {
            "planner" => Ok(AgentRole::Planner),
            "actor" => Ok(AgentRole::Actor),
            _ => match self.roles.get(name) {
                Some(role) => {
                    let permissions = role.permissions;
                    Ok(AgentRole::Custom { name: name.to_owned(), permissions })
                }
                None => {
                    let known: Vec<_> = ["planner", "actor"]
                        .into_iter()
                        .chain(self.roles.keys().map(String::as_str))
                        .collect();
                    Err(anyhow!("there is no role `{name}`; there are {}", known.join(", ")))
                }
            },
        }
    }
}

/// What both files say.
#[derive(Default)]
struct ConfigFiles {
    user: Vec<Given>,
    project: Vec<Given>,
    /// Those that are there.
    names: Vec<String>,
    mistakes: Vec<String>,
}

impl ConfigFiles {
    fn read(
        user: Option<UserText>,
        project: Option<&Workspace>,
        schema: &Schema,
    ) -> anyhow::Result<Self> {
        let mut files = Self::default();
        if let Some(UserText { path, text }) = user {
            let leaves = file::read(&text, schema, Author::User);
            files.user = files.take(path.clone(), leaves, |line| ConfigSource::UserFile {
                path: path.clone(),
                line,
            });
        }
        if let Some(project) = project
            && let Some(text) = read(project, PROJECT_FILE)?
        {
            let leaves = file::read(&text, schema, Author::Project);
            let name = PROJECT_FILE.to_owned();
            files.project = files.take(name, leaves, |line| ConfigSource::ProjectFile { line });
        }
        if files.mistakes.is_empty() { Ok(files) } else { bail!(files.mistakes.join("\n")) }
    }

    fn take(
        &mut self,
        name: String,
        leaves: Result<Vec<FileValue>, Vec<FileMistake>>,
        source: impl Fn(usize) -> ConfigSource,
    ) -> Vec<Given> {
        let leaves = leaves.unwrap_or_else(|found| {
            let told = found.iter().map(|mistake| format!("{name}, {mistake}"));
            self.mistakes.extend(told);
            Vec::new()
        });
        self.names.push(name);
        let given = |FileValue { key, value, line }| Given { key, value, source: source(line) };
        leaves.into_iter().map(given).collect()
    }
}

/// The rules of all files, each marked with who wrote it.
fn rules(layers: &Layers) -> anyhow::Result<Vec<Rule>> {
    let said = layers.setting("policy.rules").into_iter().flat_map(|setting| &setting.said);
    let mut rules = Vec::new();
    for said in said {
        let source = match said.source {
            ConfigSource::ProjectFile { .. } => RuleSource::Project,
            _ => RuleSource::User,
        };
        let table: PolicyTable =
            read_back(&nested([("rules", said.value.clone())])).context("policy.rules")?;
        rules.extend(table.into_rules(source));
    }
    Ok(rules)
}

fn checked_servers(
    servers: BTreeMap<ServerName, ServerConfig>,
) -> anyhow::Result<BTreeMap<ServerName, ServerConfig>> {
    match servers.iter().find_map(|(name, server)| Some((name, server.mistake()?))) {
        Some((name, mistake)) => bail!("mcp.servers.{name}: {mistake}"),
        None => Ok(servers),
    }
}

fn checks(configured: ChecksConfig) -> anyhow::Result<Vec<EditCheck>> {
    let made = configured.after_edit.into_iter().map(|check| {
        let CheckConfig { name, command, paths, timeout } = check;
        EditCheck::new(name, command, &paths, timeout).context("checks.after_edit")
    });
    made.collect()
}

/// Whether a value from the environment or the command line is what its key expects.
fn check(given: &Given) -> anyhow::Result<()> {
    let alone = nested([(given.key.as_str(), given.value.clone())]);
    match read_back::<ConfigSettings>(&alone) {
        Ok(_) => Ok(()),
        Err(error) => bail!("{}: {}", given.source, visible(&in_words(error.message()))),
    }
}

/// The path of the user's file, if it can be told.
pub(crate) fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir.as_ref()?.join(USER_FILE))
}

/// The user's file as it is to be read.
struct UserText {
    /// As messages name it.
    path: String,
    text: String,
}

fn user_text(environment: &Environment) -> anyhow::Result<Option<UserText>> {
    let Some(path) = user_file(environment) else { return Ok(None) };
    let real = real_user_file(&path)?;
    let dir = real.parent().and_then(|dir| Workspace::open(dir).ok());
    let (Some(dir), Some(name)) = (dir, real.file_name()) else { return Ok(None) };
    let text = read(&dir, &bytes_to_text(name.as_encoded_bytes()));
    let text = text.with_context(|| path.display().to_string())?;
    Ok(text.map(|text| UserText { path: path.display().to_string(), text }))
}

/// The user's file with another model in it, not written yet.
pub(crate) struct UserFileDraft {
    pub(crate) path: PathBuf,
    text: String,
    is_changed: bool,
}

impl UserFileDraft {
    /// Sets values of the section `model` and removes those that are none. Everything else in the file
    /// stays as it is.
    pub(crate) fn with_model(
        environment: &Environment,
        entries: &[(&str, Option<&str>)],
    ) -> anyhow::Result<Self> {
        let path = user_file(environment).context("neither XDG_CONFIG_HOME nor HOME is set")?;
        let before = user_text(environment)?.map(|user| user.text).unwrap_or_default();
        let text = edit::with_model(&before, entries).with_context(|| {
            let section = edit::section(entries);
            format!("{} cannot be edited safely; put this into it:\n\n{section}", path.display())
        })?;
        Ok(Self { path, is_changed: text != before, text })
    }

    /// Adds a server, or takes one out if there is no configuration for it.
    pub(crate) fn with_server(
        environment: &Environment,
        name: &ServerName,
        server: Option<&ServerConfig>,
    ) -> anyhow::Result<Self> {
        let path = user_file(environment).context("neither XDG_CONFIG_HOME nor HOME is set")?;
        let before = user_text(environment)?.map(|user| user.text).unwrap_or_default();
        let text = server_edit::with_server(&before, name, server).with_context(|| {
            format!("{} cannot be edited safely; edit [mcp.servers.{name}] there", path.display())
        })?;
        Ok(Self { path, is_changed: text != before, text })
    }

    /// What will hold once it is written.
    pub(crate) fn config(&self, environment: &Environment) -> anyhow::Result<Config> {
        let user = UserText { path: self.path.display().to_string(), text: self.text.clone() };
        Config::lay_all(environment, Some(user), None, &FlagLayer::default())
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        if self.is_changed {
            replace_user_file(&real_user_file(&self.path)?, self.text.as_bytes())?;
        }
        Ok(())
    }
}

fn read(dir: &Workspace, name: &str) -> anyhow::Result<Option<String>> {
    let path = dir.resolve(name)?;
    let bytes = match dir.open_file(&path) {
        Ok(mut file) => file.read_all(MAX_FILE_BYTES)?,
        Err(workspace::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    fn load(user: &str, project: &str, flags: &FlagLayer) -> Config {
        let config = Fixture::new(&format!("//- /config.toml\n{user}"));
        let project = Fixture::new(&format!("//- /.toolkiln/config.toml\n{project}"));
        let config_dir = Some(config.root().to_owned());
        let environment = Environment { config_dir, ..Environment::default() };
        Config::load(&environment, &Workspace::open(project.root()).unwrap(), flags).unwrap()
    }

    #[test]
    fn all_layers_end_in_typed_values() {
        let user = "[agent]\nturn_limit = 20\ncost_budget_usd = 3\n[model]\neffort = \"low\"\n";
        let mut flags = FlagLayer::default();
        flags.set("--budget-tokens", "agent.token_budget", Some(500));
        flags.set("--model", "model.name", None::<&str>);
        let config = load(user, "[agent]\ncost_budget_usd = 0.5\nturn_limit = 30\n", &flags);
        assert_eq!(config.agent.turn_limit.get(), 20);
        assert_eq!(config.agent.cost_budget_usd.map(f64::from), Some(0.5));
        assert_eq!(config.agent.token_budget.map(u64::from), Some(500));
        assert!(config.agent.project_instructions && config.model.name.is_none());
        assert_eq!(config.model.effort, Some(context_manager::Effort::Low));
    }

    #[test]
    fn rounds_depend_on_the_vocabulary_until_the_user_says_how_many() {
        let limits = |user: &str, project: &str| {
            let config = load(user, project, &FlagLayer::default());
            [Vocabulary::Standard, Vocabulary::Explorer].map(|one| config.turn_limit(one))
        };
        assert_eq!(limits("", ""), [50, 10]);
        assert_eq!(limits("[agent]\nturn_limit = 20\n", ""), [20, 20]);
        assert_eq!(limits("", "[agent]\nturn_limit = 30\n"), [30, 10]);
        assert_eq!(limits("", "[agent]\nturn_limit = 5\n"), [5, 5]);
    }

    #[test]
    fn the_variable_of_a_key_stays_with_its_provider_and_address() {
        let user =
            "[model]\nprovider = \"openai\"\nbase_url = \"http://mine/v1\"\nkey_env = \"K\"\n";
        let key_env = |flag: &'static str, key: &str, value: &str| {
            let mut flags = FlagLayer::default();
            flags.set(flag, key, Some(value));
            load(user, "", &flags).model.key_env
        };
        assert_eq!(key_env("--model", "model.name", "m").as_deref(), Some("K"));
        assert_eq!(key_env("--provider", "model.provider", "anthropic"), None);
        assert_eq!(key_env("--base-url", "model.base_url", "http://theirs/v1"), None);
    }

    #[test]
    fn the_user_decides_what_the_terminal_does() {
        let notify = |user: &str| load(user, "", &FlagLayer::default()).notify;
        assert_eq!(notify(""), NotificationKind::Bell);
        assert_eq!(notify("[terminal]\nnotify = \"desktop\"\n"), NotificationKind::Desktop);
        assert_eq!(notify("[terminal]\nnotify = \"off\"\n"), NotificationKind::Off);
    }

    #[test]
    fn a_rule_knows_who_wrote_it() {
        let rule = |decision| format!("[[policy.rules]]\ndecision = \"{decision}\"\n");
        let config = load(&rule("allow"), &rule("deny"), &FlagLayer::default());
        let sources: Vec<_> = config.rules.iter().map(|rule| rule.source).collect();
        assert_eq!(sources, [RuleSource::User, RuleSource::Project]);
    }

    #[test]
    fn a_configured_address_comes_before_the_usual_variable() {
        let environment =
            Environment::from(|name| (name == "OPENAI_BASE_URL").then(|| "http://usual/v1".into()));
        let config = load("[model]\nbase_url = \"http://mine/v1\"\n", "", &FlagLayer::default());
        assert_eq!(config.base_url(&environment, "openai").as_deref(), Some("http://mine/v1"));
        let config = load("", "", &FlagLayer::default());
        assert_eq!(config.base_url(&environment, "openai").as_deref(), Some("http://usual/v1"));
        assert_eq!(config.base_url(&environment, "anthropic"), None);
    }
}
