//! Security that is asked for is there, or nothing is.

use crate::world::World;

#[test]
#[cfg(not(feature = "security"))]
fn a_program_without_security_does_not_join_where_it_is_asked_for() {
    let world = World::new();
    for strategy in ["Enforce", "Permissive"] {
        let variables = [("ROS_SECURITY_ENABLE", "true"), ("ROS_SECURITY_STRATEGY", strategy)];
        let run = world.command(&["node", "list"]).envs(variables).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(
            said.contains("built without DDS Security") && said.contains("--features security"),
            "{said}"
        );
    }
    // What needs no graph needs no security.
    let run = world.command(&["interface", "list"]).env("ROS_SECURITY_ENABLE", "true").output().unwrap();
    assert_eq!(run.status.code(), Some(0));
    world.expect_failures(
        2,
        &[(&["security", "create_keystore", "/tmp/never"], "built without DDS Security")],
    );
}

#[test]
fn a_word_that_would_leave_a_node_open_is_refused() {
    let run = World::new().command(&["node", "list"]).env("ROS_SECURITY_ENABLE", "1").output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("ROS_SECURITY_ENABLE='1' is not usable: expected true or false"), "{said}");
}
