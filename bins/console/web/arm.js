// The arm that catches balls: its scene, the launcher's aim, throws and what became of them.
import { link } from "/link.js";
import { h, fill, put, ages, value, quietly, failed, fixed } from "/ui.js";
import { Plot } from "/plot.js";
import { View, axes, wires } from "/scene.js";
import { Frames, Markers, Robot, fromMatrix, norm, finite } from "/robot.js";

const ARRAY = "std_msgs/msg/Float32MultiArray", TEXT = "std_msgs/msg/String", FLOAT = "std_msgs/msg/Float32";
/** Name, words, least, most, step, unit: what the launcher can do. */
const AIM = [["x", "Sideways x", -10, 10, 0.01, "m"], ["z", "Distance z", -10, 0, 0.01, "m"], ["phi", "Heading φ", -2, 2, 0.01, "rad"], ["psi", "Elevation ψ", 0, 1.55, 0.01, "rad"]];
const SPEED = ["speed", "Speed", 0.1, 12, 0.1, "m/s"], FASTEST = 100;
/** A throw that the arm can catch. */
const FIRST = { x: 0, z: -1, phi: 0, psi: 0.9, speed: 4 };
const GRAVITY = 9.80665, KEPT = 200, SHOWN = 60;
/** What the hand must close around, in the model's axes. */
const HAND = [0.1, 0.04, 0.1];
/** The arrays' axes in the model's: X = z, Y = x, Z = y. */
const model = ([x, y, z]) => [z, x, y];
const modelTurn = (m) => fromMatrix([m[8], m[6], m[7], m[2], m[0], m[1], m[5], m[3], m[4]]);
const JOINTS = ["joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "joint_6"];
const COLOURS = { caught: "good", missed: "bad", "not attempted": "warn", "no verdict": "warn" };

export default function (main, page) {
  let space = null, ends = [], robot = null, state = null, catches = null, chosen = null, thrower = false, rates = [0, 0, 0, 0, 0, 0];
  let throws = [], verdicts = [];
  const seen = new Set(), frames = new Frames(), markers = new Markers();
  const about = h("p.dim"), slot = h("span.row"), last = h("div.verdict", { role: "status" }), score = h("span.dim"), table = h("div.scroll"), plan = h("p.dim");
  const angles = new Plot({ seconds: 20, names: JOINTS, unit: " rad", label: "Angles of the joints" });
  const speeds = new Plot({ seconds: 20, names: JOINTS, unit: " rad/s", label: "Speeds of the joints" });
  const hand = value(5000), plots = h("div.grid", h("div.card", h("h2", "Joint angles"), angles.element), h("div.card", h("h2", "Joint speeds"), speeds.element)), fresh = ages(plots, 1500);
  const view = new View({ label: "The arm, the launcher and the ball", target: [-0.35, 0, 0.4], distance: 2.7, yaw: -1.1, pitch: 0.28, shapes, moving: () => frames.moving });
  page.ends(() => view.end());
  /** What stands still is not drawn again. */
  function stir() { if (frames.moving > performance.now()) view.touch(); }

  // Aim.
  const inputs = {}, wanted = { ...FIRST };
  const saved = Number(sessionStorage.getItem("speed"));
  if (saved > 0 && saved <= FASTEST) wanted.speed = saved;
  const fire = h("button.primary#throw", { onclick: () => shoot() }, "Throw ", h("kbd", "T"));
  const home = h("button", { onclick: () => { Object.assign(wanted, FIRST); show(); aim(); } }, "Towards the arm"), locked = h("p.locked");
  function slider([name, words, least, most, step, unit]) {
    const top = name === "speed" ? FASTEST : most;
    const range = h("input", { type: "range", min: least, max: most, step, value: wanted[name], "aria-label": words, "data-aim": name });
    const number = h("input.figure", { type: "number", min: least, max: top, step, value: wanted[name], "aria-label": `${words} in ${unit}` });
    const set = (from) => {
      const v = Number(from.value);
      if (from.value === "" || !Number.isFinite(v)) return;
      wanted[name] = Math.min(top, Math.max(least, v));
      (from === range ? number : range).value = wanted[name];
      if (name === "speed") { sessionStorage.setItem("speed", wanted.speed); view.touch(); } else aim();
    };
    range.addEventListener("input", () => set(range));
    number.addEventListener("input", () => set(number));
    number.addEventListener("change", () => { number.value = wanted[name]; });
    inputs[name] = { range, number };
    return h("label.aim", h("span", words), range, h("span.row", number, h("span.dim", unit)));
  }
  const busy = () => Object.values(inputs).some(({ range, number }) => document.activeElement === number || range.matches(":active"));
  let sending = null, again = false;
  /** The newest aim, one message at a time. */
  function aim() {
    view.touch();
    again = true;
    sending ??= (async () => {
      while (again) {
        again = false;
        if (why()) throw new Error(why());
        await quietlyOr(() => link.publish(`${space}/shooter_state_input`, ARRAY, { data: AIM.map(([name]) => wanted[name]) }));
        await new Promise((done) => setTimeout(done, 60));
      }
    })().catch(() => { again = false; if (state) take(state); }).finally(() => { sending = null; });
    return sending;
  }
  const quietlyOr = async (act) => { let ok = false; await quietly(async () => { await act(); ok = true; }); if (!ok) throw new Error("not sent"); };
  const there = () => state && AIM.every(([name], i) => Math.abs(state[i] - wanted[name]) < 1e-3);
  async function shoot() {
    const no = why();
    if (no) return failed(new Error(`no throw: ${no}`));
    if (!there()) {
      await aim();
      // Aim and throw are different topics: the launcher says when it has turned.
      for (let i = 0; i < 40 && !there(); i++) await new Promise((done) => setTimeout(done, 50));
      if (!there()) return failed(new Error("no throw: the launcher has not taken this aim"));
    }
    quietly(() => link.publish(`${space}/shoot_value`, FLOAT, { data: wanted.speed }));
  }
  /** Why nothing can be thrown, or nothing. */
  function why() {
    if (space === null) return "no arm and no launcher on the graph";
    if (!thrower) return "no launcher on the graph: start `shooter run`";
    if (link.welcome && !link.welcome.operator) return "read-only";
    if (link.state !== "live") return "no connection";
    return null;
  }
  page.on(window, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches?.("input:not([type=range]), select, textarea")) return;
    if (event.key === " ") { event.preventDefault(); document.getElementById("stop").click(); }
    if (event.key === "t" && !document.querySelector("dialog[open]")) shoot();
  });

  const viewCard = h("div.card", view.element, plan);
  put(main, h("div.row.end", h("div", h("h1", "Arm"), about), slot),
    h("div.wide", viewCard, h("div",
      h("div.card", h("h2", "Aim and throw"), AIM.map(slider), slider(SPEED), locked, h("div.row", fire, home)),
      h("div.card", h("h2", "Last throw"), last, h("p.dim", "Hand: ", hand.element)))),
    h("div.card", h("div.row.end", h("h2", "Throws"), score), table), plots,
    h("p.dim", h("kbd", "T"), " throws, ", h("kbd", "Space"), " and ", h("kbd", "Esc"), " stop everything. The view turns by dragging or arrow keys, and zooms by wheel, two fingers, ", h("kbd", "+"), " and ", h("kbd", "−"), "."));

  page.on(link, "graph", () => {
    const of = (end, side) => link.graph.topics.find((t) => t.name.endsWith(end) && t[side].some((s) => s.node !== link.graph.own))?.name.slice(0, -end.length);
    const found = of("/arm_ang_angv", "publishers") ?? of("/shoot_value", "subscriptions") ?? null;
    thrower = found !== null && (link.graph.topics.find((t) => t.name === `${found}/shoot_value`)?.subscriptions ?? []).some((s) => s.node !== link.graph.own);
    if (found !== space) follow(found);
    draw();
  });
  page.ends(() => ends.forEach((end) => end()));
  page.subscribe("/tf", "tf2_msgs/msg/TFMessage", (m) => { frames.hear(m, robot); stir(); }, 50);
  page.subscribe("/tf_static", "tf2_msgs/msg/TFMessage", (m) => { frames.hear(m); stir(); }, 0);

  function follow(found) {
    // A moment without anybody is no other arm: what was there stays, and grows old.
    if (found === null) { space = null; return; }
    ends.splice(0).forEach((end) => end());
    if (space !== found) { throws = []; verdicts = []; seen.clear(); markers.clear(); state = null; catches = null; }
    space = found;
    fill(slot, page.operator(space === "" ? "arm" : `${space}/arm`));
    const hear = (topic, type, act, period, keep) => ends.push(link.subscribe(`${space}/${topic}`, type, (m, info) => m && act(m, info), period, keep));
    // The console keeps the last ones: whoever reloads or comes later sees the same.
    const once = (act) => (m, info) => { const key = `${info.from}:${info.sequence}`; if (!seen.has(key)) { seen.add(key); if (seen.size > 10 * KEPT) seen.delete(seen.values().next().value); act(m, info); } };
    hear("robot_description", TEXT, (m) => describe(m.data), 0);
    hear("joint_states", "sensor_msgs/msg/JointState", (m, info) => {
      if (!robot?.hear(frames, m)) return;
      stir();
      const now = JOINTS.map((name) => m.position[m.name.indexOf(name)]);
      if (now.every(Number.isFinite)) { fresh.touch(info.t); angles.add(now, info.t); speeds.add(rates, info.t); }
    }, 50);
    hear("catch_markers", "visualization_msgs/msg/MarkerArray", (m) => { markers.hear(m); view.touch(); }, 0);
    hear("shooter_state", ARRAY, ({ data }) => { if (data.length >= 4 && finite(data.slice(0, 4))) take(data.slice(0, 4)); }, 0);
    // Only told while it moves, and once more when it stands.
    hear("arm_ang_angv", ARRAY, ({ data }, info) => { rates = data.slice(6, 12); speeds.add(rates, info.t); }, 40);
    hear("hand_close", "robot3_18c1054/msg/HandClose", (m, info) => { hand.show(m.close ? "closed" : "open", info.t); hand.limit = Infinity; }, 0);
    hear("ball_initial_state", ARRAY, once(({ data }, info) => { if (data.length >= 7 && finite(data.slice(0, 7))) thrown(data.map(Number), info.t); }), 0, KEPT);
    hear("catch_verdict", TEXT, once((m, info) => { try { judged(JSON.parse(m.data), info.t); } catch { /* not one of ours */ } }), 0, KEPT);
    hear("target_arm_state", ARRAY, ({ data }, info) => { if (data.length >= 24 && finite(data)) { catches = { ...catches, pose: { p: model(data.slice(0, 3)), q: modelTurn(data.slice(3, 12)) }, place: data.slice(0, 3), t: info.t }; planned(); } }, 0, 1);
    hear("hand_close_reserve", FLOAT, ({ data }, info) => { catches = { ...catches, at: data, t: info.t }; planned(); }, 0, 1);
  }
  function describe(text) {
    try {
      const found = new Robot(text);
      // Other robots may share the topic: this one has a ball and a launcher.
      if (found.byName.has("ball_x") || !robot) { robot = found; robot.enter(frames); view.touch(); }
    } catch (error) { failed(error); }
  }
  function take(data) {
    state = data;
    if (!busy() && !sending) { AIM.forEach(([name], i) => { wanted[name] = Math.round(data[i] * 1e4) / 1e4; }); show(); }
    view.touch();
  }
  function show() { for (const [name, { range, number }] of Object.entries(inputs)) { range.value = wanted[name]; if (document.activeElement !== number) number.value = wanted[name]; } }
  function planned() { plan.textContent = catches?.place ? `Planned catch at ${catches.place.map((v) => fixed(v, 3)).join(", ")} m${catches.at ? `, t = ${fixed(catches.at, 3)} s` : ""}` : ""; view.touch(); }

  function thrown(data, t) {
    throws.push({ released: Math.fround(data[0]), position: data.slice(1, 4), velocity: data.slice(4, 7), t });
    throws = throws.slice(-KEPT);
    chosen = null;
    match();
  }
  function judged(verdict, t) { verdicts.push({ ...verdict, t, released: verdict.released === null ? null : Math.fround(verdict.released) }); verdicts = verdicts.slice(-KEPT); match(); }
  /** Which verdict is on which ball: release times travel as single floats. Either may come first. */
  function match() {
    for (const v of verdicts) {
      if (v.used) continue;
      const ball = throws.findLast((b) => b.released === v.released && !b.verdict);
      if (ball) { ball.verdict = v; v.used = true; }
      else if (v.released === null) { throws.push({ released: null, t: v.t, verdict: v }); v.used = true; }
    }
    history();
    view.touch();
  }
  const word = (v) => (!v ? "in the air" : v.caught === null ? "no verdict" : v.caught ? "caught" : v.attempted ? "missed" : "not attempted");
  const place = (v) => (v?.relative_position ? v.relative_position.map((x) => `${x >= 0 ? "+" : "−"}${Math.abs(x * 1e3).toFixed(1)}`).join(" ") : "");
  const heading = (b) => Math.atan2(b.velocity[0], b.velocity[2]), elevation = (b) => Math.atan2(b.velocity[1], Math.hypot(b.velocity[0], b.velocity[2]));

  function history() {
    const newest = throws.at(-1), judgedOnes = throws.filter((b) => b.verdict), caught = judgedOnes.filter((b) => b.verdict.caught);
    score.textContent = judgedOnes.length ? `${caught.length} of ${judgedOnes.length} caught` : "";
    const v = newest?.verdict;
    fill(last, !newest ? h("span.dim", "Nothing has been thrown since this console began to listen.") : [
      h(`b.big.${COLOURS[word(v)] ?? "dim"}`, { "data-verdict": word(v) }, word(v)),
      v?.relative_position ? h("div", "ball seen from the hand: ", h("span.num", place(v)), " mm") : null,
      v?.reason ? h("div", v.reason) : null,
    ]);
    fill(table, throws.length ? h("table.stack.num.throws", h("thead", h("tr", ["", "time", "speed", "from x, z", "φ, ψ", "verdict", "seen from the hand, mm", "reason"].map((t) => h("th", t)))), h("tbody", throws.slice(-SHOWN).reverse().map((b) => h("tr", { "data-throw": b.released },
      h("td", b.velocity ? h("button.small", { title: "Show this flight", "aria-label": "Show this flight", onclick: () => { chosen = chosen === b ? null : b; history(); view.touch(); } }, chosen === b ? "●" : "○") : ""),
      h("td", new Date(b.t).toLocaleTimeString()),
      h("td", b.velocity ? `${fixed(norm(b.velocity), 2)} m/s` : ""), h("td", b.position ? `${fixed(b.position[0], 2)}, ${fixed(b.position[2], 2)}` : ""),
      h("td", b.velocity ? `${fixed(heading(b), 2)}, ${fixed(elevation(b), 2)}` : ""),
      h("td", h(`b.${COLOURS[word(b.verdict)] ?? "dim"}`, word(b.verdict))), h("td", place(b.verdict)), h("td", b.verdict?.reason ?? ""))))) : h("span.dim", "No throws yet."));
  }

  /** The flight down to the floor. */
  function flight(position, velocity) {
    const [, y, ] = position, v = velocity[1], end = (v + Math.sqrt(Math.max(0, v * v + 2 * GRAVITY * Math.max(0, y)))) / GRAVITY || 0.3;
    return Array.from({ length: 41 }, (_, k) => { const t = (end * k) / 40; return model([position[0] + velocity[0] * t, y + v * t - (GRAVITY * t * t) / 2, position[2] + velocity[2] * t]); });
  }
  function shapes(now) {
    const list = robot ? robot.shapes(frames, now) : [];
    // What is latched may have been said before we listened; then the history and the model tell the same.
    const shown = chosen ?? throws.findLast((b) => b.velocity);
    list.push(...markers.shapes(frames, now, (ns) => (shown && ns === "trajectory") || (chosen && ns === "verdict")));
    if (robot && !markers.find("reach") && robot.byName.has("joint_1")) {
      const chain = robot.chain("hand_centre"), from = chain.findIndex((j) => j.name === "joint_1");
      if (from >= 0) list.push({ kind: "sphere", pose: frames.pose(chain[from].child, now), radius: chain.slice(from + 1).reduce((sum, j) => sum + norm(j.origin.p), 0), rgba: [0.1, 0.3, 0.8, 0.08] });
    }
    if (shown) {
      const points = flight(shown.position, shown.velocity);
      list.push({ kind: "line", points, rgba: chosen ? [0.85, 0.3, 0.75, 1] : [0.85, 0.65, 0.1, 0.95], width: 2.5, through: true });
      if (chosen?.verdict) list.push({ kind: "text", p: points[20], text: word(chosen.verdict), rgba: chosen.verdict.caught ? [0.1, 0.6, 0.2, 1] : [0.8, 0.2, 0.1, 1] });
    }
    if (catches?.pose) list.push(...wires(catches.pose, HAND, [0.1, 0.65, 0.35, 1]), ...axes(catches.pose, 0.08), { kind: "text", p: [catches.pose.p[0], catches.pose.p[1], catches.pose.p[2] - 0.13], text: "planned catch", rgba: [0.1, 0.55, 0.3, 1] });
    if (thrower) {
      const { x, z, phi, psi, speed } = wanted;
      list.push({ kind: "line", points: flight([x, 0, z], [speed * Math.sin(phi) * Math.cos(psi), speed * Math.sin(psi), speed * Math.cos(phi) * Math.cos(psi)]), rgba: [0.45, 0.5, 0.55, 0.9], width: 1.5, dash: true });
    }
    return list;
  }

  function draw() {
    about.textContent = space === null ? "No arm is on the graph: start `sim-arm run` and `shooter run`, or `rosless up`." : [space, robot && `model ${robot.name}`].filter(Boolean).join(", ");
    const no = why();
    locked.textContent = no ? `Locked: ${no}.` : "";
    fire.disabled = home.disabled = Boolean(no);
    for (const { range, number } of Object.values(inputs)) range.disabled = number.disabled = Boolean(no);
    const old = Date.now() - frames.heard, stale = link.state !== "live" || old > 1500;
    view.say(link.state !== "live" ? "no connection" : !frames.heard ? "nothing heard of the arm yet" : stale ? `nothing heard for ${(old / 1e3).toFixed(0)} s` : "", stale);
  }
  page.every(500, draw);
  page.on(link, "state", draw);
  page.on(link, "welcome", draw);
  link.followGraph();
  if (link.graph) link.dispatchEvent(new Event("graph"));
  show(); history(); draw();
}
