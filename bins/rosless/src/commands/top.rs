//! `rosless top`: who is there, what flows, what it costs this machine.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    rc::Rc,
    time::Duration,
};

use clap::Args;
use rosless_cli::table::{Live, columns};
use rosless_graph::{TopicQos, monotonic, qos::to_hear_all};
use rosless_wire::rosless_msgs::msg::{ControllerStatus, SystemStatus};
use serde_json::{Value, json};

use super::topic;
use crate::{
    Environment,
    cli::seconds,
    failure::Result,
    fleet,
    session::{Session, is_hidden},
};

#[derive(Args, Debug)]
pub(crate) struct Top {
    /// Leave after this long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Do not listen to the topics: without rates, and without their traffic
    #[arg(long)]
    quiet: bool,
}

const PERIOD: Duration = Duration::from_secs(1);
const STATUS: &str = "rosless_msgs/msg/ControllerStatus";

/// Messages and bytes of a topic: in all, and when it was looked at last.
#[derive(Debug, Default)]
struct Flow {
    total: Rc<Cell<(u64, u64)>>,
    looked: (u64, u64),
    /// Per second, since then.
    rates: (f64, f64),
}

/// A program of ours that runs on this machine.
#[derive(Debug, PartialEq)]
struct Process {
    program: String,
    ticks: u64,
    megabytes: f64,
    /// Of a core.
    percent: Option<f64>,
}

#[derive(Debug, Default)]
struct Picture {
    flows: BTreeMap<String, Flow>,
    processes: BTreeMap<u32, Process>,
    looked: Option<Duration>,
}

impl Top {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        session.whole_graph()?;
        let systems = Rc::new(RefCell::new(BTreeMap::<String, Vec<SystemStatus>>::new()));
        let (mut picture, mut live) = (Picture::default(), Live::new());
        let mut next = monotonic();
        let mut failure = None;
        session.watch(self.duration, |()| {
            if monotonic() >= next {
                next += PERIOD;
                if let Err(error) = picture.listen(&session, &systems, self.quiet) {
                    failure = Some(error);
                    return true;
                }
                picture.look(monotonic());
                let systems = systems.borrow();
                let title = format!("DDS domain {}; Ctrl-C ends", session.domain());
                live.show(
                    &title,
                    || picture.text(&session, &systems, self.quiet),
                    || picture.json(&session, &systems),
                );
            }
            false
        })?;
        failure.map_or(Ok(()), Err)
    }
}

impl Picture {
    /// Subscribes to what has come.
    fn listen(
        &mut self,
        session: &Session,
        systems: &Rc<RefCell<BTreeMap<String, Vec<SystemStatus>>>>,
        quiet: bool,
    ) -> Result<()> {
        let graph = session.graph();
        for (topic, types) in topic::visible(&graph, false) {
            let publishers = graph.publishers(&topic);
            if self.flows.contains_key(&topic) || publishers.is_empty() {
                continue;
            }
            let flow = Flow::default();
            if types.contains(STATUS) {
                let (systems, key) = (systems.clone(), topic.clone());
                session.event_loop.subscribe::<ControllerStatus>(
                    &session.node,
                    topic.latched(),
                    move |(), sample| {
                        systems.borrow_mut().insert(key.clone(), sample.message.systems);
                    },
                )?;
            } else if !quiet {
                let (counter, (qos, _)) = (flow.total.clone(), to_hear_all(&publishers));
                let first = publishers[0];
                let hash = first.type_hash.as_deref().unwrap_or_default();
                session.event_loop.subscribe_raw(
                    &session.node,
                    (&topic, qos),
                    (&first.type_name(), hash),
                    move |(), sample| {
                        let (messages, bytes) = counter.get();
                        counter.set((messages + 1, bytes + sample.message.len() as u64));
                    },
                )?;
            }
            self.flows.insert(topic, flow);
        }
        self.flows.retain(|topic, _| graph.topics().contains_key(topic));
        Ok(())
    }

    fn look(&mut self, now: Duration) {
        let since = self.looked.replace(now).map(|looked| now.saturating_sub(looked).as_secs_f64());
        let since = since.filter(|seconds| *seconds > 0.0);
        for flow in self.flows.values_mut() {
            let (messages, bytes) = flow.total.get();
            let per_second = |now: u64, before: u64| since.map_or(0.0, |s| (now - before) as f64 / s);
            flow.rates = (per_second(messages, flow.looked.0), per_second(bytes, flow.looked.1));
            flow.looked = (messages, bytes);
        }
        let before = std::mem::replace(&mut self.processes, processes());
        let tick = rustix::param::clock_ticks_per_second() as f64;
        for (pid, process) in &mut self.processes {
            let used = before.get(pid).map(|before| process.ticks.saturating_sub(before.ticks) as f64 / tick);
            process.percent = used.zip(since).map(|(used, since)| 100.0 * used / since);
        }
    }

    fn text(&self, session: &Session, systems: &BTreeMap<String, Vec<SystemStatus>>, quiet: bool) -> String {
        let graph = session.graph();
        let nodes = graph.nodes().iter().filter(|node| !is_hidden(&node.to_string())).count();
        let mut text = format!("{nodes} nodes, {} topics\n", topic::visible(&graph, false).len());
        if !self.processes.is_empty() {
            let row = |(pid, process): (&u32, &Process)| {
                let percent = process.percent.map_or_else(String::new, |percent| format!("{percent:.1}"));
                vec![process.program.clone(), pid.to_string(), percent, format!("{:.1}", process.megabytes)]
            };
            text += &format!(
                "\n{}",
                columns(&["PROGRAM HERE", "PID", "CPU %", "MB"], self.processes.iter().map(row))
            );
        }
        let mut known = systems.values().flatten().peekable();
        if known.peek().is_some() {
            let row = |system: &SystemStatus| {
                let offset = match system.clock_offset.is_finite() {
                    true => {
                        format!("{:+.3} ± {:.3}", system.clock_offset * 1e3, system.clock_uncertainty * 1e3)
                    }
                    false => String::new(),
                };
                vec![system.name.clone(), system.status.clone(), system.session.clone(), offset]
            };
            text += &format!("\n{}", columns(&["SYSTEM", "STATUS", "SESSION", "CLOCK ms"], known.map(row)));
        }
        if !quiet {
            let row = |(name, flow): (&String, &Flow)| {
                let number = |value: f64, digits: usize| {
                    if value > 0.0 { format!("{value:.digits$}") } else { String::new() }
                };
                vec![
                    name.clone(),
                    number(flow.rates.0, 1),
                    number(flow.rates.1 / 1e3, 2),
                    graph.publishers(name).len().to_string(),
                    // Without the one of this program.
                    graph.subscriptions(name).len().saturating_sub(1).to_string(),
                ]
            };
            let mut flows: Vec<_> = self.flows.iter().collect();
            flows.sort_by(|a, b| b.1.rates.1.total_cmp(&a.1.rates.1).then(a.0.cmp(b.0)));
            text +=
                &format!("\n{}", columns(&["TOPIC", "HZ", "kB/s", "PUB", "SUB"], flows.into_iter().map(row)));
        }
        text
    }

    fn json(&self, session: &Session, systems: &BTreeMap<String, Vec<SystemStatus>>) -> Value {
        let graph = session.graph();
        let nodes: Vec<_> =
            graph.nodes().iter().map(ToString::to_string).filter(|node| !is_hidden(node)).collect();
        let topics = self.flows.iter().map(|(name, flow)| {
            json!({"topic": name, "rate": flow.rates.0, "bytes_per_second": flow.rates.1,
                "publishers": graph.publishers(name).len()})
        });
        let processes = self.processes.iter().map(|(pid, process)| {
            json!({"program": process.program, "pid": pid, "cpu_percent": process.percent, "megabytes": process.megabytes})
        });
        let systems = systems.values().flatten().map(|system| {
            let finite = |value: f64| value.is_finite().then_some(value);
            json!({"system": system.name, "status": system.status, "session": system.session,
                "clock_offset": finite(system.clock_offset), "clock_uncertainty": finite(system.clock_uncertainty)})
        });
        json!({"nodes": nodes, "topics": topics.collect::<Vec<_>>(), "processes": processes.collect::<Vec<_>>(),
            "systems": systems.collect::<Vec<_>>()})
    }
}

/// Programs of ours among the processes of this machine that may be looked at.
fn processes() -> BTreeMap<u32, Process> {
    let ours = fleet::programs();
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let process = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let program = fs::read_link(entry.path().join("exe")).ok()?.file_name()?.to_str()?.to_owned();
        let stat = ours.contains(&program).then(|| fs::read_to_string(entry.path().join("stat")).ok())??;
        read_stat(program, &stat).map(|process| (pid, process))
    };
    entries.flatten().filter_map(process).collect()
}

/// The two figures of `/proc/PID/stat` that are wanted; the name in it may contain anything.
fn read_stat(program: String, stat: &str) -> Option<Process> {
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let page = rustix::param::page_size() as f64;
    Some(Process {
        program,
        ticks: field(14)? + field(15)?,
        megabytes: field(24)? as f64 * page / 1e6,
        percent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_any_name() {
        let mut stat = "12 (a) b (c) S".to_owned();
        (4..=52).for_each(|field| stat += &format!(" {}", field * 10));
        let process = read_stat("x".into(), &stat).unwrap();
        assert_eq!(process.ticks, 290);
        assert!((process.megabytes - 240.0 * rustix::param::page_size() as f64 / 1e6).abs() < 1e-9);
        assert_eq!(read_stat("x".into(), "12 (a) S 1 2"), None);
    }

    #[test]
    fn rates_are_those_since_the_last_look() {
        let mut picture = Picture::default();
        picture.flows.insert("/a".into(), Flow::default());
        picture.look(Duration::from_secs(10));
        picture.flows["/a"].total.set((20, 4000));
        picture.look(Duration::from_secs(12));
        assert_eq!(picture.flows["/a"].rates, (10.0, 2000.0));
        picture.look(Duration::from_secs(13));
        assert_eq!(picture.flows["/a"].rates, (0.0, 0.0));
    }
}
