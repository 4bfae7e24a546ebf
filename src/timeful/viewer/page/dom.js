// Elements of the page. All text enters by textContent, and passes `visible` where a record wrote it.

// Makes an element: properties, `on` for listeners, `class`, `role` and `aria-*`, then children.
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "text") node.textContent = visible(String(value));
    else if (name in node && name !== "list" && !name.startsWith("aria")) node[name] = value;
    else node.setAttribute(name === "class" ? "class" : name, String(value));
  }
  if (properties.class) node.className = properties.class;
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const badge = (text, title) => el("span", { class: "badge", text, title });

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text; // the same text again costs a layout
}

export const button = (label, title, action, properties = {}) => el("button", { type: "button", title, "aria-label": title, text: label, on: { click: action }, ...properties });

export function checkbox(label, checked, action) {
  const box = el("input", { type: "checkbox", checked, on: { change: () => action(box.checked) } });
  return el("label", { class: "check" }, box, label);
}

export function select(label, options, value, action) {
  const list = el("select", { "aria-label": label, on: { change: () => action(list.value) } });
  for (const [key, text] of options) list.append(el("option", { value: key, text }));
  list.value = value;
  return list;
}

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// A text with its control characters, bidi marks and lone surrogates written out.
export function visible(text) {
  return text.replace(HIDDEN, (character) => `\u27e8U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
}

const FORMATS = Array.from({ length: 10 }, (_, digits) => new Intl.NumberFormat("en", { maximumFractionDigits: digits }));

// An instant or a stretch in seconds, with as many digits as it needs to be read at a scale.
export function seconds(ns, digits = 3) {
  const value = ns / 1e9;
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return `${plain(ns)} ns`;
  return `${FORMATS[digits].format(value)} s`;
}

// An instant as the label of an axis whose labels are a step apart.
export function tickLabel(ns, step) {
  const [size, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([unit]) => step >= unit / 100) ?? [1, "ns"];
  return `${FORMATS[2].format(ns / size)} ${name}`;
}

export const count = (number, word, many = `${word}s`) => `${plain(number)} ${number === 1 ? word : many}`;

// A number of a table: no more digits than it has, at most four that count below 1,000.
export function plain(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return FORMATS[1].format(value);
  return String(Number(value.toPrecision(4)));
}

// The position of the last number that is not above a value; -1 if there is none.
export function lastUpTo(numbers, value, low = 0, high = numbers.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function cumulate(deltas) {
  const values = new Float64Array(deltas.length);
  let sum = 0;
  for (let place = 0; place < deltas.length; place++) values[place] = sum += deltas[place];
  return values;
}

export function take(values, places) {
  const taken = new Float64Array(places.length);
  for (let place = 0; place < places.length; place++) taken[place] = values[places[place]];
  return taken;
}

let until = 0;

// Lets the browser draw, if this task has run for long.
export async function breathe() {
  if (performance.now() < until) return;
  await (globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve)));
  until = performance.now() + 20;
}

// Calls a function for each number below a length, in short tasks.
export async function each(length, action) {
  for (let place = 0; place < length; place++) {
    if (place % 500 === 0) await breathe();
    action(place);
  }
}

// Calls a function at most once a frame.
export function oncePerFrame(action) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      action();
    });
  };
}

export async function copyText(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    status("Copied.");
  } catch {
    status("The browser does not allow copying here; select the text and copy it.");
  }
}

export function fillBox(context, colour, ...box) {
  context.fillStyle = colour;
  context.fillRect(...box);
}

// Begins a path along some points.
export function path(context, ...points) {
  context.beginPath();
  for (const point of points) context.lineTo(...point);
}

export function textRight(context, text, x, y) {
  context.textAlign = "right";
  context.fillText(text, x, y);
  context.textAlign = "left";
}

// Prepares a canvas for the size of its box, and returns its context in CSS pixels.
export function fitCanvas(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

let palette = null;
const ROLES = ["paper", "panel", "ink", "quiet", "line", "good", "bad", "late", "early", "own", "other", "third", "gone", "accent"];

// The colours of the theme, as the style sheet has them.
export function colours() {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  palette = Object.fromEntries(ROLES.map((role) => [role, style.getPropertyValue(`--${role}`).trim() || "#888"]));
  palette.font = style.getPropertyValue("--font").trim();
  return palette;
}

// Forgets the colours when the theme changes.
export function followTheme(action) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette = null;
    action();
  });
}
