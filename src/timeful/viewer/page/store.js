// The three calls by which the page gets its data: catalogue(), rows(run), part(run, episode, part).
const waiting = new Map();

// Opens the store that the page was made for: its own file, a folder next to it, or the server.
export function openStore() {
  const kind = document.documentElement.dataset.store;
  const read = { inline: readInline, folder: readFolder, server: readServer }[kind];
  const part = async (run, episode, name) => {
    const value = await read(`part-${run}-${episode}-${name}`);
    return name === "texts" ? { ...value, events: await readEvents(value.events) } : value;
  };
  return { kind, catalogue: () => read("catalogue"), rows: (run) => read(`rows-${run}`), part };
}

async function readInline(name) {
  const text = document.getElementById(`data-${name}`)?.textContent;
  return text ? unpack(text) : Promise.reject(new Error(`this page has no ${name}`));
}

function readFolder(name) {
  globalThis.timefulData ??= (key, text) => waiting.get(key)?.(text);
  return new Promise((resolve, reject) => {
    waiting.set(name, (text) => resolve(unpack(text)));
    const script = Object.assign(document.createElement("script"), { src: `data/${name}.js`, onload: () => script.remove() });
    script.addEventListener("error", () => reject(new Error(`data/${name}.js cannot be read`)));
    document.head.append(script);
  });
}

async function readServer(name) {
  const [kind, run, episode, part] = name.split("-");
  const path = { catalogue: "", rows: `/${run}/rows`, part: `/${run}/e/${episode}/${part}` }[kind];
  const answer = await fetch(`/api/runs${path}`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error((await answer.text()) || `the server answers ${answer.status}`);
  return answer.json();
}

// Events as pairs of a line and the event as JSON text, from tables of columns; in slices of time.
async function readEvents(tables) {
  const pairs = [];
  for (const { names, lines, kinds, columns } of tables) {
    const sums = columns.map(() => 0);
    for (let row = 0, line = 0; row < lines.length; row++) {
      const fields = columns.map((column, index) => {
        const value = column[kinds[index] === "same" ? 0 : row];
        if (kinds[index] === "delta") sums[index] += value;
        return `${JSON.stringify(names[index])}:${{ delta: sums[index], json: value }[kinds[index]] ?? JSON.stringify(value)}`;
      });
      pairs.push([(line += lines[row]), `{${fields.join(",")}}`]);
      if (pairs.length % 5000 === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  }
  return pairs.sort((a, b) => a[0] - b[0]);
}

async function unpack(text) {
  return new Response(new Blob([Uint8Array.from(atob(text), (character) => character.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
