//! START and STOP of the control protocol start and stop the take, or are not acknowledged.

use rosless_graph::TopicQos as _;
use rosless_tests::{DomainLease, Rig};
use rosless_wire::{
    diagnostic_msgs::msg::DiagnosticArray,
    lifecycle_msgs::{msg::Transition, srv},
    mocap_control_msgs::msg::Control,
};

use crate::{PATIENCE, Server, system};

#[derive(Debug, Default)]
struct Heard {
    acknowledged: Vec<i8>,
    streaming: bool,
}

fn rig(domain: &DomainLease) -> Rig<Heard> {
    let rig = Rig::<Heard>::on(domain.clone(), "boss");
    let acknowledge = |heard: &mut Heard, message: Control| {
        if matches!(message.control_type, Control::ACK_START | Control::ACK_STOP) {
            heard.acknowledged.push(message.control_type);
        }
    };
    let (events, node) = (&rig.events, &rig.node);
    events
        .subscribe::<Control>(node, "mocap_control".keep_last(100), move |heard, s| {
            acknowledge(heard, s.message)
        })
        .unwrap();
    let hear = |heard: &mut Heard, array: DiagnosticArray| {
        heard.streaming = array.status.iter().any(|status| status.message == "streaming");
    };
    events
        .subscribe::<DiagnosticArray>(node, "/diagnostics".keep_last(100), move |heard, s| {
            hear(heard, s.message)
        })
        .unwrap();
    rig
}

struct Take {
    rig: Rig<Heard>,
    server: Server,
    system: rosless_tests::Daemon,
    control: rosless_graph::Publisher<Control>,
}

impl Take {
    fn new(options: &[&str]) -> Self {
        let domain = DomainLease::acquire();
        let server = Server::start(&domain, options);
        let system = system(&domain, &server.address(), &["--ros-args", "-p", "control_take:=true"]);
        let mut rig = rig(&domain);
        let control = rig.node.publisher::<Control>("mocap_control".keep_last(100)).unwrap();
        let matched = control.clone();
        // The rig hears what it says, too.
        rig.until("the system listens, and frames come", |heard| heard.streaming && matched.matched() > 1);
        Self { rig, server, system, control }
    }

    fn tell(&self, control_type: i8) {
        let message = Control { control_type, capture_session_id: "walk 7".to_owned(), ..Control::default() };
        assert!(self.control.publish(&message));
    }
}

#[test]
fn start_and_stop_record_a_take_of_the_name_of_the_session() {
    let mut take = Take::new(&[]);
    take.tell(Control::START);
    take.rig.until("it is acknowledged", |heard| heard.acknowledged == [Control::ACK_START]);
    take.server.daemon.wait_for_line("records take \"walk 7\"", PATIENCE);
    take.tell(Control::STOP);
    take.rig
        .until("it is acknowledged", |heard| heard.acknowledged == [Control::ACK_START, Control::ACK_STOP]);
    take.server.daemon.wait_for_line("ends take \"walk 7\"", PATIENCE);
}

#[test]
fn a_refusal_or_silence_fails_the_activation_and_is_not_acknowledged() {
    let mut take = Take::new(&["--refuse", "StartRecording"]);
    take.tell(Control::START);
    take.system.wait_for_line("StartRecording: the server refuses it (code 1)", PATIENCE);
    take.system.wait_for_line("failed and is not acknowledged; the state is inactive", PATIENCE);
    assert!(take.rig.seen.acknowledged.is_empty());
    // A server that does not answer commands, while frames go on, is one of the engine's tests; here it is gone.
    let Take { rig, server, system, control } = &mut take;
    server.daemon.signal("STOP");
    control.publish(&Control {
        control_type: Control::START,
        capture_session_id: "walk 8".to_owned(),
        ..Control::default()
    });
    let failed = |line: &str| line.contains("failed and is not acknowledged").then_some(());
    rig.until("that fails, too", |_| system.filter_map(failed).len() == 2);
    assert!(rig.seen.acknowledged.is_empty());
}

#[test]
fn a_system_that_leaves_ends_its_take() {
    let mut take = Take::new(&[]);
    take.tell(Control::START);
    take.rig.until("it is acknowledged", |heard| heard.acknowledged == [Control::ACK_START]);
    take.system.signal("INT");
    take.server.daemon.wait_for_line("ends take \"walk 7\"", PATIENCE);
}

#[test]
fn whoever_asks_the_lifecycle_directly_waits_for_the_take_too() {
    for (options, succeeds) in [(&[][..], true), (&["--refuse", "SetRecordTakeName"], false)] {
        let mut take = Take::new(options);
        let transition = Transition { id: 3, label: String::new() };
        let request = srv::ChangeStateRequest { transition };
        let answer = take.rig.call::<srv::ChangeState>("/optitrack/change_state", &request);
        assert_eq!(answer.success, succeeds, "{}", take.system.output());
        if succeeds {
            // No session has a name then.
            take.server.daemon.wait_for_line("records take \"take_", PATIENCE);
        } else {
            take.system.wait_for_line("SetRecordTakeName,take_", PATIENCE);
        }
    }
}
