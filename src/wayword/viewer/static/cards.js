"use strict";
const tables = [...document.querySelectorAll("table.board")];
if (tables.length) {
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    return number === undefined ? cell.textContent : Number(number);
  };
  const sortable = (table) =>
    table.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        table
          .querySelectorAll("th")
          .forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a, column), value(b, column)];
          return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
        });
        body.append(...rows);
      });
    });
  tables.forEach(sortable);
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const words = document.querySelector("#words");
  const version = document.querySelector("#version");
  const verified = document.querySelector("#verified");
  const count = document.querySelector("#count");
  const filter = () => {
    let shown = 0;
    for (const row of rows) {
      row.hidden =
        !row.textContent.toLowerCase().includes(words.value.toLowerCase()) ||
        (version.value && row.dataset.version !== version.value) ||
        (verified.checked && row.dataset.verified !== "yes");
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length} cards`;
  };
  for (const input of [words, version, verified])
    input.addEventListener("input", filter);
  filter();
}
