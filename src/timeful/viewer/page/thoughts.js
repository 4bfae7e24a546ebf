// The text of each thought until t: found by binary search, shown in pieces.
import { button, checkbox, count, cumulate, el, lastUpTo, plain, seconds, setText, visible } from "./dom.js";
import { isRunning, label, purposeOf, stateAt, thoughtsAt } from "./model.js";
import { readEvents } from "./store.js";

const TAIL = 6000;
const PAGE = 64 << 10;
const MOST_PANELS = 3;

export const decodeTexts = (pack) => ({ ...pack, events: readEvents(pack.events), decoded: new Map() });

// The chunks of a thought: instants, and sums of tokens and lengths.
function chunksOf(texts, thought) {
  let value = texts.decoded.get(thought);
  if (!value) {
    const { chunks } = texts.thoughts[thought];
    value = { at: cumulate(chunks.at), tokens: cumulate(chunks.tokens), length: cumulate(chunks.length) };
    texts.decoded.set(thought, value);
  }
  return value;
}

// What was known of a thought at t: the tokens, and the length of its text.
function knownAt(texts, thought, t) {
  const chunks = chunksOf(texts, thought);
  const place = lastUpTo(chunks.at, t);
  return { tokens: place < 0 ? 0 : chunks.tokens[place], length: place < 0 ? 0 : chunks.length[place], hasChunks: chunks.at.length > 0 };
}

export function tokensAt(model, texts, thought, t) {
  if (!texts?.thoughts[thought]) return null;
  const known = knownAt(texts, thought, t);
  return known.hasChunks ? known.tokens : null;
}

// The panels of the thoughts: one for each purpose.
export function makeThoughtPanels(model, { chosen = [] } = {}) {
  const box = el("div", { class: "thought-panels" });
  const names = thoughtsAt(model, 0).map(({ lane }) => (lane.module ? `${lane.module}: ${purposeOf(lane)}` : purposeOf(lane)));
  const shown = new Set(chosen.length ? chosen : names.keys().filter((place) => place < MOST_PANELS));
  const panels = names.map((name) => makePanel(name));
  const options = { later: false };
  let last = null;
  const self = {
    box,
    options,
    update(texts, t) {
      last = [texts, t];
      thoughtsAt(model, t).forEach(({ thought }, place) => {
        if (shown.has(place)) panels[place].update(model, texts, thought, t, options.later);
      });
    },
  };
  const refresh = () => {
    box.replaceChildren(...panels.filter((_, place) => shown.has(place)).map((panel) => panel.box));
    if (last) self.update(...last);
  };
  self.controls = el("div", { class: "row" },
    checkbox("later text, pale", false, (value) => { options.later = value; refresh(); }),
    names.length > MOST_PANELS ? names.map((name, place) => checkbox(visible(name), shown.has(place), (value) => {
      if (value) shown.add(place);
      else shown.delete(place);
      refresh();
    })) : null);
  refresh();
  return self;
}

function makePanel(name) {
  const title = el("h2", { text: name });
  const note = el("p", { class: "caption" });
  const before = el("div", { class: "row" });
  const known = el("span");
  const later = el("span", { class: "later" });
  const cursor = el("span", { class: "text-cursor", "aria-hidden": "true" });
  const text = el("pre", { class: "thought", role: "group", tabIndex: 0, "aria-label": `Text of ${name} until the cursor` }, known, cursor, later);
  const prompt = el("details", {}, el("summary", { text: "What it was asked" }), el("div", { class: "prompt" }));
  const box = el("section", { class: "panel" }, title, note, before, text, prompt);
  const state = { thought: -2, key: "", tail: TAIL };
  return {
    box,
    update(model, texts, thought, t, isLater) {
      if (thought !== state.thought) {
        Object.assign(state, { thought, tail: TAIL, key: "" });
        showPrompt(prompt, texts, thought);
      }
      setText(title, visible(`${name}${thought < 0 ? "" : ` #${model.thoughts.number[thought]}`}`));
      setText(note, visible(sayThought(model, texts, thought, t)));
      const shown = thought < 0 || !texts ? null : textAt(model, texts, thought, t);
      const key = `${thought} ${shown?.end} ${shown?.kind} ${isLater} ${state.tail} ${Boolean(texts)}`;
      if (key === state.key) return;
      state.key = key;
      if (texts && !prompt.dataset.filled) showPrompt(prompt, texts, thought);
      showText({ known, later, cursor, before, text }, shown, state, isLater, () => {
        state.tail += PAGE;
        state.key = "";
        this.update(model, texts, thought, t, isLater);
      });
    },
  };
}

function sayThought(model, texts, thought, t) {
  if (thought < 0) return "It has not thought yet.";
  const { start, end, tokens, state, cause, purpose } = model.thoughts;
  const who = label(model, model.thoughts.model[thought]) || label(model, purpose[thought]);
  if (isRunning(model, thought, t)) {
    const known = tokensAt(model, texts, thought, t);
    return `${stateAt(model, thought, t) === "paused" ? "is paused" : "thinks"} since ${seconds(start[thought])}${known === null ? "" : ` · ${count(known, "token")} so far`} · ${who}`;
  }
  return `rests since ${seconds(end[thought])} · ${count(tokens[thought], "token")} in ${seconds(end[thought] - start[thought])} · ${state[thought]}${cause[thought] < 0 ? "" : `, ${label(model, cause[thought])}`} · ${who}`;
}

// The text of a thought and how much of it was known at t.
function textAt(model, texts, thought, t) {
  const words = texts.thoughts[thought];
  const isOver = !isRunning(model, thought, t);
  const known = knownAt(texts, thought, t);
  if (known.hasChunks && words.text) return { text: words.text, end: isOver ? words.text.length : known.length, kind: "chunks" };
  if (isOver && words.answer) return { text: words.answer, end: words.answer.length, kind: "answer" };
  return { text: "", end: 0, kind: known.hasChunks ? "left out" : isOver ? "empty" : "not kept" };
}

const ABSENT = {
  "not kept": "The text until then was not kept. Run the episode with --transcripts full, or view a stand-in with --fill.",
  "left out": "The texts were left out of this page.",
  empty: "The record has no text of this thought.",
};

function showText({ known, later, cursor, before, text }, shown, state, isLater, more) {
  const end = shown?.end ?? 0;
  const from = Math.max(0, end - state.tail);
  cursor.hidden = !shown || shown.kind !== "chunks";
  known.className = !shown || ABSENT[shown.kind] ? "absent" : "";
  known.textContent = shown ? (ABSENT[shown.kind] ?? visible(shown.text.slice(from, end))) : "";
  later.textContent = shown && isLater ? visible(shown.text.slice(end, end + TAIL)) : "";
  before.replaceChildren(...(from > 0 ? [button(`${plain(from)} characters before: show more`, "Show more of the text before", more)] : []));
  queueMicrotask(() => (text.scrollTop = text.scrollHeight)); // a layout, after all changes
}

function showPrompt(prompt, texts, thought) {
  const inside = prompt.lastChild;
  inside.replaceChildren();
  const messages = texts?.thoughts[thought]?.messages;
  prompt.dataset.filled = texts ? "1" : "";
  prompt.hidden = Boolean(texts) && !messages;
  for (const [role, place] of messages ?? []) inside.append(el("h3", { text: role }), pagedText(texts.strings[place]));
}

// A text that may be long: its first 64 kB, and a button for the next.
export function pagedText(text, properties = {}) {
  const pre = el("pre", { class: "long", role: "group", tabIndex: 0, "aria-label": "Text", ...properties });
  const box = el("div", {}, pre);
  let end = 0;
  const more = () => {
    pre.append(visible(text.slice(end, end + PAGE)));
    end += PAGE;
    box.querySelector("button")?.remove();
    if (end < text.length) box.append(button(`${plain(text.length - end)} more characters: show`, "Show the next 64 kB", more));
  };
  more();
  return box;
}
