// The page: reads the address, shows the view, and says what is wrong.
import { findRun, nameRun, readAddress, writeAddress } from "./address.js";
import { showCompare } from "./compare.js";
import { button, el, followTheme, visible } from "./dom.js";
import { showEpisode } from "./episode.js";
import { showHome } from "./home.js";
import { showRun } from "./run.js";
import { openStore } from "./store.js";

const KEYS = [
  ["Space", "play, stop"], ["← →", "event before, next event (of the chosen lane)"], ["Shift ← →", "action before, next action"], ["Alt ← →", "move of the world before, next"],
  ["Ctrl ← →", "1 % of the view"], ["[ ]", "late or lost before, next"], ["↑ ↓", "choose a lane"], ["Enter", "details, or open"], ["Esc", "choose nothing"],
  ["+ - 0", "zoom in, zoom out, whole episode"], ["Home End", "start, end"], ["J K L", "slower, stop, faster"], ["/", "search"], ["c", "compare with another episode"],
  ["y", "copy the address of the view"], ["g r", "all runs"], ["g e", "episodes of the run"], ["?", "this list"],
];

const app = { store: null, catalogue: null, page: "", view: null, rows: new Map() };

function start() {
  const root = document.getElementById("app");
  app.main = el("main", { id: "main" });
  app.crumbs = el("nav", { class: "crumbs", "aria-label": "Where you are" });
  app.live = el("div", { class: "live", role: "status", "aria-live": "polite" });
  app.help = makeHelp();
  app.say = (text) => (app.live.textContent = visible(text));
  root.replaceChildren(el("header", {}, app.crumbs, button("? keys", "List of keys (?)", () => app.help.showModal())), app.main, app.live, app.help);
  app.getRows = async (run) => {
    if (!app.rows.has(run.number)) app.rows.set(run.number, await app.store.rows(run.number));
    return app.rows.get(run.number);
  };
  app.reload = () => show(true);
  addEventListener("hashchange", () => show());
  addEventListener("keydown", onPageKey);
  followTheme(() => app.view?.theme?.());
  open();
}

async function open() {
  try {
    app.store = openStore();
    app.catalogue = await app.store.catalogue();
    await show();
    if (app.store.kind === "server") watch();
  } catch (error) {
    showError("This page cannot be read", error);
  }
}

// Shows what the address names. A page that is read again stays in sight until the new one is there.
async function show(isAgain = false) {
  const address = readAddress();
  const page = (app.page = String(performance.now()));
  const main = el("main", { id: "main" });
  main.dataset.page = page;
  app.view?.leave?.();
  const enter = () => {
    app.main.replaceWith(main);
    app.main = main;
  };
  if (!isAgain) {
    app.view = null;
    app.live.textContent = "";
    main.append(el("p", { class: "loading", text: "Loading…" }));
    enter();
  }
  try {
    const view = await route(address, main);
    if (app.page !== page) return;
    if (isAgain) enter();
    app.view = view;
    document.title = view?.title ? `${visible(view.title)} · timeful` : "timeful";
  } catch (error) {
    if (app.page === page) showError("This cannot be shown", error);
  }
}

async function route(address, main) {
  const { catalogue } = app;
  const [name, kind, key] = address.path;
  setCrumbs([]);
  if (name === "compare" && !findRun(catalogue, "compare")) return showCompare(app, main, address);
  if (name === undefined) {
    if (catalogue.runs.length !== 1) return showHome(app, main);
    return openOnly(catalogue.runs[0], main, address);
  }
  const run = findRun(catalogue, name);
  if (!run) throw new Error(`there is no run ${name} here`);
  if (kind !== "e") {
    setCrumbs([[run.name]]);
    return showRun(app, main, { run, address, tab: kind });
  }
  const rows = await app.getRows(run);
  const number = rows.keys.indexOf(key);
  if (number < 0) throw new Error(`the run ${run.name} has no episode ${key}`);
  setCrumbs([[run.name, writeAddress([nameRun(catalogue, run), "episodes"])], [key]]);
  return showEpisode(app, main, { run, number, key, address });
}

// A page with one episode opens it.
async function openOnly(run, main, address) {
  const rows = await app.getRows(run);
  setCrumbs([[run.name, writeAddress([nameRun(app.catalogue, run), "episodes"])]]);
  if (rows.keys.length === 1) return showEpisode(app, main, { run, number: 0, key: rows.keys[0], address });
  return showRun(app, main, { run, address });
}

function setCrumbs(parts) {
  app.crumbs.replaceChildren(el("a", { href: "#/", class: "brand", text: "timeful" }));
  for (const [text, href] of parts) app.crumbs.append(el("span", { class: "sep", "aria-hidden": "true", text: "/" }), href ? el("a", { href, text }) : el("span", { text, "aria-current": "page" }));
}

function showError(title, error) {
  app.main.replaceChildren(el("h1", { text: title }), el("p", { class: "notice is-bad", text: error.message || String(error) }), el("p", {}, el("a", { href: "#/", text: "All runs" })));
}

// A run that grows is read again: what is in sight stays, and its numbers change.
function watch() {
  const changes = new EventSource("/api/changes");
  let isFirst = true;
  changes.addEventListener("change", async () => {
    if (isFirst) {
      isFirst = false;
      document.documentElement.dataset.watched = "1";
      return;
    }
    try {
      app.catalogue = await app.store.catalogue();
      app.rows.clear();
      await app.view?.grow?.();
    } catch {
      app.say("The server does not answer.");
    }
  });
}

function makeHelp() {
  return el("dialog", { class: "help", "aria-label": "Keys" }, el("h2", { text: "Keys" }),
    el("dl", {}, KEYS.map(([key, text]) => [el("dt", {}, el("kbd", { text: key })), el("dd", { text })])),
    button("close", "Close the list of keys (Esc)", () => app.help.close()));
}

let prefix = 0;

function onPageKey(event) {
  const isTyping = event.target.closest?.("input:not([type=checkbox]),select,textarea");
  if (isTyping || app.help.open) {
    if (event.key === "Escape" && isTyping) event.target.blur();
    return;
  }
  if (event.key === "?") app.help.showModal();
  else if (event.key === "g" && !event.ctrlKey && !event.metaKey) prefix = performance.now();
  else if (performance.now() - prefix < 2000 && (event.key === "r" || event.key === "e")) {
    const run = readAddress().path[0] ?? (app.catalogue.runs.length === 1 ? nameRun(app.catalogue, app.catalogue.runs[0]) : null);
    location.hash = event.key === "r" || !run ? "#/" : writeAddress([run, "episodes"]);
    prefix = 0;
  } else if (!app.view?.keys?.(event)) return;
  event.preventDefault();
}

start();
