//! Who may come in.

use rosless_tests::DomainLease;
use serde_json::json;

use crate::Console;

#[test]
fn only_this_machines_pages_are_served() {
    let console = Console::start(&DomainLease::acquire(), &[]);
    for page in ["/", "/graph", "/capture", "/arm", "/motion"] {
        let (status, text) = console.ask(page, "");
        assert!(
            status == 200 && text.contains("default-src 'self'") && text.contains("<title>"),
            "{page}: {text}"
        );
    }
    assert_eq!(console.ask("/app.js", "").0, 200);
    assert_eq!(console.ask("/nothing", "").0, 404);
    assert_eq!(console.ask("/../Cargo.toml", "").0, 400);
    assert_eq!(console.ask("/", "Host: evil.example\r\n").0, 403);
    assert_eq!(console.ask("/app.js", "Origin: http://evil.example\r\n").0, 403);
    assert!(console.try_page("", Some("http://evil.example")).is_err());
    assert!(console.try_page("", Some(&format!("http://{}", console.host))).is_ok());
}

#[test]
fn beyond_this_machine_a_token_is_needed_and_another_one_to_command() {
    let console = Console::start(&DomainLease::acquire(), &["--listen", "0.0.0.0"]);
    let token = |what: &str| {
        let line = console.daemon.wait_for_line(what, crate::PATIENCE);
        line.split("token=").nth(1).expect("a token").trim().to_owned()
    };
    let (operator, viewer) = (token("to operate"), token("to look"));
    assert_ne!(operator, viewer);
    assert_eq!(console.ask("/", "").0, 401);
    assert!(
        console.try_page("", None).is_err() && console.try_page("?token=0123456789abcdef", None).is_err()
    );
    let (status, text) = console.ask(&format!("/graph?token={viewer}"), "");
    assert!(status == 303 && text.contains("Location: /graph\r\n") && text.contains("HttpOnly"), "{text}");
    assert_eq!(console.ask("/graph", &format!("Cookie: rosless_token={viewer}\r\n")).0, 200);
    let command =
        json!({"op": "publish", "topic": "/x", "type": "std_msgs/msg/String", "value": {"data": "x"}});
    let mut looks = console.try_page(&format!("?token={viewer}"), None).unwrap();
    assert!(looks.ask(command.clone()).unwrap_err().contains("only looking"));
    assert!(looks.ask(json!({"op": "stop"})).is_ok(), "STOP is for everybody");
    let mut operates = console.try_page(&format!("?token={operator}"), None).unwrap();
    assert!(operates.ask(command).is_ok());
}
