//! The control cycle allocates nothing while it only moves the robot.

use std::time::Duration;

use rosless_kinematics::{Joints, builtin};
use rosless_motion::{MotionLimits, Planner, QueueController, QueueSettings, RawPrimitive, SimulatedRobot};

#[test]
fn cycles_that_only_move_do_not_allocate() {
    let planner = Planner::new(builtin::robot("ur5e").expect("built in"), MotionLimits::default());
    let home = planner.robot.home;
    let robot = SimulatedRobot::new(planner, home);
    let mut controller = QueueController::new(QueueSettings::default(), robot).expect("queue has room");
    controller.activate(Duration::ZERO).expect("a simulated robot is always ready");
    let (mut now, mut sent, mut quiet) = (Duration::ZERO, 0, 0);
    while sent < 50 {
        now += Duration::from_millis(2);
        while controller.queue_depth() < 4 {
            sent += 1;
            let by = if sent % 2 == 0 { 0.2 } else { -0.2 };
            let raw = RawPrimitive {
                blend_radius: 0.01,
                arguments: vec![("velocity".into(), 2.0), ("acceleration".into(), 12.0)],
                joint_positions: (home + Joints::repeat(by)).as_slice().to_vec(),
                ..RawPrimitive::default()
            };
            controller.reference(&raw, 1, now);
            while controller.poll_output().is_some() {}
        }
        let commands = controller.commands();
        let counted = allocation_counter::measure(|| {
            controller.update(now);
            std::hint::black_box(controller.hardware().state_at(now));
        });
        let told = std::iter::from_fn(|| controller.poll_output()).count();
        // Planning a primitive and telling of it may allocate: once per primitive, not per cycle.
        if told == 0 && controller.commands() == commands {
            quiet += 1;
            assert_eq!(counted.count_total, 0, "in cycle at {now:?}");
        }
    }
    assert!(quiet > 1000, "only {quiet} cycles were quiet");
}
