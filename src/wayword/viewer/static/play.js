"use strict";
// A game: the board is the server's, made anew whenever something happens; what is chosen or typed
// goes back to it. Parts of a page arrive as a document of their own, in which no script runs.
(function () {
  const main = document.querySelector("main");
  const actor = main.dataset.as || "";
  const say = document.getElementById("say");

  async function post(where, what) {
    const answer = await fetch(where, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what),
    });
    return answer.ok ? answer.json() : { problem: "the server answered " + answer.status };
  }
  function board() { return document.getElementById("board"); }
  function tell(problem) {
    let shown = document.getElementById("problem");
    if (!shown) {
      shown = document.createElement("p");
      shown.id = "problem";
      shown.className = "why";
      shown.setAttribute("role", "alert");
      (say || board()).before(shown);
    }
    shown.textContent = problem;
    shown.hidden = !problem;
  }

  // Where a game is begun.
  const begin = document.getElementById("begin");
  if (begin) begin.addEventListener("submit", async (event) => {
    event.preventDefault();
    const asked = Object.fromEntries(new FormData(begin));
    const told = await post("/play", asked);
    if (told.href) location.href = told.href;
    else tell(told.problem);
  });

  // The board.
  let showing = 0;
  async function refresh() {
    const mine = ++showing;
    const answer = await fetch("board?as=" + encodeURIComponent(actor));
    if (!answer.ok || mine !== showing) return;
    const arrived = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
    if (!arrived || mine !== showing) return;
    const old = board();
    for (const part of old.querySelectorAll("details[data-key]")) {
      const same = arrived.querySelector('details[data-key="' + CSS.escape(part.dataset.key) + '"]');
      if (same) same.open = part.open;
    }
    const typed = old.querySelector(".answer input");
    const again = arrived.querySelector(".answer input");
    if (typed && again) again.value = typed.value;
    old.replaceWith(document.adoptNode(arrived));
    unclutter(board().querySelectorAll("svg.map"));
    if (typed && again) again.focus();
    filter();
  }
  function filter() {
    const words = say ? say.elements.words.value.toLowerCase().split(/[\s,[\]]+/).filter(Boolean) : [];
    for (const press of board().querySelectorAll(".act[data-action]")) {
      const text = (press.dataset.action + " " + press.textContent).toLowerCase().replaceAll("_", " ");
      press.hidden = !/^\d+$/.test(words.join("")) && !words.every((word) => text.includes(word.replaceAll("_", " ")));
    }
    if (words.length) for (const part of board().querySelectorAll(".menu details")) {
      if (part.querySelector(".act:not([hidden])")) part.open = true;
    }
  }
  async function send(words) {
    tell("");
    const told = await post("say", { as: actor, number: Number(board().dataset.asking), words });
    if (told.problem) tell(told.problem);
    else if (say) say.reset();
    await refresh();
  }

  document.addEventListener("click", (event) => {
    const press = event.target.closest(".act");
    if (press && press.dataset.verb && say) {
      say.elements.words.value = press.dataset.verb + " ";
      say.elements.words.focus();
    } else if (press) send(press.dataset.words);
    if (event.target.id === "leave") post("leave", { as: actor }).then(refresh);
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form === say) {
      event.preventDefault();
      if (say.elements.words.value.trim()) await send(say.elements.words.value);
    } else if (form.matches(".answer")) {
      event.preventDefault();
      const none = event.submitter && event.submitter.value === "none";
      const told = await post("answer", { number: Number(form.dataset.number), words: none ? "" : form.elements.words.value });
      tell(told.problem || "");
      await refresh();
    }
  });
  if (say) say.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && say && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      say.elements.words.focus();
    }
  });

  if (begin) { document.body.dataset.ready = "1"; return; }
  const lobby = !main.classList.contains("game");
  (lobby ? Promise.resolve() : refresh()).then(() => { document.body.dataset.ready = "1"; });
  const source = new EventSource("live");
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (lobby) { if (now.state !== board().dataset.state) location.reload(); }
    else if (now.version !== Number(board().dataset.version)) refresh();
    if (now.ended) source.close();
  };
})();
