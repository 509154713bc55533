"""A Cyclone DDS participant that moves raw CDR payloads; the line protocol is in README.md."""

import importlib.metadata
import os
import sys
import threading
import time

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import InstanceState
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl.types import uint8
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

LONG = 4096
# Unicast discovery of up to 33 participants on this host, which is what rmw_cyclonedds sets for LOCALHOST, too.
CONFIGURATION = """<CycloneDDS><Domain>
<General>{interface}<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
<Peers><Peer address="{peer}"/></Peers></Discovery>
</Domain></CycloneDDS>"""
IPV6 = "<CycloneDDS><Domain><General><Transport>udp6</Transport></General></Domain></CycloneDDS>"
out_lock = threading.Lock()


def say(*words):
    with out_lock:
        print(*words, flush=True)


def hexed(data):
    return bytes(data).hex() if data else "-"


def raw_type(dds_type):
    """A type of the wanted name whose samples are the serialized bytes themselves."""
    raw = make_idl_struct("Raw", dds_type.replace("::", "."), {"data": uint8})

    def of(payload):
        sample = raw.__new__(raw)
        sample.payload = payload
        return sample

    # Replaced rather than derived: a base class of its own name would be a recursive type to Cyclone.
    raw.of = staticmethod(of)
    raw.serialize = lambda sample, **_: sample.payload
    raw.deserialize = staticmethod(lambda data, **_: of(bytes(data)))
    return raw


def qos_of(text, user_data):
    reliability, durability, depth = text.split(",")
    policies = [
        Policy.Reliability.Reliable(duration(seconds=10)) if reliability == "reliable" else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if durability == "transient_local" else Policy.Durability.Volatile,
        Policy.History.KeepAll if depth == "0" else Policy.History.KeepLast(int(depth)),
        Policy.DataRepresentation(use_cdrv0_representation=True),
    ]
    if durability == "transient_local":
        history = Policy.History.KeepAll if depth == "0" else Policy.History.KeepLast(int(depth))
        policies.append(Policy.DurabilityService(0, history, -1, -1, -1))
    if user_data != "-":
        policies.append(Policy.Userdata(bytes.fromhex(user_data)))
    return Qos(*policies)


def qos_text(qos):
    reliable = "reliable" if isinstance(qos[Policy.Reliability], Policy.Reliability.Reliable) else "best_effort"
    durable = "volatile" if qos[Policy.Durability] == Policy.Durability.Volatile else "transient_local"
    history = qos[Policy.History]
    depth = history.depth if isinstance(history, Policy.History.KeepLast) else 0
    return f"{reliable},{durable},{depth}"


def user_data_of(qos):
    return hexed(qos[Policy.Userdata].data) if qos is not None and Policy.Userdata in qos else "-"


class Peer:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain, Qos(Policy.Userdata(b"enclave=/;")))
        self.readers, self.writers, self.topics = {}, {}, {}
        self.matched = {}
        self.known = {"participant": {}, "reader": {}, "writer": {}}
        self.builtin = {
            "participant": BuiltinDataReader(self.participant, BuiltinTopicDcpsParticipant),
            "writer": BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication),
            "reader": BuiltinDataReader(self.participant, BuiltinTopicDcpsSubscription),
        }
        self.lock = threading.Lock()
        say("version", "Cyclone DDS", importlib.metadata.version("cyclonedds"))
        say("ready", self.participant.guid.hex)

    def topic(self, name, dds_type):
        key = (name, dds_type)
        if key not in self.topics:
            self.topics[key] = Topic(self.participant, name, raw_type(dds_type))
        return self.topics[key]

    def command(self, words):
        op, entity = words[0], words[1]
        if op in ("writer", "reader"):
            topic = self.topic(words[2], words[3])
            make, table = (DataWriter, self.writers) if op == "writer" else (DataReader, self.readers)
            table[entity] = make(self.participant, topic, qos=qos_of(words[4], words[5]))
            say("created", entity, table[entity].guid.hex)
        elif op == "write":
            writer = self.writers[entity]
            writer.write(writer.data_type.of(bytes.fromhex(words[2])))
        elif op == "zeros":
            writer = self.writers[entity]
            count = int(words[2])
            payload = bytes([0, 1, 0, 0]) + bytes(8) + count.to_bytes(4, "little") + bytes(count)
            writer.write(writer.data_type.of(payload))
        elif op == "delete":
            table = self.writers if entity in self.writers else self.readers
            table.pop(entity)
        else:
            say("error", "unknown command", op)

    def report(self):
        for entity, reader in self.readers.items():
            for sample in reader.take(N=256):
                payload = getattr(sample, "payload", None)
                if payload is None:
                    continue
                text = payload.hex() if len(payload) <= LONG else f"#{len(payload)}"
                # The publication handle is Cyclone's local name for the writer; the API has no sequence number.
                say("sample", entity, text, "-", 0, "-", 0)
            self.matches(entity, len(reader.get_matched_publications()))
        for entity, writer in self.writers.items():
            self.matches(entity, len(writer.get_matched_subscriptions()))
        for kind, reader in self.builtin.items():
            for sample in reader.take(N=256):
                self.discovered(kind, sample)

    def matches(self, entity, count):
        if self.matched.get(entity) != count:
            self.matched[entity] = count
            say("matched", entity, count)

    def discovered(self, kind, sample):
        info = sample.sample_info
        # An invalid sample carries only the instance handle, so the key is remembered by handle.
        if not info.valid_data or info.instance_state != InstanceState.Alive:
            guid = self.known[kind].pop(info.instance_handle, None)
            if guid:
                say("gone", kind, guid)
            return
        guid = sample.key.hex
        self.known[kind][info.instance_handle] = guid
        if kind == "participant":
            say("participant", guid, user_data_of(sample.qos))
        else:
            say("endpoint", kind, guid, sample.topic_name, sample.type_name, user_data_of(sample.qos), qos_text(sample.qos))

    def reporting(self):
        while True:
            with self.lock:
                self.report()
            time.sleep(0.002)


def configure(address):
    if address == "any":
        return
    if address == "any6":
        os.environ["CYCLONEDDS_URI"] = IPV6
        return
    interface = f'<Interfaces><NetworkInterface address="{address}"/></Interfaces>' if address != "localhost" else ""
    os.environ["CYCLONEDDS_URI"] = CONFIGURATION.format(interface=interface, peer=address)


def main():
    configure(sys.argv[2])
    peer = Peer(int(sys.argv[1]))
    threading.Thread(target=peer.reporting, daemon=True).start()
    for line in sys.stdin:
        words = line.split()
        if words:
            with peer.lock:
                peer.command(words)


main()
