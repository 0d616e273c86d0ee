//! Finding a service, and making sure that it is the right one before it is sent a token.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use net::Network;
use providers::{JsonServer, Secret};
use serde::Deserialize;
use web_service::{Credentials, Secrets, random_secret};
use workspace::{Ownership, Workspace};

use super::{Service, ServiceFailure, failure, understood};
use crate::environment;

/// The token for a service of another machine.
const TOKEN_VARIABLE: &str = "TOOLKILN_TOKEN";
/// Where the tokens of this machine's service lie, in the directory of all states.
const DIRECTORY: &str = "web";
const SECRETS: &str = "secrets.json";
const MAX_SECRETS: u64 = 64 * 1024;
/// How long a service may take to prove what it is, which is no work for it.
const PROOF_TIME: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
struct ServiceProofs {
    proofs: Vec<String>,
}

impl Service {
    /// The service at an address such as `http://127.0.0.1:4747`.
    pub(super) async fn connect(url: &str, network: &Network) -> anyhow::Result<Self> {
        let address = ServiceAddress::parse(url)?;
        let url = address.url();
        let server = JsonServer::new(&url, network)?;
        let given = environment::variable(TOKEN_VARIABLE).filter(|token| !token.is_empty());
        let token = match (given, address.is_own_machine) {
            (Some(token), _) if address.is_secret || address.is_own_machine => token,
            (_, false) if !address.is_secret => {
                bail!(
                    "a token is not sent to {url} without TLS; use the https address of its proxy"
                )
            }
            (_, false) => bail!("{url} is another machine: give its token in {TOKEN_VARIABLE}"),
            (_, true) => kept_secrets()?.all,
        };
        let token = Secret::new(&token).ok().context("the token is empty")?;
        // Without TLS nothing else tells which program it is.
        let claim = (!address.is_secret).then(|| ServiceClaim {
            server: server.clone(),
            authority: address.authority,
            token: token.clone(),
        });
        let service = Self { server: server.with_token(token), url, claim };
        service.proven().await?;
        Ok(service)
    }
}

/// That what listens at an address of this machine is the service of a token. Another user's program may listen there,
/// so the token is sent only to what has shown that it knows it.
#[derive(Clone, Debug)]
pub(super) struct ServiceClaim {
    /// Without the token.
    server: JsonServer,
    authority: String,
    token: Secret,
}

impl ServiceClaim {
    pub(super) async fn check(&self) -> Result<(), ServiceFailure> {
        let url = format!("http://{}", self.authority);
        let challenge = random_secret().map_err(|error| ServiceFailure::Lasting(error.into()))?;
        let path = format!("/api/proof?challenge={challenge}");
        let answer = tokio::time::timeout(PROOF_TIME, self.server.get(&path)).await;
        let answer = answer
            .map_err(anyhow::Error::from)
            .and_then(|answer| Ok(answer?))
            .with_context(|| format!("no service answers at {url}; `toolkiln web` starts one"))
            .map_err(ServiceFailure::Passing)?;
        if !answer.is_success() {
            return Err(match failure(answer) {
                ServiceFailure::Lasting(error) => ServiceFailure::Lasting(
                    error.context(format!("what listens at {url} is not Toolkiln")),
                ),
                passing => passing,
            });
        }
        let ServiceProofs { proofs } = understood(answer)
            .with_context(|| format!("what listens at {url} is not Toolkiln"))
            .map_err(ServiceFailure::Lasting)?;
        let token = self.token.expose();
        let expected = Credentials::expected_proof(token, &self.authority, &challenge);
        if !proofs.contains(&expected) {
            return Err(ServiceFailure::Lasting(anyhow::anyhow!(
                "what listens at {url} is not your own service, or has new tokens; nothing was sent to it"
            )));
        }
        Ok(())
    }
}

fn kept_secrets() -> anyhow::Result<Secrets> {
    let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
    let path = states.join(DIRECTORY);
    let shown = path.join(SECRETS);
    let missing = || format!("{} cannot be read; `toolkiln web` makes it", shown.display());
    if Ownership::of(&shown).is_some_and(|file| !file.is_ours || !file.is_private) {
        bail!("others could read the tokens in {}; `toolkiln web` makes new ones", shown.display());
    }
    let directory = Workspace::open(&path).with_context(missing)?;
    let mut file = directory.open_file(&directory.resolve(SECRETS)?).with_context(missing)?;
    let bytes = file.read_all(MAX_SECRETS).with_context(missing)?;
    serde_json::from_slice(&bytes).with_context(missing)
}

/// An address, and what follows from it.
#[derive(Debug, PartialEq, Eq)]
struct ServiceAddress {
    /// Whether what is sent cannot be read on the way.
    is_secret: bool,
    /// Host and port.
    authority: String,
    is_own_machine: bool,
}

impl ServiceAddress {
    fn parse(url: &str) -> anyhow::Result<Self> {
        let url = url.trim().trim_end_matches('/');
        let (is_secret, authority) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some((other, _)) => bail!("`{other}` is not http or https"),
            None => (false, url),
        };
        // A link that was copied has the one-time code behind it, which is for a browser.
        let authority = authority.split(['/', '#', '?']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') {
            bail!("`{url}` is not the address of a service, such as http://127.0.0.1:4747");
        }
        let host = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        let is_own_machine = host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        Ok(Self { is_secret, authority: authority.to_owned(), is_own_machine })
    }

    fn url(&self) -> String {
        let scheme = if self.is_secret { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whether_a_token_may_be_sent_there() {
        let rows = [
            ("127.0.0.1:4747", Some(("http://127.0.0.1:4747", true))),
            ("http://localhost:4747/", Some(("http://localhost:4747", true))),
            ("http://127.0.0.1:4747/#code=abc", Some(("http://127.0.0.1:4747", true))),
            ("http://[::1]:4747", Some(("http://[::1]:4747", true))),
            ("https://kiln.example.org", Some(("https://kiln.example.org", false))),
            ("http://127.0.0.1.example.org", Some(("http://127.0.0.1.example.org", false))),
            ("http://localhost.example.org:80", Some(("http://localhost.example.org:80", false))),
            ("http://127.0.0.1@example.org", None),
            ("ftp://127.0.0.1", None),
            ("", None),
        ];
        for (text, wanted) in rows {
            let parsed = ServiceAddress::parse(text).ok();
            let parsed = parsed.map(|address| (address.url(), address.is_own_machine));
            let parsed = parsed.as_ref().map(|(url, own)| (url.as_str(), *own));
            assert_eq!(parsed, wanted, "{text}");
        }
    }
}
