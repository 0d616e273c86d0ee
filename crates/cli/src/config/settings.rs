//! What can be configured. The fields of these structs are the keys of the configuration file, and
//! their defaults are the defaults: there is no other list of either.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use context_manager::Effort;
use mcp_client::{ServerConfig, ServerName};
use net::Allowance;
use protocol::PermissionSet;
use providers::ModelSearch;
use serde::{Deserialize, Serialize, Serializer};
use terminal::NotificationKind;
use tool_system::policy::{ApprovalMode, CommandMode, HostPattern, Rule};
use tool_system::{LimitOverrides, Limits, SearchProvider};

use super::provider::ProviderName;

/// Rounds of tools in one turn after which the user is asked. That it is above 0 is checked when
/// this is compiled.
const TURN_LIMIT: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// Everything that a configuration file can say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConfigSettings {
    pub(crate) model: ModelConfig,
    pub(crate) agent: AgentConfig,
    pub(crate) tools: ToolsConfig,
    pub(crate) web: WebConfig,
    pub(crate) sandbox: SandboxConfig,
    pub(crate) checks: ChecksConfig,
    #[serde(serialize_with = "all_limits")]
    pub(crate) limits: LimitOverrides,
    pub(crate) policy: PolicyConfig,
    pub(crate) roles: BTreeMap<String, RoleConfig>,
    pub(crate) terminal: TerminalConfig,
    pub(crate) mcp: McpConfig,
    pub(crate) editor: EditorConfig,
    pub(crate) telemetry: TelemetryConfig,
}

/// Where traces and metrics of sessions are sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetryConfig {
    /// A server of OTLP over HTTP; what the usual variable says if absent.
    pub(crate) endpoint: Option<BaseUrl>,
    /// Whether they hold what users, models and tools say.
    pub(crate) content: bool,
}

/// Which model answers, and what is known about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelConfig {
    /// Who serves the model; what is there if absent.
    pub(crate) provider: Option<ProviderName>,
    /// The model, as its provider calls it.
    pub(crate) name: Option<String>,
    /// Where requests go, in place of the provider's own address.
    pub(crate) base_url: Option<BaseUrl>,
    pub(crate) effort: Option<Effort>,
    /// The most tokens of one answer.
    pub(crate) max_tokens: Option<NonZeroU32>,
    /// How many tokens the model can look at.
    pub(crate) context_tokens: Option<NonZeroU64>,
    /// Whether the model is told about tools; some servers refuse requests that name any.
    pub(crate) tools: bool,
    /// Which tools requests list.
    pub(crate) tool_list: ToolListSetting,
    /// Whether the model can see images; what is known of the model if absent.
    pub(crate) images: Option<bool>,
    /// The file with the keys, in place of `keys.toml`.
    pub(crate) key_file: Option<String>,
    /// The variable that holds the key, in place of the provider's usual one.
    pub(crate) key_env: Option<String>,
    /// What a million tokens cost.
    pub(crate) prices: PriceSettings,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            provider: None,
            name: None,
            base_url: None,
            effort: None,
            max_tokens: None,
            context_tokens: None,
            tools: true,
            tool_list: ToolListSetting::Auto,
            images: None,
            key_file: None,
            key_env: None,
            prices: PriceSettings::default(),
        }
    }
}

/// Which tools the requests to a model list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolListSetting {
    /// All of them, but at known providers only those that are often needed.
    #[default]
    Auto,
    All,
    /// Those that are often needed; the model asks for others.
    OnDemand,
}

/// Dollars for a million tokens, where they differ from what is known about the model.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PriceSettings {
    pub(crate) input: Option<Dollars>,
    pub(crate) output: Option<Dollars>,
    pub(crate) cache_read: Option<Dollars>,
    pub(crate) cache_write: Option<Dollars>,
}

/// How a conversation inside an editor behaves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EditorConfig {
    /// What the editor writes.
    pub(crate) writes: EditorWritesSetting,
}

/// Which texts are written by the editor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EditorWritesSetting {
    /// Those of files that it holds with unsaved changes.
    #[default]
    Unsaved,
    All,
}

/// How far a conversation goes without asking, and what it begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentConfig {
    /// Rounds of tools in one turn, then a pause.
    pub(crate) turn_limit: NonZeroU32,
    /// Tokens of a session, then a pause.
    pub(crate) token_budget: Option<NonZeroU64>,
    /// Dollars of a session, then a pause.
    pub(crate) cost_budget_usd: Option<Dollars>,
    /// Seconds of a turn, then a pause.
    pub(crate) wall_time_s: Option<NonZeroU64>,
    /// The user's own words to every model.
    pub(crate) instructions: Option<String>,
    /// Whether a project's own instructions are shown to the model.
    pub(crate) project_instructions: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsConfig {
    pub(crate) disabled: Vec<String>,
    /// Whether code may reach the network.
    pub(crate) network: bool,
}

/// What the web tools may reach.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WebConfig {
    /// Servers that are fetched from without a question.
    pub(crate) hosts: Vec<HostPattern>,
    /// Hosts, addresses and ports besides the public Internet.
    pub(crate) network_allow: Vec<Allowance>,
    /// Whether addresses that the model has made up are asked about at these servers too.
    pub(crate) ask_unnamed: bool,
    pub(crate) search: SearchConfig,
}

/// Where searches of the web go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SearchConfig {
    pub(crate) provider: Option<SearchChoice>,
    /// In place of the provider's own address.
    pub(crate) url: Option<BaseUrl>,
    /// The variable that holds the key, in place of the provider's usual one.
    pub(crate) key_env: Option<String>,
    /// The model that searches, where one does.
    pub(crate) model: Option<String>,
}

/// Who is asked to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum SearchChoice {
    /// The provider of the configured model.
    Model,
    /// A provider of models.
    Of(ModelSearch),
    /// A server for this purpose.
    Server(SearchProvider),
}

/// How [`SearchChoice::Model`] is written.
const OF_MODEL: &str = "model";

impl TryFrom<String> for SearchChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match (text.as_str(), ModelSearch::named(&text)) {
            (OF_MODEL, _) => Ok(Self::Model),
            (_, Some(search)) => Ok(Self::Of(search)),
            _ => text.parse().map(Self::Server).map_err(|error: protocol::UnknownName| {
                let names = ModelSearch::ALL.map(ModelSearch::as_str).join(", ");
                format!("{error}, or the search of a provider of models: {OF_MODEL}, {names}")
            }),
        }
    }
}

impl From<SearchChoice> for String {
    fn from(choice: SearchChoice) -> Self {
        match choice {
            SearchChoice::Model => OF_MODEL.to_owned(),
            SearchChoice::Of(search) => search.to_string(),
            SearchChoice::Server(provider) => provider.to_string(),
        }
    }
}

/// A large project's build directory, a few times over.
const LAYER_GB: NonZeroU64 = NonZeroU64::new(20).unwrap();
const LAYER_DAYS: NonZeroU64 = NonZeroU64::new(30).unwrap();

/// What confined commands may reach and keep.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxConfig {
    /// Hosts, addresses and ports besides the public Internet, for commands that may use the network.
    pub(crate) network_allow: Vec<Allowance>,
    /// What becomes of ignored files that commands write.
    pub(crate) ignored: IgnoredConfig,
    /// Gigabytes that the private layer of a project may hold.
    pub(crate) layer_gb: NonZeroU64,
    /// Days after which a private layer that is not used is cleared.
    pub(crate) layer_days: NonZeroU64,
}

/// What becomes of ignored files that commands write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IgnoredConfig {
    /// They are kept apart, for later commands only.
    #[default]
    Private,
    /// They are copied into the project.
    Through,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            network_allow: Vec::new(),
            ignored: IgnoredConfig::default(),
            layer_gb: LAYER_GB,
            layer_days: LAYER_DAYS,
        }
    }
}

/// What is run by itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChecksConfig {
    /// After files have been changed.
    pub(crate) after_edit: Vec<CheckConfig>,
}

/// A command that says whether a change is good.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckConfig {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    /// The files it is about; all if there are none.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
    /// Seconds.
    #[serde(default = "check_timeout")]
    pub(crate) timeout: u64,
}

fn check_timeout() -> u64 {
    60
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PolicyConfig {
    pub(crate) mode: ApprovalMode,
    /// Whether commands that can reach nothing are asked about before they run.
    pub(crate) commands: CommandMode,
    pub(crate) rules: Vec<Rule>,
}

/// Foreign MCP servers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// By the name that their tools' names begin with.
    pub(crate) servers: BTreeMap<ServerName, ServerConfig>,
}

/// How a conversation at the terminal behaves.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TerminalConfig {
    /// How the user is called when a question waits or a long turn has ended.
    pub(crate) notify: NotifySetting,
}

/// How the user is called back to the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NotifySetting {
    #[default]
    Bell,
    Desktop,
    Off,
}

impl From<NotifySetting> for NotificationKind {
    fn from(setting: NotifySetting) -> Self {
        match setting {
            NotifySetting::Bell => NotificationKind::Bell,
            NotifySetting::Desktop => NotificationKind::Desktop,
            NotifySetting::Off => NotificationKind::Off,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleConfig {
    pub(crate) permissions: PermissionSet,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            turn_limit: TURN_LIMIT,
            token_budget: None,
            cost_budget_usd: None,
            wall_time_s: None,
            instructions: None,
            project_instructions: true,
        }
    }
}

/// An amount of money, which is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub(crate) struct Dollars(f64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, Self::Error> {
        if amount.is_finite() && amount >= 0.0 {
            Ok(Self(amount))
        } else {
            Err(format!("{amount} is not an amount of dollars"))
        }
    }
}

impl From<Dollars> for f64 {
    fn from(dollars: Dollars) -> f64 {
        dollars.0
    }
}

/// An address that requests can be sent to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct BaseUrl(String);

impl TryFrom<String> for BaseUrl {
    type Error = &'static str;

    /// What is refused is not repeated, because it may hold a password.
    fn try_from(url: String) -> Result<Self, Self::Error> {
        let host = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let is_address = host.is_some_and(|host| {
            !host.is_empty() && !host.starts_with('/') && !url.contains(char::is_whitespace)
        });
        if is_address {
            Ok(Self(url))
        } else {
            Err("an address begins with http:// or https://, such as http://localhost:8080/v1")
        }
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> String {
        url.0
    }
}

impl BaseUrl {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes every limit, so that all of them are known keys with a default.
fn all_limits<S: Serializer>(given: &LimitOverrides, serializer: S) -> Result<S::Ok, S::Error> {
    Limits::default().set_by(given).serialize(serializer)
}
