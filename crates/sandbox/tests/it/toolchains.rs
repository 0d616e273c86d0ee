//! Toolchains of the user, inside.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sandbox::{Profile, Toolchains};
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

#[test]
fn caches_are_written_in_private_and_credentials_are_masked() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let home = bench.outside("home");
        let write = |path: &Path, text: &str| {
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write(&home.join(".cargo/config.toml"), "# config");
        write(&home.join(".cargo/credentials.toml"), "token");
        write(&home.join(".rustup/settings.toml"), "# settings");
        write(&home.join(".ssh/id"), "key");
        bench.own(&home);
        let toolchains = Toolchains::find(&home, "".as_ref(), |_| None);
        bench.profile = Profile::new(bench.project.root(), &home).with_toolchains(toolchains);
        let ran = bench.sh(
            "cd; ls -A; cat .cargo/config.toml; cat .cargo/credentials.toml; echo x > .cargo/new; \
             echo y > .cargo/config.toml; cat .cargo/new; echo z > .rustup/new; echo w > own; cat own",
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran["stdout"].as_str().unwrap_or_default(), @r"
            .cargo
            .rustup
            # configx
            w
            ");
        }
        assert_eq!(
            std::fs::read_to_string(home.join(".cargo/config.toml")).expect("it is there"),
            "# config"
        );
        assert!(!home.join(".cargo/new").exists() && !home.join("own").exists());
        let stderr = ran["stderr"].as_str().unwrap_or_default();
        assert!(stderr.contains("Read-only file system"), "{ran}");
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
        write(".local/bin/node", &script(".local/lib/words"));
        write(".local/lib/words", "node works\n");
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
        assert_eq!(missing, 2, "{ran}");
    }
}
