//! The pages in a real browser, against the real daemons.

use rosless_graph::Qos;
use rosless_tests::{Browser, Daemon, Rig, sibling_binary};
use rosless_wire::rosless_msgs::msg::ControllerStatus;

use crate::Console;

type Seen = Vec<(String, String, String)>;

fn program(name: &str) -> String {
    sibling_binary(env!("CARGO_BIN_EXE_rosless-console"), name).display().to_string()
}

/// Presses the one button.
const BUTTON: &str = "button.primary";

#[test]
fn two_systems_are_started_by_clicking_and_a_reload_and_a_second_browser_see_the_same() {
    let Some(mut browser) = Browser::start() else { return };
    let mut rig = Rig::<Seen>::new();
    let _daemons = [
        Daemon::spawn(rig.domain.command(program("mocap-controller"), &["run"])),
        Daemon::spawn(rig.domain.command(program("mocap-system"), &["--kind", "dummy", "--name", "cam"])),
        Daemon::spawn(
            rig.domain.command(program("mocap-system"), &["--kind", "auxiliary", "--name", "mill"]),
        ),
    ];
    let heard = |seen: &mut Seen, s: rosless_graph::Sample<ControllerStatus>| {
        *seen = s.message.systems.into_iter().map(|s| (s.name, s.status, s.session)).collect();
    };
    rig.events
        .subscribe::<ControllerStatus>(&rig.node, "/mocap_controller/status", Qos::latched(), heard)
        .unwrap();
    let console = Console::start(&rig.domain, &[]);
    let url = format!("http://{}/capture", console.host);
    browser.go(&url);
    browser.until("document.querySelectorAll('tr[data-system]').length === 2");
    // Nobody ticked: there is nothing to send.
    browser.eval("[...document.querySelectorAll('button')].find((b) => b.textContent === 'None').click()");
    browser.until("document.querySelector('button.primary').disabled");
    browser.eval("[...document.querySelectorAll('button')].find((b) => b.textContent === 'All').click()");
    browser.click(BUTTON);
    browser.until(
        "[...document.querySelectorAll('tr[data-system]')].every((r) => r.innerText.includes('ACTIVE'))",
    );
    rig.until("both are active on the graph, in the same session", |seen| {
        seen.len() == 2 && seen.iter().all(|(_, status, session)| status == "ACTIVE" && *session == seen[0].2)
    });
    browser.go(&url);
    browser.until("document.querySelector('button.primary').textContent === 'Stop'");
    browser.size(390, 844);
    browser.until("document.documentElement.scrollWidth <= 390");
    let Some(mut second) = Browser::start() else { return };
    second.go(&url);
    second.until(
        "[...document.querySelectorAll('tr[data-system]')].every((r) => r.innerText.includes('ACTIVE'))",
    );
    second.click(BUTTON);
    for browser in [&mut browser, &mut second] {
        browser.until(
            "[...document.querySelectorAll('tr[data-system]')].every((r) => r.innerText.includes('READY'))",
        );
    }
    rig.until("nobody is active any more", |seen| seen.iter().all(|(_, status, _)| status == "READY"));
}

#[test]
fn the_mechanism_goes_through_its_cycle_by_keys_and_a_switch_is_pressed() {
    let Some(mut browser) = Browser::start() else { return };
    let rig = Rig::<()>::new();
    let _daemons = [
        Daemon::spawn(rig.domain.command(program("mechanism-controller"), &["run"])),
        Daemon::spawn(rig.domain.command(program("dummy-mechanism"), &["run", "--auto"])),
    ];
    let console = Console::start(&rig.domain, &[]);
    browser.go(&format!("http://{}/mechanism", console.host));
    let daiza = |phase: &str| format!("document.querySelector('[data-phase=daiza-{phase}]')");
    browser.until(&format!("{}?.disabled === false", daiza("deploy")));
    for (key, phase) in [("q", "deploy"), ("w", "collect"), ("e", "place"), ("r", "stow")] {
        if phase == "collect" {
            browser.until("document.body.innerText.includes('pedestal switch\\n\\npressed') || document.body.innerText.includes('pedestal switch\\npressed')");
        }
        browser.key(key);
        browser.until(&format!(
            "{}.classList.contains('on') && document.body.innerText.includes('last: {phase} done')",
            daiza(phase)
        ));
    }
    // STOP by keyboard reaches the controller and is told to everybody.
    browser.key("Escape");
    browser.until("document.querySelector('.notice.stop')?.innerText.includes('/daiza_cmd')");
    browser.go(&format!("http://{}/dummy", console.host));
    browser.click("[data-switch=wall2] [data-to=pressed]");
    browser.until("document.querySelector('[data-switch=wall2] .num').textContent === 'pressed'");
}

#[test]
fn the_graph_is_shown_and_comes_back_with_its_server() {
    let Some(mut browser) = Browser::start() else { return };
    let domain = rosless_tests::DomainLease::acquire();
    let console = Console::start(&domain, &[]);
    let port = console.host.rsplit(':').next().unwrap().to_owned();
    browser.go(&format!("http://{}/graph#topics%3A%2Frosout", console.host));
    let shown = "document.querySelector('h1')?.textContent === '/rosout' && document.querySelector('#link').textContent === 'live'";
    browser.until(shown);
    drop(console);
    browser.until("document.querySelector('#link').textContent === 'no connection'");
    let _again = Console::start(&domain, &["--port", &port]);
    browser.until(shown);
}
