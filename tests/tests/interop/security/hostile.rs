//! Strangers who send what a handshake begins with, and garbage in the names of others.

use std::{
    net::{Ipv4Addr, UdpSocket},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rosless_graph::{ContextOptions, Publisher, Subscription};
use rosless_tests::Vendor;
use rosless_wire::{Message, names, std_msgs::msg::String as Text};

use super::{Lab, Speaker, alone, is_alone, turn_until};
use crate::ours::{PATIENCE, typehash};

type Prefix = [u8; 12];

/// The port at which the `number`-th participant of a domain and host is announced to.
fn port(lab: &Lab, number: u16) -> u16 {
    7410 + 250 * lab.domain.id() + 2 * number
}

/// The first announcement of somebody who is secured, as it is on the wire. Fast DDS begins with a datagram that has nothing
/// but locators for its own processes.
fn announcement(socket: &UdpSocket) -> (Prefix, Vec<u8>) {
    first_announcement(socket, is_secured)
}

/// Who is secured tells its token.
fn is_secured(announcement: &[u8]) -> bool {
    announcement.windows(8).any(|bytes| bytes == b"DDS:Auth")
}

fn first_announcement(socket: &UdpSocket, is_it: impl Fn(&[u8]) -> bool) -> (Prefix, Vec<u8>) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut buffer = [0; 65536];
    while Instant::now() < deadline {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let bytes = &buffer[..length];
        if bytes.starts_with(b"RTPS") && is_it(bytes) {
            return (bytes[8..20].try_into().unwrap(), bytes.to_vec());
        }
    }
    panic!("nobody was announced within {PATIENCE:?}");
}

/// The same announcement of another participant.
fn renamed(packet: &[u8], from: Prefix, to: Prefix) -> Vec<u8> {
    let mut packet = packet.to_vec();
    for at in 0..packet.len() - 11 {
        if packet[at..at + 12] == from {
            packet[at..at + 12].copy_from_slice(&to);
        }
    }
    packet
}

/// Memory is that of the whole process: no other test floods it meanwhile.
fn alone_with_the_flood() -> MutexGuard<'static, ()> {
    static FLOODS: Mutex<()> = Mutex::new(());
    FLOODS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Two members that have met, and what strangers know of them.
struct Members {
    lab: Lab,
    a: Speaker,
    b: Speaker,
    talker: Publisher<Text>,
    listener: Subscription<Vec<String>>,
    /// Who of them was announced, and how.
    victim: Prefix,
    packet: Vec<u8>,
    socket: UdpSocket,
    resident: u64,
    _alone: MutexGuard<'static, ()>,
}

impl Members {
    fn met() -> Self {
        let alone = alone_with_the_flood();
        let lab = Lab::new(&["/a", "/b", "/late"]);
        let mut a = Speaker::new(lab.options("/a"), "a");
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port(&lab, 5))).unwrap();
        let mut b = Speaker::new(lab.options("/b"), "b");
        let (talker, listener) = (a.talker(), b.listen());
        turn_until("a and b met", &mut [&mut a, &mut b], |_| {
            talker.matched() == 1 && listener.matched() == 1
        });
        let (victim, packet) = announcement(&socket);
        let resident = resident();
        Self { lab, a, b, talker, listener, victim, packet, socket, resident, _alone: alone }
    }

    /// Somebody who comes when the strangers have come, and is heard.
    fn meet_another(&mut self) {
        let mut late = Speaker::new(self.lab.options("/late"), "late");
        let (talker, listener) = (&self.talker, late.listen());
        let all = &mut [&mut self.a, &mut self.b, &mut late];
        turn_until("a newcomer is met", all, |_| talker.matched() == 2 && listener.matched() == 1);
        let before = all[1].heard.len();
        assert!(talker.publish(&Text { data: "still here".into() }));
        turn_until("both hear", all, |all| all[1].heard.len() > before && !all[2].heard.is_empty());
    }

    #[track_caller]
    fn memory_is_bounded(&self) {
        const ALLOWANCE: u64 = 64 << 20;
        let more = resident().saturating_sub(self.resident);
        assert!(more < ALLOWANCE, "the strangers took {} MB", more >> 20);
    }
}

#[test]
fn thousands_who_begin_a_handshake_keep_nobody_out_and_fill_no_memory() {
    const STRANGERS: u32 = 3000;
    let mut members = Members::met();
    for stranger in 0..STRANGERS {
        let packet = renamed(&members.packet, members.victim, invented(stranger));
        members.socket.send_to(&packet, (Ipv4Addr::LOCALHOST, port(&members.lab, 0))).unwrap();
        if stranger % 16 == 0 {
            members.a.turn();
            members.b.turn();
        }
    }
    members.meet_another();
    members.memory_is_bounded();
}

/// A message of a handshake without any content, in the words of `from`, as the answer to message `number` of `to`.
fn handshake(from: Prefix, to: Prefix, number: u32, step: &str) -> Vec<u8> {
    const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];
    const WRITER: [u8; 4] = [0, 2, 1, 0xc3];
    const READER: [u8; 4] = [0, 2, 1, 0xc4];
    let guid = |prefix: Prefix| [&prefix[..], &PARTICIPANT].concat();
    let text = |text: &str| {
        let mut bytes = [&(text.len() as u32 + 1).to_le_bytes(), text.as_bytes(), &[0]].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let identity =
        |prefix: Prefix, number: u32| [guid(prefix), u64::from(number).to_le_bytes().to_vec()].concat();
    let nothing = 0u32.to_le_bytes();
    let payload = [
        &[0u8, 1, 0, 0][..],
        &identity(from, 1000 + number),
        &identity(to, number),
        &guid(to),
        &[0; 32],
        &text("dds.sec.auth"),
        &1u32.to_le_bytes(),
        &text(&format!("DDS:Auth:PKI-DH:1.0+{step}")),
        &nothing,
        &nothing,
    ]
    .concat();
    let submessage = |id: u8, flags: u8, body: &[u8]| {
        [&[id, flags | 1], &(body.len() as u16).to_le_bytes()[..], body].concat()
    };
    let number = [[0; 4], (1000 + number).to_le_bytes()].concat();
    let data = [&[0u8, 0, 16, 0][..], &READER, &WRITER, &number, &payload].concat();
    [&b"RTPS\x02\x03\x01\x12"[..], &from, &submessage(0x0e, 0, &to), &submessage(0x15, 4, &data)].concat()
}

#[test]
fn what_strangers_say_of_a_handshake_keeps_nobody_out() {
    let _alone = alone_with_the_flood();
    for _ in 0..4 {
        let lab = Lab::new(&["/ours", "/theirs"]);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port(&lab, 1))).unwrap();
        let Some(mut peer) = lab.peer(Vendor::FastDds, "/theirs") else { return };
        let dds_type = names::type_to_dds(Text::TYPE_NAME).unwrap();
        peer.reader("r", "rt/chatter", &dds_type, "reliable,volatile,0", &typehash(Text::TYPE_HASH));
        let (theirs, packet) = announcement(&socket);
        // While it sleeps, others speak for it.
        peer.signal("STOP");
        drop(socket);
        let mut ours = Speaker::new(lab.options("/ours"), "ours");
        let us = ours.node.context().gid().prefix().0;
        let talker = ours.talker();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            // We are whichever participant is free: the peer is number 0, if it was the first.
            for at in 0..4 {
                let to = (Ipv4Addr::LOCALHOST, port(&lab, at));
                socket.send_to(&packet, to).unwrap();
                for number in 0..8 {
                    for step in ["Req", "Reply", "Final"] {
                        socket.send_to(&handshake(theirs, us, number, step), to).unwrap();
                    }
                }
            }
            ours.turn();
        }
        peer.signal("CONT");
        turn_until("the one whose name was taken is met", &mut [&mut ours], |_| {
            talker.matched() == 1 && peer.matched("r") == 1
        });
    }
}

/// Floods until it is dropped.
struct Flood {
    goes_on: Arc<AtomicBool>,
    thread: Option<JoinHandle<u32>>,
}

impl Flood {
    /// Sends what `packets` makes of the number of each stranger to the first participants of the domain.
    fn begin(lab: &Lab, packets: impl Fn(u32) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        let (flag, ports) = (goes_on.clone(), [0, 1].map(|number| port(lab, number)));
        let thread = std::thread::spawn(move || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut strangers = 0;
            while flag.load(Ordering::Relaxed) {
                for packet in packets(strangers) {
                    for port in ports {
                        // Who has no room yet, or is gone, hears the next one.
                        let _ = socket.send_to(&packet, (Ipv4Addr::LOCALHOST, port));
                    }
                }
                strangers += 1;
            }
            strangers
        });
        Self { goes_on, thread: Some(thread) }
    }

    fn end(mut self) -> u32 {
        self.goes_on.store(false, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
    }
}

fn invented(stranger: u32) -> Prefix {
    let mut prefix = [0x80 | (stranger % 128) as u8; 12];
    prefix[8..].copy_from_slice(&stranger.to_be_bytes());
    prefix
}

#[test]
fn an_endless_flood_of_handshakes_stalls_nobody_and_fills_no_memory() {
    const FLOODED: Duration = Duration::from_secs(6);
    let mut members = Members::met();
    let us = members.a.node.context().gid().prefix().0;
    let (victim, packet) = (members.victim, members.packet.clone());
    // Each comes, and says all that can be said in a handshake, in its own name and in that of a member.
    let flood = Flood::begin(&members.lab, move |stranger| {
        let name = invented(stranger);
        let mut packets = vec![renamed(&packet, victim, name)];
        for step in ["Req", "Reply", "Final"] {
            packets.push(handshake(name, us, stranger, step));
            packets.push(handshake(victim, us, stranger, step));
        }
        packets
    });
    let begin = Instant::now();
    let mut said = 0;
    while begin.elapsed() < FLOODED {
        assert!(members.talker.publish(&Text { data: said.to_string() }));
        said += 1;
        let Members { a, b, .. } = &mut members;
        turn_until("heard in the flood", &mut [a, b], |speakers| speakers[1].heard.len() >= said);
        members.memory_is_bounded();
    }
    assert_eq!((members.talker.matched(), members.listener.matched()), (1, 1), "members stay");
    let strangers = flood.end();
    assert!(strangers > 1000, "{strangers} are no flood");
    members.meet_another();
}

#[test]
fn strangers_without_end_are_told_of_now_and_then() {
    if is_alone() {
        return;
    }
    let _alone = alone_with_the_flood();
    let lab = Lab::new(&["/a"]);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port(&lab, 5))).unwrap();
    let talker = alone(&lab, "/a", "security::hostile::strangers_without_end_are_told_of_now_and_then");
    let refusals =
        || talker.filter_map(|line| line.contains(" is refused: it has no security").then_some(()));
    let mut open = Speaker::new(ContextOptions::for_domain(lab.domain.id()), "open");
    turn_until("the first is refused", &mut [&mut open], |_| !refusals().is_empty());
    let (name, packet) = first_announcement(&socket, |bytes| !is_secured(bytes));
    let flood = Flood::begin(&lab, move |stranger| {
        // 128 of them are looked at in a second.
        std::thread::sleep(Duration::from_millis(1));
        vec![renamed(&packet, name, invented(stranger))]
    });
    talker.wait_for_line("from now on one is told of per second", PATIENCE);
    let begin = Instant::now();
    let told = refusals().len();
    turn_until("three seconds later", &mut [&mut open], |_| begin.elapsed() > Duration::from_secs(3));
    let more = refusals().len() - told;
    let strangers = flood.end();
    assert!(strangers > 500, "{strangers} are no flood");
    assert!(more < 10, "{more} more lines within {:?}", begin.elapsed());
}
