//! Which model answers: what is asked for, or what is there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use context_manager::{Deferral, Prices};
use guide::Guide;
use providers::catalogue::{
    Choice, ChoiceError, Endpoint, MachineFacts, ModelSelection, choose, endpoint, model_info,
    unencrypted_host,
};
use providers::{HttpConfig, HttpProvider, probe_ollama};
use session::Model;

use crate::config::{Config, Keys, ToolListSetting};
use crate::environment::Environment;
use crate::output;

const OLLAMA: &str = "ollama";
/// How long Ollama may take to say that it is there.
const PROBE: Duration = Duration::from_millis(150);
/// How long it may take if it was asked for by name.
const PROBE_BY_NAME: Duration = Duration::from_millis(1500);
/// Answers are no longer than this unless the configuration says so: whole files fit, and a model
/// that cannot stop is stopped.
const MAX_ANSWER: u32 = 32_000;

/// What needs no model costs nothing.
const FREE: Prices = Prices { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };

/// A model and why it was chosen.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) model: Model,
    /// One line for the user.
    pub(crate) why: String,
    /// How its provider is reached, if it is one behind HTTP.
    pub(crate) reached: Option<HttpConfig>,
}

impl Chosen {
    /// The most tokens that the model can see, if there is a model.
    pub(crate) fn window(&self) -> Option<u64> {
        Some(self.model.context_tokens).filter(|_| self.model.name != guide::NAME)
    }
}

/// Chooses by configuration and environment; `wanted` counts before both.
pub(crate) async fn chosen(
    config: &Config,
    environment: &Environment,
    wanted: &ModelSelection,
) -> anyhow::Result<Chosen> {
    chosen_with_keys(config, environment, wanted, &[]).await
}

/// The same with keys of a user of a team, which count before those of the server.
pub(crate) async fn chosen_with_keys(
    config: &Config,
    environment: &Environment,
    wanted: &ModelSelection,
    own: &[(String, team::ProviderKey)],
) -> anyhow::Result<Chosen> {
    let keys = Keys::load(environment, config)?.with_own(own);
    let configured = ModelSelection {
        provider: config.model.provider.as_ref().map(|name| name.as_ref().to_owned()),
        model: config.model.name.clone(),
        base_url: config.model.base_url.as_ref().map(|url| url.as_str().to_owned()),
    };
    let mut facts = MachineFacts { keys: keys.variables(), ollama: None };
    if nothing_is_said(wanted) && nothing_is_said(&configured) && facts.keys.is_empty() {
        facts.ollama = ollama_models(environment).await;
    }
    if asks_for_any_of_ollama(wanted, &configured) {
        let set = wanted.base_url.clone().or_else(|| config.base_url(environment, OLLAMA));
        facts.ollama = Some(models_of_named_ollama(set).await?);
    }
    let choice =
        choose(wanted, &configured, &facts).map_err(|error| match &config.model.key_env {
            Some(own) if matches!(error, ChoiceError::NoKey { .. }) => {
                anyhow!("{error}, nor {own}, which model.key_env names")
            }
            _ => error.into(),
        })?;
    match choice {
        Choice::Offline { why } => Ok(Chosen { model: no_model(), why, reached: None }),
        Choice::Model { endpoint, model, base_url, why } => {
            let asked =
                wanted.base_url.clone().or_else(|| config.base_url(environment, endpoint.name));
            let base_url = asked.unwrap_or(base_url);
            let is_configured = is_same(&wanted.provider, &configured.provider)
                && is_same(&wanted.model, &configured.model);
            let known = model_info(&model).prices;
            let prices = if is_configured { prices(config, known) } else { known };
            let http = http_config(config, environment, &keys, endpoint, &base_url)?;
            let model = http_model(config, http.clone(), model)?;
            let model = Model { prices, ..model };
            check_price(config, &model)?;
            Ok(Chosen { model, why, reached: Some(http) })
        }
    }
}

/// What the user means by the name of a model: `model`, `provider` or `provider:model`.
pub(crate) fn wanted_by_name(text: &str) -> ModelSelection {
    let is_provider = |name: &str| name == guide::NAME || endpoint(name).is_some();
    match text.split_once(':') {
        Some((provider, model)) if is_provider(provider) => ModelSelection {
            provider: Some(provider.to_owned()),
            model: Some(model.to_owned()),
            base_url: None,
        },
        _ if is_provider(text) => {
            ModelSelection { provider: Some(text.to_owned()), ..ModelSelection::default() }
        }
        _ => ModelSelection { model: Some(text.to_owned()), ..ModelSelection::default() },
    }
}

fn nothing_is_said(wanted: &ModelSelection) -> bool {
    *wanted == ModelSelection::default()
}

/// Whether what is asked for, if anything is, is what the configuration is about.
fn is_same(wanted: &Option<String>, configured: &Option<String>) -> bool {
    wanted.is_none() || wanted == configured
}

/// Whether Ollama is asked for by name, and its model is left open.
fn asks_for_any_of_ollama(wanted: &ModelSelection, configured: &ModelSelection) -> bool {
    let provider = wanted.provider.as_ref().or(configured.provider.as_ref());
    let is_configured = is_same(&wanted.provider, &configured.provider);
    let model = wanted.model.as_ref().or(configured.model.as_ref().filter(|_| is_configured));
    provider.is_some_and(|name| name == OLLAMA) && model.is_none()
}

/// The models of the Ollama that the user wants. That there are none is an error that says what to do.
async fn models_of_named_ollama(set: Option<String>) -> anyhow::Result<Vec<String>> {
    let usual = || endpoint(OLLAMA).map(|endpoint| endpoint.base_url.to_owned());
    let address = set.or_else(usual).unwrap_or_default();
    let models = probe_ollama(&address, PROBE_BY_NAME).await.with_context(|| {
        format!("no Ollama answers at {address}; start it with `ollama serve`, or choose another provider")
    })?;
    if models.is_empty() {
        bail!("the Ollama at {address} has no models; get one with `ollama pull NAME`");
    }
    Ok(models)
}

async fn ollama_models(environment: &Environment) -> Option<Vec<String>> {
    let usual = environment.usual_base_url(OLLAMA).map(|found| found.value.as_str());
    probe_ollama(usual.or(Some(endpoint(OLLAMA)?.base_url))?, PROBE).await
}

fn no_model() -> Model {
    Model {
        provider: Arc::new(Guide),
        name: guide::NAME.to_owned(),
        max_tokens: MAX_ANSWER,
        context_tokens: u64::MAX,
        effort: None,
        prices: Some(FREE),
        calls_tools: true,
        images: None,
    }
}

fn http_config(
    config: &Config,
    environment: &Environment,
    keys: &Keys,
    endpoint: &Endpoint,
    base_url: &str,
) -> anyhow::Result<HttpConfig> {
    let key = keys.of(endpoint);
    if let (Some(key), Some(host)) = (key, unencrypted_host(base_url)) {
        warn_once(&format!(
            "toolkiln: the key from {} goes to {host} unencrypted, so that others on the network can read it; use https:// in {}",
            key.source,
            address_setting(config, environment, endpoint.name)
        ));
    }
    let mut http = endpoint.config(Some(base_url), key.map(|key| key.secret.clone()));
    http.key_source = key.map(|key| key.source.clone()).or(http.key_source);
    http.network = environment.network.for_providers();
    http.deferral = match config.model.tool_list {
        ToolListSetting::Auto => http.deferral,
        ToolListSetting::All => Deferral::ListAll,
        ToolListSetting::OnDemand => endpoint.on_demand(),
    };
    Ok(http)
}

fn http_model(config: &Config, http: HttpConfig, name: String) -> anyhow::Result<Model> {
    let info = model_info(&name);
    let settings = &config.model;
    let limit = info.max_output.min(MAX_ANSWER);
    Ok(Model {
        provider: Arc::new(HttpProvider::new(http).context("the provider cannot be reached")?),
        max_tokens: settings.max_tokens.map_or(limit, u32::from),
        context_tokens: settings.context_tokens.map_or(info.context_tokens, u64::from),
        effort: settings.effort.filter(|_| info.effort || !info.known),
        prices: info.prices,
        calls_tools: settings.tools,
        images: info.images_if(settings.images),
        name,
    })
}

/// Where the address of a provider was set.
fn address_setting(config: &Config, environment: &Environment, provider: &str) -> String {
    let setting = config.layers.setting("model.base_url");
    let is_said = setting.is_some_and(|setting| setting.said.iter().any(|said| said.counts));
    match environment.usual_base_url(provider) {
        Some(found) if !is_said => found.variable.to_owned(),
        _ => setting_source(config, "model.base_url"),
    }
}

/// A key, and where its value comes from if one was given.
fn setting_source(config: &Config, key: &str) -> String {
    let setting = config.layers.setting(key);
    let said = setting.and_then(|setting| setting.said.iter().rfind(|said| said.counts));
    said.map_or_else(|| key.to_owned(), |said| format!("{key} ({})", said.source))
}

/// Says something once, however often models are chosen.
fn warn_once(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        output::to_user(text);
    }
}

/// The known prices, each overridden by what is configured. Without a price for reading and one for
/// writing nothing is known; what the cache costs is then what reading costs.
fn prices(config: &Config, known: Option<Prices>) -> Option<Prices> {
    let set = &config.model.prices;
    let all = [set.input, set.output, set.cache_read, set.cache_write];
    let [input, output, cache_read, cache_write] = all.map(|price| price.map(f64::from));
    let known = match (known, input, output) {
        (Some(known), _, _) => known,
        (None, Some(input), Some(output)) => {
            Prices { input, output, cache_read: input, cache_write: input }
        }
        (None, _, _) => return None,
    };
    Some(Prices {
        input: input.unwrap_or(known.input),
        output: output.unwrap_or(known.output),
        cache_read: cache_read.unwrap_or(known.cache_read),
        cache_write: cache_write.unwrap_or(known.cache_write),
    })
}

/// A budget in dollars needs a price.
fn check_price(config: &Config, model: &Model) -> anyhow::Result<()> {
    if config.agent.cost_budget_usd.is_none() || model.prices.is_some() {
        return Ok(());
    }
    let name = &model.name;
    bail!(
        "the price of {name} is not known, so the budget in {} cannot be kept. Use --budget-tokens \
         instead, or give the price in dollars for a million tokens (0 if it is free) in the file \
         that `toolkiln config path` names:\n\n\
         [model]\nname = \"{name}\"\n\n[model.prices]\ninput = …\noutput = …",
        setting_source(config, "agent.cost_budget_usd")
    )
}
