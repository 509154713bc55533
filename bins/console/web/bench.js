// The debug controller: one actuator at a time, straight to the mechanism, told and sensed side by side. It needs no sequence
// controller; interlocks hold.
import { link } from "/link.js";
import { h, fill, ages, operate } from "/ui.js";

const CYLINDERS = ["right clamp", "left clamp", "small pedestal", "arm"], DAIZA = 0, HINA = 1;

/** A card for the mechanism in a namespace; `use(space)` says which. */
export function bench(page) {
  let space = null, view = null;
  const said = h("p", { role: "status" }), note = h("p.dim"), lines = [], tilt = h("input", { type: "number", step: "any", min: -45, max: 185, value: 90, "aria-label": "Tilt in degrees" }), slide = h("input", { type: "range", min: -45, max: 185, step: 1, value: 90, "aria-label": "Tilt" });
  slide.addEventListener("input", () => { tilt.value = slide.value; });
  tilt.addEventListener("input", () => { slide.value = tilt.value; });
  const body = h("div.grid"), fresh = ages(body, 1500);
  const element = h("details.card", { "data-bench": "" }, h("summary", h("b", "Debug controller"), " ", h("span.dim", "single actuators, with or without the sequence controller")), note, body, said);

  async function move(name, actuator) {
    said.className = "dim"; said.textContent = `${name} …`;
    try {
      await operate(() => link.ask("actuate", { space, actuator }));
      said.className = "good"; said.textContent = `${name}: arrived`;
    } catch (error) { said.className = "bad"; said.textContent = `${name}: ${error.message}`; }
  }
  const button = (text, name, actuator, hint = "") => h("button.small", { title: hint, "data-move": name, onclick: () => move(name, actuator()) }, text);
  const inOut = (name, make) => h("span.row", ["in", "out"].map((to) => button(to, `${name} ${to}`, () => make(to))));

  /** One actuator: its buttons, what it was told, what it senses. */
  function line(side, name, buttons, told, sensed) {
    const a = h("span.num"), b = h("span.num"), row = [h("span", name), buttons, a, b];
    lines.push({ side, buttons, draw() { const x = told?.(view), y = sensed?.(view); a.textContent = x ?? "–"; b.textContent = y ?? "–"; b.className = x !== undefined && x !== "hold" && y !== undefined && x !== y ? "num warn" : "num"; } });
    return row;
  }
  const head = () => [h("span"), h("span"), h("b.dim", "told"), h("b.dim", "sensed")];
  const out = (v) => (v === undefined || v === null ? undefined : v ? "out" : "in"), pressed = (v) => (v === undefined ? undefined : v ? "pressed" : "released"), degrees = (v) => (v === undefined ? undefined : `${v.toFixed(1)}°`);
  function part(side, name, rows) {
    const locked = h("p.locked");
    lines.push({ side, draw() { const why = space === null ? "no mechanism on the graph" : !view ? "nothing heard of it yet" : view.locked[side]; locked.textContent = why ? `Locked: ${why}.` : view?.moving[side] ? "on its way" : ""; } });
    return h("div", h("h3", name), locked, h("div.actuator", head(), rows));
  }
  function build(profile) {
    lines.splice(0);
    fill(body,
      part(DAIZA, "Pedestal (daiza)", [
        CYLINDERS.map((what, i) => line(DAIZA, `${i + 1} ${what}`, inOut(`cylinder ${i + 1}`, (to) => ({ cylinder: { number: i + 1, out: to === "out" } })), (v) => out(v.told.daiza?.[i]), (v) => out(v.sensed.daiza?.cylinders[i]))),
        line(DAIZA, "pedestal switch", h("span"), null, (v) => pressed(v.sensed.daiza?.pedestal))]),
      part(HINA, "Doll (hina)", [
        line(HINA, "lift", h("span.row", [["up", "up"], ["down", "down"], ["hold", "hold"]].map(([text, to]) => (profile === "nucleo" && to === "hold" ? null : button(text, `lift ${to}`, () => ({ lift: to }))))), (v) => v.told.hina?.lift, (v) => { const s = v.sensed.hina; return s && (s.up ? "up" : s.down ? "down" : "between"); }),
        line(HINA, "tilt", h("span", slide, h("span.row", tilt, "°", button("Apply", "tilt", () => ({ tilt: { degrees: Number(tilt.value) } })))), (v) => degrees(v.told.hina?.tilt), (v) => degrees(v.sensed.hina?.tilt)),
        profile === "nucleo" ? [
          line(HINA, "guide", inOut("guide", (to) => ({ guide: to })), (v) => v.told.hina?.guide),
          [1, 2].map((n) => line(HINA, `latch ${n}`, h("span.row", button("fire", `latch ${n}`, () => ({ latch: { number: n } }))), (v) => (v.told.hina ? (v.told.hina.latches[n - 1] ? "fired" : "rests") : undefined), (v) => (v.sensed.hina ? (v.sensed.hina.latches[n - 1] ? "fired" : "rests") : undefined)))] : null,
        ["wall 1", "wall 2"].map((name, i) => line(HINA, name, h("span"), null, (v) => pressed(v.sensed.hina?.walls[i]))),
        line(HINA, "stowed", h("span"), null, (v) => pressed(v.sensed.hina?.stowed))]));
    body.dataset.profile = profile;
  }
  function draw() {
    const profile = view?.profile ?? "document";
    if (body.dataset.profile !== profile) build(profile);
    const mayNot = link.welcome && !link.welcome.operator;
    note.textContent = mayNot ? "read-only" : !view ? "" : `profile ${profile}, ${view.controller ? "beside the sequence controller" : "no sequence controller"}`;
    for (const l of lines) {
      if (view || !l.buttons) l.draw();
      for (const b of l.buttons?.querySelectorAll("button") ?? []) b.disabled = space === null || !view || mayNot || Boolean(view.locked[l.side]) || link.state !== "live";
    }
  }
  async function watch() {
    if (!element.open || space === null) return;
    try { await link.ask("bench", { space }); } catch (error) { note.textContent = error.message; }
  }
  const leave = () => { if (space !== null) link.say("leave_bench", { space }); view = null; };
  element.addEventListener("toggle", () => { element.open ? watch() : leave(); draw(); });
  page.on(link, "bench", ({ detail }) => { if (detail.space === space) { view = detail.view; fresh.touch(); draw(); } });
  page.on(link, "welcome", watch);
  page.on(link, "state", draw);
  page.ends(leave);
  if (location.hash === "#debug") element.open = true;
  draw();
  return { element, use(now) { if (now !== space) { leave(); space = now; watch(); draw(); } } };
}
