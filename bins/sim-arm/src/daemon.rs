//! Puts the chosen nodes on one event loop.

use rosless_cli::{Failure, Result};
use rosless_graph::{Context, EventLoop};
use rosless_wire::std_msgs::msg::Float32MultiArray;

use crate::{
    NodeName, RunArguments, arm_node::ArmNode, clock::SharedClock, target_node::TargetNode,
    visualizer_node::VisualizerNode,
};

/// The process's state: the nodes it runs.
pub(crate) struct App {
    pub(crate) clock: SharedClock,
    pub(crate) arm: Option<ArmNode>,
    pub(crate) target: Option<TargetNode>,
    pub(crate) visualizer: Option<VisualizerNode>,
}

pub(crate) fn run(context: &Context, args: &RunArguments) -> Result<()> {
    let event_loop = EventLoop::<App>::new(context)?;
    let wants = |name| args.nodes.contains(&name);
    let arm = wants(NodeName::ArmController).then(|| ArmNode::new(context, &event_loop, &args.behaviour));
    let target = wants(NodeName::BallInitialToArmTarget)
        .then(|| TargetNode::new(context, &event_loop, &args.behaviour));
    let visualizer =
        wants(NodeName::Visualizer).then(|| VisualizerNode::new(context, &event_loop, !args.no_tf));
    let (arm, target, visualizer) = (arm.transpose()?, target.transpose()?, visualizer.transpose()?);
    let nodes = [
        visualizer.as_ref().map(|v| v.node()),
        target.as_ref().map(|t| t.node()),
        arm.as_ref().map(|a| a.node()),
    ];
    let Some(node) = nodes.into_iter().flatten().next() else {
        return Err(Failure::usage("--nodes is empty: nothing to run"));
    };
    let clock = SharedClock::new(&event_loop, node)?;
    let mut app = App { clock, arm, target, visualizer };
    event_loop.run(&mut app)?;
    Ok(())
}

pub(crate) fn array(data: &[f32]) -> Float32MultiArray {
    Float32MultiArray { data: data.to_vec(), ..Default::default() }
}
