//! How a reply finds its request.
//!
//! The vendors disagree on it. Cyclone puts 16 bytes (client id, sequence number) in front of the body; Fast DDS leaves the
//! body alone and puts the reply reader's gid and the request's sequence number into inline QoS. The mapping is chosen per
//! peer, from the vendor that its participant announces; between our own processes it is Fast's.

use rosless_wire::cdr::ByteOrder;
use rustdds::bytes::Bytes;

use crate::{Gid, Graph, SampleInfo, Vendor, introspection::CallId, raw::RawSample};

/// RTPS's SEQUENCENUMBER_UNKNOWN: a Fast DDS client tells only its reader, the number is that of the sample itself.
pub(super) const UNKNOWN_SEQUENCE: i64 = (u32::MAX as i64) << 32;
/// Cyclone's 16 bytes in front of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CycloneHeader {
    pub(super) client: u64,
    pub(super) sequence: i64,
}

impl CycloneHeader {
    const LENGTH: usize = 16;

    /// Splits a body into header and the rest, which keeps its alignment: 16 is a multiple of 8.
    pub(super) fn split(body: &Bytes, order: ByteOrder) -> Option<(Self, Bytes)> {
        let (client, rest) = body.split_first_chunk::<8>()?;
        let (sequence, _) = rest.split_first_chunk::<8>()?;
        let header = match order {
            ByteOrder::Little => {
                Self { client: u64::from_le_bytes(*client), sequence: i64::from_le_bytes(*sequence) }
            }
            ByteOrder::Big => {
                Self { client: u64::from_be_bytes(*client), sequence: i64::from_be_bytes(*sequence) }
            }
        };
        Some((header, body.slice(Self::LENGTH..)))
    }

    /// Puts the header into a little-endian payload.
    pub(super) fn join(self, payload: &[u8]) -> Vec<u8> {
        let (encapsulation, body) = payload.split_at(4);
        [encapsulation, &self.client.to_le_bytes(), &self.sequence.to_le_bytes(), body].concat()
    }
}

/// Whom a reply goes to, in the words of the asker's vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    Cyclone {
        header: CycloneHeader,
        writer: Gid,
    },
    /// `reader`: the asker's reply reader.
    Fast {
        reader: Gid,
        sequence: i64,
    },
    /// Fast's form from a peer that did not say which reader it listens with.
    Anonymous {
        writer: Gid,
        sequence: i64,
    },
}

impl Asker {
    /// Who asked, and the request without the vendor's header.
    pub(super) fn of(sample: RawSample, vendor: Vendor) -> Option<(Self, Bytes)> {
        let SampleInfo { publisher: writer, sequence_number: sequence, .. } = sample.info;
        if vendor == Vendor::Cyclone {
            let (header, body) = CycloneHeader::split(&sample.body, sample.order)?;
            return Some((Self::Cyclone { header, writer }, body));
        }
        let asker = match sample.related {
            Some((reader, _)) => Self::Fast { reader, sequence },
            None => Self::Anonymous { writer, sequence },
        };
        Some((asker, sample.body))
    }

    /// The matched readers a reply must be written to; empty while the asker's reader is not known yet.
    pub(super) fn readers(&self, reply_writer: &Gid, graph: &Graph) -> Vec<Gid> {
        match self {
            Self::Fast { reader, .. } => {
                Vec::from_iter(graph.is_matched(reply_writer, reader).then_some(*reader))
            }
            Self::Cyclone { writer, .. } | Self::Anonymous { writer, .. } => {
                let tag = |gid: &Gid| graph.endpoint(gid).and_then(|endpoint| endpoint.service_tag.as_ref());
                let (prefix, asked) = (writer.prefix(), tag(writer));
                let neighbours = graph.matched(reply_writer).filter(|reader| reader.prefix() == prefix);
                neighbours.filter(|reader| asked.is_none() || tag(reader) == asked).copied().collect()
            }
        }
    }

    /// The call as its client knows it.
    pub(super) fn call(&self) -> CallId {
        let mut client = [0; 16];
        match self {
            Self::Cyclone { header, .. } => {
                client[..8].copy_from_slice(&header.client.to_le_bytes());
                CallId { client, sequence: header.sequence }
            }
            Self::Fast { reader: gid, sequence } | Self::Anonymous { writer: gid, sequence } => {
                CallId { client: gid.0, sequence: *sequence }
            }
        }
    }

    pub(super) fn reply(&self, payload: &[u8]) -> (Vec<u8>, Option<(Gid, i64)>) {
        match self {
            Self::Cyclone { header, .. } => (header.join(payload), None),
            Self::Fast { reader: gid, sequence } | Self::Anonymous { writer: gid, sequence } => {
                (payload.to_vec(), Some((*gid, *sequence)))
            }
        }
    }
}
#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::Qos;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn gid(hex: &str) -> Gid {
        Gid(bytes(hex).try_into().unwrap())
    }

    /// A sample as RustDDS hands it over: the payload's header is taken off.
    fn sample(payload: &str, writer: &str, related: Option<(Gid, i64)>) -> RawSample {
        RawSample {
            body: Bytes::from(bytes(payload)).slice(4..),
            order: ByteOrder::Little,
            info: SampleInfo {
                source_stamp: None,
                reception_stamp: SystemTime::UNIX_EPOCH,
                publisher: gid(writer),
                sequence_number: 1,
            },
            related,
            is_last: true,
        }
    }

    // AddTwoInts 2 + 3, as captured between rclcpp processes on each vendor's middleware.
    const BODY: &str = "02000000000000000300000000000000";
    const RESPONSE: &str = "000100000500000000000000";

    #[test]
    fn cyclone_gets_its_sixteen_bytes_back_in_front_of_the_reply() {
        let request = "0001000011ef9c8620bced46010000000000000002000000000000000300000000000000";
        let reply = "0001000011ef9c8620bced4601000000000000000500000000000000";
        let (asker, body) =
            Asker::of(sample(request, "0110b0d5ed6ad64313519b7800001703", None), Vendor::Cyclone).unwrap();
        assert_eq!(body, bytes(BODY));
        assert_eq!(asker.reply(&bytes(RESPONSE)), (bytes(reply), None));
    }

    #[test]
    fn fast_dds_gets_its_reader_and_the_number_of_its_request_in_inline_qos() {
        let reader = gid("010f7f01345b7ebc0000000000001404");
        let request = format!("00010000{BODY}");
        let related = Some((reader, UNKNOWN_SEQUENCE));
        let (asker, body) =
            Asker::of(sample(&request, "010f7f01345b7ebc0000000000001503", related), Vendor::FastDds)
                .unwrap();
        assert_eq!(body, bytes(BODY));
        assert_eq!(asker.reply(&bytes(RESPONSE)), (bytes(RESPONSE), Some((reader, 1))));
    }

    #[test]
    fn a_cyclone_request_without_its_header_is_refused() {
        let short = sample("0001000011ef9c86", "0110b0d5ed6ad64313519b7800001703", None);
        assert_eq!(Asker::of(short, Vendor::Cyclone), None);
    }

    #[test]
    fn a_big_endian_cyclone_header_is_answered_in_little_endian() {
        let header = CycloneHeader { client: 0x0102_0304_0506_0708, sequence: 9 };
        let big = [&header.client.to_be_bytes()[..], &header.sequence.to_be_bytes(), b"body"].concat();
        let (read, rest) = CycloneHeader::split(&Bytes::from(big), ByteOrder::Big).unwrap();
        assert_eq!((read, &rest[..]), (header, &b"body"[..]));
        assert_eq!(
            CycloneHeader::split(&Bytes::from(header.join(b"\0\x01\0\0body")).slice(4..), ByteOrder::Little),
            Some((header, rest))
        );
    }
    fn endpoint(gid: Gid, tag: Option<&str>) -> crate::graph::Endpoint {
        crate::graph::Endpoint {
            gid,
            kind: crate::graph::EndpointKind::Reader,
            dds_topic: "rr/addReply".into(),
            dds_type: "pkg::srv::dds_::Add_Response_".into(),
            type_hash: None,
            qos: Qos::services().into(),
            service_tag: tag.map(Into::into),
            part: None,
        }
    }

    #[test]
    fn a_cyclone_reply_goes_to_the_asking_client_only() {
        let writer = gid("01120000000000000000000000000103");
        let asking = gid("0110b0d5ed6ad64313519b7800001703");
        let its_reader = gid("0110b0d5ed6ad64313519b7800001804");
        let neighbour = gid("0110b0d5ed6ad64313519b7800001904");
        let stranger = gid("0110ffffffffffffffffffff00001804");
        let mut graph = Graph::default();
        for reader in [its_reader, neighbour, stranger] {
            graph.add_match(writer, reader);
        }
        let asker = Asker::Cyclone { header: CycloneHeader { client: 1, sequence: 1 }, writer: asking };
        // Without client ids all clients of the participant get it; they sort it out by the header.
        assert_eq!(asker.readers(&writer, &graph), [its_reader, neighbour]);
        graph.add_endpoint(endpoint(asking, Some("one")));
        graph.add_endpoint(endpoint(its_reader, Some("one")));
        graph.add_endpoint(endpoint(neighbour, Some("two")));
        assert_eq!(asker.readers(&writer, &graph), [its_reader]);
    }
}
