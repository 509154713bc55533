//! Many announcements at once: the old peers go on, new ones are found, memory and work stay bounded.
//!
//! `ROSLESS_FLOOD` sets how large the floods are, in percent of the sizes below (default 100).
#![cfg(target_os = "linux")]

mod common;

use std::{
    net::{Ipv4Addr, UdpSocket},
    time::{Duration, Instant},
};

use common::{
    cpu_time, exchange, local, padded, peer, ports, reader, reliable, resident, take, threads, waiting,
    wire::{reader_id, writer_id, Invented, Packet, PUBLICATIONS},
    writer,
};
use rosless_tests::{eventually, Daemon, DomainLease};
use rustdds::{DomainParticipant, RTPSEntity, Timestamp};

const ALLOWANCE: u64 = 64 * 1024 * 1024;

fn percent(of: u32) -> u32 {
    let percent = std::env::var("ROSLESS_FLOOD").ok().and_then(|value| value.parse().ok()).unwrap_or(100);
    of * percent / 100
}

/// An echoing peer in another process, a participant that talks to it all the time, and a socket to flood the peer.
struct Flooded {
    lease: DomainLease,
    participant: DomainParticipant,
    echo: Daemon,
    memory: u64,
    socket: UdpSocket,
}

impl Flooded {
    fn prepare() -> Self {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let echo = peer("echo", lease.id());
        let (down, up) =
            (writer(&participant, "down", &reliable(10)), reader(&participant, "up", &reliable(10)));
        exchange("echo before", &down, &up);
        let memory = resident(echo.pid());
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
        Self { lease, participant, echo, memory, socket }
    }

    fn invent(&self, number: u32) -> Invented {
        Invented::new(number, self.socket.local_addr().expect("bound").port())
    }

    /// The peer's GUID prefix.
    fn victim(&self) -> Vec<u8> {
        let found = self.participant.discovered_writers();
        let own = self.participant.guid().prefix;
        let mut guids = found.iter().map(|writer| writer.writer_proxy.remote_writer_guid);
        guids.find(|guid| guid.prefix != own).expect("the peer's writer").to_bytes()[..12].to_vec()
    }

    fn ports(&self) -> [u16; 2] {
        ports(self.lease.id(), 1) // ours is participant 0
    }

    fn send(&self, packet: &Packet) {
        self.socket.send_to(&packet.0, (Ipv4Addr::LOCALHOST, self.ports()[0])).expect("sent");
    }

    fn drain(&self) {
        eventually("the peer reads on", Duration::from_secs(60), || {
            (0..200).any(|_| waiting(self.ports()) == 0)
        });
    }

    fn come_and_go(&self, participants: u32, lease: i32) {
        for round in 0..3 {
            for number in 0..participants {
                let invented = Invented { lease, ..self.invent(number) };
                self.send(&invented.announcement(1 + round));
                if number % 32 == 0 {
                    self.drain(); // so that none is lost on the way
                }
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Runs a flood while the old participant talks to the peer, then lets a new one talk to it. Says what it took.
    fn survives(&self, what: &str, flood: impl FnOnce() + Send) {
        let (down, up) = (
            writer(&self.participant, "down", &reliable(10)),
            reader(&self.participant, "up", &reliable(10)),
        );
        exchange("echo before", &down, &up);
        let (before, cpu, threads_before) =
            (Instant::now(), cpu_time(self.echo.pid()), threads(self.echo.pid()));
        let stalled = std::thread::scope(|scope| {
            let flood = scope.spawn(flood);
            let mut stalled = Duration::ZERO;
            let mut round = 0;
            while !flood.is_finished() || round < 10 {
                round += 1;
                let mark = padded(format!("{what} {round}"));
                let asked = Instant::now();
                eventually("the old peer is answered", Duration::from_secs(60), || {
                    let _ = down.write(mark.clone(), Some(Timestamp::now()));
                    std::thread::sleep(Duration::from_millis(5));
                    take(&up).contains(&mark)
                });
                stalled = stalled.max(asked.elapsed());
                assert!(resident(self.echo.pid()) < self.memory + 4 * ALLOWANCE, "memory while it lasts");
            }
            stalled
        });
        let (took, cpu) = (before.elapsed(), cpu_time(self.echo.pid()) - cpu);

        let asked = Instant::now();
        let newcomer = local(self.lease.id()).build().expect("participant");
        let (down, up) = (writer(&newcomer, "down", &reliable(10)), reader(&newcomer, "up", &reliable(10)));
        exchange("a new peer is answered", &down, &up);
        let found = asked.elapsed();

        let idle = cpu_time(self.echo.pid());
        std::thread::sleep(Duration::from_secs(2));
        let idle = cpu_time(self.echo.pid()) - idle;
        let memory = resident(self.echo.pid());
        println!(
            "{what}: took {took:.1?} and {cpu:.1?} of CPU, old peer waited {stalled:.1?} at most, new peer found in \
             {found:.1?}, {:.0} % of a core afterwards, memory {} -> {} MB",
            idle.as_secs_f64() * 50.0,
            self.memory >> 20,
            memory >> 20
        );
        assert!(memory < self.memory + ALLOWANCE, "memory went from {} to {memory} bytes", self.memory);
        assert_eq!(threads(self.echo.pid()), threads_before, "a thread has ended");
    }
}

/// Long leases: they would stay for days.
#[test]
fn ten_thousand_participants() {
    let flooded = Flooded::prepare();
    flooded.survives("10 000 participants", || {
        for number in 0..percent(10_000) {
            flooded.send(&flooded.invent(number).announcement(1));
        }
        flooded.drain();
    });
}

/// They also pretend to hear us, so they are not told from real ones.
#[test]
fn ten_thousand_participants_that_answer() {
    let flooded = Flooded::prepare();
    let victim = flooded.victim();
    flooded.survives("10 000 participants that answer", || {
        for number in 0..percent(10_000) {
            let invented = flooded.invent(number);
            flooded.send(&invented.announcement(1));
            let (writer, reader) = PUBLICATIONS;
            flooded.send(&Packet::new(&invented.prefix).to(&victim).acknack(reader, writer, 1, 1));
        }
        flooded.drain();
    });
}

/// A node has some forty endpoints, of few kinds. Before: 80 kB for each participant.
#[test]
fn participants_of_many_endpoints_take_little_memory() {
    const PARTICIPANTS: u32 = 250;
    let flooded = Flooded::prepare();
    let victim = flooded.victim();
    let (writer, reader) = PUBLICATIONS;
    for number in 0..PARTICIPANTS {
        let invented = flooded.invent(number);
        flooded.send(&invented.announcement(1));
        flooded.send(&Packet::new(&invented.prefix).to(&victim).acknack(reader, writer, 1, 1));
        for endpoint in 1..=40 {
            let id = if endpoint <= 20 { reader_id(endpoint) } else { writer_id(endpoint) };
            let (topic, sn) =
                (format!("rq/system_{number}/service_{endpoint}Request"), 1 + (endpoint - 1) % 20);
            flooded.send(&invented.endpoint(id, &topic, &[b'h'; 76], sn.into()));
        }
        flooded.drain();
    }
    let mut spent = None;
    eventually("the peer has nothing more to do", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_millis(200));
        let now = cpu_time(flooded.echo.pid());
        spent.replace(now).is_some_and(|before| now - before < Duration::from_millis(20))
    });
    let each = resident(flooded.echo.pid()).saturating_sub(flooded.memory) / u64::from(PARTICIPANTS);
    println!("{each} bytes for a participant of 40 endpoints");
    assert!((4_000..30_000).contains(&each), "{each} bytes for each participant");
}

#[test]
fn ten_thousand_readers_on_one_topic() {
    let flooded = Flooded::prepare();
    flooded.survives("10 000 readers", || {
        let invented = flooded.invent(1);
        flooded.send(&invented.announcement(1));
        for number in 1..=percent(10_000) {
            flooded.send(&invented.endpoint(reader_id(number), "up", &[], number.into()));
            if number % 16 == 0 {
                flooded.drain();
            }
        }
    });
}

#[test]
fn five_thousand_writers_with_much_user_data() {
    let flooded = Flooded::prepare();
    flooded.survives("5000 writers with 40 kB of USER_DATA", || {
        let invented = flooded.invent(1);
        flooded.send(&invented.announcement(1));
        for number in 1..=percent(5000) {
            flooded.send(&invented.endpoint(writer_id(number), "down", &[7; 40_000], number.into()));
            if number % 2 == 0 {
                flooded.drain();
            }
        }
    });
}

/// Endpoints of participants that never announce themselves, and announcements in the name of others.
#[test]
fn endpoints_of_nobody() {
    let flooded = Flooded::prepare();
    flooded.survives("50 000 endpoints of nobody", || {
        for number in 0..percent(50_000) {
            let invented = flooded.invent(number);
            flooded.send(&invented.endpoint(writer_id(1), "down", &[7; 1000], 1));
            if number % 64 == 0 {
                flooded.drain();
            }
        }
    });
}

/// With short leases they come and go; the old peer and the new one must not go with them.
#[test]
fn participants_that_come_and_go() {
    let flooded = Flooded::prepare();
    flooded.survives("3 x 3000 participants with leases of 1 s", || flooded.come_and_go(percent(3000), 1));
}

/// As long as the leases of most; stock is busy with them for minutes.
#[test]
fn ten_thousand_participants_with_the_usual_lease() {
    let flooded = Flooded::prepare();
    flooded.survives("3 x 10 000 participants with leases of 10 s", || {
        flooded.come_and_go(percent(10_000), 10);
    });
}
