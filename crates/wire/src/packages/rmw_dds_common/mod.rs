//! `rmw_dds_common`: which node owns which DDS endpoint.

mod gid;

pub use gid::{GidForm, decode_participant_info, encode_participant_info};

/// Messages.
pub mod msg {
    use crate::cdr::BoundedString;
    use crate::macros::messages;

    messages! { "rmw_dds_common/msg/";
        /// GUID of a DDS entity (24 bytes on Humble and older, 16 from Iron on).
        struct Gid = "RIHS01_ab6f21cfbb0a6dbb837161e1110c2051a2850ed9f9c53944d7115d9bcebedf71" {
            data: [u8; 16],
        }

        /// A node with the readers and writers that belong to it.
        struct NodeEntitiesInfo = "RIHS01_8ffef65ee2d088c63b1e8fcd31e800ba9fc8dbe0ee15ca60d1676de5218087a7" {
            node_namespace: BoundedString<256>,
            node_name: BoundedString<256>,
            reader_gid_seq: Vec<Gid>,
            writer_gid_seq: Vec<Gid>,
        }

        /// All nodes of one participant, published on ros_discovery_info.
        struct ParticipantEntitiesInfo = "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e" {
            gid: Gid,
            node_entities_info_seq: Vec<NodeEntitiesInfo>,
        }
    }
}
