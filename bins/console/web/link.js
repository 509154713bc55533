// The one connection of a page to its console: questions, subscriptions, the graph. Everything comes back after a break.

const BEAT = 1000, STALE = 3500, AGAIN = [300, 700, 1500, 3000];

class Link extends EventTarget {
  #socket = null; #questions = new Map(); #next = 1; #subs = new Map(); #tries = 0; #heard = 0; #wantsGraph = false; #measured = []; #left = false;
  state = "connecting"; welcome = null; graph = null; operators = {}; rates = {};

  start() {
    this.#connect();
    // Whoever leaves a page operates nothing from it any more, at once.
    addEventListener("pagehide", () => { this.#left = true; this.#socket?.close(); });
    addEventListener("pageshow", () => { if (this.#left) { this.#left = false; this.#connect(); } });
    setInterval(() => {
      if (this.#socket?.readyState === WebSocket.OPEN) this.#send({ op: "beat" });
      this.#set();
    }, BEAT);
  }

  #connect() {
    const socket = this.#socket = new WebSocket(`ws${location.protocol === "https:" ? "s" : ""}://${location.host}/ws`, "rosless.console.v1");
    socket.onopen = () => {
      this.#tries = 0; this.#heard = Date.now();
      if (this.#wantsGraph) this.#send({ op: "graph" });
      for (const [sub, s] of this.#subs) this.#subscribe(sub, s);
      if (this.#measured.length) this.#send({ op: "measure", topics: this.#measured });
      this.#set();
    };
    socket.onmessage = (event) => { this.#heard = Date.now(); this.#hear(JSON.parse(event.data)); };
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      for (const { reject } of this.#questions.values()) reject(new Error("the connection to the console broke"));
      this.#questions.clear();
      this.welcome = null;
      this.#set();
      if (!this.#left) setTimeout(() => this.#connect(), AGAIN[Math.min(this.#tries++, AGAIN.length - 1)]);
    };
  }

  #set() {
    const open = this.#socket?.readyState === WebSocket.OPEN;
    const state = !open ? "disconnected" : Date.now() - this.#heard > STALE ? "stale" : "live";
    if (state !== this.state) { this.state = state; this.#emit("state"); }
  }

  #emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }
  #send(message) { if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message)); }

  /** How much this browser's clock is ahead of the console's; ages are told by its own. */
  #skew = 0;
  #hear(message) {
    if (message.op === "beat") { const skew = Date.now() - message.t; this.#skew = Math.abs(skew) > 400 ? skew : 0; }
    if (message.op === "message") message.t += this.#skew;
    switch (message.op) {
      case "answer": {
        const question = this.#questions.get(message.id);
        this.#questions.delete(message.id);
        if (question) "ok" in message ? question.resolve(message.ok) : question.reject(new Error(message.error));
        break;
      }
      case "message": this.#subs.get(message.sub)?.callback(message.value, message); break;
      case "welcome": this.welcome = message; this.#emit("welcome"); break;
      case "graph": this.graph = message; this.#emit("graph"); break;
      case "operators": this.operators = message.operators; this.#emit("operators"); break;
      case "rates": this.rates = message.topics; this.#emit("rates"); break;
      case "notice": this.#emit("notice", message); break;
      case "stopped": this.#emit("stopped", message); break;
    }
    this.#set();
  }

  /** Asks the console; the answer, or an Error with its words. */
  ask(op, fields = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error("no connection to the console"));
      this.#questions.set(id, { resolve, reject });
      this.#send({ id, op, ...fields });
    });
  }

  /** Says something that is not answered. */
  say(op, fields = {}) { this.#send({ op, ...fields }); }

  /**
   * Values of a topic, at most every `period` ms of each publisher, until the returned function is called. Waits for a topic that is
   * not there. With `keep` the console keeps the last so many for whoever comes later; after a break they come again.
   */
  subscribe(topic, type, callback, period = 50, keep = 0) {
    const sub = this.#next++, s = { topic, type, callback, period, keep, ended: false };
    this.#subs.set(sub, s);
    this.#subscribe(sub, s);
    return () => { s.ended = true; this.#subs.delete(sub); this.say("unsubscribe", { sub }); };
  }

  #subscribe(sub, s) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.ask("subscribe", { sub, topic: s.topic, type: s.type ?? null, period: s.period, keep: s.keep }).catch((error) => {
      s.error?.(error);
      if (!s.ended) setTimeout(() => { if (!s.ended) this.#subscribe(sub, s); }, 1500);
    });
  }

  /** The graph from now on: listen to the event `graph`. */
  followGraph() { if (!this.#wantsGraph) { this.#wantsGraph = true; this.#send({ op: "graph" }); } }
  measure(topics) { this.#measured = topics; this.#send({ op: "measure", topics }); }
  publish(topic, type, value) { return this.ask("publish", { topic, type, value }); }
  call(service, type, value, timeout = 10) { return this.ask("call", { service, type, value, timeout }); }

  /** Sends a goal: `update` hears accepted, feedback and the end; what is returned cancels it. */
  async goal(action, type, goal, update) {
    const uuid = [...crypto.getRandomValues(new Uint8Array(16))], same = (id) => id.uuid.every((b, i) => b === uuid[i]);
    const end = this.subscribe(`${action}/_action/feedback`, `${type}_FeedbackMessage`, (m) => same(m.goal_id) && update("feedback", m.feedback), 0);
    try {
      const sent = await this.call(`${action}/_action/send_goal`, `${type}_SendGoal`, { goal_id: { uuid }, goal });
      update(sent.accepted ? "accepted" : "rejected");
      if (!sent.accepted) return end();
      this.call(`${action}/_action/get_result`, `${type}_GetResult`, { goal_id: { uuid } }, 110)
        .then((r) => update("ended", r.result, r.status), (e) => update("failed", e.message)).finally(end);
      return () => this.call(`${action}/_action/cancel_goal`, "action_msgs/srv/CancelGoal", { goal_info: { goal_id: { uuid } } });
    } catch (error) { end(); update("failed", error.message); }
  }

  /** Names of topics of a type. */
  topicsOf(...types) { return (this.graph?.topics ?? []).filter((t) => t.types.some((x) => types.includes(x))); }
  node(name) { return (this.graph?.nodes ?? []).find((n) => n.name === name); }
  get you() { return this.welcome?.you; }
}

export const link = new Link();
