//! Sockets of their own for the few addresses that are sent to all the time. The kernel looks
//! for the way to such a socket's peer once, not for each datagram.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use socket2::{Domain, Protocol, Socket, Type};

/// More would cost descriptors, and time to look through them.
const MOST: usize = 4;
/// So many more datagrams than to others go to an address before it gets a socket.
const OFTEN: u32 = 200;
/// What is not used for so long is closed.
const UNUSED: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct Path {
    to: SocketAddr,
    socket: UdpSocket,
    is_used: bool,
}

#[derive(Debug)]
pub(crate) struct BeatenPaths {
    /// Where our datagrams come from, if that was chosen.
    from: IpAddr,
    send_buffer_size: usize,
    paths: Vec<Path>,
    /// Addresses that may be sent to often: how much more often than to others.
    candidates: Vec<(SocketAddr, u32)>,
    looked: Instant,
}

impl BeatenPaths {
    pub fn new(from: IpAddr, send_buffer_size: usize) -> Self {
        Self { from, send_buffer_size, paths: Vec::new(), candidates: Vec::new(), looked: Instant::now() }
    }

    /// Sends it, if there is a socket for this address and it takes it. If not, any other
    /// socket may: a peer that was not there, of which only a connected socket is told, may
    /// be there again, and the way may lead elsewhere.
    pub fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> bool {
        let Some(place) = self.paths.iter().position(|path| path.to == to) else {
            return false;
        };
        let path = &mut self.paths[place];
        path.is_used = true;
        let is_sent = path.socket.send(datagram).is_ok_and(|sent| sent == datagram.len());
        if !is_sent {
            self.paths.swap_remove(place);
        }
        is_sent
    }

    /// A datagram went to an address by another socket. True if it has a socket of its own from now on,
    /// because that happens often.
    pub fn went_elsewhere(&mut self, to: SocketAddr) -> bool {
        match self.candidates.iter().position(|(candidate, _)| *candidate == to) {
            Some(place) => {
                let count = &mut self.candidates[place].1;
                // No more than that while all sockets are taken: who was often sent to once gives way to others.
                *count = (*count + 1).min(OFTEN);
                if *count < OFTEN || self.paths.len() >= MOST {
                    return false;
                }
                self.candidates.swap_remove(place);
                match self.connect(to) {
                    Ok(socket) => self.paths.push(Path { to, socket, is_used: true }),
                    Err(e) => log::debug!("No socket for {to}: {e}"),
                }
                true
            }
            None if self.candidates.len() < MOST => {
                self.candidates.push((to, 1));
                false
            }
            // Whoever is among many stays one of them.
            None => {
                self.candidates.retain_mut(|(_, count)| {
                    *count -= 1;
                    *count > 0
                });
                false
            }
        }
    }

    /// Where its datagrams come from.
    pub fn ports(&self) -> Vec<u16> {
        let addresses = self.paths.iter().filter_map(|path| path.socket.local_addr().ok());
        addresses.map(|address| address.port()).collect()
    }

    /// Closes what was not used for a while. To be called now and then.
    pub fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) >= UNUSED {
            self.looked = now;
            self.paths.retain_mut(|path| std::mem::take(&mut path.is_used));
        }
    }

    fn connect(&self, to: SocketAddr) -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
        if self.send_buffer_size > 0 {
            socket.set_send_buffer_size(self.send_buffer_size)?;
        }
        socket.bind(&SocketAddr::new(self.from, 0).into())?;
        socket.connect(&to.into())?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    }
}
