//! Finding a service, and making sure that it is the right one before it is sent a token.

use std::net::IpAddr;

use anyhow::{Context as _, bail};
use providers::{JsonServer, Network, Secret};
use serde::Deserialize;
use web_service::{Credentials, Secrets, random_secret};
use workspace::Workspace;

use super::{Service, understood};
use crate::environment;

/// The token for a service of another machine.
const TOKEN_VARIABLE: &str = "TOOLKILN_TOKEN";
/// Where the tokens of this machine's service lie, in the directory of all states.
const DIRECTORY: &str = "web";
const SECRETS: &str = "secrets.json";
const MAX_SECRETS: u64 = 64 * 1024;

#[derive(Debug, Deserialize)]
struct ServiceProof {
    proof: String,
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
            (_, true) => proven_token(&server, &address).await?,
        };
        let token = Secret::new(&token).ok().context("the token is empty")?;
        Ok(Self { server: server.with_token(token), url })
    }
}

/// The token of this machine's service. It is sent only to who has read the same file: another user's program
/// may listen at that port.
async fn proven_token(server: &JsonServer, address: &ServiceAddress) -> anyhow::Result<String> {
    let secrets = secrets()?;
    let challenge = random_secret()?;
    let answer = server.get(&format!("/api/proof?challenge={challenge}")).await;
    let answer = answer.with_context(|| {
        format!("no service answers at {}; `toolkiln web` starts one", address.url())
    })?;
    let ServiceProof { proof } = understood(answer)
        .with_context(|| format!("what listens at {} is not Toolkiln", address.url()))?;
    if Credentials::new(&secrets).proof(&address.authority, &challenge) != proof {
        bail!("what listens at {} is not your own service; nothing was sent to it", address.url());
    }
    Ok(secrets.all)
}

fn secrets() -> anyhow::Result<Secrets> {
    let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
    let path = states.join(DIRECTORY);
    let missing =
        || format!("{} cannot be read; `toolkiln web` makes it", path.join(SECRETS).display());
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
