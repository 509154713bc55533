//! A service client as a vendor's RMW would be one, on top of a raw peer.

use std::{cell::RefCell, collections::BTreeMap, marker::PhantomData, rc::Rc};

use rosless_tests::{ForeignPeer, ForeignSample, Vendor};
use rosless_wire::{Message, Service, cdr, names};

use crate::ours::typehash;

const QOS: &str = "reliable,volatile,0";

/// What rmw_cyclonedds writes in front of a body, after the encapsulation header.
pub(crate) fn with_cyclone_header(payload: &[u8], client: u64, sequence: i64) -> Vec<u8> {
    [&payload[..4], &client.to_le_bytes(), &sequence.to_le_bytes(), &payload[4..]].concat()
}

pub(crate) fn split_cyclone_header(payload: &[u8]) -> (u64, i64, Vec<u8>) {
    let number = |at: usize| payload[at..at + 8].try_into().expect("eight bytes");
    (u64::from_le_bytes(number(4)), i64::from_le_bytes(number(12)), [&payload[..4], &payload[20..]].concat())
}

pub(crate) struct ForeignClient<T> {
    peer: Rc<RefCell<ForeignPeer>>,
    reader_id: String,
    writer_id: String,
    reply_reader: [u8; 16],
    cyclone_id: u64,
    calls: i64,
    service: PhantomData<T>,
}

impl<T: Service> ForeignClient<T> {
    /// `service` is the full ROS name.
    pub(crate) fn new(peer: &Rc<RefCell<ForeignPeer>>, service: &str) -> Self {
        let dds = |type_name: &str| names::type_to_dds(type_name).expect("wire types have valid names");
        let request_topic = names::service_request_topic(service).expect("a valid name");
        let reply_topic = names::service_reply_topic(service).expect("a valid name");
        let (reader_id, writer_id) = (format!("reply:{service}"), format!("request:{service}"));
        let (reply, request) = (dds(T::Response::TYPE_NAME), dds(T::Request::TYPE_NAME));
        let mut made = peer.borrow_mut();
        let reply_reader =
            made.reader(&reader_id, &reply_topic, &reply, QOS, &typehash(T::Response::TYPE_HASH));
        made.writer(&writer_id, &request_topic, &request, QOS, &typehash(T::Request::TYPE_HASH));
        drop(made);
        let service = PhantomData;
        Self {
            peer: peer.clone(),
            reader_id,
            writer_id,
            reply_reader,
            cyclone_id: 0x1234_5678_9abc_def0,
            calls: 0,
            service,
        }
    }

    pub(crate) fn vendor(&self) -> Vendor {
        self.peer.borrow().vendor()
    }

    pub(crate) fn is_matched(&self) -> bool {
        let peer = self.peer.borrow();
        peer.matched(&self.reader_id) == 1 && peer.matched(&self.writer_id) == 1
    }

    /// Sends a request and returns its number.
    pub(crate) fn call(&mut self, request: &T::Request) -> i64 {
        self.calls += 1;
        let payload = cdr::to_payload(request);
        let mut peer = self.peer.borrow_mut();
        match peer.vendor() {
            Vendor::Cyclone => {
                peer.write(&self.writer_id, &with_cyclone_header(&payload, self.cyclone_id, self.calls));
            }
            Vendor::FastDds => peer.write_related(&self.writer_id, &payload, self.reply_reader, None),
        }
        self.calls
    }

    pub(crate) fn send_raw(&mut self, payload: &[u8]) {
        // It has a sequence number on the wire like any other.
        self.calls += 1;
        self.peer.borrow_mut().write(&self.writer_id, payload);
    }

    /// How many replies have come, for whomever.
    pub(crate) fn replies(&self) -> usize {
        self.peer.borrow().samples(&self.reader_id).len()
    }

    /// Responses by request number, as the vendor's client would take them.
    pub(crate) fn answers(&self) -> BTreeMap<i64, T::Response> {
        let peer = self.peer.borrow();
        let answer = |sample: &ForeignSample| {
            let (number, payload) = match peer.vendor() {
                Vendor::Cyclone => {
                    let (client, sequence, payload) = split_cyclone_header(&sample.payload);
                    assert_eq!(client, self.cyclone_id, "a reply for somebody else");
                    (sequence, payload)
                }
                Vendor::FastDds => {
                    let (reader, sequence) = sample.related.expect("a reply says to what it is one");
                    assert_eq!(reader, self.reply_reader, "a reply for somebody else");
                    (sequence, sample.payload.clone())
                }
            };
            (number, cdr::from_payload(&payload).expect("a response in the client's own form"))
        };
        peer.samples(&self.reader_id).iter().map(answer).collect()
    }
}
