// The lanes of an episode on a canvas: sorted arrays, binary search, and marks that are nearer to
// each other than a pixel drawn once, so that a frame costs as much as the canvas is wide.
import { ticks } from "./axis.js";
import { colours, el, fillBox, fitCanvas, lastUpTo, oncePerFrame, path, plain, textRight, tickLabel, visible } from "./dom.js";
import { label, purposeOf } from "./model.js";
import { listen } from "./pointer.js";
import { drawTorn, drawVerdict, ENDS } from "./verdicts.js";
import { bounds, foldedModules, HEAD, layOut, placer } from "./window.js";

const [NEAR, WIDE] = [1, 2.5];

// Makes the timeline of a model. `view` has t, from and to (in the axis), axis and folded modules;
// `on` has scrub(t), pick(item), and change().
export function makeTimeline(model, view, on, name = "Timeline") {
  const canvas = el("canvas", { class: "lanes", tabIndex: 0, role: "slider", "aria-label": `${name}: instant`, "aria-valuemin": "0", "aria-valuenow": String(Math.round(view.t)), "aria-valuemax": String(model.end) });
  const tip = el("div", { class: "tip", hidden: true });
  const sizer = el("div", { class: "sizer" }, canvas);
  const box = el("div", { class: "lane-box" }, sizer, tip);
  const self = { canvas, box, view, model, rows: [], top: 0, folded: foldedModules(model), draw: () => draw(self), bounds: () => bounds(self) };
  layOut(self);
  const redraw = oncePerFrame(self.draw);
  self.redraw = redraw;
  box.addEventListener("scroll", () => redraw((self.top = box.scrollTop)));
  new ResizeObserver(() => {
    self.size = null;
    redraw();
  }).observe(box);
  listen(self, on, tip);
  return self;
}

function draw(self) {
  const size = bounds(self);
  const palette = colours();
  const context = fitCanvas(self.canvas, size.width, size.height);
  const { top } = self; // to read scrollTop here costs a layout
  const place = placer(self, size);
  const paint = { context, palette, size, place, from: place.t(size.gutter), to: place.t(size.gutter + size.plot), top, self };
  context.font = `12px ${palette.font}`;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(size.gutter, 0, size.plot + 10, size.height);
  context.clip();
  const rows = self.rows.filter((row) => row.y + row.height > top && row.y < top + size.height);
  drawTicks(paint);
  for (const row of rows) drawRow(paint, row);
  drawTies(paint);
  for (const row of rows) drawFaults(paint, row);
  drawCursor(paint);
  context.restore();
  drawNames(paint, rows);
}

function drawTicks({ context, palette, size, place, self }) {
  const { view } = self;
  const instants = ticks(view.axis, view.from, view.to, size.plot);
  const step = instants.length > 1 ? Math.min(...instants.slice(1).map((t, i) => t - instants[i]).filter((d) => d > 0)) : 1e9;
  context.fillStyle = palette.quiet;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const t of instants) {
    const x = Math.round(place.x(t)) + 0.5;
    context.moveTo(x, HEAD - 6);
    context.lineTo(x, size.height);
    context.fillText(tickLabel(t, step), x + 4, HEAD / 2);
  }
  context.stroke();
  for (const [from, to] of view.axis.folds ?? []) {
    const [left, right] = [place.x(from), place.x(to)];
    if (right < size.gutter || left > size.width) continue;
    fillBox(context, palette.line, left, HEAD, Math.max(right - left, 2), size.height);
  }
}

function drawRow(paint, row) {
  const { context, palette, size, top } = paint;
  const y = row.y - top;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  path(context, [size.gutter, y + row.height - 0.5], [size.width, y + row.height - 0.5]);
  context.stroke();
  for (const lane of row.lanes ?? [row.lane]) {
    if (lane.kind === "score") {
      if (!row.lanes) drawScore(paint, row, y);
      continue;
    }
    if (lane.kind === "deadlines") drawDeadlines(paint, lane, y, row.height);
    else if (lane.kind === "actions") drawLost(paint, lane, y, row.height);
    if (lane.kind === "thoughts" || lane.kind === "tools") drawSpans(paint, lane, y, row.height);
    drawMarks(paint, lane, y, row.height);
  }
}

// Calls a function for each item of a sorted list in sight, but once for those within a pixel.
function eachNear(paint, instants, action, near = NEAR) {
  let place = Math.max(lastUpTo(instants, paint.from) , 0);
  while (place < instants.length && instants[place] <= paint.to) {
    const x = paint.place.x(instants[place]);
    const until = paint.place.t(x + near);
    let step = 1;
    while (instants[place + step] <= until) step *= 2;
    const next = lastUpTo(instants, until, place + 1 + (step >> 1), Math.min(place + step, instants.length)) + 1;
    action(place, x, next - place);
    place = Math.max(next, place + 1);
  }
}

function drawSpans(paint, lane, y, height) {
  const { context, palette, place, self } = paint;
  const { spans, thoughts } = self.model;
  const colour = lane.kind === "tools" ? palette.third : laneColour(self.model, lane, palette);
  eachNear(paint, lane.spanStart, (number, left, merged) => {
    const span = lane.spans[number];
    const last = lane.spans[number + merged - 1];
    const right = place.x(spans.start[last] + spans.length[last]);
    if (right < paint.size.gutter) return;
    const width = Math.max(right - left, 1);
    const isPaused = spans.state[span] === "paused";
    context.fillStyle = isPaused ? hatch(context, colour) : colour;
    context.globalAlpha = isPaused ? 0.8 : 1;
    context.fillRect(left, y + 5, width, height - 10);
    context.globalAlpha = 1;
    if (merged > 1) return;
    const thought = spans.thought[span];
    const end = ENDS[spans.state[span]];
    const isLate = thought >= 0 && thoughts.is_late[thought] && spans.state[span] !== "paused" && spans.state[span] !== "running";
    if ((end || isLate) && width > 3) drawEnd(paint, right, y + 5, height - 10, isLate ? "late" : end);
    if (width > 30 && !isPaused) drawLabel(paint, spanLabel(self, span, thought, width), left + 5, y + height / 2, width - (end || isLate ? 22 : 9));
  });
}

// The tokens of a thought are told once it is over.
function spanLabel({ model, view }, span, thought, width) {
  if (thought < 0) return label(model, model.spans.label[span]);
  const { number, start, end, tokens } = model.thoughts;
  const name = `#${number[thought]}`;
  const isRunning = start[thought] <= view.t && (end[thought] < 0 || end[thought] > view.t);
  return width > 110 && tokens[thought] && !isRunning ? `${name}  ${plain(tokens[thought])} tokens` : name;
}

function drawEnd({ context, palette }, x, y, height, end) {
  context.fillStyle = palette.panel;
  context.beginPath();
  drawTorn(context, x - 2, y, height);
  context.lineTo(x + 4, y + height);
  context.lineTo(x + 4, y);
  context.fill();
  context.fillStyle = palette.paper;
  if (end === "late") {
    context.strokeStyle = palette.paper;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x - 9, y + height / 2, 4.5, 0, 7);
    context.moveTo(x - 9, y + height / 2 - 3);
    context.lineTo(x - 9, y + height / 2);
    context.lineTo(x - 6.5, y + height / 2);
    context.stroke();
  } else textRight(context, end, x - 5, y + height / 2 + 1);
}

function drawLabel({ context, palette }, text, x, y, width) {
  context.fillStyle = palette.paper;
  const shown = fitText(context, visible(text), width);
  if (shown) context.fillText(shown, x, y + 1);
}

function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const most = Math.floor(width / 6.2);
  return most < 3 ? "" : `${text.slice(0, most - 1)}…`;
}

// Each purpose has a colour; planners and reactors are told apart by their names too.
function laneColour(model, lane, palette) {
  const purposes = [...new Set(model.lanes.filter((other) => other.kind === "thoughts").map(purposeOf))];
  return palette[["own", "other", "third"][purposes.indexOf(purposeOf(lane)) % 3]] ?? palette.own;
}

const hatches = new Map();

function hatch(context, colour) {
  if (!hatches.has(colour)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const ink = tile.getContext("2d");
    ink.strokeStyle = colour;
    ink.lineWidth = 1.4;
    path(ink, [0, 6], [6, 0]);
    ink.stroke();
    hatches.set(colour, context.createPattern(tile, "repeat"));
  }
  return hatches.get(colour);
}

function drawDeadlines(paint, lane, y, height) {
  const { context, palette, place, self } = paint;
  const { spans } = self.model;
  const names = [];
  eachNear(paint, lane.spanStart, (number, left, merged) => {
    const last = lane.spans[number + merged - 1];
    const right = place.x(spans.start[last] + spans.length[last]);
    if (right < paint.size.gutter) return;
    if (merged === 1 && right - left >= 56) names.push([last, left, right - left]);
    fillBox(context, palette.line, left + 1, y + 4, Math.max(right - left - 2, 1), height - 8);
    fillBox(context, palette.ink, right - 1.5, y + 1, 1.5, height - 3);
  });
  eachNear(paint, lane.limitStart, (number, left, merged) => {
    const last = lane.limits[number + merged - 1];
    const right = Math.min(place.x(spans.start[last] + spans.length[last]), paint.size.width);
    fillBox(context, hatch(context, palette.quiet), left, y + 4, Math.max(right - left, 1), height - 8);
  });
  context.font = `11px ${palette.font}`;
  for (const [span, left, width] of names) {
    const text = fitText(context, visible(label(self.model, spans.label[span])), width - 10);
    fillBox(context, palette.line, left + 3, y + 4, context.measureText(text).width + 4, height - 8);
    context.fillStyle = palette.ink;
    context.fillText(text, left + 5, y + height / 2);
  }
  context.font = `12px ${palette.font}`;
}

// A grey column over the window of each slot that was lost.
function drawLost(paint, lane, y, height) {
  const { context, palette, place, self } = paint;
  const set = lane.verdictSets.find((other) => other.kind === "lost");
  if (!set) return;
  const names = [];
  context.fillStyle = palette.gone;
  context.beginPath();
  eachNear(paint, set.at, (number, x) => {
    const window = self.model.windows.get(self.model.verdicts.slot[set.places[number]]);
    const left = window ? Math.min(place.x(window[0]), x) : x;
    context.rect(left, y + 2, Math.max(x - left, 2), height - 4);
    if (x - Math.max(left, names[names.length - 1] ?? left) > 34) names.push(x);
  });
  context.globalAlpha = 0.18;
  context.fill();
  context.globalAlpha = 1;
  for (const x of names) context.fillText("lost", x - 30, y + height - 9);
}

function drawMarks(paint, lane, y, height) {
  const { context, palette, place, self } = paint;
  const { marks } = self.model;
  let until = -1;
  eachNear(paint, lane.markAt, (number, x, merged) => {
    const mark = lane.marks[number];
    const kind = marks.kind[mark];
    const seen = marks.seen[mark];
    const middle = y + (lane.kind === "world" ? height * 0.36 : height / 2);
    context.fillStyle = context.strokeStyle = kind === "failure" || kind === "unknown" ? palette.bad : lane.kind === "actions" ? palette.quiet : palette.ink;
    context.lineWidth = 1.5;
    if (merged > 1) {
      context.fillRect(x - 0.5, middle - 6, 2, 12);
      return;
    }
    const isHidden = seen < 0 || (seen > 0 && self.view.t < marks.at[mark] + seen);
    drawMark(context, kind, x, middle, isHidden);
    if (seen > 0) {
      context.fillRect(x + 4, middle - 0.5, Math.max(place.x(marks.at[mark] + seen) - x - 4, 0), 1);
      context.fillRect(place.x(marks.at[mark] + seen) - 1, middle - 3, 2, 6);
    }
    if (lane.kind !== "actions" && x > until) {
      const text = visible(label(self.model, marks.label[mark]));
      const next = number + 1 < lane.markAt.length ? place.x(lane.markAt[number + 1]) : Infinity;
      const short = lane.kind === "world" ? text : text.slice(0, 60);
      const width = context.measureText(short).width;
      if (x + width + 8 < next || text.length <= 2) {
        context.fillStyle = palette.quiet;
        context.fillText(short, lane.kind === "world" ? x - Math.min(width / 2, 4) : x + 7, lane.kind === "world" ? y + height * 0.78 : middle);
        until = x + (lane.kind === "world" ? width : width + 8);
      }
    }
  }, WIDE);
}

function drawMark(context, kind, x, y, isHidden) {
  context.beginPath();
  if (kind === "turn" || kind === "event") path(context, [x, y - 5], [x + 4.5, y + 4], [x - 4.5, y + 4], [x, y - 5]);
  else if (kind === "end" || kind === "failure") context.rect(x - 2, y - 7, 4, 14);
  else if (kind === "note") context.rect(x - 3.5, y - 3.5, 7, 7);
  else if (kind === "unknown") context.rect(x - 4, y - 4, 8, 8);
  else context.arc(x, y, kind === "action" ? 2.5 : 3.5, 0, 7);
  if (isHidden || kind === "poll" || kind === "unknown") context.stroke();
  else context.fill();
}

function drawFaults(paint, row) {
  const { context, palette, place, self, top } = paint;
  const { verdicts } = self.model;
  for (const lane of row.lanes ?? [row.lane]) {
    for (const set of lane.verdictSets) {
      if (lane.kind === "thoughts" && verdicts.thought[set.places[0]] >= 0 && !row.lanes) continue;
      const y = row.y - top + row.height / 2;
      eachNear(paint, set.at, (number, x, merged) => {
        const slack = verdicts.slack[set.places[number]];
        if (merged === 1 && slack) drawSlack(context, x, place.x(verdicts.at[set.places[number]] + slack), y, palette);
        drawVerdict(context, set.kind, x, y, merged > 1 ? 3.5 : 5, palette);
      }, WIDE);
    }
  }
}

// From an action to its deadline: the time that was left, or that was missing.
function drawSlack(context, x, deadline, y, palette) {
  context.fillStyle = deadline >= x ? palette.good : palette.late;
  if (Math.abs(deadline - x) < 5) return;
  context.fillRect(Math.min(x, deadline), y - 0.75, Math.abs(deadline - x), 1.5);
  context.fillRect(deadline - 1, y - 5, 2, 10);
}

// From the end of a thought to its action.
function drawTies(paint) {
  const { context, palette, self, top } = paint;
  const { links } = self.model;
  self.ties ??= Float64Array.from(links.at).every((at, i) => i === 0 || at >= links.at[i - 1]);
  if (!self.ties || self.folded.size) return;
  const rows = new Map(self.rows.map((row) => [row.lane.place, row]));
  context.strokeStyle = palette.quiet;
  context.lineWidth = 1;
  context.globalAlpha = 0.55;
  context.beginPath();
  eachNear(paint, links.at, (number, x) => {
    if (links.kind[number] !== "acted") return;
    const [source, target] = [rows.get(links.source[number]), rows.get(links.target[number])];
    if (!source || !target) return;
    context.moveTo(Math.round(x) + 0.5, source.y - top + source.height - 5);
    context.lineTo(Math.round(x) + 0.5, target.y - top + target.height / 2);
  }, WIDE);
  context.stroke();
  context.globalAlpha = 1;
}

function drawScore(paint, row, y) {
  const { context, palette, place, self, size } = paint;
  const { at, score } = self.model.scores;
  if (!score.length) return;
  self.range ??= [score.reduce((a, b) => Math.min(a, b), 0), score.reduce((a, b) => Math.max(a, b), 0)];
  const [low, high] = self.range;
  const level = (value) => y + row.height - 6 - ((value - low) / (high - low || 1)) * (row.height - 12);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.75;
  context.beginPath();
  let last = level(score[Math.max(lastUpTo(at, paint.from), 0)]);
  context.moveTo(size.gutter, last);
  eachNear(paint, at, (number, x, merged) => {
    context.lineTo(x, last);
    last = level(score[number + merged - 1]);
    context.lineTo(x, last);
  });
  context.lineTo(Math.min(place.x(self.model.end), size.width), last);
  context.stroke();
}

// What is after the cursor is pale: at that instant it was not known.
function drawCursor({ context, palette, place, size, self }) {
  const x = place.x(self.view.t);
  context.globalAlpha = 0.58;
  context.fillStyle = palette.panel;
  if (x < size.width) context.fillRect(Math.max(x, size.gutter), HEAD, size.width, size.height);
  context.globalAlpha = 1;
  fillBox(context, palette.accent, Math.round(x) - 1, 0, 2, size.height);
  path(context, [x - 6, 0], [x + 6, 0], [x, 9]);
  context.fill();
}

function drawNames({ context, palette, size, top, self }, rows) {
  fillBox(context, palette.panel, 0, 0, size.gutter, size.height);
  context.textBaseline = "middle";
  for (const row of rows) {
    const isHere = row.lane.place === self.view.lane;
    context.fillStyle = isHere ? palette.accent : palette.ink;
    context.font = `${isHere ? 600 : 400} 12px ${palette.font}`;
    const isRepeated = /^deadlines ([2-9]|\d\d)/.test(row.lane.name) && !isHere && !row.module;
    const text = isRepeated ? "" : visible(row.module ? `▸ ${row.module}` : row.lane.title.replace(/deadlines 1$/, "deadlines"));
    context.fillText(fitText(context, text, size.gutter - 14), 6, row.y - top + row.height / 2);
  }
  context.fillStyle = palette.quiet;
  context.font = `12px ${palette.font}`;
  context.fillText("time", 6, HEAD / 2);
  if (self.range) {
    const row = rows.find((other) => other.lane.kind === "score");
    context.font = `10px ${palette.font}`;
    if (row) textRight(context, plain(self.range[1]), size.gutter - 6, row.y - top + 9);
    if (row) textRight(context, plain(self.range[0]), size.gutter - 6, row.y - top + row.height - 8);
  }
}
