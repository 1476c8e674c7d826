"use strict";
// Shared by every page: elements, and the labels of maps.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
function makeButton(className, text, does) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", does);
  return button;
}
function partsOf(markup) { // elements of the server, as a document of their own, in which no script runs
  return [...document.adoptNode(new DOMParser().parseFromString(markup, "text/html").body).children];
}
function copyable(pre) { // with a button that copies its text
  pre.tabIndex = 0;
  if (!navigator.clipboard) return;
  const copy = makeButton("copy", "copy", () => navigator.clipboard.writeText(pre.textContent).then(
    () => { copy.textContent = "copied"; }, () => { copy.textContent = "not allowed"; }));
  pre.before(copy);
}

// Labels: names next to their marks, and none that would cover others. Numbers of stops come first,
// then rooms, then the rest.
const meet = (p, q) => p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom;

// The first of eight places around a mark where its name meets nothing, in the map's units.
function placeLabels(map) {
  const boxOf = (part) => {
    const { x, y, width, height } = part.getBBox();
    return { left: x, top: y, right: x + width, bottom: y + height };
  };
  const all = [...map.querySelectorAll("text[data-gap]")];
  for (const label of all) label.classList.remove("under");
  const labels = all.filter((label) => label.getBBox().width); // the others are not shown now
  labels.sort((a, b) => b.matches(".named") - a.matches(".named"));
  const marks = new Map(labels.map((label) => {
    if (!label.dataset.at) label.dataset.at = label.getAttribute("x") + " " + label.getAttribute("y");
    const [x, y] = label.dataset.at.split(" ").map(Number);
    return [label, [x, y + Number(label.dataset.gap) - 3.5]];
  }));
  const taken = [...map.querySelectorAll(".stop, .mistake, .missed, .facing, .object.goal-object:not([data-first]), .object.goal-object.on, .roomname")].map(boxOf);
  for (const star of map.querySelectorAll(".star")) {
    const { e, f } = star.transform.baseVal[0].matrix;
    taken.push({ left: e - 20, top: f - 20, right: e + 20, bottom: f + 20 });
  }
  for (const [x, y] of marks.values()) taken.push({ left: x - 3, top: y - 3, right: x + 3, bottom: y + 3 });
  const wide = Number(map.dataset.wide);
  for (const label of labels) {
    const [x, y] = marks.get(label), gap = Number(label.dataset.gap) + (label.matches(".named") ? 8 : 0); // clear of the ring
    const box = label.getBBox(), width = box.width + 2, high = box.height - 2, aside = width / 2 + gap - 3;
    const rise = gap + Math.max(0, high / 2 - 7); // a tall name keeps clear of its mark
    const spots = [[0, -rise], [0, rise + 4], [aside, 2], [-aside, 2], [aside, -rise], [-aside, -rise], [aside, rise + 2], [-aside, rise + 2], [0, -rise - high], [0, rise + high + 4]]
      .map(([dx, dy]) => ({ left: x + dx - width / 2, top: y + dy - high / 2, right: x + dx + width / 2, bottom: y + dy + high / 2 }));
    const spot = spots.find((box) => box.left >= 0 && box.right <= wide && box.top >= 0 && !taken.some((other) => meet(box, other))) || (label.matches(".named") && spots[0]);
    if (!spot) { label.classList.add("under"); continue; }
    taken.push(spot);
    label.setAttribute("x", ((spot.left + spot.right) / 2).toFixed(1));
    label.setAttribute("y", ((spot.top + spot.bottom) / 2 + 3.5).toFixed(1));
  }
}

function unclutter(maps) {
  for (const map of maps) {
    placeLabels(map);
    const placed = [];
    for (const kind of [".named", ".stop text", ".goalname", ".roomname", ".barlabel", "text"]) {
      for (const label of map.querySelectorAll(kind)) {
        if (label.dataset.placed || (label.dataset.gap && label.classList.contains("under"))) continue;
        label.classList.remove("under");
        const box = label.getBoundingClientRect();
        if (!box.width) continue;
        label.dataset.placed = "1";
        if (placed.some((other) => meet(box, other))) label.classList.add("under");
        else placed.push(box);
      }
    }
    for (const label of map.querySelectorAll("[data-placed]")) delete label.dataset.placed;
  }
}
addEventListener("resize", () => unclutter(document.querySelectorAll("svg.map, svg.dial"))); // names are larger on phones
