// The three calls by which the page gets its data: catalogue(), rows(run), part(run, episode, part).
import { breathe, cumulate, lastUpTo } from "./dom.js";

const waiting = new Map();

// Opens the store that the page was made for: its own file, a folder next to it, or the server.
export function openStore() {
  const kind = document.documentElement.dataset.store;
  const read = { inline: readInline, folder: readFolder, server: readServer }[kind];
  return { kind, catalogue: () => read("catalogue"), rows: (run) => read(`rows-${run}`), part: (run, episode, name, onPiece) => read(`part-${run}-${episode}-${name}`, onPiece) };
}

async function readInline(name, onPiece, read = (node) => node.textContent) {
  const node = document.querySelector(`[data-names~="${name}"]`);
  if (!node) throw new Error(`this page has no ${name}`);
  const names = node.dataset.names.split(" ");
  return unpack(await read(node, names[0]), onPiece, names.length > 1 ? names.indexOf(name) : -1);
}

function readFolder(name, onPiece) {
  globalThis.timefulData ??= (key, text) => waiting.get(key).forEach((resolve) => resolve(text));
  return readInline(name, onPiece, (_, file) => new Promise((resolve, reject) => {
    waiting.set(file, [...(waiting.get(file) ?? []), resolve]);
    const script = Object.assign(document.createElement("script"), { src: `data/${file}.js`, onload: () => script.remove(), onerror: () => reject(new Error(`data/${file}.js cannot be read`)) });
    document.head.append(script);
  }));
}

async function readServer(name, onPiece) {
  const [kind, run, episode, part] = name.split("-");
  const path = { catalogue: "", rows: `/${run}/rows`, part: `/${run}/e/${episode}/${part}` }[kind];
  const answer = await fetch(`/api/runs${path}`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error((await answer.text()) || `the server answers ${answer.status}`);
  return readLines(answer.body, onPiece);
}

// The event of a line as JSON text, and all lines, from tables of columns.
export function readEvents(tables) {
  const read = tables.map(({ lines, kinds, columns }) => ({ lines: cumulate(lines), columns: Object.entries(columns).map(([name, column]) => [name, kinds[name], kinds[name] === "delta" ? cumulate(column) : column]) }));
  const get = (line) => {
    for (const { lines, columns } of read) {
      const row = lastUpTo(lines, line);
      if (row < 0 || lines[row] !== line) continue;
      return `{${columns.map(([name, kind, column]) => `${JSON.stringify(name)}:${kind === "json" ? column[row] : JSON.stringify(column[kind === "same" ? 0 : row])}`).join(",")}}`;
    }
  };
  return { get, lines: () => read.flatMap(({ lines }) => [...lines]).sort((a, b) => a - b) };
}

// The values of a column; its forms are those of columns.py.
function expand([form, a, b]) {
  if (form === "scaled") return a.map((value) => value && value * b);
  if (form === "same") return Array(b).fill(a);
  if (form === "groups") {
    const [values, places] = [[], cumulate(b)];
    a.flatMap(expand).forEach((value, place) => (values[places[place]] = value));
    return values;
  }
  if (form === "fields") {
    const columns = Object.entries(a).map(([name, column]) => [name, expand(column)]);
    return Array.from({ length: b }, (_, place) => Object.fromEntries(columns.map(([name, values]) => [name, values[place]])));
  }
  if (form !== "lists") return a;
  const items = expand(b);
  return expand(a).map((length) => items.splice(0, length));
}

// A value from base64 of compressed JSON; of several values in a column, the one at a place.
async function unpack(text, onPiece, place) {
  const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"));
  return place < 0 ? readLines(stream, onPiece) : expand(await new Response(stream).json())[place];
}

// A value from JSON, or from a line of JSON and lines with pieces of its lists.
async function readLines(stream, onPiece) {
  let [value, rest, count] = [null, "", 0];
  const read = async (line) => {
    await breathe();
    const piece = JSON.parse(line);
    if (!value) return (value = piece);
    const items = piece.pop();
    const list = piece.reduce((part, key) => part[key], value);
    for (const item of items) list.push(item);
    return onPiece?.(++count / value.pieces);
  };
  const write = async (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) await read(line);
  };
  await stream.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write }));
  await read(rest);
  return value;
}
