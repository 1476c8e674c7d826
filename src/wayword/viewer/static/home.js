"use strict";
// The runs of a folder: filtered, chosen for comparison, and brought up to date while they go on.
(function () {
  const table = document.getElementById("runs");
  const search = document.getElementById("search");
  const press = document.getElementById("compare");
  const count = document.getElementById("count");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  function update() {
    const query = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const matches = query.every((word) => words.get(row).includes(word));
      row.hidden = !matches;
      shown += matches;
    }
    count.textContent = shown === rows.length ? rows.length + (rows.length === 1 ? " run" : " runs") : shown + " of " + rows.length;
    history.replaceState(null, "", search.value ? "#q=" + encodeURIComponent(search.value) : location.pathname);
  }
  function chosen() {
    return [...table.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.dataset.run);
  }
  table.addEventListener("change", () => { press.disabled = chosen().length < 2; });
  press.addEventListener("click", () => {
    location.href = "compare?" + chosen().map((run) => "run=" + encodeURIComponent(run.split("/")[1])).join("&");
  });
  search.addEventListener("input", update);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  });
  search.value = new URLSearchParams(location.hash.slice(1)).get("q") || "";
  update();
  document.body.dataset.ready = "1";

  const source = new EventSource("live");
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    for (const row of rows) {
      const run = now.runs[row.dataset.run];
      if (!run) continue;
      row.querySelector(".done").textContent = run.done.toLocaleString("en");
      row.querySelector(".status").textContent = run.status;
      const meter = row.querySelector("meter");
      if (meter) meter.value = run.done;
    }
    if (now.count !== rows.length) count.textContent = rows.length + " runs, and new ones: reload the page";
  };
})();
