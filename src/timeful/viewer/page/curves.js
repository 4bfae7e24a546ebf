// Small charts: the curves of a training, and how the values of a column are distributed.
import { colours, count, el, fillBox, fitCanvas, oncePerFrame, path, plain, select, textRight } from "./dom.js";

const HEIGHT = 150;
const COLOURS = ["own", "other", "late", "good", "early", "third"];

// The journals of a training, one chart a series, one line an arm; usual names first.
export function makeCurves(curves, box) {
  const first = /reward|score|utility|AC|loss|lost|tokens|entropy|kl/i;
  const isFlat = (group) => group.every((curve) => new Set(known(curve)).size < 2);
  const groups = [...Map.groupBy(curves, ({ name }) => name.split(": ").at(-1))].sort(([a, x], [b, y]) => isFlat(x) - isFlat(y) || first.test(b) - first.test(a));
  const draws = [];
  const grid = el("div", { class: "charts" }, groups.map(([name, group]) => {
    const texts = group.map((curve) => `${curve.name.slice(0, -name.length)}last ${plain(known(curve).at(-1))}`);
    const canvas = el("canvas", { role: "img", "aria-label": `${name} over ${count(known(group[0]).length, "update")}: ${texts.join("; ")}` });
    const figure = el("figure", { class: "panel" }, el("figcaption", {}, el("strong", { text: name }), texts.map((text, place) => el("span", { class: "caption", style: `color: var(--${COLOURS[place % 6]})`, text: `  ${text}` }))), canvas);
    draws.push(oncePerFrame(() => drawCurves(canvas, figure.clientWidth - 26, group)));
    new ResizeObserver(draws.at(-1)).observe(figure);
    return figure;
  }));
  box.replaceChildren(el("p", { class: "caption", text: "Each chart has a number of the journals over the updates. Rollouts are in the table of episodes." }), grid);
  return { theme: () => draws.forEach((draw) => draw()) };
}

const known = ({ y }) => y.filter((value) => value !== null);
const range = (values) => [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];

function drawCurves(canvas, width, group) {
  const lines = group.map(({ x, y }) => y.map((value, place) => [x[place], value]).filter(([, value]) => Number.isFinite(value)));
  const points = lines.flat();
  if (width < 40 || !points.length) return;
  const palette = colours();
  const context = fitCanvas(canvas, width, HEIGHT);
  const [[left, right], [low, high]] = [range(points.map(([a]) => a)), range(points.map(([, b]) => b))];
  context.font = `11px ${palette.font}`;
  context.fillStyle = palette.quiet;
  const gutter = Math.max(context.measureText(plain(high)).width, context.measureText(plain(low)).width) + 8;
  const place = ([a, b]) => [gutter + ((a - left) / (right - left || 1)) * (width - gutter - 6), HEIGHT - 24 - (high > low ? (b - low) / (high - low) : 0.5) * (HEIGHT - 38)];
  context.fillText(plain(high), 0, 14);
  if (high > low) context.fillText(plain(low), 0, HEIGHT - 22);
  context.fillText(plain(left), gutter, HEIGHT - 4);
  if (right > left) textRight(context, plain(right), width - 4, HEIGHT - 4);
  context.strokeStyle = palette.line;
  context.strokeRect(gutter - 0.5, 6.5, width - gutter - 1, HEIGHT - 24);
  context.lineWidth = 1.75;
  lines.forEach((line, number) => {
    context.fillStyle = context.strokeStyle = palette[COLOURS[number % 6]];
    path(context, ...line.map(place));
    context.stroke();
    if (line.length < 40) for (const [x, y] of line.map(place)) context.fillRect(x - 2, y - 2, 4, 4);
  });
}

// How a number is distributed over the episodes in sight.
export function makeHistogram(byName, order, lead) {
  const numbers = [...byName.values()].filter((column) => column.kind === "number" && new Set(column.values.slice(0, 500)).size > 2);
  if (!numbers.length || order.length < 3) return el("span");
  const start = numbers.find((column) => lead.includes(column.name) && /score|utility|reward|value|AC/.test(column.name)) ?? numbers[0];
  const canvas = el("canvas", { role: "img" });
  const state = { column: start };
  const figure = el("figure", { class: "panel histogram" });
  const draw = oncePerFrame(() => drawHistogram(canvas, figure.clientWidth - 26, state.column, order));
  figure.append(el("figcaption", { class: "row" }, "How the episodes in sight are distributed by ", select("Column of the distribution", numbers.map((column) => [column.name, column.name]), start.name, (name) => { state.column = byName.get(name); draw(); })), canvas);
  new ResizeObserver(draw).observe(figure);
  return figure;
}

function drawHistogram(canvas, width, column, order) {
  if (width < 40) return;
  const palette = colours();
  const values = order.map((place) => column.values[place]).filter((value) => value !== null && Number.isFinite(value));
  const [low, high] = range(values);
  const context = fitCanvas(canvas, width, HEIGHT);
  const bins = new Array(Math.min(24, Math.max(5, Math.ceil(Math.sqrt(values.length))))).fill(0);
  for (const value of values) bins[Math.min(bins.length - 1, Math.floor(((value - low) / (high - low || 1)) * bins.length))]++;
  const most = Math.max(...bins, 1);
  const step = width / bins.length;
  context.font = `11px ${palette.font}`;
  bins.forEach((number, place) => {
    const tall = (number / most) * (HEIGHT - 40);
    fillBox(context, palette.own, place * step + 1, HEIGHT - 20 - tall, step - 2, tall);
    context.fillStyle = palette.quiet;
    if (number) context.fillText(plain(number), place * step + 3, HEIGHT - 24 - tall);
  });
  if (!values.length) return;
  context.fillText(plain(low), 0, HEIGHT - 5);
  textRight(context, plain(high), width - 2, HEIGHT - 5);
  canvas.setAttribute("aria-label", `${column.name} of ${count(values.length, "episode")}: from ${plain(low)} to ${plain(high)}`);
}
