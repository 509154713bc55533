//! `mocap4r2_marker_viz_srvs`: colours of displayed markers.

/// Services.
pub mod srv {
    use crate::std_msgs::msg::{ColorRGBA, Int32};
    use crate::macros::services;

    services! { "mocap4r2_marker_viz_srvs/srv/";
        /// Gives one marker its default colour again.
        service ResetMarkerColor = "RIHS01_c856531a33728b00098a6d82bd0037d09c14b2914cf1922e39fe228f465019c4" {
            request ResetMarkerColorRequest = "RIHS01_fe766404ac9633fa88ec2ef9939e5416cabfa62fdac4ac2cb5c65ce2c9c881e4" {
                id: Int32,
            }
            response ResetMarkerColorResponse = "RIHS01_72845051b1439c337cadb977b3a2d5cb14fc7ab634e4fa350f06d6f955d54027" {}
            event = "RIHS01_1ecba316f442c83ae7004580aec796c749a0ae990c27c39cd66385629574e5f6"
        }

        /// Sets the display colour of one marker.
        service SetMarkerColor = "RIHS01_7bbeb9998fcb0847f86e0727ab3bf51c8d1e021cb46be5a8c939c03e66b0c008" {
            request SetMarkerColorRequest = "RIHS01_78682baa5b5d5ee9372ae4943cbb7fdb23ab41be93f34b329bf933be038068a0" {
                id: Int32,
                color: ColorRGBA,
            }
            response SetMarkerColorResponse = "RIHS01_66972793ae19fe24d9673d6d522501276519b4515404772642d02a7d1e23ad59" {}
            event = "RIHS01_63e4f55ba96983b29ed9abde8487d0938c94a115c4a48a1af34a299b02f52ac2"
        }
    }
}
