//! The node that shows markers and bodies.

use rosless_cli::{Failure, Result};
use rosless_companions::{Style, Visualiser};
use rosless_graph::{
    EventLoop, Node, TopicQos,
    parameters::{Descriptor, ParameterError},
};
use rosless_wire::{
    geometry_msgs::msg::Vector3,
    mocap4r2_marker_viz_srvs::srv::{
        ResetMarkerColor, ResetMarkerColorResponse, SetMarkerColor, SetMarkerColorResponse,
    },
    mocap4r2_msgs::msg::{Markers, RigidBodies},
    std_msgs::msg::ColorRGBA,
    visualization_msgs::msg::MarkerArray,
};

pub(crate) fn install(event_loop: &EventLoop<Visualiser>, node: &Node, app: &mut Visualiser) -> Result<()> {
    declare(node, &Style::default())?;
    app.style = style(node).map_err(|error| Failure::new(error.to_string()))?;
    let me = node.clone();
    event_loop.on_parameter_change(node, move |app: &mut Visualiser, _| match style(&me) {
        Ok(style) => app.style = style,
        Err(error) => log::error!(target: me.logger(), "the old style stays: {error}"),
    });
    let spheres = node.publisher::<MarkerArray>("visualization_marker".keep_last(1000))?;
    event_loop.subscribe::<Markers>(node, "markers".keep_last(1000), move |app, frame| {
        if spheres.matched() > 0 {
            spheres.publish(&app.markers(&frame.message));
        }
    })?;
    let arrows = node.publisher::<MarkerArray>("visualization_marker_rb".keep_last(1000))?;
    event_loop.subscribe::<RigidBodies>(node, "rigid_bodies".keep_last(1000), move |app, frame| {
        if arrows.matched() > 0 {
            arrows.publish(&app.bodies(&frame.message));
        }
    })?;
    let me = node.clone();
    event_loop.serve::<SetMarkerColor>(node, "set_marker_color", move |app, request, responder| {
        if !app.set_color(request.id.data, request.color) {
            log::warn!(target: me.logger(), "too many markers have a colour of their own: reset some");
        }
        responder.reply(&SetMarkerColorResponse {});
    })?;
    event_loop.serve::<ResetMarkerColor>(node, "reset_marker_color", |app, request, responder| {
        app.reset_color(request.id.data);
        responder.reply(&ResetMarkerColorResponse {});
    })?;
    Ok(())
}

fn declare(node: &Node, style: &Style) -> Result<()> {
    let ColorRGBA { r, g, b, a } = style.color;
    for (part, value) in [("r", r), ("g", g), ("b", b), ("a", a)] {
        let name = format!("default_marker_color_{part}");
        let text = "Part of the colour of markers without one of their own.";
        node.declare_parameter(
            Descriptor::new(name).description(text).double_range(0.0, 1.0, 0.0),
            f64::from(value),
        )?;
    }
    let Vector3 { x, y, z } = style.scale;
    for (axis, value) in [("x", x), ("y", y), ("z", z)] {
        let name = format!("marker_scale_{axis}");
        let text = "Diameter of a marker's sphere in metres.";
        node.declare_parameter(Descriptor::new(name).description(text).double_range(0.0, 1e3, 0.0), value)?;
    }
    let lifetime = Descriptor::new("marker_lifetime").description("Seconds a shape stays on display.");
    node.declare_parameter(lifetime.double_range(0.0, 1e6, 0.0), style.lifetime)?;
    let namespace = Descriptor::new("namespace").description("Namespace of the shapes.");
    node.declare_parameter(namespace, style.namespace.clone())?;
    let system = "`optitrack` has other axes than ROS; any other is shown as it comes.";
    node.declare_parameter(Descriptor::new("mocap4r2_system").description(system), style.system.clone())?;
    Ok(())
}

fn style(node: &Node) -> Result<Style, ParameterError> {
    let number = |name: &str| node.parameter::<f64>(name);
    let part = |name: &str| number(&format!("default_marker_color_{name}")).map(|value| value as f32);
    let scale = |axis: &str| number(&format!("marker_scale_{axis}"));
    Ok(Style {
        color: ColorRGBA { r: part("r")?, g: part("g")?, b: part("b")?, a: part("a")? },
        scale: Vector3 { x: scale("x")?, y: scale("y")?, z: scale("z")? },
        lifetime: number("marker_lifetime")?,
        namespace: node.parameter("namespace")?,
        system: node.parameter("mocap4r2_system")?,
    })
}
