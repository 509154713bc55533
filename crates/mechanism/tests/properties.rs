//! Whatever is commanded, sensed and waited for, in whatever order: the interlocks hold and every sequence ends.

mod world;

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;
use rosless_mechanism::{
    Engine, GoalId, Input, Output, Profile, Settings, Time,
    doll::{self, Lift},
    engine::Which,
    model::{Fault, Switch},
    pedestal,
    profile::{ActuatorArrays, SensorArrays},
};
use world::World;

/// Longest sum of waits of any sequence with the default parameters: the doll's collect is far below it.
const LONGEST: Duration = Duration::from_secs(60);

const DIRECT: [&str; 17] = [
    "mechaExpand",
    "mechaRetract",
    "armOpen",
    "armClose",
    "boxArmExpand",
    "boxArmRetract",
    "moveUp",
    "moveDown",
    "expandArm",
    "contractArm",
    "resetArm",
    "push",
    "0degree",
    "90degree",
    "bonbori",
    "bonboriOff",
    "sing",
];

fn profile() -> impl Strategy<Value = Profile> {
    prop_oneof![Just(Profile::Document), Just(Profile::Nucleo)]
}

fn command() -> impl Strategy<Value = Input> {
    let phase = || prop_oneof![4 => 0u8..=4, 1 => any::<u8>()];
    prop_oneof![
        4 => (phase(), phase(), any::<bool>())
            .prop_map(|(pedestal, doll, lantern)| Input::MechaState { pedestal, doll, lantern }),
        4 => (prop_oneof![Just(Which::Pedestal), Just(Which::Doll)], 0u8..16, any::<u8>())
            .prop_map(|(which, command, id)| Input::Goal { which, id: [id; 16], command }),
        1 => any::<u8>().prop_map(|id| Input::Cancel { id: [id; 16] }),
        1 => Just(Input::Stop),
        1 => any::<bool>().prop_map(Input::Lantern),
        2 => prop::sample::select(DIRECT.to_vec()).prop_map(|word| Input::Direct(word.to_owned())),
        1 => Just(Input::Tick),
    ]
}

fn sensors() -> impl Strategy<Value = Input> {
    let angle = prop_oneof![
        Just(180.0),
        Just(90.0),
        Just(97.5),
        Just(-10.0),
        Just(-15.0),
        Just(-25.0),
        Just(25.0),
        -200.0..200.0f64,
        Just(f64::NAN)
    ];
    let doll = (any::<[bool; 5]>(), angle, any::<[bool; 2]>()).prop_map(|(switches, tilt, latches)| {
        let arrays =
            SensorArrays { angles: vec![tilt], switches: switches.to_vec(), cylinders: latches.to_vec() };
        Input::DollSensors(Profile::Document.read_doll_sensors(&arrays))
    });
    let pedestal = (any::<bool>(), any::<[bool; 4]>()).prop_map(|(pedestal, cylinders)| {
        Input::PedestalSensors(Ok(pedestal::Sensors { pedestal, cylinders }))
    });
    prop_oneof![pedestal, doll]
}

/// Sees what the engine sees and judges each output as it comes.
struct Judge {
    settings: Settings,
    pedestal: Option<(pedestal::Sensors, Time)>,
    doll: Option<(doll::Sensors, Time)>,
    cylinders: Option<pedestal::Cylinders>,
    told: [Option<Time>; 4],
    outputs: Option<doll::Command>,
    /// Clamp sensors that were ever seen to change.
    moved: [bool; 2],
}

impl Judge {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            pedestal: None,
            doll: None,
            cylinders: None,
            told: [None; 4],
            outputs: None,
            moved: [false; 2],
        }
    }

    fn sees(&mut self, input: &Input, now: Time) {
        match input {
            Input::PedestalSensors(Ok(sensors)) => {
                if let Some((before, _)) = self.pedestal.replace((*sensors, now)) {
                    for i in 0..2 {
                        self.moved[i] |= before.cylinders[i] != sensors.cylinders[i];
                    }
                }
            }
            Input::DollSensors(Ok(sensors)) => self.doll = Some((*sensors, now)),
            _ => {}
        }
    }

    fn judge(&mut self, output: &Output, now: Time) -> Result<(), TestCaseError> {
        match output {
            Output::PedestalCommand(next) => self.judge_pedestal(next, now),
            Output::DollCommand(next) => self.judge_doll(next),
            _ => Ok(()),
        }
    }

    fn judge_pedestal(&mut self, next: &pedestal::Cylinders, now: Time) -> Result<(), TestCaseError> {
        let (sensors, at) = self.pedestal.expect("no output without a sensor sample");
        let before = self.cylinders.unwrap_or(sensors.cylinders);
        // An arm that is sensed up long after it was sent down does not go up: the mechanism has restarted.
        let under_way = self.told[3].is_some_and(|told| now - told < Duration::from_secs(1));
        if before[3] && !next[3] && (sensors.cylinders[3] || under_way) {
            prop_assert!(now - at <= Duration::from_millis(500), "lifts on stale data");
            prop_assert_eq!(
                &next[..2],
                &sensors.cylinders[..2],
                "lifts although the clamp is not where it was sent"
            );
            prop_assert_eq!(next[0], next[1], "lifts with a clamp that is open on one side");
            prop_assert_eq!(self.moved, [true; 2], "lifts on a sensor that may be dead");
            for told in self.told[..2].iter().flatten() {
                prop_assert!(now - *told >= Duration::from_secs(1), "lifts before the clamp settled");
            }
        }
        for i in 0..4 {
            if before[i] != next[i] {
                self.told[i] = Some(now);
            }
        }
        self.cylinders = Some(*next);
        Ok(())
    }

    fn judge_doll(&mut self, next: &doll::Command) -> Result<(), TestCaseError> {
        let (sensors, _) = self.doll.expect("no output without a sensor sample");
        let band = self.settings.travel_min..=self.settings.travel_max;
        let tolerant = self.settings.travel_min - self.settings.tolerance
            ..=self.settings.travel_max + self.settings.tolerance;
        let before = self.outputs;
        self.outputs = Some(*next);
        prop_assert!(next.tilt.is_finite());
        let stays = next.tilt == sensors.tilt || before.is_some_and(|b| b.tilt == next.tilt);
        let goes_on = before.is_some_and(|b| b.lift == next.lift);
        let travels = next.lift != Lift::Hold && sensors.end() != Some(next.lift);
        if travels && !goes_on {
            prop_assert!(
                band.contains(&next.tilt) && tolerant.contains(&sensors.tilt),
                "the lift travels with the tray out"
            );
        }
        if !stays && !band.contains(&next.tilt) {
            prop_assert!(!travels, "the tray leaves its band while the lift travels");
            prop_assert!(sensors.end().is_some(), "the tray leaves its band between the ends");
            prop_assert!(
                next.tilt < self.settings.travel_min || sensors.end() == Some(Lift::Up),
                "folds back below the top"
            );
        }
        Ok(())
    }
}

/// An engine under a judge's eyes.
struct Trial {
    engine: Engine,
    judge: Judge,
    now: Time,
    /// Goals begun minus goals ended.
    open_goals: BTreeMap<GoalId, i32>,
    commanded: bool,
}

impl Trial {
    fn act(&mut self, input: Input) -> Result<(), TestCaseError> {
        self.commanded |= matches!(
            input,
            Input::MechaState { .. } | Input::Goal { .. } | Input::Lantern(_) | Input::Direct(_)
        );
        if let Input::Goal { id, .. } = input {
            *self.open_goals.entry(id).or_default() += 1;
        }
        self.judge.sees(&input, self.now);
        self.engine.handle(input, self.now);
        while let Some(output) = self.engine.poll_output() {
            let is_report = matches!(output, Output::Report { .. });
            prop_assert!(self.commanded || is_report, "output before the first command");
            if let Output::GoalEnded { id, .. } = &output {
                *self.open_goals.entry(*id).or_default() -= 1;
            }
            self.judge.judge(&output, self.now)?;
        }
        Ok(())
    }

    /// Wakes the engine exactly when it asks for it.
    fn run_for(&mut self, wait: Duration) -> Result<(), TestCaseError> {
        let end = self.now + wait;
        let mut wakeups = 0;
        while let Some(deadline) = self.engine.next_deadline(self.now).filter(|d| *d <= end) {
            self.now = self.now.max(deadline);
            self.act(Input::Tick)?;
            wakeups += 1;
            prop_assert!(wakeups < 1000, "the engine asks to be woken without getting on");
        }
        self.now = end;
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("MECHANISM_PROPERTY_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
    ))]

    /// Sensors that say anything at any time, even what no machine could.
    #[test]
    fn mad_sensors_never_break_an_interlock_and_every_sequence_ends(
        profile in profile(),
        events in prop::collection::vec((0u64..1500, prop_oneof![1 => command(), 3 => sensors()]), 1..120),
    ) {
        let settings = Settings::defaults(profile);
        let mut trial = Trial {
            engine: Engine::new(settings.clone()),
            judge: Judge::new(settings),
            now: Time::ZERO,
            open_goals: BTreeMap::new(),
            commanded: false,
        };
        for (wait, input) in events {
            trial.run_for(Duration::from_millis(wait))?;
            trial.act(input)?;
        }
        trial.run_for(LONGEST)?;
        let Trial { engine, now, open_goals, .. } = trial;
        let status = engine.status(now);
        prop_assert!(!status.pedestal.activity.running && !status.doll.activity.running, "a sequence without an end");
        prop_assert_eq!(engine.next_deadline(now), None);
        prop_assert!(open_goals.values().all(|open| *open == 0), "each goal ends exactly once: {:?}", open_goals);
    }

    /// A believable machine with faults and restarts: what is true of outputs is true of the metal. A cylinder's sensor tells the old place
    /// until it arrives, so the promise needs a settle time of at least the slowest stroke, and cylinders that stick at an end.
    #[test]
    fn the_model_is_never_lifted_half_clamped_nor_moved_with_the_tray_out(
        profile in profile(),
        automatic in any::<bool>(),
        cylinder_fault in prop::option::of((0usize..4, any::<bool>())),
        events in prop::collection::vec((0u64..4000, command(), 0usize..19), 1..12),
    ) {
        let mut settings = Settings::defaults(profile);
        // The slowest stroke takes two seconds; the model rounds.
        settings.set("daiza.settle", 2.01).expect("in range");
        let mut world = World::new(settings, automatic);
        let cylinder_fault = cylinder_fault.map(|(i, slow)| {
            if slow { Fault::SlowCylinder(i, 2.0) } else { Fault::StuckCylinder(i) }
        });
        cylinder_fault.into_iter().for_each(|fault| world.model.add_fault(fault));
        world.run(2.5);
        for (wait, input, disturbance) in events {
            match disturbance {
                i @ 0..6 => {
                    let switch = Switch::ALL[i].0;
                    // Switches of the environment, by hand; those of the lift only break.
                    if matches!(switch, Switch::Pedestal | Switch::Wall1 | Switch::Wall2) {
                        world.model.press(switch, Some(true));
                    } else {
                        world.model.add_fault(Fault::StuckSwitch(switch, false));
                    }
                }
                6 => world.model.add_fault(Fault::StuckTilt),
                7 => world.model.add_fault(Fault::StuckLift),
                8 => world.model.add_fault(Fault::LostSensors(Which::Pedestal)),
                9 => world.model.add_fault(Fault::LostSensors(Which::Doll)),
                10 | 11 => world.model.clear_faults(),
                12 | 13 => world.power_cycle(0.0),
                14 => world.power_cycle(1.0),
                _ => {}
            }
            if let (10..=14, Some(fault)) = (disturbance, cylinder_fault) {
                world.model.add_fault(fault);
            }
            world.clear();
            world.input(input);
            let end = world.now + Duration::from_millis(wait);
            let mut restarts = matches!(disturbance, 15 | 16);
            while world.now < end {
                // Before anything that was sent has shown in a sensor.
                if restarts && (world.pedestal_commands().len(), world.doll_commands().len()) != (0, 0) {
                    restarts = false;
                    world.power_cycle(0.0);
                    cylinder_fault.into_iter().for_each(|fault| world.model.add_fault(fault));
                }
                let (before, height) = (world.model.cylinder_positions(), world.model.height());
                let arm = before[3];
                world.step();
                let [right, left, _, arm_after] = world.model.cylinder_positions();
                prop_assert!(
                    arm_after == arm || [right, left] == before[..2],
                    "clamp and arm move at the same time"
                );
                if arm_after < arm {
                    let half = |p: f64| p > 0.0 && p < 1.0;
                    prop_assert!(!half(right) && !half(left), "lifted with the clamp at {right} {left}");
                }
                if world.model.height() != height {
                    let settings = world.engine.settings();
                    let slack = settings.tolerance;
                    let band = settings.travel_min - slack..=settings.travel_max + slack;
                    prop_assert!(band.contains(&world.model.tilt()), "lift moved with the tray at {}°", world.model.tilt());
                }
            }
        }
    }

    /// Arrays of any size and content give a value or an error.
    #[test]
    fn any_arrays_are_survived(
        profile in profile(),
        numbers in prop::collection::vec(any::<f64>(), 0..8),
        flags in prop::collection::vec(any::<bool>(), 0..8),
        more in prop::collection::vec(any::<bool>(), 0..8),
    ) {
        let settings = Settings::defaults(profile);
        let sensors = SensorArrays { angles: numbers.clone(), switches: flags.clone(), cylinders: more.clone() };
        let actuators = ActuatorArrays { positions: numbers, expand: flags, cylinders: more };
        let _ = profile.read_pedestal_sensors(&sensors);
        let _ = profile.read_pedestal_command(&actuators);
        if let Ok(doll) = profile.read_doll_sensors(&sensors) {
            prop_assert!(doll.tilt.is_finite());
        }
        if let Ok(doll) = profile.read_doll_command(&actuators, &settings) {
            prop_assert!(doll.tilt.is_finite());
        }
    }
}
