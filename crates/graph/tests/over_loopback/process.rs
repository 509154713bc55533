//! Whole processes: signals, exit codes, bad settings.

use std::{
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::side::side;
use rosless_graph::{
    CRASHED, Sample,
    supervision::{Ear, Word},
};
use rosless_tests::{Daemon, DomainLease, Rig, Usage, eventually};
use rosless_wire::std_msgs::msg;

/// Cargo builds examples before it runs tests, beside the directory of this test's own executable.
pub(crate) fn example(name: &str) -> Command {
    let mut path = PathBuf::from(std::env::current_exe().unwrap().parent().unwrap().parent().unwrap());
    path.extend(["examples", name]);
    let mut command = Command::new(path);
    command
        .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        .env_remove("ROS_DISTRO")
        .env_remove("ROS_STATIC_PEERS");
    command
}

fn talker(domain: &DomainLease, arguments: &[&str]) -> Daemon {
    let mut talker = example("talker");
    talker.env("ROS_DOMAIN_ID", domain.id().to_string()).args(arguments);
    Daemon::spawn(talker)
}

/// A talker whose shell has set `limits` before it became one.
fn limited(domain: &DomainLease, limits: &str) -> Daemon {
    let talker = example("talker");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\"")]).arg(talker.get_program());
    shell.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env("ROS_DOMAIN_ID", domain.id().to_string());
    Daemon::spawn(shell)
}

/// Remembers every text on `topic`.
fn listener(domain: &DomainLease, topic: &str) -> Rig<Vec<String>> {
    let listener = side(domain, "listener", Vec::new());
    let hear = |heard: &mut Vec<String>, sample: Sample<msg::String>| heard.push(sample.message.data);
    listener.events.subscribe(&listener.node, topic, hear).unwrap();
    listener
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_talker_is_heard_until_it_is_interrupted_and_then_vanishes() {
    let domain = DomainLease::acquire();
    let mut talker =
        talker(&domain, &["--ros-args", "-r", "__node:=parrot", "-r", "chatter:=news", "-r", "__ns:=/zoo"]);
    let mut listener = listener(&domain, "/zoo/news");
    let context = listener.node.context().clone();
    let heard = listener.events.run_until(&mut listener.seen, PATIENCE, |heard| heard.len() >= 2);
    assert!(heard.unwrap(), "nothing heard; the talker said:\n{}", talker.output());
    assert!(context.graph().has_node("/zoo/parrot"));
    talker.wait_for_line("[INFO]", PATIENCE);
    talker.signal("INT");
    let gone = listener
        .events
        .run_until(&mut listener.seen, Duration::from_secs(5), |_| !context.graph().has_node("/zoo/parrot"));
    assert!(gone.unwrap(), "the node is still there");
    assert_eq!(talker.wait(PATIENCE).code(), Some(0));
    assert!(!talker.output().contains("rustdds"), "noise of the DDS stack:\n{}", talker.output());
}

#[test]
fn a_closed_terminal_is_a_reason_to_say_goodbye() {
    let domain = DomainLease::acquire();
    let mut talker = talker(&domain, &[]);
    let mut listener = listener(&domain, "/chatter");
    let context = listener.node.context().clone();
    let heard = listener.events.run_until(&mut listener.seen, PATIENCE, |heard| !heard.is_empty());
    assert!(heard.unwrap(), "nothing heard; the talker said:\n{}", talker.output());
    talker.signal("HUP");
    assert_eq!(talker.wait(PATIENCE).code(), Some(0), "{}", talker.output());
    // Sooner than its lease of 10 s would tell.
    let gone = listener.events.run_until(&mut listener.seen, Duration::from_secs(5), |_| {
        context.graph().publishers("/chatter").is_empty()
    });
    assert!(gone.unwrap(), "the talker's writer is still there");
}

#[test]
fn a_stopped_and_continued_process_goes_on() {
    let domain = DomainLease::acquire();
    let talker = talker(&domain, &[]);
    let mut listener = listener(&domain, "/chatter");
    assert!(listener.events.run_until(&mut listener.seen, PATIENCE, |heard| !heard.is_empty()).unwrap());
    talker.signal("STOP");
    listener.events.run_for(&mut listener.seen, Duration::from_millis(300)).unwrap();
    let before = listener.seen.len();
    talker.signal("CONT");
    let more = listener.events.run_until(&mut listener.seen, PATIENCE, |heard| heard.len() >= before + 2);
    assert!(more.unwrap(), "silent after SIGCONT");
}

#[test]
fn a_process_that_was_stopped_for_longer_than_its_lease_is_heard_again() {
    let domain = DomainLease::acquire();
    let talker = talker(&domain, &[]);
    let mut listener = listener(&domain, "/chatter");
    let context = listener.node.context().clone();
    assert!(listener.events.run_until(&mut listener.seen, PATIENCE, |heard| !heard.is_empty()).unwrap());
    talker.signal("STOP");
    let lost = listener.events.run_until(&mut listener.seen, Duration::from_secs(40), |_| {
        context.graph().publishers("/chatter").is_empty()
    });
    assert!(lost.unwrap(), "a silent participant stays for ever");
    let before = listener.seen.len();
    talker.signal("CONT");
    let more = listener.events.run_until(&mut listener.seen, PATIENCE, |heard| heard.len() >= before + 2);
    assert!(more.unwrap(), "not heard after it came back");
    let known =
        listener.events.run_until(&mut listener.seen, PATIENCE, |_| context.graph().has_node("/talker"));
    assert!(known.unwrap(), "its node has no name after it came back");
}

#[test]
fn unusable_settings_are_one_line_and_exit_code_2() {
    for (variable, value) in [("ROS_DOMAIN_ID", "many"), ("ROS_AUTOMATIC_DISCOVERY_RANGE", "MOON")] {
        let mut talker = example("talker");
        talker.env(variable, value);
        let mut talker = Daemon::spawn(talker);
        assert_eq!(talker.wait(PATIENCE).code(), Some(2));
        let line = talker.wait_for_line(variable, PATIENCE);
        assert!(line.contains(value), "{line}");
        assert_eq!(talker.output().lines().count(), 1, "{}", talker.output());
    }
}

/// Before: 14 times a second, because each of its writers had timers of its own.
#[test]
fn an_idle_node_hardly_wakes_up() {
    let domain = DomainLease::acquire();
    let mut listener = example("listener");
    listener.env("ROS_DOMAIN_ID", domain.id().to_string());
    let listener = Daemon::spawn(listener);
    let turns = || -> u64 {
        let usage = Usage::of(listener.pid()).expect("it runs");
        usage.threads.iter().map(|thread| thread.turns).sum()
    };
    // Announcements are more frequent in the beginning.
    let watched = Duration::from_secs(3);
    eventually("it settles", PATIENCE, || {
        let (before, begin) = (turns(), Instant::now());
        std::thread::sleep(watched);
        let rate = (turns() - before) as f64 / begin.elapsed().as_secs_f64();
        rate < 8.0
    });
}

#[test]
fn a_second_signal_ends_a_process_that_cannot_leave() {
    let domain = DomainLease::acquire();
    let code = || {
        let mut talker = talker(&domain, &[]);
        talker.wait_for_line("[INFO]", PATIENCE);
        // Frozen, it cannot leave in order between the two.
        for signal in ["STOP", "INT", "TERM", "CONT"] {
            talker.signal(signal);
        }
        talker.wait(PATIENCE).code()
    };
    // Which of the two counts as the second is up to the kernel, and so is whether another thread takes it only when
    // the loop has left in order.
    let codes: Vec<_> = (0..5).map(|_| code()).collect();
    assert!(codes.iter().any(|code| matches!(code, Some(130 | 143))), "{codes:?}");
}

#[test]
fn a_hang_up_is_no_signal_to_hurry() {
    let domain = DomainLease::acquire();
    let mut talker = talker(&domain, &[]);
    talker.wait_for_line("[INFO]", PATIENCE);
    // Frozen, it gets both at once, as from a terminal and its shell that go together.
    for signal in ["STOP", "HUP", "TERM", "CONT"] {
        talker.signal(signal);
    }
    assert!(talker.wait(PATIENCE).success(), "it leaves in order: {}", talker.output());
}

#[test]
fn a_panic_in_any_thread_ends_the_process_with_a_code_of_its_own() {
    for thread in ["receiving", "discovery", "own"] {
        let domain = DomainLease::acquire();
        let mut talker = example("talker");
        talker
            .env("ROS_DOMAIN_ID", domain.id().to_string())
            .env("ROSLESS_TEST_FAULT", format!("panic-{thread}"));
        let mut talker = Daemon::spawn(talker);
        assert_eq!(talker.wait(PATIENCE).code(), Some(CRASHED.into()), "{thread}: {}", talker.output());
        talker.wait_for_line("[FATAL]", PATIENCE);
    }
}

/// A talker that reports to `ear`.
fn supervised(domain: &DomainLease, ear: &Ear, fault: Option<&str>) -> Daemon {
    let mut talker = example("talker");
    talker.env("ROS_DOMAIN_ID", domain.id().to_string()).envs(ear.environment());
    talker.envs(fault.map(|fault| ("ROSLESS_TEST_FAULT", fault)));
    Daemon::spawn(talker)
}

fn ear() -> Ear {
    Ear::new(Duration::from_millis(400)).unwrap()
}

#[test]
fn a_supervisor_hears_of_the_start_the_life_and_the_end() {
    let domain = DomainLease::acquire();
    let ear = ear();
    let mut talker = supervised(&domain, &ear, None);
    let mut heard = Vec::new();
    eventually("signs of life", PATIENCE, || {
        // Repairs may be told of at any time.
        heard.extend(ear.listen().into_iter().filter(|word| !matches!(word, Word::Counted(_))));
        heard.len() >= 4
    });
    assert_eq!(heard[..4], [Word::Ready, Word::Alive, Word::Alive, Word::Alive], "{heard:?}");
    talker.signal("INT");
    assert!(talker.wait(PATIENCE).success());
    assert_eq!(ear.listen().last(), Some(&Word::Stopping));
}

#[test]
fn other_users_cannot_speak_in_the_childs_name() {
    let ear = ear();
    let [(_, socket), _] = ear.environment();
    let send = |user: Option<u32>| {
        let script = r#"use Socket; socket(my $ear, AF_UNIX, SOCK_DGRAM, 0) or die; my $name = $ENV{NOTIFY_SOCKET};
            $name =~ s/^@/\0/; send($ear, "READY=1", 0, pack_sockaddr_un($name)) or exit 3"#;
        let mut perl = Command::new("/usr/bin/perl");
        perl.args(["-e", script]).envs(ear.environment());
        if let Some(user) = user {
            perl.uid(user).gid(user);
        }
        perl.status().unwrap().code()
    };
    assert_eq!(send(None), Some(0));
    assert_eq!(ear.listen(), [Word::Ready]);
    // Only root can be somebody else.
    if rustix::process::geteuid().is_root() {
        assert_eq!(send(Some(65534)), Some(3));
    }
    let mode = std::fs::metadata(Path::new(&socket).parent().unwrap()).unwrap().permissions().mode();
    assert_eq!((ear.listen(), mode & 0o777), (vec![], 0o700));
}

#[test]
fn a_process_whose_dds_hangs_is_no_longer_called_alive() {
    let domain = DomainLease::acquire();
    let ear = ear();
    let talker = supervised(&domain, &ear, Some("hang-discovery"));
    talker.wait_for_line("has hung", Duration::from_secs(60));
    // What was said until then.
    assert!(ear.listen().contains(&Word::Alive));
    let silent_until = Instant::now() + Duration::from_secs(2);
    eventually("time passes", PATIENCE, || Instant::now() > silent_until);
    assert!(!ear.listen().contains(&Word::Alive));
}

#[test]
fn a_node_with_too_few_descriptors_is_whole_or_refuses_to_start() {
    let domain = DomainLease::acquire();
    let whole = talker(&domain, &[]);
    whole.wait_for_line("Publishing", PATIENCE);
    let needed = Usage::of(whole.pid()).unwrap().descriptors;
    drop(whole);
    assert!(needed <= 45, "a node with its services takes {needed} descriptors");
    for limit in (8..needed + 6).step_by(3) {
        let mut talker = limited(&domain, &format!("ulimit -n {limit}"));
        eventually("it ends or speaks", PATIENCE, || {
            talker.try_wait().is_some() || talker.output().contains("Publishing")
        });
        match talker.try_wait() {
            None => assert!(limit + 2 >= needed, "{limit} descriptors are not enough for {needed}"),
            Some(status) => {
                assert_eq!(status.code(), Some(1), "{limit}: {}", talker.output());
                assert!(
                    limit < needed + 4,
                    "{limit} descriptors are enough for {needed}: {}",
                    talker.output()
                );
                talker.wait_for_line("Too many open files", PATIENCE);
            }
        }
    }
}

#[test]
fn a_node_with_too_little_memory_says_so() {
    let domain = DomainLease::acquire();
    let mut talker = limited(&domain, "ulimit -v 16384");
    assert_eq!(talker.wait(PATIENCE).code(), Some(1), "{}", talker.output());
    talker.wait_for_line("address space", PATIENCE);
}
