// A 3-D view on a plain 2-D canvas: boxes, cylinders, spheres, lines, labels, a floor and an orbit camera.
//
// No WebGL: what is shown here are a few hundred faces, which a painter's algorithm sorts and fills in a millisecond or two; it works in
// every browser (also where there is no graphics processor, or where WebGL is switched off), lines can be thick and dashed, letters
// are letters, and there is one way of drawing to test instead of two.
import { h } from "/ui.js";
import { add, sub, scale, dot, cross, unit, turn } from "/robot.js";

const NEAR = 0.02, SIDES = 18, FRAME = 30;

export class View {
  /** `shapes(now)` gives what is to be drawn; `moving()` until when it changes by itself (ms of performance.now()). */
  constructor({ label, target = [0, 0, 0.3], distance = 2, yaw = 0.8, pitch = 0.35, shapes, moving = () => 0 }) {
    this.first = { target, distance, yaw, pitch };
    Object.assign(this, structuredClone(this.first), { shapes, until: moving });
    this.canvas = h("canvas.view", { tabIndex: 0, role: "img", "aria-label": `${label}. Arrow keys turn, plus and minus zoom, 0 goes back.` });
    this.note = h("div.viewnote");
    this.element = h("div.viewbox", this.canvas, this.note, h("div.viewkeys",
      h("button.small", { title: "Nearer (+)", "aria-label": "Nearer", onclick: () => this.zoom(0.8) }, "+"),
      h("button.small", { title: "Farther (−)", "aria-label": "Farther", onclick: () => this.zoom(1.25) }, "−"),
      h("button.small", { title: "As at first (0)", "aria-label": "View as at first", onclick: () => this.reset() }, "⌂")));
    this.#handle();
    this.alive = true;
    this.resized = new ResizeObserver(() => this.touch());
    this.resized.observe(this.canvas);
    this.touch();
  }
  end() { this.alive = false; this.resized.disconnect(); }
  reset() { Object.assign(this, structuredClone(this.first)); this.touch(); }
  zoom(by) { this.distance = Math.min(60, Math.max(0.15, this.distance * by)); this.touch(); }
  orbit(yaw, pitch) { this.yaw += yaw; this.pitch = Math.min(1.55, Math.max(-1.2, this.pitch + pitch)); this.touch(); }
  pan(x, y) { const { right, up } = this.#camera(), s = this.distance / this.canvas.clientHeight; this.target = add(this.target, add(scale(right, -x * s), scale(up, y * s))); this.touch(); }

  #handle() {
    const c = this.canvas, fingers = new Map();
    let gap = 0;
    c.addEventListener("pointerdown", (e) => { c.setPointerCapture(e.pointerId); fingers.set(e.pointerId, [e.clientX, e.clientY]); gap = 0; });
    c.addEventListener("pointermove", (e) => {
      const before = fingers.get(e.pointerId);
      if (!before) return;
      const dx = e.clientX - before[0], dy = e.clientY - before[1];
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (gap > 0 && now > 0) this.zoom(gap / now);
        gap = now;
        this.pan(dx / 2, dy / 2);
      } else if (e.shiftKey || e.buttons & 6) this.pan(dx, dy);
      else this.orbit(-dx * 0.008, dy * 0.008);
    });
    for (const name of ["pointerup", "pointercancel"]) c.addEventListener(name, (e) => { fingers.delete(e.pointerId); gap = 0; });
    c.addEventListener("contextmenu", (e) => e.preventDefault());
    c.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.003)); }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const act = { ArrowLeft: () => this.orbit(-0.1, 0), ArrowRight: () => this.orbit(0.1, 0), ArrowUp: () => this.orbit(0, 0.1), ArrowDown: () => this.orbit(0, -0.1), "+": () => this.zoom(0.85), "-": () => this.zoom(1.18), 0: () => this.reset() }[e.key];
      if (act && !e.ctrlKey && !e.metaKey) { e.preventDefault(); act(); }
    });
  }

  /** Draws soon, and as long as something moves. */
  touch() {
    if (this.waiting || !this.alive) return;
    this.waiting = true;
    const wait = Math.max(0, FRAME - (performance.now() - (this.drawn ?? 0)));
    setTimeout(() => requestAnimationFrame((now) => {
      this.waiting = false;
      if (!this.alive) return;
      if (this.canvas.isConnected) { this.drawn = performance.now(); this.#draw(now); }
      if (this.until() > performance.now()) this.touch();
    }), wait);
  }
  /** What stands over the view, such as that it is old. */
  say(text, stale) {
    this.note.textContent = text;
    this.element.classList.toggle("old", Boolean(stale));
    // Dark or light may have changed.
    if (getComputedStyle(this.canvas).getPropertyValue("--bg") !== this.theme) this.touch();
  }

  #camera() {
    const cp = Math.cos(this.pitch), back = [cp * Math.cos(this.yaw), cp * Math.sin(this.yaw), Math.sin(this.pitch)];
    const right = [-Math.sin(this.yaw), Math.cos(this.yaw), 0], up = cross(back, right);
    return { eye: add(this.target, scale(back, this.distance)), right, up, back };
  }

  #draw(now) {
    const ratio = Math.min(2, devicePixelRatio || 1), w = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!w || !height) return;
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(height * ratio)) { this.canvas.width = Math.round(w * ratio); this.canvas.height = Math.round(height * ratio); }
    const g = this.canvas.getContext("2d"), style = getComputedStyle(this.canvas), colour = (name) => style.getPropertyValue(name).trim();
    this.theme = style.getPropertyValue("--bg");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, height);
    const { eye, right, up, back } = this.#camera(), focus = Math.min(w, height * 1.4) * 1.15, cx = w / 2, cy = height / 2;
    // The light comes over the viewer's shoulder.
    const light = unit(add(add(scale(back, 0.75), scale(up, 0.5)), scale(right, -0.45)));
    const see = (p) => { const d = sub(p, eye); return [dot(d, right), dot(d, up), -dot(d, back)]; };
    const flat = ([x, y, z]) => [cx + (focus * x) / z, cy - (focus * y) / z];
    const segment = (a, b) => {
      if (a[2] < NEAR && b[2] < NEAR) return null;
      const cut = (p, q) => { const t = (NEAR - p[2]) / (q[2] - p[2]); return [p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t, NEAR]; };
      return [a[2] < NEAR ? cut(a, b) : a, b[2] < NEAR ? cut(b, a) : b];
    };
    // The floor.
    const step = this.distance > 8 ? 1 : this.distance > 1.2 ? 0.5 : 0.1, half = step * 8, mx = Math.round(this.target[0] / step) * step, my = Math.round(this.target[1] / step) * step;
    g.lineWidth = 1;
    g.strokeStyle = colour("--line");
    g.beginPath();
    for (let i = -8; i <= 8; i++) for (const [a, b] of [[[mx - half, my + i * step, 0], [mx + half, my + i * step, 0]], [[mx + i * step, my - half, 0], [mx + i * step, my + half, 0]]]) {
      const s = segment(see(a), see(b));
      if (s) { g.moveTo(...flat(s[0])); g.lineTo(...flat(s[1])); }
    }
    g.stroke();

    const faces = [], labels = [], through = [];
    const face = (points, rgba, normal) => {
      const seen = points.map(see);
      if (seen.some((p) => p[2] < NEAR)) return;
      const bright = 0.45 + 0.65 * Math.max(0, dot(normal, light));
      faces.push({ depth: seen.reduce((s, p) => s + p[2], 0) / seen.length, flat: seen.map(flat), fill: css(rgba, bright), clear: rgba[3] < 1 });
    };
    for (const s of this.shapes(now)) {
      const faint = s.rgba[3] < 0.3;
      if (s.kind === "text") { const p = see(s.p); if (p[2] > NEAR) labels.push({ at: flat(p), text: s.text, fill: css(s.rgba, 0.85) }); continue; }
      if (s.kind === "line") {
        for (let i = 0; i + 1 < s.points.length; i++) {
          const cut = segment(see(s.points[i]), see(s.points[i + 1]));
          // A path behind the robot shines through.
          if (cut && s.through && !(s.dash && i % 2)) through.push({ flat: cut.map(flat), stroke: css([...s.rgba.slice(0, 3), 0.4], 0.9), width: s.width ?? 2 });
          if (cut) faces.push({ depth: (cut[0][2] + cut[1][2]) / 2 - 0.003, flat: cut.map(flat), stroke: css(s.rgba, 0.9), width: s.width ?? 2, dash: s.dash && i % 2, arrow: s.arrow && i + 2 === s.points.length });
        }
        continue;
      }
      if (s.kind === "sphere") {
        const p = see(s.pose.p);
        if (p[2] > NEAR + (faint ? 0 : s.radius)) faces.push({ depth: faint ? 1e9 : p[2], flat: [flat(p)], radius: (focus * s.radius) / p[2], rgba: s.rgba, faint });
        continue;
      }
      const at = (v) => add(s.pose.p, turn(s.pose.q, v));
      const put = (local, normal) => { const n = turn(s.pose.q, normal), points = local.map(at); if (faint || dot(n, sub(points[0], eye)) < 0) face(points, s.rgba, n); };
      if (s.kind === "box") {
        const [a, b, c] = s.size.map((v) => v / 2);
        for (const [i, j, k] of [[0, 1, 2], [1, 2, 0], [2, 0, 1]]) for (const side of [-1, 1]) {
          const corner = (u, v) => { const p = [0, 0, 0]; p[i] = side * [a, b, c][i]; p[j] = u * [a, b, c][j]; p[k] = v * [a, b, c][k]; return p; }, n = [0, 0, 0];
          n[i] = side;
          put([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], n);
        }
      } else if (s.kind === "cylinder") {
        const r = s.radius, l = s.length / 2, ring = Array.from({ length: SIDES }, (_, i) => [Math.cos((2 * Math.PI * i) / SIDES), Math.sin((2 * Math.PI * i) / SIDES)]);
        // Long tubes are cut, so that what crosses them is sorted well.
        const cuts = Math.min(4, Math.max(1, Math.round(s.length / Math.max(0.06, 3 * r))));
        for (let i = 0; i < SIDES; i++) {
          const [a, b] = [ring[i], ring[(i + 1) % SIDES]], middle = unit([a[0] + b[0], a[1] + b[1], 0]);
          for (let c = 0; c < cuts; c++) { const z0 = -l + (2 * l * c) / cuts, z1 = -l + (2 * l * (c + 1)) / cuts; put([[a[0] * r, a[1] * r, z0], [b[0] * r, b[1] * r, z0], [b[0] * r, b[1] * r, z1], [a[0] * r, a[1] * r, z1]], middle); }
        }
        for (const side of [-1, 1]) put(ring.map(([x, y]) => [x * r, y * r, side * l]), [0, 0, side]);
      }
    }
    faces.sort((a, b) => b.depth - a.depth);
    g.lineJoin = g.lineCap = "round";
    for (const f of faces) {
      if (f.radius !== undefined) {
        const [x, y] = f.flat[0];
        g.beginPath();
        g.arc(x, y, Math.max(1.5, f.radius), 0, 7);
        if (f.faint) { g.fillStyle = css(f.rgba, 1); g.fill(); g.lineWidth = 1; g.setLineDash([4, 5]); g.strokeStyle = css([...f.rgba.slice(0, 3), 0.55], 1); g.stroke(); g.setLineDash([]); continue; }
        const shade = g.createRadialGradient(x - f.radius * 0.3, y - f.radius * 0.4, f.radius * 0.1, x, y, Math.max(1.5, f.radius));
        shade.addColorStop(0, css(f.rgba, 1.15)); shade.addColorStop(1, css(f.rgba, 0.6));
        g.fillStyle = shade; g.fill();
        continue;
      }
      g.beginPath();
      f.flat.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
      if (f.stroke) {
        if (f.dash) continue;
        g.strokeStyle = f.stroke; g.lineWidth = f.width; g.stroke();
        if (f.arrow) {
          const [[ax, ay], [bx, by]] = f.flat, a = Math.atan2(by - ay, bx - ax);
          g.beginPath(); g.moveTo(bx, by); for (const d of [2.7, -2.7]) g.lineTo(bx + 9 * Math.cos(a + d), by + 9 * Math.sin(a + d)); g.closePath(); g.fillStyle = f.stroke; g.fill();
        }
        continue;
      }
      g.closePath();
      g.fillStyle = f.fill; g.fill();
      // Its own colour over the seams between faces.
      if (!f.clear) { g.strokeStyle = f.fill; g.lineWidth = 0.7; g.stroke(); }
    }
    for (const f of through) { g.beginPath(); g.moveTo(...f.flat[0]); g.lineTo(...f.flat[1]); g.strokeStyle = f.stroke; g.lineWidth = f.width; g.stroke(); }
    g.font = "600 12px system-ui, sans-serif";
    g.textAlign = "center";
    for (const l of labels) {
      const half = g.measureText(l.text).width / 2 + 4, x = half * 2 > w ? w / 2 : Math.min(w - half, Math.max(half, l.at[0])), y = Math.min(height - 8, Math.max(16, l.at[1]));
      g.lineWidth = 4; g.strokeStyle = colour("--card"); g.strokeText(l.text, x, y, w - 8);
      g.fillStyle = l.fill; g.fillText(l.text, x, y, w - 8);
    }
    this.frames = (this.frames ?? 0) + 1;
  }
}

const css = ([r, g, b, a], bright) => `rgba(${[r, g, b].map((v) => Math.round(255 * Math.min(1, Math.max(0, v * bright)))).join(",")},${Math.min(1, Math.max(0, a))})`;

/** Three arrows that show a frame. */
export function axes(pose, size) {
  return [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((v) => ({ kind: "line", points: [pose.p, add(pose.p, turn(pose.q, scale(v, size)))], rgba: [...v.map((x) => 0.2 + 0.65 * x), 1], width: 2 }));
}
/** A wire box. */
export function wires(pose, [a, b, c], rgba) {
  const corner = (i) => add(pose.p, turn(pose.q, [(i & 1 ? a : -a) / 2, (i & 2 ? b : -b) / 2, (i & 4 ? c : -c) / 2])), list = [];
  for (let i = 0; i < 8; i++) for (const bit of [1, 2, 4]) if (!(i & bit)) list.push({ kind: "line", points: [corner(i), corner(i | bit)], rgba, width: 1.5 });
  return list;
}
