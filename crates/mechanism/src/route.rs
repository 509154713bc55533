//! A route: points on the field with the phases wanted there, and who runs them as the points are reached. No I/O, no clock.
//!
//! The messages are PointAndMechaStateArray. In a route 0 is no command, for both mechanisms and in both profiles, as the
//! robots that drive routes have it.

use std::{f64::consts::TAU, str::FromStr};

use rosless_wire::mecha_control::msg::{MechaState, PointAndMechaState, PointAndMechaStateArray};

use crate::{
    engine::{LEAVE_ALONE, Which},
    status::{PHASES, phase_name},
};

/// The topic a route is published on.
pub const TOPIC: &str = "point_command";
/// Routes with more points are refused: anybody can publish one.
pub const MOST_POINTS: usize = 10_000;

/// A place, and what is wanted there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Metres.
    pub x: f64,
    /// Metres.
    pub y: f64,
    /// Heading in radians.
    pub angle: f64,
    /// The pedestal's phase.
    pub pedestal: Option<u8>,
    /// The doll's phase.
    pub doll: Option<u8>,
    /// The lantern is lit.
    pub lantern: bool,
}

/// Where the robot is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Metres.
    pub x: f64,
    /// Metres.
    pub y: f64,
    /// Heading in radians.
    pub angle: f64,
}

impl Point {
    /// Whether anything is wanted there.
    pub fn is_commanded(&self) -> bool {
        self.pedestal.is_some() || self.doll.is_some() || self.lantern
    }

    /// The phases that are wanted there.
    pub fn phases(&self) -> impl Iterator<Item = (Which, u8)> {
        [(Which::Pedestal, self.pedestal), (Which::Doll, self.doll)]
            .into_iter()
            .filter_map(|(which, code)| Some((which, code?)))
    }
}

/// For people: `1.20, 1.00: daiza deploy`.
impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2}, {:.2}", self.x, self.y)?;
        for (which, code) in self.phases() {
            write!(f, ": {} {}", which.name(), phase_name(code))?;
        }
        if self.lantern { f.write_str(": bonbori") } else { Ok(()) }
    }
}

/// `X,Y[,ANGLE]` in metres and radians, then `:daiza=PHASE`, `:hina=PHASE`, `:bonbori` in any order.
impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || {
            format!(
                "{text:?} is no point: use X,Y or X,Y,ANGLE (metres, radians), then :daiza=PHASE, :hina=PHASE, :bonbori; \
                 a phase is deploy, collect, place or stow"
            )
        };
        let mut parts = text.split(':');
        let place: Result<Vec<f64>, _> =
            parts.next().unwrap_or_default().split(',').map(|number| number.trim().parse()).collect();
        let place = place.map_err(|_| help())?;
        let (x, y, angle) = match place[..] {
            [x, y] => (x, y, 0.0),
            [x, y, angle] => (x, y, angle),
            _ => return Err(help()),
        };
        if ![x, y, angle].iter().all(|number| number.is_finite()) {
            return Err(help());
        }
        let mut point = Self { x, y, angle, ..Self::default() };
        let phase = |name: &str| {
            // 0 is no command in a route.
            let code = PHASES.iter().position(|phase| *phase == name).filter(|code| *code > 0);
            code.and_then(|code| u8::try_from(code).ok()).ok_or_else(help)
        };
        for part in parts {
            match part.split_once('=') {
                Some(("daiza", name)) => point.pedestal = Some(phase(name)?),
                Some(("hina", name)) => point.doll = Some(phase(name)?),
                None if part == "bonbori" => point.lantern = true,
                _ => return Err(help()),
            }
        }
        Ok(point)
    }
}

/// As it is published.
pub fn message(route: &[Point]) -> PointAndMechaStateArray {
    let point = |point: &Point| PointAndMechaState {
        x: point.x,
        y: point.y,
        angle: point.angle,
        command: MechaState {
            daiza_state: point.pedestal.unwrap_or(0),
            hina_state: point.doll.unwrap_or(0),
            bonbori_state: point.lantern,
        },
    };
    PointAndMechaStateArray { points: route.iter().map(point).collect() }
}

/// As it arrives.
///
/// # Errors
/// What is wrong with it: a route is taken whole or not at all.
pub fn read(message: &PointAndMechaStateArray) -> Result<Vec<Point>, String> {
    if message.points.len() > MOST_POINTS {
        return Err(format!("a route has at most {MOST_POINTS} points, not {}", message.points.len()));
    }
    let point = |(index, point): (usize, &PointAndMechaState)| {
        let PointAndMechaState { x, y, angle, command } = point;
        if ![x, y, angle].iter().all(|number| number.is_finite()) {
            return Err(format!("point {} is nowhere: {x}, {y}, {angle}", index + 1));
        }
        let phase = |which: Which, code: u8| match code {
            0 | LEAVE_ALONE => Ok(None),
            1..=4 => Ok(Some(code)),
            _ => Err(format!("point {}: {} has no phase {code}", index + 1, which.name())),
        };
        Ok(Point {
            x: *x,
            y: *y,
            angle: *angle,
            pedestal: phase(Which::Pedestal, command.daiza_state)?,
            doll: phase(Which::Doll, command.hina_state)?,
            lantern: command.bonbori_state,
        })
    };
    message.points.iter().enumerate().map(point).collect()
}

/// What a pose, or the end of a point's phases, leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum News {
    /// A point is reached at which nothing is wanted.
    Passed(usize),
    /// A point is reached: begin what is wanted there, and tell [`Follower::finished`].
    Begin(usize),
    /// The robot has left a point before what is wanted there could begin, because what was wanted before still ran.
    Missed(usize),
    /// The last point is reached and all is done.
    Done,
}

/// Goes along a route, point by point in their order.
#[derive(Clone, Debug)]
pub struct Follower {
    route: Vec<Point>,
    tolerance: f64,
    angle_tolerance: f64,
    next: usize,
    /// What is wanted at a point is under way.
    busy: bool,
    /// The next point is reached, but the one before it is not done.
    early: bool,
    over: bool,
    pose: Option<Pose>,
}

impl Follower {
    /// A point counts as reached within `tolerance` metres and `angle_tolerance` radians.
    pub fn new(tolerance: f64, angle_tolerance: f64) -> Self {
        Self {
            route: vec![],
            tolerance,
            angle_tolerance,
            next: 0,
            busy: false,
            early: false,
            over: true,
            pose: None,
        }
    }

    /// Another route begins at its first point; the same one again changes nothing. Whether it is another.
    pub fn set_route(&mut self, route: Vec<Point>) -> bool {
        if route == self.route {
            return false;
        }
        *self = Self {
            busy: self.busy,
            over: route.is_empty(),
            ..Self::new(self.tolerance, self.angle_tolerance)
        };
        self.route = route;
        true
    }

    /// The route.
    pub fn route(&self) -> &[Point] {
        &self.route
    }

    /// The robot is here.
    pub fn pose(&mut self, pose: Pose) -> Vec<News> {
        self.pose = Some(pose);
        self.look()
    }

    /// What was wanted at the last point is done.
    pub fn finished(&mut self) -> Vec<News> {
        self.busy = false;
        self.look()
    }

    /// The route is not followed any further; the same one published again does not begin it anew.
    pub fn halt(&mut self) {
        self.over = true;
    }

    fn is_at(&self, point: &Point, pose: &Pose) -> bool {
        let turn = (point.angle - pose.angle).rem_euclid(TAU);
        // Written so that NaN is nowhere.
        (point.x - pose.x).hypot(point.y - pose.y) <= self.tolerance
            && turn.min(TAU - turn) <= self.angle_tolerance
    }

    fn look(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        let Some(pose) = self.pose.filter(|_| !self.over) else { return news };
        while let Some(point) = self.route.get(self.next) {
            let there = self.is_at(point, &pose);
            if !there {
                if std::mem::take(&mut self.early) {
                    self.over = true;
                    news.push(News::Missed(self.next));
                }
                return news;
            }
            if point.is_commanded() && self.busy {
                self.early = true;
                return news;
            }
            self.early = false;
            self.busy |= point.is_commanded();
            news.push(if point.is_commanded() { News::Begin(self.next) } else { News::Passed(self.next) });
            self.next += 1;
        }
        if !self.busy {
            self.over = true;
            news.push(News::Done);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(points: &[&str]) -> Vec<Point> {
        points.iter().map(|point| point.parse().unwrap()).collect()
    }

    fn follower(points: &[&str]) -> Follower {
        let mut follower = Follower::new(0.1, 0.2);
        assert!(follower.set_route(route(points)));
        follower
    }

    fn at(x: f64, y: f64) -> Pose {
        Pose { x, y, angle: 0.0 }
    }

    #[test]
    fn points_are_written_read_and_published() {
        let points = route(&["0,0", "1.2,1,-1.5:daiza=deploy", "1.2,2:hina=collect:bonbori"]);
        assert_eq!((points[1].pedestal, points[2].doll, points[2].lantern), (Some(1), Some(2), true));
        assert_eq!(read(&message(&points)), Ok(points.clone()));
        assert_eq!(points[2].to_string(), "1.20, 2.00: hina collect: bonbori");
        for text in ["", "1", "1,2,3,4", "nan,0", "0,0:daiza=prepare", "0,0:arm=deploy", "0,0:daiza", "x,y"] {
            assert!(text.parse::<Point>().unwrap_err().contains("is no point"), "{text}");
        }
    }

    #[test]
    fn hostile_routes_are_refused_whole() {
        let mut bad = message(&route(&["0,0", "1,0"]));
        bad.points[1].x = f64::NAN;
        assert_eq!(read(&bad), Err("point 2 is nowhere: NaN, 0, 0".to_owned()));
        bad.points[1].x = 0.0;
        bad.points[1].command.daiza_state = 9;
        assert_eq!(read(&bad), Err("point 2: daiza has no phase 9".to_owned()));
        let long = PointAndMechaStateArray { points: vec![bad.points[0].clone(); MOST_POINTS + 1] };
        assert!(read(&long).is_err());
        let left_alone = MechaState { daiza_state: LEAVE_ALONE, hina_state: 0, bonbori_state: false };
        bad.points[1].command = left_alone;
        assert!(!read(&bad).unwrap()[1].is_commanded());
    }

    #[test]
    fn phases_begin_as_their_points_are_reached_and_in_order() {
        let mut follower = follower(&["0,0", "0,1", "1.2,1:daiza=deploy", "1.2,2"]);
        assert_eq!(follower.pose(at(1.2, 1.0)), [], "the first point comes first");
        assert_eq!(follower.pose(at(0.05, 0.0)), [News::Passed(0)]);
        assert_eq!(follower.pose(at(0.0, 0.5)), []);
        assert_eq!(follower.pose(at(0.0, 0.95)), [News::Passed(1)]);
        let turned = Pose { angle: 1.0, ..at(1.2, 1.0) };
        assert_eq!(follower.pose(turned), [], "not yet turned");
        assert_eq!(follower.pose(Pose { angle: TAU + 0.1, ..turned }), [News::Begin(2)]);
        assert_eq!(follower.pose(at(1.2, 2.0)), [News::Passed(3)], "it may drive on");
        assert_eq!(follower.finished(), [News::Done]);
        assert_eq!(follower.pose(at(0.0, 0.0)), [], "once");
        assert_eq!(follower.pose(Pose { x: f64::NAN, ..at(0.0, 0.0) }), []);
    }

    #[test]
    fn two_points_at_one_place_wait_for_each_other_and_a_place_that_is_left_is_missed() {
        let mut follower = follower(&["0,0:daiza=deploy", "0,0:daiza=collect", "1,0:daiza=place"]);
        assert_eq!(follower.pose(at(0.0, 0.0)), [News::Begin(0)]);
        assert_eq!(follower.pose(at(0.01, 0.0)), []);
        assert_eq!(follower.finished(), [News::Begin(1)]);
        assert_eq!(follower.pose(at(1.0, 0.0)), [], "collect still runs");
        assert_eq!(follower.pose(at(1.5, 0.0)), [News::Missed(2)]);
        assert_eq!(follower.finished(), [], "it is not placed somewhere else");
    }

    #[test]
    fn the_same_route_again_is_no_news_and_another_begins_anew() {
        let mut follower = follower(&["0,0", "1,0"]);
        follower.pose(at(0.0, 0.0));
        assert!(!follower.set_route(route(&["0,0", "1,0"])));
        assert_eq!(follower.pose(at(1.0, 0.0)), [News::Passed(1), News::Done]);
        assert!(follower.set_route(route(&["1,0", "0,0"])));
        assert_eq!(follower.pose(at(1.0, 0.0)), [News::Passed(0)]);
        follower.halt();
        assert_eq!(follower.pose(at(0.0, 0.0)), []);
    }
}
