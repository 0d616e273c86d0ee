//! Where things are, and how cargo is called.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::step::run;

/// The directories every command works with.
pub(crate) struct House {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, wherever the developer has put it.
    pub(crate) target: PathBuf,
}

impl House {
    /// Asks cargo, which knows about `CARGO_TARGET_DIR` and configuration files.
    pub(crate) fn find() -> Result<House> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask stands below the root")?.to_owned();
        let output = cargo(&root)
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .output()
            .context("cannot start cargo")?;
        ensure!(
            output.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
        let target = metadata["target_directory"].as_str().context("no target_directory")?.into();
        Ok(House { root, target })
    }

    /// Cargo, run at the root.
    pub(crate) fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// A place for what xtask keeps between runs.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(name)
    }

    /// Builds our binary for the profile folder, `debug` or `release`; where it then is.
    pub(crate) fn build(&self, profile: &str) -> Result<PathBuf> {
        run(&mut self.build_command(profile))?;
        Ok(self.binary(profile))
    }

    /// What builds our binary.
    pub(crate) fn build_command(&self, profile: &str) -> Command {
        let mut command = self.cargo();
        command.args(["build", "--locked", "-p", "cli"]);
        if profile == "release" {
            command.arg("--release");
        }
        command
    }

    /// The binary that `cargo build` leaves for the profile folder, `debug` or `release`.
    pub(crate) fn binary(&self, profile: &str) -> PathBuf {
        self.target.join(profile).join(program("toolkiln"))
    }

    /// An example that `cargo build --examples` or `cargo test` leaves for the profile folder.
    pub(crate) fn example(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join("examples").join(program(name))
    }
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

fn cargo(root: &Path) -> Command {
    // The plain name, so that the command printed for repeating is the one that ran.
    let mut command = Command::new("cargo");
    command.current_dir(root);
    // What the cargo that runs us tells about this package. The build script of `ring` takes it for its own and is run
    // again, with all that depends on it, whenever a build by hand follows one of ours.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The command as one would type it at the root, with the environment it adds.
pub(crate) fn shell_line(command: &Command) -> String {
    let environment = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    environment.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("cargo");
        command.args(["doc", "--locked", "it's", ""]).env("RUSTDOCFLAGS", "-D warnings");
        command.env_remove("UNSET");
        assert_eq!(
            shell_line(&command),
            r"RUSTDOCFLAGS='-D warnings' cargo doc --locked 'it'\''s' ''"
        );
    }
}
