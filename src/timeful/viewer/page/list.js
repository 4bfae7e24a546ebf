// A list or table of any length: only the rows in sight are in the document.
import { el, oncePerFrame } from "./dom.js";

// Makes a virtual list. `render(place)` makes the children of a row; `row` gives its properties.
export function makeList({ role = "listbox", rowRole = "option", height = 28, name, head = null, render, row = () => ({}), open = () => {}, move = () => {}, select = true }) {
  const spacer = el("div", { class: "spacer", role: role === "grid" ? "rowgroup" : undefined });
  const box = el("div", { class: "virtual", role, tabIndex: 0, "aria-label": name }, head, spacer);
  const id = `list${Math.floor(performance.now() * 1000)}${name.length}`;
  const self = { box, count: 0, here: -1, marked: null };
  let [top, room, covered] = [0, 300, 0]; // to read them costs a layout
  const draw = () => {
    if (self.scrolls) box.scrollTop = top;
    self.scrolls = false;
    const first = Math.max(0, Math.floor(top / height) - 4);
    const last = Math.min(self.count, first + Math.ceil(room / height) + 9);
    const rows = [];
    for (let place = first; place < last; place++) {
      const properties = row(place);
      const node = el("div", {
        role: rowRole,
        id: `${id}-${place}`,
        ...(role === "listbox" ? { "aria-setsize": self.count, "aria-posinset": place + 1 } : { "aria-rowindex": place + 1 + (head ? 1 : 0) }),
        "aria-selected": select ? String(place === self.here) : undefined,
        ...properties,
        class: `vrow ${properties.class ?? ""}${place === self.here ? " here" : ""}`,
      }, render(place));
      node.style.top = `${place * height}px`;
      node.style.height = `${height}px`;
      node.dataset.place = place;
      rows.push(node);
    }
    spacer.replaceChildren(...rows);
    if (self.here >= first && self.here < last) box.setAttribute("aria-activedescendant", `${id}-${self.here}`);
    else box.removeAttribute("aria-activedescendant");
  };
  const redraw = oncePerFrame(draw);
  const measure = () => {
    if (!self.scrolls) top = box.scrollTop;
    [room, covered] = [box.clientHeight || 300, head?.offsetHeight ?? 0];
    redraw();
  };
  box.addEventListener("scroll", () => box.scrollTop !== top && measure());
  new ResizeObserver(measure).observe(box);
  self.redraw = redraw;
  self.setCount = (count) => {
    self.count = count;
    if (self.here >= count) self.here = count - 1;
    spacer.style.height = `${count * height}px`;
    if (role === "grid") box.setAttribute("aria-rowcount", count + (head ? 1 : 0));
    measure();
    draw();
  };
  self.go = (place, quiet = false) => {
    self.here = Math.min(Math.max(place, 0), self.count - 1);
    const before = top;
    top = Math.min(Math.max(top, (self.here + 1) * height - room + covered), self.here * height);
    self.scrolls ||= top !== before;
    redraw();
    if (!quiet) move(self.here);
  };
  box.addEventListener("click", (event) => {
    const node = event.target.closest(".vrow");
    if (!node || !spacer.contains(node) || event.target.closest("input,button,a")) return;
    self.go(Number(node.dataset.place), true);
    open(self.here);
  });
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / height) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) self.go(self.here + steps[event.key]);
    else if (event.key === "Enter" && self.here >= 0) open(self.here);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return self;
}
