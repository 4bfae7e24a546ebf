// A run: its report, its episodes as a table, the journal of a training as curves.
import { nameRun, writeAddress } from "./address.js";
import { makeCurves } from "./curves.js";
import { badge, count, el, plain } from "./dom.js";
import { showReport } from "./report.js";
import { makeTable } from "./table.js";

export async function showRun(app, main, { run, address, tab }) {
  const rows = await app.getRows(run);
  const page = { app, main, run, rows, query: address.query, name: nameRun(app.catalogue, run) };
  const tabs = [["overview", "Report", rows.sections.length], ["training", "Training", rows.curves.length], ["episodes", `Episodes ${plain(rows.keys.length)}`, true]].filter(([, , has]) => has);
  const current = tabs.some(([name]) => name === tab) ? tab : tabs[0][0];
  const links = el("nav", { class: "tabs", "aria-label": "Parts of the run" }, tabs.map(([name, text]) => el("a", { href: writeAddress([page.name, name]), text, "aria-current": name === current ? "page" : undefined })));
  const box = el("div");
  main.replaceChildren(...head(page), links, box);
  if (current === "overview") return { title: run.name, ...showReport(page, box) };
  if (current === "training") return { title: run.name, ...makeCurves(rows.curves, box) };
  return { title: run.name, ...makeTable(page, box) };
}

function head({ run, rows }) {
  const badges = [];
  if (run.stand_in) badges.push(badge("stand-in: no language model was run"));
  if (run.kind === "example") badges.push(badge("bundled example"));
  if (run.state !== "done") badges.push(badge(run.state));
  const facts = [run.suite, count(rows.keys.length, "episode"), run.failed ? `${run.failed} failed` : rows.keys.length ? "none failed" : "", rows.pending ? `${count(rows.pending, "row")} still to be read` : ""];
  const texts = [...rows.notices, run.problem].filter(Boolean);
  return [el("div", { class: "title" }, el("h1", { text: run.name }), badges), el("p", { class: "lead", text: facts.filter(Boolean).join(" · ") }), ...texts.map((text) => el("p", { class: "notice", text }))];
}
