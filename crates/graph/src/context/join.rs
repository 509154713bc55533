//! Joining a domain: what the process must have for it, and the participant itself.

use std::{
    cell::Cell,
    net::{IpAddr, Ipv4Addr},
    rc::Rc,
    sync::{Arc, atomic::AtomicBool},
};

use mio::Poll;
use rustdds::{
    DiscoveryLimits, DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusListener,
    QosPolicies, driving::Driver,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook_mio::v1_0::Signals;

#[cfg(feature = "security")]
use crate::config::{EnclaveFiles, Strategy};
use crate::{
    Error, Result,
    config::{DiscoveryRange, Limits, Security, Settings},
    network::StaticPeers,
};

/// Sockets, polls and wakers of a participant and an event loop, with some to spare for further interfaces.
const DESCRIPTORS_TO_JOIN: u64 = 24;
/// Stacks, buffers and caches of a node that has something to do. Rust aborts where an allocation fails, so it is asked
/// before.
const MEMORY_TO_JOIN: u64 = 32 << 20;

/// The DDS side. Fields are dropped in this order.
pub(crate) struct Participant {
    pub(crate) listener: DomainParticipantStatusListener,
    pub(crate) publisher: rustdds::Publisher,
    pub(crate) subscriber: rustdds::Subscriber,
    pub(crate) dds: DomainParticipant,
    pub(crate) driver: Rc<Driver>,
    /// Watches the participant's sockets; the event loop takes it.
    pub(crate) poll: Cell<Option<Poll>>,
}

/// The participant's tokens in the poll, from here on.
pub(crate) const DDS_TOKENS: usize = 16;

fn discovery_limits(set: &Limits) -> DiscoveryLimits {
    let defaults = DiscoveryLimits::default();
    let per_participant = set.endpoints_per_participant;
    DiscoveryLimits {
        participants: set.participants.unwrap_or(defaults.participants),
        endpoints: set.endpoints.unwrap_or(defaults.endpoints),
        endpoints_per_participant: per_participant.unwrap_or(defaults.endpoints_per_participant),
        matches_per_endpoint: set.matches.unwrap_or(defaults.matches_per_endpoint),
        user_data: set.user_data.unwrap_or(defaults.user_data),
        name: set.name.unwrap_or(defaults.name),
    }
}

pub(super) fn join(settings: &Settings, peers: &StaticPeers) -> Result<Participant> {
    let environment = &settings.environment;
    let participants = peers.participants(environment.domain_id);
    let mut builder = DomainParticipantBuilder::new(environment.domain_id)
        .ip_versions(environment.ip_versions)
        .user_data(format!("enclave={};", settings.enclave()))
        .discovery_limits(discovery_limits(&environment.limits));
    if let Some(bytes) = environment.limits.assembly {
        builder = builder.max_assembly(bytes.div_ceil(2), bytes);
    }
    builder = match environment.discovery_range {
        // Static peers are reached whatever the range, except when discovery is off.
        DiscoveryRange::Off => {
            builder.with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)]).same_host_loopback(false)
        }
        // Not bound to loopback: ROS peers of this range are at the host's own addresses.
        DiscoveryRange::Localhost => builder.initial_peers(participants).with_this_host_and(peers.hosts()),
        DiscoveryRange::Subnet | DiscoveryRange::SystemDefault => builder.initial_peers(participants),
    };
    if let Some(security) = &environment.security {
        builder = protect(builder, security, settings.enclave())?;
    }
    let poll = Poll::new().map_err(Error::io("cannot create the event loop"))?;
    let (dds, driver) = builder
        .build_driven(poll.registry(), DDS_TOKENS)
        .map_err(Error::dds(format!("join DDS domain {}", environment.domain_id)))?;
    let qos = QosPolicies::qos_none();
    Ok(Participant {
        listener: dds.status_listener(),
        publisher: dds.create_publisher(&qos).map_err(Error::dds("create a DDS publisher"))?,
        subscriber: dds.create_subscriber(&qos).map_err(Error::dds("create a DDS subscriber"))?,
        dds,
        driver: Rc::new(driver),
        poll: Cell::new(Some(poll)),
    })
}

/// Never a silent open node: a program that cannot protect itself does not start where that is asked for.
#[cfg(not(feature = "security"))]
fn protect(_: DomainParticipantBuilder, _: &Security, _: &str) -> Result<DomainParticipantBuilder> {
    Err(Error::Usage(
        "ROS_SECURITY_ENABLE=true, but this program was built without DDS Security; build it with `--features security`, \
         or unset ROS_SECURITY_ENABLE to join without protection"
            .to_owned(),
    ))
}

#[cfg(feature = "security")]
fn protect(
    builder: DomainParticipantBuilder,
    security: &Security,
    enclave: &str,
) -> Result<DomainParticipantBuilder> {
    match security.files(enclave, |path| std::fs::read(path)) {
        Ok(EnclaveFiles { folder, has_crl }) => {
            let mut files =
                rustdds::DomainParticipantSecurityConfigFiles::with_ros_default_names(&folder, String::new());
            files.certificate_revocation_list = has_crl.then(|| folder.join(EnclaveFiles::CRL));
            Ok(builder.builtin_security(files))
        }
        Err(missing) if security.strategy == Strategy::Permissive => {
            log::warn!("NOT PROTECTED by DDS Security, as ROS_SECURITY_STRATEGY is Permissive: {missing}");
            Ok(builder)
        }
        Err(missing) => Err(Error::Usage(format!("{missing} (ROS_SECURITY_STRATEGY=Enforce)"))),
    }
}

pub(super) fn take_over_signals() -> Result<Signals> {
    let forced = Arc::new(AtomicBool::new(false));
    // A hang-up hurries nobody: when a terminal goes, the kernel tells of it and then the shell, and what has to be stopped
    // before leaving must be stopped.
    for signal in [SIGINT, SIGTERM] {
        // Registered before the flag is set by the first signal: so only the second one ends the process.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, forced.clone())
            .and_then(|_| signal_hook::flag::register(signal, forced.clone()))
            .map_err(Error::io("cannot handle signals"))?;
    }
    Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::io("cannot handle signals"))
}

/// Whether there are descriptors and memory enough to join.
pub(super) fn check_room() -> Result<()> {
    check_descriptors(raise_file_limit())?;
    check_memory()
}

/// What an application watches, connections of a web server for example, counts as well.
fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            log::debug!("the limit for open files stays as it is: {error}");
        }
    }
    getrlimit(Resource::Nofile).current
}

/// RustDDS does not take it well when descriptors run out on the way in.
fn check_descriptors(limit: Option<u64>) -> Result<()> {
    let (Some(limit), Ok(open)) = (limit, std::fs::read_dir("/proc/self/fd")) else { return Ok(()) };
    let left = limit.saturating_sub(open.count() as u64);
    if left >= DESCRIPTORS_TO_JOIN {
        return Ok(());
    }
    let reason =
        format!("Too many open files: {left} of {limit} are left, and this takes {DESCRIPTORS_TO_JOIN}");
    Err(Error::Dds { what: "join the DDS domain".to_owned(), reason })
}

fn check_memory() -> Result<()> {
    use rustix::process::{Resource, getrlimit};
    let pages = |statm: String| statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    let taken = std::fs::read_to_string("/proc/self/statm").ok().and_then(pages);
    let (Some(limit), Some(pages)) = (getrlimit(Resource::As).current, taken) else { return Ok(()) };
    let left = limit.saturating_sub(pages * rustix::param::page_size() as u64);
    if left >= MEMORY_TO_JOIN {
        return Ok(());
    }
    let reason = format!(
        "{} MiB of address space are left, and this takes {} MiB; raise the limit with `ulimit -v`, or LimitAS= under \
         systemd",
        left >> 20,
        MEMORY_TO_JOIN >> 20
    );
    Err(Error::Dds { what: "join the DDS domain".to_owned(), reason })
}
