//! What the configuration says about the web, for the tools that reach it.

use std::sync::Arc;

use net::WebUrl;
use protocol::{ErrorCode, ToolError};
use tool_system::policy::{Decision, HostPattern, Rule, RuleSource, ToolPattern};
use tool_system::{OnDemand, SearchProvider, SearchServer, WebAccess, WebOptions};

use crate::config::{Config, WebConfig};
use crate::environment::{self, Environment};

const FETCH: &str = "web_fetch";
const SEARCH: &str = "web_search";

/// The way to the web. Nothing is opened and no key is read before it is needed.
pub(crate) fn access(config: &Config, environment: &Environment) -> Arc<WebAccess> {
    let web = config.web.clone();
    Arc::new(WebAccess::new(WebOptions {
        network: environment.network.for_web(),
        allow: config.web.network_allow.clone(),
        search: OnDemand::new(move || search_server(&web)),
    }))
}

/// The servers that are asked without a question, as rules of the user's own.
pub(crate) fn rules(config: &Config) -> Vec<Rule> {
    let allow = |tool: &str, hosts: Vec<HostPattern>| {
        let tool = ToolPattern::new(tool).ok().filter(|_| !hosts.is_empty())?;
        Some(Rule { tool, hosts, ..Rule::new(Decision::Allow, RuleSource::User) })
    };
    let server = search_url(&config.web).ok().flatten();
    let server = server.and_then(|url| HostPattern::new(url.origin()).ok());
    let fetch = allow(FETCH, config.web.hosts.clone());
    fetch.into_iter().chain(allow(SEARCH, server.into_iter().collect())).collect()
}

fn search_url(web: &WebConfig) -> Result<Option<WebUrl>, ToolError> {
    let Some(provider) = web.search.provider else { return Ok(None) };
    let url = web.search.url.as_ref().map(|url| url.as_str()).or(provider.usual_url());
    let unusable =
        |message: String, how: &str| ToolError::new(ErrorCode::ToolDisabled, message).suggest(how);
    let url = url.ok_or_else(|| {
        let message = format!("the address of the search server {provider} is not configured");
        unusable(message, "The user can name it as `web.search.url` in the configuration.")
    })?;
    WebUrl::parse(url).map(Some).map_err(|error| {
        let message = format!("`web.search.url` cannot be used: {error}");
        unusable(message, "The user can correct it in the configuration.")
    })
}

fn search_server(web: &WebConfig) -> Result<Option<SearchServer>, ToolError> {
    let (Some(provider), Some(url)) = (web.search.provider, search_url(web)?) else {
        return Ok(None);
    };
    let variable = web.search.key_env.as_deref().or(provider.usual_key());
    let key = variable.and_then(environment::key_in).transpose().map_err(|error| {
        let message = format!("{}: {error}", variable.unwrap_or_default());
        ToolError::new(ErrorCode::ToolDisabled, message)
    })?;
    match (&key, variable, provider) {
        // A server of one's own usually needs none.
        (Some(_), ..) | (None, _, SearchProvider::SearXng) | (None, None, _) => {}
        (None, Some(variable), _) => {
            let message =
                format!("the search server {provider} needs a key, and {variable} is not set");
            return Err(ToolError::new(ErrorCode::ToolDisabled, message).suggest(format!(
                "The user can put the key into {variable}, or name another variable as \
                 `web.search.key_env` in the configuration."
            )));
        }
    }
    let key = key.map(|key| key.expose().to_owned());
    Ok(Some(SearchServer { provider, url, key }))
}
