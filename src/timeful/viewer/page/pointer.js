// The pointer on the lanes: it moves the cursor, picks items, zooms and tells what is below it.
import { lastUpTo, seconds, visible } from "./dom.js";
import { isRunning, sayItem } from "./model.js";
import { isBad } from "./verdicts.js";
import { bounds, layOut, pan, placer, zoom } from "./window.js";

const SNAP = 4;

export function listen(self, on, tip) {
  const { canvas, view } = self;
  let drags = false;
  canvas.addEventListener("pointerdown", (event) => {
    const where = locate(self, event);
    if (where.x < where.size.gutter) {
      if (where.row?.module || self.folded.size || self.model.lanes.length > 40) toggleModule(self, where.row);
      else if (where.row) on.lane(where.row.lane.place);
      return;
    }
    drags = true;
    canvas.setPointerCapture(event.pointerId);
    const item = findItem(self, where);
    if (item) on.pick(item);
    else on.scrub(where.t);
  });
  canvas.addEventListener("pointermove", (event) => {
    const where = locate(self, event);
    if (drags && event.buttons) on.scrub(event.altKey ? where.t : snap(self, where));
    else showTip(self, where, tip);
  });
  canvas.addEventListener("pointerup", () => (drags = false));
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("wheel", (event) => {
    const where = locate(self, event);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(view, 1.0015 ** event.deltaY, view.axis.toAxis(where.t));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(view, (((event.deltaX || event.deltaY) * (view.to - view.from)) / where.size.plot));
    } else return;
    on.change();
  }, { passive: false });
}

function toggleModule(self, row) {
  if (!row?.lane.module) return;
  if (self.folded.has(row.lane.module)) self.folded.delete(row.lane.module);
  else self.folded.add(row.lane.module);
  layOut(self);
  self.redraw();
}

function locate(self, event) {
  const area = self.canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - area.left, event.clientY - area.top];
  const size = bounds(self);
  const place = placer(self, size);
  const row = self.rows.find((other) => y + self.box.scrollTop >= other.y && y + self.box.scrollTop < other.y + other.height);
  const t = Math.min(Math.max(place.t(x), 0), self.model.end);
  return { x, y, t, size, place, row };
}

// The item below the pointer: the nearest one in its lane, else the thought that runs there.
function findItem(self, { x, t, place, row }) {
  if (!row) return null;
  const { model } = self;
  let best = null;
  const first = lastUpTo(model.itemAt, place.t(x - SNAP - 2));
  for (let number = Math.max(first, 0), steps = 0; number < model.items.length && steps < 2000; number++, steps++) {
    const item = model.items[number];
    const distance = Math.abs(place.x(item.at) - x);
    if (item.at > place.t(x + SNAP + 2)) break;
    const isHere = row.lanes ? model.lanes[item.lane].module === row.module : item.lane === row.lane.place;
    const worth = item.verdict >= 0 && isBad(model.verdicts.kind[item.verdict]) ? 2 : 0;
    if (isHere && distance <= SNAP + 2 && (!best || distance - worth < best.distance)) best = { item, distance: distance - worth };
  }
  if (best) return best.item;
  const span = row.lane.spans[lastUpTo(row.lane.spanStart, t)];
  if (span === undefined || t > model.spans.start[span] + model.spans.length[span]) return null;
  const thought = model.spans.thought[span];
  if (thought >= 0 && isRunning(model, thought, t)) return { type: "span", thought, at: t, line: model.thoughts.line[thought], lane: row.lane.place, verdict: -1, mark: -1 };
  return null;
}

function snap(self, { x, t, place }) {
  const { itemAt } = self.model;
  const number = lastUpTo(itemAt, t);
  const near = [number, number + 1].filter((i) => i >= 0 && i < itemAt.length && Math.abs(place.x(itemAt[i]) - x) <= SNAP);
  return near.length ? itemAt[near[0]] : t;
}

function showTip(self, where, tip) {
  const item = where.x > where.size.gutter ? findItem(self, where) : null;
  tip.hidden = !item;
  if (!item) return;
  const { thoughts } = self.model;
  const text = item.type === "span" ? `thought #${thoughts.number[item.thought]} since ${seconds(thoughts.start[item.thought])}` : sayItem(self.model, item);
  tip.textContent = visible(`${seconds(item.at)}  ${text}`);
  tip.style.left = `${Math.max(4, Math.min(where.x + 12, where.size.width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${where.y + self.box.scrollTop + 16}px`;
}
