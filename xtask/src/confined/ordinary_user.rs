//! The same story by an ordinary user. Root's toolchains may lie where only root can go, so it is
//! played where mounts make them reachable by the same paths.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::STORY_COMMAND;
use super::made::Place;
use crate::fetch::output;
use crate::step::{Outcome, run};

/// The user and group id without rights that every Linux system has.
const ORDINARY_USER: &str = "65534";

/// Arguments: a directory of our own, the project, the home, and the command. The project is covered by
/// a copy that belongs to the user; a home that only root can enter, by one with root's toolchains in it.
const STAGE: &str = r#"set -e
own=$1 project=$2 home=$3; shift 3
as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
if ! $as_user test -x "$home"; then
    mkdir "$own/roots-home"
    mount --rbind "$home" "$own/roots-home"
    mount -t tmpfs -o mode=755,uid=65534,gid=65534 home "$home"
    for name in .cargo .rustup .pyenv .nvm .volta .asdf .local; do
        if [ -d "$own/roots-home/$name" ]; then
            mkdir "$home/$name"
            mount --rbind "$own/roots-home/$name" "$home/$name"
        fi
    done
fi
mkdir -p "$project"
mount --bind "$own/project" "$project"
cd "$project"
exec $as_user "$@"
"#;

/// Plays the story as an ordinary user, if we are root; otherwise it has been played so already.
pub(super) fn play(place: &Place, binary: &Path) -> Result<Outcome> {
    let own = tempfile::tempdir().context("cannot make a directory")?;
    let is_root = own.path().metadata()?.uid() == 0;
    if !is_root {
        return Ok(Outcome::Passed);
    }
    let probe = "setpriv --version && mount --make-rprivate / && mount -t tmpfs probe /mnt";
    let mut unshare = Command::new("unshare");
    if let Err(why) = output(unshare.args(["--mount", "sh", "-c", probe])) {
        let what = "real projects as an ordinary user".to_owned();
        return Ok(Outcome::Skipped { why: format!("{what}: {why:#}"), what });
    }
    let at = |name: &str| own.path().join(name);
    output(Command::new("chmod").arg("755").arg(own.path()))?;
    // By its name this program may be another one already: the tests before this have built it anew.
    let this_program = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let programs = [(binary, at("toolkiln")), (&this_program, at("xtask"))];
    for (program, copy) in &programs {
        output(Command::new("cp").arg(program).arg(copy))?;
    }
    std::fs::write(at("stage"), STAGE).context("cannot write the script")?;
    place.reset()?;
    output(Command::new("cp").arg("-a").arg(&place.root).arg(at("project")))?;
    output(Command::new("mkdir").arg(at("state")))?;
    let mut chown = Command::new("chown");
    chown
        .args(["-R", &format!("{ORDINARY_USER}:{ORDINARY_USER}")])
        .arg(at("project"))
        .arg(at("state"));
    output(&mut chown)?;
    let home = std::env::var_os("HOME").context("there is no home directory")?;
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh"]).arg(at("stage"));
    unshare.arg(own.path()).arg(&place.root).arg(home);
    unshare.arg(at("xtask")).args([STORY_COMMAND, place.kind.name()]);
    unshare.arg(&place.root).arg(at("toolkiln")).arg(at("state"));
    run(&mut unshare)?;
    Ok(Outcome::Passed)
}
