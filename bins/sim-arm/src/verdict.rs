//! The topic /catch_verdict: how each throw ended, as JSON in a string, so that scripts and dashboards can read it.

use rosless_arm::Verdict;
use rosless_graph::{Node, Publisher, Qos, Result};
use rosless_wire::std_msgs::msg::String as Text;
use serde_json::json;

pub(crate) struct Verdicts(Publisher<Text>);

impl Verdicts {
    pub(crate) fn new(node: &Node) -> Result<Self> {
        node.publisher("catch_verdict", Qos::default()).map(Self)
    }

    /// The hand closed and the catch was judged.
    pub(crate) fn judged(&self, verdict: &Verdict) {
        let position: [f64; 3] = verdict.relative_position.into();
        self.publish(&json!({
            "caught": verdict.caught(),
            "attempted": true,
            "relative_position": position,
            "reason": verdict.miss.map(|miss| miss.to_string()),
        }));
    }

    /// The ball was let go; the hand does not close.
    pub(crate) fn not_attempted(&self, reason: &dyn std::fmt::Display) {
        self.publish(&json!({"caught": false, "attempted": false, "reason": reason.to_string()}));
    }

    fn publish(&self, value: &serde_json::Value) {
        self.0.publish(&Text { data: value.to_string() });
    }
}
