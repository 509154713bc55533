//! `nav_msgs`: maps, paths and odometry.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::geometry_msgs::msg::{Point, Pose, PoseStamped, PoseWithCovariance, TwistWithCovariance};
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "nav_msgs/msg/";
        /// Cells of equal size, given by their centres.
        struct GridCells = "RIHS01_bb99c2f5d0a04750745a81ec6a8147aa373cce5bd17c8cd6507f2413354a6933" {
            header: Header,
            cell_width: f32,
            cell_height: f32,
            cells: Vec<Point>,
        }

        /// Resolution (m per cell), size and origin of a map.
        struct MapMetaData = "RIHS01_2772d4b2000ef2b35dbaeb80fd3946c1369f817fb4f75677d916d27c17d763c8" {
            map_load_time: Time,
            resolution: f32,
            width: u32,
            height: u32,
            origin: Pose,
        }

        /// Row-major occupancy in percent, -1 where unknown.
        struct OccupancyGrid = "RIHS01_8d348150c12913a31ee0ec170fbf25089e4745d17035792a1ba94d6f0bc0cfc7" {
            header: Header,
            info: MapMetaData,
            data: Vec<i8>,
        }

        /// Estimated pose in header.frame_id and velocity in child_frame_id.
        struct Odometry = "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0" {
            header: Header,
            child_frame_id: String,
            pose: PoseWithCovariance,
            twist: TwistWithCovariance,
        }

        /// A row of poses to follow.
        struct Path = "RIHS01_1957a5bb3cee5da65c4e52e52b65a93df227efce4c20f8458b36e73066ca334b" {
            header: Header,
            poses: Vec<PoseStamped>,
        }
    }
}

/// Services.
pub mod srv {
    use crate::geometry_msgs::msg::{PoseStamped, PoseWithCovarianceStamped};
    use crate::nav_msgs::msg::{OccupancyGrid, Path};
    use crate::macros::services;

    services! { "nav_msgs/srv/";
        /// Asks for the current map.
        service GetMap = "RIHS01_c8ae77c9995b3554b5ba80e4d4d443f970ac65143102a1d893ec24fc07b31147" {
            request GetMapRequest = "RIHS01_b531e302f1bd6a81f8a5e03453266c378b1f711b4296000c1c0f53a40e00a7c4" {}
            response GetMapResponse = "RIHS01_45246f7a2ff0cbfa46e13865d4b95929ebb6d2846d1b85a20ad51030f4690dc2" {
                map: OccupancyGrid,
            }
            event = "RIHS01_a7ccc266ea4796564e253156024ef4e829dd3e3c424fed3b11e3118aab3971d7"
        }

        /// Asks for a path between two poses.
        service GetPlan = "RIHS01_234f7aff100f5edb8150366601687b027bcdc253db47decb88fff846193fe5e8" {
            request GetPlanRequest = "RIHS01_f1bb9fab287948b4432a4a7e4f529e7ea6269cd06269ee8fcb911fdb4acd23c3" {
                start: PoseStamped,
                goal: PoseStamped,
                tolerance: f32,
            }
            response GetPlanResponse = "RIHS01_30a947cd360777929073296c368c591dc2117a89c15b7a975a6faa0a901836fd" {
                plan: Path,
            }
            event = "RIHS01_2550c2e32e7ee24d4806e10847958e1fc37e2631a63dd83f5512fa02ac0cdda5"
        }

        /// Loads a map from a URL.
        service LoadMap = "RIHS01_1a192ac56c40fed2767dac26f0b371785372276bd465c902676d2dca135aae5a" {
            request LoadMapRequest = "RIHS01_0f8fe3aac433c977d7c2f8b57ab1c3a17677e24880d76919b69e4208e99f5132" {
                map_url: String,
            }
            response LoadMapResponse = "RIHS01_e7970ddf9f58e10d34b5eae6d2baca31b2b3e2f2fe6d082b3aae2a5f92777b2a" {
                map: OccupancyGrid,
                result: u8,
            } const {
                RESULT_SUCCESS: u8 = 0,
                RESULT_MAP_DOES_NOT_EXIST: u8 = 1,
                RESULT_INVALID_MAP_DATA: u8 = 2,
                RESULT_INVALID_MAP_METADATA: u8 = 3,
                RESULT_UNDEFINED_FAILURE: u8 = 255,
            }
            event = "RIHS01_a7907dcbaf7a052cc96c8c716992591dc006ad26ee2841329a7e06a4a33339c7"
        }

        /// Sets the map and the pose in it.
        service SetMap = "RIHS01_5e11a5b2ca53d8ae85b666a019f16c9904ebc787828f1f566c4e048a1ddedfb4" {
            request SetMapRequest = "RIHS01_5a83a0c20af4d79248fc3287524bf358b603fb5a05818b5ec85b50fa6e5d0266" {
                map: OccupancyGrid,
                initial_pose: PoseWithCovarianceStamped,
            }
            response SetMapResponse = "RIHS01_e7251879322c7b12285b9c191d68d27495b6dede051f3cd79b0bf334147b7375" {
                success: bool,
            }
            event = "RIHS01_68371c7e20b5f04c60581c63c676a033f4530beb507dbb88732cdd5750d60d7f"
        }
    }
}
