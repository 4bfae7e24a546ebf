// A report: sections of texts, tables and figures, the same as in report.html.
import { replaceAddress, writeAddress } from "./address.js";
import { checkbox, colours, el } from "./dom.js";

const INK = "#010203"; // the colour of figures that stands for that of the text

export function showReport(page, box) {
  const { rows, query } = page;
  const state = { published: query.get("published") !== "0", differences: query.get("differences") === "1" };
  const apply = () => {
    box.className = `report${state.published ? "" : " no-published"}${state.differences ? " only-differences" : ""}`;
    replaceAddress(writeAddress([page.name, "overview"], { published: state.published ? null : "0", differences: state.differences ? "1" : null }));
  };
  // A table that is wider than its place becomes a list of its rows.
  const fit = () => box.querySelectorAll("table").forEach((table) => {
    table.classList.remove("cards");
    table.classList.toggle("cards", table.offsetWidth > table.parentElement.clientWidth + 1);
  });
  const view = { page, fit, images: [] };
  box.replaceChildren(el("div", { class: "row" },
    checkbox("published values", state.published, (value) => { state.published = value; apply(); }),
    checkbox("only where ours and published differ", state.differences, (value) => { state.differences = value; apply(); })), ...rows.sections.map((section) => showSection(view, section)));
  new ResizeObserver(fit).observe(box);
  apply();
  return { theme: () => view.images.forEach((paint) => paint()) };
}

// A section that is folded is made when it is opened.
function showSection(view, { title, blocks, is_folded: isFolded }) {
  const make = () => blocks.map((block) => showBlock(view, block));
  if (!isFolded) return el("section", { class: "panel experiment" }, title ? el("h2", { text: title }) : null, make());
  const box = el("div");
  return el("details", { class: "panel experiment", on: { toggle: () => { if (!box.firstChild) box.append(...make()); view.fit(); } } }, el("summary", { text: title }), box);
}

function showBlock(view, block) {
  if (block.type === "Grid") return showGrid(view, block);
  if (block.type === "Figure") return showFigure(view, block);
  if (block.type === "Bullets") return el("ul", {}, block.items.map((text) => el("li", { text })));
  return el("p", { class: block.type === "Notice" ? "notice" : "lead", text: block.text });
}

function showFigure(view, { image, alt, title, caption }) {
  const img = el("img", { alt });
  const paint = () => (img.src = `data:image/svg+xml,${encodeURIComponent(image.replaceAll(INK, colours().ink))}`);
  paint();
  view.images.push(paint);
  return el("figure", {}, title ? el("h3", { text: title }) : null, el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": title || alt }, img), caption ? el("figcaption", { class: "caption", text: caption }) : null);
}

function showGrid(view, { head, rows, caption, words }) {
  const kind = (place) => (place >= words ? "number" : undefined);
  return el("div", { class: "scroll" }, el("table", { class: "matrix" }, caption ? el("caption", { text: caption }) : null,
    el("thead", {}, el("tr", {}, head.map((text, place) => el("th", { scope: "col", class: kind(place), text })))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((content, place) => el(place ? "td" : "th", { class: kind(place), scope: place ? undefined : "row", "data-head": place ? head[place] : undefined }, [content].flat().map((entry) => showEntry(view, entry)))))))));
}

function showEntry({ page }, entry) {
  if (typeof entry === "string") return entry ? el("span", { text: entry }) : null;
  const content = [el("span", { class: "value", text: entry.text }), entry.small ? el("small", { text: entry.small }) : null];
  const name = `cell ${entry.tone ?? ""}`;
  if (!entry.where) return entry.text ? el("span", { class: name }, content) : null;
  return el("a", { class: name, title: "Choose to see the episodes.", href: writeAddress([page.name, "episodes"], { where: JSON.stringify(Object.fromEntries(entry.where)) }) }, content);
}
