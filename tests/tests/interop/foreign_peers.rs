//! The foreign peers themselves: if these two vendors do not understand each other, a failure against us means nothing.

use rosless_tests::{DomainLease, Vendor};

const TYPE: &str = "std_msgs::msg::dds_::String_";
const HELLO: &[u8] = b"\x00\x01\x00\x00\x06\x00\x00\x00hello\0\0\0";

#[test]
fn cyclone_and_fast_dds_exchange_raw_samples() {
    let domain = DomainLease::acquire();
    let (Some(mut cyclone), Some(mut fast)) =
        (Vendor::Cyclone.start(domain.id()), Vendor::FastDds.start(domain.id()))
    else {
        return;
    };
    for (writer, reader, topic) in [(0, 1, "rt/first"), (1, 0, "rt/second")] {
        let peers = [&mut cyclone, &mut fast];
        peers.into_iter().enumerate().for_each(|(i, peer)| {
            if i == writer {
                peer.writer("w", topic, TYPE, "reliable,transient_local,1", b"typehash=w;");
            } else {
                peer.reader("r", topic, TYPE, "reliable,transient_local,1", b"typehash=r;");
            }
        });
        let peers = [&mut cyclone, &mut fast];
        peers[writer].wait_matched("w", 1);
        peers[writer].write("w", HELLO);
        let samples = peers[reader].wait_samples("r", 1);
        assert_eq!(samples[0].payload, HELLO);
        let seen = peers[reader].wait_endpoint("the writer", |e| e.is_writer && e.topic == topic);
        assert_eq!((seen.type_name.as_str(), seen.user_data.as_slice()), (TYPE, b"typehash=w;".as_slice()));
    }
}
