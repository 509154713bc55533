use super::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use crate::cdr::{ByteOrder, Cdr, Decoder, Encoder, Error};

/// How many bytes a [`Gid`] takes on the wire. The type name does not tell, so the user has to: Humble and older
/// send 24, Iron and newer 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GidForm {
    /// The GUID.
    #[default]
    Bytes16,
    /// The GUID and eight zeros.
    Bytes24,
}

impl GidForm {
    fn len(self) -> usize {
        match self {
            GidForm::Bytes16 => 16,
            GidForm::Bytes24 => 24,
        }
    }
}

/// The payload of a `ros_discovery_info` sample in the wanted form, padded to 4.
pub fn encode_participant_info(info: &ParticipantEntitiesInfo, form: GidForm) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Little);
    let put_gid = |encoder: &mut Encoder, gid: &Gid| {
        encoder.put(&gid.data);
        encoder.put(&[0; 8][..form.len() - gid.data.len()]);
    };
    put_gid(&mut encoder, &info.gid);
    encoder.put_len(info.node_entities_info_seq.len());
    for node in &info.node_entities_info_seq {
        node.node_namespace.encode(&mut encoder);
        node.node_name.encode(&mut encoder);
        for gids in [&node.reader_gid_seq, &node.writer_gid_seq] {
            encoder.put_len(gids.len());
            gids.iter().for_each(|gid| put_gid(&mut encoder, gid));
        }
    }
    let mut payload = encoder.finish();
    payload.resize(payload.len().next_multiple_of(4), 0);
    payload
}

/// Decodes a `ros_discovery_info` sample of either form and says which it was.
///
/// The right form is the one that uses the payload up to its padding. If neither does, because a peer sent
/// bytes behind the end, the form that everyone uses today is tried without that condition.
pub fn decode_participant_info(payload: &[u8]) -> Result<(ParticipantEntitiesInfo, GidForm), Error> {
    for form in [GidForm::Bytes16, GidForm::Bytes24] {
        let mut decoder = Decoder::new(payload)?;
        if let Ok(info) = decode(&mut decoder, form)
            && decoder.remaining() < 4
        {
            return Ok((info, form));
        }
    }
    Ok((decode(&mut Decoder::new(payload)?, GidForm::Bytes16)?, GidForm::Bytes16))
}

fn decode(decoder: &mut Decoder<'_>, form: GidForm) -> Result<ParticipantEntitiesInfo, Error> {
    let gid = take_gid(decoder, form)?;
    let count = decoder.take_len(NodeEntitiesInfo::MIN_SIZE)?;
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(NodeEntitiesInfo {
            node_namespace: Cdr::decode(decoder)?,
            node_name: Cdr::decode(decoder)?,
            reader_gid_seq: take_gids(decoder, form)?,
            writer_gid_seq: take_gids(decoder, form)?,
        });
    }
    Ok(ParticipantEntitiesInfo { gid, node_entities_info_seq: nodes })
}

fn take_gids(decoder: &mut Decoder<'_>, form: GidForm) -> Result<Vec<Gid>, Error> {
    (0..decoder.take_len(form.len())?).map(|_| take_gid(decoder, form)).collect()
}

fn take_gid(decoder: &mut Decoder<'_>, form: GidForm) -> Result<Gid, Error> {
    let data = decoder.take_chunk()?;
    decoder.take(form.len() - 16)?;
    Ok(Gid { data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> ParticipantEntitiesInfo {
        let gid = |n| Gid { data: [n; 16] };
        let node = |name: &str, readers, writers| NodeEntitiesInfo {
            node_namespace: "/".try_into().unwrap(),
            node_name: name.try_into().unwrap(),
            reader_gid_seq: readers,
            writer_gid_seq: writers,
        };
        ParticipantEntitiesInfo {
            gid: gid(7),
            node_entities_info_seq: vec![
                node("a", vec![gid(1), gid(2)], vec![]),
                node("bc", vec![], vec![gid(3)]),
            ],
        }
    }

    #[test]
    fn both_gid_forms_are_told_apart() {
        for info in [info(), ParticipantEntitiesInfo { gid: Gid { data: [9; 16] }, ..Default::default() }] {
            for form in [GidForm::Bytes16, GidForm::Bytes24] {
                let payload = encode_participant_info(&info, form);
                assert_eq!(decode_participant_info(&payload), Ok((info.clone(), form)));
            }
        }
    }

    #[test]
    fn the_short_form_is_the_plain_message() {
        assert_eq!(encode_participant_info(&info(), GidForm::Bytes16), crate::cdr::to_payload(&info()));
    }

    #[test]
    fn trailing_bytes_leave_the_short_form() {
        let mut payload = encode_participant_info(&info(), GidForm::Bytes16);
        payload.extend([0xaa; 9]);
        assert_eq!(decode_participant_info(&payload), Ok((info(), GidForm::Bytes16)));
    }

    #[test]
    fn every_truncation_is_an_error_or_an_older_sample() {
        for form in [GidForm::Bytes16, GidForm::Bytes24] {
            let payload = encode_participant_info(&info(), form);
            for len in 0..payload.len() {
                if let Ok((decoded, _)) = decode_participant_info(&payload[..len]) {
                    assert_ne!(decoded, info(), "{len} bytes of {form:?}");
                }
            }
        }
    }
}
