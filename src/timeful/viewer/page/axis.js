// The axis: instants to positions and back, in pieces between knots. Time as it is, with silence
// folded, or with the same width for each event.
import { lastUpTo } from "./dom.js";

export function makeAxis(model, kind, folds) {
  if (kind === "event") return piecewise(model.instants, Float64Array.from(model.instants, (_, place) => place), kind);
  if (folds) return foldAxis(model);
  return { kind: "time", size: model.end, toAxis: (t) => t, toTime: (u) => u, knots: null };
}

function foldAxis(model) {
  const { instants, spans, lanes } = model;
  const busy = [];
  spans.start.forEach((start, place) => {
    const kind = lanes[spans.lane[place]].kind;
    if ((kind === "thoughts" || kind === "tools") && spans.state[place] !== "paused") busy.push([start, start + spans.length[place]]);
  });
  busy.sort((a, b) => a[0] - b[0]);
  const limit = Math.max((4 * model.end) / Math.max(instants.length, 40), 1);
  const positions = new Float64Array(instants.length);
  let [place, until] = [0, 0];
  for (let knot = 1; knot < instants.length; knot++) {
    const [from, to] = [instants[knot - 1], instants[knot]];
    while (place < busy.length && busy[place][0] <= from) until = Math.max(until, busy[place++][1]);
    const silent = to - from > limit && until <= from;
    positions[knot] = positions[knot - 1] + (silent ? limit : to - from);
  }
  const axis = piecewise(instants, positions, "fold");
  axis.folds = [];
  for (let knot = 1; knot < instants.length; knot++) {
    if (instants[knot] - instants[knot - 1] - (positions[knot] - positions[knot - 1]) > 1) axis.folds.push([instants[knot - 1], instants[knot]]);
  }
  return axis;
}

export function piecewise(from, to, kind) {
  return {
    kind,
    knots: from,
    size: to[to.length - 1] || 1,
    toAxis: (t) => interpolate(from, to, t),
    toTime: (u) => interpolate(to, from, u),
  };
}

function interpolate(from, to, value) {
  const last = from.length - 1;
  if (value <= from[0] || last < 1) return to[0];
  if (value >= from[last]) return to[last];
  const place = lastUpTo(from, value);
  const width = from[place + 1] - from[place];
  return to[place] + (width ? ((value - from[place]) / width) * (to[place + 1] - to[place]) : 0);
}

// Instants to label between two positions, at least a number of pixels from each other.
export function ticks(axis, from, to, width, gap = 90) {
  if (axis.kind === "time") {
    const step = niceStep(((to - from) / Math.max(width, 1)) * gap);
    const first = Math.ceil(from / step) * step;
    return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, place) => first + place * step);
  }
  const result = [];
  for (let x = 0; x < width; x += gap) {
    const place = lastUpTo(axis.knots, axis.toTime(from + ((to - from) * x) / width));
    const instant = axis.knots[Math.min(place + 1, axis.knots.length - 1)];
    const before = result.length ? axis.toAxis(result[result.length - 1]) : -Infinity;
    if (axis.toAxis(instant) - before >= ((to - from) / width) * gap * 0.8) result.push(instant);
  }
  return result;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10);
}
