//! `trajectory_msgs`: joint trajectories.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Duration;
    use crate::geometry_msgs::msg::{Transform, Twist};
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "trajectory_msgs/msg/";
        /// Waypoints for named joints.
        struct JointTrajectory = "RIHS01_179b33eba59d676f6d967ac71fe35e7ca2f64b2f3928f4a018cec115e213796e" {
            header: Header,
            joint_names: Vec<String>,
            points: Vec<JointTrajectoryPoint>,
        }

        /// One waypoint, in the order of the trajectory's joint names.
        struct JointTrajectoryPoint = "RIHS01_de8907036d8bd45aac6f30cc9044a3d4a329c42cbf719aff7d95a584cfa532d7" {
            positions: Vec<f64>,
            velocities: Vec<f64>,
            accelerations: Vec<f64>,
            effort: Vec<f64>,
            time_from_start: Duration,
        }

        /// Waypoints for joints with several degrees of freedom.
        struct MultiDOFJointTrajectory = "RIHS01_3a18fd095292a65cfde8833c72985a30af981f3ec44494655c6267262b443a4a" {
            header: Header,
            joint_names: Vec<String>,
            points: Vec<MultiDOFJointTrajectoryPoint>,
        }

        /// One waypoint of joints with several degrees of freedom.
        struct MultiDOFJointTrajectoryPoint = "RIHS01_6ada1085b5ee64eaa069b074968e69f0e27c8c5e6f5bb0586dd1c834ef0e32b8" {
            transforms: Vec<Transform>,
            velocities: Vec<Twist>,
            accelerations: Vec<Twist>,
            time_from_start: Duration,
        }
    }
}
