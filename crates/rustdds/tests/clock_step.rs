//! The wall clock is set back by an hour while a participant runs.
#![cfg(target_os = "linux")]

mod common;

use std::{path::Path, process::Command};

use common::{best_effort, exchange, local, peer_command, reader, reliable, writer, SOON};
use rosless_tests::{Daemon, DomainLease};

/// Stock: neither best-effort samples nor new participants are noticed until the clock has caught up.
#[test]
fn clock_set_back_is_survived() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = scratch.join("clock_step.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/clock_step.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "cc, which cargo links with, builds {}",
        source.display()
    );
    let step = scratch.join(format!("clock_step.{}", std::process::id()));

    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let down = writer(&participant, "down", &reliable(10));
    let up = reader(&participant, "up", &reliable(10));
    let mut command = peer_command("echo-best-effort", lease.id());
    command.env("LD_PRELOAD", &library).env("CLOCK_STEP", &step);
    let echo = Daemon::spawn(command);
    echo.wait_for_line("ready", SOON);
    exchange("echo before", &down, &up);

    std::fs::write(&step, "").expect("file");
    exchange("best-effort reader hears after the step", &down, &up);
    let newcomer = local(lease.id()).build().expect("participant");
    let down = writer(&newcomer, "down", &best_effort());
    let up = reader(&newcomer, "up", &reliable(10));
    exchange("newcomer is noticed after the step", &down, &up);
    std::fs::remove_file(&step).expect("file was there");
}
