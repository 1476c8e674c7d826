"use strict";
// Runs side by side: the labels of maps, tables to copy, and what takes time of gained and lost episodes.
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
if (document.querySelector("[data-of]")) {
  fetch(`compare/flips${location.search}`).then((answer) => answer.text()).then((text) => {
    const arrived = new DOMParser().parseFromString(text, "text/html");
    for (const part of arrived.querySelectorAll("[id^=flips-]")) document.getElementById(part.id)?.replaceWith(document.adoptNode(part));
    document.body.dataset.whole = "1";
  }, () => {}); // a server that has gone leaves the ids
}
document.body.dataset.ready = "1";
