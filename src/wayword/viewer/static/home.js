"use strict";
// The runs of a folder: filtered, chosen for comparison, and brought up to date as they change.
(function () {
  const list = document.getElementById("list");
  if (!list) return;
  const search = document.getElementById("search");
  const press = document.getElementById("compare");
  const count = document.getElementById("count");
  const rows = () => [...list.querySelectorAll("tr[data-run]")];
  const chosen = () =>
    [...list.querySelectorAll("input:checked")].map((box) => box.dataset.run);
  const doneOf = (row) => row.querySelector(".done")?.textContent;

  function update() {
    const query = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = rows();
    for (const group of list.querySelectorAll("tbody")) {
      const on = group.querySelector(".group").textContent.toLowerCase();
      const own = [...group.querySelectorAll("tr[data-run]")];
      for (const row of own) {
        const words = on + " " + row.textContent.toLowerCase();
        row.hidden = !query.every((word) => words.includes(word));
      }
      group.hidden = own.every((row) => row.hidden);
    }
    const shown = all.filter((row) => !row.hidden).length;
    count.textContent =
      shown === all.length
        ? shown + (shown === 1 ? " run" : " runs")
        : shown + " of " + all.length;
    press.disabled = chosen().length < 2;
    history.replaceState(
      null,
      "",
      search.value
        ? "#q=" + encodeURIComponent(search.value)
        : location.pathname + location.search,
    );
  }
  list.addEventListener("change", update);
  press.addEventListener("click", () => {
    location.href =
      "compare?" +
      chosen()
        .map((run) => "run=" + encodeURIComponent(run.split("/")[1]))
        .join("&");
  });
  search.addEventListener("input", update);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });

  const intervals = new Map();
  const inView = inTurn(measure);
  async function measure(row) {
    const key = row.dataset.run + " " + doneOf(row);
    const place = row.querySelector(".interval");
    if (place && !intervals.has(key)) {
      const answer = await fetch(row.dataset.run + "metrics");
      const words = answer.ok
        ? partsOf(await answer.text())[0]?.querySelector(".metric .dim")?.textContent
        : "";
      intervals.set(key, /^95%/.test(words) ? words : "");
    }
    if (place) place.textContent = intervals.get(key);
  }

  // Rows that have changed are replaced, so that what is chosen and focused stays.
  async function refresh() {
    const answer = await fetch(location.pathname + "?all=1");
    if (!answer.ok) return;
    const arrived = new DOMParser().parseFromString(await answer.text(), "text/html");
    const table = list.querySelector("table");
    const picked = chosen();
    const old = new Map(rows().map((row) => [row.dataset.run, row]));
    document
      .querySelector(".head .lead")
      .replaceWith(arrived.querySelector(".head .lead"));
    if (!table) {
      list.replaceChildren(...arrived.getElementById("list").children);
    } else {
      const focused = document.activeElement;
      const groups = [...arrived.querySelectorAll("#list tbody")];
      for (const row of groups.flatMap((group) => [...group.rows])) {
        const same = old.get(row.dataset.run);
        if (same?.className === row.className && doneOf(same) === doneOf(row))
          row.replaceWith(same);
      }
      for (const group of [...table.tBodies]) group.remove();
      table.append(...groups);
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    }
    for (const box of list.querySelectorAll("input"))
      box.checked = picked.includes(box.dataset.run);
    watch();
  }
  function watch() {
    for (const row of rows()) inView.observe(row);
    for (const place of list.querySelectorAll(".interval:empty"))
      place.textContent = "95%: …";
    update();
  }
  search.value = new URLSearchParams(location.hash.slice(1)).get("q") || "";
  watch();
  document.body.dataset.ready = "1";

  new EventSource("live").onmessage = (event) => {
    const now = JSON.parse(event.data);
    const all = rows();
    const changed = all.some((row) => {
      const run = now.runs[row.dataset.run];
      return (
        run &&
        (run.status !== row.className || run.done.toLocaleString("en") !== doneOf(row))
      );
    });
    if (changed || now.count !== all.length) refresh().catch(() => {});
  };
})();
