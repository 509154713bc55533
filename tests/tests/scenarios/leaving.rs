//! Who is asked to leave says goodbye: nobody takes it for alive until its lease ends.

use std::time::Duration;

use rosless_tests::scenario::{Report, Role, System};

/// Well below the lease of 10 s, after which even those are forgotten who left without a word.
const AT_ONCE: Duration = Duration::from_secs(6);

#[test]
fn every_daemon_vanishes_at_once_when_asked_to_leave() {
    let mut report = Report::new("daemons are asked to leave");
    let system = System::start();
    let observer = system.observer();
    observer.wait_for_nodes(&Role::ALL);
    for role in Role::ALL {
        system.daemon(role).signal("INT");
        let what = format!("{role:?} is gone");
        report.took(&what, observer.wait(&what, AT_ONCE, || !observer.sees(role)));
    }
}
