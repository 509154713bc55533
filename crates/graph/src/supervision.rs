//! Systemd's notification protocol, both ends: a daemon tells that it is ready and that it still turns; whoever started it
//! listens. See sd_notify(3).

use std::{
    env,
    ffi::OsString,
    fmt, fs, io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::DirBuilderExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use rustdds::liveness::Liveness;

use crate::{Counters, EventLoop, Timer};

/// RustDDS's threads turn at least every five seconds while they are well.
const LONGEST_TURN: Duration = Duration::from_secs(12);

/// A daemon's way to its supervisor.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixDatagram,
    /// How long the supervisor bears silence.
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// The one that the environment names, if it can be reached.
    pub fn find() -> Option<Self> {
        let variable = |name: &str| env::var(name).ok();
        match Self::parse(variable, std::process::id())? {
            Ok(supervisor) => Some(supervisor),
            Err(error) => {
                log::warn!("NOTIFY_SOCKET: the supervisor cannot be told that this process runs: {error}");
                None
            }
        }
    }

    fn parse(variable: impl Fn(&str) -> Option<String>, pid: u32) -> Option<io::Result<Self>> {
        let name = variable("NOTIFY_SOCKET")?;
        let for_us = variable("WATCHDOG_PID").is_none_or(|wanted| wanted == pid.to_string());
        let microseconds = variable("WATCHDOG_USEC").filter(|_| for_us).and_then(|text| text.parse().ok());
        let watchdog = microseconds.filter(|time| *time > 0).map(Duration::from_micros);
        let connect = || {
            let socket = UnixDatagram::unbound()?;
            match name.strip_prefix('@') {
                Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
                None => socket.connect(&name)?,
            }
            // A supervisor that does not read must not hold up what it supervises.
            socket.set_nonblocking(true)?;
            Ok(Self { socket, watchdog })
        };
        Some(connect())
    }

    /// Something must be said at least this often, where the supervisor asks for it.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Tells it; a supervisor that does not listen is no failure.
    pub fn say(&self, word: Word) {
        if let Err(error) = self.socket.send(word.to_string().as_bytes()) {
            log::debug!("the supervisor did not hear {word}: {error}");
        }
    }
}

/// What a daemon says to its supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// All endpoints are made.
    Ready,
    /// The event loop and DDS still turn.
    Alive,
    /// The end has begun and may take a moment.
    Stopping,
    /// Not all that came could be used, or it had to be said more than once: how much so far.
    Counted(Counters),
}

impl Word {
    const TEXTS: [(Self, &'static str); 3] =
        [(Self::Ready, "READY=1"), (Self::Alive, "WATCHDOG=1"), (Self::Stopping, "STOPPING=1")];
}

/// In front of the numbers of [`Word::Counted`]; systemd leaves it alone and shows the words of `STATUS=` instead.
const COUNTERS: &str = "X_COUNTERS=";

impl Word {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?;
        let Some(numbers) = line.strip_prefix(COUNTERS) else {
            return Self::TEXTS.iter().find(|(_, text)| *text == line).map(|(word, _)| *word);
        };
        let numbers: Vec<u64> = numbers.split(' ').map_while(|number| number.parse().ok()).collect();
        Some(Self::Counted(Counters::from_numbers(numbers.try_into().ok()?)))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Counted(counters) = self {
            let numbers = counters.to_numbers().map(|number| number.to_string()).join(" ");
            return write!(f, "STATUS={counters}\n{COUNTERS}{numbers}");
        }
        f.write_str(Self::TEXTS.iter().find(|(word, _)| word == self).map_or("", |(_, text)| text))
    }
}

/// A folder that nobody else may look into, gone with its owner.
#[derive(Debug)]
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let place = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("rosless-ear-{}-{count}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                // Left by an earlier process of this number, or put there by somebody.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(path)),
            }
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The end of a supervisor: a socket that one child finds through its environment. It lies where other users cannot reach it:
/// they could speak in the child's name, or fill the socket so that the child is not heard and counts as hung.
#[derive(Debug)]
pub struct Ear {
    socket: UnixDatagram,
    folder: PrivateFolder,
    watchdog: Duration,
}

impl Ear {
    const SOCKET: &str = "notify";

    /// `watchdog` is what the child is told about patience.
    ///
    /// # Errors
    /// When there can be no socket in `$XDG_RUNTIME_DIR`, or else where temporary files are.
    pub fn new(watchdog: Duration) -> io::Result<Self> {
        let folder = PrivateFolder::new()?;
        let path = folder.0.join(Self::SOCKET);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let socket = UnixDatagram::bind(&path).map_err(named)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, folder, watchdog })
    }

    /// What the child must find in its environment.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        let path = self.folder.0.join(Self::SOCKET);
        [("NOTIFY_SOCKET", path.into()), ("WATCHDOG_USEC", self.watchdog.as_micros().to_string().into())]
    }

    /// What the child has said since the last time; words of others' dialects are left out.
    pub fn listen(&self) -> Vec<Word> {
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length) = self.socket.recv(&mut buffer) {
            let lines = buffer[..length].split(|byte| *byte == b'\n');
            heard.extend(lines.filter_map(Word::parse));
        }
        heard
    }
}

impl std::os::fd::AsFd for Ear {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Says goodbye to the supervisor when the loop ends.
pub(crate) struct Supervised<S> {
    supervisor: std::rc::Rc<Supervisor>,
    timers: Vec<Timer<S>>,
}

impl<S> Drop for Supervised<S> {
    fn drop(&mut self) {
        self.timers.drain(..).for_each(Timer::cancel);
        self.supervisor.say(Word::Stopping);
    }
}

impl<S: 'static> EventLoop<S> {
    /// Tells the supervisor that the loop turns, from inside the loop, and only while DDS turns as well.
    pub(crate) fn report_to(&self, supervisor: Supervisor, dds: [Liveness; 2]) -> Supervised<S> {
        let supervisor = std::rc::Rc::new(supervisor);
        let ready = supervisor.clone();
        let mut timers = vec![self.once(Duration::ZERO, move |_| ready.say(Word::Ready))];
        if let Some(watchdog) = supervisor.watchdog {
            let alive = supervisor.clone();
            let (handle, mut told) = (self.handle(), Counters::default());
            timers.push(self.timer(watchdog / 2, move |_| {
                let counters = handle.context().map(|context| context.counters()).unwrap_or_default();
                // What was received is no news by itself.
                if (Counters { received: told.received, ..counters }) != told {
                    told = counters;
                    alive.say(Word::Counted(counters));
                }
                let idle = dds.iter().map(Liveness::idle).max().unwrap_or_default();
                if idle < LONGEST_TURN {
                    alive.say(Word::Alive);
                } else {
                    log::error!("a thread of RustDDS has hung for {idle:?}: the supervisor is no longer told that all is well");
                }
            }));
        }
        Supervised { supervisor, timers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&str, &str)]) -> Option<io::Result<Supervisor>> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Supervisor::parse(find, 42)
    }

    #[test]
    fn words_arrive_through_abstract_and_ordinary_sockets() {
        assert!(parse(&[]).is_none(), "nobody asked");
        let ear = Ear::new(Duration::from_secs(3)).unwrap();
        let environment = ear.environment();
        let variables: Vec<_> =
            environment.iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
        let supervisor = parse(&variables).unwrap().unwrap();
        assert_eq!(supervisor.watchdog, Some(Duration::from_secs(3)));
        supervisor.say(Word::Ready);
        supervisor.say(Word::Alive);
        supervisor.socket.send(b"STATUS=busy\nSTOPPING=1\n").unwrap();
        assert_eq!(ear.listen(), [Word::Ready, Word::Alive, Word::Stopping]);
        let counted = Word::Counted(Counters { received: 7, lost: 2, asked_again: 5, ..Counters::default() });
        assert_eq!(
            counted.to_string(),
            "STATUS=7 samples received, 2 lost, 5 asked for again\nX_COUNTERS=7 0 0 2 0 0 5"
        );
        supervisor.say(counted);
        supervisor
            .socket
            .send(b"X_COUNTERS=1 2\nX_COUNTERS=1 2 3 4 5 6\nX_COUNTERS=1 2 3 4 5 6 7 8\nX_COUNTERS=\xff\n")
            .unwrap();
        assert_eq!(ear.listen(), [counted], "what is no such number is left out");

        // As systemd may name it.
        let name = format!("rosless-ear-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let supervisor = parse(&[("NOTIFY_SOCKET", &format!("@{name}"))]).unwrap().unwrap();
        assert_eq!(supervisor.watchdog, None);
        supervisor.say(Word::Ready);
        let mut text = [0; 7];
        assert_eq!(socket.recv(&mut text).unwrap(), 7);
        assert_eq!(&text, b"READY=1");

        let folder = ear.folder.0.clone();
        drop(ear);
        assert!(!folder.exists(), "nothing is left");
    }

    #[test]
    fn a_watchdog_meant_for_another_process_and_a_dead_supervisor_are_no_reason_to_fail() {
        let ear = Ear::new(Duration::from_secs(3)).unwrap();
        let [(name, path), _] = ear.environment();
        let socket = (name, path.to_str().unwrap());
        let usec = ("WATCHDOG_USEC", "3000000");
        assert_eq!(parse(&[socket, usec, ("WATCHDOG_PID", "43")]).unwrap().unwrap().watchdog, None);
        assert!(parse(&[socket, usec, ("WATCHDOG_PID", "42")]).unwrap().unwrap().watchdog.is_some());
        assert_eq!(parse(&[socket, ("WATCHDOG_USEC", "0")]).unwrap().unwrap().watchdog, None);
        assert!(parse(&[("NOTIFY_SOCKET", "/nowhere/at/all")]).unwrap().is_err());
        let supervisor = parse(&[socket]).unwrap().unwrap();
        drop(ear);
        supervisor.say(Word::Alive);
    }
}
