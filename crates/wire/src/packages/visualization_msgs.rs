//! `visualization_msgs`: shapes for display.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Duration;
    use crate::geometry_msgs::msg::{Point, Pose, Quaternion, Vector3};
    use crate::sensor_msgs::msg::CompressedImage;
    use crate::std_msgs::msg::{ColorRGBA, Header};
    use crate::macros::messages;

    messages! { "visualization_msgs/msg/";
        /// A mark drawn over an image.
        struct ImageMarker = "RIHS01_603152491ef2331c200a5305230d31f6e8704875944b388da0f547c415d11836" {
            header: Header,
            ns: String,
            id: i32,
            r#type: i32,
            action: i32,
            position: Point,
            scale: f32,
            outline_color: ColorRGBA,
            filled: u8,
            fill_color: ColorRGBA,
            lifetime: Duration,
            points: Vec<Point>,
            outline_colors: Vec<ColorRGBA>,
        } const {
            CIRCLE: i32 = 0,
            LINE_STRIP: i32 = 1,
            LINE_LIST: i32 = 2,
            POLYGON: i32 = 3,
            POINTS: i32 = 4,
            ADD: i32 = 0,
            REMOVE: i32 = 1,
        }

        /// A mark that users can grab.
        struct InteractiveMarker = "RIHS01_3d5b51448b51d73b0f395b94d259edd3a5d269ae9f7d9fd5cceb9ae4b72be346" {
            header: Header,
            pose: Pose,
            name: String,
            description: String,
            scale: f32,
            menu_entries: Vec<MenuEntry>,
            controls: Vec<InteractiveMarkerControl>,
        }

        /// One handle of an interactive mark.
        struct InteractiveMarkerControl = "RIHS01_60e2fa36344f5f4791b24a809542a18bffd555f563550d4b22b3bbfc31ec0ed5" {
            name: String,
            orientation: Quaternion,
            orientation_mode: u8,
            interaction_mode: u8,
            always_visible: bool,
            markers: Vec<Marker>,
            independent_marker_orientation: bool,
            description: String,
        } const {
            INHERIT: u8 = 0,
            FIXED: u8 = 1,
            VIEW_FACING: u8 = 2,
            NONE: u8 = 0,
            MENU: u8 = 1,
            BUTTON: u8 = 2,
            MOVE_AXIS: u8 = 3,
            MOVE_PLANE: u8 = 4,
            ROTATE_AXIS: u8 = 5,
            MOVE_ROTATE: u8 = 6,
            MOVE_3D: u8 = 7,
            ROTATE_3D: u8 = 8,
            MOVE_ROTATE_3D: u8 = 9,
        }

        /// What a user did with an interactive mark.
        struct InteractiveMarkerFeedback = "RIHS01_6cc48741df9f05d19ba7d9ea3101e9fcd1309c9d6bda3c55668ba607492f725e" {
            header: Header,
            client_id: String,
            marker_name: String,
            control_name: String,
            event_type: u8,
            pose: Pose,
            menu_entry_id: u32,
            mouse_point: Point,
            mouse_point_valid: bool,
        } const {
            KEEP_ALIVE: u8 = 0,
            POSE_UPDATE: u8 = 1,
            MENU_SELECT: u8 = 2,
            BUTTON_CLICK: u8 = 3,
            MOUSE_DOWN: u8 = 4,
            MOUSE_UP: u8 = 5,
        }

        /// The complete set of marks, for new viewers.
        struct InteractiveMarkerInit = "RIHS01_23fda1b3373b154d9d6408dd7b9f8129b2a2b76b905ee421e8c4109d8bf71f78" {
            server_id: String,
            seq_num: u64,
            markers: Vec<InteractiveMarker>,
        }

        /// New pose of one interactive mark.
        struct InteractiveMarkerPose = "RIHS01_c60e9a4407d5f709a63e0fe9caea324aee08fe717cd090209ebe35012ce7cb66" {
            header: Header,
            pose: Pose,
            name: String,
        }

        /// Changes since the last update, numbered by seq_num.
        struct InteractiveMarkerUpdate = "RIHS01_0a8b000c4fd4d50876ac716a7de018911599a2f015795388e956a2ca8b0c54f0" {
            server_id: String,
            seq_num: u64,
            r#type: u8,
            markers: Vec<InteractiveMarker>,
            poses: Vec<InteractiveMarkerPose>,
            erases: Vec<String>,
        } const {
            KEEP_ALIVE: u8 = 0,
            UPDATE: u8 = 1,
        }

        /// A shape for display; ns and id together name it.
        struct Marker = "RIHS01_45b13ccf791f225962bf74e746f9644518855d783a6f42ba0cc14fde2b4f3ce0" {
            header: Header,
            ns: String,
            id: i32,
            r#type: i32,
            action: i32,
            pose: Pose,
            scale: Vector3,
            color: ColorRGBA,
            lifetime: Duration,
            frame_locked: bool,
            points: Vec<Point>,
            colors: Vec<ColorRGBA>,
            texture_resource: String,
            texture: CompressedImage,
            uv_coordinates: Vec<UVCoordinate>,
            text: String,
            mesh_resource: String,
            mesh_file: MeshFile,
            mesh_use_embedded_materials: bool,
        } const {
            ARROW: i32 = 0,
            CUBE: i32 = 1,
            SPHERE: i32 = 2,
            CYLINDER: i32 = 3,
            LINE_STRIP: i32 = 4,
            LINE_LIST: i32 = 5,
            CUBE_LIST: i32 = 6,
            SPHERE_LIST: i32 = 7,
            POINTS: i32 = 8,
            TEXT_VIEW_FACING: i32 = 9,
            MESH_RESOURCE: i32 = 10,
            TRIANGLE_LIST: i32 = 11,
            ARROW_STRIP: i32 = 12,
            ADD: i32 = 0,
            MODIFY: i32 = 0,
            DELETE: i32 = 2,
            DELETEALL: i32 = 3,
        }

        /// Several shapes for display.
        struct MarkerArray = "RIHS01_86cb8800b6fb05b5eff1abd7a56f62a5641d3ae9a1c29e78e67e704f1d067dcf" {
            markers: Vec<Marker>,
        }

        /// One entry of an interactive mark's menu.
        struct MenuEntry = "RIHS01_22170c387c70fd4236232ec902de8604e72ff027342c7c0f28ad9f68c64c51d6" {
            id: u32,
            parent_id: u32,
            title: String,
            command: String,
            command_type: u8,
        } const {
            FEEDBACK: u8 = 0,
            ROSRUN: u8 = 1,
            ROSLAUNCH: u8 = 2,
        }

        /// A mesh sent with the marker.
        struct MeshFile = "RIHS01_7710ece15a148fb7c9b546364cfb215bb06098087bd6394fe5b73a493508f8c4" {
            filename: String,
            data: Vec<u8>,
        }

        /// A place on a texture, from 0 to 1.
        struct UVCoordinate = "RIHS01_f27f7ed21fe360c6066944f856b801a0c0d1e94e815b6886444b42d90b196a26" {
            u: f32,
            v: f32,
        }
    }
}

/// Services.
pub mod srv {
    use crate::visualization_msgs::msg::InteractiveMarker;
    use crate::macros::services;

    services! { "visualization_msgs/srv/";
        /// Asks for all interactive marks.
        service GetInteractiveMarkers = "RIHS01_bfdfaa861f4a8422b4ec3bd02c6681e4a45a83bdc2913d8facdf923d8ad1376a" {
            request GetInteractiveMarkersRequest = "RIHS01_7fa7e0830e3cbe9c15927a29fdc09fedcd9a86757e375f29ce6b0744cb0b6905" {}
            response GetInteractiveMarkersResponse = "RIHS01_414620cf7471b5469b159989af34edd1ed9276be592e43d1b7544204f4177302" {
                sequence_number: u64,
                markers: Vec<InteractiveMarker>,
            }
            event = "RIHS01_4f89243e7571b9563464f4349ceb14a60808a9a0b6f72944dbdfffd6427da2f4"
        }
    }
}
