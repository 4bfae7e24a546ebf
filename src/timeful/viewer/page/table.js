// The episodes of a run: a table of any length, with sort, filters by value, and search.
import { replaceAddress, writeAddress } from "./address.js";
import { button, checkbox, count, el, plain, select } from "./dom.js";
import { makeHistogram } from "./curves.js";
import { makeList } from "./list.js";

const WIDEST = 34;

export function makeTable(page, box) {
  const { rows, query } = page;
  const byName = new Map(rows.columns.map((column) => [column.name, column]));
  const where = readWhere(query.get("where"), byName);
  const chooseColumns = (all) => [...new Set([...rows.lead, ...(all ? byName.keys() : [])])].filter((name) => byName.has(name));
  const state = {
    where, sort: query.get("sort") ?? "", down: query.get("down") === "1", words: query.get("q") ?? "", order: [], chosen: new Set(),
    names: chooseColumns(query.get("all") === "1"),
  };
  const total = el("span", { class: "caption", role: "status" });
  const compare = el("a", { class: "badge", text: "choose two episodes to compare" });
  const search = el("input", { type: "search", placeholder: "search (/)", "aria-label": "Search episodes", value: state.words, on: { input: () => { state.words = search.value; update(); } } });
  const head = el("div", { class: "thead", role: "rowgroup" });
  const texts = searchTexts(rows);
  const list = makeList({
    role: "grid", rowRole: "row", name: "Episodes", height: 30, head,
    render: (place) => renderRow(page, state, byName, state.order[place], chooseRow),
    open: (place) => (location.hash = writeAddress([page.name, "e", rows.keys[state.order[place]]])),
  });
  list.box.classList.add("table");
  const layOut = () => {
    const widths = state.names.map((name) => Math.min(WIDEST, Math.max(name.length + 2, ...sample(byName.get(name).values).map((value) => plain(value).length))) + 2);
    list.box.style.setProperty("--columns", `44px ${widths.map((width) => `minmax(${width}ch, ${width}fr)`).join(" ")}`);
    list.box.style.setProperty("--wide", `${widths.reduce((sum, width) => sum + width, 0) + 10}ch`);
    head.replaceChildren(el("div", { role: "row", class: "vhead", "aria-rowindex": 1 }, el("span", { role: "columnheader" }, el("span", { class: "sr", text: "choose" })), state.names.map((name) => headCell(state, byName, name, sortBy))));
  };
  const sortBy = (name) => {
    state.down = state.sort === name ? !state.down : byName.get(name)?.kind === "number";
    state.sort = name;
    update();
  };
  const chooseRow = (number, value) => {
    if (value) state.chosen.add(number);
    else state.chosen.delete(number);
    const [a, b] = [...state.chosen].slice(-2);
    compare.textContent = b === undefined ? "choose two episodes to compare" : "compare the two chosen episodes";
    if (b === undefined) compare.removeAttribute("href");
    else compare.href = writeAddress(["compare"], { a: [page.name, "e", rows.keys[a]].join("/"), b: [page.name, "e", rows.keys[b]].join("/") });
  };
  const distribution = el("div");
  const update = () => {
    state.order = choose(rows, byName, texts, state);
    total.textContent = `${plain(state.order.length)} of ${count(rows.keys.length, "episode")}`;
    layOut();
    list.setCount(state.order.length);
    replaceAddress(writeAddress([page.name, "episodes"], { where: Object.keys(state.where).length ? JSON.stringify(state.where) : null, sort: state.sort || null, down: state.down ? "1" : null, q: state.words || null, all: state.names.length > rows.lead.length ? "1" : null }));
    distribution.replaceChildren(makeHistogram(byName, state.order, rows.lead));
  };
  const facets = el("div", { class: "row facets" });
  const drawFacets = () => facets.replaceChildren(...makeFacets(rows, state, () => { drawFacets(); update(); }));
  drawFacets();
  const failed = byName.get("status")?.levels.some((level) => level !== "ok") ? button("failed first", "Sort failed episodes first", () => { state.sort = "status"; state.down = false; update(); }) : null;
  box.replaceChildren(facets, el("div", { class: "row" }, search, failed, checkbox("all columns", state.names.length > rows.lead.length, (value) => {
    state.names = chooseColumns(value);
    update();
  }), total, compare), rows.keys.length ? list.box : el("p", { class: "notice", text: "This run has no episode yet." }), distribution);
  update();
  list.here = state.order.length ? 0 : -1;
  const grow = async () => {
    const fresh = await page.app.getRows(page.run);
    Object.assign(rows, fresh);
    byName.clear();
    for (const column of rows.columns) byName.set(column.name, column);
    texts.length = 0;
    texts.push(...searchTexts(rows));
    update();
  };
  return { grow, keys: (event) => (event.key === "/" ? (search.focus(), true) : false) };
}

function sample(values) {
  const step = Math.max(1, Math.floor(values.length / 200));
  return values.filter((_, place) => place % step === 0);
}

function readWhere(text, byName) {
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text ?? "{}")).filter(([name]) => byName.has(name)));
  } catch {
    return {};
  }
}

function searchTexts(rows) {
  const columns = rows.columns.filter((column) => column.kind === "text" && column.name !== "key");
  return rows.keys.map((key, place) => `${key} ${columns.map((column) => column.values[place] ?? "").join(" ")}`.toLowerCase());
}

// The numbers of the episodes that fit, in the order of the sort; unknown values are last.
function choose(rows, byName, texts, state) {
  const tests = Object.entries(state.where).map(([name, value]) => [byName.get(name)?.values ?? [], value]);
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const order = [];
  for (let place = 0; place < rows.keys.length; place++) {
    if (tests.every(([values, value]) => values[place] === value) && words.every((word) => texts[place].includes(word))) order.push(place);
  }
  const values = byName.get(state.sort)?.values;
  if (!values) return order;
  const sign = state.down ? -1 : 1;
  return order.sort((a, b) => {
    const [left, right] = [values[a], values[b]];
    if (left === null || right === null) return (left === null) - (right === null) || a - b;
    return sign * (left < right ? -1 : left > right ? 1 : 0) || a - b;
  });
}

function headCell(state, byName, name, sortBy) {
  const arrow = state.sort === name ? (state.down ? " ▾" : " ▴") : "";
  return el("span", { role: "columnheader", "aria-sort": state.sort === name ? (state.down ? "descending" : "ascending") : "none", class: byName.get(name).kind === "number" ? "number" : "" },
    el("button", { type: "button", text: name.replaceAll("_", " ") + arrow, title: `Sort by ${name}`, on: { click: () => sortBy(name) } }));
}

function renderRow(page, state, byName, number, chooseRow) {
  const box = el("input", { type: "checkbox", checked: state.chosen.has(number), "aria-label": `Choose ${page.rows.keys[number]} to compare`, on: { change: () => chooseRow(number, box.checked) } });
  return [el("span", { role: "gridcell" }, box), ...state.names.map((name, place) => {
    const column = byName.get(name);
    const value = column.values[number];
    const text = value === null ? "–" : plain(value);
    const link = place ? null : el("a", { tabIndex: -1, href: writeAddress([page.name, "e", page.rows.keys[number]]), text });
    return el("span", { role: "gridcell", class: column.kind === "number" ? "number" : "", text: place ? text : null }, link);
  })];
}

function makeFacets(rows, state, update) {
  const columns = rows.columns.filter((column) => column.levels.length > 1 && column.levels.length <= 20 && column.kind !== "number" || column.name in state.where);
  const lead = columns.filter((column) => rows.lead.includes(column.name) || column.name in state.where);
  return (lead.length ? lead : columns).slice(0, 8).map((column) => {
    const levels = column.levels.length ? column.levels : [state.where[column.name]];
    const value = column.name in state.where ? JSON.stringify(state.where[column.name]) : "";
    return el("label", { class: "check" }, `${column.name.replaceAll("_", " ")} `, select(`Filter by ${column.name}`, [["", "all"], ...levels.map((level) => [JSON.stringify(level), plain(level ?? "unknown")])], value, (text) => {
      if (text) state.where[column.name] = JSON.parse(text);
      else delete state.where[column.name];
      update();
    }));
  });
}
