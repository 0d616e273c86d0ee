//! Toolchains of the user, inside.

use std::ffi::OsString;
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
        eprintln!("left out: {program} is not installed");
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
    assert!(bench.project.path("target").is_dir());
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
