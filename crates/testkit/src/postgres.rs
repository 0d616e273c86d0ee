//! A real PostgreSQL server for tests, in a temporary directory, that ends with the process of the tests.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::left_out;

/// Where a server listens. Ports of the usual address of this machine are given to any program, also as those that it
/// connects from, so that one which was free, or which a killed server has had, may be taken.
const HOST: &str = "127.0.0.5";
/// Names the server that all tests of a run use, as `postgres://user@host:port`.
pub const POSTGRES_VARIABLE: &str = "TOOLKILN_TEST_POSTGRES";

/// PostgreSQL refuses to run as root. This is the user without rights on every Linux.
const UNPRIVILEGED: u32 = 65534;
/// How long a test waits for a server that must come. A healthy one needs a second or two.
const WATCHDOG: Duration = Duration::from_secs(60);
/// What the server says when it can be used.
const READY: &str = "database system is ready to accept connections";
/// What it says while processes of an earlier one have not ended.
const STILL_IN_USE: &str = "is still in use";
/// Where packages of Debian put the programs, one directory for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Runs the server until its own input has a line or ends. If it ends, so has the process of the tests,
/// however that came, and no other process removes the directory.
const KEEPER: &str = r#"
dir=$1; shift
exec 3<&0
"$@" </dev/null &
server=$!
exec 2>/dev/null
read -r word <&3
gone=$?
kill -QUIT "$server" 2>/dev/null
wait "$server"
if [ "$gone" -ne 0 ]; then rm -rf "$dir"; fi
"#;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    bin: PathBuf,
    /// None if another process has started it.
    own: Option<OwnServer>,
}

#[derive(Debug)]
struct OwnServer {
    dir: TempDir,
    port: u16,
    settings: Vec<String>,
    keeper: Option<Child>,
}

/// A database of a test's own, removed with it.
#[derive(Debug)]
pub struct PostgresDatabase {
    url: String,
    server: String,
    psql: PathBuf,
    name: String,
}

impl Postgres {
    /// The server that the tests of this process share: the one that the environment names, or one that
    /// is started now. Without PostgreSQL the test has to be left out, which is said here.
    pub fn shared() -> Option<&'static Postgres> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let bin = programs()?;
            match std::env::var(POSTGRES_VARIABLE).ok().filter(|url| !url.is_empty()) {
                Some(url) => {
                    let url = url.trim_end_matches('/').to_owned();
                    Some(Postgres { url, bin, own: None })
                }
                // What is kept by the system survives the server, and no test cuts the power.
                None => Some(Postgres::start_in(bin, &["fsync=off", "full_page_writes=off"])),
            }
        });
        if shared.is_none() {
            left_out("tests on PostgreSQL, which is not installed (Debian's package `postgresql`)");
        }
        shared.as_ref()
    }

    /// A server of the test's own, which may be killed. `settings` are those of `postgresql.conf`, such as
    /// `max_connections=50`.
    pub fn start(settings: &[&str]) -> Option<Postgres> {
        let Some(bin) = programs() else {
            left_out("tests on PostgreSQL, which is not installed (Debian's package `postgresql`)");
            return None;
        };
        Some(Self::start_in(bin, settings))
    }

    #[track_caller]
    fn start_in(bin: PathBuf, settings: &[&str]) -> Postgres {
        let dir = tempfile::Builder::new().prefix("toolkiln-postgres-").tempdir();
        let dir = dir.expect("a temporary directory can be made");
        if is_root() {
            chown(dir.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED))
                .expect("root can give a directory away");
        }
        let data = dir.path().join("data");
        let mut initdb = as_other_user(&bin.join("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
        initdb.args(["--no-sync", "--no-instructions", "--pgdata"]).arg(&data);
        let made = initdb.current_dir(dir.path()).output().expect("initdb can be started");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut own = OwnServer { dir, port, settings, keeper: None };
        own.run(&bin);
        Postgres { url: format!("postgres://postgres@{HOST}:{port}"), bin, own: Some(own) }
    }

    /// Whether there are programs of PostgreSQL on this machine.
    pub fn is_installed() -> bool {
        programs().is_some()
    }

    /// Its address, without a database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A program of the same version, such as `pg_dump`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// The directory of its files, if it is the test's own.
    pub fn directory(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| own.dir.path())
    }

    /// Makes an empty database.
    #[track_caller]
    pub fn database(&self) -> PostgresDatabase {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let psql = self.bin.join("psql");
        run_sql(&psql, &self.url, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        run_sql(&psql, &self.url, &format!("CREATE DATABASE {name} TEMPLATE template0"));
        let url = format!("{}/{name}", self.url);
        PostgresDatabase { url, server: self.url.clone(), psql, name }
    }

    /// Ends the server and all of its processes at once, as `kill -9` and a crash do.
    #[track_caller]
    pub fn kill(&mut self) {
        self.own.as_mut().expect("only a server of one's own is killed").kill();
    }

    /// Starts it again after [`Self::kill`], and waits until it has recovered.
    #[track_caller]
    pub fn restart(&mut self) {
        let bin = self.bin.clone();
        self.own.as_mut().expect("only a server of one's own is started").run(&bin);
    }
}

impl OwnServer {
    /// Starts the server and waits until it can be used. Processes of one that was killed may not have
    /// ended yet; until then it refuses.
    #[track_caller]
    fn run(&mut self, bin: &Path) {
        let deadline = Instant::now() + WATCHDOG;
        while let Err(log) = self.try_run(bin) {
            let is_too_early = log.contains(STILL_IN_USE) && Instant::now() < deadline;
            assert!(is_too_early, "PostgreSQL did not start:\n{log}");
        }
    }

    fn try_run(&mut self, bin: &Path) -> Result<(), String> {
        self.stop();
        let mut command = as_other_user(Path::new("sh"));
        command.args(["-c", KEEPER, "keeper"]).arg(self.dir.path()).arg(bin.join("postgres"));
        command.arg("-D").arg(self.dir.path().join("data"));
        let listen = format!("port={}", self.port);
        let sockets = format!("unix_socket_directories={}", self.dir.path().display());
        let host = format!("listen_addresses={HOST}");
        for setting in [listen.as_str(), &sockets, &host] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.current_dir(self.dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a shell can be started");
        let stderr = child.stderr.take().expect("standard error is piped");
        self.keeper = Some(child);
        let (sender, ready) = channel();
        thread::spawn(move || read_log(BufReader::new(stderr), &sender));
        let late = |_| Err(format!("it was not ready within {WATCHDOG:?}"));
        ready.recv_timeout(WATCHDOG).unwrap_or_else(late)
    }

    #[track_caller]
    fn kill(&mut self) {
        let file = self.dir.path().join("data/postmaster.pid");
        let text = std::fs::read_to_string(&file).expect("a running server names its process");
        let main = text.lines().next().expect("the first line is the process").to_owned();
        // The children first: without their parent they would end in an orderly way.
        let stopped = Command::new("kill").args(["-STOP", &main]).status();
        assert!(stopped.is_ok_and(|status| status.success()), "the server runs");
        let children = std::fs::read_to_string(format!("/proc/{main}/task/{main}/children"));
        let children = children.unwrap_or_default();
        let all = children.split_whitespace().chain([main.as_str()]);
        let killed = Command::new("kill").arg("-KILL").args(all).stderr(Stdio::null()).status();
        assert!(killed.is_ok(), "the server can be signalled");
        self.stop();
    }

    /// Ends the server and waits for it.
    fn stop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(mut stdin) = keeper.stdin.take() {
                let _ = stdin.write_all(b"stop\n");
            }
            let _ = keeper.wait();
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl PostgresDatabase {
    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same through another port, where a proxy listens.
    pub fn url_through(&self, port: u16) -> String {
        let (user, _) = self.url.split_once('@').expect("the address names a user");
        format!("{user}@127.0.0.1:{port}/{}", self.name)
    }

    /// Where its server listens.
    pub fn server_address(&self) -> &str {
        let (_, address) = self.server.split_once('@').expect("the address names a user");
        address
    }

    /// Runs SQL, and returns what it prints: rows on lines, columns separated by `|`.
    #[track_caller]
    pub fn sql(&self, text: &str) -> String {
        run_sql(&self.psql, &self.url, text)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        // A server that was killed has nothing to remove, and a test that failed has said why.
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let _ = psql(&self.psql, &self.server, &drop).output();
    }
}

#[track_caller]
fn run_sql(program: &Path, url: &str, text: &str) -> String {
    let done = psql(program, url, text).output().expect("psql can be started");
    assert!(done.status.success(), "{text}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

fn psql(program: &Path, url: &str, text: &str) -> Command {
    let mut command = Command::new(program);
    let has_database = url.rsplit_once('@').is_some_and(|(_, place)| place.contains('/'));
    let url = if has_database { url.to_owned() } else { format!("{url}/postgres") };
    command.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]);
    command.args(["--set", "ON_ERROR_STOP=1", "--command", text]).arg(url);
    command.env("PGOPTIONS", "-c client_min_messages=warning").stdin(Stdio::null());
    command
}

/// Reads what the server says, to the end. Says when it is ready, or what it said instead.
fn read_log(log: impl std::io::BufRead, ready: &Sender<Result<(), String>>) {
    let mut said = String::new();
    let mut is_ready = false;
    for line in log.lines().map_while(Result::ok) {
        if !is_ready {
            is_ready = line.contains(READY);
            said.extend([line.as_str(), "\n"]);
            if is_ready {
                let _ = ready.send(Ok(()));
            }
        }
    }
    if !is_ready {
        let _ = ready.send(Err(said));
    }
}

/// Where the programs of PostgreSQL are, if it is installed: the newest version.
fn programs() -> Option<PathBuf> {
    let from_config = || {
        let out = Command::new("pg_config").arg("--bindir").output().ok()?;
        Some(PathBuf::from(String::from_utf8(out.stdout).ok()?.trim()))
    };
    let debian = || {
        let versions = std::fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok);
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        let newest = versions.map(|entry| entry.path()).max_by_key(number)?;
        Some(newest.join("bin"))
    };
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|dir| has_server(dir))
    };
    let found = [from_config(), debian(), on_path()];
    found.into_iter().flatten().find(|dir| has_server(dir))
}

fn has_server(dir: &Path) -> bool {
    ["postgres", "initdb", "psql"].iter().all(|program| dir.join(program).is_file())
}

/// A command that does not run as root.
fn as_other_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A port of [`HOST`] that nothing listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind((HOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_server_comes_back_with_what_was_committed() {
        let Some(mut server) = Postgres::start(&[]) else { return };
        let database = server.database();
        database.sql("CREATE TABLE a (x INT); INSERT INTO a VALUES (7)");
        server.kill();
        assert!(
            !psql(&database.psql, &database.url, "SELECT 1").output().unwrap().status.success()
        );
        server.restart();
        assert_eq!(database.sql("SELECT x, x + 1 FROM a"), "7|8");
    }

    #[test]
    fn each_test_has_a_database_of_its_own() {
        let Some(server) = Postgres::shared() else { return };
        let (one, other) = (server.database(), server.database());
        one.sql("CREATE TABLE a (x INT)");
        other.sql("CREATE TABLE a (x INT)");
        let gone = one.name.clone();
        drop(one);
        let left = format!("SELECT count(*) FROM pg_database WHERE datname = '{gone}'");
        assert_eq!(other.sql(&left), "0");
    }
}
