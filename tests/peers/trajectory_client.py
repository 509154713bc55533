"""What a motion planner sends to a joint trajectory controller, from a participant of Cyclone DDS: one goal of FollowJointTrajectory.

`trajectory_client.py DOMAIN ADDRESS ACTION JOINT=ANGLE…` sends a trajectory as planners make them: joints in an order of their own,
speeds beside the angles, time from the start, from where the robot is. Types, serialization and the action's five topics are
Cyclone's and its own, nothing of this project is used. It prints what came of it as one line of JSON.
"""

import json
import math
import sys
import time
from dataclasses import dataclass, field

from cyclone_client import Header, Quaternion, Time, join, reliable
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float64, int8, int32, int64, sequence, uint8, uint16, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

ACTION = "control_msgs.action.dds_.FollowJointTrajectory_"
ME, GOAL_ID = 0x1234_5678_9ABC_DEF0, list(range(1, 17))


@dataclass
class Duration(IdlStruct, typename="builtin_interfaces.msg.dds_.Duration_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs.msg.dds_.Vector3_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Transform(IdlStruct, typename="geometry_msgs.msg.dds_.Transform_"):
    translation: Vector3
    rotation: Quaternion


@dataclass
class Twist(IdlStruct, typename="geometry_msgs.msg.dds_.Twist_"):
    linear: Vector3
    angular: Vector3


@dataclass
class Point(IdlStruct, typename="trajectory_msgs.msg.dds_.JointTrajectoryPoint_"):
    positions: sequence[float64] = field(default_factory=list)
    velocities: sequence[float64] = field(default_factory=list)
    accelerations: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)
    time_from_start: Duration = field(default_factory=Duration)


@dataclass
class Trajectory(IdlStruct, typename="trajectory_msgs.msg.dds_.JointTrajectory_"):
    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    points: sequence[Point] = field(default_factory=list)


@dataclass
class MultiDofPoint(IdlStruct, typename="trajectory_msgs.msg.dds_.MultiDOFJointTrajectoryPoint_"):
    transforms: sequence[Transform] = field(default_factory=list)
    velocities: sequence[Twist] = field(default_factory=list)
    accelerations: sequence[Twist] = field(default_factory=list)
    time_from_start: Duration = field(default_factory=Duration)


@dataclass
class MultiDofTrajectory(IdlStruct, typename="trajectory_msgs.msg.dds_.MultiDOFJointTrajectory_"):
    header: Header = field(default_factory=Header)
    joint_names: sequence[str] = field(default_factory=list)
    points: sequence[MultiDofPoint] = field(default_factory=list)


@dataclass
class JointTolerance(IdlStruct, typename="control_msgs.msg.dds_.JointTolerance_"):
    name: str
    position: float64
    velocity: float64
    acceleration: float64


@dataclass
class ComponentTolerance(IdlStruct, typename="control_msgs.msg.dds_.JointComponentTolerance_"):
    joint_name: str
    component: uint16
    position: float64
    velocity: float64
    acceleration: float64


@dataclass
class Goal(IdlStruct, typename=ACTION + "Goal_"):
    trajectory: Trajectory
    multi_dof_trajectory: MultiDofTrajectory = field(default_factory=MultiDofTrajectory)
    path_tolerance: sequence[JointTolerance] = field(default_factory=list)
    component_path_tolerance: sequence[ComponentTolerance] = field(default_factory=list)
    goal_tolerance: sequence[JointTolerance] = field(default_factory=list)
    component_goal_tolerance: sequence[ComponentTolerance] = field(default_factory=list)
    goal_time_tolerance: Duration = field(default_factory=Duration)


# Requests and answers begin with who asked and the number of the question.
@dataclass
class SendGoal(IdlStruct, typename=ACTION + "SendGoal_Request_"):
    who: uint64
    number: int64
    goal_id: array[uint8, 16]
    goal: Goal


@dataclass
class Accepted(IdlStruct, typename=ACTION + "SendGoal_Response_"):
    who: uint64
    number: int64
    accepted: bool
    stamp: Time


@dataclass
class GetResult(IdlStruct, typename=ACTION + "GetResult_Request_"):
    who: uint64
    number: int64
    goal_id: array[uint8, 16]


@dataclass
class Result(IdlStruct, typename=ACTION + "GetResult_Response_"):
    who: uint64
    number: int64
    status: int8
    error_code: int32
    error_string: str


def main():
    domain, address, action, *joints = sys.argv[1:]
    participant, qos = join(int(domain), address), reliable(milliseconds=1000)

    def ends(service, request, response):
        writer = DataWriter(participant, Topic(participant, f"rq{action}/_action/{service}Request", request), qos=qos)
        reader = DataReader(participant, Topic(participant, f"rr{action}/_action/{service}Reply", response), qos=qos)
        return writer, reader

    asking, results = ends("send_goal", SendGoal, Accepted), ends("get_result", GetResult, Result)
    deadline = time.monotonic() + 60

    def until(what, done):
        while True:
            if (found := done()) is not None:
                return found
            if time.monotonic() > deadline:
                sys.exit(f"in vain: {what}")
            time.sleep(0.01)

    for writer, reader in (asking, results):
        until("a server", lambda: writer.get_matched_subscriptions() and reader.get_matched_publications() or None)

    def answer(reader, number):
        mine = [one for one in reader.take(16) if getattr(one, "who", None) == ME and one.number == number]
        return mine[0] if mine else None

    # From home, as `name=angle` gives it, in the planner's order: by name.
    start = dict((name, float(angle)) for name, angle in (joint.split("=") for joint in joints))
    names, points = sorted(start), []
    by = {name: 0.3 * math.cos(n) for n, name in enumerate(names)}
    for i in range(101):
        angle, seconds = math.pi * i / 100, 2.5 * i / 100
        # Every other joint swings out on the way: no straight line in joint space.
        share, swing = (1 - math.cos(angle)) / 2, 0.1 * math.sin(angle) ** 2
        speed, swinging = math.pi / 2.5 * math.sin(angle) / 2, math.pi / 2.5 * 0.1 * math.sin(2 * angle)
        points.append(
            Point(
                [start[name] + by[name] * share + swing * (n % 2) for n, name in enumerate(names)],
                [by[name] * speed + swinging * (n % 2) for n, name in enumerate(names)],
                time_from_start=Duration(int(seconds), int(seconds % 1 * 1e9)),
            )
        )
    goal = Goal(Trajectory(joint_names=names, points=points), goal_tolerance=[JointTolerance(n, 0.01, 0.0, 0.0) for n in names])
    asking[0].write(SendGoal(ME, 1, GOAL_ID, goal))
    accepted = until("an answer to the goal", lambda: answer(asking[1], 1)).accepted
    told = {"accepted": accepted, "target": dict(zip(names, points[-1].positions))}
    if accepted:
        results[0].write(GetResult(ME, 2, GOAL_ID))
        result = until("a result", lambda: answer(results[1], 2))
        told.update(status=result.status, error_code=result.error_code, error_string=result.error_string)
    print(json.dumps(told), flush=True)


main()
