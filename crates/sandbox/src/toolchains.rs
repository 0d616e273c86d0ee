//! The toolchains of a user: where they usually live, what of them has to be visible, and which of
//! their directories programs expect to write to.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::environment;
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

const HOMES: [Home; 38] = [
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
    read(None, ".gradle/jdks"),
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
    layer(None, ".m2/wrapper"),
    layer(None, ".gradle/caches"),
    layer(None, ".gradle/wrapper"),
];

/// Where toolchains put programs in the home. Whoever starts us from a desktop may not have them in
/// the search path.
const PROGRAMS: [&str; 6] =
    [".cargo/bin", ".local/bin", "go/bin", ".volta/bin", ".bun/bin", ".deno/bin"];

/// Programs that need what lies beside the directory they are in.
const RUNTIMES: [&str; 10] =
    ["dotnet", "go", "gradle", "java", "julia", "mvn", "node", "php", "python3", "ruby"];
/// One of these makes a directory the home of a runtime.
const LIBRARIES: [&str; 5] = ["lib", "lib64", "libexec", "jmods", "pkg"];
/// Components of a path such as `/opt`, the first slash included.
const TOP_LEVEL: usize = 2;

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
        let search_path: Vec<PathBuf> = std::env::split_paths(search_path).collect();
        for directory in &search_path {
            found.add_to_path(home, directory);
        }
        for directory in PROGRAMS.map(|place| home.join(place)) {
            found.add_to_path(home, &directory);
        }
        for name in RUNTIMES {
            found.show_runtime(home, &search_path, name);
        }
        found
    }

    fn add_to_path(&mut self, home: &Path, directory: &Path) {
        if !is_usable(home, directory) || self.path.iter().any(|known| known == directory) {
            return;
        }
        self.show(directory, Access::Read, Vec::new());
        let modules = directory.parent().map(|prefix| prefix.join("lib/node_modules"));
        // What npm installs for the user is links to there.
        if let Some(modules) = modules.filter(|modules| modules.is_dir()) {
            self.show(&modules, Access::Read, Vec::new());
        }
        if !environment::is_on_the_system_path(directory) {
            self.path.push(directory.to_owned());
        }
    }

    /// Shows what belongs to a program that is found through the search path, wherever links lead.
    fn show_runtime(&mut self, home: &Path, search_path: &[PathBuf], name: &str) {
        let mut candidates = search_path.iter().map(|directory| directory.join(name));
        let Some(program) = candidates.find(|program| program.is_file()) else { return };
        let real = program.canonicalize().ok();
        for program in [Some(program), real].into_iter().flatten() {
            let Some(directory) = program.parent().filter(|place| is_usable(home, place)) else {
                continue;
            };
            let whole = prefix(home, directory).filter(|prefix| !self.holds_private(prefix));
            self.show(whole.unwrap_or(directory), Access::Read, Vec::new());
        }
    }

    /// Shows a directory, and what it is if a link leads to it.
    fn show(&mut self, place: &Path, access: Access, masked: Vec<PathBuf>) {
        let real = place.canonicalize().ok().filter(|real| real != place);
        for path in [Some(place.to_owned()), real].into_iter().flatten() {
            let covered = self.visible.iter().any(|shown| path.starts_with(&shown.path));
            let is_there = is_of_the_system(&path) && access == Access::Read;
            if !covered && !is_there && !self.holds_private(&path) {
                self.visible.push(Visible { path, access, masked: masked.clone() });
            }
        }
    }

    /// Whether something below `path` is shown otherwise than as it is, which would be lost.
    fn holds_private(&self, path: &Path) -> bool {
        let is_plain = |one: &Visible| one.access == Access::Read && one.masked.is_empty();
        self.visible.iter().any(|one| one.path.starts_with(path) && !is_plain(one))
    }
}

/// Whether a directory with programs may be shown: it exists, does not hold the user's home, and is
/// not made anew inside.
fn is_usable(home: &Path, directory: &Path) -> bool {
    directory.is_absolute()
        && directory.is_dir()
        && !home.starts_with(directory)
        && (!is_made_anew(directory) || directory.starts_with(home))
}

/// The directory that holds all of a runtime, if its programs lie in `directory`: with libraries
/// beside them. A place for everything, such as the home itself or `.local`, is none.
fn prefix<'p>(home: &Path, directory: &'p Path) -> Option<&'p Path> {
    let prefix = directory.parent().filter(|_| directory.ends_with("bin"))?;
    let is_place_for_all = prefix.components().count() <= TOP_LEVEL
        || home.starts_with(prefix)
        || home.parent() == prefix.parent()
        || prefix == home.join(".local");
    let has_libraries = || LIBRARIES.iter().any(|name| prefix.join(name).is_dir());
    (!is_place_for_all && has_libraries()).then_some(prefix)
}

/// Directories that are made anew inside.
fn is_made_anew(path: &Path) -> bool {
    ["/etc", "/dev", "/proc", "/sys", "/run", "/tmp"].iter().any(|place| path.starts_with(place))
}
