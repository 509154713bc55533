//! Logs that cannot be written.

use rosless_tests::scenario::{
    PATIENCE, Report, Role, System,
    acts::{Capture, Launch, Mechanism, Range, Robot},
};

/// Both outputs on a device that has no space left.
const ON_A_FULL_DISK: &str = "exec \"$0\" \"$@\" >/dev/full 2>&1";
/// Both outputs in a pipe that is full and that nobody reads, as of a terminal that was stopped with Ctrl-S.
const INTO_A_FULL_PIPE: &str = "pipe=$(mktemp -u) && mkfifo $pipe && exec 3<>$pipe && rm $pipe && \
     head -c 65536 /dev/zero >&3 && exec \"$0\" \"$@\" >&3 2>&3";

fn everybody_works(scenario: &str, start: &str) {
    let mut report = Report::new(scenario);
    let mut system = System::new();
    system.set_wrapper(&["sh", "-c", start]);
    Role::ALL.into_iter().for_each(|role| system.launch(role));
    let observer = system.observer();
    observer.wait_for_nodes(&Role::ALL);
    let capture = Capture::listen(&observer);
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    report.took("systems started", capture.start());
    let range = Range::new(&observer);
    for launch in [Launch::EASY, Launch::PAST, Launch::EASY] {
        report.took("a throw and its verdict", range.throw(launch).took);
    }
    report.took("a square", Robot::new(&observer).square().took);
    report.took("a phase of the mechanism", Mechanism::new(&observer).phase(Mechanism::PREPARE));
    report.took("systems stopped", capture.stop());
    system.end();
}

#[test]
fn nobody_stops_working_because_the_disk_is_full() {
    everybody_works("no space left for logs", ON_A_FULL_DISK);
}

#[test]
fn nobody_stops_working_because_nobody_reads_the_logs() {
    everybody_works("logs that nobody reads", INTO_A_FULL_PIPE);
}
