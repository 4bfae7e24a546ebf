// The address holds the view: #/RUN/e/KEY?t=53.658s&v=32..61s&axis=event&sel=412

let lastHash = "";

export function readAddress() {
  lastHash = location.hash;
  const [path, query = ""] = lastHash.replace(/^#/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function writeAddress(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value).replaceAll("%2F", "/")}`).join("&");
  return `#/${path.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

// Replaces the address without a new entry in the history; not one that was followed and is not yet read.
export function replaceAddress(address) {
  if (location.hash !== lastHash || lastHash === address) return;
  history.replaceState(null, "", address);
  lastHash = location.hash;
}

export function printInstant(ns) {
  const whole = Math.round(ns);
  const text = `${Math.floor(whole / 1e9)}.${String(whole % 1e9).padStart(9, "0")}`;
  return `${text.replace(/\.?0+$/, "")}s`;
}

export function parseInstant(text) {
  const match = /^(\d+)(?:\.(\d{1,9}))?s?$/.exec(text ?? "");
  return match ? Number(match[1]) * 1e9 + Number((match[2] ?? "").padEnd(9, "0")) : null;
}

// The name of a run in addresses: its own, or its number where two runs have the same name.
export function nameRun(catalogue, run) {
  const twins = catalogue.runs.filter((other) => other.name === run.name);
  return twins.length > 1 || /^~\d+$/.test(run.name) ? `~${run.number}` : run.name;
}

export const findRun = (catalogue, name) => catalogue.runs.find((run) => nameRun(catalogue, run) === name || `~${run.number}` === name);
