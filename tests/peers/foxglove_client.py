"""A Foxglove client with the types of PyPI's foxglove-websocket: does one of everything and prints what came of it as JSON.

usage: foxglove_client.py ws://127.0.0.1:8765 SUBPROTOCOL
"""

import asyncio
import json
import struct
import sys

import websockets
from foxglove_websocket.types import BinaryOpcode, ClientBinaryOpcode


async def main(url, protocol):
    result = {"messages": []}
    channels, services, schemas = {}, {}, {}
    async with websockets.connect(url, subprotocols=[protocol], origin=None) as socket:
        result["protocol"] = socket.subprotocol

        async def until(done):
            while True:
                message = await asyncio.wait_for(socket.recv(), 40)
                if isinstance(message, str):
                    message = json.loads(message)
                    schemas.update({s["id"]: s for s in message.get("schemas", [])})
                    channels.update({c["topic"]: c for c in message.get("channels", [])})
                    services.update({s["name"]: s for s in message.get("services", [])})
                if (found := done(message)) is not None:
                    return found

        def op(name):
            return lambda m: m if isinstance(m, dict) and m["op"] == name else None

        def binary(kind):
            return lambda m: m if isinstance(m, bytes) and m[0] == kind else None

        async def say(**message):
            await socket.send(json.dumps(message))

        result["capabilities"] = (await until(op("serverInfo")))["capabilities"]
        await until(lambda _: True if "/chatter" in channels and "/switch" in services else None)
        result["channel"] = channels["/chatter"]
        if (number := result["channel"].get("schemaId")) is not None:
            # The newest generation: each definition comes once, and channels name its number.
            result["schema"] = schemas[number]

        await say(op="subscribe", subscriptions=[{"id": 5, "channelId": result["channel"]["id"]}])
        for _ in range(3):
            data = await until(binary(BinaryOpcode.MESSAGE_DATA))
            assert struct.unpack_from("<I", data, 1) == (5,)
            result["messages"].append(data[13:].hex())

        channel = {"id": 1, "topic": "/heard", "encoding": "cdr", "schemaName": "std_msgs/msg/String"}
        await say(op="advertise", channels=[channel])
        payload = b"\0\1\0\0" + struct.pack("<I", 6) + b"hello\0"
        await socket.send(struct.pack("<BI", ClientBinaryOpcode.MESSAGE_DATA, 1) + payload)

        call = struct.pack("<BIII", ClientBinaryOpcode.SERVICE_CALL_REQUEST, services["/switch"]["id"], 7, 3)
        await socket.send(call + b"cdr" + b"\0\1\0\0\1")
        data = await until(binary(BinaryOpcode.SERVICE_CALL_RESPONSE))
        (length,) = struct.unpack_from("<I", data, 9)
        result["response"] = {"call": struct.unpack_from("<I", data, 5)[0], "data": data[13 + length :].hex()}

        await say(op="setParameters", parameters=[{"name": "/rosless_peer.speed", "value": 2}], id="set")
        result["parameters"] = (await until(op("parameterValues")))["parameters"]

        await say(op="subscribeConnectionGraph")
        graph = await until(op("connectionGraphUpdate"))
        result["publishers"] = next(t["publisherIds"] for t in graph["publishedTopics"] if t["name"] == "/chatter")

        await say(op="fetchAsset", uri="package://../secret", requestId=3)
        data = await until(binary(4))
        result["asset"] = {"id": struct.unpack_from("<I", data, 1)[0], "status": data[5]}
    print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
