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
function partsOf(markup) {
  // elements of the server, as a document of their own, in which no script runs
  return [
    ...document.adoptNode(new DOMParser().parseFromString(markup, "text/html").body)
      .children,
  ];
}
function inTurn(ask) {
  // what takes the server up to a second each is asked for one by one, of the places in view
  let asking = Promise.resolve();
  const inView = new IntersectionObserver((seen) => {
    for (const { target } of seen.filter((entry) => entry.isIntersecting)) {
      inView.unobserve(target);
      asking = asking
        .then(() => target.isConnected && ask(target))
        .catch(() => {}); // the server may have ended
    }
  });
  return inView;
}
function copyable(pre) {
  // with a button that copies its text
  pre.tabIndex = 0;
  if (!navigator.clipboard) return;
  const copy = makeButton("copy", "copy", () =>
    navigator.clipboard.writeText(pre.textContent).then(
      () => {
        copy.textContent = "copied";
      },
      () => {
        copy.textContent = "not allowed";
      },
    ),
  );
  pre.before(copy);
}

// Marks and names keep their size when a map is enlarged; names stand next to their marks, where
// they cover no other name or mark and as few walls and paths as possible. All boxes are in pixels.
const meet = (p, q) =>
  p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom;
const isWithin = (p, q) =>
  p.left >= q.left - 1 &&
  p.right <= q.right + 1 &&
  p.top >= q.top - 1 &&
  p.bottom <= q.bottom + 1;
const boxAt = (x, y, wide, high) => ({
  left: x - wide / 2,
  top: y - high / 2,
  right: x + wide / 2,
  bottom: y + high / 2,
});
// As a plain object: a browser's own box looks each side up again at each use.
function boxOf(part) {
  const { left, top, right, bottom, width, height } = part.getBoundingClientRect();
  return { left, top, right, bottom, width, height };
}
const boxesOf = (parts) => parts.map(boxOf).filter((box) => box.width || box.height);

function boxesAlong(line) {
  // a line, a path
  const k = line.getScreenCTM();
  const long = line.getTotalLength();
  const boxes = [];
  for (let at = 0; k && at <= long; at += Math.max(5 / k.a, long / 200)) {
    const { x, y } = line.getPointAtLength(at);
    boxes.push(boxAt(k.a * x + k.e, k.d * y + k.f, 2, 2));
  }
  return boxes;
}

const apart = (p, q) =>
  Math.hypot(
    Math.max(0, p.left - q.right, q.left - p.right),
    Math.max(0, p.top - q.bottom, q.top - p.bottom),
  );
const centerOf = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
const cornersOf = (box) => [
  centerOf(box),
  [box.left, box.top],
  [box.right, box.top],
  [box.left, box.bottom],
  [box.right, box.bottom],
];

function markOf(label, frame, k, mark, taken) {
  // the box that a name belongs to; null if it is out of view
  const [x1, y1, x2, y2] = label.dataset.box.split(" ").map(Number);
  const side = {
    left: k.a * x1 + k.e,
    top: k.d * y1 + k.f,
    right: k.a * x2 + k.e,
    bottom: k.d * y2 + k.f,
  };
  if (
    !meet(side, {
      left: frame.left - 1,
      top: frame.top - 1,
      right: frame.right + 1,
      bottom: frame.bottom + 1,
    })
  )
    return null;
  const [x, y] = centerOf(side);
  const least = label.dataset.gap ? label.dataset.gap * mark : 0;
  // its dot, number and ring; of a place, also the number of another one that hides it
  const hides = label.matches(".placeletter");
  const around = taken.filter((box) =>
    hides
      ? meet(box, boxAt(x, y, 1, 1))
      : Math.hypot(centerOf(box)[0] - x, centerOf(box)[1] - y) < 3,
  );
  if (around.length) {
    for (const [edge, most] of [
      ["left", Math.min],
      ["top", Math.min],
      ["right", Math.max],
      ["bottom", Math.max],
    ])
      side[edge] = most(side[edge], ...around.map((box) => box[edge]));
  }
  return { ...side, gap: around.length && label.dataset.gap ? 3 : least, at: [x, y] };
}
// Pixels to the east and south of the ring's middle of a place that the ring hides; null of others.
function offRing(own, ring) {
  if (!own?.at || !ring || !meet(ring, boxAt(...own.at, 1, 1))) return null;
  const [x, y] = centerOf(ring);
  const off = [own.at[0] - x, own.at[1] - y];
  return Math.hypot(...off) < 0.4 ? null : off;
}
// 0 for a letter on the side of the ring on which its place lies, to 2 on the other side, where
// it would contradict "the path goes to B (east)".
function opposite(spot, own, ring) {
  const off = offRing(own, ring);
  if (!off) return 0;
  const [x, y] = centerOf(ring);
  const [right, down] = [centerOf(spot)[0] - x, centerOf(spot)[1] - y];
  const long = Math.hypot(...off) * Math.hypot(right, down);
  return 1 - (off[0] * right + off[1] * down) / (long || 1);
}

function spotsOf(label, box, frame, own) {
  // where a name may stand, the best place first
  const inner = label.matches(".roomname"); // inside its room: the part of it that is in view
  const wide = box.width + (inner ? 0 : 4);
  const high = box.height;
  const spots = [];
  const side = { ...own };
  if (inner) {
    for (const [low, most] of [
      ["left", "right"],
      ["top", "bottom"],
    ]) {
      side[low] = Math.max(side[low], frame[low]);
      side[most] = Math.min(side[most], frame[most]);
    }
    const spare = label.matches(".decisive") ? -6 : 8; // the halo of a name may lie on a wall
    if (side.right - side.left < wide + spare || side.bottom - side.top < high + 6)
      return [];
  }
  const [x, y] = centerOf(side);
  const shift = Math.max(0, (wide - side.right + side.left) / 2);
  // A line from a goal's name to its mark is short: the page's list has the goals, too.
  const most = label.matches(".goalname:not(.named)") ? 40 : 80;
  for (const far of inner ? [0] : [0, 9, 20, 34, 50, 70].filter((far) => far < most)) {
    const out = inner ? -2 - high : own.gap + far;
    const out2 = inner ? -4 - wide : own.gap + far;
    const [left, right, above, below] = [
      side.left - out2 - wide / 2,
      side.right + out2 + wide / 2,
      side.top - out - high / 2,
      side.bottom + out + high / 2,
    ];
    const letterAbove = label.matches(":has(.caption)")
      ? [
          [x + wide / 2 - 9, above],
          [x + wide / 2 - 9, below],
        ]
      : []; // the letter above its mark
    const around = [
      ...letterAbove,
      [x, above],
      [x, below],
      [right, y],
      [left, y],
      [right, above],
      [left, above],
      [right, below],
      [left, below],
      ...(inner || far
        ? []
        : [
            [right, y - 7],
            [left, y - 7],
            [right, y + 7],
            [left, y + 7],
          ]),
    ];
    for (const [at, over] of inner ? around.toReversed() : around)
      spots.push(boxAt(at, over, wide, high));
    if (inner && !far) {
      for (const down of [1, 0.5, 0, 0.75, 0.25]) {
        for (const across of [0, 1, 0.5, 0.25, 0.75]) {
          spots.push(
            boxAt(
              left + across * (right - left),
              above + down * (below - above),
              wide,
              high,
            ),
          );
        }
      }
    }
    if (!inner && shift > 3) {
      for (const over of [above, below])
        for (const by of [-shift, shift]) spots.push(boxAt(x + by, over, wide, high));
    }
  }
  return spots;
}

function leaderOf(spot, own) {
  // from the edge of a name to that of its mark
  const clamp = (low, at, high) => Math.max(low, Math.min(at, high));
  const [x, y] = centerOf(own);
  const [x1, y1] = [clamp(spot.left, x, spot.right), clamp(spot.top, y, spot.bottom)];
  return [x1, y1, clamp(own.left, x1, own.right), clamp(own.top, y1, own.bottom)];
}

// A name over another one reads as neither; a line across a name only looks bad.
const COVERS = 1600;
const CROSSES = 600;
const dotsOf = ([x1, y1, x2, y2]) =>
  [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95].map((part) =>
    boxAt(x1 + part * (x2 - x1), y1 + part * (y2 - y1), 2, 2),
  );

// Goal objects that lie together have one name and, if left alone, one box.
const TOGETHER = 26; // pixels between the centers of two marks
function clusters(parts, places) {
  const found = [];
  parts.forEach((part, n) => {
    const near = (other) =>
      part.matches(".placed-at") === other.matches(".placed-at") &&
      Math.hypot(
        places[n][0] - places[parts.indexOf(other)][0],
        places[n][1] - places[parts.indexOf(other)][1],
      ) < TOGETHER;
    const joined = found.filter((group) => group.some(near));
    for (const group of joined) found.splice(found.indexOf(group), 1);
    found.push([...joined.flat(), part]);
  });
  return found;
}
function gatherNames(names, k) {
  for (const name of names) {
    name.dataset.own ||= name.dataset.box;
    name.dataset.box = name.dataset.own;
    name.dataset.name ||= name.textContent;
    name.textContent = name.dataset.name;
  }
  const shown = names.filter((name) => name.getBBox().width);
  const boxes = shown.map((name) => name.dataset.own.split(" ").map(Number));
  for (const group of clusters(
    shown,
    boxes.map(([x1, y1, x2, y2]) => [(k.a * (x1 + x2)) / 2, (k.d * (y1 + y2)) / 2]),
  )) {
    if (group.length < 2) continue;
    const middle = (name, axis) =>
      boxes[shown.indexOf(name)][axis] + boxes[shown.indexOf(name)][axis + 2];
    const spread = (axis) =>
      Math.max(...group.map((name) => middle(name, axis))) -
      Math.min(...group.map((name) => middle(name, axis)));
    const along = spread(0) > spread(1) ? 0 : 1; // from left to right, or from top to bottom
    group.sort((a, b) => middle(a, along) - middle(b, along));
    const words = group.map((name) => name.dataset.name);
    const kinds = new Set(words.map((each) => each.replace(/ \d+$/, "")));
    // More than two names would cross the map, and each mark has its title.
    group[0].textContent =
      kinds.size === 1
        ? [...kinds][0] + " × " + group.length
        : words.length === 2
          ? words.join(", ")
          : words.length + " objects";
    const own = group.map((name) => boxes[shown.indexOf(name)]);
    const edge = (side, most) => most(...own.map((box) => box[side]));
    group[0].dataset.box = [
      edge(0, Math.min),
      edge(1, Math.min),
      edge(2, Math.max),
      edge(3, Math.max),
    ].join(" ");
    group[0].classList.toggle(
      "named",
      group.some((name) => name.matches(".named")),
    );
    for (const name of group.slice(1)) name.classList.add("under");
  }
}
function gatherMissed(boxes, mark) {
  for (const box of boxes) {
    box.classList.remove("under");
    for (const [side, value] of [
      ["x", -11],
      ["y", -11],
      ["width", 22],
      ["height", 22],
    ])
      box.setAttribute(side, value);
  }
  const centers = boxes.map((box) => centerOf(box.getBoundingClientRect()));
  for (const group of clusters(boxes, centers)) {
    const at = group.map((box) => centers[boxes.indexOf(box)]);
    const [x, y] = at[0];
    const spread = [0, 1].map((axis) => [
      Math.min(...at.map((each) => each[axis])),
      Math.max(...at.map((each) => each[axis])),
    ]);
    for (const [side, value] of [
      ["x", (spread[0][0] - x) / mark - 11],
      ["y", (spread[1][0] - y) / mark - 11],
      ["width", (spread[0][1] - spread[0][0]) / mark + 22],
      ["height", (spread[1][1] - spread[1][0]) / mark + 22],
    ])
      group[0].setAttribute(side, value);
    for (const box of group.slice(1)) box.classList.add("under");
  }
}

// A name is nearest to its own mark, in the same room, and on no other object nor in a view that
// its object is not in; else a line leads from it to its mark, or it is left out.
function placeLabels(map, mark) {
  for (const old of map.querySelectorAll(".leader")) old.remove();
  const frame = map.getBoundingClientRect();
  const k = map.getScreenCTM();
  const all = [...map.querySelectorAll("[data-box], .label, svg.dial text")];
  for (const label of all) label.classList.remove("under", "decisive");
  const goals = all.filter((label) => label.matches(".goalname"));
  gatherNames(goals, k);
  gatherMissed([...map.querySelectorAll(".missed")], mark);
  // Rooms in which the walk began or went wrong, or where the goal or its object is, are named before others.
  const middles = boxesOf([
    ...map.querySelectorAll(
      ".mistake, .spot.start, .goal-object:not(text), .star, .region",
    ),
  ]).map(centerOf);
  for (const room of all.filter((label) => label.matches(".roomname"))) {
    const [x1, y1, x2, y2] = room.dataset.box.split(" ").map(Number);
    room.classList.toggle(
      "decisive",
      middles.some(
        ([x, y]) =>
          k.a * x1 + k.e < x &&
          x < k.a * x2 + k.e &&
          k.d * y1 + k.f < y &&
          y < k.d * y2 + k.f,
      ),
    );
  }
  const kinds = [
    ".pill",
    ".named",
    ".goalname",
    ".placename, .landmarkname",
    ".placeletter:not(.spare)",
    ".roomname.decisive",
    ".placeletter",
    ".roomname",
  ];
  // Labels of no kind come last: -1 & 15 is 15.
  const ranks = new Map(
    all.map((label) => [label, kinds.findIndex((kind) => label.matches(kind)) & 15]),
  );
  const rank = (label) => ranks.get(label);
  const sizeOf = (label) => {
    // the names of small objects first
    const [x1, y1, x2, y2] = label.matches(".goalname")
      ? label.dataset.box.split(" ").map(Number)
      : [0, 0, 0, 0];
    return (x2 - x1) * (y2 - y1);
  };
  const labels = all
    .filter((label) => !label.matches(".under") && label.getBBox().width)
    .sort((a, b) => rank(a) - rank(b) || sizeOf(a) - sizeOf(b)); // the others are not shown now
  const stars = boxesOf([...map.querySelectorAll(".star")]);
  const taken = boxesOf([
    ...map.querySelectorAll(
      ".stop g:not(.pill) > rect, .stop path, .mistake, .missed, .facing, .blocked, .move.wrong .tip, .goal-object:not(text), .destination:not(text)",
    ),
    ...map.querySelectorAll(".reach"), // rings of a game
  ]);
  taken.push(...stars);
  const dots = boxesOf([
    ...map.querySelectorAll(".place, .mark-seen-objects, .mark-seen-shown"),
  ]);
  // Panoramas along a street are so close that no letter is nearest to its own.
  const lettered = boxesOf([...map.querySelectorAll(".place:not(.between)")]);
  const game = map.closest(".game");
  const walls = [...map.querySelectorAll(".wall, .leaf, .room")]
    .concat(game ? [...map.querySelectorAll(".floor")] : [])
    .flatMap(boxesAlong)
    .concat(dots);
  // Of few names on the map of a game, each is worth a line to its mark.
  const few = game && labels.length < 12;
  const paths = [...map.querySelectorAll(".move polyline, .gold")].flatMap(boxesAlong);
  const furniture = boxesOf([...map.querySelectorAll(".furniture")]);
  const marks = new Map(
    labels
      .filter((label) => label.dataset.gap)
      .map((label) => [label, markOf(label, frame, k, mark, taken)]),
  );
  const ring = boxesOf([...map.querySelectorAll(".mistake")])[0];
  // Letters of places next to the middle of the ring come before that of the place in it.
  const away = (label) => Math.hypot(...(offRing(marks.get(label), ring) || [0, 0]));
  labels.sort((a, b) => rank(a) - rank(b) || away(b) - away(a));
  // The drawing does not move while its names are placed.
  const inverses = new Map();
  function within(shape, [x, y]) {
    if (!inverses.has(shape)) inverses.set(shape, shape.getScreenCTM().inverse());
    return shape.isPointInFill(new DOMPoint(x, y).matrixTransform(inverses.get(shape)));
  }
  const [rooms, views] = [
    [...map.querySelectorAll(".floor")],
    [...map.querySelectorAll(".pose.now")],
  ];

  function strayed(spot, own, label) {
    // how little a spot says whose name it holds
    const letter = label.matches(".placeletter")
      ? { ...spot, right: Math.min(spot.right, spot.left + 14) }
      : spot; // without the room
    const middle = centerOf(own);
    const near = apart(letter, own);
    const goal = label.matches(".goalname");
    const others = [...marks]
      .filter(
        ([other, box]) => box && other !== label && rank(other) && apart(box, own) > 0,
      )
      .map(([, box]) => box);
    if (letter !== spot) others.push(...lettered.filter((dot) => apart(dot, own) > 1));
    if (label.matches(".roomname")) {
      return [...marks].some(
        ([other, box]) => box && other.matches(".goalname") && apart(spot, box) < 24,
      )
        ? 20
        : 0;
    }
    let cost =
      others.some((other) => apart(letter, other) < near + 3) || near > (goal ? 16 : 14)
        ? 24
        : 0;
    if (!goal) return cost;
    const room = rooms.find((each) => within(each, middle));
    const corners = cornersOf(spot);
    const elsewhere = rooms.some((each) => each !== room && within(each, corners[0])); // it would seem to be there
    if (room) {
      cost = Math.max(
        cost,
        8 * corners.filter((point) => !within(room, point)).length,
        within(room, corners[0]) ? 0 : elsewhere ? 1000 : 32,
      );
    }
    const on = furniture.filter(
      (each) => meet(spot, each) && !meet(each, boxAt(...middle, 1, 1)),
    );
    if (on.length) {
      cost = Math.max(
        cost,
        on.some((each) => meet(each, boxAt(...corners[0], 1, 1))) ? 36 : 12,
      );
    }
    if (
      views.some(
        (view) => !within(view, middle) && corners.some((point) => within(view, point)),
      )
    )
      cost += 200;
    return cost;
  }
  function crosses(spot, own) {
    // whether the line from a name to its mark lies over another mark or name
    return dotsOf(leaderOf(spot, own)).some((dot) =>
      taken.some(
        (box) =>
          meet(box, dot) &&
          !isWithin(box, own) &&
          !(stars.includes(box) && isWithin(own, box)), // a sign that lies on the star
      ),
    );
  }
  function lead(label, spot, own) {
    // a line from a name to its mark
    const line = document.createElementNS(map.namespaceURI, "line");
    const [x1, y1, x2, y2] = leaderOf(spot, own);
    for (const [name, value] of [
      ["x1", (x1 - k.e) / k.a],
      ["y1", (y1 - k.f) / k.d],
      ["x2", (x2 - k.e) / k.a],
      ["y2", (y2 - k.f) / k.d],
    ])
      line.setAttribute(name, value.toFixed(1));
    line.classList.add("leader");
    map.append(line);
    return dotsOf([x1, y1, x2, y2]);
  }

  function search(label, box, own, still) {
    // the best spot, and whether a line leads from it
    // pixels between a name and its mark from which a line leads
    const off = label.matches(".pill") ? 3 : label.matches(".goalname") ? 7 : undefined;
    // Of the many letters of a graph, one next to another's mark would seem to be that one's.
    const mayCross = label.matches(".goalname, .named, .landmarkname, .pill");
    let best = null;
    let led = false;
    let least = label.matches(".named, .pill")
      ? Infinity
      : label.matches(".goalname")
        ? COVERS
        : !few && label.matches(".label:not(.landmarkname, .placename)")
          ? 24
          : 1000;
    const spots = still ? [box] : own ? spotsOf(label, box, frame, own) : [];
    spots.forEach((spot, turn) => {
      const inside = isWithin(spot, frame);
      const met = (boxes) => boxes.filter((other) => meet(spot, other)).length;
      // No part is below 0, so the dear ones are left out once the sum is too high.
      let cost = COVERS * (met(taken) + 2 * !inside) + turn;
      let lost = 0;
      if (!still && cost < least)
        cost += Math.min(24, 3 * met(walls)) + Math.min(60, 8 * met(paths));
      if (!still && label.matches(".placeletter"))
        cost += 100 * opposite(spot, own, ring);
      if (!still && cost < least) lost = strayed(spot, own, label);
      cost += lost;
      const leads =
        own && (lost >= 24 || (off !== undefined && apart(spot, own) > off));
      if (leads && cost < least && crosses(spot, own))
        cost += mayCross ? CROSSES : COVERS;
      if (cost < least) [best, led, least] = [spot, leads, cost];
    });
    return [best, led];
  }

  // All before the first name moves: the browser would lay the page out again for each.
  const boxes = new Map(labels.map((label) => [label, boxOf(label)]));
  for (const label of labels) {
    const still = !label.dataset.box;
    const pill = label.matches(".pill");
    const own = still ? null : marks.get(label) || markOf(label, frame, k, mark, []);
    let box = boxes.get(label);
    let [best, led] = search(label, box, own, still);
    if ((led || !best) && label.matches(":has(.caption)")) {
      // the letter alone
      label.classList.add("bare");
      box = boxOf(label);
      [best, led] = search(label, box, own, still);
    }
    label.classList.toggle("under", !best);
    if (!best) continue;
    // A letter or a name next to a name would read as its end.
    const beside = label.matches(".landmarkname, .goalname") ? 6 : 0;
    taken.push({ ...best, left: best.left - beside, right: best.right + beside });
    if (still) continue;
    if (led) taken.push(...lead(label, best, own));
    if (pill) {
      const [x, y] = label.dataset.box.split(" ").map(Number);
      label.setAttribute(
        "transform",
        `translate(${((best.left + best.right) / 2 - k.a * x - k.e) / mark} ${((best.top + best.bottom) / 2 - k.d * y - k.f) / mark})`,
      );
      continue;
    }
    label.setAttribute("x", (((best.left + best.right) / 2 - k.e) / k.a).toFixed(1));
    label.setAttribute(
      "y",
      (((best.top + best.bottom) / 2 + 0.27 * box.height - k.f) / k.d).toFixed(1),
    );
  }
}

function unclutter(maps) {
  for (const map of maps) {
    const k = map.getScreenCTM();
    if (!k || !map.getBoundingClientRect().width) continue;
    const unit = 1 / k.a;
    // Of the drawing in a pixel, and of a mark. On the small map of a game on a phone, too, one
    // sees where one stands.
    const size = Math.min(unit, map.closest(".game") ? 2.5 : 1.25);
    map.style.setProperty("--u", unit.toFixed(4));
    map.style.setProperty("--m", size.toFixed(4));
    const legend = map.parentElement.querySelector(".legend");
    const frame = map.getBoundingClientRect();
    const bar = legend && legend.querySelector(".scale");
    if (bar) {
      const metre = bar.dataset.length / unit;
      const long =
        [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n * metre > 40) || 1000;
      bar.style.width = long * metre + "px";
      bar.nextElementSibling.textContent =
        long + " " + bar.dataset.unit.slice(0, long > 1 ? undefined : 6); // 1 square
    }
    for (const sign of legend ? legend.querySelectorAll("i:not(.scale)") : []) {
      // no sign of what is not in view
      const parts = [
        ...map.querySelectorAll("." + [...sign.classList].slice(1).join(".")),
      ];
      const marks = boxesOf(parts);
      const own = parts.find(
        (part) =>
          part.matches(".pose.now, .facing") &&
          meet(part.getBoundingClientRect(), frame),
      );
      if (own)
        sign.style.setProperty("--w", getComputedStyle(own).getPropertyValue("--w")); // the actor's color
      sign.parentElement.hidden = !marks.some(
        (box) => meet(box, frame) && Math.max(box.width, box.height) > 3,
      );
    }
    if (legend) foldLegend(legend);
    placeLabels(map, size / unit);
  }
}
function foldLegend(legend) {
  // one line, two next to the steps, and a button for the rest before what does not fit
  legend.querySelector(".unfold")?.remove();
  const signs = [...legend.children].filter((sign) => sign.getClientRects().length);
  const lines = legend.matches("aside *") && matchMedia("(min-width: 861px)").matches;
  const line = signs[0]?.offsetHeight + 4; // and the gap between two
  const isBelow = (sign) => sign.offsetTop > signs[0].offsetTop + 9 + lines * line;
  const first = signs.findIndex(isBelow);
  if (first < 0) return;
  const item = make("li", "unfold");
  const button = makeButton("more", "", () => {
    legend.classList.toggle("open");
    describe();
  });
  const describe = () => {
    const open = legend.classList.contains("open");
    button.textContent = open ? "less" : "more";
    button.setAttribute("aria-expanded", open);
  };
  describe();
  item.append(button);
  for (let n = first; n > 0 && (n === first || isBelow(item)); n--)
    signs[n].before(item);
}
addEventListener("resize", () =>
  unclutter(document.querySelectorAll("svg.map, svg.dial")),
);
