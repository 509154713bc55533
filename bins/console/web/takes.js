// Recordings of sessions: what is in them, and their files.
import { link } from "/link.js";
import { h, fill, bytes, duration, failed } from "/ui.js";

/** A card with all takes on the console's machine; `status` gives the recorder's last word. */
export function takes(page, status) {
  const body = h("div"), element = h("div.card", h("div.row.end", h("h2", "Takes"), h("button.small", { onclick: () => load() }, "Look again")), body), open = new Set();
  let last = "";
  async function load() {
    try { const found = await link.ask("takes"); if (JSON.stringify(found) !== last) { last = JSON.stringify(found); draw(found); } } catch (error) { if (link.state === "live") failed(error); }
  }
  const path = (...parts) => `/takes/${parts.flatMap((p) => p.split("/")).map(encodeURIComponent).join("/")}`;
  const when = (ns) => new Date(ns / 1e6).toLocaleString();
  const clock = (c) => (c ? `${(c.nanoseconds / 1e6).toFixed(2)} ± ${(c.uncertainty / 1e6).toFixed(2)} ms` : "–");

  function manifest({ systems = {}, topics = {}, failures = [], restarts = 0 }) {
    return [
      h("h3", "Systems"), h("div.scroll", h("table", h("tr", ["", "session", "clock at start", "clock at stop", "states"].map((t) => h(t.startsWith("clock") ? "th.num" : "th", t))), Object.entries(systems).map(([name, s]) => h("tr", h("td", h("b", name)), h("td", s.session ?? h("span.warn", "outside of any")), h("td.num", clock(s.clock_at_start)), h("td.num", clock(s.clock_at_stop)), h("td.dim", s.states.map(([, state]) => state).join(" → ")))))),
      h("h3", "Topics"), h("div.scroll", h("table", h("tr", ["", "type", "messages", "rate", "lost", "dropped"].map((t, i) => h(i > 1 ? "th.num" : "th", t))), Object.entries(topics).map(([name, t]) => h("tr", h("td", name), h("td.dim", t.type), h("td.num", t.messages), h("td.num", `${t.rate.toFixed(1)} Hz`), h(t.lost ? "td.num.warn" : "td.num", t.lost), h(t.dropped ? "td.num.bad" : "td.num", t.dropped))))),
      restarts ? h("p.warn", `The recorder was restarted ${restarts} times in the middle of it.`) : null,
      failures.length ? [h("h3", "What went wrong"), failures.map(([at, text]) => h("div.bad", `${when(at)}: ${text}`))] : null,
    ];
  }
  function draw({ dir, count, takes }) {
    const s = status(), writing = s?.folder?.split("/").at(-1);
    const elsewhere = s?.recording && !takes.some((t) => t.name === writing);
    fill(body, h("p.dim", `in ${dir} on the console's machine`), elsewhere ? h("p.warn", `The recorder writes to ${s.folder}, which is not here: start the console with --takes, on the recorder's machine.`) : null,
      takes.length ? takes.map(({ name, files, manifest: m }) => {
        const size = files.reduce((sum, f) => sum + f.size, 0), messages = Object.values(m.topics ?? {}).reduce((sum, t) => sum + t.messages, 0);
        const box = h("details", { "data-take": name, open: open.has(name) }, h("summary", h("b", m.session ?? name), " ", h("span.dim", m.started ? when(m.started) : ""), " ",
          m.stopped ? h("span.num", duration((m.stopped - m.started) / 1e9)) : h("span.pill.good", "under way"), " ", h("span.dim.num", `${Object.keys(m.systems ?? {}).length} systems, ${messages} messages, ${bytes(size)}`), " ", m.failures?.length ? h("span.pill.bad", `${m.failures.length} failures`) : null, " ", h("a", { href: path(`${name}.tar`), download: `${name}.tar` }, "Download")),
          manifest(m), h("h3", "Files"), files.map((f) => h("div", h("a", { href: path(name, f.name), download: f.name.split("/").at(-1) }, f.name), " ", h("span.age", bytes(f.size)))));
        box.addEventListener("toggle", () => { box.open ? open.add(name) : open.delete(name); });
        return box;
      }) : h("span.dim", "None yet: session-recorder makes one of each session."), count > takes.length ? h("p.dim", `and ${count - takes.length} older ones`) : null);
  }
  page.on(link, "welcome", load);
  page.every(10000, load);
  if (link.state === "live") load();
  return { element, load };
}
