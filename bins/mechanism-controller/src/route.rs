//! Routes: the publisher of PointAndMechaStateArray, and the consumer that runs their phases as the points are reached.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use rosless_cli::{
    Failure, Result,
    args::{hertz, within},
    err, exit, out, output,
    session::FOREVER,
};
use rosless_graph::{Gid, Publisher, TopicQos, config::Settings, monotonic};
use rosless_mechanism::{
    following::{Following, SILENCE},
    route::{self, Follower, News, Point, Pose},
    status::phase_name,
};
use rosless_wire::{
    geometry_msgs::msg::{PoseStamped, Quaternion},
    mecha_control::msg::{MechaState, PointAndMechaStateArray},
    nav_msgs::msg::Odometry,
    std_srvs::srv::{SetBool, SetBoolRequest},
};
use serde_json::json;

use crate::{
    Wait,
    brake::{Brake, STOPPING},
    phase::{tell_ends, tell_step},
    session::{Session, find, open},
};

/// The route that the original publisher has: deploy at the third point.
const EXAMPLE: [&str; 4] = ["0,0", "0,1", "1.2,1:daiza=deploy", "1.2,2"];
/// A publisher of routes that has said nothing for this long is gone, and another may take its place.
const GONE: Duration = Duration::from_secs(3);

#[derive(Debug, Subcommand)]
pub(crate) enum Route {
    /// Publish a route on point_command until Ctrl-C.
    Publish {
        /// Points as `X,Y[,ANGLE][:daiza=PHASE][:hina=PHASE][:bonbori]`, in metres and radians; without any, the example
        /// 0,0 0,1 1.2,1:daiza=deploy 1.2,2
        #[arg(allow_negative_numbers = true)]
        points: Vec<Point>,
        /// How often, in hertz.
        #[arg(long, default_value = "1", value_parser = hertz)]
        rate: Duration,
    },
    /// Run the phases of the route on point_command as the robot reaches its points; ends with the route.
    Follow {
        /// What tells where the robot is: geometry_msgs/PoseStamped or nav_msgs/Odometry.
        #[arg(long, value_enum, default_value = "pose")]
        from: From,
        /// Its topic, if that is not `pose` or `odom`.
        #[arg(long)]
        topic: Option<String>,
        /// A point is reached within so many metres.
        #[arg(long, default_value = "0.1", value_parser = metres)]
        tolerance: f64,
        /// And within so many radians of its angle.
        #[arg(long, default_value = "0.2", value_parser = radians)]
        angle_tolerance: f64,
        #[command(flatten)]
        wait: Wait,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    Pose,
    Odom,
}

fn metres(text: &str) -> std::result::Result<f64, String> {
    within(text, 0.001, 100.0)
}

fn radians(text: &str) -> std::result::Result<f64, String> {
    within(text, 0.001, 3.2)
}

pub(crate) fn run(settings: &Settings, command: &Route) -> Result<()> {
    match command {
        Route::Publish { points, rate } => publish(settings, points, *rate),
        Route::Follow { from, topic, tolerance, angle_tolerance, wait } => {
            let follower = Follower::new(*tolerance, *angle_tolerance);
            follow(settings, follower, (*from, topic.as_deref()), *wait)
        }
    }
}

fn publish(settings: &Settings, points: &[Point], period: Duration) -> Result<()> {
    let route = match points {
        [] => EXAMPLE.iter().map(|point| point.parse()).collect::<Result<_, _>>().map_err(Failure::usage)?,
        points => points.to_vec(),
    };
    let session = rosless_cli::Session::join(settings, "point_and_mecha_state_array_publisher", ())?;
    let publisher = session.node.publisher::<PointAndMechaStateArray>(route::TOPIC)?;
    let message = route::message(&route);
    if output::is_json() {
        let point = |p: &Point| json!({"x": p.x, "y": p.y, "angle": p.angle, "daiza": p.pedestal, "hina": p.doll, "bonbori": p.lantern});
        output::json_line(&json!({ "points": route.iter().map(point).collect::<Vec<_>>() }));
    } else {
        for (index, point) in route.iter().enumerate() {
            out!("point {}: {point}", index + 1);
        }
    }
    session.event_loop.timer(period, move |()| {
        publisher.publish(&message);
    });
    session.watch(None, |()| false)
}

/// What a follower has heard.
#[derive(Default)]
struct Heard {
    routes: Vec<(Gid, PointAndMechaStateArray)>,
    poses: Vec<Pose>,
}

/// The turn about the vertical.
fn heading(q: &Quaternion) -> f64 {
    (2.0 * (q.w * q.z + q.x * q.y)).atan2(1.0 - 2.0 * (q.y * q.y + q.z * q.z))
}

/// A point's phases under way.
struct Run {
    index: usize,
    phases: Vec<(u8, Following)>,
    began: Duration,
}

fn follow(
    settings: &Settings,
    follower: Follower,
    (from, topic): (From, Option<&str>),
    wait: Wait,
) -> Result<()> {
    let session = open::<Heard>(settings)?;
    let (events, node) = (&session.event_loop, &session.node);
    let phases = node.publisher::<MechaState>("mecha_state")?;
    let brake = Brake::new(&session)?;
    events.subscribe::<PointAndMechaStateArray>(node, route::TOPIC, |app, sample| {
        // The latest of each turn is enough.
        app.own.routes = vec![(sample.info.publisher, sample.message)];
    })?;
    let hears = |heard: &mut Heard, x, y, angle| heard.poses.push(Pose { x, y, angle });
    match from {
        From::Pose => events.subscribe::<PoseStamped>(
            node,
            topic.unwrap_or("pose").best_effort(),
            move |app, sample| {
                let pose = sample.message.pose;
                hears(&mut app.own, pose.position.x, pose.position.y, heading(&pose.orientation));
            },
        )?,
        From::Odom => events.subscribe::<Odometry>(
            node,
            topic.unwrap_or("odom").best_effort(),
            move |app, sample| {
                let pose = sample.message.pose.pose;
                hears(&mut app.own, pose.position.x, pose.position.y, heading(&pose.orientation));
            },
        )?,
    };
    find(&session, wait.find, || phases.matched() > 0 && brake.is_ready())?;
    session.settle(phases.raw())?;
    if !output::is_json() {
        out!("waits for a route on {} and for the robot's place", route::TOPIC);
    }
    let patience = wait.timeout;
    let mut driver = Driver { session: &session, phases, follower, run: None, publisher: None, patience };
    let ended = driver.drive();
    // Whoever leaves the route does not leave the mechanism moving.
    let seen = session.with(|app| app.seen.clone()).unwrap_or_default();
    let moving: Vec<_> =
        driver.run.iter().flat_map(|run| &run.phases).flat_map(|(_, phase)| phase.under_way(&seen)).collect();
    if !moving.is_empty() {
        for stopped in brake.stop(&session, &moving, STOPPING, STOPPING)? {
            err!("{}: {}", stopped.which.name(), stopped.text());
        }
    }
    ended
}

struct Driver<'a> {
    session: &'a Session<Heard>,
    phases: Publisher<MechaState>,
    follower: Follower,
    run: Option<Run>,
    /// Who publishes the route, and when it was last heard.
    publisher: Option<(Gid, Duration)>,
    /// How long the phases of a point may take.
    patience: Duration,
}

impl Driver<'_> {
    fn drive(&mut self) -> Result<()> {
        loop {
            let run = &mut self.run;
            let phases = &self.phases;
            let (mut silent, mut restarted) = (false, false);
            let end = run.as_ref().map(|run| run.began.saturating_add(self.patience));
            let left = end.map_or(FOREVER, |end| end.saturating_sub(monotonic()));
            let news = self.session.wait(left, |app| {
                silent = run.is_some() && app.silence() > SILENCE;
                restarted = run.is_some() && app.restarted;
                let mut over = false;
                if let (Some(run), Some(seen)) = (run.as_mut(), &app.seen) {
                    for (code, following) in &mut run.phases {
                        following.look(seen, monotonic()).iter().for_each(|step| tell_step(*code, step));
                        if following.asks_again(seen, monotonic()) {
                            phases.publish(&following.message());
                        }
                    }
                    over = run.phases.iter().all(|(_, following)| following.is_over());
                }
                over || silent
                    || restarted
                    || output::closed()
                    || !app.own.routes.is_empty()
                    || !app.own.poses.is_empty()
            })?;
            if output::closed() {
                return Ok(());
            }
            if silent {
                return Err(Failure::new("the controller has fallen silent: the route is halted"));
            }
            if restarted {
                let why = "the controller was restarted, or there are two";
                return Err(Failure::new(format!("{why}: the route is halted")));
            }
            if !news && let Some(Run { index, .. }) = &self.run {
                let seconds = self.patience.as_secs_f64();
                return Err(Failure::new(format!(
                    "the phases of point {} have not ended within {seconds} s: the route is halted",
                    index + 1
                )));
            }
            let (routes, poses) = self
                .session
                .with(|app| (std::mem::take(&mut app.own.routes), std::mem::take(&mut app.own.poses)));
            routes.into_iter().for_each(|(from, route)| self.take_route(from, &route));
            let is_over = |run: &Run| run.phases.iter().all(|(_, following)| following.is_over());
            let mut news = Vec::new();
            if self.run.as_ref().is_some_and(is_over)
                && let Some(run) = self.run.take()
            {
                self.end(run)?;
                news.extend(self.follower.finished());
            }
            poses.into_iter().for_each(|pose| news.extend(self.follower.pose(pose)));
            for each in news {
                if self.act(each)? {
                    return Ok(());
                }
            }
        }
    }

    /// Two publishers of routes would send the robot's mechanism two ways: the first is listened to while it speaks.
    fn take_route(&mut self, from: Gid, message: &PointAndMechaStateArray) {
        let now = monotonic();
        let other = self.publisher.filter(|(gid, at)| *gid != from && now.saturating_sub(*at) < GONE);
        if let Some((first, _)) = other {
            let graph = self.session.graph();
            let name =
                |gid: &Gid| graph.node_of(gid).map_or_else(|| gid.to_string(), |node| node.to_string());
            return err!(
                "two publish {}: {} is listened to, {} is not",
                route::TOPIC,
                name(&first),
                name(&from)
            );
        }
        self.publisher = Some((from, now));
        match route::read(message) {
            Ok(points) => {
                let count = points.len();
                if self.follower.set_route(points) && !output::is_json() {
                    out!("a route of {count} points");
                }
            }
            Err(reason) => err!("route refused: {reason}"),
        }
    }

    /// `true` when the route is over.
    fn act(&mut self, news: News) -> Result<bool> {
        let tell = |index: usize, what: &str| {
            let point = self.follower.route().get(index).copied().unwrap_or_default();
            match output::is_json() {
                true => output::json_line(&json!({"point": index + 1, "event": what})),
                false => out!("point {} {what}: {point}", index + 1),
            }
            point
        };
        match news {
            News::Passed(index) => {
                tell(index, "passed");
            }
            News::Begin(index) => {
                let point = tell(index, "reached");
                self.begin(index, point)?;
            }
            News::Missed(index) => {
                let point = self.follower.route().get(index).copied().unwrap_or_default();
                return Err(Failure::new(format!(
                    "point {} ({point}) was left before its phases could begin: the route is halted",
                    index + 1
                )));
            }
            News::Done => {
                match output::is_json() {
                    true => {
                        output::json_line(&json!({"point": self.follower.route().len(), "event": "done"}))
                    }
                    false => out!("the route is done"),
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn begin(&mut self, index: usize, point: Point) -> Result<()> {
        if point.lantern {
            let request = SetBoolRequest { data: true };
            self.session.call::<SetBool>("set_bonbori", &request, STOPPING)?;
        }
        let seen = self.session.with(|app| {
            app.restarted = false;
            app.seen.clone().unwrap_or_default()
        });
        let phases =
            point.phases().map(|(which, code)| (code, Following::new(code, &[which], &seen, monotonic())));
        let phases: Vec<_> = phases.collect();
        for (_, following) in &phases {
            self.phases.publish(&following.message());
        }
        self.run = Some(Run { index, phases, began: monotonic() });
        Ok(())
    }

    fn end(&self, run: Run) -> Result<()> {
        let mut reached = true;
        for (code, following) in run.phases {
            let ends = following.ends(|_| ("no outcome", String::new()));
            if !output::is_json() {
                tell_ends(&ends, &phase_name(code));
            }
            reached &= ends.iter().all(|(_, end)| end.is_reached());
        }
        match reached {
            true => Ok(()),
            false => Err(Failure {
                code: exit::FAILED,
                message: format!("the phases of point {} failed: the route is halted", run.index + 1),
            }),
        }
    }
}
