//! Where a login may lead, and the requests that it makes.

use std::time::Duration;

use hyper::Method;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use net::{Allowance, Network, Reach, WebCall, WebClient, WebError, WebReply, WebUrl};
use serde_json::Value;

use crate::http::{direct, is_loopback};

/// How long one request of a login may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The largest document that is read. Real ones have a few kilobytes.
const MAX_DOCUMENT: usize = 256 * 1024;
const AGENT: &str = concat!("toolkiln/", env!("CARGO_PKG_VERSION"));

/// Makes requests for one server. The user named that server; whatever it names is judged.
pub(crate) struct LoginWeb {
    server: WebUrl,
    network: Network,
    allow: Vec<Allowance>,
}

/// What a request sends.
pub(crate) enum Sent {
    Nothing,
    /// The fields of a form, and the header that shows who we are.
    Form(Vec<(&'static str, String)>, Option<HeaderValue>),
    Json(Value),
}

impl LoginWeb {
    /// Logs in to this server, over these ways. `allow` is what may be reached besides public
    /// addresses.
    pub(crate) fn new(
        server: &str,
        network: Network,
        allow: Vec<Allowance>,
    ) -> Result<Self, String> {
        let server =
            WebUrl::parse(server).map_err(|error| format!("its `url` is invalid: {error}"))?;
        let web = Self { server, network, allow };
        web.checked(web.server.clone())
            .map_err(|why| format!("{} cannot be logged in to: {why}", web.server.origin()))?;
        Ok(web)
    }

    /// The server that is logged in to.
    pub(crate) fn server(&self) -> &WebUrl {
        &self.server
    }

    /// An address that a server named, if it may be used at all: encrypted, or on this very
    /// machine if the user's server is. Names are judged again when they are resolved.
    pub(crate) fn address(&self, text: &str) -> Result<WebUrl, String> {
        let url = WebUrl::parse(text).map_err(|error| error.to_string());
        url.and_then(|url| self.checked(url))
            .map_err(|why| format!("{} cannot be used: {why}", protocol::visible(&shortened(text))))
    }

    fn checked(&self, url: WebUrl) -> Result<WebUrl, String> {
        let authority = url.authority();
        let stays_here = is_loopback(&authority.host) && self.is_local();
        if !url.is_encrypted() && !stays_here {
            return Err("it is not an https address".to_owned());
        }
        let judged = self.reach(&url).judge_unresolved(&authority.host, authority.port);
        let hint = "allow it with `oauth.network_allow` of the server";
        judged.map_err(|why| format!("{why}; if it is meant, {hint}"))?;
        Ok(url)
    }

    fn is_local(&self) -> bool {
        is_loopback(&self.server.authority().host)
    }

    /// What may be connected to for an address. A user who names a server on this machine means this
    /// machine; a server elsewhere cannot lead there.
    fn reach(&self, url: &WebUrl) -> Reach {
        let authority = url.authority();
        let is_meant = authority == self.server.authority()
            || (self.is_local() && is_loopback(&authority.host));
        match is_meant {
            true => Reach::Named(vec![authority.clone()]),
            false => Reach::Besides(self.allow.clone()),
        }
    }

    /// Sends a request to an address that [`Self::address`] has let pass. No redirect is followed to
    /// another server.
    pub(crate) async fn send(&self, url: &WebUrl, sent: Sent) -> Result<WebReply, String> {
        let network = match is_loopback(&url.authority().host) {
            true => direct(&self.network),
            false => self.network.clone(),
        };
        let client = WebClient::new(&network, self.reach(url));
        let client = client.map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let (method, body) = match sent {
            Sent::Nothing => (Method::GET, None),
            Sent::Json(value) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                (Method::POST, Some(value.to_string().into()))
            }
            Sent::Form(fields, authorization) => {
                let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.insert(CONTENT_TYPE, kind);
                headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
                let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
                (Method::POST, Some(net::form(fields).into()))
            }
        };
        let call = WebCall {
            method,
            url: url.clone(),
            headers,
            body,
            timeout: PATIENCE,
            max_body: MAX_DOCUMENT,
        };
        let stays = |_: &WebUrl| Err("it leads to another server".to_owned());
        let reply = client.fetch(call, &stays).await.map_err(|error| match error {
            WebError::Refused { why, .. } => format!(
                "{} is not reached: {why}; if it is meant, allow it with `oauth.network_allow` of \
                 the server",
                url.origin()
            ),
            other => other.to_string(),
        })?;
        if let Some(redirect) = &reply.not_followed {
            let (from, why) = (url.origin(), &redirect.why);
            return Err(format!("a redirect of {from} is not followed: {why}"));
        }
        if reply.is_cut {
            return Err(format!("the answer of {} is too large", url.origin()));
        }
        Ok(reply)
    }
}

/// The JSON object of an answer.
pub(crate) fn object(reply: &WebReply) -> Result<Value, String> {
    let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
    value.filter(Value::is_object).ok_or_else(|| {
        let (origin, status) = (reply.url.origin(), reply.status.as_u16());
        format!("{origin} does not answer with a JSON object (status {status})")
    })
}

/// Characters of an address that a message repeats.
const SHOWN: usize = 200;

/// A text of a server, short enough for a message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(server: &str, allow: &[&str], named: &str) -> String {
        let allow = allow.iter().map(|text| text.parse().expect("an allowance")).collect();
        let web = LoginWeb::new(server, Network::default(), allow).expect("a server");
        match web.address(named) {
            Ok(_) => "may be used".to_owned(),
            Err(why) => why,
        }
    }

    #[test]
    fn a_server_elsewhere_cannot_lead_to_this_machine_or_its_networks() {
        let remote = "https://mcp.example.org/mcp";
        for bad in [
            "http://auth.example.org/",
            "http://localhost:8080/",
            "https://localhost/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[::]/",
            "https://LOCALHOST./",
            "https://127.1/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://\u{ff11}27.0.0.1/",
            "https://0.0.0.0/",
            "https://100.64.0.1/",
            "https://192.168.0.1/",
            "https://224.0.0.1/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest/",
            "https://metadata.google.internal/",
            "https://box/",
            "https://auth.example.org:8443/",
            "https://user:pass@auth.example.org/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "",
        ] {
            assert_ne!(judged(remote, &[], bad), "may be used", "{bad}");
        }
        for good in ["https://auth.example.org/x", "https://8.8.8.8/", remote] {
            assert_eq!(judged(remote, &[], good), "may be used", "{good}");
        }
        assert_eq!(judged(remote, &["10.0.0.0/8"], "https://10.0.0.1/"), "may be used");
        let allowed = judged(remote, &["auth.example.org:8443"], "https://auth.example.org:8443/");
        assert_eq!(allowed, "may be used");
    }

    #[test]
    fn a_server_on_this_machine_can_lead_to_this_machine_only() {
        let local = "http://localhost:3000/mcp";
        for good in
            ["http://localhost:9000/", "http://127.0.0.1:9000/", "https://auth.example.org/"]
        {
            assert_eq!(judged(local, &[], good), "may be used", "{good}");
        }
        for bad in [
            "http://auth.example.org/",
            "http://10.0.0.1/",
            "https://10.0.0.1/",
            "http://0.0.0.0:9000/",
            "http://[::]:9000/",
            "http://127.0.0.1.example.org:9000/",
            "https://169.254.169.254/",
        ] {
            assert_ne!(judged(local, &[], bad), "may be used", "{bad}");
        }
    }

    #[test]
    fn there_is_no_login_where_others_can_listen() {
        for bad in ["http://example.org/mcp", "http://10.0.0.1/mcp", "ftp://example.org"] {
            assert!(LoginWeb::new(bad, Network::default(), Vec::new()).is_err(), "{bad}");
        }
        let inside = LoginWeb::new("https://10.0.0.1:8443/mcp", Network::default(), Vec::new());
        assert!(inside.is_ok(), "the user named it");
    }
}
