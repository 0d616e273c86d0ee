//! Tokens: asking for them, and reading what comes back.

use net::{WebReply, WebUrl};
use protocol::visible;
use serde_json::Value;

use super::record::{LoginRecord, now};
use super::registration::ClientIdentity;
use super::secret::LoginSecret;
use super::web::{LoginWeb, Sent, object, shortened};
use crate::credentials::bearer;

/// Bytes of a token. Some hold the rights of many groups; the head of a request holds little more.
const MAX_TOKEN: usize = 16 * 1024;

/// The words with which an authorization server refuses a client, a code or a refresh token for good.
const DENIALS: [&str; 4] =
    ["invalid_grant", "invalid_client", "unauthorized_client", "access_denied"];

/// What was granted.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) access: LoginSecret,
    pub(crate) refresh: Option<LoginSecret>,
    /// When it expires, in seconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

/// Why nothing was granted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotGranted {
    /// The server does not accept what it was shown.
    Denied(String),
    /// It could not be asked, or did not answer properly.
    Failed(String),
}

impl NotGranted {
    /// The reason, as a part of a sentence.
    pub(crate) fn why(self) -> String {
        match self {
            Self::Denied(why) | Self::Failed(why) => why,
        }
    }
}

/// Where tokens come from, and who asks.
pub(crate) struct TokenSource<'s> {
    pub(crate) web: &'s LoginWeb,
    pub(crate) endpoint: &'s WebUrl,
    pub(crate) client: &'s ClientIdentity,
    pub(crate) client_secret: Option<&'s LoginSecret>,
    /// What the tokens are for.
    pub(crate) resource: &'s str,
}

impl TokenSource<'_> {
    pub(crate) async fn by_code(
        &self,
        code: &LoginSecret,
        verifier: &LoginSecret,
        redirect: &str,
    ) -> Result<Tokens, NotGranted> {
        let fields = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.expose().to_owned()),
            ("redirect_uri", redirect.to_owned()),
            ("code_verifier", verifier.expose().to_owned()),
        ];
        self.granted(fields, &[code, verifier]).await
    }

    pub(crate) async fn by_refresh(&self, refresh: &LoginSecret) -> Result<Tokens, NotGranted> {
        let fields = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh.expose().to_owned()),
        ];
        self.granted(fields, &[refresh]).await
    }

    pub(crate) async fn by_client(&self, scopes: &[String]) -> Result<Tokens, NotGranted> {
        let mut fields = vec![("grant_type", "client_credentials".to_owned())];
        if !scopes.is_empty() {
            fields.push(("scope", scopes.join(" ")));
        }
        self.granted(fields, &[]).await
    }

    async fn granted(
        &self,
        mut fields: Vec<(&'static str, String)>,
        secrets: &[&LoginSecret],
    ) -> Result<Tokens, NotGranted> {
        fields.push(("resource", self.resource.to_owned()));
        let signed = self.client.sign(&mut fields, self.client_secret);
        let header = signed.map_err(NotGranted::Failed)?;
        let sent = self.web.send(self.endpoint, Sent::Form(fields, header)).await;
        let reply = sent.map_err(NotGranted::Failed)?;
        let origin = self.endpoint.origin();
        if !reply.status.is_success() {
            let own = self.client.secret.iter().chain(self.client_secret);
            let secrets: Vec<&LoginSecret> = secrets.iter().copied().chain(own).collect();
            let why = format!("{origin} grants no token: {}", refusal(&reply, &secrets));
            return Err(match denies(&reply) {
                true => NotGranted::Denied(why),
                false => NotGranted::Failed(why),
            });
        }
        let answer = object(&reply).map_err(NotGranted::Failed)?;
        read(&answer).map_err(|why| NotGranted::Failed(format!("{origin} {why}")))
    }
}

/// Whether it is the authorization server that does not accept what it was shown. What stands on the way to it, such as a
/// proxy, refuses requests too, and says nothing about tokens.
fn denies(reply: &WebReply) -> bool {
    let error = object(reply).ok();
    let error = error.as_ref().and_then(|answer| answer["error"].as_str());
    reply.status.is_client_error() && error.is_some_and(|error| DENIALS.contains(&error))
}

fn read(answer: &Value) -> Result<Tokens, &'static str> {
    let kind = answer["token_type"].as_str().unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("grants a token of a kind that is not supported");
    }
    let access = answer["access_token"].as_str().unwrap_or_default();
    // A token with a space or a line break would be another header.
    let is_token = !access.is_empty() && access.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token || access.len() > MAX_TOKEN || bearer(access).is_none() {
        return Err("grants a token that cannot be used");
    }
    let refresh = answer["refresh_token"].as_str().filter(|token| !token.is_empty());
    if refresh.is_some_and(|token| token.len() > MAX_TOKEN) {
        return Err("grants a token that cannot be used");
    }
    // Some write the number as text.
    let seconds = answer["expires_in"].as_f64();
    let seconds = seconds.or_else(|| answer["expires_in"].as_str()?.parse().ok());
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    Ok(Tokens {
        access: LoginSecret::new(access),
        refresh: refresh.map(LoginSecret::new),
        expires_at: seconds.map(|seconds| now().saturating_add(seconds as u64)),
    })
}

/// Takes a token back at the server, if it offers that. Answers whether it has.
pub(crate) async fn revoked(
    web: &LoginWeb,
    record: &LoginRecord,
    client_secret: Option<&LoginSecret>,
) -> bool {
    let tokens = &record.tokens;
    let token = tokens.refresh.as_ref().or(tokens.access.as_ref());
    let (Some(token), Some(endpoint)) = (token, record.revocation_endpoint.as_deref()) else {
        return false;
    };
    let Ok(endpoint) = web.address(endpoint) else { return false };
    let mut fields = vec![("token", token.expose().to_owned())];
    let Ok(header) = record.client.sign(&mut fields, client_secret) else { return false };
    let reply = web.send(&endpoint, Sent::Form(fields, header)).await;
    reply.is_ok_and(|reply| reply.status.is_success())
}

/// What a server says about a refusal, without any secret that it repeats.
pub(crate) fn refusal(reply: &WebReply, secrets: &[&LoginSecret]) -> String {
    let status = reply.status.as_u16();
    let Ok(answer) = object(reply) else { return format!("status {status}") };
    let said = |key: &str| answer[key].as_str().map(|text| visible(&shortened(text)));
    let words: Vec<String> =
        [said("error"), said("error_description")].into_iter().flatten().collect();
    let words = words.join(": ");
    match words.is_empty() || secrets.iter().any(|secret| secret.is_in(&answer.to_string())) {
        true => format!("status {status}"),
        false => words,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_tokens_that_can_be_sent_are_taken() {
        let long = "x".repeat(MAX_TOKEN + 1);
        for bad in [
            json!({}),
            json!({"access_token": "a"}),
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a b", "token_type": "Bearer"}),
            json!({"access_token": "a\r\nX: y", "token_type": "Bearer"}),
            json!({"access_token": "\u{e9}", "token_type": "Bearer"}),
            json!({"access_token": long, "token_type": "Bearer"}),
            json!({"access_token": 5, "token_type": "Bearer"}),
            json!({"access_token": "a", "refresh_token": long, "token_type": "Bearer"}),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
        for (seconds, known) in
            [(json!(60), true), (json!("60"), true), (json!(-1), false), (json!(1e300), true)]
        {
            let answer =
                json!({"access_token": "a", "token_type": "bearer", "expires_in": seconds});
            let tokens = read(&answer).expect("tokens");
            assert_eq!(tokens.expires_at.is_some(), known, "{answer}");
            assert!(!format!("{tokens:?}").contains("\"a\""));
        }
    }
}
