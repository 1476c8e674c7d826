"use strict";
// Runs side by side: the labels of maps, and tables to copy.
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
document.body.dataset.ready = "1";
