// A Foxglove client of npm's @foxglove/ws-protocol: does one of everything and prints what came of it as one line of JSON.
// usage: node foxglove_client.mjs ws://127.0.0.1:8765 SUBPROTOCOL
import { createRequire } from "node:module";
const require = createRequire(process.env.MODULES + "/x.js");
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const WebSocket = require("ws");

const [url, protocol] = process.argv.slice(2);
const socket = new WebSocket(url, [protocol]);
const client = new FoxgloveClient({ ws: socket });
const hex = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("hex");
const result = { messages: [] };
const later = (name) => new Promise((resolve) => client.on(name, resolve));
const fail = (why) => { console.log(JSON.stringify({ error: String(why), result })); process.exit(1); };
setTimeout(() => fail("nothing for 40 s"), 40000);
client.on("error", fail);
client.on("status", (status) => { result.status = status.message; });

const channels = new Map(), services = new Map();
client.on("advertise", (all) => all.forEach((c) => channels.set(c.topic, c)));
client.on("advertiseServices", (all) => all.forEach((s) => services.set(s.name, s)));
const info = await later("serverInfo");
result.protocol = socket.protocol;
result.capabilities = info.capabilities;
const until = async (what) => { while (!what()) await new Promise((r) => setTimeout(r, 50)); };
await until(() => channels.has("/chatter") && services.has("/switch"));
result.channel = channels.get("/chatter");

const heard = new Promise((resolve) => client.on("message", ({ data }) => {
  result.messages.push(hex(data));
  if (result.messages.length === 3) resolve();
}));
client.subscribe(result.channel.id);
await heard;

const channelId = client.advertise({ topic: "/heard", encoding: "cdr", schemaName: "std_msgs/msg/String" });
const text = Buffer.from("\0\x01\0\0\x06\0\0\0hello\0", "latin1");
client.sendMessage(channelId, new Uint8Array(text));

const answered = later("serviceCallResponse");
const data = new DataView(new Uint8Array([0, 1, 0, 0, 1]).buffer);
client.sendServiceCallRequest({ serviceId: services.get("/switch").id, callId: 7, encoding: "cdr", data });
const response = await answered;
result.response = { call: response.callId, data: hex(response.data) };

const values = later("parameterValues");
client.setParameters([{ name: "/rosless_peer.speed", value: 2 }], "set");
result.parameters = (await values).parameters;

const update = later("connectionGraphUpdate");
client.subscribeConnectionGraph();
result.publishers = (await update).publishedTopics.find((t) => t.name === "/chatter").publisherIds;

const file = later("fetchAssetResponse");
client.fetchAsset("package://../secret", 3);
const asset = await file;
result.asset = { id: asset.requestId, status: asset.status };
console.log(JSON.stringify(result));
process.exit(0);
