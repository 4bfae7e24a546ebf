// Details of what is selected: its verdict, and every field of its event in the record.
import { button, copyText, el, plain, seconds } from "./dom.js";
import { label, sayItem, sayVerdict } from "./model.js";
import { pagedText } from "./thoughts.js";

export function showDetails(box, model, texts, item, say) {
  box.replaceChildren(el("h2", { text: "Details" }));
  if (!item) {
    box.append(el("p", { class: "caption", text: "Select a mark on a lane, or a line of the list of events." }));
    return;
  }
  const lane = model.lanes[item.lane];
  box.append(el("p", { class: "lead", text: item.type === "span" ? `thought #${model.thoughts.number[item.thought]}` : sayItem(model, item) }));
  const pairs = [["instant", `${seconds(item.at, 9)} = ${plain(item.at)} ns`], ["lane", lane.title], ["in the record", `line ${item.line}`]];
  if (item.verdict >= 0) pairs.splice(1, 0, ["verdict", sayVerdict(model, item.verdict)]);
  if (item.thought >= 0) pairs.push(...describeThought(model, item.thought));
  box.append(describe(pairs));
  const text = texts?.events.get(item.line);
  if (text === undefined) {
    box.append(el("p", { class: "caption", text: texts ? "The page does not have the fields of this event." : "Loading the fields…" }));
    return;
  }
  box.append(el("h3", { text: "Fields of the event" }), pagedText(JSON.stringify(JSON.parse(text), null, 1), { class: "long fields" }), button("Copy as JSON", "Copy the event as JSON", () => copyText(text, say)));
}

export const describe = (pairs) => el("dl", {}, pairs.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));

function describeThought(model, thought) {
  const { start, end, tokens, state, cause, model: name } = model.thoughts;
  const pairs = [["thought begins", seconds(start[thought], 9)], ["thought ends", end[thought] < 0 ? "no end in the record" : seconds(end[thought], 9)]];
  pairs.push(["tokens", plain(tokens[thought])], ["model", label(model, name[thought])], ["state", state[thought] + (cause[thought] < 0 ? "" : `, ${label(model, cause[thought])}`)]);
  return pairs;
}
