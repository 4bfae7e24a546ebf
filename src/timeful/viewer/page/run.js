// A run: its results as matrices, its episodes as a table, the journal of a training as curves.
import { nameRun, replaceAddress, writeAddress } from "./address.js";
import { makeCurves } from "./curves.js";
import { checkbox, count, el, select } from "./dom.js";
import { makeTable } from "./table.js";

export async function showRun(app, main, { run, address, tab }) {
  const rows = await app.getRows(run);
  const page = { app, main, run, rows, query: address.query, name: nameRun(app.catalogue, run) };
  const tabs = [["overview", "Overview", rows.matrices.length], ["training", "Training", rows.curves.length], ["episodes", `Episodes ${rows.keys.length.toLocaleString("en")}`, true]].filter(([, , has]) => has);
  const current = tabs.some(([name]) => name === tab) ? tab : tabs[0][0];
  const links = el("nav", { class: "tabs", "aria-label": "Parts of the run" }, tabs.map(([name, text]) => el("a", { href: writeAddress([page.name, name]), text, "aria-current": name === current ? "page" : undefined })));
  const box = el("div");
  main.replaceChildren(...head(page), links, box);
  if (current === "overview") return { title: run.name, ...showOverview(page, box) };
  if (current === "training") return { title: run.name, ...makeCurves(rows.curves, box) };
  return { title: run.name, ...makeTable(page, box) };
}

function head({ run, rows }) {
  const badges = [];
  if (run.stand_in) badges.push(el("span", { class: "badge", text: "stand-in: no language model was run" }));
  if (run.kind === "example") badges.push(el("span", { class: "badge", text: "bundled example" }));
  if (run.state !== "done") badges.push(el("span", { class: "badge", text: run.state }));
  const facts = [run.suite, count(rows.keys.length, "episode"), run.failed ? `${run.failed} failed` : rows.keys.length ? "none failed" : "", rows.pending ? `${count(rows.pending, "row")} still to be read` : ""];
  const texts = [...rows.notices, run.problem].filter(Boolean);
  return [el("div", { class: "title" }, el("h1", { text: run.name }), badges), el("p", { class: "lead", text: facts.filter(Boolean).join(" · ") }), ...texts.map((text) => el("p", { class: "notice", text }))];
}

// The results: experiment by metric; ours above, with its interval, the published number in brackets.
function showOverview(page, box) {
  const { rows, query } = page;
  const experiments = [...new Set(rows.matrices.map((matrix) => matrix.experiment))];
  const state = { metrics: new Map(), published: query.get("published") !== "0", differences: query.get("differences") === "1" };
  for (const experiment of experiments) state.metrics.set(experiment, rows.matrices.find((matrix) => matrix.experiment === experiment).metric);
  const isRun = (experiment) => rows.matrices.some((matrix) => matrix.experiment === experiment && matrix.cells.some((cell) => cell.value !== null));
  const absent = experiments.filter((experiment) => !isRun(experiment));
  const draw = () => {
    box.replaceChildren(
      el("p", { class: "caption", text: "A cell has our value, its 95 % interval, and (the published value). Choose a cell to see the episodes behind it." }),
      el("div", { class: "row" },
        checkbox("published values", state.published, (value) => { state.published = value; remember(); }),
        checkbox("only where ours and published differ", state.differences, (value) => { state.differences = value; remember(); })),
      ...experiments.filter(isRun).map((experiment) => showExperiment(page, experiment, state, draw)),
      absent.length ? el("details", {}, el("summary", { text: `${count(absent.length, "experiment")} not run here: ${absent.join(", ")}` }), absent.map((experiment) => showExperiment(page, experiment, state, draw))) : "");
  };
  const remember = () => {
    replaceAddress(writeAddress([page.name, "overview"], { published: state.published ? null : "0", differences: state.differences ? "1" : null }));
    draw();
  };
  draw();
  return {};
}

function showExperiment(page, experiment, state, draw) {
  const matrices = page.rows.matrices.filter((matrix) => matrix.experiment === experiment);
  const matrix = matrices.find((other) => other.metric === state.metrics.get(experiment)) ?? matrices[0];
  const choice = matrices.length < 2 ? el("span", { class: "caption", text: matrix.metric })
    : el("label", { class: "check" }, "metric ", select(`Metric of ${experiment}`, matrices.map((other) => [other.metric, other.metric]), matrix.metric, (value) => { state.metrics.set(experiment, value); draw(); }));
  const cells = new Map(matrix.cells.map((cell) => [`${cell.row} ${cell.column}`, cell]));
  const isOurs = (row) => matrix.columns.some((_, column) => (cells.get(`${row} ${column}`)?.value ?? null) !== null);
  const wanted = matrix.rows.map((name, row) => ({ name, row })).filter(({ row }) => !state.differences || matrix.columns.some((_, column) => differs(cells.get(`${row} ${column}`))));
  const ours = wanted.filter(({ row }) => isOurs(row));
  const theirs = wanted.filter(({ row }) => !isOurs(row));
  const table = (list, name) => {
    // Many settings go downwards, so that no column is cut.
    const isTall = matrix.columns.length > Math.max(5, list.length);
    const lines = isTall ? matrix.columns.map((text, column) => [text, list.map(({ row }) => [row, column])]) : list.map(({ name: text, row }) => [text, matrix.columns.map((_, column) => [row, column])]);
    const names = (isTall ? list.map(({ name: text }) => text) : matrix.columns).map((text) => el("th", { scope: "col", text }));
    return el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": name }, el("table", { class: "matrix" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col", text: isTall ? "setting" : "method" }), names)),
      el("tbody", {}, lines.map(([text, places]) => el("tr", {}, el("th", { scope: "row", text }), places.map(([row, column]) => el("td", {}, showCell(page, cells.get(`${row} ${column}`), state, `${matrix.rows[row]}, ${matrix.columns[column]}`))))))));
  };
  return el("section", { class: "panel experiment" }, el("div", { class: "row" }, el("h2", { text: experiment }), choice),
    ours.length ? table(ours, `${experiment}: ${matrix.metric}`) : el("p", { class: "caption", text: "No row of this experiment has a value of ours." }),
    theirs.length && state.published ? el("details", {}, el("summary", { text: `${count(theirs.length, "row")} not run here: published values` }), table(theirs, `${experiment}: not run`)) : null);
}

function differs(cell) {
  return cell && cell.value !== null && cell.published !== null && (cell.low === null || cell.published < cell.low || cell.published > cell.high);
}

function showCell(page, cell, state, name) {
  if (!cell) return el("span", { class: "caption", text: "·" });
  const published = state.published && cell.published !== null ? el("span", { class: `published${differs(cell) ? " differs" : ""}`, text: `(${short(cell.published)})`, title: `published${cell.source ? `: ${cell.source}` : ""}` }) : null;
  if (cell.value === null) return published ?? el("span", { class: "caption", text: "not run" });
  const interval = cell.low === null || cell.high === null ? null : el("span", { class: "interval", text: `[${short(cell.low)} ${short(cell.high)}]` });
  const note = `${name}: ${count(cell.n, "episode")}${cell.failed ? `, ${cell.failed} failed` : ""}${cell.stand_in ? ", stand-in" : ""}`;
  const value = el("span", { class: "value", text: short(cell.value) });
  const where = Object.entries(cell.where);
  const content = [value, interval, published, cell.failed ? el("span", { class: "differs", text: `${cell.failed} failed` }) : null];
  if (!where.length) return el("span", { class: "cell", title: note }, content);
  return el("a", { class: "cell", title: `${note}. Choose to see them.`, "aria-label": `${note}: ${short(cell.value)}`, href: writeAddress([page.name, "episodes"], { where: JSON.stringify(cell.where) }) }, content);
}

// About three digits that count.
function short(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
