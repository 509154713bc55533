// A plot of the last seconds: lines over time, an optional band around the first.
import { h } from "/ui.js";

const LEFT = 46, BOTTOM = 16;
const COLOURS = ["var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)", "var(--s6)"];

export class Plot {
  constructor({ seconds = 20, names = [], unit = "", label = "plot", marks = [] } = {}) {
    this.seconds = seconds; this.marks = marks; this.names = names; this.unit = unit; this.points = []; this.dirty = true;
    this.svg = h("svg", { class: "plot", role: "img", "aria-label": label });
    this.legend = h("div.row");
    this.element = h("div", this.svg, this.legend);
    this.timer = setInterval(() => { if (this.element.isConnected) { if (this.dirty || this.points.length) this.draw(); } else if (this.was) clearInterval(this.timer); this.was = this.element.isConnected; }, 250);
  }
  /** One point: a value per line; `band` is the half width around the first. */
  add(values, at = Date.now(), band = null) {
    this.points.push({ at, values, band });
    const oldest = Date.now() - this.seconds * 1000;
    while (this.points.length > 2000 || (this.points.length && this.points[0].at < oldest)) this.points.shift();
    this.dirty = true;
  }
  draw() {
    this.dirty = false;
    // As large as it is shown, so that nothing is stretched.
    const W = Math.max(160, this.svg.clientWidth), H = Math.max(80, this.svg.clientHeight);
    this.svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    const now = Date.now(), from = now - this.seconds * 1000, points = this.points.filter((p) => p.at >= from);
    let low = Infinity, high = -Infinity;
    for (const p of points) for (const v of p.values) if (Number.isFinite(v)) { low = Math.min(low, v - (p.band ?? 0)); high = Math.max(high, v + (p.band ?? 0)); }
    if (low > high) [low, high] = [0, 1];
    if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
    const pad = (high - low) * 0.08; low -= pad; high += pad;
    const x = (t) => LEFT + ((t - from) / (now - from)) * (W - LEFT - 4), y = (v) => 4 + (1 - (v - low) / (high - low)) * (H - BOTTOM - 8);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const v = low + pad + (high - low - 2 * pad) * share;
      parts.push(h("line", { class: "axis", x1: LEFT, x2: W, y1: y(v), y2: y(v) }), h("text", { x: 2, y: y(v) + 3 }, tick(v, high - low)));
    }
    // Limits on both sides of zero, where they are in sight.
    for (const [limit, name] of this.marks) for (const v of [limit, -limit]) if (v > low && v < high) {
      parts.push(h("line", { class: "mark", x1: LEFT, x2: W, y1: y(v), y2: y(v) }), h("text", { x: W - 40, y: y(v) - 2 }, `${v < 0 ? "−" : ""}${name}`));
    }
    parts.push(h("text", { x: LEFT, y: H - 3 }, `−${this.seconds} s`), h("text", { x: W - 24, y: H - 3 }, "now"));
    const banded = points.filter((p) => p.band !== null && Number.isFinite(p.values[0]));
    if (banded.length > 1) {
      const up = banded.map((p) => `${x(p.at)},${y(p.values[0] + p.band)}`), down = banded.map((p) => `${x(p.at)},${y(p.values[0] - p.band)}`).reverse();
      parts.push(h("path", { d: `M${[...up, ...down].join("L")}Z`, fill: COLOURS[0], opacity: 0.18 }));
    }
    const lines = Math.max(0, ...points.map((p) => p.values.length));
    for (let line = 0; line < lines; line++) {
      let d = "", pen = false;
      for (const p of points) {
        const v = p.values[line];
        if (!Number.isFinite(v)) { pen = false; continue; }
        d += `${pen ? "L" : "M"}${x(p.at).toFixed(1)},${y(v).toFixed(1)}`; pen = true;
      }
      parts.push(h("path", { d, fill: "none", stroke: COLOURS[line % COLOURS.length], "stroke-width": 1.6, "vector-effect": "non-scaling-stroke" }));
    }
    this.svg.replaceChildren(...parts);
    const last = points.at(-1);
    this.legend.replaceChildren(...this.names.map((name, i) => {
      const mark = h("span", "● "); mark.style.color = COLOURS[i % COLOURS.length];
      return h("span.age", mark, name, last && Number.isFinite(last.values[i]) ? ` ${short(last.values[i])}${this.unit}` : "");
    }));
  }
}
/** With as many digits as tell the lines of a plot apart. */
function tick(v, span) { const digits = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(span)))); return Math.abs(v) >= 1e6 ? v.toExponential(2) : v.toFixed(digits > 2 && span > 1 ? 2 : digits); }
function short(v) { const a = Math.abs(v); return a === 0 ? "0" : a >= 1e5 || a < 1e-3 ? v.toExponential(1) : a >= 100 ? v.toFixed(0) : a >= 1 ? v.toFixed(2) : v.toFixed(3); }
