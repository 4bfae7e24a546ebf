// The page of an episode: lanes, cursor, the thoughts and the world at that instant, details.
import { nameRun, parseInstant, printInstant, replaceAddress, writeAddress } from "./address.js";
import { makeAxis } from "./axis.js";
import { makeConversation, readConversation } from "./conversation.js";
import { describe, showDetails } from "./details.js";
import { badge, button, checkbox, colours, copyText, count, el, fitCanvas, lastUpTo, oncePerFrame, plain, seconds, select, setText, visible } from "./dom.js";
import { makeList } from "./list.js";
import { decodeLanes, firstInstant, sayCounts, sayInstant, sayItem, sayVerdict, scoreAt } from "./model.js";
import { makePlayer, nameSpeed, SPEEDS, usualSpeed } from "./player.js";
import { decodeTexts, makeThoughtPanels, tokensAt } from "./thoughts.js";
import { makeOverview } from "./overview.js";
import { makeTimeline } from "./timeline.js";
import { drawVerdict, isBad, VERDICTS } from "./verdicts.js";
import { keepInSight, zoom } from "./window.js";
import { decodeFrames, makeWorld } from "./world.js";

const CLOCKS = { token: "simulated time: a second is 1,000 tokens", virtual: "simulated time", wall: "real time" };

export async function showEpisode(app, main, { run, number, key, address }) {
  const bar = main.appendChild(el("progress", { "aria-label": "Reading the episode" }));
  const pack = await app.store.part(run.number, number, "lanes", (share) => (bar.value = share));
  const model = await decodeLanes(pack);
  const view = readView(model, address.query);
  const page = { app, main, run, number, key, model, view, texts: null, frames: null, conversation: null };
  build(page);
  page.refresh();
  loadParts(page);
  return { title: pack.title, keys: (event) => onKey(page, event), leave: () => page.player.stop(), theme: page.redrawAll, grow: pack.status === "open" ? app.reload : null };
}

// The view that an address asks for, or the usual one.
function readView(model, query) {
  const kind = query.get("axis") === "event" ? "event" : "time";
  const axis = makeAxis(model, kind, query.get("fold") === "1");
  const t = query.get("follow") === "1" ? model.end : parseInstant(query.get("t"));
  const view = { axis, kind, folds: query.get("fold") === "1", t: Math.min(t ?? firstInstant(model), model.end), from: 0, to: axis.size, lane: -1, item: null };
  const [from, to] = (query.get("v") ?? "").split("..").map(parseInstant);
  if (from !== null && to !== null && from !== undefined && to !== undefined && to > from) {
    view.from = axis.toAxis(from);
    view.to = Math.max(axis.toAxis(to), view.from + 1);
  } else showPart(model, view);
  const lane = query.get("lane");
  if (lane) view.lane = model.lanes.findIndex((other) => other.title === lane);
  const line = Number(query.get("sel"));
  if (line) view.item = model.items.find((item) => item.line === line) ?? null;
  return view;
}

// Of a long episode, the part around the cursor that has about 24 verdicts, or 150 events.
function showPart(model, view) {
  const isJudged = model.verdicts.at.length > 40;
  const [at, before, after] = isJudged ? [model.verdicts.at, 14, 10] : [model.itemAt, 90, 60];
  if (at.length <= before * 3 || view.kind !== "time") return;
  const here = lastUpTo(at, view.t);
  const first = at[Math.max(here - before, 0)];
  const last = at[Math.min(Math.max(here, before) + after, at.length - 1)];
  if (last > first) [view.from, view.to] = [view.axis.toAxis(first - (last - first) * 0.03), view.axis.toAxis(last)];
  view.from = Math.max(view.from, 0);
}

async function loadParts(page) {
  const { app, run, number } = page;
  const read = async (part, decode) => {
    try {
      return decode(await app.store.part(run.number, number, part));
    } catch (error) {
      page.notices.append(el("p", { class: "notice", text: `The ${part} of this episode cannot be read: ${error.message}` }));
      return null;
    }
  };
  const frames = read("frames", decodeFrames);
  page.texts = await read("texts", decodeTexts);
  if (page.texts && page.run.suite === "proactor") {
    const turns = readConversation(page.model, page.texts);
    if (turns) {
      page.conversation = makeConversation(page.model, turns, page.scrub);
      page.worldBox.replaceChildren(el("h2", { text: "Conversation until the cursor" }), page.conversation.box);
    }
  }
  page.refresh();
  page.frames = await frames;
  page.refresh();
}

function build(page) {
  const { model, view, main } = page;
  const refresh = oncePerFrame(() => refreshNow(page));
  page.refresh = refresh;
  page.scrub = (t) => {
    view.t = Math.min(Math.max(t, 0), model.end);
    refresh();
  };
  page.pick = (item) => {
    view.item = item;
    view.lane = item.lane;
    page.scrub(item.at);
    keepInSight(view, item.at);
    showDetails(page.detailBox, model, page.texts, item, page.app.say);
  };
  page.player = makePlayer({
    end: model.end,
    speed: usualSpeed(model.end),
    getTime: () => view.t,
    getAxis: () => view.axis,
    onTime: (t) => {
      sayPassed(page, view.t, t);
      page.scrub(t);
      keepInSight(view, t);
    },
    onState: () => showPlayer(page),
  });
  page.timeline = makeTimeline(model, view, { scrub: page.scrub, pick: page.pick, lane: (lane) => { view.lane = lane; refresh(); }, change: refresh }, "Lanes");
  page.overview = makeOverview(model, view, { change: refresh });
  page.panels = makeThoughtPanels(model);
  page.world = makeWorld();
  page.asItIs = false;
  page.detailBox = el("section", { class: "panel details" });
  page.list = makeEventList(page);
  page.notices = el("div", { class: "notices" }, notices(page));
  page.worldBox = el("section", { class: "panel" },
    el("h2", { text: "The world" }),
    checkbox("as it is, not as the agent sees it", false, (value) => { page.asItIs = value; refresh(); }),
    page.world.box);
  main.replaceChildren(...heading(page), page.notices, legend(page), controls(page), page.overview.box, page.timeline.box, page.status = el("p", { class: "status" }),
    el("div", { class: "panels" }, el("div", { class: "side" }, page.worldBox, page.detailBox), el("div", { class: "middle" }, page.panels.controls, page.panels.box), eventPanel(page)),
    el("details", { class: "about" }, el("summary", { text: "Settings of this episode" }), describe(model.pack.about)));
  page.redrawAll = () => {
    page.world.forget();
    refresh();
    drawLegend(page);
  };
  showDetails(page.detailBox, model, null, view.item, page.app.say);
  showPlayer(page);
  setTimeout(() => drawLegend(page));
}

function heading({ model, run, app, key }) {
  const { pack } = model;
  const facts = [`${seconds(pack.end, 1)} of ${CLOCKS[pack.clock]}`, pack.score === null ? null : `score ${plain(pack.score)}${pack.status === "open" ? " so far" : ""}`, sayCounts(pack) || "no verdicts"];
  const badges = [];
  if (pack.stand_in) badges.push(badge("stand-in: no language model was run", "A program played the part of the model."));
  if (run.kind === "example") badges.push(badge("bundled example"));
  if (pack.status === "open") badges.push(badge("so far: the record has no end"));
  if (!pack.has_texts) badges.push(badge("answers only"));
  const here = writeAddress([nameRun(app.catalogue, run), "e", key]);
  return [
    el("div", { class: "title" }, el("h1", { text: pack.title || key }), badges,
      el("a", { class: "compare-link", href: writeAddress(["compare"], { a: here.slice(2) }), text: "compare with…" })),
    el("p", { class: "lead", text: `One episode: what happened in the world, what the agent thought meanwhile, and whether its actions came in time. ${facts.filter(Boolean).join(" · ")}.` }),
  ];
}

function notices({ model, app }) {
  const { pack } = model;
  const texts = [...pack.notices];
  if (pack.error) texts.unshift(`This episode failed. ${pack.error}`);
  if (app.catalogue.left_out?.length) texts.push(`The author of this page left out: ${app.catalogue.left_out.join(", ")}.`);
  return texts.map((text) => el("p", { class: `notice ${pack.error && text.startsWith("This episode failed") ? "is-bad" : ""}`, text }));
}

// The shapes of the verdicts; those that this episode has come first, with their counts.
function legend(page) {
  const { counts } = page.model.pack;
  const kinds = Object.keys(VERDICTS);
  const entry = (kind) => el("li", { title: VERDICTS[kind].help, class: counts[kind] ? "" : "absent" }, el("canvas", { "data-kind": kind, "aria-hidden": "true" }), el("span", { text: counts[kind] ? `${kind} ${plain(counts[kind])}` : kind }), el("span", { class: "sr", text: `: ${VERDICTS[kind].help}` }));
  const present = kinds.filter((kind) => counts[kind]);
  page.legend = el("div", { class: "legend" },
    el("ul", { "aria-label": "Shapes of the verdicts of this episode" }, present.map(entry),
      el("li", {}, el("span", { class: "swatch window", "aria-hidden": "true" }), el("span", { text: "window until a deadline" })),
      el("li", {}, el("span", { class: "swatch slack", "aria-hidden": "true" }), el("span", { text: "time left, or missing" })),
      el("li", {}, el("span", { class: "swatch pale", "aria-hidden": "true" }), el("span", { text: "pale: later than the cursor" }))),
    el("details", { on: { toggle: () => drawLegend(page) } }, el("summary", { text: "all shapes" }), el("ul", { class: "all", "aria-label": "Shapes of all verdicts" }, kinds.map((kind) => {
      const item = entry(kind);
      item.append(el("span", { class: "help", "aria-hidden": "true", text: VERDICTS[kind].help }));
      return item;
    }))));
  return page.legend;
}

function drawLegend(page) {
  for (const canvas of page.legend.querySelectorAll(":scope > ul canvas, [open] canvas")) drawVerdict(fitCanvas(canvas, 18, 18), canvas.dataset.kind, 9, 9, 5, colours());
}

function controls(page) {
  const { view, player, model } = page;
  page.playButton = button("▶ play", "Play (Space)", player.toggle, { class: "primary" });
  page.speed = select("Speed", SPEEDS.map((speed) => [String(speed), nameSpeed(speed)]), String(player.speed), (value) => { player.speed = Number(value); showPlayer(page); });
  page.clock = el("output", { class: "clock", "aria-live": "off" });
  page.axisSelect = select("Axis", [["time", "time"], ["event", "event"]], view.kind, (value) => { view.kind = value; changeAxis(page); });
  page.foldBox = checkbox("fold silence", view.folds, (value) => { view.folds = value; changeAxis(page); });
  const fault = (direction) => () => jump(page, model.bad, direction);
  return el("div", { class: "controls", role: "toolbar", "aria-label": "Playing" },
    button("|◂", "To the start (Home)", () => page.scrub(0)),
    button("‹ event", "Event before (Left)", () => step(page, -1)),
    page.playButton,
    button("event ›", "Next event (Right)", () => step(page, 1)),
    button("▸|", "To the end (End)", () => page.scrub(model.end)),
    page.speed, page.clock,
    el("span", { class: "group" }, button("◂ fault", "Late or lost before ([)", fault(-1), { disabled: !model.bad.length }), button("fault ▸", "Next late or lost (])", fault(1), { disabled: !model.bad.length })),
    el("span", { class: "group" }, button("+", "Zoom in (+)", () => zoomBy(page, 0.6)), button("−", "Zoom out (-)", () => zoomBy(page, 1 / 0.6)), button("whole", "Show the whole episode (0)", () => showWhole(page))),
    el("label", { class: "check" }, "axis by ", page.axisSelect), page.foldBox,
    button("copy link", "Copy the address of this view (y)", () => copyText(location.href, page.app.say)));
}

function changeAxis(page) {
  const { view, model } = page;
  const [from, to] = [view.axis.toTime(view.from), view.axis.toTime(view.to)];
  const isWhole = view.to - view.from >= view.axis.size * 0.999;
  view.axis = makeAxis(model, view.kind, view.folds);
  view.from = isWhole ? 0 : view.axis.toAxis(from);
  view.to = isWhole ? view.axis.size : Math.max(view.axis.toAxis(to), view.from + 1);
  page.refresh();
}

function zoomBy(page, factor) {
  zoom(page.view, factor, page.view.axis.toAxis(page.view.t));
  page.refresh();
}

function showWhole(page) {
  [page.view.from, page.view.to] = [0, page.view.axis.size];
  page.refresh();
}

function showPlayer(page) {
  const { player } = page;
  page.playButton.textContent = player.playing ? "⏸ stop" : "▶ play";
  page.playButton.setAttribute("aria-label", player.playing ? "Stop (Space)" : "Play (Space)");
  page.speed.value = String(player.speed);
  if (!player.playing) page.refresh();
}

// The event before or after the cursor, of the lane if one is chosen.
function step(page, direction, wanted = () => true) {
  const { model, view } = page;
  jump(page, model.items.filter((item) => (view.lane < 0 || item.lane === view.lane) && wanted(item)), direction);
}

function jump(page, items, direction) {
  const { view } = page;
  const isAt = view.item && view.item.at === view.t;
  const order = (item) => (item.at - view.t) || (isAt ? item.place - view.item.place : 0);
  const item = direction > 0 ? items.find((other) => order(other) > 0) : items.findLast((other) => order(other) < 0);
  if (item) page.pick(item);
  else page.app.say(direction > 0 ? "There is no later one." : "There is no earlier one.");
}

function refreshNow(page) {
  const { model, view, timeline } = page;
  markList(page);
  timeline.draw();
  page.overview.redraw();
  const tokens = (thought, t) => tokensAt(model, page.texts, thought, t);
  const sentence = visible(sayInstant(model, view.t, tokens));
  timeline.canvas.setAttribute("aria-valuenow", String(Math.round(view.t)));
  timeline.canvas.setAttribute("aria-valuetext", sentence);
  setText(page.clock, `${seconds(view.t)} of ${seconds(model.end, 1)}`);
  const score = scoreAt(model, view.t);
  setText(page.status, score === null ? sentence : `${sentence} · score ${plain(score)}`);
  page.panels.update(page.texts, view.t);
  if (page.conversation) page.conversation.update(view.t);
  else page.world.show(page.frames, view.t, page.asItIs, model.pack.about.some(([name, value]) => name === "game" && value) ? "turn" : "state");
  if (view.item && page.texts && !page.detailBox.dataset.full) {
    page.detailBox.dataset.full = "1";
    showDetails(page.detailBox, model, page.texts, view.item, page.app.say);
  }
  if (!page.player.playing) remember(page);
}

function remember(page) {
  const { app, run, key, view, model } = page;
  clearTimeout(page.timer);
  page.timer = setTimeout(() => {
    if (app.page !== page.main.dataset.page) return;
    const isWhole = view.to - view.from >= view.axis.size * 0.999;
    const isFollowed = model.pack.status === "open" && view.t >= model.end;
    replaceAddress(writeAddress([nameRun(app.catalogue, run), "e", key], {
      t: isFollowed ? null : printInstant(view.t),
      follow: isFollowed ? "1" : null,
      v: isWhole ? null : `${printInstant(view.axis.toTime(view.from))}..${printInstant(view.axis.toTime(view.to))}`,
      lane: view.lane < 0 ? null : model.lanes[view.lane].title,
      sel: view.item?.line ?? null,
      axis: view.kind === "event" ? "event" : null,
      fold: view.folds ? "1" : null,
    }));
  }, 200);
}

// --- the list of events: the canvas in words ----------------------------------------------------

function makeEventList(page) {
  const { model, view } = page;
  const list = makeList({
    name: "Events of the episode",
    height: 28,
    render: (place) => {
      const item = list.items[place];
      return [el("span", { class: "when", text: seconds(item.at) }), el("span", { class: "lane", text: model.lanes[item.lane].title }), el("span", { class: "what", text: sayItem(model, item) })];
    },
    row: (place) => {
      const item = list.items[place];
      const kind = item.verdict >= 0 ? model.verdicts.kind[item.verdict] : "";
      return { class: `${item.at > view.t ? "after" : ""} ${kind ? `v-${VERDICTS[kind]?.role}` : ""}` };
    },
    open: (place) => page.pick(list.items[place]),
    move: (place) => page.pick(list.items[place]),
  });
  return list;
}

function eventPanel(page) {
  const { model, list } = page;
  const filters = { all: () => true, verdicts: (item) => item.verdict >= 0, faults: (item) => item.verdict >= 0 && isBad(model.verdicts.kind[item.verdict]) };
  const total = el("span", { class: "caption" });
  const search = el("input", { type: "search", placeholder: "search events", "aria-label": "Search events", on: { input: () => choose() } });
  const kind = select("Events to list", [["all", "all events"], ["verdicts", "verdicts"], ["faults", "late, lost and other faults"]], "all", () => choose());
  const choose = () => {
    const words = search.value.toLowerCase();
    list.items = kind.value === "all" && !words ? model.items : model.items.filter((item) => filters[kind.value](item) && (!words || sayItem(model, item).toLowerCase().includes(words) || model.lanes[item.lane].title.toLowerCase().includes(words)));
    list.instants = list.items.map((item) => item.at);
    list.at = list.items === model.items ? model.itemAt : Float64Array.from(list.items, (item) => item.at);
    total.textContent = count(list.items.length, "event");
    list.marked = null;
    list.setCount(list.items.length);
    markList(page);
  };
  page.search = search;
  page.chooseEvents = choose;
  choose();
  return el("section", { class: "panel events" }, el("h2", { text: "Events" }), el("div", { class: "row" }, kind, search, total), list.box);
}

// Marks the line of the cursor, and keeps it in sight.
function markList(page) {
  const { list, view } = page;
  if (!list.items?.length || !list.box.isConnected) return;
  let here = lastUpTo(list.instants, view.t);
  if (view.item?.at === view.t) {
    const place = list.items.indexOf(view.item, Math.max(0, here - 2000));
    if (place >= 0) here = place;
  }
  if (here !== list.here) list.go(Math.max(here, 0), true);
  else if (list.marked !== view.t) list.redraw();
  list.marked = view.t;
}

// Tells verdicts while playing, twice a second at most.
function sayPassed(page, from, to) {
  const now = performance.now();
  const { model } = page;
  const last = lastUpTo(model.verdicts.at, to);
  if (last < 0 || model.verdicts.at[last] <= from) return;
  if (now - (page.told ?? -1e9) < 500) return;
  page.told = now;
  page.app.say(`${seconds(model.verdicts.at[last], 1)}: ${sayVerdict(model, last)}`);
}

function onKey(page, event) {
  const { view, model, player } = page;
  const inList = page.list.box.contains(event.target);
  const arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (arrow) {
    if (event.ctrlKey || event.metaKey) page.scrub(view.axis.toTime(view.axis.toAxis(view.t) + (arrow * (view.to - view.from)) / 100));
    else if (event.shiftKey || event.altKey) step({ ...page, view: { ...view, lane: -1 } }, arrow, (item) => model.lanes[item.lane].kind === (event.shiftKey ? "actions" : "world"));
    else step(page, arrow);
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const actions = {
    " ": player.toggle,
    "[": () => jump(page, model.bad, -1),
    "]": () => jump(page, model.bad, 1),
    ArrowUp: () => chooseLane(page, -1),
    ArrowDown: () => chooseLane(page, 1),
    Enter: () => page.detailBox.scrollIntoView({ block: "nearest" }),
    Escape: () => { view.lane = -1; view.item = null; showDetails(page.detailBox, model, page.texts, null, page.app.say); page.refresh(); },
    "+": () => zoomBy(page, 0.6),
    "=": () => zoomBy(page, 0.6),
    "-": () => zoomBy(page, 1 / 0.6),
    0: () => showWhole(page),
    Home: () => page.scrub(0),
    End: () => page.scrub(model.end),
    j: () => player.faster(-1),
    k: player.stop,
    l: () => (player.playing ? player.faster(1) : player.play()),
    "/": () => page.search.focus(),
    y: () => copyText(location.href, page.app.say),
    c: () => page.main.querySelector(".compare-link").click(),
  };
  const isOnButton = event.target.closest("button,a,summary") && (event.key === " " || event.key === "Enter");
  const isOnText = event.target.closest("pre,ol") && event.key.startsWith("Arrow");
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || inList || isOnButton || isOnText) return false;
  action();
  return true;
}

function chooseLane(page, direction) {
  const { view, model } = page;
  view.lane = Math.min(Math.max(view.lane + direction, -1), model.lanes.length - 1);
  page.app.say(view.lane < 0 ? "all lanes" : model.lanes[view.lane].title);
  page.refresh();
}
