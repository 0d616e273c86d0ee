//! Real projects, built and tested by our tools while their users work in them: nothing that is the
//! user's changes, no question is asked, and a second run is incremental.

mod made;
mod ordinary_user;
mod snapshot;
mod story;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};

use crate::house::House;
use crate::step::{Outcome, one_line};
use made::{Kind, Place};

/// The command by which this program plays the story in one project; for itself only.
pub(crate) const STORY_COMMAND: &str = "confined-story";

/// Plays the story in each project, as the user who runs this and, if that is root, as an ordinary
/// user, too.
pub(crate) fn projects(house: &House, binary: &Path) -> Result<Outcome> {
    let mut missing = Vec::new();
    for kind in Kind::ALL {
        let place = match kind.make(house) {
            Ok(place) => place,
            Err(why) => {
                missing.push(one_line(&format!("{why:#}")));
                continue;
            }
        };
        let home = tempfile::tempdir().context("cannot make a directory for the state")?;
        story::play(&place, binary, home.path())?;
        match ordinary_user::play(&place, binary)? {
            Outcome::Passed => {}
            Outcome::Skipped { why, .. } => missing.push(one_line(&why)),
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Skipped { what: "some real projects".into(), why: missing.join("; ") })
}

/// Plays the story in a project that is there already.
pub(crate) fn story_in(kind: &str, root: &str, binary: &str, state: &str) -> Result<ExitCode> {
    let kind = Kind::ALL.into_iter().find(|one| one.name() == kind);
    let place = Place { kind: kind.context("no such project")?, root: PathBuf::from(root) };
    ensure!(place.root.is_dir(), "{root} is not a directory");
    story::play(&place, Path::new(binary), Path::new(state))?;
    Ok(ExitCode::SUCCESS)
}
