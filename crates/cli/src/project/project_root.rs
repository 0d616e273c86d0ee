//! Which directory is the project, and which is too large to be one unless the user says so.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::args::ProjectArgs;
use crate::environment;

/// Directories that hold a whole system or many projects.
const TOO_LARGE: [&str; 33] = [
    "/",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/nix",
    "/nix/store",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/lib",
    "/usr/local",
    "/usr/share",
    "/var",
    "/var/tmp",
];

/// The project's directory: the one that is named, or else the present one unless it is too large.
pub(crate) fn checked(scope: &ProjectArgs) -> anyhow::Result<PathBuf> {
    if let Some(root) = &scope.root {
        return Ok(root.clone());
    }
    let here = env::current_dir().context("the current directory cannot be read")?;
    match too_large(&here, environment::home_dir().as_deref()) {
        None => Ok(here),
        Some(what) => bail!(
            "{} is {what}, not a project: everything in it could be searched, read and changed.\n\
             Go to the directory of a project (cd DIR), or name one: --root DIR. If you mean this one, say --root .",
            here.display()
        ),
    }
}

/// What a directory is, if it is too large to be opened without being named on the command line.
pub(crate) fn too_large_to_open(directory: &Path) -> Option<&'static str> {
    too_large(directory, environment::home_dir().as_deref())
}

/// What a directory is, if it is too large.
fn too_large(directory: &Path, home: Option<&Path>) -> Option<&'static str> {
    if home == Some(directory) {
        Some("your home directory")
    } else if home.is_some_and(|home| home.starts_with(directory)) {
        Some("above your home directory")
    } else {
        TOO_LARGE
            .iter()
            .any(|place| directory == Path::new(place))
            .then_some("a directory of the system")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_systems_and_homes_are_too_large_and_projects_are_not() {
        let home = Some(Path::new("/data/people/ada"));
        let cases = [
            ("/", Some("above your home directory")),
            ("/data", Some("above your home directory")),
            ("/data/people/ada", Some("your home directory")),
            ("/data/people/ada/project", None),
            ("/data/people/bob", None),
            ("/usr", Some("a directory of the system")),
            ("/usr/src/linux", None),
            ("/tmp", Some("a directory of the system")),
            ("/tmp/x", None),
        ];
        for (directory, expected) in cases {
            assert_eq!(too_large(Path::new(directory), home), expected, "{directory}");
        }
        assert!(too_large(Path::new("/"), None).is_some());
    }
}
