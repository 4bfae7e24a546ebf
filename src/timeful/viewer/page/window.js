// The part of an episode in sight, and where things are on its canvas.

const HEIGHTS = { world: 30, deadlines: 16, thoughts: 26, tools: 24, actions: 34, notes: 22, score: 40 };
export const HEAD = 24;

// Modules fold where lanes are many: a page of a thousand lanes shows one line for each module.
export const foldedModules = (model) => new Set(model.lanes.length > 40 ? model.lanes.map((lane) => lane.module).filter(Boolean) : []);

export function layOut(self) {
  let y = HEAD;
  self.rows = [];
  const folded = new Set();
  for (const lane of self.model.lanes) {
    if (self.folded.has(lane.module)) {
      if (folded.has(lane.module)) continue;
      folded.add(lane.module);
      self.rows.push({ lane, y, height: 24, module: lane.module, lanes: self.model.lanes.filter((other) => other.module === lane.module) });
    } else self.rows.push({ lane, y, height: HEIGHTS[lane.kind] ?? 24 });
    y += self.rows[self.rows.length - 1].height;
  }
  self.height = y + 4;
  self.canvas.parentNode.style.height = `${self.height}px`;
}

// The sizes of the canvas; they are kept until the box changes, since to read them costs a layout.
export function bounds(self) {
  if (self.size) return self.size;
  const width = self.box.clientWidth || 600;
  const gutter = width < 560 ? 76 : 124;
  return (self.size = { width, gutter, plot: width - gutter - 10, height: Math.min(self.box.clientHeight || self.height, self.height) });
}

export function placer(self, { gutter, plot }) {
  const { view } = self;
  const scale = plot / (view.to - view.from || 1);
  return {
    x: (t) => gutter + (view.axis.toAxis(t) - view.from) * scale,
    t: (x) => view.axis.toTime(view.from + (x - gutter) / scale),
  };
}

export function zoom(view, factor, center) {
  const size = view.axis.size;
  const width = Math.min(Math.max((view.to - view.from) * factor, view.axis.kind === "event" ? 2 : 1000), size);
  const share = (center - view.from) / (view.to - view.from || 1);
  view.from = Math.min(Math.max(center - width * share, 0), size - width);
  view.to = view.from + width;
}

export function pan(view, distance) {
  const width = view.to - view.from;
  view.from = Math.min(Math.max(view.from + distance, 0), view.axis.size - width);
  view.to = view.from + width;
}

export function keepInSight(view, t) {
  const u = view.axis.toAxis(t);
  const width = view.to - view.from;
  if (u < view.from) pan(view, u - view.from - width * 0.1);
  else if (u > view.to) pan(view, u - view.to + width * 0.1);
}
