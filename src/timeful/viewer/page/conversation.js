// A dialogue until t: what was said, and what became of the predictions for each turn.
import { el, plain, seconds, visible } from "./dom.js";
import { label, sayVerdict } from "./model.js";
import { VERDICTS } from "./verdicts.js";

// The turns of a conversation in the events of an episode; null if it is none.
export function readConversation(model, texts) {
  const turns = [];
  for (const line of texts.events.lines()) {
    const { at, data, what } = JSON.parse(texts.events.get(line));
    if (what === "turn" && typeof data?.text === "string" && data.speaker) turns.push({ at, number: data.turn, speaker: String(data.speaker), text: data.text, observed: data.observed ?? [] });
  }
  const verdicts = new Map();
  model.verdicts.slot.forEach((slot, place) => {
    const name = label(model, slot);
    if (!verdicts.has(name)) verdicts.set(name, []);
    if (model.verdicts.thought[place] < 0) verdicts.get(name).push(place);
  });
  for (const turn of turns) turn.verdicts = verdicts.get(`turn ${turn.number}`) ?? [];
  return turns.length ? turns : null;
}

export function makeConversation(model, turns, go) {
  const list = el("ol", { class: "conversation", tabIndex: 0, "aria-label": "The conversation until the cursor" });
  const caption = el("p", { class: "caption" });
  const nodes = turns.map((turn) => {
    const chips = el("span", { class: "chips" });
    const node = el("li", { class: `said ${turn.speaker === turns[0].speaker ? "first" : "second"}`, on: { click: () => go(turn.at) } },
      el("span", { class: "speaker", text: `${turn.number} ${turn.speaker}` }), el("span", { class: "when", text: seconds(turn.at, 1) }), chips,
      el("p", { text: turn.text.slice(0, 4000) }));
    return { node, chips, turn, state: "" };
  });
  let shown = -1;
  list.append(...nodes.map(({ node }) => node));
  return {
    box: el("div", {}, caption, list),
    update(t) {
      let last = -1;
      nodes.forEach((entry, place) => {
        entry.node.hidden = entry.turn.at > t;
        if (entry.turn.at <= t) last = place;
        const known = entry.turn.verdicts.filter((verdict) => model.verdicts.at[verdict] <= t);
        const state = known.join();
        if (state === entry.state) return;
        entry.state = state;
        entry.chips.replaceChildren(...known.map((verdict) => el("span", { class: `chip ${VERDICTS[model.verdicts.kind[verdict]]?.role ?? "quiet"}`, text: model.verdicts.kind[verdict], title: visible(sayVerdict(model, verdict, false)) })));
        entry.node.classList.toggle("is-lost", known.some((verdict) => model.verdicts.kind[verdict] === "lost"));
      });
      caption.textContent = last < 0 ? "Nothing was said yet." : `${plain(last + 1)} of ${plain(turns.length)} turns were said. A label tells what became of the prediction for a turn.`;
      if (last !== shown) list.scrollTop = list.scrollHeight;
      shown = last;
    },
  };
}
