//! Ways out that must not work, each shown to work without the sandbox.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sandbox::{Copy, ProjectAccess};
use serde_json::json;

use crate::bench::{Bench, HOST_SECRET, copy_program, users};

/// Exit code of an attempt that was blocked.
pub(crate) const BLOCKED: i64 = 10;

/// The name of an attempt and what it needs to know.
type Attempt = Vec<String>;

fn attempt(arguments: &[&str]) -> Attempt {
    arguments.iter().map(ToString::to_string).collect()
}

/// Makes each attempt without the sandbox, where it must work, and inside, where it must not, in every
/// way in which a command can meet the project.
fn all_are_blocked(attempts: impl Fn(&Bench) -> Vec<Attempt>) {
    for user in users() {
        let mut bench = Bench::new(user, "");
        for arguments in attempts(&bench) {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            for access in ways(&bench) {
                bench.profile.project = access;
                // Before any control, which may leave something behind.
                let ran = bench.attempt(&arguments);
                let blocked = json!({"code": BLOCKED});
                assert_eq!(ran["exit"], blocked, "{arguments:?} as {user:?}: {ran}");
                remove_planted(&bench);
            }
            let control = bench.control(&arguments);
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
            remove_planted(&bench);
        }
    }
}

/// The ways in which a command meets the project.
fn ways(bench: &Bench) -> [ProjectAccess; 4] {
    let layer = Some(bench.outside("state/layer"));
    [
        ProjectAccess::Direct,
        ProjectAccess::Live { writable: Vec::new() },
        ProjectAccess::Copy(Copy::default()),
        ProjectAccess::Copy(Copy { layer, ..Copy::default() }),
    ]
}

/// What an attempt leaves in the project is in the way of the next.
fn remove_planted(bench: &Bench) {
    let planted = ["planted", "planted-hard", "planted-device"];
    planted.iter().for_each(|name| drop(std::fs::remove_file(bench.project.path(name))));
}

#[test]
fn the_network_is_out_of_reach() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let (tcp_address, udp_address) =
        (tcp.local_addr().expect("an address"), udp.local_addr().expect("an address"));
    // Ends with the test process.
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(b"pong", from);
        }
    });
    let name = format!("toolkiln-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let _abstract = UnixListener::bind_addr(&address).expect("a socket");
    all_are_blocked(|bench| {
        let path = bench.outside("socket");
        // Kept open for the whole test.
        std::mem::forget(UnixListener::bind(&path).expect("a socket"));
        open_to_all(&path);
        vec![
            attempt(&["tcp", &tcp_address.to_string()]),
            attempt(&["udp", &udp_address.to_string()]),
            attempt(&["unix-path", path.to_str().expect("text")]),
            attempt(&["unix-abstract", &name]),
        ]
    });
}

pub(crate) fn open_to_all(path: &Path) {
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(path, all).expect("our own file");
}

#[test]
fn files_outside_are_out_of_reach() {
    all_are_blocked(|bench| {
        let path = |name: &str| bench.outside(name).to_str().expect("text").to_owned();
        let (secret, home) = (path("secret"), path("home/.secret"));
        ["read", "stat", "chmod", "soft-link", "hard-link", "remove"]
            .iter()
            .map(|name| attempt(&[name, &secret]))
            .chain([attempt(&["read", &home])])
            .collect()
    });
}

/// The control writes to a disk of its own that lies there, since it must leave the system alone.
#[test]
fn the_system_cannot_be_written() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        for access in ways(&bench) {
            bench.profile.project = access;
            for place in ["/usr/bin", "/etc", "/"] {
                let file = Path::new(place).join("toolkiln-planted");
                let arguments = ["write", file.to_str().expect("text")];
                let ran = bench.attempt(&arguments);
                assert_eq!(ran["exit"], json!({"code": BLOCKED}), "{place} as {user:?}: {ran}");
                if place != "/" {
                    let control =
                        bench.control(&[&["on-small-disk", place], &arguments[..]].concat());
                    assert!(control.status.success(), "{place} proves nothing: {control:?}");
                }
            }
        }
    }
}

/// The directories on the way to the project are private and may take files, which stay invisible
/// outside.
#[test]
fn what_is_written_outside_does_not_arrive() {
    for user in users() {
        let bench = Bench::new(user, "");
        for name in ["secret", "home/.secret", "new", "home/new"] {
            let path = bench.outside(name);
            let before = std::fs::read(&path).ok();
            let arguments = ["write", path.to_str().expect("text")];
            let ran = bench.attempt(&arguments);
            assert!(ran["exit"]["code"].is_number(), "{ran}");
            assert_eq!(std::fs::read(&path).ok(), before, "{name} as {user:?}");
            let control = bench.control(&arguments);
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
            assert_ne!(std::fs::read(&path).ok(), before);
        }
    }
}

/// A process of the host that an attack could see.
struct Victim {
    process: Child,
    /// Where it has something in its memory.
    address: String,
}

impl Victim {
    fn new(mark: &str) -> Victim {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox-testbed"));
        command.args(["stay", mark]).env("VICTIM_SECRET", format!("secret-of-{mark}"));
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut address = String::new();
        let output = process.stdout.as_mut().expect("a pipe");
        BufReader::new(output).read_line(&mut address).expect("it says that it is there");
        Victim { process, address: address.trim().to_owned() }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[test]
fn processes_outside_are_out_of_reach() {
    let mark = format!("victim-{}", std::process::id());
    let victim = Victim::new(&mark);
    let pid = victim.process.id().to_string();
    for user in users() {
        let bench = Bench::new(user, "");
        let secret = format!("secret-of-{mark}");
        let attempts: [&[&str]; 6] = [
            &["environment", &secret],
            &["processes", &mark],
            &["signal", &pid],
            &["ptrace", &pid],
            &["process-memory", &pid],
            &["process-memory-call", &pid, &victim.address],
        ];
        for arguments in attempts {
            let ran = bench.attempt(arguments);
            assert_eq!(ran["exit"], json!({"code": BLOCKED}), "{arguments:?} as {user:?}: {ran}");
            // In namespaces of its own the control would not see the victim. It changes nothing.
            let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox-testbed"));
            let control = command.arg("attempt").args(arguments).output().expect("it runs");
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
        }
    }
}

/// The one who starts the sandbox has a secret in its environment: neither the command nor any process
/// that it sees has it.
#[test]
fn secrets_in_the_environment_stay_outside() {
    for user in users() {
        let bench = Bench::new(user, "");
        for name in ["environment", "own-environment"] {
            let arguments = [name, HOST_SECRET];
            let ran = bench.attempt(&arguments);
            assert_eq!(ran["exit"], json!({"code": BLOCKED}), "{name} as {user:?}: {ran}");
            let mut command = bench.as_user();
            let control = command.arg("control").args(arguments).output().expect("it runs");
            assert!(control.status.success(), "{name} proves nothing as {user:?}: {control:?}");
        }
    }
}

/// Only root can make such a program, so only a test that is run by root can show it.
#[test]
fn programs_of_root_are_not_run_as_root() {
    for user in users().into_iter().filter(|_| rustix::process::geteuid().is_root()) {
        let bench = Bench::new(user, "");
        let program = bench.project.path("set-user");
        copy_program(bench.testbed(), &program);
        std::os::unix::fs::chown(&program, Some(0), Some(0)).expect("we are root");
        let mode = std::fs::Permissions::from_mode(0o4755);
        std::fs::set_permissions(&program, mode).expect("our own file");
        let arguments = ["set-user-program", program.to_str().expect("text")];
        let ran = bench.attempt(&arguments);
        assert_eq!(ran["exit"], json!({"code": BLOCKED}), "as {user:?}: {ran}");
        let mut unprivileged = Bench::as_unprivileged(bench.testbed());
        let control = unprivileged.arg("attempt").args(arguments).output().expect("it runs");
        assert!(control.status.success(), "it proves nothing: {control:?}");
    }
}

#[test]
fn the_kernel_gives_no_new_rights() {
    all_are_blocked(|_| {
        let names = [
            "mount",
            "chroot",
            "user-namespace",
            "mount-namespace",
            "clone-namespace",
            "become-root",
            "set-host-name",
            "keyring",
        ];
        names.iter().map(|name| attempt(&[name])).collect()
    });
}

/// These work only for root, or not on every kernel: a control that fails proves nothing, and is said.
#[test]
fn rare_ways_out_are_closed_too() {
    for user in users() {
        let bench = Bench::new(user, "");
        let names = [
            "device",
            "disk",
            "io-uring",
            "vsock",
            "second-numbering",
            "enter-namespace",
            "kernel-settings",
        ];
        for name in names {
            let ran = bench.attempt(&[name]);
            assert_eq!(ran["exit"], json!({"code": BLOCKED}), "{name} as {user:?}: {ran}");
            if !bench.control(&[name]).status.success() {
                eprintln!("without control: {name} does not work outside either");
            }
            remove_planted(&bench);
        }
    }
}

#[test]
fn the_first_process_inside_tells_nothing() {
    for user in users() {
        let bench = Bench::new(user, "");
        let ran = bench.sh("cat /proc/1/environ /proc/1/maps; ls /proc/1/fd /proc/1/map_files; \
             readlink -q /proc/1/exe /proc/1/root /proc/1/cwd");
        assert_eq!(ran["stdout"], "", "{ran}");
        let seen = bench.sh("ls -d /proc/[0-9]* | wc -l");
        let count: u32 = seen["stdout"].as_str().unwrap_or("").trim().parse().expect("a number");
        assert!(count <= 5, "only processes from inside are seen: {count}");
    }
}

#[test]
fn no_descriptor_of_ours_gets_in() {
    for user in users() {
        let bench = Bench::new(user, "");
        // 3 is the directory that `ls` reads.
        let ran = bench.run(&bench.spec(&["ls", "/proc/self/fd"]));
        assert_eq!(ran["stdout"], "0\n1\n2\n3\n", "{ran}");
    }
}
