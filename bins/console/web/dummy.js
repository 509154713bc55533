// The mechanism's stand-in: switches by hand, what it senses, faults.
import { link } from "/link.js";
import { h, fill, put, value, quietly, failed } from "/ui.js";
import { Plot } from "/plot.js";

const SWITCHES = ["pedestal", "up", "down", "wall1", "wall2", "stowed"], BOOL = 1, DOUBLE = 3, STRING = 4, STRINGS = 9, HOLD = 200;
const FAULTS = ["stuck-switch:wall1=0", "stuck-switch:pedestal=0", "slow-cylinder:4=3.5", "stuck-cylinder:1", "dead-sensor:2", "stuck-tilt", "stuck-lift", "lost:daiza", "lost:hina"];

export default function (main, page) {
  let node = null, set = {}, faults = [], ends = [], played = false, pot = "auto";
  const scene = h("button", { "data-scene": "", onclick: () => parameter("scene", !played, BOOL) }), turn = h("input", { type: "range", min: -45, max: 185, step: 1, value: 90, "aria-label": "Potentiometer in degrees" }), turned = h("span.num"), auto = h("button.small", { "data-pot": "auto", onclick: () => parameter("potentiometer", "auto", STRING) }, "auto");
  turn.addEventListener("input", () => { turned.textContent = `${turn.value}°`; });
  turn.addEventListener("change", () => parameter("potentiometer", Number(turn.value), DOUBLE));
  const strokes = [1, 2, 3, 4].map(() => value(1000)), height = value(1000), tray = value(1000, "°");
  const about = h("p.dim"), rows = h("div"), broken = h("div"), fault = h("input", { placeholder: "such as stuck-cylinder:1", "aria-label": "Fault" });
  const sensed = {}, tilt = value(1000, "°"), cylinders = [1, 2, 3, 4].map(() => value(1000)), plot = new Plot({ seconds: 30, names: ["tilt"], unit: "°", label: "tilt" });
  for (const name of SWITCHES) sensed[name] = value(1000);
  put(main, h("div.row.end", h("div", h("h1", "Dummy mechanism"), about), h("span.row", scene, page.operator("mechanism"))),
    h("div.grid",
      h("div.card", h("h2", "Switches"), h("p.dim", "Auto follows mechanics and scene. Hold presses as long as the button is held."), rows),
      h("div.card", h("h2", "Simulated positions"),
        h("p", "Potentiometer: ", tilt.element), h("div.row", h("span.grow", turn), turned, auto), h("p.dim", "The slider holds it by hand; auto shows the tray as it is."), plot.element,
        h("div.told", h("span"), h("b.dim", "is"), h("b.dim", "sensed"), cylinders.map((c, i) => [h("span.dim", `cylinder ${i + 1}`), strokes[i].element, c.element]), h("span.dim", "tray"), tray.element, h("span"), h("span.dim", "lift"), height.element, h("span"))),
      h("div.card", h("div.row.end", h("h2", "Faults"), h("button", { onclick: () => write([]) }, "Repair all")), broken, h("h3", "Break something"),
        h("div.row", FAULTS.map((f) => h("button.small", { onclick: () => write([...faults, f]) }, f))), h("p"),
        h("div.row", fault, h("button", { "data-break": "", onclick: () => fault.value && write([...faults, fault.value]) }, "Break")))));

  page.on(link, "graph", () => {
    const found = link.graph.nodes.find((n) => n.name.endsWith("/dummy_mechanism"))?.name ?? null;
    if (found === node) return;
    node = found;
    ends.splice(0).forEach((end) => end());
    if (node) {
      const space = node.replace(/\/dummy_mechanism$/, "");
      // The action-era hardware speaks in radians of the other sense, and its first three cylinders in opposites.
      const nucleo = link.graph.topics.find((t) => t.name === `${space}/hina_state`)?.types[0]?.startsWith("nucleo");
      ends.push(link.subscribe(`${space}/daiza_state`, null, (m, i) => { m.cylinder_states.forEach((v, n) => cylinders[n]?.show(v !== Boolean(nucleo && n < 3) ? "out" : "in", i.t)); show("pedestal", m.limit_switch_states[0], i.t); }, 100));
      ends.push(link.subscribe(`${space}/hina_state`, null, (m, i) => {
        const angle = nucleo ? (-m.potentiometer_angles[0] * 180) / Math.PI : m.potentiometer_angles[0];
        tilt.show(angle.toFixed(1), i.t); plot.add([angle], i.t);
        ["up", "down", "wall1", "wall2", "stowed"].forEach((name, n) => show(name, m.limit_switch_states[n], i.t));
      }, 100));
      ends.push(link.subscribe(`${node}/positions`, "sensor_msgs/msg/JointState", (m, i) => {
        m.position.slice(0, 4).forEach((p, n) => strokes[n].show(`${Math.round(p * 100)} % out`, i.t));
        tray.show(((m.position[4] * 180) / Math.PI).toFixed(1), i.t); height.show(`${Math.round(m.position[5] * 100)} % up`, i.t);
      }, 100));
      // Others change parameters, too.
      ends.push(link.subscribe("/parameter_events", "rcl_interfaces/msg/ParameterEvent", (m) => { if (m.node === node) read(); }, 0));
      read();
    }
    draw();
  });
  page.ends(() => ends.forEach((end) => end()));
  link.followGraph();
  if (link.graph) link.dispatchEvent(new Event("graph"));
  const show = (name, on, t) => sensed[name].show(on ? "pressed" : "released", t);

  async function read() {
    try {
      const all = await link.ask("parameters", { node });
      set = Object.fromEntries(all.filter((p) => p.name.startsWith("switch.")).map((p) => [p.name.slice(7), p.value]));
      const of = (name) => all.find((p) => p.name === name)?.value;
      faults = of("faults") ?? []; played = Boolean(of("scene")); pot = of("potentiometer") ?? "auto";
      if (typeof pot === "number" && document.activeElement !== turn) turn.value = pot;
      draw();
    } catch (error) { failed(error); }
  }
  const parameter = (name, to, type) => quietly(async () => { await link.ask("set_parameter", { node, name, value: to, type }); read(); });
  const choose = (name, to) => quietly(async () => { await link.ask("set_parameter", { node, name: `switch.${name}`, value: to, type: STRING }); read(); });
  const write = (list) => quietly(async () => { await link.ask("set_parameter", { node, name: "faults", value: list, type: STRINGS }); fault.value = ""; read(); });

  /** Pressed as long as it is held; the console lets go when this page falls silent. */
  function holding(name) {
    const button = h("button.small", { "aria-label": `Hold ${name}` }, "Hold");
    let timer = null;
    const act = (v) => ({ parameter: { node, name: `switch.${name}`, value: v, type: STRING } });
    const again = () => link.ask("hold", { key: name, act: act("pressed"), release: act(set[name] === "pressed" ? "auto" : set[name] ?? "auto") });
    const begin = (event) => { if (timer || event.repeat) return; event.preventDefault(); button.classList.add("on"); quietly(again); timer = setInterval(() => again().catch(finish), HOLD); };
    const finish = () => { if (!timer) return; clearInterval(timer); timer = null; button.classList.remove("on"); link.say("release", { key: name }); };
    button.addEventListener("pointerdown", (e) => { button.setPointerCapture(e.pointerId); begin(e); });
    for (const name of ["pointerup", "pointercancel", "blur", "keyup"]) button.addEventListener(name, finish);
    button.addEventListener("keydown", (e) => { if (e.key === " " || e.key === "Enter") begin(e); });
    page.ends(finish);
    return button;
  }
  const holds = Object.fromEntries(SWITCHES.map((name) => [name, holding(name)]));
  const table = h("table", SWITCHES.map((name) => h("tr", { "data-switch": name }, h("td", h("b", name)), h("td", sensed[name].element),
    h("td", h("span.row", ["pressed", "released", "auto"].map((to) => h("button.small", { "data-to": to, onclick: () => choose(name, to) }, to)), holds[name])))));
  put(rows, h("div.scroll", table));

  function draw() {
    about.textContent = node ?? "No dummy-mechanism is on the graph: start `dummy-mechanism run --auto`, or `rosless up`.";
    for (const button of main.querySelectorAll("main button")) button.disabled = !node;
    for (const row of table.querySelectorAll("tr")) for (const b of row.querySelectorAll("[data-to]")) b.classList.toggle("on", set[row.dataset.switch] === b.dataset.to);
    scene.textContent = `Scene ${played ? "on" : "off"}`; scene.classList.toggle("on", played);
    scene.title = "Press pedestal and wall switches as they would be on the field";
    auto.classList.toggle("on", pot === "auto"); turned.textContent = pot === "auto" ? "" : `${pot}°`; turn.disabled = !node;
    fill(broken, faults.length ? faults.map((f) => h("div.row", h("span.bad.mono", f), h("button.small", { "data-repair": "", onclick: () => write(faults.filter((x) => x !== f)) }, "Repair"))) : h("span.good", "Nothing is broken."));
  }
  draw();
}
