//! Which authorization server a server trusts, and what that one offers.

use net::WebUrl;
use serde_json::Value;

use super::challenge::{self, Challenge};
use super::web::{LoginWeb, Sent, object, shortened};
use protocol::visible;

/// Authorization servers that a server may name.
const MAX_ISSUERS: usize = 16;

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    /// What tokens are asked for.
    pub(crate) resource: String,
    /// The authorization servers that it trusts, as it writes them.
    pub(crate) issuers: Vec<String>,
    pub(crate) scopes: Vec<String>,
}

/// What an authorization server says about itself.
#[derive(Clone, Debug)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization: Option<WebUrl>,
    pub(crate) token: WebUrl,
    pub(crate) registration: Option<WebUrl>,
    pub(crate) revocation: Option<WebUrl>,
    pub(crate) scopes: Vec<String>,
    pub(crate) grants: Vec<String>,
    pub(crate) client_methods: Vec<String>,
    pub(crate) has_s256: bool,
    pub(crate) takes_client_documents: bool,
    /// Whether each of its answers names it.
    pub(crate) says_issuer: bool,
}

/// Reads how a server is logged in to. Without a challenge the usual places are asked.
pub(crate) async fn resource(
    web: &LoginWeb,
    challenge: Option<&Challenge>,
) -> Result<Option<ResourceMetadata>, String> {
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    if let Some(named) = named {
        let url = web.address(named)?;
        let reply = web.send(&url, Sent::Nothing).await?;
        if !reply.status.is_success() {
            let status = reply.status.as_u16();
            return Err(format!("its description at {} has the status {status}", url.origin()));
        }
        return checked_resource(web, &object(&reply)?).map(Some);
    }
    for url in resource_places(web.server()) {
        let reply = web.send(&url, Sent::Nothing).await?;
        if let (true, Ok(document)) = (reply.status.is_success(), object(&reply)) {
            return checked_resource(web, &document).map(Some);
        }
    }
    Ok(None)
}

/// Where a server describes itself if it does not say: for its own path, then for the whole host.
fn resource_places(server: &WebUrl) -> Vec<WebUrl> {
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let root = server.at_path(WELL_KNOWN);
    match path {
        "" => vec![root],
        path => vec![server.at_path(&format!("{WELL_KNOWN}{path}")), root],
    }
}

fn checked_resource(web: &LoginWeb, document: &Value) -> Result<ResourceMetadata, String> {
    let resource = document["resource"].as_str().unwrap_or_default();
    // Otherwise tokens of one server could be asked for by another.
    if !covers(resource, web.server()) {
        // Without the query, which may hold a key.
        let own = web.server().at_path(web.server().path());
        let told = visible(&shortened(resource));
        return Err(format!("its description is of `{told}` and not of {own}"));
    }
    let issuers: Vec<String> = texts(&document["authorization_servers"], MAX_ISSUERS);
    if issuers.is_empty() {
        return Err("its description names no authorization server".to_owned());
    }
    let scopes = challenge::scopes(&texts(&document["scopes_supported"], usize::MAX).join(" "));
    Ok(ResourceMetadata { resource: resource.to_owned(), issuers, scopes })
}

/// Whether a resource is the server or a path above it.
fn covers(resource: &str, server: &WebUrl) -> bool {
    let Ok(url) = WebUrl::parse(resource) else { return false };
    let (above, own) = (url.path().trim_end_matches('/'), server.path());
    let rest = own.strip_prefix(above);
    let is_above = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let has_query = resource.contains('?') && url.as_str() != server.as_str();
    let has_more = has_query || resource.contains('#');
    url.origin() == server.origin() && is_above && !has_more
}

/// Reads what an authorization server offers, from the places in the order of the specification.
pub(crate) async fn server(web: &LoginWeb, issuer: &str) -> Result<ServerMetadata, String> {
    let url = web.address(issuer)?;
    if issuer.contains(['?', '#']) {
        return Err(format!("{} is not an issuer", visible(&shortened(issuer))));
    }
    for place in server_places(&url) {
        let reply = web.send(&place, Sent::Nothing).await?;
        if let (true, Ok(document)) = (reply.status.is_success(), object(&reply)) {
            return checked_server(web, issuer, &document);
        }
    }
    Err(format!("the authorization server {} does not describe itself", url.as_str()))
}

fn server_places(issuer: &WebUrl) -> Vec<WebUrl> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let path = issuer.path().trim_end_matches('/');
    match path {
        "" => vec![issuer.at_path(OAUTH), issuer.at_path(OPENID)],
        path => vec![
            issuer.at_path(&format!("{OAUTH}{path}")),
            issuer.at_path(&format!("{OPENID}{path}")),
            issuer.at_path(&format!("{path}{OPENID}")),
        ],
    }
}

fn checked_server(
    web: &LoginWeb,
    issuer: &str,
    document: &Value,
) -> Result<ServerMetadata, String> {
    let told = document["issuer"].as_str().unwrap_or_default();
    // Letter by letter, as the specifications demand: this keeps issuers apart.
    if told != issuer {
        let (told, issuer) = (visible(&shortened(told)), visible(&shortened(issuer)));
        return Err(format!("the authorization server {issuer} calls itself `{told}`"));
    }
    let address = |key: &str| match document[key].as_str() {
        Some(text) => web.address(text).map(Some),
        None => Ok(None),
    };
    let list = |key: &str, usual: &[&str]| match document[key].is_array() {
        true => texts(&document[key], usize::MAX),
        false => usual.iter().map(|&text| text.to_owned()).collect(),
    };
    let token = address("token_endpoint")?.ok_or("its authorization server gives no tokens")?;
    Ok(ServerMetadata {
        issuer: issuer.to_owned(),
        authorization: address("authorization_endpoint")?,
        token,
        registration: address("registration_endpoint")?,
        // A login works without it.
        revocation: address("revocation_endpoint").ok().flatten(),
        scopes: challenge::scopes(&texts(&document["scopes_supported"], usize::MAX).join(" ")),
        grants: list("grant_types_supported", &["authorization_code", "implicit"]),
        client_methods: list("token_endpoint_auth_methods_supported", &["client_secret_basic"]),
        has_s256: list("code_challenge_methods_supported", &[]).iter().any(|one| one == "S256"),
        takes_client_documents: document["client_id_metadata_document_supported"] == true,
        says_issuer: document["authorization_response_iss_parameter_supported"] == true,
    })
}

fn texts(list: &Value, most: usize) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).take(most).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> WebUrl {
        WebUrl::parse(text).expect("an address")
    }

    fn shown(places: Vec<WebUrl>) -> Vec<String> {
        places.iter().map(|place| place.as_str().to_owned()).collect()
    }

    #[test]
    fn descriptions_are_looked_for_in_the_order_of_the_specification() {
        let at = |text: &str| shown(resource_places(&url(text)));
        assert_eq!(
            at("https://x.org/a/mcp?k=1"),
            [
                "https://x.org/.well-known/oauth-protected-resource/a/mcp",
                "https://x.org/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(at("https://x.org/"), ["https://x.org/.well-known/oauth-protected-resource"]);
        let at = |text: &str| shown(server_places(&url(text)));
        assert_eq!(
            at("https://x.org/t"),
            [
                "https://x.org/.well-known/oauth-authorization-server/t",
                "https://x.org/.well-known/openid-configuration/t",
                "https://x.org/t/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            at("https://x.org"),
            [
                "https://x.org/.well-known/oauth-authorization-server",
                "https://x.org/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_description_is_of_the_server_or_of_what_it_is_a_part_of() {
        let server = url("https://x.org/a/mcp");
        for (resource, expected) in [
            ("https://x.org/a/mcp", true),
            ("https://X.org/a/mcp/", true),
            ("https://x.org/a", true),
            ("https://x.org", true),
            ("https://x.org/a/m", false),
            ("https://x.org/a/mcp/more", false),
            ("https://x.org/A/mcp", false),
            ("http://x.org/a/mcp", false),
            ("https://x.org:444/a/mcp", false),
            ("https://y.org/a/mcp", false),
            ("https://x.org/a/mcp?user=1", false),
            ("https://x.org/a/mcp#part", false),
            ("", false),
        ] {
            assert_eq!(covers(resource, &server), expected, "{resource}");
        }
    }

    #[test]
    fn an_authorization_server_is_who_it_was_asked_as() {
        let web = LoginWeb::new("https://x.org/mcp", net::Network::default(), Vec::new());
        let web = web.expect("a server");
        let document =
            |issuer: &str, token: &str| json!({"issuer": issuer, "token_endpoint": token});
        let good = document("https://a.org", "https://b.org/t");
        let read = checked_server(&web, "https://a.org", &good).expect("metadata");
        assert!(!read.has_s256 && read.client_methods == ["client_secret_basic"]);
        for (issuer, told, token) in [
            ("https://a.org", "https://a.org/", "https://b.org/t"),
            ("https://a.org", "https://A.org", "https://b.org/t"),
            ("https://a.org", "https://c.org", "https://b.org/t"),
            ("https://a.org", "https://a.org", "http://b.org/t"),
            ("https://a.org", "https://a.org", "https://127.0.0.1/t"),
        ] {
            let document = document(told, token);
            assert!(checked_server(&web, issuer, &document).is_err(), "{told} {token}");
        }
        assert!(checked_server(&web, "", &json!({})).is_err());
    }
}
