//! `geometry_msgs`: points, poses, velocities, forces.

/// Messages.
pub mod msg {
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "geometry_msgs/msg/";
        /// Linear (m/s2) and angular (rad/s2) acceleration in free space.
        struct Accel = "RIHS01_dc448243ded9b1fcbcca24aba0c22f013dae06c354ba2d849571c0a2a3f57ca0" {
            linear: Vector3,
            angular: Vector3,
        }

        /// An acceleration with frame and time.
        struct AccelStamped = "RIHS01_ef1df9eabae0a708cc049a061ebcddc4e2a5f745730100ba680e086a9698b165" {
            header: Header,
            accel: Accel,
        }

        /// An acceleration with its 6x6 row-major covariance (x, y, z, then rotation about x, y, z).
        struct AccelWithCovariance = "RIHS01_230d51bd53bc36f260574e73b42941cefe44684753480b6fc330c032c5db5997" {
            accel: Accel,
            #[serde(with = "crate::cdr::array")]
            covariance: [f64; 36] = [0.0; 36],
        }

        /// An uncertain acceleration with frame and time.
        struct AccelWithCovarianceStamped = "RIHS01_61c9ad8928e71dd95ce791b2f02809ee2a0bbcc42cd0e4047fd00a822a08e444" {
            header: Header,
            accel: AccelWithCovariance,
        }

        /// Mass (kg), centre of mass (m) and inertia tensor (kg m2).
        struct Inertia = "RIHS01_2ddd5dab5c347825ba2e56c895ddccfd0b8efe53ae931bf67f905529930b4bd7" {
            m: f64,
            com: Vector3,
            ixx: f64,
            ixy: f64,
            ixz: f64,
            iyy: f64,
            iyz: f64,
            izz: f64,
        }

        /// An inertia with frame and time.
        struct InertiaStamped = "RIHS01_766be45976252babf7f9d8ac4ae7c912a7ceccf71035622529f27518b695aa09" {
            header: Header,
            inertia: Inertia,
        }

        /// A position in metres.
        struct Point = "RIHS01_6963084842a9b04494d6b2941d11444708d892da2f4b09843b9c43f42a7f6881" {
            x: f64,
            y: f64,
            z: f64,
        }

        /// A position in single precision, for large clouds.
        struct Point32 = "RIHS01_2fc4db7cae16a4582c79a56b66173a8d48d52c7dc520ddc55a0d4bcf2a4bfdbc" {
            x: f32,
            y: f32,
            z: f32,
        }

        /// A position with frame and time.
        struct PointStamped = "RIHS01_4c0296af86e01e562e9e0405d138a01537247580076c58ea38d7923ac1045897" {
            header: Header,
            point: Point,
        }

        /// A closed outline: the last point joins the first.
        struct Polygon = "RIHS01_3782f9f0bf044964d692d6c017d705e37611afb1f0bf6a9dee248a7dda0f784a" {
            points: Vec<Point32>,
        }

        /// An outline that carries an identity.
        struct PolygonInstance = "RIHS01_fa1cb3dc774329865258afef74f65b0553d487510c6d0f93ba38cc32d62ac0e5" {
            polygon: Polygon,
            id: i64,
        }

        /// An identified outline with frame and time.
        struct PolygonInstanceStamped = "RIHS01_802f37ea4398d7ce547936aab1fd278923716a13c63373887cd896957434ce2f" {
            header: Header,
            polygon: PolygonInstance,
        }

        /// An outline with frame and time.
        struct PolygonStamped = "RIHS01_b7cf07932f1523d4b4088075945c1a0141f7cd21da87cc940fc61652e9138b46" {
            header: Header,
            polygon: Polygon,
        }

        /// Position and orientation.
        struct Pose = "RIHS01_d501954e9476cea2996984e812054b68026ae0bfae789d9a10b23daf35cc90fa" {
            position: Point,
            orientation: Quaternion,
        }

        /// Position and heading (rad) in a plane.
        struct Pose2D = "RIHS01_d68efa5b46e70f7b16ca23085474fdac5a44b638783ec42f661da64da4724ccc" {
            x: f64,
            y: f64,
            theta: f64,
        }

        /// Several poses in one frame.
        struct PoseArray = "RIHS01_af0cc36d190e104d546d168d6b39df04fa4b4ccecf59cb4c9ed328d3d5004aa0" {
            header: Header,
            poses: Vec<Pose>,
        }

        /// A pose with frame and time.
        struct PoseStamped = "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8" {
            header: Header,
            pose: Pose,
        }

        /// A pose with its 6x6 row-major covariance (x, y, z, then rotation about x, y, z).
        struct PoseWithCovariance = "RIHS01_9a7c0fd234b7f45c6098745ecccd773ca1085670e64107135397aee31c02e1bb" {
            pose: Pose,
            #[serde(with = "crate::cdr::array")]
            covariance: [f64; 36] = [0.0; 36],
        }

        /// An uncertain pose with frame and time.
        struct PoseWithCovarianceStamped = "RIHS01_26432f9803e43727d3c8f668d1fdb3c630f548af631e2f4e31382371bfea3b6e" {
            header: Header,
            pose: PoseWithCovariance,
        }

        /// An orientation; the default is "not rotated".
        struct Quaternion = "RIHS01_8a765f66778c8ff7c8ab94afcc590a2ed5325a1d9a076ffff38fbce36f458684" {
            x: f64,
            y: f64,
            z: f64,
            w: f64 = 1.0,
        }

        /// An orientation with frame and time.
        struct QuaternionStamped = "RIHS01_381add86c6c3160644d228ca342182c7fd6c7fab11c7a85ad817a9cc22dbac6e" {
            header: Header,
            quaternion: Quaternion,
        }

        /// Translation and rotation between two frames.
        struct Transform = "RIHS01_beb83fbe698636351461f6f35d1abb20010c43d55374d81bd041f1ba2581fddc" {
            translation: Vector3,
            rotation: Quaternion,
        }

        /// The transform from header.frame_id to child_frame_id at a time.
        struct TransformStamped = "RIHS01_0a241f87d04668d94099cbb5ba11691d5ad32c2f29682e4eb5653424bd275206" {
            header: Header,
            child_frame_id: String,
            transform: Transform,
        }

        /// Linear (m/s) and angular (rad/s) velocity.
        struct Twist = "RIHS01_9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a" {
            linear: Vector3,
            angular: Vector3,
        }

        /// A velocity with frame and time.
        struct TwistStamped = "RIHS01_5f0fcd4f81d5d06ad9b4c4c63e3ea51b82d6ae4d0558f1d475229b1121db6f64" {
            header: Header,
            twist: Twist,
        }

        /// A velocity with its 6x6 row-major covariance (x, y, z, then rotation about x, y, z).
        struct TwistWithCovariance = "RIHS01_49f574f033f095d8b6cd1beaca5ca7925e296e84af1716d16c89d38b059c8c18" {
            twist: Twist,
            #[serde(with = "crate::cdr::array")]
            covariance: [f64; 36] = [0.0; 36],
        }

        /// An uncertain velocity with frame and time.
        struct TwistWithCovarianceStamped = "RIHS01_77b67434531e6529b7a0091357b186b6ebdb17fd9ffd3e0c7ce9d3fb11a44563" {
            header: Header,
            twist: TwistWithCovariance,
        }

        /// A direction with magnitude; it rotates but does not translate.
        struct Vector3 = "RIHS01_cc12fe83e4c02719f1ce8070bfd14aecd40f75a96696a67a2a1f37f7dbb0765d" {
            x: f64,
            y: f64,
            z: f64,
        }

        /// A vector with frame and time.
        struct Vector3Stamped = "RIHS01_d4829622288cbb443886e7ea94ea5671a3b1be6bab4ad04224432a65f7d7887a" {
            header: Header,
            vector: Vector3,
        }

        /// Velocity of body_frame_id relative to reference_frame_id, expressed in header.frame_id.
        struct VelocityStamped = "RIHS01_55e7196186c8dbe4375278d7f1ac050dd8c9bacade1cf3eef8460fa667bd2457" {
            header: Header,
            body_frame_id: String,
            reference_frame_id: String,
            velocity: Twist,
        }

        /// Force (N) and torque (N m).
        struct Wrench = "RIHS01_018e8519d57c16adbe97c9fe1460ef21fec7e31bc541de3d653a35895677ce52" {
            force: Vector3,
            torque: Vector3,
        }

        /// A wrench with frame and time.
        struct WrenchStamped = "RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77" {
            header: Header,
            wrench: Wrench,
        }
    }
}
