//! What the configuration says about the web, for the tools that reach it.

use std::sync::Arc;

use net::{InvalidWebUrl, RequestHost, WebUrl};
use protocol::{ErrorCode, ToolError};
use providers::catalogue::{Choice, Endpoint, MachineFacts, ModelSelection, choose};
use providers::{Api, ModelQuestion, ModelSearch};
use serde_json::Value;
use tool_system::extensions::web::{web_fetch, web_search};
use tool_system::policy::{Decision, HostPattern, Rule, RuleSource, ToolPattern};
use tool_system::{
    AskedSearch, OnDemand, SearchFormat, SearchHit, SearchKind, SearchProvider, SearchQuestion,
    SearchServer, WebAccess, WebOptions,
};

use crate::config::{Config, Keys, SearchChoice, WebConfig};
use crate::environment::{self, Environment};

/// Where Google's models are served, also to clients that speak like OpenAI's.
const GEMINI_HOST: &str = "generativelanguage.googleapis.com";

/// The way to the web. Nothing is opened before it is needed, and no key of a search server is read.
pub(crate) fn access(config: &Config, environment: &Environment) -> Arc<WebAccess> {
    let web = config.web.clone();
    let of_model = (web.search.provider == Some(SearchChoice::Model))
        .then(|| search_of_model(config, environment));
    Arc::new(WebAccess::new(WebOptions {
        network: environment.network.for_web(),
        allow: config.web.network_allow.clone(),
        search: OnDemand::new(move || match &of_model {
            Some(of_model) => of_model.clone().map(Some),
            None => search_server(&web),
        }),
    }))
}

/// The servers that are asked without a question, as rules of the user's own.
pub(crate) fn rules(config: &Config, environment: &Environment) -> Vec<Rule> {
    let allow = |tool: &str, hosts: Vec<HostPattern>| {
        let tool = ToolPattern::new(tool).ok().filter(|_| !hosts.is_empty())?;
        Some(Rule { tool, hosts, ..Rule::new(Decision::Allow, RuleSource::User) })
    };
    let server = match config.web.search.provider {
        Some(SearchChoice::Model) => {
            search_of_model(config, environment).ok().map(|server| server.url)
        }
        _ => search_url(&config.web).ok().flatten(),
    };
    let server = server.and_then(|url| HostPattern::new(url.origin()).ok());
    let fetch = allow(web_fetch::NAME, config.web.hosts.clone());
    fetch.into_iter().chain(allow(web_search::NAME, server.into_iter().collect())).collect()
}

fn unusable(message: String, how: &str) -> ToolError {
    ToolError::new(ErrorCode::ToolDisabled, message).suggest(how)
}

/// The search that the provider of the configured model offers.
fn search_of_model(config: &Config, environment: &Environment) -> Result<SearchServer, ToolError> {
    let how = "The user can name a provider that searches as `web.search.provider` in the \
               configuration: searxng, brave, tavily, exa, kagi, anthropic, openai or gemini.";
    let keys = Keys::load(environment, config).map_err(|error| unusable(error.to_string(), how))?;
    let configured = ModelSelection {
        provider: config.model.provider.as_ref().map(|name| name.as_ref().to_owned()),
        model: config.model.name.clone(),
        base_url: config.model.base_url.as_ref().map(|url| url.as_str().to_owned()),
    };
    let facts = MachineFacts { keys: keys.variables(), ollama: None };
    let choice = choose(&ModelSelection::default(), &configured, &facts);
    let choice = choice.map_err(|error| {
        unusable(format!("the provider of the model is not known: {error}"), how)
    })?;
    let Choice::Model { endpoint, model, base_url, .. } = choice else {
        return Err(unusable("there is no model whose provider could search".to_owned(), how));
    };
    let base_url = config.base_url(environment, endpoint.name).unwrap_or(base_url);
    let (offered, url) = offered(endpoint, &base_url).ok_or_else(|| {
        let name = endpoint.name;
        unusable(format!("the provider {name} at {base_url} offers no search of its own"), how)
    })?;
    let search = &config.web.search;
    if search.url.is_some() {
        let message =
            "`web.search.url` is for search servers: the key of a model goes to its provider";
        return Err(unusable(message.to_owned(), "The user can take it out of the configuration."));
    }
    let url = WebUrl::parse(&url).map_err(|error| unusable(format!("{url}: {error}"), how))?;
    let key = match &search.key_env {
        Some(variable) => key_in(variable)?,
        None => keys.of(endpoint).map(|key| key.secret.expose().to_owned()),
    };
    let model = search.model.clone().unwrap_or(model);
    let kind = SearchKind::Other(Arc::new(AskedModel { search: offered, model }));
    Ok(SearchServer { kind, url, key })
}

/// A model that searches, as a search server.
struct AskedModel {
    search: ModelSearch,
    model: String,
}

impl SearchFormat for AskedModel {
    fn name(&self) -> String {
        self.search.to_string()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        self.search.key_header()
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        self.search.headers()
    }

    fn takes_its_time(&self) -> bool {
        true
    }

    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let SearchQuestion { query, results, since, .. } = asked;
        let (since, model) = (since.as_deref(), self.model.as_str());
        let (path, body) =
            self.search.request(&ModelQuestion { query, results: *results, since, model });
        let url = WebUrl::parse(&format!("{}/{path}", base.as_str().trim_end_matches('/')))?;
        Ok(AskedSearch { url, body: Some(body) })
    }

    fn failure(&self, answer: &Value) -> Option<String> {
        self.search.failure(answer)
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        let pages = self.search.pages(answer).into_iter();
        let hit = |page: providers::FoundPage| SearchHit {
            title: page.title,
            url: page.url,
            snippet: page.snippet,
            published: page.published,
        };
        Some(pages.map(hit).collect())
    }
}

/// The search of a provider at an address, and where it is asked.
fn offered(endpoint: &Endpoint, base_url: &str) -> Option<(ModelSearch, String)> {
    let host = WebUrl::parse(base_url).ok()?.authority().host.clone();
    if host == RequestHost::Name(GEMINI_HOST.to_owned()) {
        return Some((ModelSearch::Gemini, ModelSearch::Gemini.usual_url().to_owned()));
    }
    let provider = match endpoint.api {
        Api::Anthropic => {
            let base_url = base_url.trim_end_matches('/');
            let base_url = base_url.strip_suffix("/v1").unwrap_or(base_url);
            return Some((ModelSearch::Anthropic, base_url.to_owned()));
        }
        Api::OpenAiResponses => ModelSearch::OpenAi,
        // The same service and key, by its older interface.
        Api::OpenAiChat if base_url.trim_end_matches('/') == ModelSearch::OpenAi.usual_url() => {
            ModelSearch::OpenAi
        }
        Api::OpenAiChat => return None,
    };
    Some((provider, base_url.to_owned()))
}

fn search_url(web: &WebConfig) -> Result<Option<WebUrl>, ToolError> {
    let usual = match web.search.provider {
        Some(SearchChoice::Server(provider)) => provider.usual_url(),
        Some(SearchChoice::Of(search)) => Some(search.usual_url()),
        Some(SearchChoice::Model) | None => return Ok(None),
    };
    let url = web.search.url.as_ref().map(|url| url.as_str()).or(usual);
    let url = url.ok_or_else(|| {
        let message = "the address of the search server is not configured".to_owned();
        unusable(message, "The user can name it as `web.search.url` in the configuration.")
    })?;
    WebUrl::parse(url).map(Some).map_err(|error| {
        let message = format!("`web.search.url` cannot be used: {error}");
        unusable(message, "The user can correct it in the configuration.")
    })
}

fn key_in(variable: &str) -> Result<Option<String>, ToolError> {
    let key = environment::key_in(variable)
        .transpose()
        .map_err(|error| ToolError::new(ErrorCode::ToolDisabled, format!("{variable}: {error}")))?;
    Ok(key.map(|key| key.expose().to_owned()))
}

fn search_server(web: &WebConfig) -> Result<Option<SearchServer>, ToolError> {
    let search = &web.search;
    let (Some(choice), Some(url)) = (search.provider, search_url(web)?) else { return Ok(None) };
    let (kind, usual_key) = match choice {
        SearchChoice::Model => return Ok(None),
        SearchChoice::Server(provider) => (SearchKind::Known(provider), provider.usual_key()),
        SearchChoice::Of(offered) => {
            let model = search.model.clone().unwrap_or_else(|| offered.usual_model().to_owned());
            let asked = AskedModel { search: offered, model };
            (SearchKind::Other(Arc::new(asked)), Some(offered.usual_key()))
        }
    };
    let variable = search.key_env.as_deref().or(usual_key);
    let key = variable.map(key_in).transpose()?.flatten();
    match (&key, variable, choice) {
        // A server of one's own usually needs none.
        (Some(_), ..)
        | (None, _, SearchChoice::Server(SearchProvider::SearXng))
        | (None, None, _) => {}
        (None, Some(variable), choice) => {
            let name = String::from(choice);
            let message =
                format!("the search server {name} needs a key, and {variable} is not set");
            return Err(ToolError::new(ErrorCode::ToolDisabled, message).suggest(format!(
                "The user can put the key into {variable}, or name another variable as \
                 `web.search.key_env` in the configuration."
            )));
        }
    }
    Ok(Some(SearchServer { kind, url, key }))
}
