// Where things are: poses, the tree of frames (`/tf`), robots (URDF, joint states) and markers. What is drawn is a list of shapes
// in the world's frame. Everything here comes from the network: numbers are checked, lists and depths are bounded.

const MOST_FRAMES = 2000, DEEPEST = 64, MOST_MARKERS = 1000, MOST_POINTS = 5000;

export const finite = (values) => values.every(Number.isFinite);
export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const norm = (a) => Math.hypot(a[0], a[1], a[2]);
export const unit = (a) => { const n = norm(a); return n > 1e-12 ? scale(a, 1 / n) : [0, 0, 1]; };

// Quaternions are x, y, z, w; a pose is a place `p` and a turn `q`.
export const HERE = { p: [0, 0, 0], q: [0, 0, 0, 1] };
export function turn(q, v) { const u = [q[0], q[1], q[2]], t = scale(cross(u, v), 2); return add(add(v, scale(t, q[3])), cross(u, t)); }
export const times = (a, b) => [
  a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
  a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];
const whole = (q) => { const n = Math.hypot(...q); return n > 1e-9 ? q.map((v) => v / n) : [0, 0, 0, 1]; };
export const join = (a, b) => ({ p: add(a.p, turn(a.q, b.p)), q: times(a.q, b.q) });
export const inverse = (a) => { const q = [-a.q[0], -a.q[1], -a.q[2], a.q[3]]; return { p: turn(q, scale(a.p, -1)), q }; };
export const about = (axis, angle) => { const u = unit(axis), s = Math.sin(angle / 2); return [u[0] * s, u[1] * s, u[2] * s, Math.cos(angle / 2)]; };
/** The turn that brings z onto a direction. */
export function fromZ(direction) {
  const d = unit(direction);
  return d[2] < -0.999999 ? [1, 0, 0, 0] : whole([-d[1], d[0], 0, 1 + d[2]]);
}
const rpy = ([r, p, y]) => times(times(about([0, 0, 1], y), about([0, 1, 0], p)), about([1, 0, 0], r));
/** The turn of a matrix, row by row. */
export function fromMatrix(m) {
  const columns = [[m[0], m[3], m[6]], [m[1], m[4], m[7]], [m[2], m[5], m[8]]], first = fromZ(columns[2]);
  const x = turn(first, [1, 0, 0]), angle = Math.atan2(dot(cross(x, columns[0]), columns[2]), dot(x, columns[0]));
  return times(about(columns[2], angle), first);
}
function between(a, b, share) {
  const sign = a.q[0] * b.q[0] + a.q[1] * b.q[1] + a.q[2] * b.q[2] + a.q[3] * b.q[3] < 0 ? -1 : 1;
  return { p: add(scale(a.p, 1 - share), scale(b.p, share)), q: whole(a.q.map((v, i) => v * (1 - share) + sign * b.q[i] * share)) };
}
const near = (a, b) => a.p.every((v, i) => Math.abs(v - b.p[i]) < 1e-5) && (a.q.every((v, i) => Math.abs(v - b.q[i]) < 1e-5) || a.q.every((v, i) => Math.abs(v + b.q[i]) < 1e-5));
export const fromMessage = ({ position: p, orientation: q }) => ({ p: [p.x, p.y, p.z], q: whole([q.x, q.y, q.z, q.w]) });
export const toMessage = ({ p, q }) => ({ position: { x: p[0], y: p[1], z: p[2] }, orientation: { x: q[0], y: q[1], z: q[2], w: q[3] } });

/** A tree of frames. Between two messages a frame glides, so that 10 Hz look like motion; it is behind by one message at most. */
export class Frames {
  #edges = new Map(); moving = 0; heard = 0;
  set(parent, child, pose, now = performance.now()) {
    if (!finite(pose.p) || !finite(pose.q) || parent === child) return;
    let edge = this.#edges.get(child);
    if (!edge || edge.parent !== parent) {
      if (!edge && this.#edges.size >= MOST_FRAMES) return;
      edge = { parent, from: pose, to: pose, at: now, span: 0, pace: 0, heard: now };
      this.#edges.set(child, edge);
      this.moving = Math.max(this.moving, now + 60);
      return;
    }
    // A state and its frames are told one right after the other: that is one message for the eye.
    const pause = now - edge.heard;
    if (pause > 12) edge.pace = pause > 400 ? 0 : Math.min(pause, 150);
    edge.heard = now;
    if (near(edge.to, pose)) return;
    Object.assign(edge, { from: this.#local(edge, now), to: pose, at: now, span: edge.pace });
    this.moving = Math.max(this.moving, now + edge.span + 60);
  }
  #local(edge, now) { const share = edge.span > 0 ? Math.min(1, (now - edge.at) / edge.span) : 1; return share >= 1 ? edge.to : between(edge.from, edge.to, share); }
  /** The topmost frame above this one. */
  root(frame) { for (let i = 0; i < DEEPEST; i++) { const edge = this.#edges.get(frame); if (!edge) return frame; frame = edge.parent; } return frame; }
  has(frame) { return this.#edges.has(frame); }
  /** Where a frame is, seen from its topmost one; `exact`: without gliding. */
  pose(frame, now = performance.now(), exact = false) {
    let pose = HERE;
    for (let i = 0; i < DEEPEST; i++) {
      const edge = this.#edges.get(frame);
      if (!edge) break;
      pose = join(exact ? edge.to : this.#local(edge, now), pose);
      frame = edge.parent;
    }
    return pose;
  }
  /** `of` seen from `from`, as it was told last. */
  relative(from, of) { return join(inverse(this.pose(from, 0, true)), this.pose(of, 0, true)); }
  /** A message of `/tf` or `/tf_static`; `robot` is heard of if it is about its links. */
  hear({ transforms }, robot = null) {
    const now = performance.now();
    for (const { header, child_frame_id, transform: { translation: t, rotation: q } } of transforms) {
      this.set(bare(header.frame_id), bare(child_frame_id), { p: [t.x, t.y, t.z], q: whole([q.x, q.y, q.z, q.w]) }, now);
      if (robot?.above.has(bare(child_frame_id))) this.heard = Date.now();
    }
  }
}
const bare = (name) => name.replace(/^\//, "");

const numbers = (text, count, otherwise) => { const list = (text ?? "").trim().split(/\s+/).map(Number); return list.length === count && finite(list) ? list : otherwise; };
const children = (element, name) => [...element.children].filter((c) => c.tagName === name);
const child = (element, name) => element && children(element, name)[0];
const origin = (element) => { const o = child(element, "origin"); return { p: numbers(o?.getAttribute("xyz"), 3, [0, 0, 0]), q: rpy(numbers(o?.getAttribute("rpy"), 3, [0, 0, 0])) }; };

/** A robot's description: its links' shapes and how they hang together. */
export class Robot {
  constructor(text) {
    const xml = new DOMParser().parseFromString(text, "text/xml"), robot = xml.documentElement;
    if (robot.tagName !== "robot" || xml.querySelector("parsererror")) throw new Error("that robot_description is no URDF");
    this.name = robot.getAttribute("name") ?? "robot";
    const colours = new Map();
    const colour = (m) => { const rgba = numbers(child(m, "color")?.getAttribute("rgba"), 4, null); return rgba ?? colours.get(m?.getAttribute("name")) ?? [0.6, 0.65, 0.7, 1]; };
    for (const m of children(robot, "material")) colours.set(m.getAttribute("name"), colour(m));
    this.links = new Map();
    for (const l of children(robot, "link").slice(0, MOST_FRAMES)) {
      let meshes = 0;
      const shapes = children(l, "visual").flatMap((v) => {
        const geometry = child(v, "geometry"), rgba = colour(child(v, "material")), pose = origin(v);
        const box = child(geometry, "box"), tube = child(geometry, "cylinder") ?? child(geometry, "capsule"), ball = child(geometry, "sphere");
        const size = (e, name) => Math.abs(Number(e.getAttribute(name))) || 0;
        if (box) return { kind: "box", pose, size: numbers(box.getAttribute("size"), 3, [0, 0, 0]), rgba };
        if (tube) return { kind: "cylinder", pose, radius: size(tube, "radius"), length: size(tube, "length"), rgba };
        if (ball) return { kind: "sphere", pose, radius: size(ball, "radius"), rgba };
        meshes++;
        return [];
      });
      this.links.set(l.getAttribute("name"), { name: l.getAttribute("name"), shapes, mesh: meshes > 0 && !shapes.length });
    }
    this.joints = children(robot, "joint").slice(0, MOST_FRAMES).map((j) => {
      const limit = child(j, "limit"), figure = (name) => { const v = limit?.getAttribute(name); return v === null || v === undefined ? undefined : Number(v); };
      return {
        name: j.getAttribute("name"), type: j.getAttribute("type"), parent: child(j, "parent")?.getAttribute("link") ?? "", child: child(j, "child")?.getAttribute("link") ?? "",
        origin: origin(j), axis: unit(numbers(child(j, "axis")?.getAttribute("xyz"), 3, [1, 0, 0])), lower: figure("lower"), upper: figure("upper"),
      };
    });
    this.byName = new Map(this.joints.map((j) => [j.name, j]));
    this.above = new Map(this.joints.map((j) => [j.child, j]));
    this.root = [...this.links.keys()].find((name) => !this.above.has(name)) ?? "";
    this.moving = this.joints.filter((j) => j.type !== "fixed");
    this.tool = this.#end();
    // A mesh is not drawn: the link becomes a tube to each of those that hang on it.
    const reach = Math.max(0.1, ...this.joints.map((j) => norm(j.origin.p)));
    for (const j of this.joints) {
      const link = this.links.get(j.parent), length = norm(j.origin.p);
      if (link?.mesh && length > 1e-3) link.shapes.push({ kind: "cylinder", pose: { p: scale(j.origin.p, 0.5), q: fromZ(j.origin.p) }, radius: Math.min(0.05, reach / 8), length, rgba: [0.6, 0.65, 0.7, 1] });
    }
  }
  /** The joints from the root to a link, the root's first. */
  chain(link) { const list = []; for (let i = 0, j; i < DEEPEST && (j = this.above.get(link)); i++) { list.unshift(j); link = j.parent; } return list; }
  /** The link at the end of the longest chain of moving joints: the tool. */
  #end() {
    let best = this.root, most = [-1, -1];
    for (const name of this.links.keys()) {
      const chain = this.chain(name), size = [chain.filter((j) => j.type === "revolute" || j.type === "continuous").length, chain.length];
      if (size[0] > most[0] || (size[0] === most[0] && size[1] > most[1])) [best, most] = [name, size];
    }
    return best;
  }
  local(joint, position = 0) {
    const moved = joint.type === "prismatic" ? { p: scale(joint.axis, position), q: HERE.q } : joint.type === "fixed" ? HERE : { p: HERE.p, q: about(joint.axis, position) };
    return join(joint.origin, moved);
  }
  /** Where a link is for these positions (by joint name), seen from another link above it. */
  place(link, positions, from = this.root) {
    const to = this.chain(link).reduce((pose, j) => join(pose, this.local(j, positions[j.name])), HERE);
    return from === this.root ? to : join(inverse(this.chain(from).reduce((pose, j) => join(pose, this.local(j, positions[j.name])), HERE)), to);
  }
  /** Puts fixed joints, and moving ones that nobody has told of, into the tree of frames. */
  enter(frames) { for (const j of this.joints) if (j.type === "fixed" || !frames.has(j.child)) frames.set(j.parent, j.child, this.local(j)); }
  /** A message of joint states; whether it was about this robot. */
  hear(frames, { name, position }) {
    const now = performance.now();
    let ours = 0;
    name.forEach((n, i) => { const j = this.byName.get(n); if (j && Number.isFinite(position[i])) { ours++; frames.set(j.parent, j.child, this.local(j, position[i]), now); } });
    if (ours) frames.heard = Date.now();
    return ours > 0;
  }
  /** Its shapes in the world; with `positions` a ghost that stands so instead. */
  shapes(frames, now, ghost = null, rgba = null) {
    const list = [], root = frames.pose(this.root, now), seen = new Map();
    const pose = (name) => {
      if (!ghost) return frames.pose(name, now);
      if (seen.has(name)) return seen.get(name);
      // A description may go in circles.
      seen.set(name, root);
      const j = this.above.get(name), p = j ? join(pose(j.parent), this.local(j, ghost[j.name])) : root;
      seen.set(name, p);
      return p;
    };
    for (const link of this.links.values()) if (link.shapes.length) { const at = pose(link.name); for (const s of link.shapes) list.push({ ...s, pose: join(at, s.pose), rgba: rgba ?? s.rgba, link: link.name }); }
    return list;
  }
}

/** Markers, as RViz has them. */
export class Markers {
  #all = new Map();
  hear({ markers }) {
    for (const m of markers) {
      const key = `${m.ns}\u0000${m.id}`;
      if (m.action === 3) this.#all.clear();
      else if (m.action === 2) this.#all.delete(key);
      else if (this.#all.has(key) || this.#all.size < MOST_MARKERS) {
        const life = m.lifetime.sec * 1e3 + m.lifetime.nanosec / 1e6;
        this.#all.set(key, { m, ends: life > 0 ? performance.now() + life : Infinity });
      }
    }
  }
  clear() { this.#all.clear(); }
  find(ns) { for (const { m } of this.#all.values()) if (m.ns === ns) return m; return null; }
  shapes(frames, now, skip = () => false) {
    const list = [];
    for (const [key, { m, ends }] of this.#all) {
      if (ends < now) { this.#all.delete(key); continue; }
      if (skip(m.ns)) continue;
      const at = join(frames.pose(bare(m.header.frame_id), now), fromMessage(m.pose)), { x, y, z } = m.scale, rgba = [m.color.r, m.color.g, m.color.b, m.color.a || 1];
      if (!finite(at.p) || !finite([x, y, z])) continue;
      const points = m.points.slice(0, MOST_POINTS).map((p) => add(at.p, turn(at.q, [p.x, p.y, p.z]))).filter(finite);
      switch (m.type) {
        case 0: { const from = points[0] ?? at.p, to = points[1] ?? add(at.p, turn(at.q, [x, 0, 0])); list.push({ kind: "line", points: [from, to], rgba, width: 2, arrow: true }); break; }
        case 1: list.push({ kind: "box", pose: at, size: [x, y, z], rgba }); break;
        case 2: list.push({ kind: "sphere", pose: at, radius: Math.max(x, y, z) / 2, rgba }); break;
        case 3: list.push({ kind: "cylinder", pose: at, radius: Math.max(x, y) / 2, length: z, rgba }); break;
        case 4: list.push({ kind: "line", points, rgba, width: 2, through: true }); break;
        case 5: for (let i = 0; i + 1 < points.length; i += 2) list.push({ kind: "line", points: [points[i], points[i + 1]], rgba, width: 3, through: true }); break;
        case 6: for (const p of points) list.push({ kind: "box", pose: { p, q: at.q }, size: [x, y, z], rgba }); break;
        case 7: case 8: for (const p of points) list.push({ kind: "sphere", pose: { p, q: at.q }, radius: Math.max(x, 0.002) / 2, rgba }); break;
        case 9: list.push({ kind: "text", p: at.p, text: String(m.text).slice(0, 200), rgba }); break;
      }
    }
    return list;
  }
}
