//! The toolchains of a user: where they usually live, what of them has to be visible, and which of
//! their directories programs expect to write to.

mod homes;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::environment;
use crate::profile::{Access, Visible};
use crate::view::is_of_the_system;
use homes::HOMES;

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

/// Where toolchains put programs in the home. A process started from a desktop may not have them
/// in the search path.
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
            match entry.whole() {
                Some(access) => found.show(&place, access),
                None => found.show_parts(&place, &entry.seen_at(&place)),
            }
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
        self.show(directory, Access::Read);
        let modules = directory.parent().map(|prefix| prefix.join("lib/node_modules"));
        // What npm installs for the user is links to there.
        if let Some(modules) = modules.filter(|modules| modules.is_dir()) {
            self.show(&modules, Access::Read);
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
            self.show(whole.unwrap_or(directory), Access::Read);
        }
    }

    /// Shows something, and what it is if a link leads to it.
    fn show(&mut self, place: &Path, access: Access) {
        let real = place.canonicalize().ok().filter(|real| real != place);
        for path in [Some(place.to_owned()), real].into_iter().flatten() {
            let innermost = self.visible.iter().filter(|shown| path.starts_with(&shown.path));
            let innermost = innermost.max_by_key(|shown| shown.path.components().count());
            let covered = match innermost.map(|shown| (shown.access, shown.path == path)) {
                Some((Access::Empty, is_same)) => is_same,
                Some(_) => true,
                None => is_of_the_system(&path) && access == Access::Read,
            };
            if !covered && !self.holds_private(&path) {
                self.visible.push(Visible { path, access });
            }
        }
    }

    /// Shows parts of a directory, and nothing else of it.
    fn show_parts(&mut self, place: &Path, parts: &[(PathBuf, Access)]) {
        let only_read = parts.iter().all(|(_, access)| *access == Access::Read);
        if only_read && is_of_the_system(place) {
            // It is part of the system, which every command sees.
            return;
        }
        self.show(place, Access::Empty);
        for (path, access) in parts {
            // A file has no layer.
            self.show(path, if path.is_dir() { *access } else { Access::Read });
        }
    }

    /// Whether something below `path` is shown otherwise than as it is, which would be lost.
    fn holds_private(&self, path: &Path) -> bool {
        let is_private = |one: &Visible| one.access != Access::Read && one.path.starts_with(path);
        self.visible.iter().any(is_private)
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
