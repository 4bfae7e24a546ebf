// An episode as typed arrays, and what was the case at an instant. Nothing here draws.
import { breathe, count, cumulate, each, lastUpTo, plain, seconds, take } from "./dom.js";
import { isBad } from "./verdicts.js";

// Decodes the lanes of an episode.
export async function decodeLanes(pack) {
  const model = { pack, end: Math.max(pack.end, 1), strings: pack.strings };
  for (const part of ["spans", "marks", "links", "verdicts", "scores", "thoughts"]) {
    await breathe();
    const [columns, name] = [pack[part], pack[part].start ? "start" : "at"];
    model[part] = { ...columns, [name]: cumulate(columns[name]) };
  }
  const { start, length } = model.thoughts;
  model.thoughts.end = length.map((ns, place) => (ns < 0 ? -1 : start[place] + ns));
  model.lanes = pack.lanes.map((lane, place) => ({ ...lane, place, spans: [], limits: [], marks: [], kinds: new Map(), title: lane.module ? `${lane.module}: ${lane.name}` : lane.name }));
  await indexLanes(model);
  model.items = await indexItems(model);
  model.itemAt = new Float64Array(model.items.length);
  const instants = [0];
  model.bad = [];
  await each(model.items.length, (place) => {
    const item = model.items[place];
    model.itemAt[item.place = place] = item.at;
    if (item.at > instants[instants.length - 1]) instants.push(item.at);
    if (item.verdict >= 0 && isBad(model.verdicts.kind[item.verdict])) model.bad.push(item);
  });
  if (model.end > instants[instants.length - 1]) instants.push(model.end);
  model.instants = Float64Array.from(instants);
  model.windows = new Map();
  const { spans } = model;
  await each(spans.start.length, (place) => {
    if (spans.state[place] === "window") model.windows.set(spans.label[place], [spans.start[place], spans.start[place] + spans.length[place]]);
  });
  return model;
}

export const label = (model, place) => place < 0 ? "" : model.strings[place];

async function indexLanes(model) {
  const { spans, marks, verdicts, lanes } = model;
  const byLine = (model.byLine = new Map());
  await each(verdicts.at.length, (place) => {
    if (verdicts.thought[place] < 0 && !byLine.has(verdicts.line[place])) byLine.set(verdicts.line[place], place);
    const kinds = lanes[verdicts.lane[place]].kinds;
    const kind = verdicts.kind[place];
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(place);
  });
  await each(spans.start.length, (place) => {
    const lane = lanes[spans.lane[place]];
    (spans.state[place] === "limit" ? lane.limits : lane.spans).push(place);
  });
  await each(marks.at.length, (place) => {
    if (marks.kind[place] !== "action" || !byLine.has(marks.line[place])) lanes[marks.lane[place]].marks.push(place);
  });
  for (const lane of lanes) {
    await breathe();
    lane.spanStart = take(spans.start, lane.spans);
    lane.limitStart = take(spans.start, lane.limits);
    lane.markAt = take(marks.at, lane.marks);
    lane.verdictSets = [...lane.kinds].map(([kind, places]) => ({ kind, places, at: take(verdicts.at, places) }));
    lane.verdictSets.sort((a, b) => isBad(a.kind) - isBad(b.kind));
  }
}

// All that can be selected, in the order of time, then of lines.
async function indexItems(model) {
  const { marks, verdicts, thoughts, spans, lanes } = model;
  const items = [];
  const [used, judged] = [new Uint8Array(verdicts.at.length), new Uint8Array(thoughts.start.length)];
  await each(marks.at.length, (mark) => {
    const at = marks.at[mark];
    const verdict = marks.kind[mark] === "action" ? (model.byLine.get(marks.line[mark]) ?? -1) : -1;
    if (verdict >= 0) used[verdict] = 1;
    items.push({ at, line: marks.line[mark], lane: marks.lane[mark], mark, verdict, thought: -1, type: "mark" });
  });
  await each(verdicts.at.length, (verdict) => {
    if (verdicts.thought[verdict] >= 0) judged[verdicts.thought[verdict]] = 1;
    if (!used[verdict]) items.push({ at: verdicts.at[verdict], line: verdicts.line[verdict], lane: verdicts.lane[verdict], mark: -1, verdict, thought: verdicts.thought[verdict], type: "verdict" });
  });
  await each(thoughts.start.length, (thought) => {
    const [lane, line] = [thoughts.lane[thought], thoughts.line[thought]];
    items.push({ at: thoughts.start[thought], line, lane, mark: -1, verdict: -1, thought, type: "begin" });
    if (thoughts.end[thought] >= 0 && !judged[thought]) items.push({ at: thoughts.end[thought], line, lane, mark: -1, verdict: -1, thought, type: "end" });
  });
  await each(spans.start.length, (span) => {
    if (lanes[spans.lane[span]].kind === "tools") items.push({ at: spans.start[span], line: spans.line[span], lane: spans.lane[span], mark: -1, verdict: -1, thought: -1, span, type: "call" });
  });
  const parts = Array.from({ length: Math.ceil(items.length / 5000) }, () => []);
  await each(items.length, (place) => parts[Math.floor((items[place].at / (model.end + 1)) * parts.length)].push(items[place]));
  for (const part of parts) await breathe(part.sort((a, b) => a.at - b.at || a.line - b.line));
  return parts.flat();
}

export const sayCounts = (pack) => Object.entries(pack.counts).map(([kind, number]) => `${plain(number)} ${kind}`).join(", ");

// A verdict in words: "in time, 1.253 s left".
export function sayVerdict(model, place, hasSlot = true) {
  const { kind, slack, reason, slot } = model.verdicts;
  const left = slack[place];
  let text = kind[place];
  if (left === 0) text += " at the very instant";
  else if (left !== null && left !== undefined) text += left > 0 ? `, ${seconds(left)} left` : ` by ${seconds(-left)}`;
  if (hasSlot && slot[place] >= 0) text += ` (${label(model, slot[place])})`;
  if (reason[place] >= 0) text += `: ${label(model, reason[place])}`;
  return text;
}

// An item in one line, without its instant.
export function sayItem(model, item) {
  if (item.type === "mark") {
    const kind = model.marks.kind[item.mark];
    const name = label(model, model.marks.label[item.mark]);
    const seen = model.marks.seen[item.mark];
    const delay = seen > 0 ? `, visible ${seconds(seen)} later` : seen < 0 ? ", never visible" : "";
    const words = { turn: "the world moves", event: "", poll: "poll", look: "look", action: "action", note: "note", end: "end", failure: "failure", unknown: "unknown event" };
    const text = `${words[kind] ?? kind} ${name}`.trim() + delay;
    return item.verdict < 0 ? text : `${text}: ${sayVerdict(model, item.verdict)}`;
  }
  if (item.type === "call") return `tool ${label(model, model.spans.label[item.span])} for ${seconds(model.spans.length[item.span])}`;
  const { number, tokens, end, start } = model.thoughts;
  const name = item.thought < 0 ? "" : `thought #${number[item.thought]}`;
  if (item.type === "verdict") {
    const slot = name ? "" : label(model, model.verdicts.slot[item.verdict]) || "call";
    return `${name || slot} ${sayVerdict(model, item.verdict, !slot)}`;
  }
  if (item.type === "begin") return `${name} begins`;
  return `${name} ends: ${seconds(end[item.thought] - start[item.thought])}, ${count(tokens[item.thought], "token")}`;
}

// The thought of each purpose that runs at t, or the last one that ran.
export function thoughtsAt(model, t) {
  const { thoughts, lanes } = model;
  const latest = new Map();
  for (const lane of lanes) if (lane.kind === "thoughts") latest.set(`${lane.module}\n${purposeOf(lane)}`, { lane, thought: -1 });
  const last = lastUpTo(thoughts.start, t);
  let missing = latest.size;
  for (let place = last; place >= 0 && missing > 0; place--) {
    const lane = lanes[thoughts.lane[place]];
    const slot = latest.get(`${lane.module}\n${purposeOf(lane)}`);
    if (slot.thought < 0) {
      slot.thought = place;
      missing--;
    } else if (last - place > 5000) break;
  }
  return [...latest.values()];
}

export const purposeOf = (lane) => lane.name.replace(/ \d+$/, "");

export const isRunning = (model, thought, t) => thought >= 0 && model.thoughts.start[thought] <= t && (model.thoughts.end[thought] < 0 || t < model.thoughts.end[thought]);

// The state of a running thought at t: running, or paused.
export function stateAt(model, thought, t) {
  const lane = model.lanes[model.thoughts.lane[thought]];
  const place = lastUpTo(lane.spanStart, t);
  return place < 0 ? "running" : model.spans.state[lane.spans[place]] === "paused" ? "paused" : "running";
}

export function scoreAt(model, t) {
  const place = lastUpTo(model.scores.at, t);
  return place < 0 ? null : model.scores.score[place];
}

// The instant in a sentence, for the slider and the line below the title.
export function sayInstant(model, t, tokensOf = () => null) {
  const parts = [seconds(t)];
  for (const { lane, thought } of thoughtsAt(model, t).slice(0, 4)) {
    const name = lane.module ? `${lane.module} ${purposeOf(lane)}` : purposeOf(lane);
    if (!isRunning(model, thought, t)) parts.push(`${name} rests`);
    else {
      const tokens = tokensOf(thought, t);
      parts.push(`${name} ${stateAt(model, thought, t) === "paused" ? "is paused" : "thinks"}${tokens === null ? "" : ` at ${count(tokens, "token")}`}`);
    }
  }
  for (let place = lastUpTo(model.itemAt, t); place >= 0; place--) {
    const item = model.items[place];
    if (model.lanes[item.lane].kind === "actions") {
      parts.push(`last ${sayItem(model, item)}`);
      break;
    }
    if (model.itemAt[place] < t - model.end / 4) break;
  }
  return parts.join(" · ");
}

// The instant at which a page is opened: the end of one that failed or runs, the first fault, else within a long thought.
export function firstInstant(model) {
  if (model.pack.status !== "ok") return model.end;
  const fault = model.bad.find((item) => model.lanes[item.lane].kind === "actions") ?? model.bad[0];
  if (fault) return fault.at;
  const { start, end } = model.thoughts;
  const longest = start.reduce((best, at, place) => (at > model.end / 4 && end[place] < model.end * 0.6 && end[place] - at > (best < 0 ? 0 : end[best] - start[best]) ? place : best), -1);
  return longest < 0 ? model.end / 2 : Math.round(start[longest] + (end[longest] - start[longest]) * 0.6);
}
