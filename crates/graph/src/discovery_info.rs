//! The sample of `ros_discovery_info`: which nodes a participant has, and which endpoints each node owns.
//!
//! A gid on the wire has 16 bytes since Iron and 24 (the last 8 zero) before. The type name is the same, so a reader
//! tries both layouts, and a writer must be told which one its neighbours expect.

use std::collections::BTreeMap;

use rosless_wire::{
    Message,
    rmw_dds_common::{self as rmw, msg},
};

use crate::{Gid, GidPrefix, Vendor};

pub(crate) const TOPIC: &str = "ros_discovery_info";
pub(crate) const TYPE: &str = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";
pub(crate) const TYPE_HASH: &str = msg::ParticipantEntitiesInfo::TYPE_HASH;

/// A participant with a thousand nodes and four thousand endpoints needs a quarter of it.
const LONGEST: usize = 1 << 20;

/// How many bytes a gid has in `ros_discovery_info`.
pub use rmw::GidForm as GidSize;

/// One node of a participant and the endpoints it owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeEntities {
    /// Absolute: `/` or `/a/b`.
    pub namespace: String,
    /// Without its namespace.
    pub name: String,
    /// What it subscribes to, serves and hears answers with.
    pub readers: Vec<Gid>,
    /// What it publishes, asks and answers with.
    pub writers: Vec<Gid>,
}

/// All nodes of one participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantEntities {
    /// Whose nodes they are.
    pub participant: Gid,
    /// All its nodes.
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

/// Which size of gid the peers write, and so expect.
///
/// Humble and older cannot read the short form and newer ones not the long one; the newer ones are preferred. Our own kind
/// reads both and follows the others, so it does not count.
#[derive(Debug, Default)]
pub(crate) struct SpokenSizes(BTreeMap<GidPrefix, GidSize>);

impl SpokenSizes {
    /// More participants than this have nothing new to say.
    const MAX: usize = 1000;

    /// A participant wrote its nodes in this size.
    pub(crate) fn heard(&mut self, from: &Gid, vendor: Vendor, size: GidSize) {
        if vendor != Vendor::RustDds && (self.0.len() < Self::MAX || self.0.contains_key(&from.prefix())) {
            self.0.insert(from.prefix(), size);
        }
    }

    pub(crate) fn left(&mut self, participant: GidPrefix) {
        self.0.remove(&participant);
    }

    /// What to write.
    pub(crate) fn wanted(&self) -> GidSize {
        let old = !self.0.is_empty() && self.0.values().all(|size| *size == GidSize::Bytes24);
        if old { GidSize::Bytes24 } else { GidSize::Bytes16 }
    }
}

/// Reads a payload of either gid size; `None` when it fits neither.
pub fn decode(payload: &[u8]) -> Option<ParticipantEntities> {
    decode_with_size(payload).map(|(entities, _)| entities)
}

pub(crate) fn decode_with_size(payload: &[u8]) -> Option<(ParticipantEntities, GidSize)> {
    if payload.len() > LONGEST {
        return None;
    }
    let (info, size) = rmw::decode_participant_info(payload).ok()?;
    let gids = |gids: Vec<msg::Gid>| gids.into_iter().map(|gid| Gid(gid.data)).collect();
    let node = |node: msg::NodeEntitiesInfo| NodeEntities {
        namespace: node.node_namespace.into_inner(),
        name: node.node_name.into_inner(),
        readers: gids(node.reader_gid_seq),
        writers: gids(node.writer_gid_seq),
    };
    let nodes = info.node_entities_info_seq.into_iter().map(node).collect();
    Some((ParticipantEntities { participant: Gid(info.gid.data), nodes }, size))
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
    fn the_size_of_gids_is_that_of_the_peers() {
        let peer = |vendor: u8, number: u8| {
            let mut gid = Gid([number; 16]);
            gid.0[..2].copy_from_slice(&[1, vendor]);
            gid
        };
        let (cyclone, fast, ours) = (peer(0x10, 1), peer(0x0f, 2), peer(0x12, 3));
        let mut sizes = SpokenSizes::default();
        assert_eq!(sizes.wanted(), GidSize::Bytes16, "nobody is there");
        sizes.heard(&ours, ours.vendor(), GidSize::Bytes16);
        sizes.heard(&cyclone, cyclone.vendor(), GidSize::Bytes24);
        assert_eq!(sizes.wanted(), GidSize::Bytes24, "only Humble is there");
        sizes.heard(&fast, fast.vendor(), GidSize::Bytes16);
        assert_eq!(sizes.wanted(), GidSize::Bytes16, "a newer one is there as well");
        sizes.left(fast.prefix());
        assert_eq!(sizes.wanted(), GidSize::Bytes24);
        sizes.left(cyclone.prefix());
        assert_eq!(sizes.wanted(), GidSize::Bytes16);
    }

    #[test]
    fn a_lying_length_costs_no_memory() {
        let mut payload = vec![0, 1, 0, 0];
        payload.extend([7; 16]);
        payload.extend(u32::MAX.to_le_bytes());
        assert_eq!(decode(&payload), None);
    }
}
