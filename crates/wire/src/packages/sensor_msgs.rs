//! `sensor_msgs`: sensor readings.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::geometry_msgs::msg::{Point32, Quaternion, Transform, Twist, Vector3, Wrench};
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "sensor_msgs/msg/";
        /// State of a power supply; unmeasured figures are NaN.
        struct BatteryState = "RIHS01_4bee5dfce981c98faa6828b868307a0a73f992ed0789f374ee96c8f840e69741" {
            header: Header,
            voltage: f32,
            temperature: f32,
            current: f32,
            charge: f32,
            capacity: f32,
            design_capacity: f32,
            percentage: f32,
            power_supply_status: u8,
            power_supply_health: u8,
            power_supply_technology: u8,
            present: bool,
            cell_voltage: Vec<f32>,
            cell_temperature: Vec<f32>,
            location: String,
            serial_number: String,
        } const {
            POWER_SUPPLY_STATUS_UNKNOWN: u8 = 0,
            POWER_SUPPLY_STATUS_CHARGING: u8 = 1,
            POWER_SUPPLY_STATUS_DISCHARGING: u8 = 2,
            POWER_SUPPLY_STATUS_NOT_CHARGING: u8 = 3,
            POWER_SUPPLY_STATUS_FULL: u8 = 4,
            POWER_SUPPLY_HEALTH_UNKNOWN: u8 = 0,
            POWER_SUPPLY_HEALTH_GOOD: u8 = 1,
            POWER_SUPPLY_HEALTH_OVERHEAT: u8 = 2,
            POWER_SUPPLY_HEALTH_DEAD: u8 = 3,
            POWER_SUPPLY_HEALTH_OVERVOLTAGE: u8 = 4,
            POWER_SUPPLY_HEALTH_UNSPEC_FAILURE: u8 = 5,
            POWER_SUPPLY_HEALTH_COLD: u8 = 6,
            POWER_SUPPLY_HEALTH_WATCHDOG_TIMER_EXPIRE: u8 = 7,
            POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE: u8 = 8,
            POWER_SUPPLY_TECHNOLOGY_UNKNOWN: u8 = 0,
            POWER_SUPPLY_TECHNOLOGY_NIMH: u8 = 1,
            POWER_SUPPLY_TECHNOLOGY_LION: u8 = 2,
            POWER_SUPPLY_TECHNOLOGY_LIPO: u8 = 3,
            POWER_SUPPLY_TECHNOLOGY_LIFE: u8 = 4,
            POWER_SUPPLY_TECHNOLOGY_NICD: u8 = 5,
            POWER_SUPPLY_TECHNOLOGY_LIMN: u8 = 6,
            POWER_SUPPLY_TECHNOLOGY_TERNARY: u8 = 7,
            POWER_SUPPLY_TECHNOLOGY_VRLA: u8 = 8,
        }

        /// Calibration of a camera.
        struct CameraInfo = "RIHS01_b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275" {
            header: Header,
            height: u32,
            width: u32,
            distortion_model: String,
            d: Vec<f64>,
            k: [f64; 9],
            r: [f64; 9],
            p: [f64; 12],
            binning_x: u32,
            binning_y: u32,
            roi: RegionOfInterest,
        }

        /// One extra value per point of a PointCloud.
        struct ChannelFloat32 = "RIHS01_92665437ddf39346f4ba39ee32e648390605b633cc077d40f4bd4d7b58af6cd4" {
            name: String,
            values: Vec<f32>,
        }

        /// An image in a compressed file format.
        struct CompressedImage = "RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a" {
            header: Header,
            format: String,
            data: Vec<u8>,
        }

        /// A pressure in Pa with its variance (0: unknown).
        struct FluidPressure = "RIHS01_22dfb2b145a0bd5a31a1ac3882a1b32148b51d9b2f3bab250290d66f3595bc32" {
            header: Header,
            fluid_pressure: f64,
            variance: f64,
        }

        /// A photometric illuminance in lux with its variance (0: unknown).
        struct Illuminance = "RIHS01_b954b25f452fcf81a91c9c2a7e3b3fd85c4c873d452aecb3cfd8fd1da732a22d" {
            header: Header,
            illuminance: f64,
            variance: f64,
        }

        /// An uncompressed image, row by row.
        struct Image = "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47" {
            header: Header,
            height: u32,
            width: u32,
            encoding: String,
            is_bigendian: u8,
            step: u32,
            data: Vec<u8>,
        }

        /// Orientation, angular velocity (rad/s) and acceleration (m/s2) with row-major covariances.
        struct Imu = "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b" {
            header: Header,
            orientation: Quaternion,
            orientation_covariance: [f64; 9],
            angular_velocity: Vector3,
            angular_velocity_covariance: [f64; 9],
            linear_acceleration: Vector3,
            linear_acceleration_covariance: [f64; 9],
        }

        /// Position, velocity and effort of named joints; an array may be empty.
        struct JointState = "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e" {
            header: Header,
            name: Vec<String>,
            position: Vec<f64>,
            velocity: Vec<f64>,
            effort: Vec<f64>,
        }

        /// Axes and buttons of a joystick.
        struct Joy = "RIHS01_0d356c79cad3401e35ffeb75a96a96e08be3ef896b8b83841d73e890989372c5" {
            header: Header,
            axes: Vec<f32>,
            buttons: Vec<i32>,
        }

        /// A command for one light, rumble or buzzer of a joystick.
        struct JoyFeedback = "RIHS01_231dd362f71d6fc08272770d07120ad5fe5874ce2dbac70109b28986834290cd" {
            r#type: u8,
            id: u8,
            intensity: f32,
        } const {
            TYPE_LED: u8 = 0,
            TYPE_RUMBLE: u8 = 1,
            TYPE_BUZZER: u8 = 2,
        }

        /// Several joystick commands.
        struct JoyFeedbackArray = "RIHS01_3287c32e1b688cae04555e465443df3cca7dae76ee4ebf85c4658d585037bcaa" {
            array: Vec<JoyFeedback>,
        }

        /// Several returns of one beam.
        struct LaserEcho = "RIHS01_0fbc05a0db7d37fe52c0f0375356db55da0046f7ef5bd27ca6b34bd0582bc952" {
            echoes: Vec<f32>,
        }

        /// One sweep of a planar laser; angles in rad, ranges in m.
        struct LaserScan = "RIHS01_64c191398013af96509d518dac71d5164f9382553fce5c1f8cca5be7924bd828" {
            header: Header,
            angle_min: f32,
            angle_max: f32,
            angle_increment: f32,
            time_increment: f32,
            scan_time: f32,
            range_min: f32,
            range_max: f32,
            ranges: Vec<f32>,
            intensities: Vec<f32>,
        }

        /// A magnetic field in tesla with row-major covariance.
        struct MagneticField = "RIHS01_e80f32f56a20486c9923008fc1a1db07bbb273cbbf6a5b3bfa00835ee00e4dff" {
            header: Header,
            magnetic_field: Vector3,
            magnetic_field_covariance: [f64; 9],
        }

        /// State of joints with several degrees of freedom.
        struct MultiDOFJointState = "RIHS01_4d4ded702cfba7ff3ec783835c1a1425f75e53939a430ff355d1fee4b3bbc40b" {
            header: Header,
            joint_names: Vec<String>,
            transforms: Vec<Transform>,
            twist: Vec<Twist>,
            wrench: Vec<Wrench>,
        }

        /// One sweep of a planar laser with several returns per beam.
        struct MultiEchoLaserScan = "RIHS01_ba5eac341cd5bbb2701527aa4568e8baec172b69cadb9a1945d6f149d087ee48" {
            header: Header,
            angle_min: f32,
            angle_max: f32,
            angle_increment: f32,
            time_increment: f32,
            scan_time: f32,
            range_min: f32,
            range_max: f32,
            ranges: Vec<LaserEcho>,
            intensities: Vec<LaserEcho>,
        }

        /// Geodetic position (WGS 84, degrees and metres) with row-major covariance in m2.
        struct NavSatFix = "RIHS01_62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404" {
            header: Header,
            status: NavSatStatus,
            latitude: f64,
            longitude: f64,
            altitude: f64,
            position_covariance: [f64; 9],
            position_covariance_type: u8,
        } const {
            COVARIANCE_TYPE_UNKNOWN: u8 = 0,
            COVARIANCE_TYPE_APPROXIMATED: u8 = 1,
            COVARIANCE_TYPE_DIAGONAL_KNOWN: u8 = 2,
            COVARIANCE_TYPE_KNOWN: u8 = 3,
        }

        /// Kind of fix and the satellite systems in use.
        struct NavSatStatus = "RIHS01_d1ed3befa628e09571bd273b888ba1c1fd187c9a5e0006b385d7e5e9095a3204" {
            status: i8,
            service: u16,
        } const {
            STATUS_UNKNOWN: i8 = -2,
            STATUS_NO_FIX: i8 = -1,
            STATUS_FIX: i8 = 0,
            STATUS_SBAS_FIX: i8 = 1,
            STATUS_GBAS_FIX: i8 = 2,
            SERVICE_UNKNOWN: u16 = 0,
            SERVICE_GPS: u16 = 1,
            SERVICE_GLONASS: u16 = 2,
            SERVICE_COMPASS: u16 = 4,
            SERVICE_GALILEO: u16 = 8,
        }

        /// Points with named extra channels.
        struct PointCloud = "RIHS01_614593df71d3c2b9bd4604a71b750fd218f0d65c045ea988b713719455a65b3b" {
            header: Header,
            points: Vec<Point32>,
            channels: Vec<ChannelFloat32>,
        }

        /// Points packed in binary records described by fields.
        struct PointCloud2 = "RIHS01_9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5" {
            header: Header,
            height: u32,
            width: u32,
            fields: Vec<PointField>,
            is_bigendian: bool,
            point_step: u32,
            row_step: u32,
            data: Vec<u8>,
            is_dense: bool,
        }

        /// One field of a PointCloud2 record.
        struct PointField = "RIHS01_5c6a4750728c2bcfbbf7037225b20b02d4429634732146b742dee1726637ef01" {
            name: String,
            offset: u32,
            datatype: u8,
            count: u32,
        } const {
            INT8: u8 = 1,
            UINT8: u8 = 2,
            INT16: u8 = 3,
            UINT16: u8 = 4,
            INT32: u8 = 5,
            UINT32: u8 = 6,
            FLOAT32: u8 = 7,
            FLOAT64: u8 = 8,
        }

        /// One reading of a single-beam range sensor.
        struct Range = "RIHS01_b42b62562e93cbfe9d42b82fe5994dfa3d63d7d5c90a317981703f7388adff3a" {
            header: Header,
            radiation_type: u8,
            field_of_view: f32,
            min_range: f32,
            max_range: f32,
            range: f32,
            variance: f32,
        } const {
            ULTRASOUND: u8 = 0,
            INFRARED: u8 = 1,
        }

        /// A rectangle of an image.
        struct RegionOfInterest = "RIHS01_ad16bcba5f9131dcdba6fbded19f726f5440e3c513b4fb586dd3027eeed8abb1" {
            x_offset: u32,
            y_offset: u32,
            height: u32,
            width: u32,
            do_rectify: bool,
        }

        /// Relative humidity from 0 to 1 with its variance (0: unknown).
        struct RelativeHumidity = "RIHS01_8687c99b4fb393cb2e545e407b5ea7fd0b5d8960bcd849a0f86c544740138839" {
            header: Header,
            relative_humidity: f64,
            variance: f64,
        }

        /// A temperature in degrees Celsius with its variance (0: unknown).
        struct Temperature = "RIHS01_72514a14126ab9f8a9abec974c78e5610a367b59db5da355ff1fb982d5bad4b8" {
            header: Header,
            temperature: f64,
            variance: f64,
        }

        /// A reading of an outside clock.
        struct TimeReference = "RIHS01_dd66e84cf40bbb5d5a40472e6ecf2675a031334d4c426abdb2ad41801a8efc99" {
            header: Header,
            time_ref: Time,
            source: String,
        }
    }
}

/// Services.
pub mod srv {
    use crate::sensor_msgs::msg::CameraInfo;
    use crate::macros::services;

    services! { "sensor_msgs/srv/";
        /// Stores the calibration of a camera.
        service SetCameraInfo = "RIHS01_a10cca5d33dc637c8d49db50ab288701a3592bb9cd854f2f16a0659613b68984" {
            request SetCameraInfoRequest = "RIHS01_27dc5497730fdb6930e66cb879c210e31a83022acc5bbc999f24f55286029f87" {
                camera_info: CameraInfo,
            }
            response SetCameraInfoResponse = "RIHS01_4db6d7df20cdcdc05430945e76fa58e1eab1285c15f31d26fad76e2c1b10299c" {
                success: bool,
                status_message: String,
            }
            event = "RIHS01_e3b4e21ddd26871166e6ae7f342856dfcd3ac033c7eac99db6bfe515fba3d693"
        }
    }
}
