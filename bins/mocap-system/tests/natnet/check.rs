//! "Connected but no data": what `--check` says to each reason.

use std::{net::UdpSocket, process::Output};

use rosless_natnet::{Message, Scene, Version};
use rosless_tests::DomainLease;

use crate::Server;

/// Exit code and what was printed.
fn check(domain: &DomainLease, server: &str) -> (Option<i32>, String) {
    let arguments = ["--kind", "natnet", "--check", "--server", server];
    let mut command = domain.command(env!("CARGO_BIN_EXE_mocap-system"), &arguments);
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (status.code(), text)
}

#[track_caller]
fn says(result: &(Option<i32>, String), code: i32, lines: &[&str]) {
    assert_eq!(result.0, Some(code), "{}", result.1);
    for line in lines {
        assert!(result.1.contains(line), "{line:?} is missing in\n{}", result.1);
    }
}

#[test]
fn a_server_that_streams_passes_unicast_and_multicast() {
    let domain = DomainLease::acquire();
    let server = Server::start(&domain, &["--skeleton", "--analog"]);
    let lines = [
        "route    ok",
        "server   ok     sim-natnet 0.1",
        "version  ok     NatNet 4.1",
        "model    ok     2 rigid bodies, 1 skeleton, 1 force plate, 1 device",
        "stream   ok     unicast",
        "clock    ok",
    ];
    says(&check(&domain, &server.address()), 0, &lines);
    let server = Server::start(&domain, &["--multicast", "239.255.42.98:15611", "--natnet", "3.1"]);
    says(
        &check(&domain, &server.address()),
        0,
        &["NatNet 3.1", "stream   ok     multicast to 239.255.42.98:15611"],
    );
}

#[test]
fn every_reason_for_silence_has_its_line_and_its_exit_code() {
    let domain = DomainLease::acquire();
    // Nobody listens there, and nobody is given it who asks for any port.
    says(&check(&domain, "127.0.0.1:1"), 3, &["server   FAILED", "refuses: the computer is there"]);
    // Somebody listens and says nothing, as behind a firewall.
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let deaf = deaf.local_addr().map(|address| (deaf, address)).expect("an address");
    says(&check(&domain, &deaf.1.to_string()), 3, &["server   FAILED", "no answer of 127.0.0.1"]);
    says(&check(&domain, "no-such-host.invalid"), 3, &["no address"]);

    let server = Server::start(&domain, &["--silent"]);
    says(&check(&domain, &server.address()), 1, &["server   ok", "stream   FAILED", "is streaming enabled"]);
    // Frames go to a group that is not the one we are told of: nothing arrives, and yet there are frames.
    let server = Server::start(&domain, &["--multicast", "239.255.42.97:15612", "--silent"]);
    says(
        &check(&domain, &server.address()),
        1,
        &["stream   FAILED", "the server has frames", "set Motive to unicast"],
    );
    let server = Server::start(&domain, &["--natnet", "2.9"]);
    says(
        &check(&domain, &server.address()),
        1,
        &["version  FAILED", "NatNet 2.9: only 3.x and 4.x can be read"],
    );
}

/// A server that says 4.1 and sends something else.
#[test]
fn packets_of_another_version_than_announced_are_told() {
    let domain = DomainLease::acquire();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let scene = Scene::default();
        let mut buffer = [0; 2000];
        loop {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            let answers = match Message::decode(&buffer[..length], Version::V4_1) {
                Ok(Message::Connect(_)) => {
                    vec![Message::ServerInfo(scene.info.clone()).encode(Version::V4_1)]
                }
                Ok(Message::EchoRequest { .. }) => {
                    vec![Message::Frame(Box::new(scene.frame(1))).encode(Version::V3_0)]
                }
                Ok(Message::Disconnect) => return,
                _ => Vec::new(),
            };
            for answer in answers {
                socket.send_to(&answer, from).expect("sent");
            }
        }
    });
    let found = check(&domain, &address.to_string());
    says(&found, 1, &["stream   FAILED", "cannot be read (the", "another version than the server says"]);
    server.join().expect("it ends when the client leaves");
}

#[test]
fn findings_are_json_for_programs() {
    let domain = DomainLease::acquire();
    let server = Server::start(&domain, &[]);
    let address = server.address();
    let arguments = ["--kind", "natnet", "--check", "--json", "--server", &address];
    let output = domain.command(env!("CARGO_BIN_EXE_mocap-system"), &arguments).output().expect("it runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    rosless_tests::assert_documented("mocap-system --check", &found);
    let checks: Vec<_> =
        found["checks"].as_array().expect("a list").iter().map(|one| one["check"].clone()).collect();
    assert_eq!(checks, ["route", "server", "version", "model", "stream", "clock"]);
    assert_eq!(found["success"], true, "{found}");
}
