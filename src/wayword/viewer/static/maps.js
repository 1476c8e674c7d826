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

// Marks and names keep their size when a map is enlarged; names stand next to their marks, where
// they cover no other name or mark and as few walls and paths as possible. All boxes are in pixels.
const meet = (p, q) => p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom;
const boxAt = (x, y, wide, high) => ({ left: x - wide / 2, top: y - high / 2, right: x + wide / 2, bottom: y + high / 2 });
const boxesOf = (parts) => parts.map((part) => part.getBoundingClientRect()).filter((box) => box.width || box.height);

function boxesAlong(line) { // a line, a path
  const k = line.getScreenCTM(), long = line.getTotalLength(), boxes = [];
  for (let at = 0; k && at <= long; at += Math.max(5 / k.a, long / 200)) {
    const { x, y } = line.getPointAtLength(at);
    boxes.push(boxAt(k.a * x + k.e, k.d * y + k.f, 2, 2));
  }
  return boxes;
}

function spotsOf(label, box, frame, k, mark) { // where a name may stand, the best place first
  const wide = box.width + 4, high = box.height, [x1, y1, x2, y2] = label.dataset.box.split(" ").map(Number);
  const side = { left: k.a * x1 + k.e, top: k.d * y1 + k.f, right: k.a * x2 + k.e, bottom: k.d * y2 + k.f };
  const gap = label.dataset.gap ? label.dataset.gap * mark + (label.matches(".named") ? 5 : 0) : -4; // clear of the ring
  if (!meet(side, { left: frame.left - 1, top: frame.top - 1, right: frame.right + 1, bottom: frame.bottom + 1 })) return [];
  if (gap < 0) { // inside its room: the part of it that is in view
    for (const [low, most] of [["left", "right"], ["top", "bottom"]]) {
      side[low] = Math.max(side[low], frame[low]);
      side[most] = Math.min(side[most], frame[most]);
    }
    if (side.right - side.left < wide + 8 || side.bottom - side.top < high + 6) return [];
  }
  const [x, y] = [(side.left + side.right) / 2, (side.top + side.bottom) / 2], spots = [];
  for (const far of gap < 0 ? [0] : [0, 12, 26]) {
    const out = gap < 0 ? gap - high + 2 : gap + far, out2 = gap < 0 ? gap - wide : gap + far;
    const [left, right, above, below] = [side.left - out2 - wide / 2, side.right + out2 + wide / 2, side.top - out - high / 2, side.bottom + out + high / 2];
    const around = [[x, above], [x, below], [right, y], [left, y], [right, above], [left, above], [right, below], [left, below]];
    for (const [at, over] of gap < 0 ? around.toReversed() : around) spots.push(boxAt(at, over, wide, high));
  }
  return spots;
}

function placeLabels(map, mark) {
  const frame = map.getBoundingClientRect(), k = map.getScreenCTM();
  const all = [...map.querySelectorAll("[data-box], .house .label, svg.dial text")];
  for (const label of all) label.classList.remove("under");
  const rank = (label) => [".pill", ".named", ".goalname", ".roomname", ".placeletter"].findIndex((kind) => label.matches(kind)) & 7;
  const labels = all.filter((label) => label.getBBox().width).sort((a, b) => rank(a) - rank(b)); // the others are not shown now
  const taken = boxesOf([...map.querySelectorAll(".stop g:not(.pill) > rect, .stop path, .mistake, .missed, .facing, .blocked, .star, .goal-object:not(text), .destination:not(text)")]);
  const lines = [...map.querySelectorAll(".wall, .leaf, .move polyline, .gold, .room")].flatMap(boxesAlong);
  for (const label of labels) {
    const box = label.getBoundingClientRect(), still = !label.dataset.box;
    let best = null, least = label.matches(".named, .pill") ? Infinity : 1000;
    const spots = still ? [box] : spotsOf(label, box, frame, k, mark).slice(0, label.matches(".label") ? 8 : 24);
    spots.forEach((spot, turn) => {
      const inside = spot.left >= frame.left && spot.right <= frame.right && spot.top >= frame.top && spot.bottom <= frame.bottom;
      const over = taken.filter((other) => meet(spot, other)).length + !inside;
      const crossed = still ? 0 : 3 * lines.filter((other) => meet(spot, other)).length;
      const cost = 1000 * over + turn + 10 * (turn >> 3) + Math.min(24, crossed); // eight spots a distance
      if (cost < least) [best, least] = [spot, cost];
    });
    label.classList.toggle("under", !best);
    if (!best) continue;
    taken.push(best);
    if (still) continue;
    if (label.matches(".pill")) {
      const [x, y] = label.dataset.box.split(" ").map(Number);
      label.setAttribute("transform", `translate(${((best.left + best.right) / 2 - k.a * x - k.e) / mark} ${((best.top + best.bottom) / 2 - k.d * y - k.f) / mark})`);
      continue;
    }
    label.setAttribute("x", (((best.left + best.right) / 2 - k.e) / k.a).toFixed(1));
    label.setAttribute("y", (((best.top + best.bottom) / 2 + 0.27 * box.height - k.f) / k.d).toFixed(1));
  }
}

function unclutter(maps) {
  for (const map of maps) {
    const k = map.getScreenCTM();
    if (!k || !map.getBoundingClientRect().width) continue;
    const unit = 1 / k.a, size = Math.min(unit, 1.25); // of the drawing in a pixel, and of a mark
    map.style.setProperty("--u", unit.toFixed(4));
    map.style.setProperty("--m", size.toFixed(4));
    const legend = map.parentElement.querySelector(".legend"), frame = map.getBoundingClientRect();
    const bar = legend && legend.querySelector(".scale");
    if (bar) {
      const metre = bar.dataset.length / unit, long = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n * metre > 40) || 1000;
      bar.style.width = long * metre + "px";
      bar.nextElementSibling.textContent = long + " " + bar.dataset.unit.slice(0, long > 1 ? undefined : 6); // 1 square
    }
    for (const sign of legend ? legend.querySelectorAll("i:not(.scale)") : []) { // no sign of what is not in view
      const marks = boxesOf([...map.querySelectorAll("." + [...sign.classList].at(-1))]);
      if (marks.length) sign.parentElement.hidden = !marks.some((box) => meet(box, frame) && Math.max(box.width, box.height) > 5);
    }
    placeLabels(map, size / unit);
  }
}
addEventListener("resize", () => unclutter(document.querySelectorAll("svg.map, svg.dial")));
