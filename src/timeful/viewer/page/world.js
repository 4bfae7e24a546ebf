// The world at an instant: a picture from operations, or the text that the world says of itself.
import { colours, cumulate, el, fitCanvas, lastUpTo, path, seconds, setText, take, visible } from "./dom.js";

export function decodeFrames(pack) {
  const frames = { ...pack, at: cumulate(pack.at), happened: cumulate(pack.happened), cache: new Map() };
  frames.order = [...frames.happened.keys()].sort((a, b) => frames.happened[a] - frames.happened[b] || a - b);
  frames.happenedSorted = take(frames.happened, frames.order);
  return frames;
}

// The frame that the agent sees at t, or the one of the world as it is; -1 if there is none.
function frameAt(frames, t, asItIs) {
  if (!asItIs) return lastUpTo(frames.at, t);
  const place = lastUpTo(frames.happenedSorted, t);
  return place < 0 ? -1 : frames.order[place];
}

// The operations of a frame: changes since the frame before, from the nearest one that is known.
function operationsOf(frames, number) {
  let start = number;
  while (start > 0 && !frames.cache.has(start) && frames.pictures[start][0] + frames.pictures[start][1] > 0) start--;
  let current = frames.cache.get(start) ?? frames.pictures[start].slice(2);
  for (let place = start + 1; place <= number; place++) {
    const [head, tail, ...middle] = frames.pictures[place];
    current = [...current.slice(0, head), ...middle, ...(tail ? current.slice(-tail) : [])];
    if (place % 50 === 0) frames.cache.set(place, current);
  }
  if (frames.cache.size > 500) frames.cache.clear();
  frames.cache.set(number, current);
  return current;
}

export function makeWorld() {
  const canvas = el("canvas", { class: "picture", role: "img", "aria-label": "The world" });
  const text = el("pre", { class: "state", role: "group", tabIndex: 0, "aria-label": "The world as text" });
  const caption = el("p", { class: "caption" });
  const box = el("div", { class: "world" }, caption, canvas, text);
  let [shown, side, last] = [null, 280, null];
  new ResizeObserver(() => {
    side = Math.min(box.clientWidth || 280, 360); // to read it in a frame costs a layout
    if (last) self.show(...last);
  }).observe(box);
  const self = {
    box,
    show(frames, t, asItIs, turnName = "turn") {
      const number = frames ? frameAt(frames, t, asItIs) : -1;
      const key = `${number} ${asItIs} ${side} ${colours().paper}`;
      last = [frames, t, asItIs, turnName];
      const seen = number >= 0 ? frames.at[number] : 0;
      setText(caption, sayFrame(frames, number, t, asItIs, turnName));
      if (key === shown) return;
      shown = key;
      const hasPicture = number >= 0 && frames.text[number] < 0;
      canvas.hidden = !hasPicture;
      text.hidden = hasPicture || number < 0;
      if (hasPicture) drawPicture(canvas, frames, number, side);
      else if (number >= 0) text.textContent = visible(frames.strings[frames.text[number]]);
      canvas.setAttribute("aria-label", `The world at ${seconds(seen)}`);
    },
    forget: () => (shown = null),
  };
  return self;
}

function sayFrame(frames, number, t, asItIs, turnName) {
  if (!frames) return "Loading…";
  if (!frames.at.length) return frames.reason;
  if (number < 0) return "Nothing was to be seen yet.";
  const [at, happened] = [frames.at[number], frames.happened[number]];
  const turn = `${turnName} ${frames.turn[number]}`;
  if (asItIs) return `${turn}, since ${seconds(happened)}${at > t ? `; the agent sees it at ${seconds(at)}` : ""}`;
  const newer = frameAt(frames, t, true);
  const lag = newer >= 0 && frames.at[newer] > t ? "; the world has moved since" : "";
  return `${turn}, seen since ${seconds(at)}${at > happened ? `, as it was at ${seconds(happened)}` : ""}${lag}`;
}

function drawPicture(canvas, frames, number, side) {
  const context = fitCanvas(canvas, side, side);
  const palette = colours();
  const scale = side / 100;
  for (const operation of operationsOf(frames, number).map((place) => frames.operations[place])) {
    const [kind, role, ...values] = operation;
    context.fillStyle = context.strokeStyle = palette[role] ?? palette.ink;
    context.lineWidth = 1.5;
    const [a, b, c, d] = values.map((value) => (typeof value === "number" ? value * scale : value));
    if (kind === "rect") context.fillRect(a, b, c, d);
    else if (kind === "box") context.strokeRect(a, b, c, d);
    else if (kind === "text") {
      context.font = `${c}px ${palette.font}`;
      context.textBaseline = "alphabetic";
      context.fillText(visible(String(d)), a, b);
    } else {
      path(context, ...(kind === "line" ? [[a, b], [c, d]] : []));
      if (kind === "circle") context.arc(a, b, Math.max(c, 0), 0, 7);
      if (kind === "circle") context.fill();
      else context.stroke();
    }
  }
}
