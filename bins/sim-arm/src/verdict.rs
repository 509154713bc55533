//! The topic /catch_verdict.

use rosless_arm::CatchVerdict;
use rosless_graph::{Node, Publisher, Result};
use rosless_wire::std_msgs::msg::String as Text;

pub(crate) struct Verdicts(Publisher<Text>);

impl Verdicts {
    pub(crate) fn new(node: &Node) -> Result<Self> {
        node.publisher("catch_verdict").map(Self)
    }

    pub(crate) fn tell(&self, verdict: &CatchVerdict) {
        self.0.publish(&Text { data: verdict.to_json() });
    }
}
