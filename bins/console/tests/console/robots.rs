//! The pages Arm and Motion in a real browser, against the real daemons.

use rosless_graph::TopicQos;
use rosless_tests::{Browser, Daemon, Rig, SimUr, sibling_binary};
use rosless_wire::std_msgs::msg::{Float32MultiArray, String as Text};
use serde_json::{Value, json};

use crate::Console;

const CONSOLE: &str = env!("CARGO_BIN_EXE_rosless-console");

fn program(name: &str) -> String {
    sibling_binary(CONSOLE, name).display().to_string()
}

/// Writes this into every field with the label.
fn edit(browser: &mut Browser, label: &str, value: &str) {
    browser.eval(&format!(
        "document.querySelectorAll('[aria-label={label:?}]').forEach((e) => {{ e.value = {value:?}; e.dispatchEvent(new Event('input')); }})"
    ));
}

/// Sees what `~/queue` tells.
fn follow_queue(rig: &Rig<Value>) {
    let queue = |seen: &mut Value, s: rosless_graph::Sample<Text>| {
        *seen = serde_json::from_str(&s.message.data).unwrap();
    };
    rig.events.subscribe::<Text>(&rig.node, "/motion_primitive_controller/queue".latched(), queue).unwrap();
}

/// Clicks the button with these words, as soon as it may be clicked.
#[track_caller]
fn press(browser: &mut Browser, words: &str) {
    let button = format!(
        "[...document.querySelectorAll('main button')].find((b) => b.textContent === {words:?} && !b.disabled && !b.hidden)"
    );
    browser.until(&button);
    browser.eval(&format!("{button}.click()"));
}

/// How many points of the view have a colour, rather than a grey.
const COLOURED: &str = "(() => { const c = document.querySelector('canvas.view'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
    let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 90) n++; return n; })()";

#[derive(Debug, Default)]
struct Thrown {
    aim: Vec<f32>,
    verdicts: Vec<Value>,
}

#[test]
fn a_ball_is_thrown_by_key_and_its_verdict_is_there_after_a_reload_and_on_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let mut rig = Rig::<Thrown>::new();
    let _daemons = [
        Daemon::spawn(rig.domain.command(program("sim-arm"), &["run", "--strategy", "best"])),
        Daemon::spawn(rig.domain.command(program("shooter"), &["run"])),
    ];
    let aimed = |seen: &mut Thrown, s: rosless_graph::Sample<Float32MultiArray>| seen.aim = s.message.data;
    rig.events.subscribe::<Float32MultiArray>(&rig.node, "/shooter_state".latched(), aimed).unwrap();
    let judged = |seen: &mut Thrown, s: rosless_graph::Sample<Text>| {
        seen.verdicts.push(serde_json::from_str(&s.message.data).unwrap());
    };
    rig.events.subscribe::<Text>(&rig.node, "/catch_verdict", judged).unwrap();
    let console = Console::start(&rig.domain, &[]);
    let url = format!("http://{}/arm", console.host);
    browser.go(&url);
    browser.until("document.querySelector('#throw')?.disabled === false");
    browser.until(&format!("{COLOURED} > 500"));
    // Beyond its limits a slider does not go, and the launcher goes where the sliders are.
    browser.eval(
        "(() => { const s = document.querySelector('[data-aim=psi]'); s.value = 9; s.dispatchEvent(new Event('input')); })()",
    );
    rig.until("the launcher is at the end of its range", |seen| seen.aim.get(3) == Some(&1.55));
    press(&mut browser, "Towards the arm");
    rig.until("the launcher is turned towards the arm", |seen| seen.aim == [0.0, -1.0, 0.0, 0.9]);
    browser.key("t");
    rig.until("the throw is judged", |seen| !seen.verdicts.is_empty());
    let verdict = &rig.seen.verdicts[0];
    let word = match (verdict["caught"].as_bool(), verdict["attempted"].as_bool()) {
        (Some(true), _) => "caught",
        (Some(false), Some(true)) => "missed",
        (Some(false), _) => "not attempted",
        (None, _) => "no verdict",
    };
    let shown = format!(
        "document.querySelector('[data-verdict={word:?}]') && document.querySelectorAll('[data-throw]').length === 1 \
         && document.querySelector('[data-throw]').innerText.includes({word:?}) \
         && document.querySelector('[data-throw]').innerText.includes('4.00 m/s')"
    );
    browser.until(&shown);
    if let Some(reason) = verdict["reason"].as_str() {
        browser.until(&format!("document.querySelector('[data-throw]').innerText.includes({reason:?})"));
    }
    browser.go(&url);
    browser.until(&shown);
    browser.size(390, 844);
    browser.until("document.documentElement.scrollWidth <= 390");
    browser.until(&format!("{COLOURED} > 200"));
    // STOP by keyboard holds the arm, here too.
    browser.key("Escape");
    browser.until("document.querySelector('.notice.stop')?.innerText.includes('/ang_debug')");
}

#[test]
fn a_square_is_planned_run_seen_after_a_reload_and_stopped_by_key() {
    let Some(mut browser) = Browser::start() else { return };
    let mut rig = Rig::<Value>::new();
    // As `rosless up` starts it beside the other robot: with names of its own.
    let roster: Vec<Value> = serde_json::from_str(include_str!("../../../rosless/roster.json")).unwrap();
    let member = roster.iter().find(|member| member["run"] == "primitive-queue").unwrap();
    let arguments: Vec<_> = member["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
    let daemon = Daemon::spawn(rig.domain.command(program("primitive-queue"), &arguments));
    follow_queue(&rig);
    let console = Console::start(&rig.domain, &[]);
    let url = format!("http://{}/motion", console.host);
    browser.go(&url);
    browser.until("document.body.innerText.includes('m in ur_base')");
    press(&mut browser, "+ Square");
    browser.until("document.querySelectorAll('.move').length === 4");
    // What cannot be is told before anything moves.
    let corner = browser.eval("document.querySelector('[aria-label=\"Target of move 2\"]').value");
    edit(&mut browser, "Target of move 2", "9 9 9");
    press(&mut browser, "Plan");
    browser.until("document.querySelector('[data-move=\"1\"]').classList.contains('wrong') && document.querySelector('main .bad')");
    edit(&mut browser, "Target of move 2", corner.as_str().unwrap());
    // Slow enough to be looked at.
    edit(&mut browser, "m/s", "0.002");
    press(&mut browser, "Plan");
    browser.until("document.querySelector('[data-plan=feasible]')");
    press(&mut browser, "Run");
    let running = "document.querySelector('[data-status=running]')?.innerText.includes('LIN') && document.querySelectorAll('[data-status=waiting]').length === 3";
    browser.until(running);
    rig.until("the robot moves", |seen| seen["state"] == "EXECUTING");
    browser.until("parseFloat(document.querySelector('[data-status=running] i').style.width) > 0");
    // Reloaded in mid-motion: the same queue, the same program, and nobody operates.
    browser.go(&url);
    browser.until(running);
    browser.until("document.querySelectorAll('.move').length === 4 && document.body.innerText.includes('nobody operates')");
    press(&mut browser, "Pause");
    rig.until("it is held", |seen| seen["paused"] == true);
    press(&mut browser, "Resume");
    rig.until("it goes on", |seen| seen["paused"] == false && seen["state"] == "EXECUTING");
    // Somebody else cannot move it, and may stop it.
    let mut other = console.page();
    let reset = json!({"op": "publish", "topic": "/motion_primitive_controller/reference",
        "type": "industrial_robot_motion_interfaces/msg/MotionPrimitive", "value": {"type": 67}});
    let refused = other.ask(reset.clone()).unwrap_err();
    assert!(refused.contains("motion is operated by"), "{refused}");
    browser.key("Escape");
    rig.until("the robot is stopped", |seen| seen["state"] == "STOPPED" && seen["depth"] == 0);
    browser.until("document.body.innerText.includes('Locked: the robot is stopped') && document.querySelector('#run').disabled");
    browser.until("document.querySelectorAll('[data-status=discarded]').length > 0");
    press(&mut browser, "Reset");
    rig.until("it is ready again", |seen| seen["state"] == "IDLE" && seen["ready"] == true);
    // Refused with the reason, whoever asked: there is nothing to reset.
    other.ask(json!({"op": "operate", "systems": ["motion"], "take": true})).unwrap();
    let mut nonsense = reset;
    nonsense["value"] = json!({"type": 99});
    other.ask(nonsense).unwrap();
    browser.until("document.querySelector('.log .bad')?.innerText.includes('99') && document.body.innerText.includes('operated by')");
    // A question that is open does not come before STOP.
    press(&mut browser, "Pause");
    browser.until("document.querySelector('dialog[open]')");
    browser.key("Escape");
    rig.until("it is stopped with a question open", |seen| seen["state"] == "STOPPED");
    browser.until("!document.querySelector('dialog')");
    browser.size(390, 844);
    browser.until("document.documentElement.scrollWidth <= 390");
    // What is old looks old, and nothing can be asked of it.
    browser.until("!document.querySelector('.viewbox.old') && !document.querySelector('.timeline.stale')");
    drop(daemon);
    browser.until("document.querySelector('.viewbox.old') && document.querySelector('.timeline.stale') && document.querySelector('#run').disabled");
}

#[test]
fn the_motion_page_works_with_a_ur_robot_and_says_what_is_wrong_with_it() {
    let Some(mut browser) = Browser::start() else { return };
    let mut robot = SimUr::start(CONSOLE, &["--power-off"]);
    let mut rig = Rig::<Value>::new();
    let arguments = ["run", "--hardware", "ur", "--robot", "ur5e", "--address", &robot.address];
    let _daemon = Daemon::spawn(rig.domain.command(program("primitive-queue"), &arguments));
    follow_queue(&rig);
    rig.until("the robot is seen", |seen| seen["fault"]["text"].is_string());
    let console = Console::start(&rig.domain, &[]);
    browser.go(&format!("http://{}/motion", console.host));
    // Whoever opens the page after the fault was told learns of it as well.
    browser.until("document.querySelector('.locked')?.innerText.includes('not powered')");
    robot.say("power on");
    robot.say("brake release");
    rig.until("the robot takes moves", |seen| seen["ready"] == true);
    browser
        .until("document.body.innerText.includes(', ur5e') && document.body.innerText.includes('m in base')");
    press(&mut browser, "+ Square");
    edit(&mut browser, "m/s", "0.01");
    press(&mut browser, "Plan");
    browser.until("document.querySelector('[data-plan=feasible]')");
    press(&mut browser, "Run");
    rig.until("the robot moves", |seen| seen["state"] == "EXECUTING");
    browser.until("parseFloat(document.querySelector('[data-status=running] i').style.width) > 0");
    press(&mut browser, "Pause");
    rig.until("it is held", |seen| seen["paused"] == true);
    press(&mut browser, "Resume");
    rig.until("it goes on", |seen| seen["paused"] == false && seen["state"] == "EXECUTING");
    robot.say("protective stop");
    rig.until("it has a fault", |seen| seen["fault"]["kind"] == "protective_stop");
    browser.until("document.querySelector('.locked')?.innerText.includes('protective stop') && document.querySelector('#run').disabled");
    robot.say("unlock");
    press(&mut browser, "Reset");
    rig.until("it is ready again", |seen| seen["ready"] == true && seen["state"] == "IDLE");
    press(&mut browser, "Run");
    rig.until("it moves again", |seen| seen["state"] == "EXECUTING");
    browser.key("Escape");
    rig.until("it is stopped", |seen| seen["state"] == "STOPPED" && seen["depth"] == 0);
}
