//! A participant outlives what happens to ordinary processes. Stock: deaf for ever after each of these.

mod common;

use std::time::{Duration, Instant};

use common::{
    exchange, keep_all, local, overflown, peer, reader, reliable, take, writer, Reader, Writer, SOON,
};
use rosless_tests::{eventually, Daemon, DomainLease};
use rustdds::{
    bytes::Bytes, dds::result::WriteError, DomainParticipant, QosPolicies, Timestamp, WriteOptions,
};

/// State letter of the process, e.g. T when stopped.
fn state(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("process runs");
    stat.rsplit(") ").next().and_then(|rest| rest.get(..1)).expect("state").to_owned()
}

#[test]
fn stopped_and_continued_participant_goes_on() {
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let down = writer(&participant, "down", &reliable(10));
    let up = reader(&participant, "up", &reliable(10));
    let echo = peer("echo", lease.id());
    exchange("echo before", &down, &up);

    for _ in 0..3 {
        echo.signal("STOP");
        eventually("peer is stopped", Duration::from_secs(5), || state(echo.pid()) == "T");
        echo.signal("CONT");
        eventually("peer runs", Duration::from_secs(5), || state(echo.pid()) != "T");
        exchange("echo after", &down, &up);
    }
}

/// A writer, and a process that sends back what it reads.
struct Echoed {
    participant: DomainParticipant,
    down: Writer,
    up: Reader,
    echo: Daemon,
    /// Of each sample.
    length: usize,
    written: u32,
    heard: Vec<u32>,
    lease: DomainLease,
}

impl Echoed {
    fn new(qos: &QosPolicies, length: usize) -> Self {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let (down, up) = (writer(&participant, "down", qos), reader(&participant, "up", &reliable(1000)));
        let echo = peer("echo-frozen", lease.id());
        exchange("echo before", &down, &up);
        assert!(down.wait_for_acknowledgments(SOON).expect("no fault"));
        Self { participant, down, up, echo, length, written: 0, heard: vec![], lease }
    }

    /// Until it is continued, the process does nothing, and does not lose its lease.
    fn freeze(&self) {
        self.echo.signal("STOP");
        eventually("peer is stopped", SOON, || state(self.echo.pid()) == "T");
    }

    /// False if it is refused, as it is when there is no room.
    fn try_write(&mut self) -> bool {
        let payload = Bytes::from(self.written.to_le_bytes().repeat(self.length / 4));
        let options = WriteOptions::from(Some(Timestamp::now()));
        match self.down.try_write_with_options(payload, options) {
            Ok(_) => self.written += 1,
            Err(WriteError::WouldBlock { .. }) => return false,
            Err(error) => panic!("{error:?}"),
        }
        true
    }

    fn hear_the_last(&mut self) {
        let last = self.written - 1;
        eventually("the last one comes back", SOON, || {
            let ours = take(&self.up).into_iter().filter(|sample| sample.len() == self.length);
            self.heard
                .extend(ours.map(|sample| u32::from_le_bytes(*sample.first_chunk().expect("a number"))));
            self.heard.last() == Some(&last)
        });
        let again = self.participant.repairs().sent_again();
        eprintln!("{} of {} of {} bytes, {again} sent again", self.heard.len(), self.written, self.length);
        assert!(again > 0, "what found no room is asked for");
    }
}

/// In one datagram, and in several. Together they find no room in the socket of somebody who does not read it.
const LENGTHS: [usize; 2] = [4000, 100_000];

#[test]
fn a_frozen_reader_misses_nothing_of_a_writer_that_keeps_all() {
    const ROOM: u32 = 100;
    for length in LENGTHS {
        let mut echoed = Echoed::new(&keep_all(ROOM as i32), length);
        echoed.freeze();
        while echoed.try_write() {
            assert!(echoed.written <= ROOM, "more than there is room for");
        }
        eventually("its socket overflows", SOON, || overflown(echoed.lease.id()) > 0);
        // Its silence acknowledges nothing.
        let end = Instant::now() + Duration::from_millis(500);
        while Instant::now() < end {
            assert!(!echoed.try_write(), "nobody has read anything");
            std::thread::sleep(Duration::from_millis(10));
        }
        echoed.echo.signal("CONT");
        while echoed.written < 2 * ROOM {
            eventually("there is room", SOON, || echoed.try_write());
        }
        echoed.hear_the_last();
        assert!(echoed.heard.iter().copied().eq(0..2 * ROOM), "{:?}", echoed.heard);
    }
}

#[test]
fn a_frozen_reader_gets_the_last_ones_of_a_writer_that_keeps_those() {
    const DEPTH: u32 = 10;
    const SAMPLES: u32 = 300;
    const ROUNDS: u32 = 10;
    for length in LENGTHS {
        let mut echoed = Echoed::new(&reliable(DEPTH as i32), length);
        // Others are kept as well, in case they are asked for, but not 30 MB of them.
        let is_too_much = length * SAMPLES as usize > 20_000_000;
        let is_as_expected = (0..ROUNDS).any(|_| {
            let (first, overflown_before) = (echoed.written, overflown(echoed.lease.id()));
            echoed.heard.clear();
            echoed.freeze();
            let write = |echoed: &mut Echoed| {
                assert!(echoed.try_write(), "{} is refused, for somebody who does not read", echoed.written);
            };
            for _ in 0..SAMPLES {
                write(&mut echoed);
            }
            eventually("its socket overflows", SOON, || {
                write(&mut echoed);
                overflown(echoed.lease.id()) > overflown_before
            });
            echoed.echo.signal("CONT");
            echoed.hear_the_last();
            assert!(echoed.heard.is_sorted_by(|before, after| before < after), "{:?}", echoed.heard);
            let last: Vec<u32> = (echoed.written - DEPTH..echoed.written).collect();
            assert!(echoed.heard.ends_with(&last), "{:?}", echoed.heard);
            // What was not sent yet is not forgotten either: then another time.
            let is_some_forgotten = echoed.heard.len() < (echoed.written - first) as usize;
            is_some_forgotten == is_too_much
        });
        assert!(is_as_expected, "of {length} bytes each: some are skipped, if they are too much");
    }
}
