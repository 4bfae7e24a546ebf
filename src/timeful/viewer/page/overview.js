// The whole episode in one line: faults and the part in sight; a drag moves or makes the part.
import { colours, el, fillBox, fitCanvas, oncePerFrame } from "./dom.js";
import { isBad } from "./verdicts.js";
import { bounds, pan } from "./window.js";

// The verdicts in pieces of two pixels: those in time, and faults.
function binVerdicts(model, axis, plot) {
  const bins = { axis, good: new Uint32Array(Math.ceil(plot / 2) + 1), bad: new Uint32Array(Math.ceil(plot / 2) + 1) };
  const { verdicts } = model;
  verdicts.at.forEach((at, place) => bins[isBad(verdicts.kind[place]) ? "bad" : "good"][Math.floor((axis.toAxis(at) / axis.size) * (plot / 2))]++);
  return bins;
}

export function makeOverview(model, view, on) {
  const canvas = el("canvas", { class: "overview" });
  const box = el("div", { class: "overview-box", title: "The whole episode. Drag to choose the part in sight." }, canvas);
  const height = 26;
  const frame = { box, size: null, bins: null };
  const redraw = oncePerFrame(() => {
    const { width, gutter, plot } = bounds(frame);
    const palette = colours();
    const context = fitCanvas(canvas, width, height);
    const x = (u) => gutter + (u / view.axis.size) * plot;
    context.font = `12px ${palette.font}`;
    context.textBaseline = "middle";
    context.fillStyle = palette.quiet;
    context.fillText("whole", 6, height / 2 + 1);
    if (frame.bins?.axis !== view.axis) frame.bins = binVerdicts(model, view.axis, plot);
    for (const [colour, action] of [[palette.good, (good) => good && [height - 11, 7]], [palette.late, (good, bad) => bad && [4, 6 + (12 * bad) / (bad + good)]]]) {
      context.fillStyle = colour;
      context.beginPath();
      frame.bins.good.forEach((good, bin) => {
        const [y, tall] = action(good, frame.bins.bad[bin]) || [0, 0];
        context.rect(gutter + bin * 2, y, 2, tall);
      });
      context.fill();
    }
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(x(view.from) + 1, 1, Math.max(x(view.to) - x(view.from) - 2, 4), height - 2);
    fillBox(context, palette.accent, x(view.axis.toAxis(view.t)) - 1, 0, 2, height);
  });
  let start = null;
  const toAxis = (event) => {
    const { gutter, plot } = bounds(frame);
    const u = ((event.clientX - canvas.getBoundingClientRect().left - gutter) / plot) * view.axis.size;
    return Math.min(Math.max(u, 0), view.axis.size);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const u = toAxis(event);
    const isInside = u >= view.from && u <= view.to && view.to - view.from < view.axis.size * 0.98;
    start = { u, from: view.from, isInside };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!start || !event.buttons) return;
    const u = toAxis(event);
    if (start.isInside) pan(view, start.from + u - start.u - view.from);
    else if (Math.abs(u - start.u) > view.axis.size / 200) {
      view.from = Math.max(Math.min(u, start.u), 0);
      view.to = Math.min(Math.max(u, start.u), view.axis.size);
    }
    on.change();
  });
  canvas.addEventListener("pointerup", () => (start = null));
  new ResizeObserver(() => {
    frame.size = frame.bins = null;
    redraw();
  }).observe(box);
  return { box, redraw };
}
