"use strict";
// Runs side by side: the labels of maps, tables to copy, and what takes time: the chart, and gained and lost episodes.
if (typeof unclutter === "function") unclutter(document.querySelectorAll("svg.map"));
document.querySelectorAll("pre.copied").forEach(copyable);
async function later(part, kind) {
  const answer = await fetch(`compare/${part}${location.search}`);
  if (!answer.ok) return;
  const arrived = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const each of arrived.querySelectorAll(kind))
    document.getElementById(each.id)?.replaceWith(document.adoptNode(each));
}
if (document.getElementById("lengths")) {
  const parts = [later("lengths", "#lengths")];
  if (document.querySelector("[data-of]")) parts.push(later("flips", "[id^=flips-]"));
  Promise.allSettled(parts).then(() => {
    const chart = document.getElementById("lengths");
    chart.hidden = !chart.firstElementChild; // runs without lengths have no chart
    document.body.dataset.whole = "1";
  }); // a server that has gone leaves the ids
}
document.body.dataset.ready = "1";
