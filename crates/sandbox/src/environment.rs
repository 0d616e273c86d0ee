//! The environment of a command, built from nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use protocol::CommandSpec;

use crate::error::SandboxError;
use crate::profile::Profile;
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

/// All variables for a command.
pub(crate) fn build(
    profile: &Profile,
    spec: &CommandSpec,
) -> Result<Vec<(String, String)>, SandboxError> {
    let mut env: BTreeMap<&str, String> = BTreeMap::from([
        ("HOME", profile.home.display().to_string()),
        ("LANG", "C.UTF-8".to_owned()),
        ("LOGNAME", "user".to_owned()),
        ("PATH", path(&profile.path)),
        ("SHELL", "/bin/sh".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("TMPDIR", "/tmp".to_owned()),
        ("USER", "user".to_owned()),
    ]);
    if !spec.network {
        env.extend(OFFLINE.map(|(name, value)| (name, value.to_owned())));
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

/// The whole path of a program of the system: one that every command sees and that lies in no project.
/// Where it is does not depend on the search path of anybody.
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
        let env = build(&profile, &spec(&[("A", "1")])).unwrap();
        let lines: Vec<String> =
            env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        A=1
        CARGO_NET_OFFLINE=true
        GOPROXY=off
        HOME=/home/u
        LANG=C.UTF-8
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
            let error = build(&profile, &spec(&[(name, "x")])).unwrap_err();
            assert!(matches!(error, SandboxError::Variable { .. }), "{name}");
        }
        assert!(build(&profile, &spec(&[("RUST_LOG", "x")])).is_ok());
        assert!(build(&profile, &spec(&[("A", "x\0y")])).is_err());
    }
}
