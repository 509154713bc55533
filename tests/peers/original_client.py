"""What the first motion primitive controller's example client sends, from a participant of Cyclone DDS: 18 messages at once.

`original_client.py DOMAIN ADDRESS` does what that client does: a reliable publisher of depth 10, all messages one after the
other, and it leaves a second later. Types and serialization are Cyclone's, nothing of this project is used. Unlike that client
it waits until it is heard, because what is sent before that is lost in any DDS.
"""

import sys
import time
from dataclasses import dataclass, field
from typing import List

from cyclone_client import Header, Quaternion, join, reliable
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic

PTP, LIN, CIRC, START, END = 10, 50, 51, 100, 101


@dataclass
class Point(IdlStruct, typename="geometry_msgs.msg.dds_.Point_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Pose(IdlStruct, typename="geometry_msgs.msg.dds_.Pose_"):
    position: Point
    orientation: Quaternion


@dataclass
class PoseStamped(IdlStruct, typename="geometry_msgs.msg.dds_.PoseStamped_"):
    header: Header
    pose: Pose


@dataclass
class MotionArgument(IdlStruct, typename="industrial_robot_motion_interfaces.msg.dds_.MotionArgument_"):
    argument_name: str
    argument_value: float64


@dataclass
class MotionPrimitive(IdlStruct, typename="industrial_robot_motion_interfaces.msg.dds_.MotionPrimitive_"):
    type: uint8
    blend_radius: float64 = 0.0
    additional_arguments: sequence[MotionArgument] = field(default_factory=list)
    poses: sequence[PoseStamped] = field(default_factory=list)
    joint_positions: sequence[float64] = field(default_factory=list)


def arguments(**values: float) -> List[MotionArgument]:
    return [MotionArgument(name, value) for name, value in values.items()]


def pose(position, orientation):
    return PoseStamped(Header(), Pose(Point(*position), Quaternion(*orientation)))


DOWN = (-0.2734, -0.4930, -0.6086, 0.5584)
J1 = MotionPrimitive(PTP, 0.1, arguments(velocity=1.0, acceleration=1.0), [], [-1.57, -1.57, 0.0, 0.0, 0.0, 0.0])
J2 = MotionPrimitive(PTP, 0.1, arguments(move_time=2.0), [], [-1.57, -1.6, 1.6, -0.7, 0.7, 0.2])
L1 = MotionPrimitive(
    LIN, 0.05, arguments(velocity=2.0, acceleration=0.5, move_time=0.0), [pose((-0.203, 0.263, 0.559), DOWN)]
)
L2 = MotionPrimitive(
    LIN, 0.05, arguments(velocity=1.0, acceleration=0.5, move_time=2.0), [pose((-0.203, 0.463, 0.559), DOWN)]
)
# The goal comes first, then the point on the way.
C1 = MotionPrimitive(
    CIRC,
    0.0,
    arguments(velocity=0.5, acceleration=0.1),
    [
        pose((-0.100, 0.400, 0.550), (-0.2222, -0.490, -0.608, 0.58155)),
        pose((-0.150, 0.350, 0.550), (-0.2222, -0.4905, -0.6098, 0.58155)),
    ],
)
BEGIN, FINISH = MotionPrimitive(START), MotionPrimitive(END)
MESSAGES = [J1, J2, L1, L2, C1, BEGIN, J1, J2, L1, L2, C1, FINISH, BEGIN, J1, J2, FINISH, J1, J2]


def main():
    domain, address = int(sys.argv[1]), sys.argv[2]
    participant = join(domain, address)
    topic = Topic(participant, "rt/motion_primitive_controller/reference", MotionPrimitive)
    writer = DataWriter(participant, topic, qos=reliable(milliseconds=100))
    deadline = time.monotonic() + 30
    while not writer.get_matched_subscriptions():
        if time.monotonic() > deadline:
            sys.exit("nobody listens on /motion_primitive_controller/reference")
        time.sleep(0.01)
    for message in MESSAGES:
        writer.write(message)
    print(f"sent {len(MESSAGES)} messages", flush=True)
    time.sleep(1)


main()
