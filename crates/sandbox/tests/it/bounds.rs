//! Commands that want too much.

use sandbox::{Copy, ProjectAccess};
use serde_json::{Value, json};

use crate::bench::{Bench, User, is_running, users};

const MIB: u64 = 1 << 20;

fn exit_is(ran: &Value, allowed: &[Value]) {
    assert!(allowed.contains(&ran["exit"]), "{ran}");
}

#[test]
fn processes_are_counted() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        bench.profile.limits.processes = 20;
        let ran = bench.attempt(&["fork", "100"]);
        assert_eq!(ran["exit"], json!({"code": 10}), "{ran}");
        let count = ran["stdout"].as_str().and_then(|text| text.split(' ').next()?.parse().ok());
        assert!(count.is_some_and(|count: u32| (15..=20).contains(&count)), "{ran}");
        let control = bench.control(&["fork", "100"]);
        assert!(control.status.success(), "{control:?}");
    }
}

#[test]
fn memory_is_limited() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        bench.profile.limits.memory_bytes = 64 * MIB;
        let ran = bench.attempt(&["memory", "512"]);
        let killed = json!({"limit": "memory"});
        exit_is(&ran, &[killed.clone(), json!({"code": 10}), json!({"signal": 6})]);
        let control = bench.control(&["memory", "512"]);
        assert!(control.status.success(), "{control:?}");
        if ran["level"]["memory"] == "process" {
            let what = format!("memory of all processes together for {user:?}, no control groups");
            match user {
                User::Root => testkit::left_out(&what),
                // Most systems give none to ordinary users.
                User::Unprivileged => eprintln!("left out: {what}"),
            }
            continue;
        }
        let ran = bench.attempt(&["memory-tree", "8", "32"]);
        assert_ne!(ran["exit"], json!({"code": 0}), "{ran}");
        assert!(ran["memory_kills"].as_u64() > Some(0), "{ran}");
        let control = bench.control(&["memory-tree", "8", "32"]);
        assert!(control.status.success(), "{control:?}");
    }
}

/// Memory that belongs to no process: counted with the rest where there are control groups, and
/// otherwise kept small.
#[test]
fn shared_memory_is_limited() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        bench.profile.limits.memory_bytes = 64 * MIB;
        bench.profile.limits.scratch_bytes = 32 * MIB;
        let ended = [json!({"limit": "memory"}), json!({"code": 10}), json!({"signal": 9})];
        let attempts: [&[&str]; 2] = [&["memory-file", "256"], &["shared-segments", "128", "1024"]];
        for arguments in attempts {
            exit_is(&bench.attempt(arguments), &ended);
            let control = bench.control(arguments);
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
        }
        // More than a namespace can have of the size that is allowed everywhere.
        exit_is(&bench.attempt(&["shared-segments", "5000", "64"]), &ended);
        let ran = bench.attempt(&["many-files", "/dev/shm", "64"]);
        exit_is(&ran, &ended);
        let is_per_process = ran["level"]["memory"] == "process";
        let kernel_memory: [&[&str]; 2] = [&["semaphores", "2", "20000"], &["messages"]];
        for arguments in kernel_memory.into_iter().filter(|_| is_per_process) {
            exit_is(&bench.attempt(arguments), &[json!({"code": 10})]);
            let control = bench.control(arguments);
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
        }
        // What programs really ask for is there.
        for arguments in [["semaphores", "4", "17"], ["shared-segments", "1", "64"]] {
            exit_is(&bench.attempt(&arguments), &[json!({"code": 0})]);
        }
    }
}

/// The kernel looks here for what to end when the memory of the whole machine runs out.
#[test]
fn a_command_goes_before_others_when_memory_runs_out() {
    for user in users() {
        let bench = Bench::new(user, "");
        let ran = bench.sh("cat /proc/self/oom_score_adj; echo 0 > /proc/self/oom_score_adj");
        assert_eq!(ran["stdout"], "1000\n", "{ran}");
        assert_ne!(ran["exit"], json!({"code": 0}), "{ran}");
    }
}

#[test]
fn output_is_counted_and_its_ends_are_kept() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        bench.profile.limits.output_bytes = 1000;
        let ran = bench.attempt(&["output", "64"]);
        assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
        let printed = "worked: output\n".len() as u64;
        assert_eq!(ran["total_bytes"], 64 * MIB + printed);
        assert_eq!(ran["streamed_bytes"], ran["total_bytes"]);
        let kept = ran["stdout"].as_str().expect("text");
        assert!(kept.len() < 1100 && kept.ends_with("worked: output\n"), "{}", kept.len());
        // Who keeps what a program prints keeps all of it.
        let control = bench.control(&["output", "64"]);
        assert_eq!(control.stdout.len() as u64, 64 * MIB + printed);
    }
}

#[test]
fn space_is_limited() {
    for user in users() {
        let mut bench = Bench::new(user, "").with_overlay();
        bench.profile.limits.file_bytes = 8 * MIB;
        bench.profile.limits.scratch_bytes = 16 * MIB;
        bench.profile.project = sandbox::ProjectAccess::Copy(sandbox::Copy {
            max_bytes: 16 * MIB,
            ..Default::default()
        });
        let ran = bench.attempt(&["disk-space", "large", "32"]);
        exit_is(&ran, &[json!({"limit": "file_size"}), json!({"code": 10})]);
        works_on_a_small_disk(&bench, ".", &["disk-space", "large", "32"]);
        for place in ["/tmp", ".", "/dev/shm", "/root"] {
            let ran = bench.attempt(&["many-files", place, "64"]);
            assert_eq!(ran["exit"], json!({"code": 10}), "{place}: {ran}");
            works_on_a_small_disk(&bench, place, &["many-files", place, "64"]);
        }
        assert!(!bench.project.path("large").exists());
    }
}

/// Without a sandbox nothing but the disk ends it. The disk is one that goes with the control.
fn works_on_a_small_disk(bench: &Bench, place: &str, arguments: &[&str]) {
    let control = bench.control(&[&["on-small-disk", place], arguments].concat());
    assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
}

/// Empty files take memory too, and no limit on bytes counts it.
#[test]
fn files_in_memory_are_counted() {
    for user in users() {
        let mut bench = Bench::new(user, "").with_overlay();
        bench.profile.limits.scratch_bytes = 8 * MIB;
        bench.profile.project = ProjectAccess::Copy(Copy { max_bytes: 8 * MIB, ..Copy::default() });
        for place in [".", "/tmp"] {
            let ran =
                bench.sh(&format!("cd {place}; seq 40000 | xargs touch 2>/dev/null; ls | wc -l"));
            let made = ran["stdout"].as_str().and_then(|text| text.trim().parse().ok());
            assert!(made.is_some_and(|made: u32| (10_000..20_000).contains(&made)), "{ran}");
        }
    }
}

#[test]
fn time_ends_everything() {
    for user in users() {
        let bench = Bench::new(user, "");
        let mark = format!("past-the-time-{user:?}-{}", std::process::id());
        let path = bench.project.path("testbed");
        bench.attempt_spec(&[]);
        let script =
            format!("{p} attempt daemon {mark}; echo begun; {p} attempt spin", p = path.display());
        let mut spec = bench.spec(&["/bin/sh", "-c", &script]);
        // On a busy machine a short time may end before the daemon is there.
        let has_begun = [300, 1500, 8000, 40_000].into_iter().any(|timeout_ms| {
            spec.timeout_ms = timeout_ms;
            let ran = bench.run(&spec);
            assert_eq!(ran["exit"], "timeout", "{ran}");
            assert!(!is_running(&mark));
            ran["stdout"].as_str().is_some_and(|text| text.contains("begun"))
        });
        assert!(has_begun);
        // The same, ended as a plain time limit would: the daemon stays.
        let control = bench.control(&["outlive", &mark]);
        assert!(control.status.success(), "{control:?}");
        assert!(!is_running(&mark), "it goes with the namespace of the control");
    }
}
