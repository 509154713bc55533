// Systems that are started, stopped and recorded together: who is there, in which state, how their clocks are, what flows
// and what is written down of it.
import { link } from "/link.js";
import { h, fill, put, ages, calmly, quietly, notice, duration, fixed, bytes } from "/ui.js";
import { Plot } from "/plot.js";
import { takes } from "/takes.js";

const TYPE = "rosless_msgs/msg/ControllerStatus", COMMAND = "rosless_msgs/srv/SessionCommand", RECORDER = "rosless_msgs/msg/RecorderStatus";
const SYSTEM = "System", ALWAYS = ["/tf", "/tf_static"], STRINGS = 9, MEASURED = 100;
// The original's bands: below 1 ms nothing is said, from 200 ms on it is an error.
const BANDS = [[1, "1 ms"], [200, "200 ms"]];

export default function (main, page) {
  const rows = new Map(), chosen = new Map(JSON.parse(sessionStorage.getItem("capture") ?? "[]"));
  const table = h("div"), results = h("div"), about = h("p.dim"), button = h("button.primary", { disabled: true }, "Start"), fresh = ages(table, 1e9);
  const session = h("input", { value: localStorage.getItem("session") ?? "", placeholder: "auto: the next number", "aria-label": "Session" });
  const expected = h("input", { value: localStorage.getItem("expected") ?? "", placeholder: "cam, mill", "aria-label": "Expected systems", oninput: () => { localStorage.setItem("expected", expected.value); draw(); } });
  const atomic = h("input", { type: "checkbox" }), restart = h("input", { type: "checkbox" });
  const since = h("span.num"), missing = h("p.bad"), recording = h("div");
  const recorder = { node: null, end: null, status: null, at: 0, rate: 0, topics: [], excluded: [] };
  let controller = null, end = null, busy = false;
  const list = takes(page, () => recorder.status);
  put(main,
    h("div.row.end", h("div", h("h1", "Capture"), about), page.operator("capture")),
    h("div.card", h("div.row", h("label.row", "Session ", session), h("label.row", { title: "Names with commas: nobody is started unless all of them are there" }, "Expected ", expected),
      h("label.row", { title: "Nobody is started unless everybody is ready" }, atomic, "all or none"), h("label.row", { title: "Who is active is stopped first" }, restart, "restart"), h("span.grow"), since, button), missing),
    h("div.card", h("div.row.end", h("h2", "Systems"), h("span.row",
      h("span.dim", "Active"), h("button.small", { "data-all": "active", onclick: () => all(true) }, "All"), h("button.small", { "data-none": "active", onclick: () => all(false) }, "None"),
      h("span.dim", "Record"), h("button.small", { "data-all": "record", onclick: () => record(everything(), true) }, "All"), h("button.small", { "data-none": "record", onclick: () => record(everything(), false) }, "None"))), table),
    h("div.card", h("h2", "Recorder"), recording),
    h("div.card", h("h2", "Last command"), results),
    list.element);

  function all(on) { for (const row of rows.values()) choose(row.name, on); draw(); }
  const isActive = (name) => chosen.get(name) ?? true;
  function choose(name, on) { chosen.set(name, on); sessionStorage.setItem("capture", JSON.stringify([...chosen])); }

  page.on(link, "graph", () => {
    const named = (type) => link.topicsOf(type).filter((t) => t.publishers.length).map((t) => t.name.replace(/\/status$/, "")).sort()[0] ?? null;
    const found = named(TYPE), tape = named(RECORDER);
    if (found !== controller) {
      controller = found;
      end?.();
      end = controller && link.subscribe(`${controller}/status`, TYPE, heard, 50);
    }
    if (tape !== recorder.node) {
      recorder.node = tape; recorder.status = null;
      recorder.end?.();
      recorder.end = tape && link.subscribe(`${tape}/status`, RECORDER, heardRecorder, 200);
      if (tape) readRecorder();
    }
    draw();
  });
  page.ends(() => { end?.(); recorder.end?.(); });
  page.subscribe("/parameter_events", "rcl_interfaces/msg/ParameterEvent", (m) => { if (m.node === recorder.node) readRecorder(); }, 0);
  link.followGraph();
  if (link.graph) link.dispatchEvent(new Event("graph"));

  function heard(status, m) {
    fresh.touch(m.t);
    for (const row of rows.values()) row.seen = false;
    for (const s of status.systems) {
      const row = rows.get(s.name) ?? { name: s.name, plot: new Plot({ seconds: 120, unit: " ms", names: ["clock offset ± uncertainty"], label: `clock of ${s.name}`, marks: BANDS }), open: false };
      Object.assign(row, { s, seen: true });
      rows.set(s.name, row);
      note(row);
    }
    for (const [name, row] of rows) if (!row.seen) rows.delete(name);
    draw();
  }
  const note = ({ s, plot }) => { if (Number.isFinite(s.clock_offset)) plot.add([s.clock_offset * 1e3], Date.now(), (s.clock_uncertainty || 0) * 1e3); };
  // Offsets come with acknowledgements; in between the line goes on at the last one.
  page.every(1000, () => { for (const row of rows.values()) note(row); drawSince(); drawRecorder(); });
  page.on(link, "rates", () => { for (const cell of table.querySelectorAll("[data-topic]")) cell.textContent = rate(cell.dataset.topic); });
  page.on(link, "session_result", () => drawResult());

  // What is recorded is a parameter of the recorder, so that every browser sees the same ticks.
  async function readRecorder() {
    try {
      const found = await link.ask("parameters", { node: recorder.node });
      const of = (name) => found.find((p) => p.name === name)?.value ?? [];
      recorder.topics = of("topics"); recorder.excluded = of("exclude_topics");
    } catch { /* it is asked again when it says something */ }
    draw();
  }
  function heardRecorder(status, m) {
    const before = recorder.status, seconds = (m.t - recorder.at) / 1e3;
    if (before && status.bytes >= before.bytes && before.folder === status.folder && seconds > 0) recorder.rate = status.recording ? (status.bytes - before.bytes) / seconds : 0;
    if (before?.recording !== status.recording) { list.load(); readRecorder(); }
    recorder.status = status; recorder.at = m.t;
    drawRecorder();
  }
  const absolute = (name) => (name.startsWith("/") ? name : `/${name}`);
  const isRecorded = (name) => !recorder.excluded.map(absolute).includes(name) && (!ALWAYS.includes(name) || recorder.topics.map(absolute).includes(name));
  const record = (names, on) => quietly(async () => {
    if (!recorder.node) throw new Error("no session-recorder is on the graph");
    const set = (name, value) => link.ask("set_parameter", { node: recorder.node, name, value, type: STRINGS });
    const rest = recorder.excluded.filter((x) => !names.includes(absolute(x)));
    const lacking = names.filter((x) => ALWAYS.includes(x) && !recorder.topics.map(absolute).includes(x));
    if (on && lacking.length) await set("topics", [...recorder.topics, ...lacking]);
    await set("exclude_topics", on ? rest : [...rest, ...names].sort());
    await readRecorder();
  }).then(draw);
  const everything = () => [...rows.values()].flatMap((r) => r.s.topics.map((t) => topicName(r, t))).concat(ALWAYS);

  const running = () => [...rows.values()].filter((r) => r.s.status === "ACTIVE");
  function drawSince() {
    const first = Math.min(...running().map((r) => r.s.since.sec + r.s.since.nanosec / 1e9).filter((t) => t > 0));
    since.textContent = Number.isFinite(first) ? `running for ${duration(Date.now() / 1e3 - first)}` : "";
  }
  const published = (name) => link.graph?.topics.find((t) => t.name === name && t.publishers.length);
  // Announced names are relative to the system's namespace; where only another reading is published, it is that.
  const topicName = (row, topic) => { const ns = row.name.replace(/\/[^/]*$/, ""); const readings = topic.startsWith("/") ? [topic] : [`${ns}/${topic}`, `${row.name}/${topic}`, `/${topic}`]; return readings.find(published) ?? readings[0]; };
  const rate = (name) => { const r = link.rates[name]; return r ? `${fixed(r.hz, 1)} Hz` : "…"; };

  function problem(s) {
    if (!s.present) return ["has left", "bad"];
    if (s.ambiguous) return ["two systems of this name", "bad"];
    if (s.unresponsive) return ["does not answer", "bad"];
    if (!s.announced) return ["not configured", "warn"];
    if (!s.reachable) return ["does not listen", "warn"];
    return null;
  }
  const PILL = { ACTIVE: "good", READY: "", ERROR: "bad", "NOT READY": "bad", "NOT YET AVAILABLE": "warn", UNKNOWN: "warn" };
  const bare = (name) => (name.lastIndexOf("/") === 0 ? name.slice(1) : name);
  const wanted = () => expected.value.split(",").map((x) => x.trim()).filter(Boolean);

  const tick = (key, label, on, act, off = false) => { const box = h("input", { type: "checkbox", checked: on === true, disabled: off, "data-key": key, "aria-label": label, onchange: () => act(box.checked) }); box.indeterminate = on === null; return box; };
  const three = (list) => (list.every(Boolean) ? true : list.some(Boolean) ? null : false);
  const noTape = () => !recorder.node;

  /** A line for each topic below its system. */
  function topicLines(names, measured) {
    return names.map((full) => {
      const there = published(full);
      if (there && measured.length < MEASURED) measured.push([full, there.types[0]]);
      return h("tr.sub", { "data-record": full }, h("td"), h("td", tick(`record:${full}`, `record ${full}`, isRecorded(full), (on) => record([full], on), noTape())), h("td", { colSpan: 3 }, full), h("td.num", { colSpan: 3 }, there ? h("span", { "data-topic": full }, rate(full)) : h("span.faint", "not published")));
    });
  }

  const draw = calmly(() => {
    about.textContent = controller ? `through ${controller}` : "No mocap-controller is on the graph: start `mocap-controller run`, or `rosless up`.";
    const focus = document.activeElement?.dataset?.key, measured = [], body = [];
    for (const row of [...rows.values()].sort((a, b) => a.name.localeCompare(b.name))) {
      const { s, name } = row, trouble = problem(s), offset = Number.isFinite(s.clock_offset), names = s.topics.map((t) => topicName(row, t));
      const level = offset ? (Math.abs(s.clock_offset) - s.clock_uncertainty >= 0.2 ? "bad" : Math.abs(s.clock_offset) - s.clock_uncertainty >= 0.001 ? "warn" : "good") : "faint";
      const failure = link.session?.result.systems.find((x) => x.name === bare(name) && !x.success);
      body.push(h("tr", { "data-system": name },
        h("td", tick(`active:${name}`, `${name} takes part`, isActive(name), (on) => { choose(name, on); draw(); })),
        h("td", tick(`record:${name}`, `record ${name}`, names.length ? three(names.map(isRecorded)) : false, (on) => record(names, on), noTape() || !names.length)),
        h("td", h("b", name), " ", h("span.age", s.dialects.join(", ")), s.ros_version === 1 ? h("span.pill", "ROS 1") : null),
        h("td", h(`span.pill${PILL[s.status] ? "." + PILL[s.status] : ""}`, s.status), " ", trouble ? h(`span.${trouble[1]}`, trouble[0]) : null, failure ? h("div.bad", failure.reason || failure.explanation) : null),
        h("td", s.session ? h("span", s.session) : h("span.faint", "–")),
        h("td.num", { title: "From the stamp of its last acknowledgement to its arrival" }, Number.isFinite(s.last_elapsed) ? `${s.last_elapsed.toFixed(6)} secs` : h("span.faint", "–")),
        h("td.num", h(`span.${level}`, offset ? `${fixed(s.clock_offset * 1e3, 2)} ± ${fixed(s.clock_uncertainty * 1e3, 2)} ms` : "–"), s.simulated_time ? h("span.pill", "simulated") : null),
        h("td", h("span.row", h("button.small", { "data-key": `clock:${name}`, "aria-expanded": String(row.open), onclick: () => { row.open = !row.open; draw(); } }, "Clock"), s.status === "ACTIVE" ? h("button.small", { "data-key": `stop:${name}`, onclick: () => command("stop", [name]) }, "Stop") : null))));
      if (row.open) body.push(h("tr", h("td"), h("td", { colSpan: 7 }, h("h3", "Clock, 2 min"), row.plot.element)));
      body.push(...topicLines(names, measured));
    }
    if (recorder.node) {
      body.push(h("tr", { "data-system": SYSTEM }, h("td"), h("td", tick(`record:${SYSTEM}`, "record tf and tf_static", three(ALWAYS.map(isRecorded)), (on) => record(ALWAYS, on))), h("td", { colSpan: 6 }, h("b", SYSTEM), " ", h("span.age", "of nobody in particular"))));
      body.push(...topicLines(ALWAYS, measured));
    }
    const absent = wanted().filter((x) => ![...rows.values()].some((r) => r.s.present && (r.name === x || bare(r.name) === x)));
    missing.textContent = absent.length && controller ? `Expected and not there: ${absent.join(", ")}. Nobody is started without them.` : "";
    fill(table, rows.size || recorder.node ? h("div.scroll", h("table.stack", h("thead", h("tr", ["Active", "Record", "System", "State", "Session", "Elapsed", "Clock offset", ""].map((t, i) => h(i === 5 || i === 6 ? "th.num" : "th", t)))), h("tbody", body))) : null,
      rows.size ? null : h("span.dim", controller ? "No system has announced itself yet." : ""));
    if (focus) table.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
    if (JSON.stringify(measured) !== draw.measured) { draw.measured = JSON.stringify(measured); link.measure(measured); }
    const some = [...rows.values()].filter((r) => isActive(r.name)), active = some.some((r) => r.s.status === "ACTIVE");
    button.textContent = active ? "Stop" : "Start";
    button.classList.toggle("danger", active);
    button.disabled = busy || !controller || some.length === 0;
    button.onclick = () => command(active ? "stop" : "start", some.map((r) => r.name));
    drawSince(); drawRecorder(); drawResult();
  });
  page.ends(() => link.measure([]));

  function drawRecorder() {
    const s = recorder.status;
    if (!recorder.node) return fill(recording, h("span.dim", "No session-recorder is on the graph, so nothing is written down: start `session-recorder` (docs/recording.md)."));
    if (!s) return fill(recording, h("span.dim", `nothing heard of ${recorder.node} yet`));
    const left = s.disk_free ? `${bytes(s.disk_free)} left on the disk${s.recording && recorder.rate > 0 ? `, enough for ${duration(s.disk_free / recorder.rate)}` : ""}` : "";
    fill(recording, h("div.row", h(`span.pill.${s.failure ? "bad" : s.recording ? "good" : ""}`.replace(/\.$/, ""), s.failure ? "failed" : s.recording ? "recording" : "waits for START"),
      s.recording ? h("span", h("b", s.session), " ", h("span.dim", s.folder)) : null,
      s.recording || s.messages ? h("span.num", `${s.messages} messages of ${s.topics} topics, ${bytes(s.bytes)}, ${bytes(recorder.rate)}/s`) : null,
      s.dropped ? h("span.bad", `${s.dropped} dropped`) : null, h("span.dim.num", left), h("span.age", recorder.node)), s.failure ? h("p.bad", s.failure) : null);
  }

  async function command(what, systems) {
    if (!systems.length) return notice("Nobody is ticked: nothing was sent.");
    busy = true; draw();
    localStorage.setItem("session", session.value);
    const request = { session: session.value || "auto", all: false, systems, expect: what === "start" ? wanted() : [], atomic: atomic.checked, restart: restart.checked, timeout: 0 };
    await quietly(() => link.call(`${controller}/${what}`, COMMAND, request, 60));
    busy = false; draw();
  }
  /** The last command of anybody's: the console remembers it. */
  function drawResult() {
    const last = link.session;
    if (!last) return fill(results, h("span.dim", "Nothing was commanded since the console runs."));
    const a = last.result, what = last.service.replace(/.*\//, "");
    fill(results, h("p", h(`b.${a.success ? "good" : "bad"}`, `${what}: ${a.message}`), a.session ? h("span.dim", ` session ${a.session}`) : null, h("span.age", ` took ${duration(a.took)}, at ${new Date(last.at).toLocaleTimeString()}`)),
      h("div.scroll", h("table", a.systems.map((s) => h("tr", h("td", h("b", s.name)), h("td", h(`span.pill.${s.success ? "good" : "bad"}`, s.outcome)), h("td", s.explanation, s.reason ? h("div.bad", s.reason) : null), h("td.num.dim", Number.isFinite(s.elapsed) ? `elapsed = ${s.elapsed.toFixed(6)} secs` : ""))))));
  }
  draw();
}
