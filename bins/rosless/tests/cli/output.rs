//! Readers that leave and disks that are full.

use std::{
    io,
    process::{Command, Stdio},
};

use crate::world::World;

#[test]
fn what_cannot_be_written_is_an_error() {
    let world = World::new();
    for arguments in [&["topic", "list"][..], &["topic", "echo", "/chatter"], &["completions", "bash"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let run = world.command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to stdout: No space left on device"), "{said}");
    }
}

/// A pipe nobody reads.
fn deserted() -> Stdio {
    let (_, writer) = io::pipe().unwrap();
    writer.into()
}

fn code(command: &mut Command) -> Option<i32> {
    command.status().unwrap().code()
}

#[test]
fn a_reader_that_left_is_no_reason_to_fail() {
    let world = World::new();
    for arguments in [&["topic", "list"][..], &["completions", "bash"], &["man"], &["interface", "list"]] {
        assert_eq!(code(world.command(arguments).stdout(deserted())), Some(0), "{arguments:?}");
    }
    // All of these have something to say on standard error before they end.
    let message = ["std_msgs/msg/String", "{data: hi}"];
    let publish = [&["topic", "pub", "-1", "/nobody", "--max-wait-time-secs", "0.2"], &message[..]].concat();
    assert_eq!(code(world.command(&publish).stderr(deserted())), Some(3));
    let echo = ["topic", "echo", "/nobody", "std_msgs/msg/String", "--timeout", "0.2"];
    assert_eq!(code(world.command(&echo).stderr(deserted())), Some(1));
    let call = ["service", "call", "/nobody", "std_srvs/srv/Trigger", "--timeout", "0.2"];
    assert_eq!(code(world.command(&call).stderr(deserted())), Some(3));
}
