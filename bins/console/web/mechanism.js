// Phases and goals of pedestal, doll and lantern: what runs, what it waits for, why something is locked.
import { link } from "/link.js";
import { h, fill, put, ages, quietly, failed, duration } from "/ui.js";
import { bench } from "/bench.js";

const PHASES = { prepare: 0, deploy: 1, collect: 2, place: 3, stow: 4 }, LEAVE = 255;
const KEYS = { q: ["daiza", "deploy"], w: ["daiza", "collect"], e: ["daiza", "place"], r: ["daiza", "stow"], p: ["hina", "prepare"], a: ["hina", "deploy"], s: ["hina", "collect"], d: ["hina", "place"], f: ["hina", "stow"] };
const NAMES = { daiza: "Pedestal (daiza)", hina: "Doll (hina)" };
const GOALS = {
  daiza: ["STOP", "READY", "EXPAND", "CONTRACT", "CLAMP", "UNCLAMP", "EXPAND_AND_UNCLAMP", "CLAMP_AND_CONTRACT", "EXPAND_AND_PLACE", "EXPAND_AND_PLACE_AND_CONTRACT"],
  hina: ["STOP", "READY", "UP", "DOWN", "POS_CARRY", "POS_TAKE", "POS_PLACE", "GUIDE_EXPAND", "GUIDE_CONTRACT", "LATCH_UNLOCK", "LATCH_UNLOCK_1", "LATCH_UNLOCK_2", "DOWN_AND_TAKE", "UP_AND_CARRY", "UP_AND_PLACE"],
};
const NUCLEO = /GUIDE|LATCH/;
const TYPES = { daiza: "mecha_control/action/DaizaCmd", hina: "mecha_control/action/HinaCmd" };
const RESULTS = ["OK", "ABORTED", "ERR_UNEXPECTED_ARG", "ERR_CANNOT_PROCESS", "ERR_TIMEOUT"];
const FEEDBACK = {
  daiza: ["STOPPING", "PREV_ACTION_ABORTED", "EXPANDED_AT_EXPAND_AND_UNCLAMP", "CLAMPED_AT_CLAMP_AND_CONTRACT", "EXPANDED_AT_EXPAND_AND_PLACE", "EXPANDED_AT_EXPAND_AND_PLACE_AND_CONTRACT", "PLACE_AT_EXPAND_AND_PLACE_AND_CONTRACT"],
  hina: ["STOPPING", "PREV_ACTION_ABORTED", "DOWN_AT_DOWN_AND_TAKE", "UP_AT_UP_AND_CARRY", "UP_AT_UP_AND_PLACE"],
};

export default function (main, page) {
  let space = null, status = null, end = null;
  const single = bench(page);
  const about = h("p.dim"), cards = { daiza: part("daiza"), hina: part("hina") };
  const lamp = h("button", { title: "Key b", onclick: () => bonbori() }, "Lantern");
  const body = h("div.grid", cards.daiza.element, cards.hina.element), fresh = ages(body, 3000);
  put(main, h("div.row.end", h("div", h("h1", "Mechanism"), about), h("span.row", lamp, page.operator("mechanism"))), body,
    h("p.dim", "Every label names its key; they work without Enter. ", h("kbd", "Space"), " and ", h("kbd", "Esc"), " stop everything."), goals(), single.element);

  page.on(link, "graph", () => {
    const found = (link.graph.topics.find((t) => t.name.endsWith("/sequence_controller/state") && t.publishers.length)?.name ?? "").replace(/\/sequence_controller\/state$/, "");
    // Without a controller the mechanism itself tells where it is.
    const sensors = link.graph.topics.find((t) => /\/(daiza|hina)_state$/.test(t.name) && t.publishers.length);
    single.use(sensors ? sensors.name.replace(/\/(daiza|hina)_state$/, "") : null);
    const now = link.graph.topics.some((t) => t.name === `${found}/sequence_controller/state` && t.publishers.length) ? found : null;
    if (now === space) return;
    space = now; status = null; end?.();
    end = space === null ? null : link.subscribe(`${space}/sequence_controller/state`, "std_msgs/msg/String", (m, info) => { status = JSON.parse(m.data); fresh.touch(info.t); draw(); }, 0);
    draw();
  });
  page.ends(() => end?.());
  link.followGraph();
  if (link.graph) link.dispatchEvent(new Event("graph"));
  page.every(500, () => status && draw());

  /** Why a phase cannot be asked for now, or nothing. */
  function lock(which, phase) {
    if (space === null) return "no mechanism-controller on the graph";
    if (link.welcome && !link.welcome.operator) return "read-only";
    if (!status) return "nothing heard of the controller yet";
    if (Date.now() - fresh.at > 3000 || link.state !== "live") return "the controller is silent";
    if (status.profile === "nucleo" && phase === "prepare") return "this hardware has no prepare; the goal READY does the like";
    const s = status[which];
    if (s.blocked) return s.blocked;
    if (!s.sensors_valid) return s.refused_sample ? `its sensors do not count: ${s.refused_sample}` : "its sensors are silent";
    return null;
  }
  function ask(which, phase) {
    const why = lock(which, phase);
    if (why) return failed(new Error(`${which} ${phase}: ${why}`));
    const value = { daiza_state: LEAVE, hina_state: LEAVE, bonbori_state: status.bonbori.flag };
    value[`${which}_state`] = PHASES[phase];
    quietly(() => link.publish(`${space}/mecha_state`, "mecha_control/msg/MechaState", value));
  }
  function bonbori() {
    if (status) quietly(() => link.call(`${space}/set_bonbori`, "std_srvs/srv/SetBool", { data: !status.bonbori.lit }));
  }
  page.on(window, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
    if (event.key === " ") { event.preventDefault(); if (!event.repeat) document.getElementById("stop").click(); return; }
    if (event.repeat || document.querySelector("dialog[open]")) return;
    if (event.key === "b") bonbori();
    else if (KEYS[event.key]) ask(...KEYS[event.key]);
  });

  function part(which) {
    const buttons = {}, row = h("div.row"), state = h("p"), bar = h("i"), wait = h("p.dim"), last = h("p"), told = h("div"), locked = h("p.locked");
    for (const [key, [of, phase]] of Object.entries(KEYS)) {
      if (of === which) put(row, (buttons[phase] = h("button", { "data-phase": `${which}-${phase}`, onclick: () => ask(which, phase) }, phase, " ", h("kbd", key))));
    }
    const element = h("div.card", h("h2", NAMES[which]), row, locked, state, h("div.bar", bar), wait, last, h("h3", "Told and sensed"), told);
    return { element, draw() {
      const s = status?.[which];
      const why = lock(which, "deploy");
      locked.textContent = why ? `Locked: ${why}.` : "";
      for (const [phase, button] of Object.entries(buttons)) {
        const own = lock(which, phase);
        button.disabled = Boolean(own);
        button.title = own ?? "";
        button.classList.toggle("on", s?.reached === PHASES[phase] && !s.running);
      }
      if (!s) return;
      const phase = Object.keys(PHASES)[s.reached];
      fill(state, s.running ? h("b", `${s.sequence}: step ${s.step?.number ?? 0} of ${s.step?.of ?? "?"}, ${s.step?.what ?? "looks at its sensors"}`) : h("span", "idle", phase ? h("span", ", in phase ", h("b", phase)) : ""));
      bar.style.width = s.running && s.step ? `${(100 * s.step.number) / s.step.of}%` : s.reached !== null ? "100%" : "0";
      wait.textContent = s.running && s.waiting_for ? `waits for ${s.waiting_for}${s.since ? `, since ${duration(Math.max(0, Date.now() / 1e3 - s.since))}` : ""}` : " ";
      fill(last, s.ended && !s.running ? h(s.ended.outcome === "done" ? "span.good" : "span.bad", `last: ${s.sequence} ${s.ended.outcome}${s.ended.reason ? `: ${s.ended.reason}` : ""}`) : " ", s.goes_on ? h("div.warn", s.goes_on) : null);
      fill(told, which === "daiza" ? pedestal() : doll());
    } };
  }
  const yes = (v) => (v === undefined || v === null ? "–" : v ? "out" : "in"), on = (v) => (v === undefined ? "–" : v ? "pressed" : "released");
  const line = (name, a, b) => [h("span.dim", name), h("span", a), h(a !== "" && a !== "–" && b !== "" && a !== b ? "span.warn" : "span", b)];
  const head = () => [h("span"), h("b.dim", "told"), h("b.dim", "sensed")];
  function pedestal() {
    const told = status.outputs.daiza, sensed = status.sensed.daiza;
    return h("div.told", head(), [1, 2, 3, 4].map((n, i) => line(`cylinder ${n}`, yes(told?.[i]), yes(sensed?.cylinders[i]))), line("pedestal switch", "", on(sensed?.pedestal)));
  }
  function doll() {
    const told = status.outputs.hina, sensed = status.sensed.hina, end = !sensed ? "–" : sensed.up ? "up" : sensed.down ? "down" : "between";
    const near = told && sensed && Math.abs(told.tilt - sensed.tilt) < 5, angle = (v) => (v === undefined ? "–" : `${v.toFixed(1)}°`);
    return h("div.told", head(), h("span.dim", "tilt"), h("span", angle(told?.tilt)), h(near || !told ? "span" : "span.warn", angle(sensed?.tilt)), line("lift", told?.lift ?? "–", end),
      status.profile === "nucleo" ? [line("guide", told?.guide ?? "–", ""), [0, 1].map((i) => line(`latch ${i + 1}`, told?.latches[i] ? "fired" : "–", sensed?.latches[i] ? "fired" : "–"))] : null,
      line("wall 1", "", on(sensed?.walls[0])), line("wall 2", "", on(sensed?.walls[1])), line("stowed", "", on(sensed?.stowed)));
  }

  function goals() {
    const said = h("pre", "no goal sent from this page"), cancel = h("button", { disabled: true }, "Cancel");
    let stop = null;
    cancel.onclick = () => stop?.().catch(failed);
    const select = (which) => h("select", { "aria-label": `Goal of ${which}`, "data-goals": which }, GOALS[which].map((name, i) => h("option", { value: i }, name)));
    const send = (which, list) => h("span.row", h("label.row", NAMES[which], list), h("button", { onclick: () => quietly(async () => {
      if (space === null) throw new Error("no mechanism-controller on the graph");
      const name = GOALS[which][list.value];
      if (NUCLEO.test(name) && status?.profile !== "nucleo") throw new Error(`${name}: only the profile nucleo has guides and latches`);
      said.textContent = `${which} ${name}\n`;
      stop = await link.goal(`${space}/${which}_cmd`, TYPES[which], { command: Number(list.value) }, (what, payload, code) => {
        const words = what === "feedback" ? FEEDBACK[which][payload.feedback] : what === "ended" ? `${{ 4: "succeeded", 5: "canceled", 6: "aborted" }[code] ?? code}: ${RESULTS[payload.result] ?? payload.result}` : payload ?? "";
        said.textContent += `${what} ${words}\n`;
        cancel.disabled = ["ended", "failed", "rejected"].includes(what);
      });
    }) }, "Send"));
    const lists = { daiza: select("daiza"), hina: select("hina") };
    return h("div.card", h("div.row.end", h("h2", "Goals"), cancel), h("div.row", send("daiza", lists.daiza), send("hina", lists.hina)), h("p"), said);
  }
  function draw() {
    about.textContent = space === null ? "No mechanism-controller is on the graph: start `mechanism-controller run`, or `rosless up`." : status ? `profile ${status.profile}` : "";
    cards.daiza.draw(); cards.hina.draw();
    fill(lamp, `Lantern ${status?.bonbori.lit ? "on" : "off"} `, h("kbd", "b"));
    lamp.classList.toggle("on", Boolean(status?.bonbori.lit));
    lamp.disabled = space === null || !status;
  }
  draw();
}
