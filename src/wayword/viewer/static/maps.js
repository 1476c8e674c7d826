"use strict";
// Labels of maps that would cover others are hidden: numbers of stops come first, then rooms, then
// the rest. Shared by every page that has a map.
function unclutter(maps) {
  const meet = (p, q) => p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom;
  for (const map of maps) {
    const kept = [];
    for (const kind of [".stop text", ".goalname", ".roomname", ".barlabel", "text"]) {
      for (const label of map.querySelectorAll(kind)) {
        if (label.dataset.placed) continue;
        label.classList.remove("under");
        const box = label.getBoundingClientRect();
        if (!box.width) continue;
        label.dataset.placed = "1";
        if (kept.some((other) => meet(box, other))) label.classList.add("under");
        else kept.push(box);
      }
    }
    for (const label of map.querySelectorAll("[data-placed]")) delete label.dataset.placed;
  }
}
