"use strict";
// A game: the server renders the board again at each change; what is chosen or typed
// goes back to it. Parts of a page arrive as a document of their own, in which no script runs.
(function () {
  const main = document.querySelector("main");
  const actor = main.dataset.as || "";
  const say = document.getElementById("say");

  const banner = document.getElementById("gone");
  function gone(is) { if (banner) banner.hidden = !is; }
  async function reach(where, how) { // an answer, or null and a banner where there is none
    try {
      const answer = await fetch(where, how);
      gone(false);
      return answer;
    } catch (error) { gone(true); return null; }
  }
  async function post(where, what) {
    const answer = await reach(where, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what),
    });
    if (!answer) return { problem: banner ? "" : "the server does not answer", lost: true };
    return answer.ok ? answer.json() : { problem: "the server answered " + answer.status };
  }
  function board() { return document.getElementById("board"); }
  const shown = document.getElementById("problem");
  function showProblem(problem) {
    shown.textContent = problem;
    shown.hidden = !problem;
  }

  // The form that starts a game.
  const begin = document.getElementById("begin");
  if (begin) begin.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = Object.fromEntries(new FormData(begin));
    const reply = await post("/play", form);
    if (reply.href) location.href = reply.href;
    else showProblem(reply.problem);
  });

  // The board.
  let showing = 0, drawn = "";
  async function refresh() {
    const mine = ++showing;
    const answer = await reach("board?as=" + encodeURIComponent(actor));
    if (!answer || !answer.ok || mine !== showing) return;
    const arrived = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("board");
    if (!arrived || mine !== showing) return;
    const old = board(), version = arrived.dataset.version;
    delete arrived.dataset.version;
    const same = arrived.outerHTML === drawn; // a press must not lose its button
    drawn = arrived.outerHTML;
    arrived.dataset.version = old.dataset.version = version;
    if (same) return filter();
    for (const part of old.querySelectorAll("details[data-key]")) {
      const same = arrived.querySelector('details[data-key="' + CSS.escape(part.dataset.key) + '"]');
      if (same) same.open = part.open;
    }
    const typed = old.querySelector(".answer input");
    const again = arrived.querySelector(".answer input");
    if (typed && again) again.value = typed.value;
    old.replaceWith(document.adoptNode(arrived));
    showNamed();
    unclutter(board().querySelectorAll("svg.map"));
    if (typed && again) again.focus();
    filter();
  }
  // What the task names stands out on the map, and its choices are not folded.
  function showNamed() {
    const task = " " + (board().querySelector(".task")?.textContent || "").toLowerCase().replace(/[^a-z]+/g, " ");
    const isNamed = (name) => task.includes(" " + name.toLowerCase().replaceAll("_", " ").replace(/ \d+$/, ""));
    for (const label of board().querySelectorAll("svg .label[data-gap]")) label.classList.toggle("named", isNamed(label.textContent));
    for (const part of board().querySelectorAll(".menu details")) {
      const named = [...part.querySelectorAll(".act")].filter((press) => isNamed((/\[(.*)\]/.exec(press.dataset.action)?.[1] || "\u0000").split(", ").at(-1)));
      const block = make("div"), row = make("div", "acts");
      row.append(...named);
      block.append(make("h3", "", part.dataset.key.replaceAll("_", " ")), row);
      if (named.length) part.before(block);
    }
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
  const dialog = document.getElementById("sure");
  async function send(words, sure = 0) {
    showProblem("");
    const reply = await post("say", { as: actor, number: Number(board().dataset.asking), words, sure });
    if (reply.question) {
      document.getElementById("question").textContent = reply.question;
      dialog.returnValue = "";
      dialog.showModal();
      dialog.onclose = () => { if (dialog.returnValue === "yes") send(words, 1); };
      return;
    }
    if (reply.problem) showProblem(reply.problem);
    else if (say && !reply.lost) say.reset();
    await refresh();
  }

  document.addEventListener("click", (event) => {
    const press = event.target.closest(".act");
    if (press && press.dataset.verb && say) {
      say.elements.words.value = press.dataset.verb + " ";
      say.elements.words.focus();
      filter();
    } else if (press) send(press.dataset.words);
    if (event.target.id === "retry") refresh();
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
      const reply = await post("answer", { number: Number(form.dataset.number), words: none ? "" : form.elements.words.value });
      showProblem(reply.problem || "");
      await refresh();
    }
  });
  if (say) say.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || (dialog && dialog.open)) return;
    if (typing && event.key === "Escape") event.target.blur();
    if (typing && (event.target.value || !event.key.startsWith("Arrow"))) return;
    if (event.key === "/" && say) {
      event.preventDefault();
      say.elements.words.focus();
      return;
    }
    const target = event.target.closest(".target");
    const press = target && (event.key === "Enter" || event.key === " ") ? target
      : board()?.querySelector('.act[data-key="' + CSS.escape(event.key) + '"]:enabled');
    if (!press) return;
    event.preventDefault();
    press.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });

  if (begin) { document.body.dataset.ready = "1"; return; }
  const lobby = !main.classList.contains("game");
  (lobby ? Promise.resolve() : refresh()).then(() => { document.body.dataset.ready = "1"; });
  const source = new EventSource("live");
  source.onerror = () => gone(true);
  source.onopen = () => gone(false);
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (lobby) { if (now.state !== board().dataset.state) location.reload(); }
    else if (now.version !== Number(board().dataset.version)) refresh();
    if (now.ended) source.close();
  };
})();
