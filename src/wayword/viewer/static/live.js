"use strict";
// A running episode: the server renders its moves again whenever the run reports a new one.
// Once the episode has ended, its recorded steps are at the same address.
(function () {
  const main = document.getElementById("main");
  const source = new EventSource("live");
  let busy = false;
  let last = "";

  async function refresh() {
    if (busy) return; // the next event brings what this one did not
    busy = true;
    try {
      const answer = await fetch("moves" + location.search);
      if (!answer.ok) return;
      const arrived = new DOMParser()
        .parseFromString(await answer.text(), "text/html")
        .getElementById("moves");
      if (!arrived) return;
      document.getElementById("moves").replaceWith(document.adoptNode(arrived));
      unclutter(document.querySelectorAll("svg.map"));
    } finally {
      busy = false;
    }
  }
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    const mine = now.episodes.find((each) => each.id === main.dataset.id);
    if (!mine) {
      source.close();
      location.reload();
    } else if (mine.step !== last) {
      last = mine.step;
      refresh();
    }
  };
  unclutter(document.querySelectorAll("svg.map"));
  document.body.dataset.ready = "1";
})();
