//! Sockets with a path, behind which a process of the host listens, wherever they can be seen.

use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::PathBuf;

use sandbox::{Access, Copy, ProjectAccess, Visible};
use serde_json::{Value, json};

use crate::bench::{Bench, User, users};
use crate::escapes::{BLOCKED, open_to_all};

/// A project with sockets in it, in an ignored directory and in what is visible besides: directories
/// that lie side by side, and one that lies alone.
struct Place {
    bench: Bench,
    directories: Vec<PathBuf>,
    /// They listen as long as this lives.
    _listening: Vec<(UnixListener, UnixDatagram)>,
}

impl Place {
    fn new(user: User) -> Place {
        let mut bench = Bench::new(user, "//- /plain/file\n//- /passed/file\n");
        let (tools, more, cache) =
            (bench.outside("tools"), bench.outside("more"), bench.outside("cache"));
        let alone = bench.outside("apart/alone");
        let read = [&tools, &more, &alone].map(|path| (path, Access::Read));
        for (path, access) in read.into_iter().chain([(&cache, Access::Layer)]) {
            std::fs::create_dir_all(path).expect("a directory");
            bench.profile.visible.push(Visible { path: path.clone(), access });
        }
        let (plain, passed) = (bench.project.path("plain"), bench.project.path("passed"));
        let directories = vec![plain, passed, tools, more, alone, cache];
        let listening = directories.iter().map(|directory| {
            let stream = UnixListener::bind(directory.join("stream")).expect("a socket");
            let datagram = UnixDatagram::bind(directory.join("datagram")).expect("a socket");
            ["stream", "datagram"].iter().for_each(|name| open_to_all(&directory.join(name)));
            (stream, datagram)
        });
        let listening = listening.collect();
        Place { bench, directories, _listening: listening }
    }

    /// Makes every attempt on every socket.
    fn attempts(&self, what: &str, run: impl Fn(&[&str]) -> Value) {
        for directory in &self.directories {
            let attempts =
                [("unix-path", "stream"), ("unix-datagram", "datagram"), ("unix-pair", "datagram")];
            for (attempt, name) in attempts {
                let path = directory.join(name);
                let ran = run(&[attempt, path.to_str().expect("text")]);
                let user = self.bench.user;
                assert_eq!(
                    ran["exit"],
                    json!({"code": BLOCKED}),
                    "{attempt} {} {what} as {user:?}: {ran}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn who_listens_at_a_path_is_out_of_reach() {
    for user in users() {
        let mut place = Place::new(user);
        let ways = [
            ("on the files themselves", ProjectAccess::Direct),
            ("on the live project", ProjectAccess::Live { writable: vec!["passed".into()] }),
            ("on a copy", ProjectAccess::Copy(Copy::default())),
        ];
        for (what, access) in ways {
            place.bench.profile.project = access;
            place.attempts(what, |arguments| place.bench.attempt(arguments));
        }
        place.bench.profile.project = ProjectAccess::Direct;
        place.attempts("without overlays", |arguments| {
            place.bench.run_without_overlays(&place.bench.attempt_spec(arguments))
        });
        for directory in &place.directories {
            for (attempt, name) in [("unix-path", "stream"), ("unix-pair", "datagram")] {
                let path = directory.join(name);
                let control = place.bench.control(&[attempt, path.to_str().expect("text")]);
                assert!(control.status.success(), "{attempt} proves nothing: {control:?}");
            }
        }
    }
}

/// Where nothing of the host is shown as it is, programs may talk to themselves by paths.
#[test]
fn sockets_of_its_own_work_on_a_copy() {
    for user in users() {
        let mut place = Place::new(user);
        place.bench.profile.project = ProjectAccess::Copy(Copy::default());
        for path in ["/tmp/own", "own", "plain/own"] {
            let ran = place.bench.attempt(&["unix-own", path]);
            assert_eq!(ran["exit"], json!({"code": 0}), "{path} as {user:?}: {ran}");
            assert_eq!(ran["level"]["unix_sockets"], true);
        }
    }
}
