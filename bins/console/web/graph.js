// Everything on the graph: nodes, topics, services, actions, parameters, lifecycle, log.
import { link } from "/link.js";
import { h, fill, put, ages, calmly, value, quietly, failed, bytes, fixed } from "/ui.js";
import { Plot } from "/plot.js";
import { form } from "/form.js";

const KINDS = ["nodes", "topics", "services", "actions", "log", "doctor"];
const LEVELS = { 10: ["DEBUG", "faint"], 20: ["INFO", ""], 30: ["WARN", "warn"], 40: ["ERROR", "bad"], 50: ["FATAL", "bad"] };

export default function (main, page) {
  const [kind, ...rest] = decodeURIComponent(location.hash.slice(1)).split(":");
  const state = { kind: KINDS.includes(kind) ? kind : "topics", name: rest.join(":"), filter: "" };
  const list = h("ul.list"), detail = h("div"), tabs = h("div.tabs"), count = h("span.dim");
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the list", oninput: () => { state.filter = filter.value; drawList(); } });
  const hidden = h("input", { type: "checkbox", onchange: () => drawList() });
  const measure = h("input", { type: "checkbox", onchange: () => { drawList(); } });
  let inner = null;
  put(main, h("div.split", h("div.card", tabs, h("div.row", filter.wrapped = h("span.grow", filter), count), h("div.row.dim", h("label.row", hidden, "hidden"), h("label.row", measure, "rates")), list), detail));
  filter.style.width = "100%";

  function go(kind, name) {
    state.kind = kind; state.name = name ?? "";
    history.replaceState(null, "", `#${encodeURIComponent(`${kind}:${state.name}`)}`);
    drawTabs(); drawList(); drawDetail();
  }
  function drawTabs() {
    fill(tabs, KINDS.map((k) => h("button.small", { className: k === state.kind ? "small on" : "small", onclick: () => go(k) }, k[0].toUpperCase() + k.slice(1))));
  }
  const isHidden = (name) => name.split("/").some((part) => part.startsWith("_"));
  const drawList = calmly(() => {
    const graph = link.graph ?? { nodes: [], topics: [], services: [], actions: [] };
    const own = graph.own;
    const all = state.kind === "log" ? graph.nodes : graph[state.kind] ?? [];
    const words = state.filter.toLowerCase();
    const shown = all.filter((x) => (hidden.checked || !isHidden(x.name)) && x.name !== own && `${x.name} ${x.types ?? ""}`.toLowerCase().includes(words));
    count.textContent = `${shown.length}`;
    fill(list, shown.map((x) => {
      const rate = link.rates[x.name];
      const small = state.kind === "topics" && rate ? `${fixed(rate.hz, 1)} Hz · ${bytes(rate.bytes)}/s` : (x.types ?? []).join(", ");
      return h("li", h("button", { "aria-current": String(x.name === state.name), onclick: () => go(state.kind, x.name) }, x.name, small ? h("small", small) : null));
    }));
    const wanted = measure.checked && state.kind === "topics" ? shown.filter((t) => t.publishers.length).slice(0, 200).map((t) => [t.name, t.types[0]]) : [];
    if (JSON.stringify(wanted) !== drawList.measured) { drawList.measured = JSON.stringify(wanted); link.measure(wanted); }
  });
  function drawDetail() {
    inner?.end();
    inner = new page.constructor();
    fill(detail);
    const graph = link.graph;
    if (state.kind === "log") return log(detail, inner, state);
    if (state.kind === "doctor") return doctor(detail);
    const found = graph?.[state.kind].find((x) => x.name === state.name);
    if (!found) return put(detail, h("div.card.dim", state.name ? `${state.name} is not on the graph.` : `Choose one of the ${state.kind}.`));
    inner.update = ({ nodes: node, topics: topic, services: service, actions: action })[state.kind](detail, inner, found, go);
  }
  page.ends(() => { inner?.end(); link.measure([]); });
  let names = "";
  page.on(link, "graph", () => {
    drawList();
    const now = JSON.stringify(link.graph[state.kind === "log" ? "nodes" : state.kind]?.find((x) => x.name === state.name) ?? null);
    if (now !== names) { names = now; if (state.kind !== "log" && state.kind !== "doctor") { const found = JSON.parse(now); if (!found || !inner?.update?.(found)) drawDetail(); } }
  });
  page.on(link, "rates", drawList);
  link.followGraph();
  drawTabs(); drawList(); drawDetail();
}

const ref = (go, kind, name) => h("div", h("a", { href: `#${encodeURIComponent(`${kind}:${name}`)}`, onclick: (e) => { e.preventDefault(); e.stopPropagation(); go(kind, name); } }, name));

function ends(title, list, go) {
  return h("div", h("h3", `${title} (${list.length})`), list.map((e) => h("div", ref(go, "nodes", e.node), h("span.age.mono", e.qos))));
}

function topic(box, page, found, go) {
  const type = found.types[0], both = h("div.grid"), list = (t) => fill(both, ends("Publishers", t.publishers, go), ends("Subscriptions", t.subscriptions, go));
  put(box, h("div.card", h("h1", found.name), h("p.dim.mono", found.types.join(", ")), both));
  list(found);
  const rate = value(3000), size = value(3000), text = h("pre", "nothing heard yet"), fresh = ages(text, 5000);
  const plot = new Plot({ seconds: 20, label: "numeric fields" }), chosen = new Set(JSON.parse(sessionStorage.getItem("plot:" + found.name) ?? "[]"));
  const fields = h("div.row");
  put(box, h("div.card", h("div.row.end", h("h2", "Echo"), h("span", rate.element, " ", size.element)), text, h("h3", "Plot a field"), fields, plot.element));
  const counted = [];
  page.subscribe(found.name, type, (v, m) => {
    counted.push(m.t);
    fresh.touch(m.t);
    size.show(bytes(m.size), m.t);
    text.textContent = v === undefined ? m.note : yaml(v);
    const numbers = numeric(v);
    if (fields.dataset.names !== Object.keys(numbers).join()) {
      fields.dataset.names = Object.keys(numbers).join();
      fill(fields, Object.keys(numbers).slice(0, 60).map((name) => {
        const button = h("button.small", { onclick: () => { chosen.has(name) ? chosen.delete(name) : chosen.add(name); button.classList.toggle("on", chosen.has(name)); plot.points = []; sessionStorage.setItem("plot:" + found.name, JSON.stringify([...chosen])); } }, name);
        button.classList.toggle("on", chosen.has(name));
        return button;
      }));
    }
    if (chosen.size) { plot.names = [...chosen]; plot.add(plot.names.map((name) => numbers[name]), m.t); }
  }, 50);
  link.measure([[found.name, type]]);
  page.on(link, "rates", () => { const r = link.rates[found.name]; if (r) rate.show(`${fixed(r.hz, 1)} Hz, ${bytes(r.bytes)}/s`); });
  put(box, ask("Publish", type, (v) => link.publish(found.name, type, v).then((a) => `published; ${a.listeners} listen`)));
  // Others come and go: what is being written in the form stays.
  return (now) => now.types[0] === type && Boolean(list(now));
}

function service(box, page, found, go) {
  const type = found.types[0];
  put(box, h("div.card", h("h1", found.name), h("p.dim.mono", found.types.join(", ")), h("h3", "Served by"), found.nodes.map((n) => ref(go, "nodes", n))));
  put(box, ask("Call", `${type}_Request`, (v) => link.call(found.name, type, v).then(yaml)));
}

function action(box, page, found) {
  const type = found.types[0];
  put(box, h("div.card", h("h1", found.name), h("p.dim.mono", type)));
  const said = h("pre", ""), cancel = h("button", { disabled: true }, "Cancel");
  let end = null;
  cancel.onclick = () => end?.().catch(failed);
  const status = { 4: "succeeded", 5: "canceled", 6: "aborted" };
  put(box, ask("Send goal", `${type}_Goal`, async (v) => {
    said.textContent = "";
    end = await link.goal(found.name, type, v, (what, payload, code) => {
      said.textContent += `${what}${code ? ` (${status[code] ?? code})` : ""}${payload ? `\n${typeof payload === "string" ? payload : yaml(payload)}` : ""}\n`;
      cancel.disabled = what === "ended" || what === "failed" || what === "rejected";
    });
    return "sent";
  }), h("div.card", h("div.row.end", h("h2", "Goal"), cancel), said));
}

/** A card with a form of a type and a button. */
function ask(title, type, act) {
  const body = h("div.dim", "…"), answer = h("pre"), card = h("details.card", h("summary", h("b", title), " ", h("span.dim.mono", type)), body, answer);
  answer.hidden = true;
  card.addEventListener("toggle", async () => {
    if (!card.open || card.dataset.made) return;
    card.dataset.made = "1";
    try {
      const made = form(await link.ask("define", { type }));
      const go = h("button.primary", { onclick: () => quietly(async () => { const v = made.read(); answer.hidden = false; answer.textContent = "…"; try { answer.textContent = await act(v); } catch (e) { answer.textContent = e.message; throw e; } }) }, title);
      fill(body, made.element, h("div.row", go));
      body.className = "";
    } catch (error) { fill(body, error.message); }
  }, false);
  return card;
}

function node(box, page, found, go) {
  const lists = h("div.grid"), manages = (n) => n.serves.includes(`${n.name}/change_state`), hasParameters = (n) => n.serves.includes(`${n.name}/list_parameters`);
  const list = (n) => fill(lists,
    h("div", h("h3", `Publishes (${n.publishes.length})`), n.publishes.map((t) => ref(go, "topics", t))),
    h("div", h("h3", `Subscribes (${n.subscribes.length})`), n.subscribes.map((t) => ref(go, "topics", t))),
    h("div", h("h3", `Serves (${n.serves.length})`), n.serves.map((s) => ref(go, "services", s))));
  put(box, h("div.card", h("h1", found.name), lists));
  list(found);
  if (manages(found)) lifecycle(box, page, found.name);
  if (hasParameters(found)) parameters(box, page, found.name);
  return (now) => manages(now) === manages(found) && hasParameters(now) === hasParameters(found) && Boolean(list(now));
}

function lifecycle(box, page, name) {
  const state = value(4000), buttons = h("div.row");
  put(box, h("div.card", h("div.row.end", h("h2", "Lifecycle"), page.operator(system(name))), h("p", "State: ", state.element), buttons));
  const look = async () => {
    try {
      const now = await link.call(`${name}/get_state`, "lifecycle_msgs/srv/GetState", {}, 3);
      const then = await link.call(`${name}/get_available_transitions`, "lifecycle_msgs/srv/GetAvailableTransitions", {}, 3);
      state.show(now.current_state.label);
      fill(buttons, then.available_transitions.map(({ transition, goal_state }) => h("button", { title: `leads to ${goal_state.label}`, onclick: () => quietly(async () => {
        const done = await link.call(`${name}/change_state`, "lifecycle_msgs/srv/ChangeState", { transition: { id: transition.id } }, 30);
        if (!done.success) throw new Error(`${transition.label} was refused or failed`);
      }).then(look) }, transition.label)));
    } catch { /* its age shows it */ }
  };
  look(); page.every(2000, look);
}

const system = (node) => ({ sequence_controller: "mechanism", dummy_mechanism: "mechanism", motion_primitive_controller: "motion", arm_controller: "arm", ball_initial_to_arm_target: "arm", visualizer: "arm", shooter_controller_simple: "arm", mocap_controller: "capture", device_controller: "capture", mocap4r2_controller: "capture", session_recorder: "capture" })[node.slice(1)] ?? node;

function parameters(box, page, name) {
  const body = h("div.dim", "…");
  put(box, h("div.card", h("div.row.end", h("h2", "Parameters"), h("span.row", page.operator(system(name)), h("button.small", { onclick: () => load() }, "Read again"))), body));
  async function load() {
    try {
      const all = await link.ask("parameters", { node: name });
      body.className = "";
      // Of no interest most of the time, and many.
      const isQos = (p) => p.name.startsWith("qos_overrides."), qos = all.filter(isQos);
      all.sort((a, b) => a.name.localeCompare(b.name));
      fill(body, all.filter((p) => !isQos(p)).map(row), qos.length ? h("details", h("summary", `quality of service (${qos.length})`), qos.map(row)) : null);
    } catch (error) { fill(body, error.message); }
  }
  function row(p) {
    const list = Array.isArray(p.value), now = () => JSON.stringify(p.value);
    const input = p.type === 1 ? h("input", { type: "checkbox", checked: p.value }) : h("input", { value: p.type === 4 ? p.value : now(), type: p.type === 2 || p.type === 3 ? "number" : "text", step: "any", min: p.range?.[0], max: p.range?.[1], "aria-label": p.name });
    input.disabled = p.read_only || p.type === 0;
    const set = () => quietly(async () => {
      const v = p.type === 1 ? input.checked : p.type === 4 ? input.value : list ? JSON.parse(input.value) : Number(input.value);
      if (JSON.stringify(v) === now()) return;
      try { await link.ask("set_parameter", { node: name, name: p.name, value: v, type: p.type }); p.value = v; mark.textContent = "set"; }
      catch (error) { mark.textContent = ""; p.type === 1 ? (input.checked = p.value) : (input.value = p.type === 4 ? p.value : now()); throw error; }
    });
    const mark = h("span.good");
    input.addEventListener("change", set);
    const range = p.range ? `${p.range[0]} … ${p.range[1]}${p.range[2] ? ` step ${p.range[2]}` : ""}` : "";
    return h("label.field", h("span.mono", p.name), h("span", h("span.row", input, mark, p.read_only ? h("span.pill", "read-only") : null), h("span.age", [p.description, range, p.constraints].filter(Boolean).join(" · "))));
  }
  load();
}

/** What `rosless doctor` says of the console's machine and of the graph. */
function doctor(box) {
  const body = h("div.dim", "looks …"), again = h("button.small", { onclick: () => look() }, "Look again");
  put(box, h("div.card", h("div.row.end", h("h2", "Doctor"), again), h("p.dim", "The console's machine and the graph as it sees it."), body));
  const MARK = { OK: "good", WARN: "warn", FAIL: "bad" };
  async function look() {
    again.disabled = true;
    try {
      const found = await link.ask("doctor"), count = (level) => found.filter((f) => f.level === level).length;
      body.className = "";
      fill(body, h("p", h("b", count("FAIL") ? `${count("FAIL")} checks failed` : count("WARN") ? `Nothing failed; ${count("WARN")} warnings` : "All is well.")),
        h("div.scroll", h("table", found.map((f) => h("tr", { "data-check": f.check }, h("td", h(`span.pill.${MARK[f.level]}`, f.level)), h("td", h("b", f.check)), h("td", f.found, f.remedy ? h("div.dim", `→ ${f.remedy}`) : null))))));
    } catch (error) { fill(body, error.message); }
    again.disabled = false;
  }
  look();
}

function log(box, page, state) {
  const lines = h("div.log"), words = h("input", { type: "search", placeholder: "Words or a node", "aria-label": "Filter the log", oninput: () => draw() });
  const level = h("select", { "aria-label": "Least level", onchange: () => draw() }, Object.entries(LEVELS).map(([n, [name]]) => h("option", { value: n, selected: n === "20" }, name)));
  const all = [];
  put(box, h("div.card", h("div.row.end", h("h2", "Log (/rosout)"), h("span.row", level, words)), lines));
  // What publishers said before comes from one after the other.
  const time = (m) => m.stamp.sec + m.stamp.nanosec / 1e9;
  const fits = (m) => m.level >= Number(level.value) && `${m.name} ${m.msg}`.toLowerCase().includes(words.value.toLowerCase()) && (!state.name || m.name === state.name.slice(1).replaceAll("/", "."));
  const line = (m) => { const [name, mark] = LEVELS[m.level] ?? [m.level, ""]; const at = new Date(m.stamp.sec * 1000 + m.stamp.nanosec / 1e6); return h(`div${mark && "." + mark}`, `${at.toISOString().slice(11, 23)} ${name} [${m.name}] ${m.msg}`); };
  const draw = () => fill(lines, all.filter(fits).slice(-400).reverse().map(line));
  page.subscribe("/rosout", "rcl_interfaces/msg/Log", (m) => { if (!m) return; const late = all.length && time(m) < time(all.at(-1)); all.push(m); if (all.length > 5000) all.shift(); if (late) { all.sort((a, b) => time(a) - time(b)); draw(); } else if (fits(m)) { lines.prepend(line(m)); if (lines.childElementCount > 400) lines.lastChild.remove(); } }, 0);
}

/** Numbers of a message by their paths. */
export function numeric(v, path = "", into = {}) {
  if (typeof v === "number" || typeof v === "boolean") into[path] = Number(v);
  else if (Array.isArray(v)) v.slice(0, 32).forEach((x, i) => numeric(x, `${path}[${i}]`, into));
  else if (v && typeof v === "object") for (const [k, x] of Object.entries(v)) numeric(x, path ? `${path}.${k}` : k, into);
  return into;
}

export function yaml(v, indent = "") {
  if (Array.isArray(v)) return v.length === 0 ? "[]" : v.every((x) => typeof x !== "object") ? `[${v.slice(0, 128).join(", ")}${v.length > 128 ? ", …" : ""}]` : v.slice(0, 64).map((x) => `\n${indent}- ${yaml(x, indent + "  ").trimStart()}`).join("");
  if (v && typeof v === "object") return Object.entries(v).map(([k, x], i) => `${i || indent ? `${i ? "\n" : "\n"}${indent}` : ""}${k}: ${yaml(x, indent + "  ")}`).join("").replace(/^\n/, indent ? "\n" : "");
  return String(v);
}
