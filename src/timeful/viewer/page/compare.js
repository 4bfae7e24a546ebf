// Two episodes on one axis with one cursor: the first difference, the decisions side by side.
import { findRun, nameRun, parseInstant, printInstant, replaceAddress, writeAddress } from "./address.js";
import { makeAxis, piecewise } from "./axis.js";
import { button, count, el, oncePerFrame, plain, seconds, select } from "./dom.js";
import { makeList } from "./list.js";
import { decodeLanes, label, sayCounts, sayInstant, sayVerdict, scoreAt } from "./model.js";
import { makeTimeline } from "./timeline.js";
import { VERDICTS } from "./verdicts.js";
import { keepInSight, zoom } from "./window.js";

export async function showCompare(app, main, address) {
  const [a, b] = await Promise.all([findEpisode(app, address.query.get("a")), findEpisode(app, address.query.get("b"))]);
  if (!a || !b) return chooseSecond(app, main, a ?? b);
  const packs = await Promise.all([a, b].map(({ run, number }) => app.store.part(run.number, number, "lanes")));
  const models = await Promise.all(packs.map(decodeLanes));
  const pairs = pairDecisions(...models);
  const first = pairs.findIndex((pair) => pair.kind === "other" || pair.kind.startsWith("only"));
  const longer = models[0].end >= models[1].end ? models[0] : models[1];
  const start = parseInstant(address.query.get("t")) ?? (first < 0 ? longer.end / 2 : pairs[first].at);
  let [u, kind] = [0, "time"];
  const views = models.map(() => ({ lane: -1, item: null }));
  const move = (position) => {
    u = Math.min(Math.max(position, 0), views[0].axis.size);
    for (const view of views) view.t = view.axis.toTime(u);
    refresh();
  };
  const setAxis = (name, t) => {
    kind = name;
    views.forEach((view, place) => {
      view.axis = kind === "turn" ? turnAxis(pairs, "ab"[place], models[place]) : makeAxis(longer, "time", false);
      [view.from, view.to] = [0, view.axis.size];
    });
    move(views[0].axis.toAxis(t));
  };
  // Both show the same part.
  const sync = (place) => {
    [views[1 - place].from, views[1 - place].to] = [views[place].from, views[place].to];
    refresh();
  };
  const lines = [el("p", { class: "status" }), el("p", { class: "status" })];
  let timer = 0;
  const refresh = oncePerFrame(() => {
    timelines.forEach((timeline, place) => {
      timeline.draw();
      const t = Math.min(views[place].t, models[place].end);
      const score = scoreAt(models[place], t);
      lines[place].textContent = `${sayInstant(models[place], t)}${score === null ? "" : ` · score ${plain(score)}`}`;
      timeline.canvas.setAttribute("aria-valuenow", String(Math.round(t)));
      timeline.canvas.setAttribute("aria-valuetext", lines[place].textContent);
    });
    clearTimeout(timer);
    timer = setTimeout(() => main.isConnected && replaceAddress(writeAddress(["compare"], { a: a.name, b: b.name, t: printInstant(views[0].t), axis: kind === "turn" ? kind : null })), 200);
  });
  setAxis(address.query.get("axis") ?? kind, start);
  const timelines = models.map((model, place) => {
    const scrub = (t) => move(views[place].axis.toAxis(t));
    return makeTimeline(model, views[place], { scrub, pick: (item) => scrub(item.at), lane: () => {}, change: () => sync(place) }, `Lanes of episode ${"AB"[place]}`);
  });
  const go = (place) => {
    const { a, b, at } = pairs[place];
    const side = a?.at === at || !b ? 0 : 1;
    move(views[side].axis.toAxis(at));
    keepInSight(views[side], at);
    sync(side);
  };
  const list = pairList(pairs, go);
  const zoomBy = (factor) => { zoom(views[0], factor, u); sync(0); };
  main.replaceChildren(
    el("div", { class: "title" }, el("h1", { text: "Two episodes compared" })),
    el("p", { class: "lead", text: sayDifference(pairs, first) }),
    el("div", { class: "controls" }, button("first difference", "Go to the first difference", () => list.go(first), { disabled: first < 0 }), button("+", "Zoom in (+)", () => zoomBy(0.6)), button("−", "Zoom out (-)", () => zoomBy(1 / 0.6)), button("whole", "Show the whole (0)", () => zoomBy(1e9)), select("Axis", [["time", "by time"], ["turn", "by turn"]], kind, (name) => setAxis(name, views[0].t))),
    ...models.flatMap((model, place) => [el("h2", { class: "row" }, el("a", { href: writeAddress([nameRun(app.catalogue, [a, b][place].run), "e", [a, b][place].key]), text: `${"AB"[place]}  ${model.pack.title}` }), el("span", { class: "caption", text: `score ${plain(model.pack.score ?? "unknown")} · ${sayCounts(model.pack)}` })), timelines[place].box, lines[place]]),
    el("section", { class: "panel" }, el("h2", { text: `${count(pairs.length, "decision")}, side by side` }), list.box));
  list.setCount(pairs.length);
  if (first >= 0) list.go(first, true);
  refresh();
  const keys = { ArrowLeft: () => move(u - (views[0].to - views[0].from) / 100), ArrowRight: () => move(u + (views[0].to - views[0].from) / 100), "+": () => zoomBy(0.6), "-": () => zoomBy(1 / 0.6), 0: () => zoomBy(1e9), Home: () => move(0), End: () => move(views[0].axis.size) };
  return { title: "compare", theme: refresh, keys: (event) => !event.altKey && !event.ctrlKey && event.key in keys && (keys[event.key](), true) };
}

function sayDifference(pairs, first) {
  const same = pairs.filter((pair) => pair.kind === "same" || pair.kind === "moved").length;
  if (first < 0) return `All ${count(pairs.length, "decision")} are the same.`;
  return `The first difference is at ${seconds(pairs[first].at)} (${pairs[first].slot || "an action"}). ${plain(same)} of ${count(pairs.length, "decision")} are the same.`;
}

// An axis on which each decision of both episodes has the same width.
function turnAxis(pairs, side, model) {
  const knots = pairs.map((pair, place) => [pair[side]?.at, place + 1]).filter(([at]) => at !== undefined).sort((x, y) => x[0] - y[0]);
  const positions = knots.map(([, place]) => place).sort((x, y) => x - y);
  return piecewise([0, ...knots.map(([at]) => at), model.end], [0, ...positions, pairs.length + 1], "event");
}

// An address RUN/e/KEY as a run and the number of an episode.
async function findEpisode(app, name) {
  const parts = (name ?? "").split("?")[0].split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const run = parts.length >= 3 ? findRun(app.catalogue, parts[0]) : null;
  if (!run) return null;
  const rows = await app.getRows(run);
  const key = parts.slice(2).join("/");
  const number = rows.keys.indexOf(key);
  return number < 0 ? null : { name, run, rows, key, number };
}

// Episodes to compare with: those that share most of what identifies an episode come first.
async function chooseSecond(app, main, a) {
  if (!a) throw new Error("an address to compare names two episodes: #/compare?a=RUN/e/KEY&b=RUN/e/KEY");
  const options = [];
  for (const run of app.catalogue.runs) {
    const rows = run.number === a.run.number ? a.rows : await app.getRows(run);
    const likeness = alike(a, rows);
    rows.keys.forEach((key, number) => {
      if (run.number !== a.run.number || number !== a.number) options.push({ likeness: likeness(number) + (run.suite === a.run.suite), name: [nameRun(app.catalogue, run), "e", key].map(encodeURIComponent).join("/"), text: `${run.name}: ${key}` });
    });
  }
  options.sort((x, y) => y.likeness - x.likeness);
  main.replaceChildren(el("h1", { text: "Compare with" }), el("p", { class: "lead", text: `${a.run.name}: ${a.key}` }),
    options.length ? el("div", { class: "row" }, select("Second episode", [["", "choose an episode, the most alike first"], ...options.slice(0, 500).map(({ name, text }) => [name, text])], "", (name) => name && (location.hash = writeAddress(["compare"], { a: a.name, b: name })))) : el("p", { class: "notice", text: "There is no other episode here." }));
  return { title: "compare" };
}

function alike(a, rows) {
  const names = a.rows.columns.filter((column) => column.kind === "text" || /seed|sample|episode|dialogue|place/.test(column.name));
  const pairs = names.map((column) => [column.values[a.number], rows.columns.find((other) => other.name === column.name)?.values]).filter(([, values]) => values);
  return (number) => pairs.filter(([value, values]) => value !== null && values[number] === value).length;
}

// Decisions of two episodes by slot, or by their order where they have none.
function pairDecisions(a, b) {
  const [left, right] = [decisionsOf(a), decisionsOf(b)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const pairs = names.map((name) => {
    const [x, y] = [left.get(name), right.get(name)];
    const kind = !x ? "only B" : !y ? "only A" : x.action !== y.action || x.kind !== y.kind ? "other" : x.at === y.at ? "same" : "moved";
    return { slot: name, a: x, b: y, kind, at: Math.min(x?.at ?? Infinity, y?.at ?? Infinity) };
  });
  return pairs.sort((x, y) => x.at - y.at);
}

function decisionsOf(model) {
  const decisions = new Map();
  let number = 0;
  for (const item of model.items) {
    const isAction = item.mark >= 0 && model.marks.kind[item.mark] === "action";
    if (model.lanes[item.lane].kind !== "actions" || (!isAction && item.verdict < 0)) continue;
    const slot = item.verdict < 0 ? "" : label(model, model.verdicts.slot[item.verdict]);
    let name = slot || `action ${++number}`;
    for (let again = 2; decisions.has(name); again++) name = `${slot || `action ${number}`} (${again})`;
    decisions.set(name, { at: item.at, action: isAction ? label(model, model.marks.label[item.mark]) : "", kind: item.verdict < 0 ? "" : model.verdicts.kind[item.verdict], slack: model.verdicts.slack[item.verdict], text: item.verdict < 0 ? "" : sayVerdict(model, item.verdict, false) });
  }
  return decisions;
}

function pairList(pairs, go) {
  const side = (decision) => (decision ? `${seconds(decision.at)}  ${decision.action}  ${decision.text}` : "–");
  const slack = ({ a, b }) => (typeof a?.slack === "number" && typeof b?.slack === "number" && a.slack !== b.slack ? `, slack ${a.slack < b.slack ? "+" : "−"}${seconds(Math.abs(b.slack - a.slack))}` : "");
  const moved = (pair) => (pair.kind === "moved" ? `moved by ${seconds(pair.b.at - pair.a.at)}` : pair.kind) + slack(pair);
  const list = makeList({
    name: "Decisions of both episodes",
    render: (place) => [pairs[place].slot, side(pairs[place].a), side(pairs[place].b), moved(pairs[place])].map((text, column) => el("span", { text, class: ["lane", "what", "what", "kind"][column] })),
    row: (place) => ({ class: `pair${pairs[place].kind === "same" || pairs[place].kind === "moved" ? "" : ` v-${VERDICTS.late.role}`}` }),
    open: go,
    move: go,
  });
  list.box.classList.add("pairs");
  return list;
}
