// Small pieces that pages are made of. Nothing from the network is ever parsed as HTML.
import { link } from "/link.js";

/** An element: h("div.card#id", {attributes and on… handlers}, children…). */
export function h(what, ...rest) {
  const [tag, ...marks] = what.split(/(?=[.#])/);
  const element = tag === "svg" || SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag || "div");
  for (const mark of marks) mark[0] === "." ? element.classList.add(mark.slice(1)) : (element.id = mark.slice(1));
  const attributes = rest[0] && rest[0].constructor === Object ? rest.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !(element instanceof SVGElement) && name !== "list" && name !== "form") element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  put(element, ...rest);
  return element;
}
const SVG = new Set(["path", "g", "line", "rect", "circle", "polyline", "text"]);

/** Adds children, whatever they are. */
export function put(element, ...children) {
  for (const child of children.flat(9)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}
export function fill(element, ...children) { element.replaceChildren(); return put(element, ...children); }

export function notice(text, kind = "") {
  const box = h(`div.notice${kind && "." + kind}`, text);
  document.getElementById("notices").append(box);
  setTimeout(() => box.remove(), kind === "error" ? 9000 : 5000);
}
export const failed = (error) => notice(error.message ?? String(error), "error");

/** Does something that an operator does. When somebody else operates, offers to take over and does it again. */
export async function operate(act) {
  try { return await act(); } catch (error) {
    const held = /^(.+) is operated by (.+): take over first$/.exec(error.message);
    if (!held) { failed(error); throw error; }
    if (!(await confirm(`${held[1]} is operated by ${held[2]}.`, "Take over"))) throw error;
    await link.ask("operate", { systems: [held[1]], take: true });
    return act();
  }
}
/** For handlers that nobody waits for: errors were shown already. */
export const quietly = (act) => operate(act).catch(() => {});

function confirm(text, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", h("p", text), h("div.row", h("button.primary", { onclick: () => dialog.close("yes") }, yes), h("button", { onclick: () => dialog.close() }, "Cancel")));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Values and their age: what is older than its limit looks so.
const aged = new Set();
/** A value with its age beside it; .show(text, whenMs) sets it. */
export function value(limit = 2000, unit = "") {
  const text = h("span.num", "–"), age = h("span.age"), element = h("span", text, " ", age);
  const self = { element, limit, text, age, at: 0, show(shown, at = Date.now()) { text.textContent = shown + unit; self.at = at; tell(self); return self; } };
  aged.add(self);
  return self;
}
/** Marks any element as stale when `touch` was not called for longer than the limit. */
export function ages(element, limit) {
  const self = { element, limit, at: 0, touch(at = Date.now()) { self.at = at; tell(self); } };
  aged.add(self);
  return self;
}
function tell(self) {
  const old = Date.now() - self.at;
  const stale = self.at === 0 || old > self.limit || link.state !== "live";
  self.element.classList.toggle("stale", stale);
  if (self.age) self.age.textContent = self.at === 0 ? "" : old < 1000 ? "now" : duration(old / 1000) + " ago";
}
setInterval(() => { for (const self of aged) self.element.isConnected || self.kept ? tell(self) : 0; }, 500);
export const forgetAges = () => aged.clear();

export function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
export const fixed = (n, digits = 3) => (typeof n === "number" ? n.toFixed(digits) : String(n));
export function bytes(n) { return n < 1000 ? `${n.toFixed(0)} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`; }

// What is redrawn between pressing and releasing a button would swallow the click.
let pressed = false;
const postponed = new Set();
addEventListener("pointerdown", () => { pressed = true; }, true);
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => { pressed = false; setTimeout(() => { for (const draw of [...postponed]) { postponed.delete(draw); draw(); } }); }, true);
/** Draws, but not while a button is being pressed. */
export const calmly = (draw) => Object.assign(() => (pressed ? void postponed.add(draw) : draw()), {});

/** Who operates this, with a way to take over. */
export function operator(system) {
  const box = h("span.row");
  const draw = () => {
    const holder = link.operators[system], mine = holder && holder.id === link.you;
    if (link.welcome && !link.welcome.operator) return fill(box, h("span.pill", "read-only"));
    if (mine) return fill(box, h("span.pill.good", "you operate"), h("button.small", { onclick: () => link.ask("resign", { system }).catch(failed) }, "Let go"));
    if (holder) return fill(box, h("span.pill.warn", `operated by ${holder.name}`), h("button.small", { onclick: () => link.ask("operate", { systems: [system], take: true }).catch(failed) }, "Take over"));
    return fill(box, h("span.pill", "nobody operates"));
  };
  draw();
  return { element: box, draw };
}

/** Lists below what is here; all handlers end with the page. */
export class Page {
  #ends = [];
  on(target, name, handler) { target.addEventListener(name, handler); this.#ends.push(() => target.removeEventListener(name, handler)); return handler; }
  subscribe(...args) { const end = link.subscribe(...args); this.#ends.push(end); return end; }
  every(ms, act) { const timer = setInterval(act, ms); this.#ends.push(() => clearInterval(timer)); }
  ends(act) { this.#ends.push(act); }
  operator(system) { const o = operator(system); this.on(link, "operators", o.draw); this.on(link, "welcome", o.draw); return o.element; }
  end() { this.#ends.splice(0).forEach((end) => end()); forgetAges(); }
}
