//! One module per ROS package, made from its definitions in `idl/` by the build script.

/// Declares the modules and the walk over all of them in one go, so that none can be forgotten.
macro_rules! packages {
    ($(#[$about:meta] $package:ident)+) => {
        $(
            #[$about]
            #[allow(unused_qualifications, reason = "written by a program")]
            pub mod $package {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($package), ".rs"));
            }
        )+

        pub(crate) fn visit_packages(visitor: &mut impl crate::registry::Visitor) {
            $($package::visit(visitor);)+
        }
    };
}

packages! {
    /// What all action servers share.
    action_msgs
    /// Time and duration.
    builtin_interfaces
    /// Component containers.
    composition_interfaces
    /// Robot controllers, among them motion primitives.
    control_msgs
    /// START/STOP protocol, device dialect.
    device_control_msgs
    /// Health of components.
    diagnostic_msgs
    /// Small types for examples and tests.
    example_interfaces
    /// Points, poses, velocities, forces.
    geometry_msgs
    /// Motion primitives, first generation.
    industrial_robot_motion_interfaces
    /// Managed nodes.
    lifecycle_msgs
    /// Pedestal, doll and lantern.
    mecha_control
    /// START/STOP protocol, mocap4r2 dialect.
    mocap4r2_control_msgs
    /// Colours of displayed markers.
    mocap4r2_marker_viz_srvs
    /// Markers and rigid bodies of a capture system.
    mocap4r2_msgs
    /// Ground truth of a robot's pose.
    mocap4r2_robot_gt_msgs
    /// START/STOP protocol, mocap dialect.
    mocap_control_msgs
    /// Maps, paths and odometry.
    nav_msgs
    /// What the microcontroller's agent speaks.
    nucleo_agent
    /// Parameters, logs and loggers.
    rcl_interfaces
    /// Which node owns which DDS endpoint.
    rmw_dds_common
    /// The ball-catching arm's hand.
    robot3_18c1054
    /// What one asks of a recorder.
    rosbag2_interfaces
    /// Simulated time.
    rosgraph_msgs
    /// What our own programs say to each other.
    rosless_msgs
    /// Sensor readings.
    sensor_msgs
    /// Service introspection.
    service_msgs
    /// Statistics of topics.
    statistics_msgs
    /// Plain values.
    std_msgs
    /// Plain services.
    std_srvs
    /// Transforms between frames.
    tf2_msgs
    /// Joint trajectories.
    trajectory_msgs
    /// Descriptions of types.
    type_description_interfaces
    /// UUIDs.
    unique_identifier_msgs
    /// Shapes for display.
    visualization_msgs
}
