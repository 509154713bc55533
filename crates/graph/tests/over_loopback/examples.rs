//! The examples do what their first lines say.

use std::{io::Write as _, time::Duration};

use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    lifecycle_msgs::{
        msg::Transition,
        srv::{ChangeState, ChangeStateRequest},
    },
    std_msgs::msg,
};

use crate::{process::example, side::side};

const PATIENCE: Duration = Duration::from_secs(20);

fn run(domain: &DomainLease, name: &str, arguments: &[&str]) -> Daemon {
    let mut command = example(name);
    command.env("ROS_DOMAIN_ID", domain.id().to_string()).args(arguments);
    Daemon::spawn(command)
}

#[test]
fn a_goal_is_followed_to_its_end() {
    let domain = DomainLease::acquire();
    let _server = run(&domain, "fibonacci", &[]);
    let mut client = run(&domain, "fibonacci", &["5"]);
    assert_eq!(client.wait(PATIENCE).code(), Some(0), "{}", client.output());
    client.wait_for_line("so far: [0, 1", PATIENCE);
    client.wait_for_line("Succeeded: [0, 1, 1, 2, 3, 5]", PATIENCE);
}

#[test]
fn parameters_that_fit_are_taken_and_others_refused_with_the_reason() {
    let domain = DomainLease::acquire();
    let server = run(&domain, "parameters", &["--ros-args", "-p", "highest:=22.0"]);
    let taken = run(&domain, "parameters", &["21.5"]);
    taken.wait_for_line("set", PATIENCE);
    server.wait_for_line("wanted: 21.5, highest: 22.0", PATIENCE);
    let refused = run(&domain, "parameters", &["23.0"]);
    refused.wait_for_line("refused: 23 is above the highest that is allowed, 22", PATIENCE);
}

#[test]
fn a_managed_talker_speaks_when_it_is_activated() {
    let domain = DomainLease::acquire();
    let _talker = run(&domain, "lifecycle", &[]);
    let mut side = side(&domain, "manager", (Vec::new(), Vec::<String>::new()));
    let client = side.events.client::<ChangeState>(&side.node, "/managed_talker/change_state").unwrap();
    side.events
        .subscribe::<msg::String>(&side.node, "chatter", |(_, heard), sample| heard.push(sample.message.data))
        .unwrap();
    for (done, id) in
        [Transition::TRANSITION_CONFIGURE, Transition::TRANSITION_ACTIVATE].into_iter().enumerate()
    {
        assert!(side.seen.1.is_empty(), "it speaks before it is active");
        let request = ChangeStateRequest { transition: Transition { id, ..Default::default() } };
        client.call(&request, PATIENCE, |(answers, _), answer| answers.push(answer));
        let answered = side.events.run_until(&mut side.seen, PATIENCE, |(answers, _)| answers.len() > done);
        assert!(answered.unwrap() && side.seen.0[done].as_ref().is_ok_and(|answer| answer.success));
    }
    let heard = side.events.run_until(&mut side.seen, PATIENCE, |(_, heard)| !heard.is_empty());
    assert!(heard.unwrap(), "it is active and silent");
}

#[test]
fn a_watcher_sees_who_comes_and_goes_counts_bytes_and_passes_on_what_is_typed() {
    let domain = DomainLease::acquire();
    let mut command = example("watch");
    command.env("ROS_DOMAIN_ID", domain.id().to_string()).args(["/chatter", "std_msgs/msg/String"]);
    let (mut watcher, mut stdin) = Daemon::spawn_with_stdin(command);
    let talker = run(&domain, "talker", &[]);
    let dog = run(&domain, "engine", &[]);
    watcher.wait_for_line("/talker came", PATIENCE);
    watcher.wait_for_line("bytes from", PATIENCE);
    dog.wait_for_line("somebody speaks", PATIENCE);
    talker.signal("INT");
    watcher.wait_for_line("/talker left", PATIENCE);
    dog.wait_for_line("silence", PATIENCE);

    writeln!(stdin, "tea is ready").unwrap();
    let mut late = side(&domain, "late", Vec::<String>::new());
    let latched = rosless_graph::TopicQos::latched("announcement");
    late.events
        .subscribe::<msg::String>(&late.node, latched, |heard, sample| heard.push(sample.message.data))
        .unwrap();
    let heard = late.events.run_until(&mut late.seen, PATIENCE, |heard| !heard.is_empty());
    assert!(heard.unwrap(), "{}", watcher.output());
    assert_eq!(late.seen, ["tea is ready"]);
    drop(stdin);
    assert_eq!(watcher.wait(PATIENCE).code(), Some(0));
}
