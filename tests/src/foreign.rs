//! Participants of other vendors' DDS, driven by tests over the line protocol of `tests/peers/README.md`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{ChildStdin, Command},
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

use crate::{Daemon, DomainLease, TwoHosts, eventually, eventually_some};

const PATIENCE: Duration = Duration::from_secs(20);

/// A DDS implementation that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    Cyclone,
    FastDds,
}

impl Vendor {
    pub const ALL: [Self; 2] = [Self::Cyclone, Self::FastDds];

    /// Starts a participant of this vendor in `domain`, on loopback.
    ///
    /// `None` when the vendor's software cannot be set up on this machine: the reason is printed in one line.
    ///
    /// # Panics
    /// Under `CI=true` a peer that cannot be set up is a failure, so that nothing is skipped in silence.
    pub fn start(self, domain: u16) -> Option<ForeignPeer> {
        self.start_on(domain, "127.0.0.1")
    }

    /// A participant of every vendor that can be had here, each on a domain of its own, one after the other.
    pub fn each() -> impl Iterator<Item = (Self, DomainLease, ForeignPeer)> {
        Self::ALL.into_iter().filter_map(|vendor| {
            let domain = DomainLease::acquire();
            let peer = vendor.start(domain.id())?;
            Some((vendor, domain, peer))
        })
    }

    /// Starts a Cyclone participant as rmw_cyclonedds does for `ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`: it looks for
    /// peers on localhost, but has the address of the host's network interface.
    pub fn start_cyclone_for_localhost_range(domain: u16) -> Option<ForeignPeer> {
        Self::Cyclone.start_on(domain, "localhost")
    }

    /// Starts a participant on host 0 or 1, with multicast; `address` is `any`, or `any6` for IPv6.
    pub fn start_on_host(
        self,
        domain: u16,
        address: &str,
        hosts: &TwoHosts,
        host: usize,
    ) -> Option<ForeignPeer> {
        self.start_as(domain, address, |command| {
            let mut there = hosts.command(host, &command.get_program().to_string_lossy());
            there.args(command.get_args());
            there
        })
    }

    /// Starts a participant with DDS Security on loopback, with the files of `enclave`. Cyclone's knows only strings and
    /// AddTwoInts.
    pub fn start_secured(self, domain: u16, enclave: &Path) -> Option<ForeignPeer> {
        let command = match self {
            Self::FastDds => self.command(),
            Self::Cyclone => secured_cyclone(),
        };
        let set_up = |command: Result<Command>| {
            let mut command = command?;
            command.arg(domain.to_string()).arg("127.0.0.1").env("ROSLESS_PEER_ENCLAVE", enclave);
            Ok(command)
        };
        self.started(set_up(command), |command| command)
    }

    fn start_on(self, domain: u16, address: &str) -> Option<ForeignPeer> {
        self.start_as(domain, address, |command| command)
    }

    fn start_as(
        self,
        domain: u16,
        address: &str,
        place: impl FnOnce(Command) -> Command,
    ) -> Option<ForeignPeer> {
        let command = self.command().map(|mut command| {
            command.arg(domain.to_string()).arg(address);
            command
        });
        self.started(command, place)
    }

    fn started(
        self,
        command: Result<Command>,
        place: impl FnOnce(Command) -> Command,
    ) -> Option<ForeignPeer> {
        match command {
            Ok(command) => Some(ForeignPeer::start(self, place(command))),
            Err(reason) => self.missing(&reason),
        }
    }

    /// Plays a client of `peers` (`original_client.py`, `trajectory_client.py`) from a Cyclone participant, to its end: what it
    /// says. `None` and panics as [`Self::start`].
    pub fn play(script: &str, domain: u16, arguments: &[String]) -> Option<std::process::Output> {
        let python = match Self::Cyclone.command() {
            Ok(command) => command.get_program().to_owned(),
            Err(reason) => return Self::Cyclone.missing(&reason),
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
        let mut command = Command::new(python);
        // What Python makes of the shared part is not to be left in the tree.
        let output =
            command.arg("-B").arg(script).args([&domain.to_string(), "127.0.0.1"]).args(arguments).output();
        Some(output.expect("the client can be run"))
    }

    fn missing<T>(self, reason: &anyhow::Error) -> Option<T> {
        let line = format!("cannot set up the {self:?} peer: {reason:#}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
        eprintln!("SKIPPED: {line}");
        None
    }

    /// The peer's command line, with what it needs installed on first use and shared by all tests after that.
    fn command(self) -> Result<Command> {
        static CYCLONE: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
        static FAST: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let (slot, set_up): (_, fn(&Path, &Path) -> Result<PathBuf>) = match self {
            Self::Cyclone => (&CYCLONE, python_with_cyclone),
            Self::FastDds => (&FAST, compiled_fast_peer),
        };
        let program = slot
            .get_or_init(|| in_shared_folder(|folder| set_up(&sources, folder)).map_err(|e| format!("{e:#}")))
            .clone()
            .map_err(anyhow::Error::msg)?;
        let mut command = Command::new(program);
        if self == Self::Cyclone {
            command.arg(sources.join("cyclone_peer.py"));
        }
        Ok(command)
    }
}

/// Runs `set_up` in the build folder, one process at a time, because test binaries run side by side.
pub(crate) fn in_shared_folder(set_up: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let folder = exe.ancestors().nth(3).context("test binary outside a build folder")?.join("foreign-peers");
    fs::create_dir_all(&folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    set_up(&folder)
}

fn python_with_cyclone(_: &Path, folder: &Path) -> Result<PathBuf> {
    venv(&folder.join("venv"), &["cyclonedds"], "import cyclonedds.domain")
}

/// A Python that has these packages from PyPI, in a folder that all tests share.
pub(crate) fn python_with(name: &str, packages: &[&str], proof: &str) -> Result<PathBuf> {
    in_shared_folder(|folder| venv(&folder.join(name), packages, proof))
}

fn venv(folder: &Path, packages: &[&str], proof: &str) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let works = || run(Command::new(&python).args(["-c", proof])).is_ok();
    if !works() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
        ensure!(works(), "the PyPI packages {packages:?} are installed but cannot be imported");
    }
    Ok(python)
}

/// Debian's Cyclone has the plugins of DDS Security, PyPI's has not.
fn secured_cyclone() -> Result<Command> {
    const PLUGINS: &str = "/usr/lib/x86_64-linux-gnu/libddsc0debian";
    static PROGRAM: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let set_up = |folder: &Path| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/cyclone_secure_peer.c");
        let program = folder.join("cyclone_secure_peer");
        let age = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
        if age(&program).is_ok_and(|built| age(&source).is_ok_and(|written| built > written)) {
            return Ok(program);
        }
        if !Path::new("/usr/include/dds/dds.h").exists() {
            run(Command::new("apt-get").args([
                "install",
                "-y",
                "-qq",
                "--no-install-recommends",
                "cyclonedds-dev",
            ]))
            .context("the Debian package cyclonedds-dev is needed")?;
        }
        let unfinished = folder.join("cyclone_secure_peer.new");
        run(Command::new("gcc").args(["-O1", "-o"]).arg(&unfinished).arg(&source).arg("-lddsc"))?;
        fs::rename(unfinished, &program)?;
        Ok(program)
    };
    let program = PROGRAM.get_or_init(|| in_shared_folder(set_up).map_err(|error| format!("{error:#}")));
    let mut command = Command::new(program.clone().map_err(anyhow::Error::msg)?);
    if Path::new(PLUGINS).exists() {
        command.env("ROSLESS_CYCLONE_PLUGINS", PLUGINS);
    }
    Ok(command)
}

/// Where another Fast DDS than the distribution's is installed.
const FAST_DDS_PREFIX: &str = "ROSLESS_FASTDDS_PREFIX";

fn compiled_fast_peer(sources: &Path, folder: &Path) -> Result<PathBuf> {
    let source = sources.join("fastdds_peer.cpp");
    let prefix = std::env::var(FAST_DDS_PREFIX).ok();
    let tag: String = prefix.iter().flat_map(|p| p.chars()).filter(char::is_ascii_alphanumeric).collect();
    let program = folder.join(format!("fastdds_peer{tag}"));
    let age = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
    if age(&program).is_ok_and(|built| age(&source).is_ok_and(|written| built > written)) {
        return Ok(program);
    }
    let mut compiler = Command::new("g++");
    if let Some(prefix) = prefix {
        let headers = Path::new(&prefix).join("include/fastdds/dds");
        ensure!(
            headers.exists(),
            "{FAST_DDS_PREFIX}={prefix} has no Fast DDS: {} is missing",
            headers.display()
        );
        compiler.arg(format!("-I{prefix}/include")).arg(format!("-L{prefix}/lib"));
        // The old kind of path counts for what Fast DDS itself needs from there, too.
        compiler.args(["-Wl,--disable-new-dtags".into(), format!("-Wl,-rpath,{prefix}/lib")]);
    } else if !Path::new("/usr/include/fastdds/dds").exists() {
        // Root on Debian can help itself; anybody else is told what is missing.
        run(Command::new("apt-get").args(["install", "-y", "-qq", "g++", "libfastrtps-dev"]))
            .context("the Debian packages g++ and libfastrtps-dev are needed")?;
    }
    let unfinished = folder.join(format!("fastdds_peer{tag}.new"));
    run(compiler
        .args(["-std=c++17", "-O1", "-o"])
        .arg(&unfinished)
        .arg(&source)
        .args(["-lfastrtps", "-lfastcdr"]))?;
    fs::rename(unfinished, &program)?;
    Ok(program)
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{:?} failed: {}", command.get_program(), errors.trim().lines().last().unwrap_or("no output"));
    }
    Ok(())
}

/// A sample as the foreign stack saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSample {
    /// Encapsulation header and body; empty for a sample too long to print.
    pub payload: Vec<u8>,
    /// Full length, also where `payload` is left out.
    pub length: usize,
    /// Only Fast DDS tells.
    pub writer: Option<[u8; 16]>,
    pub sequence: i64,
    /// Inline QoS "related sample identity", as Fast DDS services use it.
    pub related: Option<([u8; 16], i64)>,
}

/// An endpoint as the foreign stack discovered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignEndpoint {
    pub is_writer: bool,
    pub guid: [u8; 16],
    pub topic: String,
    pub type_name: String,
    pub user_data: Vec<u8>,
    /// `reliable,transient_local,1`; the depth is `-` where the stack does not keep it.
    pub qos: String,
}

/// A running participant of another vendor.
#[derive(Debug)]
pub struct ForeignPeer {
    vendor: Vendor,
    daemon: Daemon,
    stdin: ChildStdin,
}

impl ForeignPeer {
    fn start(vendor: Vendor, command: Command) -> Self {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let (daemon, stdin) = Daemon::spawn_with_stdin(command);
        daemon.wait_for_line("ready ", PATIENCE);
        let version = daemon.wait_for_line("version ", PATIENCE);
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&version) {
            // Not through the test's captured output: whoever reads a log wants to know.
            let _ = writeln!(std::io::stderr(), "foreign peer: {}", version.trim_start_matches("version "));
            told.push(version);
        }
        Self { vendor, daemon, stdin }
    }

    pub fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// The process that it lives in.
    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// Sends it a signal, `STOP` or `CONT` for example.
    pub fn signal(&self, name: &str) {
        run(Command::new("kill").args(["-s", name, &self.pid().to_string()])).expect("the peer runs");
    }

    /// The participant's GUID.
    pub fn guid(&self) -> [u8; 16] {
        guid(self.daemon.wait_for_line("ready ", PATIENCE).trim_start_matches("ready "))
            .expect("ready has a GUID")
    }

    /// Makes a writer and returns its GUID; `qos` as `reliable,transient_local,1`.
    pub fn writer(&mut self, id: &str, topic: &str, dds_type: &str, qos: &str, user_data: &[u8]) -> [u8; 16] {
        self.endpoint("writer", id, topic, dds_type, qos, user_data)
    }

    /// Makes a reader and returns its GUID.
    pub fn reader(&mut self, id: &str, topic: &str, dds_type: &str, qos: &str, user_data: &[u8]) -> [u8; 16] {
        self.endpoint("reader", id, topic, dds_type, qos, user_data)
    }

    fn endpoint(
        &mut self,
        kind: &str,
        id: &str,
        topic: &str,
        dds_type: &str,
        qos: &str,
        user_data: &[u8],
    ) -> [u8; 16] {
        self.send(&format!("{kind} {id} {topic} {dds_type} {qos} {}", hex(user_data)));
        let line = self.daemon.wait_for_line(&format!("created {id} "), PATIENCE);
        line.split(' ').nth(2).and_then(guid).expect("created has a GUID")
    }

    /// Publishes a whole payload, encapsulation header included.
    pub fn write(&mut self, id: &str, payload: &[u8]) {
        self.send(&format!("write {id} {}", hex(payload)));
    }

    /// Publishes with a related sample identity; without a sequence number it is left unknown, as in a Fast DDS request.
    pub fn write_related(&mut self, id: &str, payload: &[u8], related: [u8; 16], sequence: Option<i64>) {
        let sequence = sequence.map(|n| n.to_string()).unwrap_or_default();
        self.send(&format!("write {id} {} {} {sequence}", hex(payload), hex(&related)));
    }

    /// Publishes a `std_msgs/msg/UInt8MultiArray` of `length` zero bytes.
    pub fn write_zeros(&mut self, id: &str, length: usize) {
        self.send(&format!("zeros {id} {length}"));
    }

    pub fn delete(&mut self, id: &str) {
        self.send(&format!("delete {id} "));
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the foreign peer reads its commands");
    }

    /// How many remote endpoints the endpoint is matched with now.
    pub fn matched(&self, id: &str) -> usize {
        let prefix = format!("matched {id} ");
        self.daemon.find_map_last(|line| line.strip_prefix(&prefix)?.parse().ok()).unwrap_or(0)
    }

    /// Waits until the endpoint is matched with exactly `count` remote ones.
    #[track_caller]
    pub fn wait_matched(&self, id: &str, count: usize) {
        eventually(&format!("{:?}'s {id} matched with {count}", self.vendor), PATIENCE, || {
            self.matched(id) == count
        });
    }

    /// All samples the reader has got so far.
    pub fn samples(&self, id: &str) -> Vec<ForeignSample> {
        let prefix = format!("sample {id} ");
        self.daemon.filter_map(|line| line.strip_prefix(&prefix).map(parse_sample))
    }

    /// Waits for at least `count` samples.
    #[track_caller]
    pub fn wait_samples(&self, id: &str, count: usize) -> Vec<ForeignSample> {
        eventually_some(&format!("{:?}'s {id} has {count} samples", self.vendor), PATIENCE, || {
            let samples = self.samples(id);
            (samples.len() >= count).then_some(samples)
        })
    }

    /// Endpoints that are there now, its own included.
    pub fn endpoints(&self) -> Vec<ForeignEndpoint> {
        let gone: HashSet<_> = self
            .daemon
            .filter_map(|line| line.strip_prefix("gone ")?.split(' ').nth(1).and_then(guid))
            .into_iter()
            .collect();
        let found = self.daemon.filter_map(|line| line.strip_prefix("endpoint ").and_then(parse_endpoint));
        found.into_iter().filter(|endpoint| !gone.contains(&endpoint.guid)).collect()
    }

    /// Waits for a discovered endpoint that fulfils `wanted`.
    #[track_caller]
    pub fn wait_endpoint(&self, what: &str, wanted: impl Fn(&ForeignEndpoint) -> bool) -> ForeignEndpoint {
        eventually_some(&format!("{:?} discovers {what}", self.vendor), PATIENCE, || {
            self.endpoints().into_iter().find(&wanted)
        })
    }

    /// USER_DATA of a participant, once it is discovered.
    pub fn participant(&self, wanted: [u8; 12]) -> Option<Vec<u8>> {
        self.daemon.find_map_last(|line| {
            let mut words = line.strip_prefix("participant ")?.split(' ');
            (guid(words.next()?)?[..12] == wanted).then(|| unhex(words.next().unwrap_or("-")))
        })
    }

    /// Whether the stack has said that the participant has left.
    pub fn has_seen_go(&self, wanted: [u8; 12]) -> bool {
        let found = self.daemon.find_map_last(|line| {
            let found = guid(line.strip_prefix("gone participant ")?)?;
            (found[..12] == wanted).then_some(())
        });
        found.is_some()
    }
}

fn parse_sample(text: &str) -> ForeignSample {
    let words: Vec<_> = text.split(' ').collect();
    let [payload, writer, sequence, related, related_sequence] = words[..] else {
        panic!("foreign peer reported a sample in an unknown form: {text}");
    };
    let (payload, length) = match payload.strip_prefix('#') {
        Some(length) => (Vec::new(), length.parse().expect("length is a number")),
        None => {
            let bytes = unhex(payload);
            let length = bytes.len();
            (bytes, length)
        }
    };
    // RTPS numbers are signed, but Fast DDS prints "unknown" (high word −1) as unsigned.
    let number = |text: &str| text.parse::<i128>().expect("sequence number is a number") as i64;
    ForeignSample {
        payload,
        length,
        writer: guid(writer),
        sequence: number(sequence),
        related: guid(related).map(|guid| (guid, number(related_sequence))),
    }
}

fn parse_endpoint(text: &str) -> Option<ForeignEndpoint> {
    let mut words = text.split(' ');
    Some(ForeignEndpoint {
        is_writer: words.next()? == "writer",
        guid: guid(words.next()?)?,
        topic: words.next()?.to_owned(),
        type_name: words.next()?.to_owned(),
        user_data: unhex(words.next()?),
        qos: words.next()?.to_owned(),
    })
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".to_owned() } else { bytes.iter().map(|b| format!("{b:02x}")).collect() }
}

fn unhex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("peers print hex"))
        .collect()
}

fn guid(text: &str) -> Option<[u8; 16]> {
    unhex(text).try_into().ok()
}
