//! Where toolchains keep their things in the user's home, and what of that commands may see: exactly
//! what is named here. Tokens and passwords lie beside it, under names that cannot all be known.

use std::path::{Path, PathBuf};

use crate::profile::Access;

/// A directory that a toolchain keeps in the user's home unless a variable says otherwise.
pub(super) struct Home {
    pub(super) variable: Option<&'static str>,
    pub(super) place: &'static str,
    pub(super) seen: &'static [VisibleInHome],
}

/// What of such a directory may be seen. Paths are relative to it.
pub(super) enum VisibleInHome {
    /// These, only to be read.
    Read(&'static [&'static str]),
    /// These, under a private layer that can be written.
    Layer(&'static [&'static str]),
    /// What lies directly in it and begins so, only to be read.
    Begins(&'static str),
    /// Every directory in it that has programs in `bin`: one for each version of something.
    Versions,
    /// Every program that lies directly in it.
    Programs,
    /// A settings file, unless it holds something secret.
    Settings(&'static str),
}

use VisibleInHome::{Begins, Layer, Programs, Read, Settings, Versions};

const fn home(
    variable: Option<&'static str>,
    place: &'static str,
    seen: &'static [VisibleInHome],
) -> Home {
    Home { variable, place, seen }
}

/// All of a directory that holds nothing but what was fetched.
const CACHE: &[VisibleInHome] = &[Layer(&[""])];
const ALL: &[VisibleInHome] = &[Read(&[""])];

const SHIMMED: &[VisibleInHome] = &[Read(&[
    "bin",
    "completions",
    "defaults",
    "installs",
    "lib",
    "libexec",
    "plugins",
    "pyenv.d",
    "rbenv.d",
    "shims",
    "version",
    "versions",
    "asdf.sh",
    "VERSION",
    "help.txt",
])];
const JAVA: &[VisibleInHome] =
    &[Read(&["bin", "conf", "include", "jmods", "jre", "legal", "lib", "man", "release"])];
const GO: &[VisibleInHome] =
    &[Read(&["VERSION", "api", "bin", "go.env", "lib", "misc", "pkg", "src", "test"])];
const ISOLATED: &[VisibleInHome] = &[Read(&["py", "shared", "venvs"])];

pub(super) const HOMES: [Home; 38] = [
    home(
        Some("CARGO_HOME"),
        ".cargo",
        &[
            Layer(&["git", "registry"]),
            Read(&[".crates.toml", ".crates2.json", "bin", "env"]),
            Settings("config"),
            Settings("config.toml"),
        ],
    ),
    home(Some("RUSTUP_HOME"), ".rustup", &[Read(&["settings.toml", "toolchains"])]),
    home(Some("PYENV_ROOT"), ".pyenv", SHIMMED),
    home(
        Some("NVM_DIR"),
        ".nvm",
        &[Read(&["alias", "bash_completion", "nvm-exec", "nvm.sh", "versions"])],
    ),
    home(Some("VOLTA_HOME"), ".volta", &[Read(&["bin", "tools"]), Begins("layout."), Programs]),
    home(Some("FNM_DIR"), ".local/share/fnm", &[Read(&["aliases", "node-versions"])]),
    home(Some("ASDF_DATA_DIR"), ".asdf", SHIMMED),
    home(Some("MISE_DATA_DIR"), ".local/share/mise", SHIMMED),
    home(Some("RBENV_ROOT"), ".rbenv", SHIMMED),
    home(
        Some("SDKMAN_DIR"),
        ".sdkman",
        &[Read(&["bin", "candidates", "contrib", "libexec", "src"])],
    ),
    home(Some("JAVA_HOME"), ".jdk", JAVA),
    home(Some("GOROOT"), ".go", GO),
    home(None, ".jdks", &[Versions]),
    home(None, ".gradle/jdks", &[Versions]),
    home(None, ".bun", &[Read(&["bin"]), Layer(&["install/cache", "install/global"])]),
    home(None, ".deno", &[Read(&["bin"])]),
    home(None, ".local/bin", ALL),
    home(None, ".local/lib", &[Read(&["node_modules"]), Begins("python")]),
    home(None, ".local/pipx", ISOLATED),
    home(None, ".local/share/pipx", ISOLATED),
    home(None, ".local/share/uv", &[Read(&["python", "tools"])]),
    home(None, ".ghcup", &[Read(&["bin", "env", "ghc", "lib", "share"])]),
    home(None, "sdk", &[Versions]),
    home(None, ".cache/ms-playwright", ALL),
    home(Some("GOPATH"), "go", &[Read(&["bin"]), Layer(&["pkg"])]),
    home(Some("GOCACHE"), ".cache/go-build", CACHE),
    home(None, ".npm", &[Layer(&["_cacache", "_npx", "_prebuilds"])]),
    home(None, ".yarn", &[Read(&["bin", "releases"]), Layer(&["berry/cache", "cache"])]),
    home(None, ".cache/yarn", CACHE),
    home(
        Some("PNPM_HOME"),
        ".local/share/pnpm",
        &[Layer(&["store"]), Read(&[".tools", "bin", "global", "nodejs"]), Programs],
    ),
    home(None, ".cache/node", CACHE),
    home(None, ".cache/pip", CACHE),
    home(None, ".cache/uv", CACHE),
    home(None, ".cache/pypoetry", &[Layer(&["artifacts", "cache", "virtualenvs"])]),
    home(None, ".m2/repository", CACHE),
    home(None, ".m2/wrapper", CACHE),
    home(None, ".gradle/caches", CACHE),
    home(None, ".gradle/wrapper", CACHE),
];

/// Entries of a directory that are looked at; more are too many to be shown one by one.
const MAX_ENTRIES: usize = 200;
/// A settings file larger than this is not shown.
const MAX_SETTINGS: u64 = 256 * 1024;
/// Words that stand in settings where something secret does.
const SECRET_WORDS: [&str; 5] = ["token", "secret", "passw", "auth", "key"];

impl Home {
    /// Whether everything in it may be seen.
    pub(super) fn whole(&self) -> Option<Access> {
        match self.seen {
            [Read(names)] if **names == [""] => Some(Access::Read),
            [Layer(names)] if **names == [""] => Some(Access::Layer),
            _ => None,
        }
    }

    /// What of it at `place` may be seen, as far as it is there.
    pub(super) fn seen_at(&self, place: &Path) -> Vec<(PathBuf, Access)> {
        let named = |names: &[&str], access| -> Vec<_> {
            names.iter().map(|name| (place.join(name), access)).collect()
        };
        let all = self.seen.iter().flat_map(|seen| match seen {
            Read(names) => named(names, Access::Read),
            Layer(names) => named(names, Access::Layer),
            Settings(name) => match holds_no_secret(&place.join(name)) {
                true => named(&[name], Access::Read),
                false => Vec::new(),
            },
            Begins(start) => entries(place, |name, _| name.starts_with(start)),
            Versions => entries(place, |_, path| path.join("bin").is_dir()),
            Programs => entries(place, |_, path| is_program(path)),
        });
        all.filter(|(path, _)| path.exists()).collect()
    }
}

fn entries(place: &Path, fits: impl Fn(&str, &Path) -> bool) -> Vec<(PathBuf, Access)> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let fitting = entries.filter_map(|entry| {
        let path = entry.path();
        entry.file_name().to_str().is_some_and(|name| fits(name, &path)).then_some(path)
    });
    fitting.map(|path| (path, Access::Read)).collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether a settings file can be shown. In doubt it is not.
fn holds_no_secret(file: &Path) -> bool {
    let is_small = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_SETTINGS);
    let text = if is_small { std::fs::read_to_string(file).ok() } else { None };
    text.is_some_and(|text| {
        let text = text.to_ascii_lowercase();
        let names_user = text.split("://").skip(1).any(|address| {
            let host = address.split(['/', '"', '\'', '\n']).next();
            host.is_some_and(|host| host.contains('@'))
        });
        !names_user && !SECRET_WORDS.iter().any(|word| text.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_shown_unless_something_secret_may_be_in_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        let cases = [
            ("[build]\njobs = 2\n", true),
            ("[source.x]\nregistry = \"https://mirror.example/index\"\n", true),
            ("[registry]\ntoken = \"x\"\n", false),
            ("[registries.a]\nTOKEN = 'x'\n", false),
            ("[http]\nproxy = \"https://me:word@proxy.example\"\n", false),
            ("[env]\nAWS_SECRET_ACCESS_KEY = 'x'\n", false),
        ];
        for (text, shown) in cases {
            std::fs::write(&file, text).unwrap();
            assert_eq!(holds_no_secret(&file), shown, "{text}");
        }
        assert!(!holds_no_secret(directory.path()));
        assert!(!holds_no_secret(Path::new("/no/such/file")));
    }
}
