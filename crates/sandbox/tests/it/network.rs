//! Commands that may use the network reach what the proxy lets them, and nothing by themselves.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Stdio;

use sandbox::{Launcher, Profile, RunOptions, Sandbox};
use serde_json::{Value, json};

use crate::bench::{Bench, User, users};
use crate::escapes::BLOCKED;

/// A server that sends a line to everybody, on a port of this machine. Ends with the test process.
fn greeting_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let serving = listener.try_clone().expect("a socket");
    std::thread::spawn(move || {
        for stream in serving.incoming() {
            let _ = stream.and_then(|mut stream| stream.write_all(b"hello\n"));
        }
    });
    (listener, address)
}

fn with_network(bench: &Bench, arguments: &[&str]) -> Value {
    let mut spec = bench.attempt_spec(arguments);
    spec.network = true;
    bench.run(&spec)
}

fn is_blocked(ran: &Value, user: User) -> bool {
    assert!(ran["exit"]["code"].is_number(), "as {user:?}: {ran}");
    ran["exit"]["code"] == BLOCKED
}

#[test]
fn a_command_with_the_network_is_in_a_namespace_of_its_own() {
    let (_listener, tcp) = greeting_server();
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let udp_address = udp.local_addr().expect("an address").to_string();
    // Ends with the test process.
    std::thread::spawn(move || {
        let mut buffer = [0; 16];
        while let Ok((_, from)) = udp.recv_from(&mut buffer) {
            let _ = udp.send_to(b"pong", from);
        }
    });
    let name = format!("toolkiln-open-{}", std::process::id());
    let hidden = SocketAddr::from_abstract_name(&name).expect("a name");
    let _hidden = UnixListener::bind_addr(&hidden).expect("a socket");
    for user in users() {
        let bench = Bench::new(user, "");
        let secret = bench.outside("secret");
        let attempts: [&[&str]; 4] = [
            &["tcp", &tcp],
            &["udp", &udp_address],
            &["unix-abstract", &name],
            &["read", secret.to_str().expect("text")],
        ];
        for arguments in attempts {
            let ran = with_network(&bench, arguments);
            assert!(is_blocked(&ran, user), "{arguments:?} as {user:?}: {ran}");
            let control = bench.control(arguments);
            assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
        }
        // These need rights that an ordinary user outside has not either.
        for arguments in [["raw-socket"], ["packet-socket"]] {
            let ran = with_network(&bench, &arguments);
            assert!(is_blocked(&ran, user), "{arguments:?} as {user:?}: {ran}");
            if rustix::process::geteuid().is_root() {
                let control = bench.control(&arguments);
                assert!(control.status.success(), "{arguments:?} proves nothing: {control:?}");
            }
        }
        // There is no name server, and no route to any address.
        for arguments in [["look-up", "example.com"], ["tcp", "1.1.1.1:443"]] {
            let ran = with_network(&bench, &arguments);
            assert!(is_blocked(&ran, user), "{arguments:?} as {user:?}: {ran}");
        }
        let ran = with_network(&bench, &["look-up", "localhost"]);
        assert_eq!(ran["exit"], json!({"code": 0}), "its own loopback has a name: {ran}");
    }
}

/// The control is the same request after the user has allowed the address.
#[test]
fn the_proxy_reaches_nothing_of_the_host_unless_the_user_allows_it() {
    let (listener, address) = greeting_server();
    let port = listener.local_addr().expect("an address").port();
    for user in users() {
        let mut bench = Bench::new(user, "");
        bench.names.insert("inside.test".into(), vec![vec!["127.0.0.1".parse().expect("one")]]);
        let requests =
            [address.clone(), format!("inside.test:{port}"), format!("[::ffff:127.0.0.1]:{port}")];
        for request in &requests {
            let ran = with_network(&bench, &["download", request]);
            assert!(is_blocked(&ran, user), "{request} as {user:?}: {ran}");
            let why = ran["refused_connections"][0]["why"].as_str().unwrap_or_default();
            assert!(why.contains("127.0.0.1 is a loopback address"), "{ran}");
            let said = ran["stdout"].as_str().unwrap_or_default();
            assert!(said.contains("HTTP/1.1 403 Forbidden") && said.contains(why), "{ran}");
        }
        bench.profile.network.allow = vec![address.parse().expect("an allowance")];
        for request in &requests {
            let ran = with_network(&bench, &["download", request]);
            assert_eq!(ran["exit"], json!({"code": 0}), "{request} as {user:?}: {ran}");
            assert_eq!(ran["stdout"], "begun\n6 bytes\nworked: download\n");
            assert_eq!(ran["refused_connections"], json!([]));
            assert_eq!(ran["level"]["network"], "proxied");
        }
    }
}

#[test]
fn private_networks_metadata_services_and_other_ports_are_out_of_reach_by_any_name() {
    let names: [(&str, &str); 5] = [
        ("private.test", "10.0.0.1"),
        ("metadata.test", "169.254.169.254"),
        ("local.test", "fd00::1"),
        ("translated.test", "64:ff9b::10.0.0.1"),
        ("public.test", "1.1.1.1"),
    ];
    for user in users() {
        let mut bench = Bench::new(user, "");
        for (name, address) in names {
            let address: IpAddr = address.parse().expect("an address");
            bench.names.insert(name.into(), vec![vec![address]]);
        }
        let requests = ["169.254.169.254:80", "192.168.0.1:443", "[fe80::1]:80", "public.test:22"];
        let named =
            ["private.test:80", "metadata.test:80", "local.test:443", "translated.test:443"];
        for request in requests.iter().chain(&named) {
            let ran = with_network(&bench, &["through-proxy", request]);
            assert!(is_blocked(&ran, user), "{request} as {user:?}: {ran}");
            assert_eq!(ran["refused_connections"].as_array().map(Vec::len), Some(1), "{ran}");
        }
    }
}

/// The port is the same in every namespace; behind it is only the command's own proxy.
#[test]
fn the_proxy_of_another_command_is_out_of_reach() {
    for user in users() {
        let bench = Bench::new(user, "");
        let attempt = ["tcp", "127.0.0.1:61080"];
        let (mut spec, other) = (bench.attempt_spec(&attempt), bench.attempt_spec(&attempt));
        spec.argv = ["/bin/sh", "-c", "echo begun; read line"].map(Into::into).into();
        spec.network = true;
        // A second command while the first has its proxy.
        let profile = Profile::new(bench.project.root(), &bench.profile.home);
        let launcher = Launcher::at(env!("CARGO_BIN_EXE_sandbox-testbed"));
        let sandbox = Sandbox::new(profile, launcher).expect("a sandbox");
        let (stdin, write) = std::io::pipe().expect("a pipe");
        let mut write = Some(write);
        let options = RunOptions { stdin: Some(stdin.into()), ..RunOptions::default() };
        let ran = sandbox.run(&spec, options, |_| {
            let second = sandbox.run(&other, RunOptions::default(), |_| {}).expect("it runs");
            assert_eq!(second.exit, sandbox::Exit::Code(10), "{}", second.stdout.text());
            write.take();
        });
        assert_eq!(ran.expect("it runs").stdout.text(), "begun\n");
        let ran = with_network(&bench, &attempt);
        assert_eq!(ran["exit"], json!({"code": 0}), "its own proxy is there: {ran}");
    }
}

/// The server sends without end; what ends it is that the command was killed.
#[test]
fn a_killed_command_ends_its_connections() {
    for user in users() {
        let mut bench = Bench::new(user, "");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        bench.profile.network.allow = vec![address.parse().expect("an allowance")];
        let serving = std::thread::spawn(move || {
            let sent_all = |mut stream: TcpStream| while stream.write_all(&[0; 4096]).is_ok() {};
            listener.incoming().flatten().take(1).for_each(sent_all);
        });
        let mut spec = bench.attempt_spec(&["download", &address]);
        spec.network = true;
        // On a busy machine a short time may end before there is a connection.
        let has_begun = [300, 3000, 30_000].into_iter().any(|timeout_ms| {
            spec.timeout_ms = timeout_ms;
            let ran = bench.run(&spec);
            assert_eq!(ran["exit"], "timeout", "{ran}");
            ran["stdout"] == "begun\n"
        });
        assert!(has_begun);
        serving.join().expect("the connection ended");
    }
}

#[test]
fn nothing_is_left_of_commands_with_the_network_ended_at_odd_times() {
    let (_listener, address) = greeting_server();
    for user in users() {
        let bench = Bench::new(user, "");
        bench.attempt_spec(&[]);
        let mut command = bench.as_user();
        let storm = command.arg("network-storm").arg(bench.project.root()).args(["100", &address]);
        let mut child = storm.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let last = lines.map_while(Result::ok).last();
        assert!(child.wait().expect("it ends").success(), "{last:?}");
        let last = last.expect("it says how the commands ended");
        assert!(last.contains("Code(0)") && last.contains("Timeout"), "{last}");
    }
}
