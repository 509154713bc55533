// The frame of every page: which one is shown, the connection, STOP.
import { link } from "/link.js";
import { h, fill, failed, notice, Page } from "/ui.js";

const PAGES = [
  ["/capture", "Capture", () => import("/capture.js")],
  ["/arm", "Arm", () => import("/arm.js")],
  ["/motion", "Motion", () => import("/motion.js")],
  ["/mechanism", "Mechanism", () => import("/mechanism.js")],
  ["/dummy", "Dummy", () => import("/dummy.js")],
  ["/graph", "Graph", () => import("/graph.js")],
];

const main = document.getElementById("page"), nav = document.getElementById("nav");
let page = null;

async function show() {
  page?.end();
  page = new Page();
  const found = PAGES.find(([path]) => path === location.pathname);
  for (const a of nav.children) a.pathname === location.pathname ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current");
  document.title = found ? `${found[1]} · rosless` : "rosless console";
  const mine = page;
  if (!found) return home(mine);
  try {
    const module = await found[2]();
    if (mine === page) { main.replaceChildren(); module.default(main, mine); }
  } catch (error) { failed(error); }
}

function home(page) {
  const list = h("div.grid");
  const draw = () => fill(list, PAGES.map(([path, name]) => h("a.card", { href: path }, h("h2", name), h("span.dim", ABOUT[path](link.graph)))));
  fill(main, h("h1", "rosless console"), h("p.dim", { id: "where" }), list);
  const where = () => { const w = link.welcome; main.querySelector("#where")?.replaceChildren(w ? `DDS domain ${w.domain}, node ${w.node}, version ${w.version}${w.operator ? "" : ", read-only"}` : ""); };
  page.on(link, "welcome", where); page.on(link, "graph", draw);
  link.followGraph(); where(); draw();
}
const there = (graph, node, yes, no) => (graph?.nodes.some((n) => n.name.endsWith("/" + node)) ? yes : no);
const ABOUT = {
  "/capture": (g) => there(g, "mocap_controller", "Start and stop systems together, clocks, rates", "no mocap-controller on the graph"),
  "/arm": (g) => there(g, "arm_controller", "Aim, throw, and see what is caught", "no sim-arm on the graph"),
  "/motion": (g) => there(g, "motion_primitive_controller", "Programs, queue and plan of a robot", "no primitive-queue on the graph"),
  "/mechanism": (g) => there(g, "sequence_controller", "Phases, goals and single actuators", "no mechanism-controller on the graph"),
  "/dummy": (g) => there(g, "dummy_mechanism", "Switches, faults and the scene", "no dummy-mechanism on the graph"),
  "/graph": (g) => (g ? `${g.nodes.length} nodes, ${g.topics.length} topics, ${g.services.length} services` : "Nodes, topics, services, parameters, log"),
};

for (const [path, name] of PAGES) nav.append(h("a", { href: path }, name));
document.addEventListener("click", (event) => {
  const a = event.target.closest?.("a[href]");
  if (!a || a.origin !== location.origin || a.hasAttribute("download") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (a.pathname !== location.pathname || a.pathname === "/") { history.pushState(null, "", a.href); show(); main.focus(); }
});
addEventListener("popstate", show);

const stop = document.getElementById("stop");
function stopAll() {
  // A question that is open does not come before it.
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  stop.classList.remove("sent"); void stop.offsetWidth; stop.classList.add("sent");
  link.ask("stop").catch((error) => notice(`STOP was not sent: ${error.message}`, "error"));
}
stop.addEventListener("click", stopAll);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") { event.preventDefault(); stopAll(); }
}, true);

const pill = document.getElementById("link");
const WORDS = { live: ["live", "good"], stale: ["nothing heard", "warn"], disconnected: ["no connection", "bad"], connecting: ["connecting", ""] };
link.addEventListener("state", () => { const [text, kind] = WORDS[link.state]; pill.className = `pill ${kind}`; pill.textContent = text; document.body.dataset.link = link.state; });
link.addEventListener("stopped", ({ detail }) => notice(`STOP by ${detail.by}${detail.told.length ? `: ${detail.told.join(", ")}` : ": nothing on the graph can move"}`, "stop"));
link.addEventListener("notice", ({ detail }) => notice(detail.text, detail.level));

const theme = document.getElementById("theme");
const saved = localStorage.getItem("theme");
if (saved) document.documentElement.dataset.theme = saved;
theme.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  localStorage.setItem("theme", (document.documentElement.dataset.theme = dark ? "light" : "dark"));
});

link.start();
show();
