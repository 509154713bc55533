"""Reads and writes recordings with software that is not ours; one JSON value per line. Usage: see the table at the end."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Schema
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.rosbag2.enums import CompressionFormat, CompressionMode
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def say(value):
    print(json.dumps(value))


def plain(value):
    """A decoded message as the golden files write it."""
    if hasattr(value, "__slots__"):
        return {name.lstrip("_"): plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if hasattr(value, "__len__") and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def told(schema, channel, message, decoded):
    return {
        "topic": channel.topic,
        "type": schema.name,
        "log_time": message.log_time,
        "publish_time": message.publish_time,
        "sequence": message.sequence,
        "hex": message.data.hex(),
        "value": plain(decoded),
    }


def renamed(schema):
    """mcap-ros2-support takes no type that a service or an action implies: it refuses the underscore in its name."""
    implied = {schema.name.split("/")[-1]} | set(re.findall(r"^MSG: \w+/(\w+_\w+)$", schema.data.decode(), re.M))
    text, name = schema.data.decode(), schema.name
    for word in sorted((word for word in implied if "_" in word), key=len, reverse=True):
        text = re.sub(rf"\b{word}\b", word.replace("_", ""), text)
        name = re.sub(rf"\b{word}\b", word.replace("_", ""), name)
    return Schema(data=text.encode(), encoding=schema.encoding, id=schema.id, name=name)


def decode(path):
    factory, decoders = DecoderFactory(), {}
    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            if schema.id not in decoders:
                decoders[schema.id] = factory.decoder_for(channel.message_encoding, renamed(schema))
            say(told(schema, channel, message, decoders[schema.id](message.data)))


def stream(path):
    """Without seeking, checksums looked at."""
    with open(path, "rb") as file:
        for record in StreamReader(file, validate_crcs=True).records:
            pass
    with open(path, "rb") as file:
        for schema, channel, message in NonSeekingReader(file).iter_messages():
            say({"topic": channel.topic, "log_time": message.log_time, "hex": message.data.hex()})


def summary(path):
    with open(path, "rb") as file:
        reader = make_reader(file)
        found = reader.get_summary()
        say({
            "profile": reader.get_header().profile,
            "message_count": found.statistics.message_count,
            "chunks": len(found.chunk_indexes),
            "compression": sorted({index.compression for index in found.chunk_indexes}),
            "start": found.statistics.message_start_time,
            "end": found.statistics.message_end_time,
            "schemas": {s.name: {"encoding": s.encoding, "text": s.data.decode()} for s in found.schemas.values()},
            "channels": {
                c.topic: {
                    "encoding": c.message_encoding,
                    "metadata": c.metadata,
                    "count": found.statistics.channel_message_counts.get(c.id, 0),
                }
                for c in found.channels.values()
            },
            "metadata": [{"name": m.name, "metadata": m.metadata} for m in reader.iter_metadata()],
            "attachments": [{"name": a.name, "data": a.data.decode()} for a in reader.iter_attachments()],
        })


def doctor(path):
    """Every finding of pymcap-cli's doctor, which looks at the container's structure."""
    program = Path(sys.executable).with_name("pymcap-cli")
    run = subprocess.run([program, "doctor", "--format", "jsonl", path], capture_output=True, text=True)
    lines = run.stdout.strip().splitlines()
    if not lines:
        sys.exit(f"no report: {run.stderr.strip()}")
    for line in lines:
        say(json.loads(line))


def qos_words(qos):
    return {
        "history": qos.history.name.lower(),
        "depth": qos.depth,
        "reliability": qos.reliability.name.lower(),
        "durability": qos.durability.name.lower(),
    }


def rosbag(path):
    """A folder, through rosbags: what it says of itself, then every message, decoded by the definitions inside."""
    with Reader(path) as reader:
        say({
            "message_count": reader.message_count,
            "duration": reader.duration,
            "start": reader.start_time,
            "topics": [
                {
                    "topic": c.topic,
                    "type": c.msgtype,
                    "count": c.msgcount,
                    "digest": c.digest,
                    "qos": [qos_words(qos) for qos in c.ext.offered_qos_profiles],
                }
                for c in reader.connections
            ],
        })
        store = get_typestore(Stores.EMPTY)
        types = {}
        for connection in reader.connections:
            types.update(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        store.register(types)
        for connection, timestamp, data in reader.messages(reader.connections):
            store.deserialize_cdr(data, connection.msgtype)
            say({"topic": connection.topic, "log_time": timestamp, "hex": bytes(data).hex()})


def write(path, storage, packed=""):
    """A bag of rosbags with a latched text and numbers."""
    store = get_typestore(Stores.ROS2_JAZZY)
    forever = QosTime(9223372036, 854775807)

    def qos(durability, depth):
        return Qos(
            QosHistory.KEEP_LAST, depth, QosReliability.RELIABLE, durability, forever, forever,
            QosLiveliness.AUTOMATIC, forever, False,
        )

    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    writer = Writer(Path(path), version=9, storage_plugin=plugin)
    if packed:
        writer.set_compression(CompressionMode[packed.upper()], CompressionFormat.ZSTD)
    with writer:
        text = writer.add_connection(
            "/text", "std_msgs/msg/String", typestore=store,
            offered_qos_profiles=[qos(QosDurability.TRANSIENT_LOCAL, 1)],
        )
        number = writer.add_connection(
            "/number", "std_msgs/msg/Int32", typestore=store, offered_qos_profiles=[qos(QosDurability.VOLATILE, 10)]
        )
        string, int32 = store.types["std_msgs/msg/String"], store.types["std_msgs/msg/Int32"]
        writer.write(text, 1_000_000_000, store.serialize_cdr(string(data="said once"), "std_msgs/msg/String"))
        for count in range(20):
            data = store.serialize_cdr(int32(data=count), "std_msgs/msg/Int32")
            writer.write(number, 1_000_000_000 + count * 50_000_000, data)
    say({"written": 21})


VERBS = {"decode": decode, "stream": stream, "summary": summary, "doctor": doctor, "rosbag": rosbag, "write": write}
VERBS[sys.argv[1]](*sys.argv[2:])
