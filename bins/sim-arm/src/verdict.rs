//! The topic /catch_verdict: how each throw ended, as JSON in a string, so that scripts and dashboards can read it.
//! `released` is the ball's release time, exactly as on /ball_initial_state: it tells which throw is meant.

use std::fmt::Display;

use rosless_arm::Judged;
use rosless_graph::{Node, Publisher, Qos, Result};
use rosless_wire::std_msgs::msg::String as Text;
use serde_json::json;

pub(crate) struct Verdicts(Publisher<Text>);

impl Verdicts {
    pub(crate) fn new(node: &Node) -> Result<Self> {
        node.publisher("catch_verdict", Qos::default()).map(Self)
    }

    /// The hand closed and the catch was judged.
    pub(crate) fn judged(&self, judged: &Judged) {
        let verdict = &judged.verdict;
        let position: [f64; 3] = verdict.relative_position.into();
        self.publish(&json!({
            "released": judged.ball.released,
            "caught": verdict.caught(),
            "attempted": true,
            "relative_position": position,
            "reason": verdict.miss.map(|miss| miss.to_string()),
        }));
    }

    /// The ball was let go; the hand does not close.
    pub(crate) fn not_attempted(&self, released: Option<f64>, reason: &dyn Display) {
        self.publish(&json!({
            "released": released,
            "caught": false,
            "attempted": false,
            "reason": reason.to_string(),
        }));
    }

    /// The hand closed, but nobody can say whether around the ball.
    pub(crate) fn unknown(&self, released: f64, reason: &dyn Display) {
        self.publish(&json!({
            "released": released,
            "caught": null,
            "attempted": true,
            "reason": format!("no verdict: {reason}"),
        }));
    }

    fn publish(&self, value: &serde_json::Value) {
        self.0.publish(&Text { data: value.to_string() });
    }
}
