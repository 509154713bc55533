//! Single packets that ask for absurd amounts of memory or work. Each is sent as if it came from a matched writer.

mod common;

use std::net::{Ipv4Addr, UdpSocket};

use common::{exchange, local, peer, reader, reliable, resident, take, writer, Writer, SOON};
use rosless_tests::{eventually, Daemon, DomainLease};
use rustdds::{DomainParticipant, RTPSEntity};

const ALLOWANCE: u64 = 48 * 1024 * 1024;

/// A participant, its echoing peer in another process, and the means to forge packets from the one to the other.
struct Attack {
    lease: DomainLease,
    _participant: DomainParticipant,
    down: Writer,
    up: common::Reader,
    echo: Daemon,
    before: u64,
}

impl Attack {
    fn prepare() -> Self {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let down = writer(&participant, "down", &reliable(10));
        let up = reader(&participant, "up", &reliable(10));
        let echo = peer("echo", lease.id());
        exchange("echo before", &down, &up);
        let before = resident(echo.pid());
        Self { lease, _participant: participant, down, up, echo, before }
    }

    /// Sends one submessage from our writer to the peer's port for user data; ours is participant 0, so it is 1.
    fn send(&self, id: u8, body: &[&[u8]]) {
        let guid = self.down.guid().to_bytes();
        let body = body.concat();
        let mut packet = b"RTPS\x02\x03\x01\x12".to_vec();
        packet.extend(&guid[..12]);
        packet.extend([id, 1]);
        packet.extend((body.len() as u16).to_le_bytes());
        packet.extend(body);
        let port = 7400 + 250 * self.lease.id() + 11 + 2;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
        socket.send_to(&packet, (Ipv4Addr::LOCALHOST, port)).expect("sent");
    }

    fn writer_id(&self) -> Vec<u8> {
        self.down.guid().to_bytes()[12..].to_vec()
    }

    /// The peer's memory is checked first and all the time, because an undefended one takes gigabytes per second.
    #[track_caller]
    fn peer_is_well(&self) {
        let mark = common::padded(format!("after {:?}", rustdds::Timestamp::now()));
        eventually("echo after", SOON, || {
            let now = resident(self.echo.pid());
            assert!(now < self.before + ALLOWANCE, "memory went from {} to {now} bytes", self.before);
            let _ = self.down.write(mark.clone(), Some(rustdds::Timestamp::now()));
            std::thread::sleep(std::time::Duration::from_millis(20));
            take(&self.up).contains(&mark)
        });
        assert!(resident(self.echo.pid()) < self.before + ALLOWANCE);
    }
}

fn number(value: i64) -> Vec<u8> {
    [((value >> 32) as i32).to_le_bytes(), (value as u32).to_le_bytes()].concat()
}

/// Stock: collects 2^62 missing numbers until memory is exhausted.
#[test]
fn heartbeat_of_an_endless_writer() {
    let attack = Attack::prepare();
    for (count, last) in [(1_000_000i32, 1 << 62), (1_000_001, i64::MAX), (1_000_002, i64::MIN)] {
        let body = [&[0; 4], &*attack.writer_id(), &number(1), &number(last), &count.to_le_bytes()];
        attack.send(0x07, &body);
    }
    attack.peer_is_well();
}

/// Stock: stores 2^62 numbers as irrelevant.
#[test]
fn gap_without_an_end() {
    let attack = Attack::prepare();
    for base in [1 << 62, i64::MAX] {
        let body = [&[0; 4], &*attack.writer_id(), &number(1_000_000), &number(base), &0u32.to_le_bytes()];
        attack.send(0x08, &body);
    }
    attack.peer_is_well();
}

/// Stock: takes and zeroes 4 GiB per packet, also for writers it has never heard of.
#[test]
fn fragment_of_a_giant_sample() {
    let attack = Attack::prepare();
    let stranger = [9, 9, 9, 3];
    for (writer, sequence) in [(&*attack.writer_id(), 900_000), (&stranger[..], 1), (&stranger[..], 2)] {
        for size in [u32::MAX, 200 << 20] {
            let body = [
                &[0, 0, 28, 0, 0, 0, 0, 0][..],
                writer,
                &number(sequence + i64::from(size & 1)),
                &1u32.to_le_bytes(),
                &1u16.to_le_bytes(),
                &1024u16.to_le_bytes(),
                &size.to_le_bytes(),
                &[0; 1024],
            ];
            attack.send(0x16, &body);
        }
    }
    attack.peer_is_well();
}
