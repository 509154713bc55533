//! The network as it is by now: what the kernel says of interfaces, and the addresses that names of static peers have.

use std::{
    cell::Cell,
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, recv,
        socket_with,
    },
};

use crate::monotonic;

/// Changes come in bursts; DHCP alone makes several.
const SETTLING: Duration = Duration::from_millis(100);
/// How often names are resolved; name servers rarely let answers live for less.
const RESOLVE_EVERY: Duration = Duration::from_secs(30);
/// How long a start waits for names: a command that looks around once needs its peers by then.
const FIRST_ANSWER: Duration = Duration::from_secs(2);
/// How many participants per static peer are looked for; Cyclone and Fast DDS number them from 0 too.
const PEER_PARTICIPANTS: u16 = 16;

/// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR` of rtnetlink(7).
const LINKS_AND_ADDRESSES: u32 = 0x1 | 0x10 | 0x100;

/// Hears from the kernel when interfaces come, go or change their addresses.
#[derive(Debug)]
pub(crate) struct InterfaceWatch {
    socket: OwnedFd,
    /// When to look at the interfaces.
    due: Cell<Option<Duration>>,
}

impl InterfaceWatch {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // NETLINK_ROUTE is protocol 0.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, LINKS_AND_ADDRESSES))?;
        Ok(Self { socket, due: Cell::new(None) })
    }

    /// Something was said. What it was does not matter: whoever follows looks at the whole.
    pub(crate) fn ready(&self) {
        let mut message = [0_u8; 4096];
        let mut heard = false;
        loop {
            match recv(&self.socket, &mut message[..], RecvFlags::TRUNC) {
                Ok(_) | Err(Errno::INTR) => heard = true,
                // More was said than the kernel could keep.
                Err(Errno::NOBUFS) => heard = true,
                Err(_) => break,
            }
        }
        if heard && self.due.get().is_none() {
            self.due.set(Some(monotonic() + SETTLING));
        }
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.due.get()
    }

    /// Whether it is time to look; once per burst.
    pub(crate) fn is_due(&self) -> bool {
        let is_due = self.due.get().is_some_and(|due| due <= monotonic());
        if is_due {
            self.due.set(None);
        }
        is_due
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

type Answers = Vec<(String, io::Result<Vec<SocketAddr>>)>;

/// `ROS_STATIC_PEERS`. Names are resolved on a thread that lives as long as the question, because that may take seconds
/// and the event loop must not wait; a machine that starts before its network has no answer at first.
#[derive(Debug)]
pub(crate) struct StaticPeers {
    addresses: BTreeMap<String, Vec<SocketAddr>>,
    names: Vec<String>,
    questions: Option<Questions>,
}

#[derive(Debug)]
struct Questions {
    sender: Sender<Answers>,
    answers: Receiver<Answers>,
    /// Readable when there is an answer.
    answered: Arc<OwnedFd>,
    /// When to ask again; nothing while a question is open.
    due: Option<Duration>,
}

impl StaticPeers {
    /// # Errors
    /// When names cannot be resolved at all because descriptors or threads have run out.
    pub(crate) fn new(peers: &[String]) -> io::Result<Self> {
        let resolved: BTreeMap<_, _> =
            peers.iter().filter_map(|peer| Some((peer.clone(), vec![literal(peer)?]))).collect();
        let names: Vec<_> = peers.iter().filter(|peer| !resolved.contains_key(*peer)).cloned().collect();
        let mut this = Self { addresses: resolved, names, questions: None };
        if this.names.is_empty() {
            return Ok(this);
        }
        let (sender, answers) = channel();
        let answered = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        this.questions = Some(Questions { sender, answers, answered, due: Some(monotonic()) });
        this.ask_if_due();
        let first = this.questions.as_ref().and_then(|asked| asked.answers.recv_timeout(FIRST_ANSWER).ok());
        match first {
            Some(answers) => drop(this.learn(answers)),
            None => log::warn!("ROS_STATIC_PEERS: no answer yet about {}; going on", this.names.join(", ")),
        }
        Ok(this)
    }

    /// Readable when names have been resolved; nothing to wait for where all peers are addresses.
    pub(crate) fn answered(&self) -> Option<BorrowedFd<'_>> {
        self.questions.as_ref().map(|asked| asked.answered.as_fd())
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.questions.as_ref()?.due
    }

    /// Resolves the names again at the next opportunity: the network is another one now.
    pub(crate) fn ask_soon(&mut self) {
        if let Some(due) = self.questions.as_mut().and_then(|asked| asked.due.as_mut()) {
            *due = monotonic();
        }
    }

    pub(crate) fn ask_if_due(&mut self) {
        let Some(asked) = self.questions.as_mut().filter(|a| a.due.is_some_and(|due| due <= monotonic()))
        else {
            return;
        };
        let (names, sender, answered) = (self.names.clone(), asked.sender.clone(), asked.answered.clone());
        let resolve = move || {
            let answers = names.into_iter().map(|name| (name.clone(), resolve(&name))).collect();
            // Nobody may be there any more to hear it.
            let _ = sender.send(answers);
            let _ = rustix::io::write(&*answered, &1_u64.to_ne_bytes());
        };
        asked.due = match thread::Builder::new().name("rosless resolver".to_owned()).spawn(resolve) {
            Ok(_) => None,
            Err(error) => {
                log::warn!("cannot resolve ROS_STATIC_PEERS: {error}");
                Some(monotonic() + RESOLVE_EVERY)
            }
        };
    }

    /// Takes the answers that have come; `true` when a peer has other addresses than before.
    pub(crate) fn take_answers(&mut self) -> bool {
        let Some(asked) = &self.questions else { return false };
        let _ = rustix::io::read(&*asked.answered, &mut [0; 8][..]);
        let answers: Answers = asked.answers.try_iter().flatten().collect();
        !answers.is_empty() && self.learn(answers)
    }

    fn learn(&mut self, answers: Answers) -> bool {
        if let Some(asked) = &mut self.questions {
            asked.due = Some(monotonic() + RESOLVE_EVERY);
        }
        let mut changed = false;
        for (name, answer) in answers {
            match answer {
                Ok(addresses) => {
                    let old = self.addresses.insert(name, addresses.clone());
                    changed |= old != Some(addresses);
                }
                // What was known is better than nothing; it is said once.
                Err(error) if !self.addresses.contains_key(&name) => {
                    log::warn!("ROS_STATIC_PEERS: cannot resolve '{name}' yet: {error}");
                    self.addresses.insert(name, Vec::new());
                }
                Err(_) => {}
            }
        }
        changed
    }

    pub(crate) fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.values().flatten().map(SocketAddr::ip)
    }

    /// Where the participants of the peers are looked for.
    pub(crate) fn participants(&self, domain_id: u16) -> Vec<SocketAddr> {
        // RTPS 2.5, 9.6.2.3: port base 7400, domain gain 250, participant gain 2, unicast discovery offset 10.
        let port = |participant| 7400 + 250 * domain_id + 10 + 2 * participant;
        let mut found = Vec::new();
        for address in self.addresses.values().flatten() {
            found.extend((0..PEER_PARTICIPANTS).map(|id| {
                let mut participant = *address;
                participant.set_port(port(id));
                participant
            }));
        }
        found
    }
}

/// An address that needs no name server; that of a link that is not there yet is asked for again, too.
fn literal(peer: &str) -> Option<SocketAddr> {
    peer.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, 0))
}

/// In an order of its own: that of name servers changes from answer to answer.
fn resolve(name: &str) -> io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<_> = (name, 0).to_socket_addrs()?.collect();
    addresses.sort();
    addresses.dedup();
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn peers(names: &[&str]) -> StaticPeers {
        StaticPeers::new(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn addresses_need_no_questions() {
        let peers = peers(&["10.0.0.1", "fd00::2"]);
        assert!(peers.answered().is_none() && peers.deadline().is_none());
        let found = peers.participants(1);
        assert_eq!(found.len(), 2 * usize::from(PEER_PARTICIPANTS));
        assert_eq!(found[0].to_string(), "10.0.0.1:7660");
        assert_eq!(found[17].to_string(), "[fd00::2]:7662");
    }

    #[test]
    fn a_name_without_an_address_does_not_stop_the_start_and_keeps_what_was_known() {
        let mut peers = peers(&["localhost", "no-such-host.invalid"]);
        assert!(peers.hosts().any(|host| host.is_loopback()), "{peers:?}");
        let known = peers.addresses.clone();
        let gone = || Err(io::Error::from(io::ErrorKind::NotFound));
        assert!(!peers.learn(vec![("localhost".to_owned(), gone())]));
        assert_eq!(peers.addresses, known);
        let moved = SocketAddr::from(([10, 0, 0, 9], 0));
        assert!(peers.learn(vec![("no-such-host.invalid".to_owned(), Ok(vec![moved]))]));
        assert!(peers.hosts().any(|host| host == moved.ip()));
        assert!(!peers.learn(vec![("no-such-host.invalid".to_owned(), Ok(vec![moved]))]), "the same again");
    }

    #[test]
    fn names_are_asked_for_again_without_waiting() {
        let mut peers = peers(&["localhost"]);
        assert!(peers.deadline().unwrap() > monotonic());
        peers.ask_soon();
        peers.ask_if_due();
        assert!(peers.deadline().is_none(), "a question is open");
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        // The first answer, which was waited for, may still be ringing.
        while peers.deadline().is_none() {
            let answered = peers.answered().unwrap();
            let readable = poll(&mut [PollFd::new(&answered, PollFlags::IN)], Some(&patience)).unwrap();
            assert_eq!(readable, 1, "no answer");
            peers.take_answers();
        }
        assert!(peers.deadline().unwrap() > monotonic(), "the next question has its time");
    }
}
