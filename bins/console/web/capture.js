// Systems that are started and stopped together: who is there, in which state, how their clocks are, what flows.
import { link } from "/link.js";
import { h, fill, put, ages, quietly, notice, duration, fixed } from "/ui.js";
import { Plot } from "/plot.js";

const TYPE = "rosless_msgs/msg/ControllerStatus", COMMAND = "rosless_msgs/srv/SessionCommand";
const SYSTEM = "System", ALWAYS = ["tf", "tf_static"];

export default function (main, page) {
  const rows = new Map(), chosen = new Map(JSON.parse(sessionStorage.getItem("capture") ?? "[]"));
  const table = h("div"), results = h("div"), about = h("p.dim"), button = h("button.primary", { disabled: true }, "Start"), fresh = ages(table, 1e9);
  const session = h("input", { value: localStorage.getItem("session") ?? "", placeholder: "auto: the next number", "aria-label": "Session" });
  const atomic = h("input", { type: "checkbox" }), restart = h("input", { type: "checkbox" });
  const since = h("span.num");
  let controller = null, end = null, busy = false;
  put(main,
    h("div.row.end", h("div", h("h1", "Capture"), about), page.operator("capture")),
    h("div.card", h("div.row", h("label.row", "Session ", session), h("label.row", { title: "Nobody is started unless everybody is ready" }, atomic, "all or none"), h("label.row", { title: "Who is active is stopped first" }, restart, "restart"), h("span.grow"), since, button)),
    h("div.card", h("div.row.end", h("h2", "Systems"), h("span.row",
      h("button.small", { onclick: () => all(true) }, "All"), h("button.small", { onclick: () => all(false) }, "None"))), table),
    h("div.card", h("h2", "Last command"), results));
  fill(results, h("span.dim", "Nothing was commanded from this page."));

  function all(on) { for (const row of rows.values()) choose(row.name, { active: on }); draw(); }
  const chosenOf = (name) => chosen.get(name) ?? { active: true, record: true };
  function choose(name, change) { chosen.set(name, { ...chosenOf(name), ...change }); sessionStorage.setItem("capture", JSON.stringify([...chosen])); }

  page.on(link, "graph", () => {
    const found = link.topicsOf(TYPE).map((t) => t.name.replace(/\/status$/, "")).sort()[0] ?? null;
    if (found === controller) return;
    controller = found;
    end?.();
    end = controller && link.subscribe(`${controller}/status`, TYPE, (status, m) => { heard(status, m); }, 50);
    draw();
  });
  page.ends(() => end?.());
  link.followGraph();
  if (link.graph) link.dispatchEvent(new Event("graph"));

  function heard(status, m) {
    fresh.touch(m.t);
    for (const row of rows.values()) row.seen = false;
    for (const s of status.systems) {
      const row = rows.get(s.name) ?? { name: s.name, plot: new Plot({ seconds: 120, unit: " ms", names: ["clock offset ± uncertainty"], label: `clock of ${s.name}` }), open: false };
      Object.assign(row, { s, seen: true });
      rows.set(s.name, row);
      if (Number.isFinite(s.clock_offset)) row.plot.add([s.clock_offset * 1e3], Date.now(), (s.clock_uncertainty || 0) * 1e3);
    }
    for (const [name, row] of rows) if (!row.seen) rows.delete(name);
    draw();
  }
  // Offsets come with acknowledgements; in between the line goes on at the last one.
  page.every(1000, () => { for (const { s, plot } of rows.values()) if (Number.isFinite(s.clock_offset)) plot.add([s.clock_offset * 1e3], Date.now(), (s.clock_uncertainty || 0) * 1e3); drawSince(); });
  page.on(link, "rates", () => { for (const cell of table.querySelectorAll("[data-topic]")) cell.textContent = rate(cell.dataset.topic); });

  const running = () => [...rows.values()].filter((r) => r.s.status === "ACTIVE");
  function drawSince() {
    const first = Math.min(...running().map((r) => r.s.since.sec + r.s.since.nanosec / 1e9).filter((t) => t > 0));
    since.textContent = Number.isFinite(first) ? `elapsed ${(Date.now() / 1e3 - first).toFixed(1)} secs` : "";
  }
  const topicName = (row, topic) => { const names = (link.graph?.topics ?? []).map((t) => t.name); const ns = row.name.replace(/\/[^/]*$/, ""); return [topic, `${ns}/${topic}`, `${row.name}/${topic}`, `/${topic}`].find((n) => names.includes(n)); };
  const rate = (name) => { const r = link.rates[name]; return r ? `${fixed(r.hz, 1)} Hz` : "no data"; };

  function problem(s) {
    if (!s.present) return ["has left", "bad"];
    if (s.ambiguous) return ["two systems of this name", "bad"];
    if (s.unresponsive) return ["does not answer", "bad"];
    if (!s.announced) return ["not configured", "warn"];
    if (!s.reachable) return ["does not listen", "warn"];
    return null;
  }
  const PILL = { ACTIVE: "good", READY: "", ERROR: "bad", "NOT READY": "bad", "NOT YET AVAILABLE": "warn", UNKNOWN: "warn" };

  function draw() {
    about.textContent = controller ? `through ${controller}` : "No mocap-controller is on the graph: start `mocap-controller run`, or `rosless up`.";
    const measured = [];
    const body = [];
    for (const row of [...rows.values()].sort((a, b) => a.name.localeCompare(b.name))) {
      const { s, name } = row, c = chosenOf(name), trouble = problem(s), offset = Number.isFinite(s.clock_offset);
      const level = offset ? (Math.abs(s.clock_offset) - s.clock_uncertainty >= 0.2 ? "bad" : Math.abs(s.clock_offset) - s.clock_uncertainty >= 0.001 ? "warn" : "good") : "faint";
      body.push(h("tr", { "data-system": name },
        h("td", h("input", { type: "checkbox", checked: c.active, "aria-label": `${name} takes part`, onchange: (e) => { choose(name, { active: e.target.checked }); draw(); } })),
        h("td", h("b", name), " ", h("span.age", s.dialects.join(", ")), s.ros_version === 1 ? h("span.pill", "ROS 1") : null),
        h("td", h(`span.pill${PILL[s.status] ? "." + PILL[s.status] : ""}`, s.status), " ", trouble ? h(`span.${trouble[1]}`, trouble[0]) : null),
        h("td", s.session ? h("span", s.session) : h("span.faint", "–")),
        h("td.num", h(`span.${level}`, offset ? `${fixed(s.clock_offset * 1e3, 2)} ± ${fixed(s.clock_uncertainty * 1e3, 2)} ms` : "–")),
        h("td", h("span.row", h("button.small", { onclick: () => { row.open = !row.open; draw(); } }, row.open ? "Less" : "More"), s.status === "ACTIVE" ? h("button.small", { onclick: () => command("stop", [name]) }, "Stop") : null))));
      if (row.open) {
        const topics = s.topics.map((topic) => {
          const full = topicName(row, topic), type = link.graph?.topics.find((t) => t.name === full)?.types[0];
          if (full && type) measured.push([full, type]);
          return h("tr", h("td", full ?? topic), h("td.num", full ? h("span", { "data-topic": full }, rate(full)) : "not published"));
        });
        body.push(h("tr", h("td"), h("td", { colSpan: 5 }, h("div.grid", h("div", h("h3", "Topics"), topics.length ? h("table", topics) : h("span.faint", "announced none")), h("div", h("h3", "Clock, 2 min"), row.plot.element)))));
      }
    }
    fill(table, rows.size ? h("div.scroll", h("table.stack", h("thead", h("tr", ["Active", "System", "State", "Session", "Clock offset", ""].map((t, i) => h(i === 4 ? "th.num" : "th", t)))), h("tbody", body))) : h("span.dim", controller ? "No system has announced itself yet." : ""));
    if (JSON.stringify(measured) !== draw.measured) { draw.measured = JSON.stringify(measured); link.measure(measured); }
    const some = [...rows.values()].filter((r) => chosenOf(r.name).active), active = some.some((r) => r.s.status === "ACTIVE");
    button.textContent = active ? "Stop" : "Start";
    button.disabled = busy || !controller || some.length === 0;
    button.onclick = () => command(active ? "stop" : "start", some.map((r) => r.name));
    drawSince();
  }
  page.ends(() => link.measure([]));

  async function command(what, systems) {
    if (!systems.length) return notice("Nobody is ticked: nothing was sent.");
    busy = true; draw();
    localStorage.setItem("session", session.value);
    const request = { session: session.value || "auto", all: false, systems, expect: [], atomic: atomic.checked, restart: restart.checked, timeout: 0 };
    await quietly(async () => {
      const answer = await link.call(`${controller}/${what}`, COMMAND, request, 60);
      fill(results, h("p", h(`b.${answer.success ? "good" : "bad"}`, `${what}: ${answer.message}`), answer.session ? h("span.dim", ` session ${answer.session}`) : null, h("span.age", ` ${duration(answer.took)}`)),
        h("div.scroll", h("table", answer.systems.map((s) => h("tr", h("td", h("b", s.name)), h("td", h(`span.pill.${s.success ? "good" : "bad"}`, s.outcome)), h("td", s.explanation, s.reason ? h("div.bad", s.reason) : null), h("td.num.dim", Number.isFinite(s.elapsed) ? `elapsed = ${s.elapsed.toFixed(6)} secs` : ""))))));
    });
    busy = false; draw();
  }
  draw();
}
