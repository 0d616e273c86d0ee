//! What is chosen, as values of the configuration.

use providers::catalogue::{COMPATIBLE, Endpoint, OFFLINE, endpoint, endpoint_at};

use super::SetupArgs;
use crate::config::FlagLayer;
use crate::environment::Environment;

/// Settings that are true of one model only; a name that ends with a dot stands for its section.
pub(super) const ABOUT_ONE_MODEL: [&str; 5] =
    ["model.max_tokens", "model.context_tokens", "model.tools", "model.images", "model.prices."];

/// A model and the way to it. What is left out is the provider's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) base_url: Option<String>,
    /// The variable that holds the key.
    pub(super) key_env: Option<String>,
}

impl Selection {
    /// What the command line says.
    pub(super) fn given(args: &SetupArgs) -> Self {
        let SetupArgs { provider, model, base_url, key_env, yes: _ } = args;
        Self {
            provider: provider.clone(),
            model: model.clone(),
            base_url: base_url.clone(),
            key_env: key_env.clone(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.provider.is_none() && self.base_url.is_none() && self.model.is_none()
    }

    /// Whether nothing has to be found out: a model is named or its provider has a usual one. A name
    /// that is no provider's is complete, too, and refused later.
    pub(super) fn is_complete(&self) -> bool {
        let is_known = |name: &String| endpoint(name).is_some_and(|known| known.is_local());
        self.model.is_some()
            || self.provider.as_ref().is_some_and(|name| !is_known(name))
            || self.default_model().is_some()
    }

    fn endpoint(&self) -> &'static Endpoint {
        let named = self.provider.as_ref().and_then(|name| endpoint(name));
        let at = || Some(endpoint_at(self.base_url.as_ref()?));
        named.or_else(at).unwrap_or(&COMPATIBLE)
    }

    /// The model that the provider has if none is named.
    pub(super) fn default_model(&self) -> Option<&'static str> {
        self.endpoint().default_model
    }

    /// Where the provider is found.
    pub(super) fn address(&self, environment: &Environment) -> Option<String> {
        let endpoint = self.endpoint();
        let usual = environment.usual_base_url(endpoint.name).map(|found| found.value.clone());
        let own = Some(endpoint.base_url.to_owned()).filter(|url| !url.is_empty());
        self.base_url.clone().or(usual).or(own)
    }

    /// As options of the command line say it.
    pub(super) fn layer(&self) -> FlagLayer {
        let mut layer = FlagLayer::default();
        layer.set("--provider", "model.provider", self.provider.as_deref());
        layer.set("--model", "model.name", self.model.as_deref());
        layer.set("--base-url", "model.base_url", self.base_url.as_deref());
        layer.set("--key-env", "model.key_env", self.key_env.as_deref());
        layer
    }

    /// As the section `model` of a file says it; `None` removes a key.
    pub(super) fn entries(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("provider", self.provider.as_deref()),
            ("name", self.model.as_deref()),
            ("base_url", self.base_url.as_deref()),
            ("key_env", self.key_env.as_deref()),
        ]
    }

    /// The lines of the file.
    pub(super) fn shown(&self) -> String {
        let said = self.entries().into_iter().filter_map(|(name, value)| Some((name, value?)));
        let lines = said.map(|(name, value)| format!("  {name} = {:?}", value));
        let lines: Vec<String> = ["  [model]".to_owned()].into_iter().chain(lines).collect();
        lines.join("\n")
    }

    /// How the provider gets a key.
    pub(super) fn key_advice(&self) -> String {
        let usual =
            self.endpoint().key_variable.unwrap_or(COMPATIBLE.key_variable.unwrap_or(OFFLINE));
        let variable = self.key_env.as_deref().unwrap_or(usual);
        format!("Put the key into it (export {variable}=…) and run `toolkiln setup` again.")
    }
}
