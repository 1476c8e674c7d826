"use strict";
// Runs side by side: the labels of maps, tables to copy, instructions that were not known at once.
if (typeof unclutter === "function") unclutter(document.querySelectorAll("svg.map"));
for (const pre of document.querySelectorAll("pre.copied")) {
  pre.tabIndex = 0;
  if (!navigator.clipboard) continue;
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "copy";
  copy.addEventListener("click", () => navigator.clipboard.writeText(pre.textContent).then(
    () => { copy.textContent = "copied"; }, () => { copy.textContent = "not allowed"; }));
  pre.before(copy);
}
const silent = [...document.querySelectorAll("[data-of]")];
if (silent.length) {
  fetch(`compare/texts${location.search}`).then((answer) => answer.json()).then((texts) => {
    for (const each of silent) each.textContent = texts[each.dataset.of] || "";
  }, () => {}); // a server that has gone leaves the ids
}
document.body.dataset.ready = "1";
