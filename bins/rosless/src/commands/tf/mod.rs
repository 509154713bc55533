//! `rosless tf`: what `tf2_echo`, `tf2_monitor` and `view_frames` are used for.

mod tree;

use std::{cell::RefCell, rc::Rc, time::Duration};

use clap::Subcommand;
use rosless_cli::table::{Live, columns};
use rosless_graph::{
    Graph, monotonic,
    qos::{History, to_hear_all},
};
use rosless_wire::tf2_msgs::msg::TFMessage;
use serde_json::{Value, json};
use tree::{Between, Heard, Link, Tree};

use crate::{
    Environment,
    cli::{hertz, seconds},
    failure::{Failure, Result},
    output::{self, err, out},
    session::{FOREVER, Session},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Print where a frame is in another, again and again
    Echo {
        /// The frame in which it is told
        source_frame: String,
        /// The frame whose place is told
        target_frame: String,
        /// How often per second
        #[arg(short, long, value_name = "HZ", value_parser = hertz, default_value = "1")]
        rate: Duration,
        /// Print it once and leave
        #[arg(long)]
        once: bool,
        /// Give up after this long without an answer; exit code 1
        #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
        timeout: Option<Duration>,
    },
    /// Print the tree of frames: who publishes what, how often, how old
    Tree {
        /// Listen for this long
        #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "2")]
        duration: Duration,
    },
    /// Show a live table of frames, their rates and delays
    Monitor {
        /// Leave after this long
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        duration: Option<Duration>,
    },
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        let tree = listen(&session)?;
        match self {
            Self::Echo { source_frame, target_frame, rate, once, timeout } => {
                echo(environment, &session, &tree, [&source_frame, &target_frame], rate, once, timeout)
            }
            Self::Tree { duration } => {
                session.run_until(duration, output::closed)?;
                let tree = tree.borrow();
                if tree.frames().is_empty() {
                    return Err(Failure::nobody(format!(
                        "no transform on /tf or /tf_static within {:.1} s",
                        duration.as_secs_f64()
                    )));
                }
                let now = now(&session);
                match environment.json() {
                    true => output::json(&tree_json(&tree, now)),
                    false => out!("{}", tree.draw(|link| describe(link, now)).trim_end()),
                }
                tree.disputed
                    .iter()
                    .for_each(|frame| err!("WARNING: {frame} is placed below two parents in turn"));
                if tree.refused > 0 {
                    err!(
                        "WARNING: {} transforms were none: no names, no numbers or no rotation",
                        tree.refused
                    );
                }
                Ok(())
            }
            Self::Monitor { duration } => {
                let (mut live, mut next) = (Live::new(), monotonic());
                session.watch(duration, |()| {
                    if monotonic() >= next {
                        next = monotonic() + Duration::from_secs(1);
                        let tree = tree.borrow();
                        live.show(
                            "Transforms; Ctrl-C ends",
                            || table(&tree),
                            || tree_json(&tree, now(&session)),
                        );
                    }
                    false
                })
            }
        }
    }
}

/// The time of stamps, in seconds.
fn now(session: &Session) -> f64 {
    let now = session.node.now();
    f64::from(now.sec) + f64::from(now.nanosec) * 1e-9
}

/// Follows both topics of transforms, asking for what their publishers offer.
fn listen(session: &Session) -> Result<Rc<RefCell<Tree>>> {
    let there =
        |graph: &Graph| !graph.publishers("/tf").is_empty() && !graph.publishers("/tf_static").is_empty();
    let graph = session.discover(there)?;
    let tree = Rc::new(RefCell::new(Tree::default()));
    for (topic, is_static) in [("/tf", false), ("/tf_static", true)] {
        let (mut qos, _) = to_hear_all(&graph.publishers(topic));
        qos.history = History::KeepLast(1000);
        if is_static && graph.publishers(topic).is_empty() {
            qos = qos.transient_local();
        }
        let (tree, context, node) = (tree.clone(), session.context.clone(), session.node.clone());
        session.event_loop.subscribe::<TFMessage>(&session.node, (topic, qos), move |(), sample| {
            let publisher = context.graph().node_of(&sample.info.publisher);
            let publisher = publisher.map_or_else(|| "unknown node".to_owned(), |node| node.to_string());
            let now = node.now();
            let now = f64::from(now.sec) + f64::from(now.nanosec) * 1e-9;
            let heard = Heard { publisher, is_static, at: monotonic(), now };
            sample.message.transforms.iter().for_each(|transform| tree.borrow_mut().take(transform, &heard));
        })?;
    }
    Ok(tree)
}

fn echo(
    environment: &Environment,
    session: &Session,
    tree: &RefCell<Tree>,
    [source, target]: [&str; 2],
    period: Duration,
    once: bool,
    timeout: Option<Duration>,
) -> Result<()> {
    let [source, target] = [source, target].map(|frame| frame.trim_start_matches('/'));
    let place = || tree.borrow().between(source, target);
    let mut complain = monotonic() + Duration::from_secs(2);
    let found = session.run_until(timeout.unwrap_or(FOREVER), || {
        let place = place();
        if let Err(why) = &place
            && monotonic() >= complain
        {
            complain += Duration::from_secs(5);
            err!("Waiting for the transform: {why}");
        }
        place.is_ok() || output::closed()
    })?;
    if !found {
        return Err(Failure::nobody(place().err().unwrap_or_default()));
    }
    let mut due = monotonic();
    while !output::closed() {
        match (place(), environment.json()) {
            (Ok(place), true) => output::json_line(&place_json(&place)),
            (Ok(place), false) => out!("{}", text(&place)),
            (Err(why), _) => err!("{why}"),
        }
        if once {
            break;
        }
        due += period;
        match session.run_until(due.saturating_sub(monotonic()), output::closed) {
            Err(interrupted) if interrupted.is_interruption() => break,
            other => other?,
        };
    }
    Ok(())
}

/// As `tf2_echo` prints it.
fn text(place: &Between) -> String {
    let (t, r) = (&place.pose.translation, place.pose.rotation.quaternion());
    let (roll, pitch, yaw) = place.pose.rotation.euler_angles();
    let row = |numbers: &[f64]| numbers.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ");
    let degrees = [roll, pitch, yaw].map(f64::to_degrees);
    let matrix = place.pose.to_homogeneous();
    let lines: String = matrix
        .row_iter()
        .map(|row| format!("\n {}", row.iter().map(|x| format!("{x:7.3}")).collect::<String>()))
        .collect();
    format!(
        "At time {:.9}\n- Translation: [{}]\n- Rotation: in Quaternion (xyzw) [{}]\n- Rotation: in RPY (radian) [{}]\n\
         - Rotation: in RPY (degree) [{}]\n- Matrix:{lines}",
        place.stamp.unwrap_or_default(),
        row(&[t.x, t.y, t.z]),
        row(&[r.i, r.j, r.k, r.w]),
        row(&[roll, pitch, yaw]),
        row(&degrees),
    )
}

fn place_json(Between { pose, stamp }: &Between) -> Value {
    let (t, r) = (&pose.translation, pose.rotation.quaternion());
    json!({"stamp": stamp, "translation": [t.x, t.y, t.z], "rotation": [r.i, r.j, r.k, r.w]})
}

fn describe(link: &Link, now: f64) -> String {
    let age = link.stamp.map_or_else(|| "static".to_owned(), |stamp| format!("{:.3} s old", now - stamp));
    let rate = link
        .rate()
        .filter(|_| link.stamp.is_some())
        .map_or_else(String::new, |rate| format!("{rate:.1} Hz, "));
    format!("({rate}{age}, from {})", link.publisher)
}

fn tree_json(tree: &Tree, now: f64) -> Value {
    let frame = |(child, link): (&String, &Link)| {
        json!({"frame": child, "parent": link.parent, "publisher": link.publisher, "static": link.stamp.is_none(),
            "rate": link.rate().filter(|_| link.stamp.is_some()), "age": link.stamp.map(|stamp| now - stamp),
            "delay": link.stamp.map(|_| link.delay()), "delay_max": link.stamp.map(|_| link.delay_max),
            "disputed": tree.disputed.contains(child)})
    };
    json!({"frames": tree.links().map(frame).collect::<Vec<_>>(), "refused": tree.refused})
}

fn table(tree: &Tree) -> String {
    let row = |(child, link): (&String, &Link)| {
        let moving = |text: String| if link.stamp.is_some() { text } else { String::new() };
        vec![
            child.clone(),
            link.parent.clone(),
            link.publisher.clone(),
            link.stamp.map_or_else(
                || "static".to_owned(),
                |_| link.rate().map_or_else(String::new, |r| format!("{r:.1}")),
            ),
            moving(format!("{:.4}", link.delay())),
            moving(format!("{:.4}", link.delay_max)),
        ]
    };
    columns(&["FRAME", "PARENT", "PUBLISHER", "HZ", "DELAY s", "MAX s"], tree.links().map(row))
}
