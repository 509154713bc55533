"""Connects to a NatNet server with PyPI's `natnet` and prints what it read as JSON.

Usage: natnet_judge.py PORT FRAMES [--descriptions]
"""

import contextlib
import json
import sys
import time

from natnet import NatNetClient

port, wanted = int(sys.argv[1]), int(sys.argv[2])
frames, descriptions = [], []


def place(values):
    return [float(value) for value in values]


def body(value):
    return {
        "id": value.id_num,
        "position": place(value.pos),
        "orientation": place(value.rot),
        "tracked": bool(value.tracking_valid),
    }


def on_frame(frame):
    frames.append(
        {
            "number": frame.prefix.frame_number,
            "marker_sets": [
                {"name": one.model_name, "markers": [place(pos) for pos in one.marker_pos_list]}
                for one in frame.marker_sets
            ],
            "bodies": [body(one) for one in frame.rigid_bodies],
            "skeletons": [
                {"id": one.id_num, "bones": [body(bone) for bone in one.rigid_bodies]} for one in frame.skeletons
            ],
            "markers": [
                {"id": one.id_num, "position": place(one.pos), "occluded": one.occluded, "unlabeled": one.unlabeled}
                for one in frame.labeled_markers
            ],
            "force_plates": [
                {"id": one.id_num, "channels": [place(values) for values in one.channel_arrays]}
                for one in frame.force_plates
            ],
            "devices": [
                {"id": one.id_num, "channels": [place(values) for values in one.channel_arrays]}
                for one in frame.devices
            ],
            "timestamp": frame.suffix.timestamp,
            "exposed": frame.suffix.stamp_camera_mid_exposure,
        }
    )


def on_descriptions(all_of_them):
    descriptions.append(
        {
            "marker_sets": [[one.name, list(one.marker_names)] for one in all_of_them.marker_sets],
            "bodies": [
                {"id": one.id_num, "name": one.name, "markers": [marker.name for marker in one.markers]}
                for one in all_of_them.rigid_bodies
            ],
            "skeletons": [
                {"id": one.id_num, "name": one.name, "bones": [bone.name for bone in one.rigid_body_descriptions]}
                for one in all_of_them.skeletons
            ],
        }
    )


client = NatNetClient(
    server_ip_address="127.0.0.1", local_ip_address="127.0.0.1", command_port=port, use_multicast=False
)
client.on_data_frame_received_event.handlers.append(on_frame)
client.on_data_description_received_event.handlers.append(on_descriptions)
# It warns on standard output.
with contextlib.redirect_stdout(sys.stderr), client:
    if "--descriptions" in sys.argv:
        client.request_modeldef()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        len(frames) < wanted or ("--descriptions" in sys.argv and not descriptions)
    ):
        client.update_sync()
        time.sleep(0.002)
    info = client.server_info
print(
    json.dumps(
        {
            "name": info.application_name,
            "natnet": str(info.nat_net_protocol_version),
            "frames": frames[:wanted],
            "descriptions": descriptions,
        }
    )
)
