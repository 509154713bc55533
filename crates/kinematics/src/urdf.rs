//! Robots from a URDF: the six turning joints between two links.

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};
use urdf_rs::{Joint, JointType};

use crate::{
    JOINTS,
    analytic::Solver,
    chain::{Axis, Chain, Joints},
    limits::{JointLimit, Limits},
    robot::Robot,
};

/// Which part of a URDF is the arm, and what the file does not say.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// The link that poses are given in; the root link if it is `None`.
    pub base: Option<&'a str>,
    /// The link that is moved; the end of the only chain with six turning joints if it is `None`.
    pub tool: Option<&'a str>,
    /// rad/s² where the file has none.
    pub acceleration: f64,
    /// rad/s³ where the file has none.
    pub jerk: f64,
}

/// Why a URDF is no six-axis robot.
#[derive(Debug, thiserror::Error)]
pub enum UrdfError {
    /// It cannot be read.
    #[error("this is no URDF: {0}")]
    Syntax(String),
    /// The link asked for is not there, or not where it should be.
    #[error("there is no chain of joints from link \"{base}\" to link \"{tool}\"")]
    NoChain {
        /// Where it should begin.
        base: String,
        /// Where it should end.
        tool: String,
    },
    /// No link, or several, end a chain of six.
    #[error("{0} links end a chain of six turning joints; name the tool's link")]
    WhichTool(usize),
    /// The chain has another number of joints.
    #[error("from \"{base}\" to \"{tool}\" there are {count} turning joints, it must be 6")]
    Count {
        /// Where the chain begins.
        base: String,
        /// Where the chain ends.
        tool: String,
        /// Its joints.
        count: usize,
    },
    /// A joint that neither turns nor is fixed.
    #[error("joint \"{0}\" is neither revolute, continuous nor fixed")]
    Kind(String),
    /// A joint that cannot move.
    #[error("joint \"{name}\": {what}")]
    Limit {
        /// The joint.
        name: String,
        /// What is wrong with its figures.
        what: &'static str,
    },
}

fn pose_of(joint: &Joint) -> Isometry3<f64> {
    let ([x, y, z], [roll, pitch, yaw]) = (joint.origin.xyz.0, joint.origin.rpy.0);
    Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::from_euler_angles(roll, pitch, yaw))
}

fn turns(joint: &Joint) -> bool {
    matches!(joint.joint_type, JointType::Revolute | JointType::Continuous)
}

/// The joints from `base` to `tool`.
fn path<'a>(joints: &'a [Joint], base: &str, tool: &str) -> Option<Vec<&'a Joint>> {
    let mut found = Vec::new();
    let mut at = tool;
    while at != base {
        // A loop in a broken file ends here as well.
        let joint =
            joints.iter().find(|joint| joint.child.link == at).filter(|_| found.len() < joints.len())?;
        found.push(joint);
        at = &joint.parent.link;
    }
    found.reverse();
    Some(found)
}

/// Reads a robot from the text of a URDF.
///
/// # Errors
/// Says what in the file is in the way.
pub fn robot(text: &str, ask: &Ask<'_>) -> Result<Robot, UrdfError> {
    let urdf = urdf_rs::read_from_string(text).map_err(|error| UrdfError::Syntax(error.to_string()))?;
    let is_child = |link: &str| urdf.joints.iter().any(|joint| joint.child.link == link);
    let root = urdf.links.iter().map(|link| link.name.as_str()).find(|link| !is_child(link)).unwrap_or("");
    let base = ask.base.unwrap_or(root);
    let tool = match ask.tool {
        Some(tool) => tool.to_owned(),
        None => only_tool(&urdf, base)?,
    };
    let no_chain = || UrdfError::NoChain { base: base.to_owned(), tool: tool.clone() };
    let chain = path(&urdf.joints, base, &tool).ok_or_else(no_chain)?;
    let moving: Vec<&&Joint> = chain.iter().filter(|joint| turns(joint)).collect();
    if moving.len() != JOINTS {
        return Err(UrdfError::Count { base: base.to_owned(), tool, count: moving.len() });
    }
    if let Some(other) = chain.iter().find(|joint| !turns(joint) && joint.joint_type != JointType::Fixed) {
        return Err(UrdfError::Kind(other.name.clone()));
    }
    let mut frame = Isometry3::identity();
    let (mut axes, mut links) = (Vec::with_capacity(JOINTS), Vec::with_capacity(JOINTS));
    for joint in &chain {
        frame *= pose_of(joint);
        if turns(joint) {
            let direction =
                Unit::try_new(frame.rotation * Vector3::from(joint.axis.xyz.0), 1e-6).ok_or_else(|| {
                    UrdfError::Limit { name: joint.name.clone(), what: "its axis has no direction" }
                })?;
            axes.push(Axis { direction, point: frame.translation.vector });
            links.push(frame);
        }
    }
    let limits = moving.iter().map(|joint| limit(joint, ask)).collect::<Result<Vec<_>, _>>()?;
    let each = |f: &dyn Fn(usize) -> String| std::array::from_fn(f);
    let base_in_root = path(&urdf.joints, root, base)
        .ok_or_else(no_chain)?
        .iter()
        .fold(Isometry3::identity(), |frame, joint| frame * pose_of(joint));
    let limits = Limits(std::array::from_fn(|i| limits[i]));
    // The middle of the range with bent joints: straight arms are singular.
    let home = Joints::from_fn(|i, _| {
        let (lower, upper) = (limits.0[i].lower, limits.0[i].upper);
        ((lower + upper) / 2.0 + [0.1, -0.7, 0.9, 0.4, 0.8, 0.3][i]).clamp(lower, upper)
    });
    let chain = Chain {
        axes: std::array::from_fn(|i| axes[i]),
        links: std::array::from_fn(|i| links[i]),
        tool: frame,
    };
    Ok(Robot {
        name: urdf.name.clone(),
        solver: Solver::for_chain(&chain),
        chain,
        limits,
        joint_names: each(&|i| moving[i].name.clone()),
        link_names: each(&|i| moving[i].child.link.clone()),
        root_frame: root.to_owned(),
        base_frame: base.to_owned(),
        base_in_root,
        tool_frame: tool,
        home,
        urdf: Some(text.to_owned()),
    })
}

/// The last link of the only chain of six turning joints; of links that are fixed to each other, the last.
fn only_tool(urdf: &urdf_rs::Robot, base: &str) -> Result<String, UrdfError> {
    let is_parent = |link: &str| urdf.joints.iter().any(|joint| joint.parent.link == link);
    let ends: Vec<&str> = urdf
        .links
        .iter()
        .map(|link| link.name.as_str())
        .filter(|link| !is_parent(link))
        .filter(|link| {
            path(&urdf.joints, base, link)
                .is_some_and(|chain| chain.iter().filter(|joint| turns(joint)).count() == JOINTS)
        })
        .collect();
    match &ends[..] {
        [one] => Ok((*one).to_owned()),
        // Usual names first, so that a flange beside the tool is no riddle.
        several => match several.iter().find(|link| link.ends_with("tool0")) {
            Some(tool) => Ok((*tool).to_owned()),
            None => Err(UrdfError::WhichTool(several.len())),
        },
    }
}

fn limit(joint: &Joint, ask: &Ask<'_>) -> Result<JointLimit, UrdfError> {
    let wrong = |what| UrdfError::Limit { name: joint.name.clone(), what };
    let figures = &joint.limit;
    let (lower, upper) = match joint.joint_type {
        JointType::Continuous => (-2.0 * std::f64::consts::TAU, 2.0 * std::f64::consts::TAU),
        _ => (figures.lower, figures.upper),
    };
    if !(lower < upper && (upper - lower).is_finite()) {
        return Err(wrong("its lower limit is not below its upper limit"));
    }
    if figures.velocity.is_nan() || figures.velocity <= 0.0 {
        return Err(wrong("its velocity limit is not above 0"));
    }
    let given = |value: f64, otherwise: f64| if value.is_finite() && value > 0.0 { value } else { otherwise };
    Ok(JointLimit {
        lower,
        upper,
        velocity: figures.velocity.min(1e3),
        acceleration: given(figures.acceleration, ask.acceleration),
        jerk: given(figures.jerk, ask.jerk),
    })
}
