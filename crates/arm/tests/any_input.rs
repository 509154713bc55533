//! Whatever arrives, in whatever order: no panic, the joints stay within their limits, the hand opens and closes in turn.

use std::time::Duration;

use proptest::prelude::*;
use rosless_arm::{
    ArmController, ArmInput, ArmOutput, ArmSettings, Ball, Control, HandState, Planner, PlannerSettings,
    Scene, Shooter, Strategy as CatchStrategy,
};

#[derive(Debug, Clone)]
enum Event {
    Ball(Vec<f32>),
    Target(Vec<f32>),
    Angles(Vec<f32>),
    /// Seconds from now.
    CloseIn(f32),
    CloseAt(f32),
    Wait(u32),
}

/// An upright hand somewhere, mostly within reach.
fn pose() -> impl Strategy<Value = Vec<f32>> {
    (prop::array::uniform3(-0.4f32..0.7), -3.0f32..3.0).prop_map(|([x, y, z], heading)| {
        let (s, c) = heading.sin_cos();
        let mut array = vec![x, y, z, c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c];
        array.resize(24, 0.0);
        array
    })
}

fn junk() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(any::<f32>(), 0..30)
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => pose().prop_map(Event::Target),
        2 => prop::collection::vec(-4.5f32..4.5, 6..=6).prop_map(Event::Angles),
        3 => (-0.1f32..1.0).prop_map(Event::CloseIn),
        5 => (0u32..700).prop_map(Event::Wait),
        1 => prop::collection::vec(-5.0f32..5.0, 7..=7).prop_map(Event::Ball),
        1 => junk().prop_map(Event::Ball),
        1 => junk().prop_map(Event::Target),
        1 => junk().prop_map(Event::Angles),
        1 => any::<f32>().prop_map(Event::CloseAt),
    ]
}

proptest! {
    #[test]
    fn the_arm_stays_within_its_limits(
        events in prop::collection::vec(event(), 1..60),
        timed in any::<bool>(),
    ) {
        let control = if timed { Control::Timed } else { Control::Pd };
        let mut arm = ArmController::new(ArmSettings { control, ..Default::default() });
        let limits = arm.settings().robot.limits;
        let mut now = Duration::ZERO;
        let (mut closed, mut last_move) = (false, Duration::ZERO);
        for event in &events {
            match event {
                Event::Ball(data) => arm.handle(ArmInput::Ball(data), now),
                Event::Target(data) => arm.handle(ArmInput::Target(data), now),
                Event::Angles(data) => arm.handle(ArmInput::Angles(data), now),
                Event::CloseIn(ahead) => arm.handle(ArmInput::CloseAt(now.as_secs_f32() + ahead), now),
                Event::CloseAt(time) => arm.handle(ArmInput::CloseAt(*time), now),
                Event::Wait(millis) => {
                    now += Duration::from_millis((*millis).into());
                    arm.advance(now);
                }
            }
            let (angles, speeds) = arm.state_at(now);
            for (i, limit) in limits.0.iter().enumerate() {
                prop_assert!(angles[i] >= limit.min - 1e-9 && angles[i] <= limit.max + 1e-9, "{angles}");
                prop_assert!(speeds[i].abs() <= limit.velocity + 1e-9, "{speeds}");
            }
            prop_assert!(arm.next_deadline().is_none_or(|d| d > now), "everything due was done");
            while let Some(output) = arm.poll_output() {
                if let ArmOutput::Hand { closed: to, at } = output {
                    prop_assert!(to != closed && at >= last_move && at <= now, "{to} at {at:?}, now {now:?}");
                    (closed, last_move) = (to, at);
                }
            }
        }
    }

    #[test]
    fn nothing_panics_on_junk(data in junk(), more in junk(), time in any::<f32>(), now in 0u32..1_000_000) {
        let now = Duration::from_millis(now.into());
        let mut scene = Scene::default();
        let _ = scene.launcher_moved(&data);
        let _ = scene.arm_moved(&more, Some(now), now);
        let _ = scene.ball_thrown(&data, now);
        if scene.hand_moved(true, time) {
            if let Ok(hand) = HandState::from_array(&more) {
                scene.judge_later(time.into(), &hand, now.as_secs_f64());
            }
            if let Some(hand) = scene.hand_at_closing(now) {
                scene.judge(time.into(), &hand);
            }
            scene.unjudged(time.into());
        }
        scene.forget_strange_balls(|heard| heard.as_secs_f64());
        scene.joint_positions(now);
        let mut shooter = Shooter::default();
        let _ = shooter.aim(&data);
        let _ = shooter.fire(time, now);
        for strategy in [CatchStrategy::Apex, CatchStrategy::Best] {
            let mut planner = Planner::new(PlannerSettings { strategy, ..Default::default() });
            let _ = planner.arm_state(&more, now);
            if let Ok(catch) = planner.throw(&data, now) {
                let _ = Ball::from_array(&catch.hand.to_array());
            }
        }
    }
}
