//! Requests to the identity provider.

use std::time::Duration;

use hyper::Method;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use net::{Network, Reach, RequestHost, WebCall, WebClient, WebReply, WebUrl};
use serde_json::Value;

use super::id_token::Jwks;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The largest document that is read. Real ones have a few kilobytes.
const MAX_DOCUMENT: usize = 256 * 1024;
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// Makes requests for one provider.
pub(super) struct ProviderWeb {
    issuer: WebUrl,
    network: Network,
}

impl ProviderWeb {
    pub(super) fn new(issuer: &str, network: Network) -> Result<Self, String> {
        let url = WebUrl::parse(issuer).map_err(|error| error.to_string())?;
        let web = Self { issuer: url.clone(), network };
        web.checked(url)?;
        Ok(web)
    }

    pub(super) fn issuer(&self) -> &WebUrl {
        &self.issuer
    }

    /// An address that the provider has named, if it may be used.
    pub(super) fn address(&self, text: &str) -> Result<WebUrl, String> {
        let url = WebUrl::parse(text).map_err(|error| error.to_string())?;
        self.checked(url)
    }

    fn checked(&self, url: WebUrl) -> Result<WebUrl, String> {
        let authority = url.authority();
        let stays_here = is_loopback(&authority.host) && is_loopback(&self.issuer.authority().host);
        if !url.is_encrypted() && !stays_here {
            return Err(format!("{} is not an https address", url.origin()));
        }
        self.reach(&url).judge_unresolved(&authority.host, authority.port)?;
        Ok(url)
    }

    /// The provider itself may be anywhere, because the operator has named it. Whatever it names is public, or on
    /// this machine if it is.
    fn reach(&self, url: &WebUrl) -> Reach {
        let authority = url.authority();
        let own = self.issuer.authority();
        let stays_here = is_loopback(&authority.host) && is_loopback(&own.host);
        match authority.host == own.host || stays_here {
            true => Reach::Named(vec![authority.clone()]),
            false => Reach::Besides(Vec::new()),
        }
    }

    pub(super) async fn description(&self) -> Result<Value, String> {
        let path = self.issuer.path().trim_end_matches('/');
        let url = self.issuer.at_path(&format!("{path}{WELL_KNOWN}"));
        self.document(&url).await
    }

    pub(super) async fn jwks(&self, url: &WebUrl) -> Result<Jwks, String> {
        Ok(Jwks::read(&self.document(url).await?))
    }

    async fn document(&self, url: &WebUrl) -> Result<Value, String> {
        let reply = self.send(Method::GET, url, HeaderMap::new(), None).await?;
        match reply.status.is_success() {
            true => object(&reply),
            false => Err(format!("{} has the status {}", url.origin(), reply.status.as_u16())),
        }
    }

    /// Sends a form. Answers whether it was granted, and what was said.
    pub(super) async fn post(
        &self,
        url: &WebUrl,
        fields: &[(&'static str, String)],
        authorization: Option<&str>,
    ) -> Result<(bool, Value), String> {
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, kind);
        if let Some(text) = authorization {
            let value = HeaderValue::from_str(text).map_err(|error| error.to_string())?;
            headers.insert(AUTHORIZATION, value);
        }
        let form = net::form(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let reply = self.send(Method::POST, url, headers, Some(form)).await?;
        let status = reply.status;
        if status.is_server_error() {
            return Err(format!("{} has the status {}", url.origin(), status.as_u16()));
        }
        Ok((status.is_success(), object(&reply)?))
    }

    async fn send(
        &self,
        method: Method,
        url: &WebUrl,
        mut headers: HeaderMap,
        body: Option<String>,
    ) -> Result<WebReply, String> {
        // What is for this machine is not for a proxy.
        let network = match is_loopback(&url.authority().host) {
            true => Network { http_proxy: None, https_proxy: None, ..self.network.clone() },
            false => self.network.clone(),
        };
        let client = WebClient::new(&network, self.reach(url));
        let client = client.map_err(|error| error.to_string())?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let call = WebCall {
            method,
            url: url.clone(),
            headers,
            body: body.map(Into::into),
            timeout: PATIENCE,
            max_body: MAX_DOCUMENT,
        };
        let stays = |_: &WebUrl| Err("it leads to another server".to_owned());
        let reply = client.fetch(call, &stays).await.map_err(|error| error.to_string())?;
        match (&reply.not_followed, reply.is_cut) {
            (Some(_), _) => Err(format!("{} redirects to another server", url.origin())),
            (None, true) => Err(format!("the answer of {} is too large", url.origin())),
            (None, false) => Ok(reply),
        }
    }
}

fn object(reply: &WebReply) -> Result<Value, String> {
    let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
    value.filter(Value::is_object).ok_or_else(|| "its answer is not a JSON object".to_owned())
}

fn is_loopback(host: &RequestHost) -> bool {
    match host {
        RequestHost::Name(name) => name == "localhost",
        RequestHost::Address(address) => address.is_loopback(),
    }
}
