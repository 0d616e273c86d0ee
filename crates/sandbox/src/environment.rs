//! The environment of a command, built from nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use protocol::CommandSpec;

use crate::error::SandboxError;
use crate::network::PROXY_ADDRESS;
use crate::profile::Profile;
use crate::ran::NetworkLevel;
use crate::view::is_of_the_system;

const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where systems without programs in the usual places have links to them.
const OTHER_SYSTEM_DIRECTORIES: [&str; 2] =
    ["/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"];

/// Variables that make a program run other code than its command line says. They may be set inside
/// the command, where they are seen, but not beside it.
const REFUSED: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PATH",
    "PERL5OPT",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
];
const REFUSED_BEGINNINGS: [&str; 2] = ["LD_", "GIT_"];

/// Without a network, package managers should say so at once instead of trying.
const OFFLINE: [(&str, &str); 7] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
    // What was fetched through a mirror counts as there, though the settings that name it are hidden.
    ("MAVEN_OPTS", "-Daether.enhancedLocalRepository.trackingFilename=none"),
    ("PIP_NO_INDEX", "true"),
    ("UV_OFFLINE", "true"),
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
];

/// By which of them programs learn of a proxy differs. What ignores all of them finds no network.
const PROXY: [&str; 13] = [
    "ALL_PROXY",
    "CARGO_HTTP_PROXY",
    "GIT_CONFIG_VALUE_0",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "PIP_PROXY",
    "YARN_HTTPS_PROXY",
    "YARN_HTTP_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "npm_config_https_proxy",
    "npm_config_proxy",
];

/// All variables for a command.
pub(crate) fn build(
    profile: &Profile,
    spec: &CommandSpec,
    network: NetworkLevel,
) -> Result<Vec<(String, String)>, SandboxError> {
    let mut env: BTreeMap<&str, String> = BTreeMap::from([
        ("HOME", profile.home.display().to_string()),
        // Text is UTF-8, and all else as in `C`: with `LANG` every program would read twelve files
        // more.
        ("LC_CTYPE", "C.UTF-8".to_owned()),
        ("LOGNAME", "user".to_owned()),
        ("PATH", path(&profile.path)),
        ("SHELL", "/bin/sh".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("TMPDIR", "/tmp".to_owned()),
        ("USER", "user".to_owned()),
    ]);
    match network {
        NetworkLevel::None => env.extend(OFFLINE.map(|(name, value)| (name, value.to_owned()))),
        NetworkLevel::Proxied => {
            env.extend(proxy_variables());
            let certificates = profile.network.certificates.as_ref();
            let certificates = certificates.map(|file| file.display().to_string());
            env.extend(
                CERTIFICATES.into_iter().filter_map(|name| Some((name, certificates.clone()?))),
            );
        }
        NetworkLevel::Open => {}
    }
    env.extend(profile.env.iter().map(|(name, value)| (name.as_str(), value.clone())));
    for (name, value) in &spec.env {
        let is_malformed = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if is_malformed || is_refused(name) {
            return Err(SandboxError::Variable { name: name.clone() });
        }
        env.insert(name, value.clone());
    }
    Ok(env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// By which of them programs learn of certificates to trust.
const CERTIFICATES: [&str; 7] = [
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

fn proxy_variables<'n>() -> impl Iterator<Item = (&'n str, String)> {
    let proxy = format!("http://{PROXY_ADDRESS}");
    let itself = ["NO_PROXY", "no_proxy"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
    let told = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "http.proxy"),
        ("NODE_USE_ENV_PROXY", "1"),
        ("npm_config_update_notifier", "false"),
    ];
    let told = told.map(|(name, value)| (name, value.to_owned()));
    PROXY.into_iter().map(move |name| (name, proxy.clone())).chain(itself).chain(told)
}

/// The whole path of a program of the system: one that every command sees and that lies in no project.
/// Where it is does not depend on any search path.
pub fn system_program(name: &str) -> Option<PathBuf> {
    let directories = SYSTEM_PATH.split(':').chain(OTHER_SYSTEM_DIRECTORIES);
    directories
        .filter_map(|directory| {
            let program = Path::new(directory).join(name);
            // What is not visible by this name may be by its real one.
            let real = program.canonicalize().ok()?;
            Some(if is_of_the_system(&program) { program } else { real })
        })
        .find(|program| is_of_the_system(program) && program.is_file())
}

/// Whether programs are looked for in this directory anyway.
pub(crate) fn is_on_the_system_path(directory: &Path) -> bool {
    SYSTEM_PATH.split(':').any(|known| directory == Path::new(known))
}

fn path(extra: &[impl AsRef<Path>]) -> String {
    let extra = extra.iter().map(|directory| directory.as_ref().display().to_string());
    // A colon would make two directories of one.
    let extra = extra.filter(|directory| !directory.contains(':'));
    extra.chain([SYSTEM_PATH.to_owned()]).collect::<Vec<_>>().join(":")
}

fn is_refused(name: &str) -> bool {
    REFUSED.contains(&name) || REFUSED_BEGINNINGS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(env: &[(&str, &str)]) -> CommandSpec {
        CommandSpec {
            argv: vec!["true".into()],
            working_dir: ".".into(),
            env: env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            stdin: None,
            timeout_ms: 1000,
            network: false,
            ..CommandSpec::default()
        }
    }

    #[test]
    fn the_environment_holds_what_is_named_and_nothing_else() {
        let mut profile = Profile::new("/p", "/home/u");
        profile.path = vec!["/home/u/.cargo/bin".into(), "/odd:one".into()];
        profile.env.insert("TERM".into(), "xterm".into());
        let env = build(&profile, &spec(&[("A", "1")]), NetworkLevel::None).unwrap();
        let lines: Vec<String> =
            env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        A=1
        CARGO_NET_OFFLINE=true
        GOPROXY=off
        HOME=/home/u
        LC_CTYPE=C.UTF-8
        LOGNAME=user
        MAVEN_OPTS=-Daether.enhancedLocalRepository.trackingFilename=none
        PATH=/home/u/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        PIP_NO_INDEX=true
        SHELL=/bin/sh
        TERM=xterm
        TMPDIR=/tmp
        USER=user
        UV_OFFLINE=true
        npm_config_offline=true
        npm_config_update_notifier=false
        ");
    }

    #[test]
    fn with_the_network_every_program_is_told_of_the_proxy() {
        let mut profile = Profile::new("/p", "/home/u");
        profile.network.certificates = Some("/etc/own.pem".into());
        let env = build(&profile, &spec(&[]), NetworkLevel::Proxied).unwrap();
        let lines: Vec<String> =
            env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        ALL_PROXY=http://127.0.0.1:61080
        CARGO_HTTP_CAINFO=/etc/own.pem
        CARGO_HTTP_PROXY=http://127.0.0.1:61080
        CURL_CA_BUNDLE=/etc/own.pem
        GIT_CONFIG_COUNT=1
        GIT_CONFIG_KEY_0=http.proxy
        GIT_CONFIG_VALUE_0=http://127.0.0.1:61080
        GIT_SSL_CAINFO=/etc/own.pem
        HOME=/home/u
        HTTPS_PROXY=http://127.0.0.1:61080
        HTTP_PROXY=http://127.0.0.1:61080
        LC_CTYPE=C.UTF-8
        LOGNAME=user
        NODE_EXTRA_CA_CERTS=/etc/own.pem
        NODE_USE_ENV_PROXY=1
        NO_PROXY=localhost,127.0.0.1,::1
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        PIP_CERT=/etc/own.pem
        PIP_PROXY=http://127.0.0.1:61080
        REQUESTS_CA_BUNDLE=/etc/own.pem
        SHELL=/bin/sh
        SSL_CERT_FILE=/etc/own.pem
        TERM=dumb
        TMPDIR=/tmp
        USER=user
        YARN_HTTPS_PROXY=http://127.0.0.1:61080
        YARN_HTTP_PROXY=http://127.0.0.1:61080
        all_proxy=http://127.0.0.1:61080
        http_proxy=http://127.0.0.1:61080
        https_proxy=http://127.0.0.1:61080
        no_proxy=localhost,127.0.0.1,::1
        npm_config_https_proxy=http://127.0.0.1:61080
        npm_config_proxy=http://127.0.0.1:61080
        npm_config_update_notifier=false
        ");
    }

    #[test]
    fn programs_of_the_system_have_whole_paths() {
        let shell = system_program("sh").unwrap();
        assert!(shell.is_absolute() && is_of_the_system(&shell), "{shell:?}");
        assert_eq!(system_program("no-such-program"), None);
    }

    #[test]
    fn variables_that_choose_the_code_to_run_are_refused() {
        let profile = Profile::new("/p", "/home/u");
        for name in ["LD_PRELOAD", "PATH", "GIT_SSH_COMMAND", "BASH_ENV", "NODE_OPTIONS", "", "a=b"]
        {
            let error = build(&profile, &spec(&[(name, "x")]), NetworkLevel::None).unwrap_err();
            assert!(matches!(error, SandboxError::Variable { .. }), "{name}");
        }
        assert!(build(&profile, &spec(&[("RUST_LOG", "x")]), NetworkLevel::None).is_ok());
        assert!(build(&profile, &spec(&[("A", "x\0y")]), NetworkLevel::None).is_err());
    }
}
