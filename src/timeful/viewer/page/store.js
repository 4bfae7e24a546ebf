// The three calls by which the page gets its data: catalogue(), rows(run), part(run, episode, part).

const waiting = new Map();

// Opens the store that the page was made for: its own file, a folder next to it, or the server.
export function openStore() {
  const kind = document.documentElement.dataset.store;
  const read = { inline: readInline, folder: readFolder, server: readServer }[kind];
  return {
    kind,
    catalogue: () => read("catalogue"),
    rows: (run) => read(`rows-${run}`),
    part: (run, episode, part) => read(`part-${run}-${episode}-${part}`),
  };
}

async function readInline(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) throw new Error(`this page has no ${name}`);
  return unpack(element.textContent);
}

function readFolder(name) {
  globalThis.timefulData ??= (key, text) => waiting.get(key)?.(text);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    waiting.set(name, (text) => resolve(unpack(text)));
    script.src = `data/${name}.js`;
    script.onerror = () => reject(new Error(`data/${name}.js cannot be read`));
    script.onload = () => script.remove();
    document.head.append(script);
  });
}

async function readServer(name) {
  const [kind, run, episode, part] = name.split("-");
  const paths = {
    catalogue: "/api/runs",
    rows: `/api/runs/${run}/rows`,
    part: `/api/runs/${run}/e/${episode}/${part}`,
  };
  const answer = await fetch(paths[kind], { credentials: "same-origin" });
  if (!answer.ok) throw new Error((await answer.text()) || `the server answers ${answer.status}`);
  return answer.json();
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
