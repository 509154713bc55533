//! `control_msgs`: robot controllers, among them motion primitives.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Duration;
    use crate::geometry_msgs::msg::{PoseStamped, Quaternion, TransformStamped, Twist, TwistStamped, WrenchStamped};
    use crate::sensor_msgs::msg::{BatteryState, JointState};
    use crate::std_msgs::msg::{Float64MultiArray, Header, Int8MultiArray};
    use crate::trajectory_msgs::msg::{JointTrajectoryPoint, MultiDOFJointTrajectoryPoint};
    use crate::macros::messages;

    messages! { "control_msgs/msg/";
        /// What an admittance controller computes with and what it computed.
        struct AdmittanceControllerState = "RIHS01_8a23c54184ba101c9a733a0a882001edae478c8c3ea37132f9aae1d82fad0b73" {
            mass: Float64MultiArray,
            damping: Float64MultiArray,
            stiffness: Float64MultiArray,
            rot_base_control: Quaternion,
            ref_trans_base_ft: TransformStamped,
            selected_axes: Int8MultiArray,
            ft_sensor_frame: crate::std_msgs::msg::String,
            admittance_position: TransformStamped,
            admittance_acceleration: TwistStamped,
            admittance_velocity: TwistStamped,
            wrench_base: WrenchStamped,
            joint_state: JointState,
        }

        /// State of several batteries.
        struct BatteryStateArray = "RIHS01_51ce72fa9e20d9bf19438c68725f360ba3daa51d8cd2b17fdf630c1aa8c4a3ce" {
            battery_states: Vec<BatteryState>,
        }

        /// Values of named groups of interfaces, for example of GPIOs.
        struct DynamicInterfaceGroupValues = "RIHS01_0ebef56c55cdde46b4622f7e0a4dbf26fefbf0296205463e955047252b434cbc" {
            header: Header,
            interface_groups: Vec<String>,
            interface_values: Vec<InterfaceValue>,
        }

        /// States and commands of all interfaces.
        struct DynamicInterfaceValues = "RIHS01_715f733fee51b15fa3b3b5f5ab89bd2c0e38999cc5641960b0bbb32da29d1b8e" {
            header: Header,
            states: InterfaceValue,
            commands: InterfaceValue,
        }

        /// Values of any interface of the named joints.
        struct DynamicJointState = "RIHS01_18024c98a62697680f581108eeed40b28fb4542fa0ac5a8e36f56c62b6813d26" {
            header: Header,
            joint_names: Vec<String>,
            interface_values: Vec<InterfaceValue>,
        }

        /// Bare numbers, in the order of a Keys message.
        struct Float64Values = "RIHS01_ea84ee6911c0fad1cf103debf8bd65ac330dd5c94a316d861b78dd2617f8a92c" {
            header: Header,
            values: Vec<f64>,
        }

        /// Wanted opening (m or rad) and the effort not to exceed.
        struct GripperCommand = "RIHS01_57eb8f326c9889ca8bb34ead82cc94cc09bf6bc5c3b6c09546dca3a00b589890" {
            position: f64,
            max_effort: f64,
        }

        /// Named values; both arrays have the same length.
        struct InterfaceValue = "RIHS01_74a12144ef6b7af67533195cb30f7f607d3301b66950208a72d280695f3e190c" {
            interface_names: Vec<String>,
            values: Vec<f64>,
        }

        /// Tolerance of one component of a joint: 0 is "default", -1 is "none".
        struct JointComponentTolerance = "RIHS01_739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4" {
            joint_name: String,
            component: u16,
            position: f64,
            velocity: f64,
            acceleration: f64,
        } const {
            X_AXIS: u16 = 1,
            Y_AXIS: u16 = 2,
            Z_AXIS: u16 = 3,
            TRANSLATION: u16 = 4,
            ROTATION: u16 = 5,
        }

        /// What a single-joint PID controller did last.
        struct JointControllerState = "RIHS01_1f6ee64b3b1f1947951f34694f8e19a10ea32f34fe3552df26514f8b30976e90" {
            header: Header,
            set_point: f64,
            process_value: f64,
            process_value_dot: f64,
            error: f64,
            time_step: f64,
            command: f64,
            p: f64,
            i: f64,
            d: f64,
            i_clamp: f64,
            antiwindup: bool,
        }

        /// Moves joints by hand: displacements or velocities held for duration seconds.
        struct JointJog = "RIHS01_ba249455a20f70168a1acb7bf43b776b72ff1f7eb5fc4cfea443f749e963c6e7" {
            header: Header,
            joint_names: Vec<String>,
            displacements: Vec<f64>,
            velocities: Vec<f64>,
            duration: f64,
        }

        /// Tolerance of one joint: 0 is "default", -1 is "none".
        struct JointTolerance = "RIHS01_c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648" {
            name: String,
            position: f64,
            velocity: f64,
            acceleration: f64,
        }

        /// What a joint trajectory controller follows and how well.
        struct JointTrajectoryControllerState = "RIHS01_51d8dd89cc624cbe9daaeeb4d80d6de9b86168ffdc3be41fefc0953e3c26e480" {
            header: Header,
            joint_names: Vec<String>,
            reference: JointTrajectoryPoint,
            feedback: JointTrajectoryPoint,
            error: JointTrajectoryPoint,
            output: JointTrajectoryPoint,
            multi_dof_joint_names: Vec<String>,
            multi_dof_reference: MultiDOFJointTrajectoryPoint,
            multi_dof_feedback: MultiDOFJointTrajectoryPoint,
            multi_dof_error: MultiDOFJointTrajectoryPoint,
            multi_dof_output: MultiDOFJointTrajectoryPoint,
            speed_scaling_factor: f64,
        }

        /// Names that go with a Float64Values message.
        struct Keys = "RIHS01_b897c1e1a1ef079862dfa0c09b816901f3646caf37c32e04825cbc75c43f0828" {
            header: Header,
            keys: Vec<String>,
        }

        /// What a mecanum drive controller does.
        struct MecanumDriveControllerState = "RIHS01_c560d21a4484fd5f2c05896a11de3315f4c33535a203d3e8d62af4b6a9cd3355" {
            header: Header,
            front_left_wheel_velocity: f64,
            back_left_wheel_velocity: f64,
            back_right_wheel_velocity: f64,
            front_right_wheel_velocity: f64,
            reference_velocity: Twist,
        }

        /// A named figure of a primitive: velocity, acceleration or move_time.
        struct MotionArgument = "RIHS01_687b5ea43abbba3ab7c3a22d39c25d1eca0b71287aa097d93bc9d94d1d900b7b" {
            name: String,
            value: f64,
        }

        /// One move. A circular move has the goal in `poses[0]` and the via point in `poses[1]`.
        struct MotionPrimitive = "RIHS01_04bc62c55472206d3b9719201a9f81e084a93d2a885056fc7c1d94db5fdb5ca5" {
            r#type: i8 = -1,
            blend_radius: f64,
            additional_arguments: Vec<MotionArgument>,
            poses: Vec<PoseStamped>,
            joint_positions: Vec<f64>,
        } const {
            UNKNOWN: i8 = -1,
            LINEAR_JOINT: i8 = 0,
            LINEAR_CARTESIAN: i8 = 50,
            CIRCULAR_CARTESIAN: i8 = 51,
        }

        /// Moves to be done one after the other.
        struct MotionPrimitiveSequence = "RIHS01_91c33402c47df62886152255a68846f61699bb2a36d061b3bd1b3898e0f51523" {
            motions: Vec<MotionPrimitive>,
        }

        /// Set points, and their derivatives, of named degrees of freedom.
        struct MultiDOFCommand = "RIHS01_033fb0fa1ffc63a872ca73c61a49ded83a22daa5cc3f074cc28949f73359e677" {
            dof_names: Vec<String>,
            values: Vec<f64>,
            values_dot: Vec<f64>,
        }

        /// State of several controlled degrees of freedom.
        struct MultiDOFStateStamped = "RIHS01_08e47e3e734a7d08131b57e14e9f740782f3bf9a1aadabd2a16b54d27e551f0a" {
            header: Header,
            dof_states: Vec<SingleDOFState>,
        }

        /// Inside view of a PID loop.
        struct PidState = "RIHS01_9ab329825048ab6152868c2d086fc19f5525ed2c6fec886f719577e1ae3a6acd" {
            header: Header,
            timestep: Duration,
            error: f64,
            error_dot: f64,
            p_error: f64,
            i_error: f64,
            d_error: f64,
            p_term: f64,
            i_term: f64,
            d_term: f64,
            i_max: f64,
            i_min: f64,
            output: f64,
        }

        /// State of one controlled degree of freedom.
        struct SingleDOFState = "RIHS01_fe8365f86265bddfefbd26698975a818bf024a1c267c8ce577cd366ef06d7163" {
            name: String,
            reference: f64,
            feedback: f64,
            feedback_dot: f64,
            error: f64,
            error_dot: f64,
            time_step: f64,
            output: f64,
        }

        /// State of one controlled degree of freedom with its time.
        struct SingleDOFStateStamped = "RIHS01_33859c01b46943f1458f83f2627249d34332b38e545c723ddbdabea2b6675af1" {
            header: Header,
            dof_state: SingleDOFState,
        }

        /// Fraction of full speed at which motions run.
        struct SpeedScalingFactor = "RIHS01_0c240f349f2b74e33e8741f83e0f196ddeb6585923663876ed3c1f51f0566037" {
            factor: f64,
        }

        /// State of a steering robot's wheels.
        struct SteeringControllerStatus = "RIHS01_151ec2fabdfdf10cabe982ceab9fec8882c9efff0effc8d07ba7a1d404cf8143" {
            header: Header,
            traction_wheels_position: Vec<f64>,
            traction_wheels_velocity: Vec<f64>,
            steer_positions: Vec<f64>,
            linear_velocity_command: Vec<f64>,
            steering_angle_command: Vec<f64>,
        }

        /// Safety state in the terms of VDA 5050.
        struct VDA5050SafetyState = "RIHS01_7c7aa367aa9f12f1ed5bf56a0863633570fbb92498291233b60f156766e9b180" {
            e_stop: String,
            field_violation: bool,
        } const {
            NONE: &str = "none",
            AUTO_ACK: &str = "autoAck",
            MANUAL: &str = "manual",
            REMOTE: &str = "remote",
        }
    }
}

/// Services.
pub mod srv {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::services;

    services! { "control_msgs/srv/";
        /// Asks whether an actuator is calibrated.
        service QueryCalibrationState = "RIHS01_c6b9d1fd88cba488075ee9fd7b69ea4ff6b12bcdd01afeb9c608dd6f8274de57" {
            request QueryCalibrationStateRequest = "RIHS01_9f304f2b04a81a225a8af78011c1b43ea7c0e5f2f9be891e50a7304b01541ea4" {}
            response QueryCalibrationStateResponse = "RIHS01_3cd0e4833f9e0cda53599f7917ea6ad38a45569f046b6eb14e7c02bb24ad86c6" {
                is_calibrated: bool,
            }
            event = "RIHS01_bc510f852c8eeb652b5598e13755048d1b9676f9f9f4c7c6374670c41d3cd656"
        }

        /// Asks for the trajectory state at a time.
        service QueryTrajectoryState = "RIHS01_4a0935dffef18bc5b9e101c9d03d84e681ecd4cebd724b8f11fde008751a325a" {
            request QueryTrajectoryStateRequest = "RIHS01_ec3322824b7a1ee850e03ff951f48b10395cab62a5a5662da32000f8b06aa791" {
                time: Time,
            }
            response QueryTrajectoryStateResponse = "RIHS01_f7b920129b8d5841312bcb89e6275508e19b3735a371b2df6e417447a44ea5db" {
                success: bool,
                message: String,
                name: Vec<String>,
                position: Vec<f64>,
                velocity: Vec<f64>,
                acceleration: Vec<f64>,
            }
            event = "RIHS01_870daa472c1a56f22859cd73e9b008923ecf1e480156c4ddfc91edee98885474"
        }

        /// Sets a drive's odometry.
        service SetOdometry = "RIHS01_cf3fe2bf6627a67b4883ba6e876a7b46cdd991417ece9f4f4dac5452fbfdea48" {
            request SetOdometryRequest = "RIHS01_6300e1c1c8eb4ebbbc4176a32a51b72dc287f38929eea3174ad0129f871679f4" {
                x: f64,
                y: f64,
                z: f64,
                roll: f64,
                pitch: f64,
                yaw: f64,
            }
            response SetOdometryResponse = "RIHS01_e102ea4b988b481c5eeab5d8396efd0637a688d557c1e33b8d11723ddd45b616" {
                success: bool,
                message: String,
            }
            event = "RIHS01_8da522faf9eb39c89de3c145279c1730337f38d9316754ed1e0e31a6f8bba710"
        }
    }
}

/// Actions.
pub mod action {
    use crate::builtin_interfaces::msg::Duration;
    use crate::control_msgs::msg::{JointComponentTolerance, JointTolerance, MotionPrimitiveSequence};
    use crate::geometry_msgs::msg::{PointStamped, Vector3};
    use crate::sensor_msgs::msg::JointState;
    use crate::std_msgs::msg::Header;
    use crate::trajectory_msgs::msg::{JointTrajectoryPoint, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint};
    use crate::macros::actions;

    actions! { "control_msgs/action/";
        /// Runs a sequence of motion primitives.
        action ExecuteMotionPrimitiveSequence = "RIHS01_e3a57ab17377b5921790c8c8dd6e130436aecaf2c91369f48954827ecb9b45b2" {
            goal ExecuteMotionPrimitiveSequenceGoal = "RIHS01_f117234a263c02ed55f3799a4a548351293b382b5c155c24a6036548e5d846c6" {
                trajectory: MotionPrimitiveSequence,
            }
            result ExecuteMotionPrimitiveSequenceResult = "RIHS01_c95cbaeaf3f35474f731a9ab323ed03878978f3c54f907332970b786c03f6049" {
                error_code: i32,
                error_string: String,
            } const {
                SUCCESSFUL: i32 = 0,
                INVALID_GOAL: i32 = -1,
                OLD_HEADER_TIMESTAMP: i32 = -3,
            }
            feedback ExecuteMotionPrimitiveSequenceFeedback = "RIHS01_39b91431692e626682a9adfbb5d694c9b3a1fd24d963772977e91c71218bf64f" {
                current_primitive_index: u8,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_ac0418442941bb65e18db8631680fbfdab90cebf86c1088073f3a854b0db1ee6"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_5894c214e0ffad21ec7af3b45a019bb831830e97ccfca420f536ae921a22c10e"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_2cb2c89c18baee7fe05afaaccded7ec9e7f17d9138ccdcf90a5bc72a78f4a389"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_4e5b1f473930d223f7ab3a7aa16613b32034497fe8a05bec6b0b201bc969f5f7"
                GET_RESULT "_GetResult" = "RIHS01_52330c082c4ddbd8b8119264e184b5bf3ddfb5443cec53191ccbd123d8baa0d5"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_efdc16e757e57a0b3162c6898994cf9841633851852719d6b2f7f8c6d297f697"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_ef024ab5dcf7abe71584739c52e89d8f17747115faf2807c3a8c2c337f2afe8e"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_65b07c8deb32244ba624ff061964ebb948403e32d63800fe5adf00d927fad439"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_fe133adadc2e74dc78d399f8c858801ce942c54d9d09fbaa6f7c77c19b0ab118"
            }
        }

        /// Follows a joint trajectory within tolerances.
        action FollowJointTrajectory = "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6" {
            goal FollowJointTrajectoryGoal = "RIHS01_8a9060704b269608f5a340934cc26e66869dd14bdac29e2e7fd9ec8b9882d205" {
                trajectory: crate::trajectory_msgs::msg::JointTrajectory,
                multi_dof_trajectory: MultiDOFJointTrajectory,
                path_tolerance: Vec<JointTolerance>,
                component_path_tolerance: Vec<JointComponentTolerance>,
                goal_tolerance: Vec<JointTolerance>,
                component_goal_tolerance: Vec<JointComponentTolerance>,
                goal_time_tolerance: Duration,
            }
            result FollowJointTrajectoryResult = "RIHS01_8002e99ed2c14c6faa522f2a93c26d744c5982f254f9e98ff9c6f19789bdb220" {
                error_code: i32,
                error_string: String,
            } const {
                SUCCESSFUL: i32 = 0,
                INVALID_GOAL: i32 = -1,
                INVALID_JOINTS: i32 = -2,
                OLD_HEADER_TIMESTAMP: i32 = -3,
                PATH_TOLERANCE_VIOLATED: i32 = -4,
                GOAL_TOLERANCE_VIOLATED: i32 = -5,
            }
            feedback FollowJointTrajectoryFeedback = "RIHS01_3fd0aaecf71725121ae1ff7f01098a5e0da581e672be18a6b2c286cb43d96b49" {
                header: Header,
                joint_names: Vec<String>,
                desired: JointTrajectoryPoint,
                actual: JointTrajectoryPoint,
                error: JointTrajectoryPoint,
                multi_dof_joint_names: Vec<String>,
                multi_dof_desired: MultiDOFJointTrajectoryPoint,
                multi_dof_actual: MultiDOFJointTrajectoryPoint,
                multi_dof_error: MultiDOFJointTrajectoryPoint,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_b13789dddc325a7a962825c45e28c77d37237ec129dd0c34dc5994562938c57f"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_179c93691f1f6d1d115881ff88c3917b7cc6eac2ba4bf56766cc7c4389e19ef1"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_e6a48ba740ae254500129a877f0b071be8663a115da1a539b74599cc97921fbf"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_906dd566308db02673c73c654f69bdd84738589629c1bc2841ddb49059ed1c6f"
                GET_RESULT "_GetResult" = "RIHS01_e3ceb38e3e1867c8dc0f46014df26e90eb93422f27e9e97f936e07f94be4bc8b"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_ecf7ea8463d3beec7084bca75216d0b01b87b6e1e4e09679bb26093041efcbe9"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_08eefbaa146ce02ba45898d5e99160afd6c4c54a30d159aee0f2ca6035b1580f"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_43161a489e52daaa5bbc2fa74f73f1804d099574fcf8f819170807d75472662a"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_80398fcb9674a79081a9906e2ccf0c804dd7cb15e22e362e606ee87186beab71"
            }
        }

        /// Opens or closes a gripper.
        action GripperCommand = "RIHS01_e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84" {
            goal GripperCommandGoal = "RIHS01_607d9f41eb241e1922e90f02125e87ae6bfb78f7f64a71dc92630263d01f8b6d" {
                command: crate::control_msgs::msg::GripperCommand,
            }
            result GripperCommandResult = "RIHS01_bf512d5aa6a0e4fe4d8be22b2ec4a1973c3d250fa1f65e47450322c25c45c0a0" {
                position: f64,
                effort: f64,
                stalled: bool,
                reached_goal: bool,
            }
            feedback GripperCommandFeedback = "RIHS01_8f7c520077bab528bb9161ee3b83c81eee1f8aecadb8922ce82c79d667a819c4" {
                position: f64,
                effort: f64,
                stalled: bool,
                reached_goal: bool,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_6bf8cc4ce80cd499e7dd3258c03c50c3fa6672b469ff8355339ef1df77fcd212"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_1b869b7b4042272dc0f8ed65468c4e57c9e532ea5e53ce74fda0767eefbfa983"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_0c8dda5e9d39ab5e3162b66e79b292a4258659ddfcf8722d39463f718b6c59bc"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_5c80eac98bcde7d64faf4b94f77ef69f12e442870dc1eba26d25b4681ef9ac0a"
                GET_RESULT "_GetResult" = "RIHS01_7e60a7606063d4a2728d21badac099e68b734a196ac3ab42d1d4c668eb0bb3cd"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_1a3308da3acbc62cd8a3c823de80ba9e5f9b6bb6f6056d1ad6b29f5f285f97ae"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_32ed5e1b5906767a3e9914dca4c4aed22529918f6c2360e6fb382363d4df4b45"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_c6a1f7afeb87bf8b3165bd7b03ec0173ffada35f083a583144ab7ac96edc5a04"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_392ff03fcd872f9dc2405cbeb2897fcf011ad9998458b6aa85c603b8a49e431d"
            }
        }

        /// Runs a joint trajectory.
        action JointTrajectory = "RIHS01_8db0176d9778d501036234e238568b82af95ce3f69271592fbf9887ca9421380" {
            goal JointTrajectoryGoal = "RIHS01_88a83973a92c92d1d77d65688c4782842c8efec61e2897161272ab166fc59583" {
                trajectory: crate::trajectory_msgs::msg::JointTrajectory,
            }
            result JointTrajectoryResult = "RIHS01_8e857ce43c02c45be3a4192454bcdc7230cd7835c5ee8f4ebc2530b1e76101bc" {}
            feedback JointTrajectoryFeedback = "RIHS01_a5042837e7b010c5baf7ec9ebaac3a339d1921ea65f73f549bdf7a5255f62bb1" {}
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_778a01ff37b17173c00962144710f8c998f50956416d84e0c669ca0c5387ef46"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_c58a4bcf0a1136ab314a43ddefa5924b98874e1d08b4eb2a44aba9fda0103aaa"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_7a32ced8e0507d50e79593d81398d3e46a868e4ed8e9676dd377c62c86b4cbd2"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_9d296f840cb1063bfd6eaae7bf9cb5f07620fdff3dbb66f4c1266c5e4a42b622"
                GET_RESULT "_GetResult" = "RIHS01_f208b4c5901966845cf405b95da4ac611eb1c556f3b904c21ab9ded64d835fd4"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_08493ba7d15c5d7840782614f3988edc56568e91a652edafce93c62e19508b7f"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_1c22b1cafd7ea50f6755ffca8dd781fbfc49d4b05916d61ebc05895c1b7b35db"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_923057c280b569f8f1f4a21494978a34900ec2048f8e75d54948363ef6d9d3b4"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_8c25808047bbc5f3a9168b85b0ded4b54b3d205942ba45b6c98178ce9fa1710b"
            }
        }

        /// Opens or closes a gripper of any number of joints.
        action ParallelGripperCommand = "RIHS01_adfd3c1ebe8abc38ebcc0e454b6423d291d4010dd5697d14eca5b9be4726ae18" {
            goal ParallelGripperCommandGoal = "RIHS01_412807b6b6acf2bf406fb0cf3b5c8f84286cd4e4d425734155aa1ff41caa0063" {
                command: JointState,
            }
            result ParallelGripperCommandResult = "RIHS01_51acbcd62aa44097d3877c506eab1146856fa8768628ffbe102c1699152d2afa" {
                state: JointState,
                stalled: bool,
                reached_goal: bool,
            }
            feedback ParallelGripperCommandFeedback = "RIHS01_ed6f7c4e5aea7f960432663c0e762e001a0a1f5cc0130d126e60041412d0543c" {
                state: JointState,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_567c37373fed1260adbe047415688c73e4f3e94b2e3982761ecc71fd63d710a7"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_dc8e5d95c0e15af6f03ff237eb8cfdaac14cc2b09f51b363311e98ec0a8487a0"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_613e4f060bff03b152eeaba1f8c6baa9d0309527b28b08bc9aae28ece7ef8b47"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_b6164adce06de27a3ebd924f198539baf7f929315c825b266c8827de4ca79384"
                GET_RESULT "_GetResult" = "RIHS01_e4c7f0e8a831ce5625ed20abcd13796406d945f92ebc7ad5972e0b0d29b381bd"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_cea82415cadc3288fdfa8aaba509e9939732aaecac6edf9cb954e5a7161646ec"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_c973b1bb9b454de1c3f38a2af9d45bc1930b809f746d6d6ec91bb3c783cb09eb"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_bb81e07fe7a231c5de7b957f0384ea31600b8a808cf83e820e213b7216ebf12e"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_c61f4cf99d06c5a3e24bed17c2910bdf66a30d89461e2ac7b5fd538a34b022cc"
            }
        }

        /// Turns a head so that pointing_axis of pointing_frame looks at target.
        action PointHead = "RIHS01_7074c3bddad393f3db72da02a8bb0fe3d832c21447452694b496965bdbfc9cc1" {
            goal PointHeadGoal = "RIHS01_077883bf47f9442e4305e57fdd60c813115def08669e6b7b62d85795e6cfc0f9" {
                target: PointStamped,
                pointing_axis: Vector3,
                pointing_frame: String,
                min_duration: Duration,
                max_velocity: f64,
            }
            result PointHeadResult = "RIHS01_76d221e8719cd8560d7fe478d8e18995fa595e812aa3f14fcef9c1802c350505" {}
            feedback PointHeadFeedback = "RIHS01_83a5dd2c902480c1d1106bbe9916f664d890bee78fd751c8580107939a485b15" {
                pointing_angle_error: f64,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_48f533aa84588d8f2124fcb7ad42dc25b7a7c185cc51e9cc3329f1b1273b3423"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_ab0202bfd4eda8d7fd546e786acc4b079c4aa6d3ea43ea28f0090d6909092ed1"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_44cd7c0e5a09712567e0dcecde578de05c710cc5e7252fe67c5528be41f1868d"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_17d5f8150aee003a0a75b632a72c5ee9a64571f29835fe8d9ad89ad0b3a51f10"
                GET_RESULT "_GetResult" = "RIHS01_0b738bb41db0a12a00129d8ba5c1d7a2055cda2196057bef209a511b60bffb6c"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_b1939232fdf857e5638813a805bf667a1a98e2c962e20705a0f4e4a99b3fc426"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_50ecd93967c2ef332a4c89a3ba2e4627be87f0719c1f6a9445b4a2451769fe5f"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_567de702e345941dbe4ab7d1ca092729271540ed47a33403f6019b92acc72bfd"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_b1f724f986375e8f9cf96246c232cdb29362398ce352c645e2af8f99b28743f2"
            }
        }

        /// Moves one joint to a position.
        action SingleJointPosition = "RIHS01_1b330d11638c0b1d3228cc80b1123e5b3db3d24592e95429812bf30056e3db7b" {
            goal SingleJointPositionGoal = "RIHS01_c434f6bb755396b6037c46761f492580e7121d17157ead1d58dfee174001cf79" {
                position: f64,
                min_duration: Duration,
                max_velocity: f64,
            }
            result SingleJointPositionResult = "RIHS01_4fa10d555d539d00370b7114db3c3dddb182647e720c8c5faaf8e184822db14c" {}
            feedback SingleJointPositionFeedback = "RIHS01_b3eb28913208b01d2713c908067a803a975ef81a8b9431fd6b4639f2e91fc1fc" {
                header: Header,
                position: f64,
                velocity: f64,
                error: f64,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_abcf6f8acd1889a685cd6ac2e948284a8012a81d01e6af0d6a918c52d759ca47"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_5ddd6989bdf3389df344904c69b041d2b7eec76dfbb9fad4f66cf3714a3f0806"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_bd3d63d72361e578cc2035b5b28db74b10e876db6050608589fc8f0b523f9839"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_b5572c9dd92946f93c341f99327916689083117d0b35128603973a590ce73157"
                GET_RESULT "_GetResult" = "RIHS01_afe95c54e7c59cdb7e0d978bfafb908e3f1546975d540911a1768009d577351d"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_d2b87049687ebad79bebbd130e6913b690069fba19f19b4b4774754f969d1566"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_6475df69e4fbff1aa8dcd8d2825e03f6faa3c69f158c8fe1d058eb506d53ee9e"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_1e88998104ec861563219431e97580d3ed24ffc792bed4a9fe261a83e3954c3a"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_6da19eb420db90080a9bd9cac0041c865254b8e49cbe0d2b54c78e1814ed499b"
            }
        }
    }
}
