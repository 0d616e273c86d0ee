//! Who we are to an authorization server.

use hyper::header::HeaderValue;
use net::WebUrl;
use protocol::visible;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::discovery::ServerMetadata;
use super::secret::LoginSecret;
use super::token::refusal;
use super::web::{LoginWeb, Sent, object};
use crate::server_config::OAuthConfig;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of an identifier. Some are signed documents.
const MAX_CLIENT_ID: usize = 4096;

/// How a client shows the token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientMethod {
    /// By its identifier alone: a program on a user's machine cannot keep a secret.
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

impl ClientMethod {
    const ALL: [Self; 3] = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The first of these that the server takes.
    fn taken(server: &ServerMetadata, wanted: &[Self]) -> Option<Self> {
        let takes = |method: &&Self| server.client_methods.iter().any(|one| one == method.name());
        wanted.iter().find(takes).copied()
    }
}

/// A client of one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientIdentity {
    pub(crate) id: String,
    pub(crate) method: ClientMethod,
    /// Its secret, if it was given one when it was registered. One of the configuration is read from
    /// the environment each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<LoginSecret>,
    /// Whether the configuration names it, so that it belongs to one issuer for good.
    pub(crate) is_configured: bool,
}

impl ClientIdentity {
    /// Adds who we are to a form for the token endpoint. Answers with the header that says the rest.
    pub(crate) fn sign(
        &self,
        fields: &mut Vec<(&'static str, String)>,
        configured: Option<&LoginSecret>,
    ) -> Result<Option<HeaderValue>, String> {
        let secret = self.secret.as_ref().or(configured.filter(|_| self.is_configured));
        let secret = || secret.ok_or("the client has no secret".to_owned());
        match self.method {
            ClientMethod::None => fields.push(("client_id", self.id.clone())),
            ClientMethod::ClientSecretPost => {
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret()?.expose().to_owned()));
            }
            ClientMethod::ClientSecretBasic => {
                let both = format!("{}:{}", coded(&self.id), coded(secret()?.expose()));
                let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both)));
                let mut value = value.map_err(|_| "the client's secret cannot be sent")?;
                value.set_sensitive(true);
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// As in a form, because identifiers and secrets may hold a colon.
fn coded(text: &str) -> String {
    let field = net::form([("", text)]);
    field.trim_start_matches('=').to_owned()
}

/// The client that the configuration names; none if it names none.
pub(crate) fn configured(
    config: &OAuthConfig,
    server: &ServerMetadata,
    has_secret: bool,
) -> Result<Option<ClientIdentity>, String> {
    let Some(id) = config.client_id.clone() else { return Ok(None) };
    let wanted: &[ClientMethod] = match has_secret {
        true => &[ClientMethod::ClientSecretBasic, ClientMethod::ClientSecretPost],
        false => &[ClientMethod::None],
    };
    // A public client is taken by some servers that do not list it.
    let method = ClientMethod::taken(server, wanted);
    let method = method.or((!has_secret).then_some(ClientMethod::None));
    let method = method.ok_or_else(|| no_method(server))?;
    Ok(Some(ClientIdentity { id, method, secret: None, is_configured: true }))
}

/// Becomes a client: by the configuration, by the address of a document about us, or by registering.
pub(crate) async fn client(
    web: &LoginWeb,
    config: &OAuthConfig,
    server: &ServerMetadata,
    redirect: &str,
    has_secret: bool,
) -> Result<ClientIdentity, String> {
    if let Some(client) = configured(config, server, has_secret)? {
        return Ok(client);
    }
    if let (true, Some(url)) = (server.takes_client_documents, &config.client_metadata_url) {
        let (id, method) = (url.clone(), ClientMethod::None);
        return Ok(ClientIdentity { id, method, secret: None, is_configured: false });
    }
    match &server.registration {
        Some(endpoint) => registered(web, server, endpoint, redirect).await,
        None => Err(format!(
            "{} takes only clients that it knows: register one there with the redirect \
             http://127.0.0.1/callback, and name it as `oauth.client_id` of the server",
            visible(&server.issuer)
        )),
    }
}

async fn registered(
    web: &LoginWeb,
    server: &ServerMetadata,
    endpoint: &WebUrl,
    redirect: &str,
) -> Result<ClientIdentity, String> {
    let asked = ClientMethod::taken(server, &ClientMethod::ALL).ok_or_else(|| no_method(server))?;
    let about_us = json!({
        "client_name": "Toolkiln",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": asked.name(),
    });
    let reply = web.send(endpoint, Sent::Json(about_us)).await?;
    if !reply.status.is_success() {
        return Err(format!(
            "{} does not register us: {}",
            endpoint.origin(),
            refusal(&reply, &[])
        ));
    }
    let answer = object(&reply)?;
    let id = answer["client_id"].as_str().unwrap_or_default();
    if id.is_empty() || id.len() > MAX_CLIENT_ID {
        return Err(format!("{} registers us without a `client_id`", endpoint.origin()));
    }
    let method = match &answer["token_endpoint_auth_method"] {
        Value::String(name) => ClientMethod::named(name).ok_or_else(|| no_method(server))?,
        _ => asked,
    };
    let secret = answer["client_secret"].as_str().filter(|_| method != ClientMethod::None);
    let secret = secret.map(LoginSecret::new);
    if method != ClientMethod::None && secret.is_none() {
        return Err(format!("{} registers us without a secret", endpoint.origin()));
    }
    Ok(ClientIdentity { id: id.to_owned(), method, secret, is_configured: false })
}

fn no_method(server: &ServerMetadata) -> String {
    let names: Vec<&str> = ClientMethod::ALL.iter().map(|method| method.name()).collect();
    format!("{} knows clients by none of {}", visible(&server.issuer), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shows_who_it_is_in_each_way() {
        let client = |method| ClientIdentity {
            id: "my:id".into(),
            method,
            secret: Some(LoginSecret::new("s c+r:t")),
            is_configured: false,
        };
        let mut fields = Vec::new();
        let header = client(ClientMethod::None).sign(&mut fields, None).expect("signed");
        assert!(header.is_none() && fields == [("client_id", "my:id".to_owned())]);
        let mut fields = Vec::new();
        let header =
            client(ClientMethod::ClientSecretPost).sign(&mut fields, None).expect("signed");
        assert!(header.is_none() && fields[1] == ("client_secret", "s c+r:t".to_owned()));
        let mut fields = Vec::new();
        let header = client(ClientMethod::ClientSecretBasic).sign(&mut fields, None);
        let header = header.expect("signed").expect("a header");
        assert!(header.is_sensitive() && fields.is_empty());
        let both = STANDARD.decode(&header.as_bytes()["Basic ".len()..]).expect("Base64");
        assert_eq!(both, b"my%3Aid:s+c%2Br%3At");
    }

    #[test]
    fn a_configured_secret_is_for_the_configured_client_only() {
        let own = LoginSecret::new("configured");
        let mut client = ClientIdentity {
            id: "id".into(),
            method: ClientMethod::ClientSecretPost,
            secret: None,
            is_configured: false,
        };
        assert!(client.sign(&mut Vec::new(), Some(&own)).is_err());
        client.is_configured = true;
        assert!(client.sign(&mut Vec::new(), Some(&own)).is_ok());
    }
}
