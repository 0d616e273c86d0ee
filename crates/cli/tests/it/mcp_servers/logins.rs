//! `toolkiln mcp login` and `logout`, through the binary.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use testkit::LoginServer;

use super::ServerBench;
use crate::run::Ran;

/// A project, and a server `t` that wants a login.
struct LoginBench {
    bench: ServerBench,
    server: LoginServer,
}

impl LoginBench {
    fn new() -> Self {
        let (bench, server) = (ServerBench::empty(), LoginServer::start());
        let added = bench.run(&["mcp", "add", "t", "--url", &server.url()]);
        assert!(added.stderr.contains("Log in with: toolkiln mcp login t"), "{}", added.stderr);
        Self { bench, server }
    }

    fn home(&self) -> PathBuf {
        self.bench.project.root().with_file_name("home")
    }

    fn file(&self) -> PathBuf {
        self.home().join(".local/state/toolkiln/logins/t/login.json")
    }

    fn login(&self, variables: &[(&str, &str)], more: &[&str]) -> (Child, String) {
        let mut command = self.bench.command();
        command.args(["mcp", "login", "t"]).args(more).arg("--root").arg(self.bench.project.root());
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
        let told = BufReader::new(child.stdout.as_mut().expect("piped"));
        let url = told.lines().map_while(Result::ok).find(|line| line.starts_with("http"));
        (child, url.expect("an address to open"))
    }

    /// Logs in, with a browser on another machine.
    fn pasted(&self) -> String {
        let (mut child, url) = self.login(&[], &["--no-browser"]);
        let redirected = LoginServer::browse(&url);
        let input = child.stdin.as_mut().expect("piped");
        let wrong = redirected.replace("state=", "state=x");
        write!(input, "\nnonsense\n{wrong}\n{redirected}\n").expect("written");
        let done = child.wait_with_output().expect("ended");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{errors}");
        errors
    }

    fn call(&self) -> Ran {
        self.bench.call("hello", "{}")
    }
}

#[test]
fn a_server_is_used_after_a_login_and_no_longer_after_a_logout() {
    let bench = LoginBench::new();
    let errors = bench.pasted();
    assert_eq!(errors.matches("not the address that this login ends at").count(), 2, "{errors}");
    let mode = |path: &PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&bench.file()), 0o600);
    assert_eq!(mode(&bench.file().parent().expect("a directory").to_owned()), 0o700);
    let called = bench.call();
    assert!(called.stdout.contains("hello from inside"), "{}{}", called.stdout, called.stderr);
    let out = bench.bench.run(&["mcp", "logout", "t"]);
    assert_eq!(out.stdout, "You are logged out of t.\n", "{}", out.stderr);
    assert!(!bench.file().exists());
    assert_eq!(bench.server.requests_to("/revoke").len(), 1);
    bench.server.state().tokens.clear();
    let refused = bench.call();
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("needs a login"), "{}", refused.stdout);
    assert!(refused.stderr.contains("`toolkiln mcp login t`"), "{}", refused.stderr);
    let again = bench.bench.run(&["mcp", "logout", "t"]);
    assert_eq!(again.stdout, "You were not logged in to t.\n");
}

#[test]
fn the_browser_is_given_a_private_file_and_comes_back_by_itself() {
    let bench = LoginBench::new();
    let (programs, told) = (bench.home().join("programs"), bench.home().join("told"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &told, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    fs::create_dir(&programs).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s' \"$*\" > '{}'\n", told.display());
    fs::write(programs.join("xdg-open"), script).unwrap();
    let executable = fs::Permissions::from_mode(0o700);
    fs::set_permissions(programs.join("xdg-open"), executable).unwrap();
    let variables = [("PATH", programs.to_str().unwrap()), ("DISPLAY", ":0")];
    let (child, url) = bench.login(&variables, &[]);
    // Waits until the browser has been started.
    let page = fs::read_to_string(&told).unwrap();
    assert!(page.ends_with("open.html") && !page.contains("state="), "{page}");
    let link = fs::read_to_string(&page).unwrap();
    assert!(link.contains(&url.replace('&', "&amp;")), "{link}");
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(LoginServer::visit(&LoginServer::browse(&url)), "200");
    let done = child.wait_with_output().expect("ended");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(!fs::exists(&page).unwrap());
    // Nothing is ever opened for a call.
    bench.bench.run(&["mcp", "logout", "t"]);
    bench.server.state().tokens.clear();
    let before = bench.server.requests_to("/authorize").len();
    assert_eq!(bench.call().code, 1);
    assert_eq!(bench.server.requests_to("/authorize").len(), before);
}

#[test]
fn a_login_that_others_could_read_is_not_used() {
    let bench = LoginBench::new();
    bench.pasted();
    let file = bench.file();
    for path in [&file, &file.parent().expect("a directory").to_owned()] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(before.mode() | 0o044)).unwrap();
        let asked = bench.server.state().requests.len();
        let refused = bench.call();
        assert!(refused.stdout.contains("others could read the login"), "{}", refused.stdout);
        assert_eq!(bench.server.state().requests.len(), asked, "nothing was sent");
        fs::set_permissions(path, before).unwrap();
        assert_eq!(bench.call().code, 0);
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    bench.pasted();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(bench.call().code, 0);
}

#[test]
fn what_cannot_be_logged_in_to_is_told() {
    let bench = LoginBench::new();
    let told = |arguments: &[&str]| bench.bench.run(arguments).stderr;
    assert!(told(&["mcp", "login", "other"]).contains("there is no MCP server other"));
    let url = bench.server.url();
    bench.bench.run(&["mcp", "add", "fixed", "--url", &url, "--token-env", "TOKEN"]);
    assert!(told(&["mcp", "login", "fixed"]).contains("`token_env`"));
    bench.bench.run(&["mcp", "add", "plain", "--url", "http://mcp.example/mcp"]);
    assert!(told(&["mcp", "login", "plain"]).contains("not an https address"));
    bench
        .server
        .state()
        .metadata
        .insert("code_challenge_methods_supported".into(), Vec::<String>::new().into());
    let refused = told(&["mcp", "login", "t", "--no-browser"]);
    assert!(
        refused.contains("you are not logged in to t") && refused.contains("S256"),
        "{refused}"
    );
}
