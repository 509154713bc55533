//! The topic /catch_verdict.

use rosless_arm::CatchVerdict;
use rosless_graph::{Node, Publisher, Qos, Result};
use rosless_wire::std_msgs::msg::String as Text;

pub(crate) struct Verdicts(Publisher<Text>);

impl Verdicts {
    pub(crate) fn new(node: &Node) -> Result<Self> {
        node.publisher("catch_verdict", Qos::default()).map(Self)
    }

    pub(crate) fn tell(&self, verdict: &CatchVerdict) {
        self.0.publish(&Text { data: verdict.to_json() });
    }
}
