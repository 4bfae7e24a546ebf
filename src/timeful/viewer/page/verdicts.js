// Verdicts: words, colours and shapes. No verdict is told by its colour alone.
import { path } from "./dom.js";

export const VERDICTS = {
  "in time": { role: "good", help: "the action came at or before its deadline" },
  early: { role: "early", help: "it came before its window opened" },
  late: { role: "late", help: "it came after its deadline, or for a turn that was over" },
  lost: { role: "gone", help: "the slot closed with nothing in time" },
  default: { role: "bad", help: "nothing came in time: the world took its default action" },
  superseded: { role: "quiet", help: "a later action for the same slot counted" },
  illegal: { role: "bad", help: "the action was refused" },
  reflex: { role: "own", help: "the interface acted for the agent" },
  cut: { role: "bad", help: "a limit of time or tokens ended it" },
  cancelled: { role: "early", help: "the agent ended it before its own end" },
  orphaned: { role: "quiet", help: "the episode ended while it was running" },
  failed: { role: "bad", help: "an error ended it" },
  "too late": { role: "late", help: "a thought whose action came for a slot that was over" },
};

export const ENDS = { cut: "x", cancelled: "c", orphaned: "o", failed: "!", unended: "?" };

const BAD = new Set(["late", "lost", "default", "illegal", "failed", "cut", "too late", "early"]);

export const isBad = (kind) => BAD.has(kind);

const SHAPES = {
  "in time": (context, x, y, size) => {
    path(context);
    context.arc(x, y, size, 0, 7);
    context.fill();
  },
  early: (context, x, y, size) => drawTriangle(context, x, y, size + 1, 1),
  late: (context, x, y, size) => drawTriangle(context, x, y, size + 1, -1),
  lost: (context, x, y, size) => context.fillRect(x - 2, y - size * 1.7, 4, size * 3.4),
  default: (context, x, y, size) => context.strokeRect(x - 2.5, y - size * 1.6, 5, size * 3.2),
  superseded: (context, x, y, size) => strokeLines(context, [[x - size - 1.5, y + size + 1.5], [x + size + 1.5, y - size - 1.5]], () => context.arc(x, y, size - 0.5, 0, 7)),
  illegal: (context, x, y, size) => {
    context.lineWidth = 2.5;
    strokeLines(context, [[x - size, y - size], [x + size, y + size]]);
    strokeLines(context, [[x - size, y + size], [x + size, y - size]]);
  },
  "too late": (context, x, y, size) => strokeLines(context, [[x, y - size * 0.6], [x, y], [x + size * 0.6, y]], () => context.arc(x, y, size, 0, 7)),
};

// Draws the shape of a verdict around a point.
export function drawVerdict(context, kind, x, y, size, palette) {
  context.fillStyle = context.strokeStyle = palette[VERDICTS[kind]?.role ?? "quiet"];
  context.lineWidth = 1.75;
  if (SHAPES[kind]) SHAPES[kind](context, x, y, size);
  else drawLetter(context, kind, x, y, size, palette);
}

function strokeLines(context, [first, ...rest], draw = () => {}) {
  context.beginPath();
  draw();
  context.moveTo(...first);
  for (const point of rest) context.lineTo(...point);
  context.stroke();
}

function drawTriangle(context, x, y, size, direction) {
  path(context, [x + size * direction, y], [x - size * direction * 0.8, y - size], [x - size * direction * 0.8, y + size]);
  context.fill();
}

// Reflexes are a circle with r; ends of thoughts are a torn edge with a letter.
function drawLetter(context, kind, x, y, size, palette) {
  context.beginPath();
  if (kind === "reflex") context.arc(x, y, size + 1, 0, 7);
  else drawTorn(context, x - size, y - size * 1.5, size * 3);
  context.stroke();
  context.font = `600 ${Math.round(size * 2)}px ${palette.font}`;
  context.textAlign = kind === "reflex" ? "center" : "left";
  context.textBaseline = "middle";
  context.fillText(kind === "reflex" ? "r" : (ENDS[kind] ?? "?"), kind === "reflex" ? x : x - 1, y);
  context.textAlign = "left";
}

// The path of a torn right edge, downwards from a point.
export function drawTorn(context, x, y, height) {
  context.moveTo(x, y);
  const steps = Math.max(2, Math.round(height / 4));
  for (let step = 1; step <= steps; step++) context.lineTo(x + (step % 2 ? 2.5 : -1), y + (height * step) / steps);
}
