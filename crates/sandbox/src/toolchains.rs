//! The toolchains of a user: where they usually live, what of them has to be visible, and which of
//! their directories programs expect to write to.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::profile::{Access, Visible};
use crate::view::is_of_the_system;

/// What of the user's toolchains commands may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Directories with programs.
    pub path: Vec<PathBuf>,
    /// Directories to show.
    pub visible: Vec<Visible>,
    /// Variables that tell the toolchains where their things are.
    pub env: BTreeMap<String, String>,
}

/// A directory that a toolchain keeps in the user's home unless a variable says otherwise.
struct Home {
    variable: Option<&'static str>,
    place: &'static str,
    access: Access,
    masked: &'static [&'static str],
}

const fn read(variable: Option<&'static str>, place: &'static str) -> Home {
    Home { variable, place, access: Access::Read, masked: &[] }
}

const fn layer(variable: Option<&'static str>, place: &'static str) -> Home {
    Home { variable, place, access: Access::Layer, masked: &[] }
}

const HOMES: [Home; 36] = [
    Home {
        variable: Some("CARGO_HOME"),
        place: ".cargo",
        access: Access::Layer,
        masked: &["credentials", "credentials.toml"],
    },
    read(Some("RUSTUP_HOME"), ".rustup"),
    read(Some("PYENV_ROOT"), ".pyenv"),
    read(Some("NVM_DIR"), ".nvm"),
    read(Some("VOLTA_HOME"), ".volta"),
    read(Some("FNM_DIR"), ".local/share/fnm"),
    read(Some("ASDF_DATA_DIR"), ".asdf"),
    read(Some("MISE_DATA_DIR"), ".local/share/mise"),
    read(Some("RBENV_ROOT"), ".rbenv"),
    read(Some("SDKMAN_DIR"), ".sdkman"),
    read(Some("JAVA_HOME"), ".jdk"),
    read(Some("GOROOT"), ".go"),
    read(None, ".jdks"),
    read(None, ".bun"),
    read(None, ".deno"),
    read(None, ".local/bin"),
    read(None, ".local/lib"),
    read(None, ".local/pipx"),
    read(None, ".local/share/pipx"),
    read(None, ".local/share/uv"),
    read(None, ".ghcup"),
    read(None, "sdk"),
    read(None, ".cache/ms-playwright"),
    layer(Some("GOPATH"), "go"),
    layer(Some("GOCACHE"), ".cache/go-build"),
    layer(None, ".npm"),
    layer(None, ".yarn"),
    layer(None, ".cache/yarn"),
    layer(Some("PNPM_HOME"), ".local/share/pnpm"),
    layer(None, ".cache/node"),
    layer(None, ".cache/pip"),
    layer(None, ".cache/uv"),
    layer(None, ".cache/pypoetry"),
    layer(None, ".m2/repository"),
    layer(None, ".gradle/caches"),
    layer(None, ".gradle/wrapper"),
];

impl Toolchains {
    /// Finds toolchains in the usual places of `home`, where variables such as `CARGO_HOME` say, and
    /// through the search path of the user.
    pub fn find(
        home: &Path,
        search_path: &OsStr,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Toolchains {
        let mut found = Toolchains::default();
        for entry in HOMES {
            let told = entry.variable.and_then(|name| Some((name, variable(name)?)));
            let place = match &told {
                Some((_, value)) => PathBuf::from(value),
                None => home.join(entry.place),
            };
            if !place.is_absolute() || !place.is_dir() || home.starts_with(&place) {
                continue;
            }
            if let Some((name, value)) = told {
                found.env.insert(name.to_owned(), value);
            }
            let masked = entry.masked.iter().map(PathBuf::from).collect();
            found.show(&place, entry.access, masked);
        }
        for directory in std::env::split_paths(search_path) {
            found.add_to_path(home, directory);
        }
        found
    }

    fn add_to_path(&mut self, home: &Path, directory: PathBuf) {
        let usable = directory.is_absolute() && directory.is_dir() && !home.starts_with(&directory);
        if !usable || self.path.contains(&directory) {
            return;
        }
        if !is_of_the_system(&directory) && !is_made_anew(&directory) {
            self.show(&directory, Access::Read, Vec::new());
            self.path.push(directory);
        }
    }

    /// Shows a directory, and what it is if a link leads to it.
    fn show(&mut self, place: &Path, access: Access, masked: Vec<PathBuf>) {
        let real = place.canonicalize().ok().filter(|real| real != place);
        for path in [Some(place.to_owned()), real].into_iter().flatten() {
            let covered = self.visible.iter().any(|shown| path.starts_with(&shown.path));
            if !covered && !is_of_the_system(&path) {
                self.visible.push(Visible { path, access, masked: masked.clone() });
            }
        }
    }
}

/// Directories that are made anew inside.
fn is_made_anew(path: &Path) -> bool {
    ["/etc", "/dev", "/proc", "/sys", "/run", "/tmp"].iter().any(|place| path.starts_with(place))
}
