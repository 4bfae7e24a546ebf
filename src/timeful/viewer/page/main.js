// A first page: it shows that the data can be read. The views replace it.
import { openStore } from "./store.js";

async function showStart() {
  const store = openStore();
  const catalogue = await store.catalogue();
  const list = document.createElement("ul");
  for (const run of catalogue.runs) {
    const item = document.createElement("li");
    item.textContent = `${run.name}: ${run.suite}, ${run.episodes} episodes`;
    list.append(item);
  }
  document.getElementById("app").append(list);
}

showStart();
