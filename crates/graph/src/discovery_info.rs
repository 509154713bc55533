//! The sample of `ros_discovery_info`: which nodes a participant has, and which endpoints each node owns.
//!
//! A gid on the wire has 16 bytes since Iron and 24 (the last 8 zero) before. The type name is the same, so a reader
//! tries both layouts, and a writer must be told which one its neighbours expect.

use rosless_wire::{
    Message,
    rmw_dds_common::{self as rmw, msg},
};

use crate::Gid;

pub(crate) const TOPIC: &str = "ros_discovery_info";
pub(crate) const TYPE: &str = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";
pub(crate) const TYPE_HASH: &str = msg::ParticipantEntitiesInfo::TYPE_HASH;

/// How many bytes a gid has in `ros_discovery_info`.
pub use rmw::GidForm as GidSize;

/// One node of a participant and the endpoints it owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEntities {
    /// Absolute: `/` or `/a/b`.
    pub namespace: String,
    pub name: String,
    pub readers: Vec<Gid>,
    pub writers: Vec<Gid>,
}

/// All nodes of one participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantEntities {
    pub participant: Gid,
    pub nodes: Vec<NodeEntities>,
}

/// The payload (with encapsulation header) of `ros_discovery_info` for `entities`.
pub fn encode(entities: &ParticipantEntities, size: GidSize) -> Vec<u8> {
    let gids = |gids: &[Gid]| gids.iter().map(|gid| msg::Gid { data: gid.0 }).collect();
    let node = |node: &NodeEntities| msg::NodeEntitiesInfo {
        // ROS refuses names that are too long for the message before they come here.
        node_namespace: node.namespace.clone().try_into().unwrap_or_default(),
        node_name: node.name.clone().try_into().unwrap_or_default(),
        reader_gid_seq: gids(&node.readers),
        writer_gid_seq: gids(&node.writers),
    };
    let info = msg::ParticipantEntitiesInfo {
        gid: msg::Gid { data: entities.participant.0 },
        node_entities_info_seq: entities.nodes.iter().map(node).collect(),
    };
    rmw::encode_participant_info(&info, size)
}

/// Reads a payload of either gid size; `None` when it fits neither.
pub fn decode(payload: &[u8]) -> Option<ParticipantEntities> {
    let (info, _) = rmw::decode_participant_info(payload).ok()?;
    let gids = |gids: Vec<msg::Gid>| gids.into_iter().map(|gid| Gid(gid.data)).collect();
    let node = |node: msg::NodeEntitiesInfo| NodeEntities {
        namespace: node.node_namespace.into_inner(),
        name: node.node_name.into_inner(),
        readers: gids(node.reader_gid_seq),
        writers: gids(node.writer_gid_seq),
    };
    Some(ParticipantEntities {
        participant: Gid(info.gid.data),
        nodes: info.node_entities_info_seq.into_iter().map(node).collect(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gid() -> impl Strategy<Value = Gid> {
        any::<[u8; 16]>().prop_map(Gid)
    }

    fn entities() -> impl Strategy<Value = ParticipantEntities> {
        let node = (
            "/[a-z_/]{0,12}",
            "[a-z_0-9]{1,12}",
            prop::collection::vec(gid(), 0..5),
            prop::collection::vec(gid(), 0..5),
        )
            .prop_map(|(namespace, name, readers, writers)| NodeEntities {
                namespace,
                name,
                readers,
                writers,
            });
        (gid(), prop::collection::vec(node, 0..4))
            .prop_map(|(participant, nodes)| ParticipantEntities { participant, nodes })
    }

    proptest! {
        #[test]
        fn both_sizes_are_read_back(entities in entities()) {
            prop_assert_eq!(decode(&encode(&entities, GidSize::Bytes16)), Some(entities.clone()));
            prop_assert_eq!(decode(&encode(&entities, GidSize::Bytes24)), Some(entities));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_truncated_sample_is_refused(entities in entities(), cut in 8usize..40) {
            let payload = encode(&entities, GidSize::Bytes16);
            prop_assert_ne!(decode(&payload[..payload.len().saturating_sub(cut)]), Some(entities));
        }
    }

    #[test]
    fn a_lying_length_costs_no_memory() {
        let mut payload = vec![0, 1, 0, 0];
        payload.extend([7; 16]);
        payload.extend(u32::MAX.to_le_bytes());
        assert_eq!(decode(&payload), None);
    }
}
