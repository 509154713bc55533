//! The topic /catch_verdict: how each throw ended, as JSON in a string, so that scripts and dashboards can read it; and the
//! launcher's side, which finds the verdict on its own ball. One type for both.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::{Ball, Judged};

/// How a throw ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatchVerdict {
    /// The ball's release time, exactly as on /ball_initial_state: it tells which throw is meant.
    pub released: Option<f64>,
    /// `None`: the hand closed, but nobody can say whether around the ball.
    pub caught: Option<bool>,
    /// Whether the hand closed at all.
    pub attempted: bool,
    /// Ball minus hand, in the hand's frame, when it closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_position: Option<[f64; 3]>,
    /// Why it was not caught.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// In the hand.
    Caught,
    /// The hand closed beside it.
    Missed,
    /// The hand did not close for it.
    NotAttempted,
    /// Nobody can say.
    Unknown,
}

impl Outcome {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Missed => "missed",
            Self::NotAttempted => "not attempted",
            Self::Unknown => "unknown",
        }
    }
}

impl CatchVerdict {
    /// The hand closed and the catch was judged.
    pub fn judged(judged: &Judged) -> Self {
        let verdict = &judged.verdict;
        Self {
            released: Some(judged.ball.released),
            caught: Some(verdict.caught()),
            attempted: true,
            relative_position: Some(verdict.relative_position.into()),
            reason: verdict.miss.map(|miss| miss.to_string()),
        }
    }

    /// The ball was let go; the hand does not close.
    pub fn not_attempted(released: Option<f64>, reason: impl Display) -> Self {
        let reason = Some(reason.to_string());
        Self { released, caught: Some(false), attempted: false, relative_position: None, reason }
    }

    /// The hand closed, but nobody can say whether around the ball.
    pub fn unknown(released: f64, reason: impl Display) -> Self {
        let reason = Some(format!("no verdict: {reason}"));
        Self { released: Some(released), caught: None, attempted: true, relative_position: None, reason }
    }

    /// The verdict in a word.
    pub fn outcome(&self) -> Outcome {
        match (self.caught, self.attempted) {
            (Some(true), _) => Outcome::Caught,
            (Some(false), true) => Outcome::Missed,
            (Some(false), false) => Outcome::NotAttempted,
            (None, _) => Outcome::Unknown,
        }
    }

    /// As it travels.
    pub fn to_json(&self) -> String {
        // Every value of this type has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As it arrives.
    ///
    /// # Errors
    /// When it is no verdict.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// More verdicts than this do not arrive while one ball flies.
const MOST_VERDICTS: usize = 1000;

/// One throw that was asked for, among those of others: which ball is ours, and what became of it.
#[derive(Debug, Default)]
pub struct ThrowWatch {
    /// The speed asked for, once it was.
    asked: Option<f32>,
    /// The first ball with that speed.
    ball: Option<Ball>,
    /// All that were heard since, because ours may arrive before its ball.
    verdicts: Vec<CatchVerdict>,
}

impl ThrowWatch {
    /// A throw at this speed is asked for now.
    pub fn ask(&mut self, speed: f32) {
        self.asked = Some(speed);
    }

    /// A ball was thrown. Others may throw too: ours is the one with the speed that was asked for.
    pub fn hear_ball(&mut self, data: &[f32]) {
        if let (Some(speed), None, Ok(ball)) = (self.asked, self.ball, Ball::from_array(data))
            && (ball.velocity.norm() / f64::from(speed) - 1.0).abs() < 1e-5
        {
            self.ball = Some(ball);
        }
    }

    /// A throw was judged.
    pub fn hear_verdict(&mut self, text: &str) {
        if let (Some(_), Ok(verdict)) = (self.asked, CatchVerdict::from_json(text))
            && self.verdicts.len() < MOST_VERDICTS
        {
            self.verdicts.push(verdict);
        }
    }

    /// Our ball.
    pub fn ball(&self) -> Option<Ball> {
        self.ball
    }

    /// The verdict on our ball. Release times travel as single floats.
    pub fn verdict(&self) -> Option<&CatchVerdict> {
        let released = self.ball?.released as f32;
        self.verdicts.iter().find(|verdict| verdict.released.map(|t| t as f32) == Some(released))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(released: f32, speed: f32) -> [f32; 7] {
        [released, 0.0, 0.0, -1.0, 0.0, speed, 0.0]
    }

    #[test]
    fn every_verdict_survives_the_way() {
        for (verdict, word) in [
            (CatchVerdict::not_attempted(Some(1.25), "too far"), "not attempted"),
            (CatchVerdict::not_attempted(None, "malformed"), "not attempted"),
            (CatchVerdict::unknown(2.5, "the arm is gone"), "unknown"),
            (CatchVerdict { caught: Some(true), reason: None, ..CatchVerdict::unknown(2.5, "") }, "caught"),
            (CatchVerdict { caught: Some(false), ..CatchVerdict::unknown(2.5, "") }, "missed"),
        ] {
            assert_eq!(CatchVerdict::from_json(&verdict.to_json()).unwrap(), verdict);
            assert_eq!(verdict.outcome().word(), word);
        }
        for text in ["", "{}", "[1]", r#"{"released": "x", "caught": true, "attempted": true}"#] {
            assert!(CatchVerdict::from_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ours_is_the_ball_with_the_speed_that_was_asked_for_and_the_verdict_with_its_release() {
        let mut watch = ThrowWatch::default();
        watch.hear_ball(&ball(1.0, 4.0));
        assert!(watch.ball().is_none(), "thrown before it was asked for");
        watch.ask(4.0);
        watch.hear_ball(&ball(2.0, 5.0));
        watch.hear_ball(&[1.0]);
        assert!(watch.ball().is_none(), "somebody else's, and no ball at all");
        // The verdict may overtake its ball.
        watch.hear_verdict(&CatchVerdict::not_attempted(Some(f64::from(3.1_f32)), "ours").to_json());
        watch.hear_verdict(&CatchVerdict::not_attempted(Some(2.0), "theirs").to_json());
        watch.hear_verdict("garbage");
        assert!(watch.verdict().is_none());
        watch.hear_ball(&ball(3.1, 4.0));
        assert_eq!(watch.verdict().and_then(|verdict| verdict.reason.as_deref()), Some("ours"));
    }
}
