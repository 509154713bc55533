// A robot that executes motion primitives: where it is, what it will do, what waits, and programs for it.
import { link } from "/link.js";
import { h, fill, put, ages, value, quietly, failed, notice, fixed, duration } from "/ui.js";
import { Plot } from "/plot.js";
import { View, axes } from "/scene.js";
import { Frames, Markers, Robot, add, sub, norm, join, turn, fromMessage } from "/robot.js";
import { NAMES, STOP, RESET, START, END, entry, message, read, words, write } from "/program.js";

const OLDER = "industrial_robot_motion_interfaces/msg/MotionPrimitive", NEWER = "control_msgs/msg/MotionPrimitive", TEXT = "std_msgs/msg/String";
const KEPT = 300, DONE = 8, MOST = 200;
const CODES = ["IDLE", "EXECUTING", "SUCCESS", "ERROR", "STOPPING", "STOPPED"];
const STATES = { IDLE: "", EXECUTING: "good", SUCCESS: "good", ERROR: "bad", STOPPING: "warn", STOPPED: "warn" };

export default function (main, page) {
  let node = null, older = true, reference = "", ends = [], robot = null, base = "", queue = null, joints = null, path = [], plan = null, ghost = null, told = 0, source = null, gone = true, later = 0, pathAt = 0, figured = 0, described = null, endDescription = () => {}, refresh = () => {};
  const frames = new Frames(), markers = new Markers(), items = new Map(), sent = new Map(), seen = new Set(), log = [];
  const about = h("p.dim"), slot = h("span.row"), choice = h("select", { "aria-label": "Controller", onchange: () => { location.hash = choice.value; look(); } });
  const state = value(1500), depth = h("span.num"), ready = h("span.dim"), pause = h("button", { onclick: () => hold() }, "Pause"), reset = h("button", { onclick: () => makeReady() }, "Reset"), why = h("p.locked");
  const share = h("input", { type: "range", min: 0, max: 100, step: 1, value: 100, "aria-label": "Share of the speed in percent" }), shareText = h("span.num", "100 %");
  const line = h("div.timeline", { role: "list", "aria-label": "Queue" }), events = h("div.log.short");
  const speed = new Plot({ seconds: 20, names: ["hand"], unit: " m/s", label: "Speed of the hand" }), angles = new Plot({ seconds: 20, unit: " rad", label: "Angles of the joints" });
  const plots = h("div.grid", h("div.card", h("h2", "Speed of the hand"), speed.element), h("div.card", h("h2", "Joint angles"), angles.element)), fresh = ages(plots, 1500), freshLine = ages(line, 1500);
  const place = value(1500);
  const view = new View({ label: "The robot, its planned path and blends", target: [0.05, -0.2, 0.33], distance: 1.75, yaw: -0.35, pitch: 0.42, shapes, moving: () => frames.moving });
  page.ends(() => view.end());
  /** What stands still is not drawn again. */
  function stir() { if (frames.moving > performance.now()) view.touch(); }
  const pace = h("i"), progress = h("div.bar", { hidden: true }, pace);

  put(main, h("div.row.end", h("div", h("h1", "Motion"), about), h("span.row", choice, slot)),
    h("div.wide",
      h("div.card", view.element, h("p.dim", "Hand: ", place.element)),
      h("div",
        h("div.card", h("div.row.end", h("span", "Robot: ", state.element), h("span", depth)), why, progress, h("div.row", pause, reset, ready),
          h("label.aim", h("span", "Speed"), share, shareText)),
        h("div.card", h("h2", "Queue"), line),
        h("div.card", h("h2", "What happened"), events))),
    editor(), plots,
    h("p.dim", h("kbd", "Space"), " and ", h("kbd", "Esc"), " stop everything, for everybody. A program goes on when its page is closed."));

  // Which controller.
  function look() {
    const found = new Map();
    for (const t of link.graph?.topics ?? []) {
      const type = t.types.find((x) => x === OLDER || x === NEWER);
      if (type && t.name.endsWith("/reference") && t.subscriptions.some((s) => s.node !== link.graph.own)) found.set(t.name.slice(0, -"/reference".length), type);
    }
    const wish = decodeURIComponent(location.hash.slice(1)), next = found.has(wish) ? wish : found.has(node) ? node : [...found.keys()].sort()[0] ?? null;
    fill(choice, [...found.keys()].sort().map((name) => h("option", { value: name, selected: name === next }, name)));
    choice.hidden = found.size < 2;
    if (next && next !== node) follow(next, found.get(next));
    if (node) followDescription();
    gone = !next;
    draw();
  }
  page.on(link, "graph", look);
  page.on(window, "hashchange", look);
  page.ends(() => ends.forEach((end) => end()));
  page.subscribe("/tf", "tf2_msgs/msg/TFMessage", (m) => { frames.hear(m, robot); stir(); }, 40);
  page.subscribe("/tf_static", "tf2_msgs/msg/TFMessage", (m) => { frames.hear(m); stir(); }, 0);

  function follow(next, type) {
    ends.splice(0).forEach((end) => end());
    described = null;
    node = next; older = type === OLDER; reference = `${node}/reference`;
    items.clear(); sent.clear(); seen.clear(); log.length = 0; markers.clear(); queue = null; robot = null; path = []; source = null;
    const space = node.slice(0, node.lastIndexOf("/")), name = node.slice(node.lastIndexOf("/") + 1);
    fill(slot, page.operator(name === "motion_primitive_controller" ? (space ? `${space}/motion` : "motion") : node));
    const hear = (topic, kind, act, period, keep) => ends.push(link.subscribe(topic, kind, (m, info) => m && act(m, info), period, keep));
    hear(`${space}/joint_states`, "sensor_msgs/msg/JointState", moved, 40);
    hear(`${node}/markers`, "visualization_msgs/msg/MarkerArray", (m, info) => {
      markers.hear(m);
      if (m.markers[0]) base = m.markers[0].header.frame_id.replace(/^\//, "");
      path = (markers.find("planned_path")?.points ?? []).map((p) => [p.x, p.y, p.z]);
      pathAt = info.sent ?? info.t;
      bounds(); view.touch();
    }, 0);
    hear(`${node}/state`, "std_msgs/msg/Int8", (m, info) => { told = info.t; freshLine.touch(info.t); state.show(queue?.state ?? CODES[m.data] ?? m.data, info.t); }, 200);
    hear(`${node}/queue`, TEXT, (m, info) => { try { queue = JSON.parse(m.data); } catch { return; } state.show(queue.state, Math.max(told, info.t)); draw(); }, 0);
    // The console keeps both: whoever reloads or comes later sees the same queue.
    hear(reference, type, (m, info) => { sent.set(`${info.from}:${info.sequence}`, m); while (sent.size > 2 * KEPT) sent.delete(sent.keys().next().value); pair(); }, 0, KEPT);
    hear(`${node}/events`, TEXT, (m, info) => {
      const key = `${info.from}:${info.sequence}`;
      if (seen.has(key)) return;
      seen.add(key);
      if (seen.size > 10 * KEPT) seen.delete(seen.values().next().value);
      // Another publisher is another controller: its numbers begin again.
      if (source && source !== info.from) { items.clear(); log.push({ t: info.t, text: "the controller was started again", kind: "warn" }); }
      source = info.from;
      try { happened(JSON.parse(m.data), info.t, info.sent ?? info.t); } catch { /* not one of ours */ }
    }, 0, KEPT);
  }
  /** Beside another robot a controller's description has a name of its own: the one that the controller publishes is the one. */
  function followDescription() {
    const own = (link.graph?.topics ?? []).filter((t) => t.name.endsWith("/robot_description") && t.publishers.some((p) => p.node === node));
    const topic = own[0]?.name ?? `${node.slice(0, node.lastIndexOf("/"))}/robot_description`;
    if (topic === described) return;
    described = topic;
    endDescription();
    endDescription = link.subscribe(topic, TEXT, (m) => m && describe(m.data), 0);
  }
  page.ends(() => endDescription());
  function describe(text) {
    try {
      const found = new Robot(text);
      // The ball-catching arm may share the topic; a robot for primitives throws no balls.
      if (found.byName.has("ball_x")) return;
      robot = found;
      robot.enter(frames);
      angles.names = robot.moving.map((j) => j.name.replace(/_joint$/, ""));
      view.touch();
    } catch (error) { failed(error); }
  }
  const tool = () => robot?.tool, baseFrame = () => base || robot?.root;
  function moved(m, info) {
    if (!robot?.hear(frames, m)) return;
    joints = Object.fromEntries(m.name.map((n, i) => [n, m.position[i]]));
    stir();
    drawProgress();
    // Figures ten times a second are enough for the eye.
    if (info.t - figured < 90) return;
    figured = info.t;
    fresh.touch(info.t);
    angles.add(robot.moving.map((j) => joints[j.name]), info.t);
    // The speed from the joints' speeds and the model: exact, however seldom a state is heard.
    if (m.velocity.length === m.name.length) {
      const later = Object.fromEntries(m.name.map((n, i) => [n, m.position[i] + m.velocity[i] * 1e-4]));
      speed.add([norm(sub(robot.place(tool(), later).p, robot.place(tool(), joints).p)) / 1e-4], info.t);
    }
    const at = frames.relative(baseFrame(), tool());
    place.show(`${at.p.map((v) => fixed(v, 3)).join(", ")} m in ${baseFrame()}`, info.t);
  }

  // The queue.
  function item(id) { let i = items.get(id); if (!i) items.set(id, (i = { id, status: "waiting", from: 0, to: 0 })); return i; }
  /** `at` is the controller's clock. */
  function happened(e, t, at) {
    const recent = Date.now() - t < 5000, say = (text, kind = "") => { log.push({ t, text, kind }); if (log.length > KEPT) log.shift(); };
    switch (e.event) {
      case "accepted": Object.assign(item(e.id), { status: "waiting", origin: `${e.publisher}:${e.sequence}`, t }); (e.warnings ?? []).forEach((w) => say(`#${e.id}: ${w}`, "warn")); break;
      case "refused": say(`refused: ${e.reason}`, "bad"); if (recent) notice(`Refused: ${e.reason}`, "error"); break;
      case "started": Object.assign(item(e.id), { status: "running", started: t }); break;
      case "blended": Object.assign(item(e.id), { status: "done", ended: at }); Object.assign(item(e.next), { status: "running", started: t }); break;
      case "finished": Object.assign(item(e.id), { status: "done", ended: item(e.id).ended ?? at }); break;
      case "failed": Object.assign(item(e.id), { status: "failed", ended: at }); say(`#${e.id} failed: ${e.reason}`, "bad"); if (recent) notice(`Primitive ${e.id} failed: ${e.reason}`, "error"); break;
      case "discarded": Object.assign(item(e.id), { status: "discarded", ended: at }); say(`#${e.id} discarded: ${e.reason}`, "warn"); break;
      case "note": say(`#${e.id}: ${e.text}`); break;
      case "fault": say(e.fault ? `fault: ${e.fault.text ?? JSON.stringify(e.fault)}` : "no fault any more", e.fault ? "bad" : "good"); break;
      case "goal_rejected": case "goal_aborted": say(`${e.event.replace("_", " ")}: ${e.reason}`, "bad"); break;
      case "goal_accepted": say(`goal of ${e.primitives} primitives`); break;
      case "goal_succeeded": case "goal_canceled": say(e.event.replace("_", " "), e.event === "goal_canceled" ? "warn" : "good"); break;
    }
    while (items.size > KEPT) items.delete(items.keys().next().value);
    pair();
    clearTimeout(later);
    later = setTimeout(() => { bounds(); drawLine(); drawLog(); }, 30);
  }
  page.ends(() => clearTimeout(later));
  const ordered = () => [...items.values()].sort((a, b) => a.id - b.id);
  /** Which message each primitive was. A polyline becomes as many as it has corners; its own number is the last of theirs. */
  function pair() {
    for (const i of [...items.values()]) {
      i.message ??= sent.get(i.origin);
      const corners = i.message?.type === 52 && !i.message.part ? i.message.poses : [];
      corners.slice(0, MOST).forEach((pose, n) => {
        const one = item(i.id - corners.length + 1 + n);
        if (one === i || !one.origin) one.message = { ...i.message, poses: [pose], part: `${n + 1} of ${corners.length}` };
      });
    }
  }

  /** Which part of the planned path belongs to which primitive: up to where the path first is nearest to its target. */
  function bounds() {
    if (path.length < 2) return;
    let from = 0;
    // Also those that were done since the path was told: it begins with them.
    for (const i of ordered().filter((i) => i.message && i.message.type < START && !(i.ended < pathAt - 50))) {
      const targets = i.message.joint_positions?.length ? [jointTarget(i.message.joint_positions)] : i.message.type === 51 ? [point(i.message.poses[0])] : i.message.poses.map(point);
      if (targets.some((p) => !p)) return;
      const start = from;
      for (const target of targets) from = nearest(target, from, i.message.blend_radius);
      Object.assign(i, { from: start, to: from });
      if (from >= path.length - 1) break;
    }
  }
  const point = (p) => { const { x, y, z } = p.pose.position, frame = p.header.frame_id; return !frame || frame === base || !frames.has(frame) ? [x, y, z] : join(frames.relative(baseFrame(), frame), { p: [x, y, z], q: [0, 0, 0, 1] }).p; };
  const jointTarget = (positions) => robot && robot.place(tool(), Object.fromEntries(robot.moving.map((j, i) => [j.name, positions[i]])), baseFrame()).p;
  function nearest(target, from, blend) {
    let best = path.length - 1, least = Infinity;
    for (let i = from; i < path.length; i++) {
      const d = norm(sub(path[i], target));
      if (d < least) { least = d; best = i; }
      // It was there, and goes away again.
      else if (least < blend + 0.01 && d > least + 0.005 && best > from) break;
    }
    return best;
  }
  const running = () => ordered().find((i) => i.status === "running");
  /** How much of the running primitive is done, 0 to 1, or null if nobody can say. */
  function done(i) {
    if (i.to <= i.from || i.to >= path.length || !robot) return null;
    const hand = frames.relative(baseFrame(), tool()).p;
    let best = i.from, least = Infinity;
    for (let k = best; k <= i.to; k++) { const d = norm(sub(path[k], hand)); if (d < least - 1e-9) { least = d; best = k; } }
    if (least > 0.1) return null;
    const length = (a, b) => { let sum = 0; for (let k = a; k < b; k++) sum += norm(sub(path[k + 1], path[k])); return sum; }, all = length(i.from, i.to);
    return all > 1e-6 ? Math.min(1, length(i.from, best) / all) : null;
  }
  function drawProgress() {
    const i = running();
    progress.hidden = !i || queue?.state !== "EXECUTING";
    if (progress.hidden) return;
    const part = done(i);
    pace.style.width = part === null ? "100%" : `${(100 * part).toFixed(0)}%`;
    pace.classList.toggle("unknown", part === null);
    const bar = line.querySelector(`[data-id="${i.id}"] i`);
    if (bar) bar.style.width = part === null ? "50%" : `${(100 * part).toFixed(0)}%`;
    i.part = part;
  }
  function drawLine() {
    const all = ordered().filter((i) => !(i.message && i.message.type >= START)), open = all.filter((i) => i.status === "running" || i.status === "waiting");
    const shown = [...all.filter((i) => !open.includes(i)).slice(-DONE), ...open].sort((a, b) => a.id - b.id);
    fill(line, shown.length ? shown.map((i) => h(`div.step.${i.status}`, { role: "listitem", "data-id": i.id, "data-status": i.status, title: `#${i.id} ${i.status}` },
      h("b", i.message ? NAMES[i.message.type] ?? i.message.type : "move"), h("span.age", ` #${i.id}`), h("div.age", i.message ? words(i.message) : ""), h("div.bar", h("i")), h("div.age", i.status))) : h("span.dim", "Nothing waits and nothing has run since this console began to listen."));
    for (const e of line.querySelectorAll("[data-status=done] i")) e.style.width = "100%";
    const now = line.querySelector("[data-status=running]");
    line.scrollLeft = now ? now.offsetLeft - line.offsetLeft - 40 : line.scrollWidth;
    drawProgress();
  }
  function drawLog() {
    fill(events, log.length ? log.slice(-40).reverse().map((e) => h("div", h("span.age", `${new Date(e.t).toLocaleTimeString()} `), h(`span${e.kind && "." + e.kind}`, e.text))) : h("span.dim", "Refusals, notes and failures appear here."));
  }

  // Commands.
  const primitive = (value) => link.publish(reference, older ? OLDER : NEWER, value);
  function serves(name) { return (link.graph?.services ?? []).some((s) => s.name === `${node}/${name}` && s.nodes.length); }
  function makeReady() {
    quietly(async () => {
      if (queue?.state === "ERROR") { await primitive({ type: STOP }); for (let i = 0; i < 60 && queue?.state !== "STOPPED"; i++) await new Promise((ok) => setTimeout(ok, 50)); }
      await primitive({ type: RESET });
    });
  }
  function hold() {
    quietly(async () => { const answer = await link.call(`${node}/${queue?.paused ? "resume" : "pause"}`, "std_srvs/srv/Trigger", {}); if (!answer.success) throw new Error(answer.message); });
  }
  let speeding = null;
  share.addEventListener("input", () => {
    shareText.textContent = `${share.value} %`;
    clearTimeout(speeding);
    speeding = setTimeout(() => { quietly(() => link.publish(`${node}/speed_scaling_factor`, "control_msgs/msg/SpeedScalingFactor", { factor: Number(share.value) / 100 })).finally(() => { speeding = null; draw(); }); }, 120);
  });
  page.on(window, "keydown", (event) => {
    if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea")) return;
    event.preventDefault();
    document.getElementById("stop").click();
  });

  const broken = () => (queue?.fault ? ` (${queue.fault.kind === "other" ? "" : `${queue.fault.kind.replaceAll("_", " ")}: `}${queue.fault.text})` : "");
  /** Why the robot cannot be moved from here now, or nothing. */
  function lock() {
    if (gone) return "no motion primitive controller on the graph";
    if (link.state !== "live") return "no connection";
    if (link.welcome && !link.welcome.operator) return "read-only";
    if (Date.now() - told > 3000 && (link.graph?.topics ?? []).some((t) => t.name === `${node}/state` && t.publishers.length)) return "nothing is heard of the controller";
    if (queue && !queue.active) return "the controller is not active: see its lifecycle on the page Graph";
    if (queue?.state === "STOPPED") return "the robot is stopped: Reset makes it ready again";
    if (queue?.state === "STOPPING") return "the robot is stopping";
    if (queue?.state === "ERROR") return `the robot is in ERROR${broken()}: Reset stops it and makes it ready again`;
    return queue?.fault && !queue.ready ? `the robot does not take moves${broken()}` : null;
  }

  // Programs.
  function editor() {
    const list = h("div.program"), out = h("div", { role: "status" }), text = h("textarea", { rows: 8, hidden: true, spellcheck: false, "aria-label": "The program as text" });
    const scrub = h("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Instant of the plan" }), scrubbed = h("span.num.dim");
    const lookBox = h("div", { hidden: true }, h("label.aim", h("span", "Look along"), scrub, scrubbed));
    let rows = [];
    try { rows = JSON.parse(localStorage.getItem("program") ?? "[]"); } catch { /* begins anew */ }
    if (!Array.isArray(rows)) rows = [];
    const keep = () => localStorage.setItem("program", JSON.stringify(rows.slice(0, MOST)));
    const turned = () => (robot ? frames.relative(baseFrame(), tool()).q : [0, 0, 0, 1]);
    const here = () => { if (!robot || !joints) throw new Error("where the robot is has not been heard yet"); return frames.relative(baseFrame(), tool()); };
    const short = (list, digits = 4) => list.map((v) => Number(v.toFixed(digits))).join(" ");
    const pose = ({ p, q }) => `${short(p)} ${short(q, 5)}`;
    const newRow = (kind, target, more = {}) => ({ kind, target, velocity: kind === "ptp" ? "1" : "0.25", acceleration: kind === "ptp" ? "4" : "1", move_time: "", blend_radius: "", ...more });
    const adds = {
      "PTP here": () => [newRow("ptp", short(robot.moving.map((j) => joints[j.name] ?? 0)))],
      "LIN here": () => [newRow("lin", pose(here()))],
      "CIRC": () => { const at = here(); return [newRow("circ", `${pose({ p: add(at.p, [0.05, 0, 0.05]), q: at.q })}; ${pose({ p: add(at.p, [0.1, 0, 0]), q: at.q })}`)]; },
      "Square": () => { const at = here(), d = 0.12, corner = (x, y) => newRow("lin", pose({ p: add(at.p, [x * d, y * d, 0]), q: at.q }), { blend_radius: "0.02" }); return [corner(1, 0), corner(1, -1), corner(0, -1), { ...corner(0, 0), blend_radius: "" }]; },
    };
    const change = (act) => { try { act(); keep(); forget(); drawRows(); } catch (error) { failed(error); } };
    const forget = () => { plan = null; ghost = null; lookBox.hidden = true; fill(out); view.touch(); };
    const buttons = Object.entries(adds).map(([name, make]) => h("button.small", { onclick: () => change(() => { here(); rows.push(...make()); }) }, `+ ${name}`));
    const lookAt = h("button", { onclick: () => planNow() }, "Plan"), run = h("button.primary#run", { onclick: () => runNow() }, "Run"), empty = h("button.small", { onclick: () => change(() => { rows = []; }) }, "Clear");
    const asText = h("button.small", { onclick: () => {
      text.hidden = !text.hidden; apply.hidden = text.hidden; list.hidden = !text.hidden;
      if (!text.hidden) { try { text.value = write(entries()); } catch { text.value = JSON.stringify(rows); } }
    } }, "Text"), apply = h("button.small", { hidden: true, onclick: () => change(() => { rows = read(text.value); asText.click(); }) }, "Take this text");
    function drawRows() {
      const field = (r, name, label) => { const i = h("input.figure", { value: r[name] ?? "", inputMode: "decimal", "aria-label": label, oninput: () => { r[name] = i.value; keep(); forget(); } }); return h("label.mini", h("span.age", label), i); };
      fill(list, rows.length ? rows.map((r, n) => {
        const target = h("input.mono", { value: r.target, spellcheck: false, "aria-label": `Target of move ${n + 1}`, oninput: () => { r.target = target.value; keep(); forget(); } });
        const kind = h("select", { "aria-label": `Kind of move ${n + 1}`, onchange: () => { r.kind = kind.value; keep(); forget(); } }, ["ptp", "lin", "circ", "polyline"].map((k) => h("option", { value: k, selected: k === r.kind }, k.toUpperCase())));
        const swap = (to) => change(() => { if (to >= 0 && to < rows.length) [rows[n], rows[to]] = [rows[to], rows[n]]; });
        return h("div.move", { "data-move": n }, h("span.row", h("b.num", n + 1), kind), target,
          h("span.row", field(r, "velocity", r.kind === "ptp" ? "rad/s" : "m/s"), field(r, "acceleration", r.kind === "ptp" ? "rad/s²" : "m/s²"), field(r, "move_time", "or time s"), field(r, "blend_radius", "blend m")),
          h("span.row", h("button.small", { title: "Earlier", "aria-label": "Earlier", onclick: () => swap(n - 1) }, "↑"), h("button.small", { title: "Later", "aria-label": "Later", onclick: () => swap(n + 1) }, "↓"), h("button.small", { title: "To the queue, alone", onclick: () => queueOne(n) }, "Queue"), h("button.small", { title: "Remove", "aria-label": "Remove", onclick: () => change(() => rows.splice(n, 1)) }, "✕")));
      }) : h("p.dim", "No moves yet. Add the place where the robot is, or a square from here; edit the numbers; look at the plan; run it. Targets: six joint angles, or x y z, or x y z qx qy qz qw; between several poses a semicolon (CIRC: via; goal)."));
      refresh();
    }
    refresh = () => {
      const no = lock();
      for (const b of [lookAt, run, empty]) b.disabled = !rows.length;
      lookAt.hidden = !serves("plan");
      run.disabled ||= Boolean(no);
      run.title = no ?? "";
    };
    const mark = (n, why) => { for (const e of list.querySelectorAll(".move")) e.classList.toggle("wrong", Number(e.dataset.move) === n); if (why) fill(out, h("span.bad", `Move ${n + 1}: ${why}`)); };
    function entries() { return rows.map((r, n) => { try { return entry(r, turned()); } catch (error) { mark(n, error.message); throw new Error(`move ${n + 1}: ${error.message}`); } }); }
    async function planNow() {
      forget();
      mark(-1);
      try {
        fill(out, h("span.dim", "planning…"));
        const answer = await link.call(`${node}/plan`, "rosless_msgs/srv/PlanMotion", { motions: entries().map((e) => message(e, false)), start: [] }, 30);
        if (!answer.feasible) { mark(answer.impossible, answer.impossible < 0 ? null : answer.reason); if (answer.impossible < 0) fill(out, h("span.bad", answer.reason)); }
        else {
          mark(-1);
          fill(out, h("p", { "data-plan": "feasible" }, h("b", `${fixed(answer.duration, 2)} s`), `, ${fixed(answer.length, 3)} m, at most ${fixed(answer.top_speed, 3)} m/s`), answer.notes.map((n) => h("div.warn", n)),
            h("div.parts", answer.starts.map((s, i) => h("div.part", { title: `move ${i + 1}: ${fixed(s, 2)} s to ${fixed(answer.ends[i], 2)} s` }, String(i + 1)))));
          [...out.querySelectorAll(".part")].forEach((e, i) => { e.style.flexGrow = Math.max(0.001, answer.ends[i] - answer.starts[i]); });
        }
        plan = answer.path.poses.length > 1 ? { answer, points: answer.path.poses.map((p) => fromMessage(p).p) } : null;
        lookBox.hidden = !plan;
        scrub.value = 0;
        along();
      } catch (error) { if (!out.querySelector(".bad")) fill(out, h("span.bad", error.message)); failed(error); }
    }
    const time = (p) => p.time_from_start.sec + p.time_from_start.nanosec / 1e9;
    function along() {
      const points = plan?.answer.trajectory.points ?? [];
      if (!points.length) { ghost = null; return; }
      const end = time(points.at(-1)), t = (end * scrub.value) / 1000, p = points.find((q) => time(q) >= t) ?? points.at(-1);
      ghost = Object.fromEntries(plan.answer.trajectory.joint_names.map((n, i) => [n, p.positions[i]]));
      scrubbed.textContent = `${fixed(t, 2)} s of ${fixed(end, 2)} s`;
      view.touch();
    }
    scrub.addEventListener("input", along);
    async function send(list) {
      const no = lock();
      if (no) throw new Error(no);
      for (const m of list) await primitive(m);
    }
    function runNow() {
      mark(-1); fill(out);
      let list;
      try { list = entries().map((e) => message(e, older)); } catch (error) { return failed(error); }
      forget();
      // As a sequence it is planned as a whole before anything moves; what is sent by half moves nothing.
      quietly(() => send(list.length > 1 ? [{ type: START }, ...list, { type: END }] : list));
    }
    function queueOne(n) { try { const m = message(entry(rows[n], turned()), older); mark(-1); quietly(() => send([m])); } catch (error) { mark(n, error.message); failed(error); } }
    drawRows();
    return h("div.card", h("div.row.end", h("h2", "Program"), h("span.row", buttons, asText, apply, empty)), list, text, h("div.row", lookAt, run, h("span.grow", out)), lookBox);
  }

  function shapes(now) {
    const list = robot ? robot.shapes(frames, now) : [];
    list.push(...markers.shapes(frames, now));
    if (robot) list.push(...axes(frames.pose(tool(), now), 0.09));
    const base = baseFrame();
    if (plan && base) {
      const at = frames.pose(base, now);
      list.push({ kind: "line", points: plan.points.map((p) => add(at.p, turn(at.q, p))), rgba: [0.65, 0.25, 0.75, 1], width: 2, dash: true, through: true });
      if (robot && ghost) list.push(...robot.shapes(frames, now, ghost, [0.65, 0.35, 0.8, 0.35]));
    }
    return list;
  }
  function draw() {
    about.textContent = gone && !node ? "No motion primitive controller is on the graph: start `primitive-queue run`, or `rosless up`." : gone ? `${node} has left the graph.` : `${node}${robot ? `, ${robot.name}` : ""}`;
    const no = lock(), moves = queue && ["EXECUTING", "STOPPING"].includes(queue.state);
    why.textContent = no ? `Locked: ${no}.` : "";
    depth.textContent = queue ? `${queue.depth} of ${queue.size} wait` : "";
    ready.textContent = queue ? (queue.paused ? "held on its path" : queue.ready ? "ready" : moves ? "moves" : "") : "";
    state.text.className = `num pill ${STATES[queue?.state] ?? ""}`;
    const may = !gone && link.state === "live" && link.welcome?.operator;
    pause.hidden = !serves("pause"); pause.disabled = !may; fill(pause, queue?.paused ? "Resume" : "Pause"); pause.classList.toggle("on", Boolean(queue?.paused));
    reset.disabled = !may || !["STOPPED", "ERROR"].includes(queue?.state);
    share.disabled = !may || !(link.graph?.topics ?? []).some((t) => t.name === `${node}/speed_scaling_factor`);
    if (queue && speeding === null && !share.matches(":active")) { share.value = Math.round(queue.speed * 100); shareText.textContent = `${share.value} %`; }
    const old = Date.now() - Math.max(frames.heard, told), stale = gone || link.state !== "live" || old > 1500;
    view.say(link.state !== "live" ? "no connection" : gone ? "not on the graph" : !frames.heard ? "nothing heard of the robot yet" : stale ? `nothing heard for ${duration(old / 1e3)}` : "", stale);
    // A controller that rests and has nothing to do has forgotten what was under way: it was started again, or killed.
    if (queue && !moves && queue.depth === 0) {
      const lost = [...items.values()].filter((i) => (i.status === "running" || i.status === "waiting") && Date.now() - (i.started ?? i.t ?? 0) > 3000);
      lost.forEach((i) => { i.status = "lost"; });
      if (lost.length) drawLine();
    }
    refresh();
    drawProgress();
  }
  page.every(500, draw);
  page.on(link, "state", draw);
  page.on(link, "welcome", draw);
  link.followGraph();
  look();
  drawLine(); drawLog(); draw();
}
