//! A name server that changes its mind, and the binary in a network of its own that asks it.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;
use testkit::Fixture;

use super::{PageServer, configured, fetch};

/// Tells the test that it is in a network of its own, where it was started by itself.
const INSIDE: &str = "TOOLKILN_TEST_OWN_NETWORK";
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const PORT: u16 = 80;

#[test]
fn a_name_that_is_rebound_leads_nowhere() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let own = std::env::current_exe().expect("this program");
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--net"]);
    let is_possible = unshare.arg("ip").args(["link", "set", "lo", "up"]).output();
    if !is_possible.is_ok_and(|output| output.status.success()) {
        testkit::left_out("a network of one's own cannot be made here with unshare and ip");
        return;
    }
    let mut inner = Command::new("unshare");
    inner.args(["--user", "--map-root-user", "--mount", "--net"]).arg(own);
    let own_name = "web_tools::name_server::a_name_that_is_rebound_leads_nowhere";
    inner.args(["--exact", own_name, "--nocapture"]);
    let output = inner.env(INSIDE, "1").output().expect("unshare runs");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

/// Answers questions for addresses with the next of a list, and counts them.
struct NameServer {
    answers: Arc<Mutex<Vec<Ipv4Addr>>>,
}

impl NameServer {
    fn start(answers: &[Ipv4Addr]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:53").expect("the port of name servers");
        let answers = Arc::new(Mutex::new(answers.to_vec()));
        let left = Arc::clone(&answers);
        std::thread::spawn(move || {
            let mut packet = [0; 512];
            while let Ok((size, from)) = socket.recv_from(&mut packet) {
                let answer = answer_to(&packet[..size], &left);
                let _ = socket.send_to(&answer, from);
            }
        });
        Self { answers }
    }

    fn left(&self) -> usize {
        self.answers.lock().expect("no panic").len()
    }
}

/// The question is repeated; one for an IPv4 address has an answer that is forgotten at once.
fn answer_to(question: &[u8], answers: &Mutex<Vec<Ipv4Addr>>) -> Vec<u8> {
    let name_end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap_or(0) + 1;
    let end = (name_end + 4).min(question.len());
    let is_v4 = question.get(name_end..name_end + 2) == Some(&[0, 1]);
    let mut answers = answers.lock().expect("no panic");
    let address = (is_v4 && !answers.is_empty()).then(|| answers.remove(0));
    let mut packet = question[..2].to_vec();
    packet.extend([0x81, 0x80, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    packet.extend(&question[12..end]);
    if let Some(address) = address {
        packet.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        packet.extend(address.octets());
    }
    packet
}

/// Changes the network and the mounts that it is in.
fn inside() {
    let files =
        Fixture::new("//- /resolv.conf\nnameserver 127.0.0.1\n//- /nsswitch.conf\nhosts: dns\n");
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).status().expect(program);
        assert!(status.success(), "{program} {arguments:?}");
    };
    run("ip", &["link", "set", "lo", "up"]);
    for file in ["resolv.conf", "nsswitch.conf"] {
        let own = files.root().join(file);
        run("mount", &["--bind", own.to_str().expect("UTF-8"), &format!("/etc/{file}")]);
    }
    let pages = PageServer::at(&format!("127.0.0.1:{PORT}"));
    let names = NameServer::start(&[PUBLIC, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST]);
    let open = configured("[tools]\nnetwork = true\n");
    let url = json!({"url": "http://rebind.example/"});
    // The public address is judged and dialled; the second answer would have been this machine.
    let first = fetch(&open, &url, &["--yes"]).json();
    assert!(first["message"].as_str().expect("an error").contains(&PUBLIC.to_string()), "{first}");
    assert_eq!((names.left(), pages.heads().len()), (2, 0), "asked once, nothing reached");
    let second = fetch(&open, &url, &["--yes"]).json();
    assert_eq!(second["code"], "PERMISSION_DENIED", "{second}");
    assert_eq!((names.left(), pages.heads().len()), (1, 0));
    // The control: what the user allows is reached by the same name.
    let allowed = configured("[tools]\nnetwork = true\n[web]\nnetwork_allow = [\"127.0.0.1\"]\n");
    let third = fetch(&allowed, &url, &["--yes"]);
    assert_eq!((third.code, pages.heads().len()), (0, 1), "{}", third.stdout);
}
