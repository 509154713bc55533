//! One module per ROS package; each type answers to its definition in `idl/`.

crate::macros::packages! {
    action_msgs { msg srv }
    builtin_interfaces { msg }
    composition_interfaces { srv }
    control_msgs { msg srv action }
    device_control_msgs { msg }
    diagnostic_msgs { msg srv }
    example_interfaces { msg srv action }
    geometry_msgs { msg }
    industrial_robot_motion_interfaces { msg action }
    lifecycle_msgs { msg srv }
    mecha_control { msg action }
    mocap4r2_control_msgs { msg }
    mocap4r2_marker_viz_srvs { srv }
    mocap4r2_msgs { msg }
    mocap4r2_robot_gt_msgs { srv }
    mocap_control_msgs { msg }
    nav_msgs { msg srv }
    nucleo_agent { msg }
    rcl_interfaces { msg srv }
    rmw_dds_common { msg }
    robot3_18c1054 { msg srv }
    rosbag2_interfaces { srv }
    rosgraph_msgs { msg }
    rosless_msgs { msg srv }
    sensor_msgs { msg srv }
    service_msgs { msg }
    statistics_msgs { msg }
    std_msgs { msg }
    std_srvs { srv }
    tf2_msgs { msg srv action }
    trajectory_msgs { msg }
    type_description_interfaces { msg srv }
    unique_identifier_msgs { msg }
    visualization_msgs { msg srv }
}
