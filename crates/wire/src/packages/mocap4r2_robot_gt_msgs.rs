//! `mocap4r2_robot_gt_msgs`: ground truth of a robot's pose.

/// Services.
pub mod srv {
    use crate::geometry_msgs::msg::Pose;
    use crate::macros::services;

    services! { "mocap4r2_robot_gt_msgs/srv/";
        /// Sets the origin of the ground truth: where the robot is now, or a given pose.
        service SetGTOrigin = "RIHS01_25c22e29d635acc32ccc35272826b95842d456fef6ba802fd30ea39ca20ee772" {
            request SetGTOriginRequest = "RIHS01_13206ab9c8a0f23ae044908d5dba8534d5fc1d358d7320e6a77d1984d654303e" {
                current_is_origin: bool,
                origin_pose: Pose,
            }
            response SetGTOriginResponse = "RIHS01_db043041f7a71dd2d4a3e56b46eabe6090e28667265ee20aa552e245b76fb0ad" {
                success: bool,
                error_msg: String,
            }
            event = "RIHS01_d7ba8a56e7b31edf76c871b003d12f5fe4102e70bcb03a8f4805ecd5577aa582"
        }
    }
}
