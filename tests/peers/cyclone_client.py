"""What the clients of this folder share: a participant of Cyclone DDS on one address, its reliable QoS, and messages that all use."""

import os
from dataclasses import dataclass, field

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, uint32
from cyclonedds.qos import Policy, Qos
from cyclonedds.util import duration


@dataclass
class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs.msg.dds_.Quaternion_"):
    x: float64
    y: float64
    z: float64
    w: float64


def join(domain: int, address: str) -> DomainParticipant:
    os.environ["CYCLONEDDS_URI"] = f"""<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface address="{address}"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
<Peers><Peer address="{address}"/></Peers></Discovery>
</Domain></CycloneDDS>"""
    return DomainParticipant(domain, Qos(Policy.Userdata(b"enclave=/;")))


def reliable(milliseconds: int) -> Qos:
    return Qos(
        Policy.Reliability.Reliable(duration(milliseconds=milliseconds)),
        Policy.Durability.Volatile,
        Policy.History.KeepLast(10),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    )
