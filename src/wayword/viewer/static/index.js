"use strict";
// The table of episodes: sorted and filtered in memory, rows made as they are scrolled to.
// Every text reaches the page through textContent.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FIXED = 4; // id, instruction, page, ended
  const CHUNK = 100;
  const at = (key) => FIXED + data.keys.indexOf(key);
  const table = document.getElementById("episodes");
  const body = table.tBodies[0];
  const search = document.getElementById("search");
  const ended = document.getElementById("ended");
  const chips = document.getElementById("filters");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const folded = data.rows.map((row) => (row[0] + "\n" + row[1]).toLowerCase());
  const ranges = new Map(); // metric key -> {low, high, last, words, bar}
  let sorted = { column: -1, down: false };
  let shown = [];
  let made = 0;

  const columns = [
    { label: "Episode", index: 0, kind: "id" },
    { label: "Instruction", index: 1, kind: "text" },
    ...data.columns.map((c) => ({ ...c, index: at(c.key) })),
    { label: "Ended", index: 3, kind: "ended" },
  ];

  function show(value, column) {
    if (value === null || value === undefined) return "–";
    if (column.kind === "rate") {
      return (value === 0 || value === 1 ? 100 * value : (100 * value).toFixed(1)).toString();
    }
    if (column.kind === "dollars") return value.toFixed(value !== 0 && value < 1 ? 4 : 2);
    if (column.kind === "metres") return value.toFixed(2);
    if (column.kind === "seconds") return value.toFixed(value < 10 ? 2 : 1);
    return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1);
  }

  function cell(row, column) {
    const td = document.createElement("td");
    const value = row[column.index];
    if (column.kind === "id") {
      td.className = "id";
      td.title = value;
      if (row[2]) {
        const link = document.createElement("a");
        link.href = "episodes/" + encodeURIComponent(row[2]);
        link.textContent = value;
        td.append(link);
      } else td.textContent = value;
    } else if (column.kind === "text") {
      td.className = "text";
      const clamp = document.createElement("div");
      clamp.textContent = value;
      clamp.title = value;
      td.append(clamp);
    } else if (column.kind === "ended") {
      td.className = ["failed", "step_limit", "stopped"].includes(value) ? value : "";
      td.textContent = value.replaceAll("_", " ");
    } else {
      td.className = "n";
      td.dataset.label = column.label;
      td.textContent = show(value, column);
      if (column.kind === "rate" && column.better === "higher" && (value === 0 || value === 1)) {
        td.classList.add(value === 1 ? "good" : "bad");
      }
    }
    return td;
  }

  function grow() {
    const rows = shown.slice(made, made + CHUNK).map((number) => {
      const tr = document.createElement("tr");
      tr.append(...columns.map((column) => cell(data.rows[number], column)));
      return tr;
    });
    made += rows.length;
    body.append(...rows);
  }

  function within(value, range) {
    if (value === null || value === undefined) return false;
    return value >= range.low && (value < range.high || (range.last && value <= range.high));
  }

  function compare(column, down) {
    const sign = down ? -1 : 1;
    return (a, b) => {
      const x = data.rows[a][column.index];
      const y = data.rows[b][column.index];
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      if (typeof x === "string") return sign * x.localeCompare(y, "en", { numeric: true });
      return sign * (x - y);
    };
  }

  function update() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = [];
    data.rows.forEach((row, number) => {
      if (ended.value !== "all" && row[3] !== ended.value) return;
      if (!words.every((word) => folded[number].includes(word))) return;
      for (const [key, range] of ranges) if (!within(row[at(key)], range)) return;
      shown.push(number);
    });
    if (sorted.column >= 0) shown.sort(compare(columns[sorted.column], sorted.down));
    body.replaceChildren();
    made = 0;
    grow();
    const all = data.rows.length.toLocaleString("en");
    count.textContent =
      shown.length === data.rows.length ? all + " episodes" : shown.length.toLocaleString("en") + " of " + all;
  }

  function drawChips() {
    chips.replaceChildren(
      ...[...ranges].map(([key, range]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = range.words + " ×";
        button.addEventListener("click", () => toggle(key, range));
        return button;
      })
    );
  }

  function toggle(key, range) {
    const old = ranges.get(key);
    if (old) old.bar.classList.remove("on");
    if (old && old.bar === range.bar) ranges.delete(key);
    else {
      ranges.set(key, range);
      range.bar.classList.add("on");
    }
    drawChips();
    update();
  }

  for (const bar of document.querySelectorAll(".histogram g")) {
    const range = {
      low: Number(bar.dataset.low), high: Number(bar.dataset.high),
      last: bar.hasAttribute("data-last"), words: bar.dataset.words, bar,
    };
    const press = () => toggle(bar.dataset.key, range);
    bar.setAttribute("role", "button");
    bar.setAttribute("tabindex", "0");
    bar.addEventListener("click", press);
    bar.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); press(); }
    });
  }

  columns.forEach((column, number) => {
    const th = document.createElement("th");
    const button = document.createElement("button");
    th.scope = "col";
    if (column.key) th.className = "n";
    button.type = "button";
    button.textContent = column.label;
    if (column.doc) button.title = column.doc;
    button.addEventListener("click", () => {
      const down = sorted.column === number ? !sorted.down : Boolean(column.key);
      sorted = { column: number, down };
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const [n, other] of [...table.tHead.rows[0].cells].entries()) {
        other.firstChild.textContent = columns[n].label + (n === number ? (down ? " ↓" : " ↑") : "");
      }
      update();
    });
    th.append(button);
    table.tHead.rows[0].append(th);
  });

  search.addEventListener("input", update);
  ended.addEventListener("change", update);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  });
  new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting) && made < shown.length) grow();
  }, { rootMargin: "800px" }).observe(more);
  update();
})();
