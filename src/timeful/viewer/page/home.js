// The first page: all runs, the latest change first.
import { nameRun, writeAddress } from "./address.js";
import { badge, count, el, plain } from "./dom.js";

export async function showHome(app, main) {
  const filter = el("input", { type: "search", placeholder: "filter runs (/)", "aria-label": "Filter runs", on: { input: () => draw() } });
  const list = el("ul", { class: "runs" });
  const hint = el("div");
  const draw = () => {
    const words = filter.value.toLowerCase();
    const runs = app.catalogue.runs.filter((run) => `${run.name} ${run.suite} ${run.kind}`.toLowerCase().includes(words));
    list.replaceChildren(...runs.map((run) => runEntry(app, run)));
    if (!runs.length) list.append(el("li", { class: "caption", text: app.catalogue.runs.length ? "No run has these words." : "There is no run." }));
    hint.replaceChildren(...(app.catalogue.hint ? [el("p", { class: "notice", text: `${app.catalogue.hint}\nBelow are three bundled examples.` })] : []));
  };
  draw();
  main.replaceChildren(el("div", { class: "title" }, el("h1", { text: "Runs" })),
    el("p", { class: "lead", text: "Each run has a table of results and its episodes; an episode is shown as lanes over simulated time." }), hint, el("div", { class: "row" }, filter), list);
  return { title: "Runs", grow: draw, keys: (event) => event.key === "/" && (filter.focus(), true) };
}

function runEntry(app, run) {
  const facts = [run.suite, run.kind === "training" ? "training" : "", count(run.episodes, "episode"), run.failed ? `${plain(run.failed)} failed` : "", run.stand_in ? "stand-in" : "", run.changed ? `changed ${new Date(run.changed * 1000).toLocaleString()}` : ""];
  const state = run.state === "done" ? null : el("span", { class: `badge is-${run.state}`, text: run.state });
  return el("li", { class: "run" },
    el("a", { href: writeAddress([nameRun(app.catalogue, run)]), text: run.name }), state, run.kind === "example" ? badge("bundled example") : null,
    el("p", { class: "caption", text: facts.filter(Boolean).join(" · ") }),
    run.problem ? el("p", { class: "notice is-bad", text: run.problem }) : null);
}
