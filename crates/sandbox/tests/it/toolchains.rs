//! Toolchains of the user, inside.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sandbox::{Access, Profile, Toolchains, Visible};
use serde_json::json;

use crate::bench::{Bench, User, users};

fn home() -> PathBuf {
    std::env::var_os("HOME").map(PathBuf::from).expect("a home directory")
}

/// The profile that a user with our toolchains would have.
fn with_toolchains(mut bench: Bench) -> Bench {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let toolchains = Toolchains::find(&home(), &path, |name| std::env::var(name).ok());
    bench.profile = Profile::new(bench.project.root(), home()).with_toolchains(toolchains);
    bench
}

/// Our own user, whose toolchains they are.
fn owner() -> User {
    users()[0]
}

fn has(program: &str) -> bool {
    let path: OsString = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        testkit::left_out(&format!("{program} is not installed"));
    }
    found
}

#[test]
fn cargo_tests_a_project_offline() {
    if !has("cargo") {
        return;
    }
    let bench = with_toolchains(Bench::new(
        owner(),
        "//- /Cargo.toml\n[package]\nname = \"small\"\nedition = \"2021\"\n\
         //- /src/lib.rs\n#[test]\nfn it_works() { assert_eq!(1 + 1, 2); }\n",
    ));
    let ran = bench.run(&bench.spec(&["cargo", "test", "--quiet"]));
    assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
    let output = ran["stdout"].as_str().unwrap_or_default();
    assert!(output.contains("test result: ok. 1 passed"), "{ran}");
}

#[test]
fn npm_tests_a_project_offline() {
    if !has("npm") || !has("node") {
        return;
    }
    let bench = with_toolchains(Bench::new(
        owner(),
        "//- /package.json\n{\"name\": \"small\", \"scripts\": {\"test\": \"node --test\"}}\n\
         //- /one.test.js\nconst test = require('node:test');\n\
         test('works', () => require('node:assert').equal(1 + 1, 2));\n",
    ));
    let ran = bench.run(&bench.spec(&["npm", "test"]));
    assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
    assert!(ran["stdout"].as_str().is_some_and(|text| text.contains("pass 1")), "{ran}");
}

#[test]
fn python_tests_a_project_offline() {
    if !has("python3") {
        return;
    }
    let bench = with_toolchains(Bench::new(
        owner(),
        "//- /test_one.py\nimport unittest, multiprocessing, ssl\n\
         class One(unittest.TestCase):\n    def test_works(self):\n        \
         with multiprocessing.Pool(2) as pool:\n            \
         self.assertEqual(pool.map(abs, [-1]), [1])\n",
    ));
    let ran = bench.run(&bench.spec(&["python3", "-m", "unittest"]));
    assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
    assert!(ran["stderr"].as_str().is_some_and(|text| text.contains("OK")), "{ran}");
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

#[test]
fn caches_are_written_in_private_and_the_rest_of_a_home_is_not_there() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home");
        write(&home.join(".cargo/config.toml"), "# config");
        write(&home.join(".cargo/credentials.toml"), "secret");
        write(&home.join(".cargo/registry/cache/x.crate"), "crate");
        write(&home.join(".rustup/settings.toml"), "# settings");
        write(&home.join(".rustup/toolchains/stable/bin/rustc"), "");
        write(&home.join(".rustup/toolchains/stable/lib/words"), "words");
        write(&home.join(".ssh/id"), "key");
        bench.own(&home);
        let toolchains = Toolchains::find(&home, "".as_ref(), |_| None);
        bench.profile = Profile::new(bench.project.root(), &home).with_toolchains(toolchains);
        let ran = bench.sh(
            "cd; ls -A . .cargo .rustup; cat .cargo/config.toml .rustup/toolchains/stable/lib/words; \
             echo; echo x > .cargo/.package-cache; echo y > .cargo/registry/cache/x.crate; \
             cat .cargo/registry/cache/x.crate; echo w > own; cat own; \
             echo y > .cargo/config.toml; echo z > .rustup/toolchains/new",
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran["stdout"].as_str().unwrap_or_default(), @r"
            .:
            .cargo
            .rustup

            .cargo:
            config.toml
            registry

            .rustup:
            settings.toml
            toolchains
            # configwords
            y
            w
            ");
        }
        let kept = |path: &str| std::fs::read_to_string(home.join(path)).expect("it is there");
        assert_eq!(kept(".cargo/registry/cache/x.crate"), "crate");
        assert!(!home.join(".cargo/.package-cache").exists() && !home.join("own").exists());
        let stderr = ran["stderr"].as_str().unwrap_or_default();
        assert_eq!(stderr.matches("Read-only file system").count(), 2, "{ran}");
    }
}

/// Where toolchains live, each with something that has to be seen there.
const HOMES: [(&str, &str); 24] = [
    (".cargo", "bin/cargo"),
    (".rustup", "toolchains/stable/bin/rustc"),
    (".pyenv", "versions/3.12/bin/python3"),
    (".nvm", "versions/node/v22/bin/node"),
    (".volta", "bin/volta"),
    (".local/share/fnm", "node-versions/v22/installation/bin/node"),
    (".asdf", "installs/ruby/3/bin/ruby"),
    (".local/share/mise", "installs/node/22/bin/node"),
    (".rbenv", "versions/3.3/bin/ruby"),
    (".sdkman", "candidates/java/21/bin/java"),
    (".jdk", "bin/java"),
    (".go", "bin/go"),
    (".jdks", "temurin-21/bin/java"),
    (".bun", "bin/bun"),
    (".deno", "bin/deno"),
    (".local/lib", "python3.12/site-packages/x.py"),
    (".local/share/pipx", "venvs/black/bin/black"),
    (".local/share/uv", "tools/ruff/bin/ruff"),
    (".ghcup", "bin/ghc"),
    ("sdk", "go1.23/bin/go"),
    ("go", "pkg/mod/x/x.go"),
    (".npm", "_cacache/index-v5/x"),
    (".local/share/pnpm", "store/v3/x"),
    (".gradle", "caches/modules-2/x"),
];
/// Names under which toolchains, and perhaps other programs, keep something secret.
const SECRETS: [&str; 16] = [
    "credentials",
    "credentials.toml",
    ".npmrc",
    "auth.json",
    "auth.toml",
    "settings.xml",
    "token",
    ".netrc",
    "gradle.properties",
    ".yarnrc.yml",
    "config.json",
    "keyring/login",
    "keys/x.json",
    ".env",
    "unknown",
    "state.db",
];

#[test]
fn nothing_secret_is_seen_in_any_home() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home");
        for (place, seen) in HOMES {
            write(&home.join(place).join(seen), "seen");
            for secret in SECRETS {
                write(&home.join(place).join(secret), "SECRET");
            }
        }
        for place in [".m2", ".cache", ".local", ".config/gh", ""] {
            SECRETS.iter().for_each(|secret| write(&home.join(place).join(secret), "SECRET"));
        }
        write(&home.join(".m2/repository/x.jar"), "seen");
        write(&home.join(".cargo/config.toml"), "[registry]\ntoken = \"SECRET\"\n");
        bench.own(&home);
        let toolchains = Toolchains::find(&home, "".as_ref(), |_| None);
        bench.profile = Profile::new(bench.project.root(), &home).with_toolchains(toolchains);
        let ran = bench.sh("cd; grep -rl SECRET . ; grep -rc seen . | grep -c ':1$'");
        assert_eq!(ran["stdout"], format!("{}\n", HOMES.len() + 1), "{ran}");
    }
}

/// The same where variables say that they lie elsewhere, through links, and on the search path.
#[test]
fn nothing_secret_is_seen_in_homes_that_lie_elsewhere() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home");
        let real = home.join("real/cargo");
        write(&real.join("bin/cargo"), "seen");
        write(&real.join("credentials.toml"), "SECRET");
        symlink(&real, home.join(".cargo")).expect("a link");
        write(&home.join("pnpm/.npmrc"), "SECRET");
        write(&home.join("pnpm/tsc"), "seen");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(home.join("pnpm/tsc"), mode).expect("our own file");
        bench.own(&home);
        let pnpm = home.join("pnpm").display().to_string();
        let path =
            std::env::join_paths([home.join("pnpm"), home.join(".cargo/bin")]).expect("a path");
        let variable = |name: &str| (name == "PNPM_HOME").then(|| pnpm.clone());
        let toolchains = Toolchains::find(&home, &path, variable);
        bench.profile = Profile::new(bench.project.root(), &home).with_toolchains(toolchains);
        let ran = bench.sh("cd; grep -rl SECRET . .cargo/ real/; cat .cargo/bin/cargo real/cargo/bin/cargo pnpm/tsc");
        assert_eq!(ran["stdout"], "seenseenseen", "{ran}");
    }
}

/// A runtime that is put beside the system and found through the search path, or through a link in a
/// directory of it, works with all that belongs to it.
#[test]
fn runtimes_are_shown_as_a_whole_and_nothing_beside_them() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home");
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(&path, text).expect("a file");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("our own file");
        };
        let script = |lib: &str| format!("#!/bin/sh\ncat {}\n", home.join(lib).display());
        write("tools/go1/bin/go", &script("tools/go1/lib/words"));
        write("tools/go1/lib/words", "go works\n");
        write("tools/jdk/bin/java", &script("tools/jdk/lib/words"));
        write("tools/jdk/lib/words", "java works\n");
        write("links/readme", "");
        symlink(home.join("tools/jdk/bin/java"), home.join("links/java")).expect("a link");
        write("global/bin/tool", &script("global/lib/node_modules/words"));
        write("global/lib/node_modules/words", "tool works\n");
        write("other/bin/something", "");
        write("other/lib/key", "secret");
        write(".local/bin/node", &script(".local/lib/node_modules/words"));
        write(".local/lib/node_modules/words", "node works\n");
        write(".local/share/keyrings/login", "secret");
        write("rust/bin/php", "");
        write("rust/lib/x", "");
        write("rust/cargo/credentials.toml", "token");
        bench.own(&home);
        let directories = ["tools/go1/bin", "links", "global/bin", "other/bin", "rust/bin"];
        let path = std::env::join_paths(directories.map(|name| home.join(name))).expect("a path");
        let cargo = home.join("rust/cargo").display().to_string();
        let variable = |name: &str| (name == "CARGO_HOME").then(|| cargo.clone());
        let toolchains = Toolchains::find(&home, &path, variable);
        bench.profile = Profile::new(bench.project.root(), &home).with_toolchains(toolchains);
        let ran = bench
            .sh("go; java; tool; node; cat ~/rust/cargo/credentials.toml; cat ~/other/lib/key; \
             cat ~/.local/share/keyrings/login; echo x > ~/rust/cargo/new && echo written");
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran["stdout"].as_str().unwrap_or_default(), @r"
            go works
            java works
            tool works
            node works
            written
            ");
        }
        let missing = ran["stderr"].as_str().unwrap_or_default().matches("No such file").count();
        assert_eq!(missing, 3, "{ran}");
    }
}

/// Directories that lie side by side are taken from one overlay of the directory above them.
#[test]
fn only_what_was_named_is_seen_of_what_lies_side_by_side() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home: of \\ tools");
        for name in ["bin", "lib", "private", "elsewhere"] {
            std::fs::create_dir_all(home.join(name)).expect("a directory");
            std::fs::write(home.join(name).join("file"), name).expect("a file");
        }
        std::fs::write(home.join("version"), "3").expect("a file");
        std::fs::write(home.join("token"), "secret").expect("a file");
        symlink("elsewhere", home.join("link")).expect("a link");
        let names = ["bin", "lib", "link", "version"];
        let shown = names.map(|name| Visible { path: home.join(name), access: Access::Read });
        bench.profile.visible.extend(shown);
        let script = format!(
            "cd '{}'; ls; cat bin/file lib/file link/file version; touch bin/x lib/x link/x version",
            home.display()
        );
        let ran = bench.sh(&script);
        assert_eq!(ran["stdout"], "bin\nlib\nlink\nversion\nbinlibelsewhere3", "{user:?}: {ran}");
        assert_eq!(ran["exit"], json!({"code": 1}), "{user:?}: nothing of it can be written");
        assert!(!home.join("bin/x").exists());
    }
}
