//! Copies on write.

use sandbox::{Access, Visible};
use serde_json::{Value, json};

use crate::bench::{Bench, users};

fn changes(ran: &Value) -> String {
    assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
    let lines = ran["changes"].as_array().expect("it ran on a copy");
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    lines.join("\n")
}

const FILES: &str = "\
//- /keep
kept
//- /edit
old
//- /gone
x
//- /tree/a
a
//- /tree/sub/b
b
//- /replaced/c
c
//- /emptied/d
d
//- /link symlink=keep
";

#[test]
fn every_kind_of_change_is_listed_and_the_project_stays() {
    for user in users() {
        let bench = Bench::new(user, FILES).with_overlay();
        let ran = bench.sh(
            "umask 022; echo newer > edit; rm gone; rm -r tree; mkdir fresh; echo n > fresh/n; \
             ln -sfn edit link; chmod 700 keep; rm -r replaced; echo f > replaced; \
             rm -r emptied; mkdir emptied; echo e > emptied/e; mkfifo pipe; echo t > temp; rm temp; \
             ln -s /etc/passwd out",
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(changes(&ran), @r#"
            ~ edit Some(File { mode: 420, size: 4 }) -> Some(File { mode: 420, size: 6 })
            - emptied/d File { mode: 420, size: 2 }
            + emptied/e File { mode: 420, size: 2 }
            + fresh Directory { mode: 493 }
            + fresh/n File { mode: 420, size: 2 }
            - gone File { mode: 420, size: 2 }
            ~ keep Some(File { mode: 420, size: 5 }) -> Some(File { mode: 448, size: 5 })
            ~ link Some(Link { target: "keep" }) -> Some(Link { target: "edit" })
            + out Link { target: "/etc/passwd" }
            + pipe Other
            ~ replaced Some(Directory { mode: 493 }) -> Some(File { mode: 420, size: 2 })
            - replaced/c File { mode: 420, size: 2 }
            - tree Directory { mode: 493 }
            - tree/a File { mode: 420, size: 2 }
            - tree/sub Directory { mode: 493 }
            - tree/sub/b File { mode: 420, size: 2 }
            "#);
        }
        assert_eq!(bench.project.read("edit"), "old\n");
        assert_eq!(bench.project.read("tree/sub/b"), "b\n");
        assert!(!bench.project.path("fresh").exists());
    }
}

#[test]
fn a_command_that_changes_nothing_has_no_changes() {
    for user in users() {
        let bench = Bench::new(user, FILES).with_overlay();
        assert_eq!(changes(&bench.sh("cat edit tree/a; ls -R")), "");
        assert_eq!(changes(&bench.sh("echo x > /tmp/y; touch tree; mkdir z; rmdir z")), "");
    }
}

#[test]
fn without_overlays_a_copy_is_refused_and_caches_can_be_read() {
    for user in users() {
        let mut bench = Bench::new(user, "//- /a\na\n");
        let cache = bench.outside("cache");
        std::fs::create_dir(&cache).expect("a directory");
        std::fs::write(cache.join("fetched"), "package\n").expect("a file");
        bench.own(&cache);
        bench.profile.visible = vec![Visible { path: cache, access: Access::Layer }];
        let spec =
            bench.spec(&["sh", "-c", "cat ../cache/fetched; echo x > b; echo x > ../cache/b"]);
        let ran = bench.run(&spec);
        assert_eq!((&ran["exit"], &ran["stdout"]), (&json!({"code": 0}), &json!("package\n")));
        let ran = bench.run_without_overlays(&spec);
        assert_eq!(ran["stdout"], "package\n", "{ran}");
        assert!(ran["stderr"].as_str().is_some_and(|text| text.contains("Read-only")), "{ran}");
        assert_eq!(bench.project.read("b"), "x\n");
        let ran = bench.with_overlay().run_without_overlays(&spec);
        assert_eq!(ran["error"], "SANDBOX_UNAVAILABLE", "{ran}");
        assert!(ran["message"].as_str().is_some_and(|text| text.contains("overlay")), "{ran}");
    }
}
