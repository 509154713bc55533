// Programs of motion primitives: what people write, what controllers are sent, and the text that `primitive-queue send` reads.

export const KINDS = { ptp: 0, lin: 50, circ: 51, polyline: 52 };
export const STOP = 66, RESET = 67, START = 100, END = 101;
export const NAMES = { 0: "PTP", 10: "PTP", 50: "LIN", 51: "CIRC", 52: "POLYLINE", 66: "STOP", 67: "RESET", 100: "START", 101: "END" };
const FIGURES = ["velocity", "acceleration", "move_time", "blend_radius"];

const numbers = (text) => text.trim().split(/[\s,]+/).map(Number);
/** `x y z` or `x y z qx qy qz qw`; without a quaternion the hand keeps the one it has. */
function pose(text, turned) {
  const n = numbers(text);
  if ((n.length !== 3 && n.length !== 7) || !n.every(Number.isFinite)) throw new Error(`"${text.trim()}" is no pose: x y z, or x y z qx qy qz qw`);
  return { position: n.slice(0, 3), orientation: n.length === 7 ? n.slice(3) : turned };
}

/** A row of the editor as an entry of the file; throws what is wrong with it. `turned` is the hand's orientation now. */
export function entry(row, turned = [0, 0, 0, 1]) {
  const made = {}, parts = row.target.split(";").filter((p) => p.trim());
  const one = () => {
    if (parts.length !== 1) throw new Error("one target is expected, without ;");
    const n = numbers(parts[0]);
    if (n.length === 6) { if (!n.every(Number.isFinite)) throw new Error("six joint angles are six numbers"); return n; }
    return pose(parts[0], turned);
  };
  if (row.kind === "ptp" || row.kind === "lin") made[row.kind] = one();
  else if (row.kind === "circ") {
    if (parts.length !== 2) throw new Error("two poses are expected: via ; goal");
    made.circ = { via: pose(parts[0], turned), goal: pose(parts[1], turned) };
  } else {
    if (parts.length < 2) throw new Error("two poses or more are expected, with ; between them");
    made.polyline = parts.map((p) => pose(p, turned));
  }
  for (const name of FIGURES) {
    const text = String(row[name] ?? "").trim();
    if (text === "") continue;
    const v = Number(text);
    if (!Number.isFinite(v) || v < 0) throw new Error(`${name} is a number, 0 or above`);
    if (v > 0) made[name] = v;
  }
  if (!made.move_time && !(made.velocity && made.acceleration)) throw new Error("velocity and acceleration, or move_time, are needed");
  return made;
}

/** An entry of a file as a row. */
export function row(made) {
  const kind = Object.keys(KINDS).find((k) => made?.[k]);
  if (!kind) throw new Error("each entry is one of ptp, lin, circ, polyline, sequence");
  const text = (p) => {
    if (!Array.isArray(p?.position) || !Array.isArray(p.orientation)) throw new Error(`${kind}: a pose is {"position": [x, y, z], "orientation": [x, y, z, w]}`);
    // Without its frame a pose would be another place.
    if (p.frame) throw new Error(`${kind}: poses are meant in the robot's base frame here, not in ${p.frame}`);
    return [...p.position, ...p.orientation].join(" ");
  };
  const target = Array.isArray(made[kind]) && typeof made[kind][0] === "number" ? made[kind].join(" ") : kind === "circ" ? `${text(made.circ.via)}; ${text(made.circ.goal)}` : kind === "polyline" ? [made.polyline].flat().map(text).join("; ") : text(made[kind]);
  return { kind, target, ...Object.fromEntries(FIGURES.map((f) => [f, made[f] === undefined ? "" : String(made[f])])) };
}

/** An entry as a message; the two packages differ in the names of an argument. */
export function message(made, older) {
  const kind = Object.keys(KINDS).find((k) => k in made), value = made[kind];
  const stamped = (p) => ({ header: { frame_id: p.frame ?? "" }, pose: { position: vector(p.position), orientation: { ...vector(p.orientation), w: p.orientation[3] } } });
  const joints = Array.isArray(value) && typeof value[0] === "number";
  return {
    type: KINDS[kind], blend_radius: made.blend_radius ?? 0,
    additional_arguments: FIGURES.slice(0, 3).filter((f) => made[f]).map((f) => (older ? { argument_name: f, argument_value: made[f] } : { name: f, value: made[f] })),
    poses: joints ? [] : (kind === "circ" ? [value.goal, value.via] : kind === "polyline" ? value : [value]).map(stamped),
    joint_positions: joints ? value : [],
  };
}
const vector = ([x, y, z]) => ({ x, y, z });

/** The rows of a text: JSON, of which every file is YAML, too. A sequence is what all of a program is here. */
export function read(text) {
  let list;
  try { list = JSON.parse(text); } catch { throw new Error("JSON is expected: a list such as [{\"ptp\": [0, 0, 0, 0, 0, 0], \"move_time\": 2}]"); }
  if (!Array.isArray(list)) throw new Error("a list of moves is expected");
  return list.flatMap((e) => e?.sequence ?? e).map(row);
}
export function write(entries) {
  const lines = entries.map((e) => `  ${JSON.stringify(e)}`).join(",\n");
  return entries.length > 1 ? `[{"sequence": [\n${lines}\n]}]` : `[\n${lines}\n]`;
}

/** In a few words, for the timeline. */
export function words(m) {
  const place = (p) => ["x", "y", "z"].map((k) => p.pose.position[k].toFixed(2)).join(" ");
  return m.joint_positions?.length ? m.joint_positions.map((v) => v.toFixed(2)).join(" ") : m.part ? `${m.part}: ${place(m.poses[0])}` : m.poses?.length ? place(m.poses[0]) : "";
}
