// Plays an episode: the cursor moves over simulated time at a speed, on the clock of the screen.
import { plain } from "./dom.js";

// The speeds: powers of two, then of ten.
export const SPEEDS = [...Array.from({ length: 17 }, (_, place) => 2 ** (place - 6)), 1e4, 1e5, 1e6];

// A speed at which an episode takes about a minute.
export const usualSpeed = (end) => SPEEDS.find((speed) => speed >= end / 60e9) ?? 1e6;

export const nameSpeed = (speed) => speed < 1 ? `1/${Math.round(1 / speed)}x` : `${plain(speed)}x`;

// Makes a player. `getAxis` gives the axis: on a folded one, silence is jumped over.
export function makePlayer({ end, speed, getTime, getAxis, onTime, onState }) {
  const self = { playing: false, speed };
  let before = null;
  const step = (now) => {
    if (!self.playing) return;
    const passed = before === null ? 0 : Math.min(now - before, 250) * 1e6 * self.speed;
    before = now;
    const axis = getAxis();
    const t = axis.kind === "fold" ? axis.toTime(axis.toAxis(getTime()) + passed) : getTime() + passed;
    if (t >= end) self.stop();
    onTime(Math.min(t, end));
    if (self.playing) requestAnimationFrame(step);
  };
  self.play = () => {
    if (self.playing) return;
    if (getTime() >= end) onTime(0);
    self.playing = true;
    before = null;
    onState();
    requestAnimationFrame(step);
  };
  self.stop = () => {
    self.playing = false;
    onState();
  };
  self.toggle = () => (self.playing ? self.stop() : self.play());
  self.faster = (steps) => {
    const place = SPEEDS.findIndex((other) => other >= self.speed);
    self.speed = SPEEDS[Math.min(Math.max(place + steps, 0), SPEEDS.length - 1)];
    onState();
  };
  return self;
}
