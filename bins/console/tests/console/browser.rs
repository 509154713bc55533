//! The pages in a real browser, against the real daemons.

use std::time::Duration;

use rosless_graph::{TopicQos, parameters::Descriptor};
use rosless_tests::{Browser, Daemon, Rig, Scratch, sibling_binary};
use rosless_wire::{
    rosless_msgs::msg::ControllerStatus,
    std_msgs::msg::{Float64, String as Text},
    std_srvs::srv::{SetBool, SetBoolResponse},
};

use crate::Console;

type Seen = Vec<(String, String, String)>;

fn program(name: &str) -> String {
    sibling_binary(env!("CARGO_BIN_EXE_rosless-console"), name).display().to_string()
}

/// Presses the one button.
const BUTTON: &str = "button.primary";
/// The rows of real systems.
const SYSTEMS: &str = "[...document.querySelectorAll('tr[data-system^=\"/\"]')]";

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
    rig.events.subscribe::<ControllerStatus>(&rig.node, "/mocap_controller/status".latched(), heard).unwrap();
    let takes = Scratch::make();
    let folder = takes.to_str().unwrap();
    let _recorder = Daemon::spawn(rig.domain.command(program("session-recorder"), &["--dir", folder]));
    let console = Console::start(&rig.domain, &["--takes", folder]);
    let url = format!("http://{}/capture", console.host);
    browser.go(&url);
    browser.until(&format!("{SYSTEMS}.length === 2"));
    // Somebody who is expected and not there keeps everybody from starting.
    browser.fill("[aria-label='Expected systems']", "cam, ghost");
    browser.until("document.body.innerText.includes('Expected and not there: ghost')");
    browser.click(BUTTON);
    browser
        .until("document.body.innerText.includes('start: ') && !document.body.innerText.includes('ACTIVE')");
    browser.fill("[aria-label='Expected systems']", "");
    // Nobody ticked: there is nothing to send.
    browser.click("[data-none=active]");
    browser.until("document.querySelector('button.primary').disabled");
    browser.click("[data-all=active]");
    // One topic is not written down; the tick is the recorder's own parameter.
    browser.click("[data-record='/rigid_bodies'] input");
    browser.until("document.querySelector('[data-system=\"/cam\"] td:nth-child(2) input').indeterminate");
    browser.click(BUTTON);
    browser.until(&format!("{SYSTEMS}.every((r) => r.innerText.includes('ACTIVE'))"));
    browser.until(
        "document.body.innerText.includes('recording') && / left on the disk/.test(document.body.innerText)",
    );
    browser.until("document.querySelector('[data-record=\"/markers\"]').innerText.includes(' Hz')");
    rig.until("both are active on the graph, in the same session", |seen| {
        seen.len() == 2 && seen.iter().all(|(_, status, session)| status == "ACTIVE" && *session == seen[0].2)
    });
    browser.go(&url);
    browser.until("document.querySelector('button.primary').textContent === 'Stop'");
    browser.size(390, 844);
    browser.until("document.documentElement.scrollWidth <= 390");
    browser.shot("console-phone");
    let Some(mut second) = Browser::start() else { return };
    second.go(&url);
    second.until(&format!("{SYSTEMS}.every((r) => r.innerText.includes('ACTIVE'))"));
    second.until("document.querySelector('[data-record=\"/rigid_bodies\"] input')?.checked === false");
    second.click("[data-system='/cam'] [data-key='clock:/cam']");
    second.shot("console-capture");
    // One of them alone, and then the rest.
    second.click("[data-system='/mill'] [data-key='stop:/mill']");
    second.until(&format!("{SYSTEMS}.some((r) => r.innerText.includes('READY'))"));
    second.click(BUTTON);
    for browser in [&mut browser, &mut second] {
        browser.until(&format!("{SYSTEMS}.every((r) => r.innerText.includes('READY'))"));
        browser.until("document.body.innerText.includes('stop: ')");
    }
    rig.until("nobody is active any more", |seen| seen.iter().all(|(_, status, _)| status == "READY"));
    // The take is listed with its manifest, and comes whole.
    second.until(
        "document.querySelector('[data-take] .num') && !document.querySelector('[data-take] .pill.good')",
    );
    second.eval("document.querySelector('[data-take]').open = true");
    second.until("document.querySelector('[data-take]').innerText.includes('/markers')");
    second.eval("document.querySelector('[data-take]').parentNode.parentNode.scrollIntoView()");
    second.shot("console-takes");
    assert_eq!(
        second.eval("document.querySelector('[data-take]').innerText.includes('/rigid_bodies')"),
        false
    );
    let size = second.eval("fetch(document.querySelector('[data-take] a').href).then((r) => r.arrayBuffer()).then((b) => b.byteLength)");
    assert!(size.as_u64().is_some_and(|size| size > 4096 && size % 512 == 0), "{size}");
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
    // Single actuators beside the controller: the arm is up, so the clamp opens; then the interlock keeps it up.
    let bench = |text: &str| {
        format!("document.querySelector('[data-bench] [role=status]')?.innerText.includes('{text}')")
    };
    browser.eval("document.querySelector('[data-bench]').open = true");
    browser.click("[data-move='cylinder 1 out']");
    browser.until(&bench("cylinder 1 out: arrived"));
    browser.size(1280, 1060);
    browser.shot("console-mechanism");
    browser.click("[data-move='cylinder 4 out']");
    browser.until(&bench("cylinder 4 out: "));
    browser.click("[data-move='lift down']");
    browser.until(&bench("lift down: "));
    browser.go(&format!("http://{}/dummy", console.host));
    browser.click("[data-switch=wall2] [data-to=pressed]");
    browser.until("document.querySelector('[data-switch=wall2] .num').textContent === 'pressed'");
    browser.until("document.querySelector('[data-scene]').textContent === 'Scene on'");
    browser.click("[data-scene]");
    browser.until("document.querySelector('[data-scene]').textContent === 'Scene off'");
    browser.fill("[aria-label='Potentiometer in degrees']", "45");
    browser.until("document.body.innerText.includes('Potentiometer: 45.0°')");
    browser.click("[data-pot=auto]");
    browser.until("!document.body.innerText.includes('Potentiometer: 45.0°')");
    browser.fill("[aria-label=Fault]", "stuck-tilt");
    browser.click("[data-break]");
    browser.until("document.querySelector('.bad.mono')?.textContent === 'stuck-tilt'");
    browser.shot("console-dummy");
    browser.click("[data-repair]");
    browser.until("document.body.innerText.includes('Nothing is broken.')");
}

#[test]
fn single_actuators_move_without_a_sequence_controller() {
    let Some(mut browser) = Browser::start() else { return };
    let rig = Rig::<()>::new();
    let _mechanism =
        Daemon::spawn(rig.domain.command(program("dummy-mechanism"), &["run", "--profile", "nucleo"]));
    let console = Console::start(&rig.domain, &[]);
    browser.go(&format!("http://{}/mechanism#debug", console.host));
    for (click, said) in [
        ("guide in", "guide in: arrived"),
        ("latch 1", "latch 1: arrived"),
        ("cylinder 3 in", "cylinder 3 in: "),
        ("lift down", "interlock: "),
    ] {
        browser.click(&format!("[data-move='{click}']"));
        browser.until(&format!(
            "document.querySelector('[data-bench] [role=status]')?.innerText.includes('{said}')"
        ));
    }
    browser.fill("[aria-label='Tilt in degrees']", "90");
    browser.click("[data-move=tilt]");
    browser.until("document.querySelector('[data-bench] [role=status]').innerText.includes('tilt: arrived')");
    browser.until("document.querySelector('[data-bench]').innerText.includes('no sequence controller')");
    browser.size(390, 844);
    browser.until("document.documentElement.scrollWidth <= 390");
    browser.until("document.body.innerText.includes('No mechanism-controller is on the graph')");
    browser.eval("document.querySelector('[data-bench]').scrollIntoView()");
    browser.shot("console-debug-phone");
}

#[derive(Debug, Default)]
struct Called {
    switched: Vec<bool>,
    heard: Vec<String>,
}

#[test]
fn anything_is_edited_called_published_plotted_and_examined() {
    let Some(mut browser) = Browser::start() else { return };
    let mut rig = Rig::<Called>::on(rosless_tests::DomainLease::acquire(), "machine");
    let speed = Descriptor::new("speed").description("How fast it goes.").double_range(0.0, 2.0, 0.0);
    rig.node.declare_parameter(speed, 1.0).unwrap();
    rig.events
        .serve::<SetBool>(&rig.node, "/switch", |seen, request, answer| {
            seen.switched.push(request.data);
            answer.reply(&SetBoolResponse { success: true, message: "it is on".to_owned() });
        })
        .unwrap();
    rig.events.subscribe::<Text>(&rig.node, "/words", |seen, s| seen.heard.push(s.message.data)).unwrap();
    let sine = rig.node.publisher::<Float64>("/sine").unwrap();
    let mut angle = 0.0_f64;
    rig.events.timer(Duration::from_millis(50), move |_| {
        angle += 0.1;
        sine.publish(&Float64 { data: angle.sin() });
    });
    let logger = rig.node.logger().to_owned();
    rig.events.timer(Duration::from_millis(500), move |_| {
        log::warn!(target: &logger, "too warm");
        log::info!(target: &logger, "all is quiet");
    });
    let _system =
        Daemon::spawn(rig.domain.command(program("mocap-system"), &["--kind", "dummy", "--name", "cam"]));
    let console = Console::start(&rig.domain, &[]);
    let host = console.host.clone();
    let driven = std::thread::spawn(move || {
        let open = |browser: &mut Browser, what: &str| {
            let hash = what.replace(':', "%3A").replace('/', "%2F");
            browser.go("about:blank");
            browser.go(&format!("http://{host}/graph#{hash}"));
        };
        open(&mut browser, "nodes:/machine");
        browser.until("document.body.innerText.includes('How fast it goes.') && document.body.innerText.includes('0 … 2')");
        browser.fill("[aria-label=speed]", "1.5");
        browser.until("document.querySelector('[aria-label=speed]').parentNode.innerText.includes('set')");
        browser.fill("[aria-label=speed]", "7");
        browser.until("document.querySelector('.notice.error')?.innerText.includes('speed')");
        browser.until("document.querySelector('[aria-label=speed]').value === '1.5'");
        browser.shot("console-graph-node");
        open(&mut browser, "nodes:/cam");
        browser.until("[...document.querySelectorAll('button')].some((b) => b.textContent === 'activate')");
        browser.eval(
            "[...document.querySelectorAll('button')].find((b) => b.textContent === 'activate').click()",
        );
        browser.until("[...document.querySelectorAll('button')].some((b) => b.textContent === 'deactivate')");
        open(&mut browser, "services:/switch");
        browser.until("document.querySelector('details')");
        browser.eval("document.querySelector('details').open = true");
        browser.click("details input[type=checkbox]");
        browser.click("details button.primary");
        browser.until("document.querySelector('details pre').innerText.includes('it is on')");
        open(&mut browser, "topics:/words");
        browser.until("document.querySelector('details')");
        browser.eval("document.querySelector('details').open = true");
        browser.fill("details label.field input", "from a form");
        browser.click("details button.primary");
        browser.until("/published; [12] listen/.test(document.querySelector('details pre').innerText)");
        open(&mut browser, "topics:/sine");
        browser.until("[...document.querySelectorAll('button.small')].some((b) => b.textContent === 'data')");
        browser.eval(
            "[...document.querySelectorAll('button.small')].find((b) => b.textContent === 'data').click()",
        );
        browser.until("document.querySelector('svg.plot path')?.getAttribute('d').length > 200");
        browser.shot("console-graph");
        open(&mut browser, "log:");
        browser.until("document.querySelector('.log').innerText.includes('too warm')");
        browser.fill("[aria-label='Filter the log']", "quiet");
        browser.until("document.querySelector('.log').innerText.includes('quiet') && !document.querySelector('.log').innerText.includes('too warm')");
        browser.fill("[aria-label='Filter the log']", "");
        browser.fill("[aria-label='Least level']", "30");
        browser.until("document.querySelector('.log').innerText.includes('too warm') && !document.querySelector('.log').innerText.includes('quiet')");
        open(&mut browser, "doctor:");
        browser.until(
            "['clock', 'participants', 'qos'].every((c) => document.querySelector(`[data-check=${c}]`))",
        );
        browser.shot("console-doctor");
        browser.size(390, 844);
        browser.until("document.documentElement.scrollWidth <= 390");
    });
    while !driven.is_finished() {
        rig.observe(Duration::from_millis(20));
    }
    driven.join().unwrap();
    assert_eq!(rig.seen.switched, [true]);
    assert_eq!(rig.seen.heard, ["from a form"]);
    assert_eq!(rig.node.parameter::<f64>("speed").unwrap(), 1.5);
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
