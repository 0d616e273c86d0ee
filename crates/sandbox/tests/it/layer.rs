//! The private layer: what commands write to ignored paths is theirs alone.

use std::os::unix::fs::MetadataExt as _;

use sandbox::PrivateLayer;
use serde_json::{Value, json};

use crate::bench::{Bench, User, users};

fn out(ran: &Value) -> &str {
    assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
    ran["stdout"].as_str().unwrap_or_default()
}

/// Every user, writing to memory and to the disk.
fn ways() -> Vec<(User, bool)> {
    users().into_iter().flat_map(|user| [(user, false), (user, true)]).collect()
}

const FILES: &str = "\
//- /src/a
a
//- /target/old
of the user
//- /target/deep/kept
of the user
//- /sub/target/b
of the user
";

#[test]
fn what_is_written_to_private_names_is_seen_by_the_next_command_only() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        let ran = bench
            .sh("echo n > target/new; echo c > target/old; rm -r target/deep; rm -r sub/target; \
             mkdir sub/target; echo m > sub/target/made; echo b > src/b");
        assert_eq!(ran["changes"], json!(["+ src/b File { mode: 420, size: 2 }"]), "{ran}");
        // The user's own are as they were.
        assert_eq!(bench.project.read("target/old"), "of the user\n");
        assert_eq!(bench.project.read("target/deep/kept"), "of the user\n");
        assert_eq!(bench.project.read("sub/target/b"), "of the user\n");
        assert!(!bench.project.path("target/new").exists());
        assert!(!bench.project.path("src/b").exists());
        // The next command goes on where the last one ended, but for what was not kept.
        let ran = bench.sh("cat target/new target/old; ls target sub/target src");
        assert_eq!(out(&ran), "n\nc\nsrc:\na\n\nsub/target:\nmade\n\ntarget:\nnew\nold\n", "{ran}");
        assert_eq!(ran["changes"], json!([]));
        // What the user does shows, unless the command's own is in its place.
        std::fs::write(bench.project.path("target/users"), "u\n").expect("a file");
        std::fs::write(bench.project.path("src/a"), "edited\n").expect("a file");
        bench.own(bench.project.root());
        let ran = bench.sh("cat target/users src/a target/new; rm target/new target/users");
        assert_eq!(out(&ran), "u\nedited\nn\n");
        assert_eq!(bench.project.read("target/users"), "u\n");
        assert_eq!(out(&bench.sh("ls target; rm -r target")), "old\n");
        assert_eq!(out(&bench.sh("ls; mkdir target; echo x > target/x")), "src\nsub\n");
        assert_eq!(out(&bench.sh("ls target")), "x\n");
        assert_eq!(bench.project.read("target/old"), "of the user\n");
    }
}

#[test]
fn permissions_that_a_command_takes_away_do_no_harm() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        let script = "mkdir -p target/a/b src/x/y; echo s > target/a/b/c; chmod 0 target/a/b/c; \
             chmod 500 target/a/b target/a; chmod 0 target; echo d > src/x/y/z; chmod 0 src/x/y src/x";
        for _ in 0..3 {
            let ran = bench.sh(script);
            assert!(ran["exit"].is_object(), "{ran}");
            let ran = bench.sh("chmod 700 target target/a target/a/b; cat target/a/b/c; ls src");
            assert!(ran["stdout"].as_str().is_some_and(|text| text.ends_with("a\n")), "{ran}");
        }
        assert_eq!(bench.project.read("target/old"), "of the user\n");
    }
}

#[test]
fn a_layer_is_not_for_commands_that_reach_the_network() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        out(&bench.sh("echo planted > target/run; echo planted > target/old"));
        let mut spec = bench.spec(&["sh", "-c", "cat target/old; ls target"]);
        spec.network = true;
        assert_eq!(out(&bench.run(&spec)), "of the user\ndeep\nold\n");
    }
}

#[test]
fn a_layer_can_be_measured_and_cleared() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        out(&bench.sh("head -c 100000 /dev/zero > target/big; chmod u+s target/big; rm target/old"));
        let layer = PrivateLayer::open(&bench.outside("state/layer")).expect("it is there");
        let usage = layer.usage().expect("it can be read");
        assert!((100_000..200_000).contains(&usage.bytes), "{usage:?}");
        assert!(usage.changed.is_some());
        let top = std::fs::metadata(layer.path()).expect("it is there");
        assert_eq!(top.mode() & 0o777, 0o700);
        layer.clear().expect("nothing runs");
        assert_eq!(layer.usage().expect("it can be read").bytes, 0);
        assert_eq!(out(&bench.sh("ls target")), "deep\nold\n");
        // Nothing is left of the commands themselves.
        let runs = std::fs::read_dir(layer.path().join("runs")).expect("it is there");
        assert_eq!(runs.count(), 0);
    }
}

#[test]
fn live_commands_see_every_change_and_make_none() {
    for user in users() {
        let mut bench = Bench::new(user, FILES);
        bench.profile.project = sandbox::ProjectAccess::Live { writable: vec!["sub".into()] };
        let ran = bench.sh(
            "echo x > new; echo x >> src/a; rm src/a; mkdir d; mv src s; chmod 0 src; ln -s a src/l; \
             touch .git; echo w > sub/w; cat src/a",
        );
        assert_eq!(out(&ran), "a\n");
        assert_eq!(ran["changes"], Value::Null);
        let errors = ran["stderr"].as_str().unwrap_or_default();
        assert_eq!(errors.matches("Read-only file system").count(), 8, "{errors}");
        assert_eq!(bench.project.read("sub/w"), "w\n");
        assert_eq!(bench.project.read("src/a"), "a\n");
    }
}

#[test]
fn a_command_that_fills_the_memory_says_so_and_has_room_on_the_disk() {
    for user in users() {
        let mut bench = Bench::new(user, FILES).with_layer(&["target"], false);
        let layer = Some(bench.outside("state/layer"));
        bench.profile.project =
            sandbox::ProjectAccess::Copy(sandbox::Copy { layer, max_bytes: 1 << 20 });
        let script = "head -c 3000000 /dev/zero > target/big";
        assert_ne!(bench.sh(script)["exit"], json!({"code": 0}));
        bench.disk = true;
        out(&bench.sh(script));
        assert_eq!(out(&bench.sh("wc -c < target/big")), "3000000\n");
    }
}

/// Makes directories twice as deep as `$n` says, by which no path leads to the innermost.
const DEEP: &str =
    "d=$(printf 'd/%.0s' $(seq $n)); mkdir -p $d e/$d; top=$PWD; cd $d && mv $top/e .";

#[test]
fn directories_nested_without_end_are_refused_and_removed() {
    for (user, disk) in ways() {
        for place in ["target/deep", "src"] {
            let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
            let depth = if disk { 300 } else { 1100 };
            let ran = bench.sh(&format!("cd {place}; n={depth}; {DEEP}; echo made"));
            assert_eq!(ran["stdout"], "made\n", "{ran}");
            assert!(ran["changes"].to_string().contains("nested"), "{place}: {ran}");
            // Nothing of it is left, and the next command is as any other.
            assert_eq!(out(&bench.sh("ls target/deep src")), "src:\na\n\ntarget/deep:\nkept\n");
            for part in ["runs", "waiting", "removed"] {
                let left = std::fs::read_dir(bench.outside("state/layer").join(part));
                assert_eq!(left.expect("a directory").count(), 0, "{part}");
            }
        }
    }
}

#[test]
fn holes_and_names_of_one_file_do_not_fill_the_disk() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        out(&bench.sh("for i in 1 2 3 4; do truncate -s 900M target/$i; done; echo x >> target/1"));
        let layer = PrivateLayer::open(&bench.outside("state/layer")).expect("a layer");
        let usage = layer.usage().expect("its size");
        assert!(usage.bytes < 1_000_000, "{usage:?}");
        assert_eq!(out(&bench.sh("stat -c %s target/1; tail -c 2 target/1")), "943718402\nx\n");
    }
}

#[test]
fn what_is_kept_are_files_directories_and_links_without_anybodys_rights() {
    for (user, disk) in ways() {
        let bench = Bench::new(user, FILES).with_layer(&["target"], disk);
        out(&bench
            .sh("cd target; cp /bin/true s; chmod 6755 s; mkdir g; chmod 2777 g; mkfifo g/p; \
             mkdir no; echo n > no/n; chmod 0 no"));
        let seen = out(&bench.sh("cd target; stat -c '%a %F' s g no; ls g")).to_owned();
        assert_eq!(seen, "755 regular file\n777 directory\n0 directory\n", "{user:?} {disk}");
    }
}
