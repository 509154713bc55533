//! The sockets of a UR robot, on the event loop: bytes go to the driver and come from it, and nothing is decided here.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    rc::Rc,
};

use rosless_engine::Engine as _;
use rosless_graph::{Handle, Node, monotonic, now};
use rosless_motion::Hardware as _;
use rosless_ur::{
    Driver,
    driver::{Input, Link, Output},
};

use crate::daemon::App;

/// A robot that does not take what it is sent is not there.
const MOST_UNSENT: usize = 1 << 20;
/// A peer that sends more than this at a time is no robot.
const MOST_READS: usize = 256;

struct Wire {
    stream: Rc<TcpStream>,
    /// Tells it apart from an earlier one of the same name.
    number: u64,
    connecting: bool,
    unsent: VecDeque<u8>,
}

/// The driver's sockets, from configure to cleanup.
pub(crate) struct Wires {
    driver: Rc<RefCell<Driver>>,
    handle: Handle<App>,
    node: Node,
    wires: BTreeMap<Link, Wire>,
    next: u64,
    listener: Rc<TcpListener>,
}

/// Lets the loop run the driver of whatever robot there is.
pub(crate) fn drive(handle: &Handle<App>) {
    // What the driver has heard is seen by the controller before its answer is sent.
    handle.after_batch(|app: &mut App| {
        if let Some(running) = &mut app.running
            && running.ur.as_ref().is_some_and(|wires| wires.driver.borrow_mut().take_news())
        {
            running.cycle();
        }
    });
    handle.drive(
        |app: &mut App, with: &mut dyn FnMut(&mut Driver)| {
            if let Some(wires) = app.running.as_mut().and_then(|running| running.ur.as_mut()) {
                with(&mut wires.driver.borrow_mut());
            }
        },
        |app, output| {
            if let Some(wires) = app.running.as_mut().and_then(|running| running.ur.as_mut()) {
                wires.act(output);
            }
        },
    );
}

impl Wires {
    /// Listens for the robot's program; everything else is asked for by the driver.
    pub(crate) fn open(
        handle: &Handle<App>,
        node: &Node,
        driver: Rc<RefCell<Driver>>,
    ) -> Result<Self, String> {
        let settings = driver.borrow().settings().cloned().ok_or("the driver has no parameters")?;
        let any: IpAddr = match settings.address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let address = SocketAddr::new(any, settings.reverse_port);
        let cannot = |error: &dyn std::fmt::Display| {
            format!("cannot listen on {address} for the robot's program: {error}; set another reverse_port")
        };
        let listener = TcpListener::bind(address).map_err(|error| cannot(&error))?;
        listener.set_nonblocking(true).map_err(|error| cannot(&error))?;
        let port = listener.local_addr().map_err(|error| cannot(&error))?.port();
        driver.borrow_mut().handle(Input::Listening(port), now());
        let listener = Rc::new(listener);
        handle
            .watch(listener.clone(), move |app: &mut App, listener| {
                let wires = app.running.as_mut().and_then(|running| running.ur.as_mut());
                wires.is_some_and(|wires| {
                    Rc::ptr_eq(&wires.listener, listener) && wires.accept(settings.address)
                })
            })
            .map_err(|error| cannot(&error))?;
        Ok(Self {
            driver,
            handle: handle.clone(),
            node: node.clone(),
            wires: BTreeMap::new(),
            next: 0,
            listener,
        })
    }

    /// Tells the robot that nobody will be there, and leaves.
    pub(crate) fn close(mut self) {
        self.driver.borrow_mut().deactivate(monotonic());
        loop {
            let output = self.driver.borrow_mut().poll_output();
            match output {
                Some(Output::Connect { .. }) => {}
                Some(output) => self.act(output),
                None => break,
            }
        }
        for wire in self.wires.values() {
            let _ = wire.stream.shutdown(Shutdown::Both);
        }
        // It wakes the loop, which lets go of it.
        let _ = socket2::SockRef::from(&*self.listener).shutdown(Shutdown::Both);
    }

    fn tell(&self, input: Input<'_>) {
        self.driver.borrow_mut().handle(input, now());
    }

    /// False when there is nothing to listen to any more.
    fn accept(&mut self, robot: IpAddr) -> bool {
        loop {
            match self.listener.accept() {
                Ok((stream, from)) if from.ip() == robot => {
                    let link = Link::Caller(self.next as u32);
                    match self.add(link, stream, false) {
                        Ok(()) => self.tell(Input::Called { link }),
                        Err(error) => log::warn!(target: self.node.logger(), "the robot's call: {error}"),
                    }
                }
                Ok((_, from)) => {
                    log::warn!(target: self.node.logger(), "{from} calls, which is not the robot: refused");
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    log::error!(target: self.node.logger(), "the robot's program cannot call: {error}");
                    return false;
                }
            }
        }
    }

    fn add(&mut self, link: Link, stream: TcpStream, connecting: bool) -> Result<(), String> {
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        let _ = stream.set_nodelay(true);
        let number = self.next;
        self.next += 1;
        let stream = Rc::new(stream);
        self.handle
            .watch_both_ways(stream.clone(), move |app: &mut App, _| {
                let wires = app.running.as_mut().and_then(|running| running.ur.as_mut());
                wires.is_some_and(|wires| wires.ready(link, number))
            })
            .map_err(|error| error.to_string())?;
        self.wires.insert(link, Wire { stream, number, connecting, unsent: VecDeque::new() });
        Ok(())
    }

    /// Something can be read or written. False when the connection is over.
    fn ready(&mut self, link: Link, number: u64) -> bool {
        match self.serve(link, number) {
            Ok(stays) => stays,
            Err(reason) => {
                self.wires.remove(&link);
                self.tell(Input::Closed { link, reason: &reason });
                false
            }
        }
    }

    fn serve(&mut self, link: Link, number: u64) -> Result<bool, String> {
        let Some(wire) = self.wires.get_mut(&link).filter(|wire| wire.number == number) else {
            return Ok(false);
        };
        let stream = wire.stream.clone();
        if wire.connecting {
            if let Some(error) = stream.take_error().map_err(|error| error.to_string())? {
                return Err(error.to_string());
            }
            if stream.peer_addr().is_err() {
                return Ok(true);
            }
            wire.connecting = false;
            let local = stream.local_addr().map_err(|error| error.to_string())?.ip();
            self.tell(Input::Connected { link, local });
        }
        self.flush(link)?;
        let mut bytes = [0; 16 * 1024];
        for _ in 0..MOST_READS {
            match (&*stream).read(&mut bytes) {
                Ok(0) => return Err("closed by the robot".into()),
                Ok(count) => self.tell(Input::Received { link, bytes: &bytes[..count] }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("it sends without end".into())
    }

    fn flush(&mut self, link: Link) -> Result<(), String> {
        let Some(wire) = self.wires.get_mut(&link).filter(|wire| !wire.connecting) else { return Ok(()) };
        while !wire.unsent.is_empty() {
            match (&*wire.stream).write(wire.unsent.make_contiguous()) {
                Ok(count) => drop(wire.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if wire.unsent.len() > MOST_UNSENT { Err("it takes nothing".into()) } else { Ok(()) }
    }

    /// Does one thing that the driver wants done.
    fn act(&mut self, output: Output) {
        let (link, done) = match output {
            Output::Connect { link, to } => {
                let stream = mio::net::TcpStream::connect(to).map_err(|error| error.to_string());
                (link, stream.and_then(|stream| self.add(link, stream.into(), true)))
            }
            Output::Send { link, bytes } => {
                if let Some(wire) = self.wires.get_mut(&link) {
                    wire.unsent.extend(bytes);
                }
                (link, self.flush(link))
            }
            Output::Close { link } => {
                if let Some(wire) = self.wires.remove(&link) {
                    // It wakes the loop, which lets go of it.
                    let _ = wire.stream.shutdown(Shutdown::Both);
                }
                return;
            }
            Output::Log(level, text) => return log::log!(target: self.node.logger(), level, "{text}"),
        };
        if let Err(reason) = done {
            self.wires.remove(&link);
            self.tell(Input::Closed { link, reason: &reason });
        }
    }
}
