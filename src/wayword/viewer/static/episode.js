"use strict";
// One episode: keys, the map beside the steps, and passages of prompts that were folded away.
// Every text reaches the page through textContent.
(function () {
  const steps = [...document.querySelectorAll(".step")];
  const strip = document.querySelector(".strip");
  let now = 0; // 0: before the first step

  function mark(number) {
    now = number;
    for (const old of document.querySelectorAll(".now")) old.classList.remove("now");
    const card = document.getElementById("step-" + number);
    if (!card) return;
    card.classList.add("now");
    for (const part of document.querySelectorAll('.map [data-step="' + number + '"]')) part.classList.add("now");
    for (const stop of document.querySelectorAll(".map .stop")) {
      if (stop.dataset.steps.split(" ").includes(String(number))) stop.classList.add("now");
    }
    for (const part of document.querySelectorAll(".map [data-first]")) {
      part.classList.toggle("on", Number(part.dataset.first) <= number && number <= Number(part.dataset.last));
    }
    const dot = strip && strip.querySelector('a[href="#step-' + number + '"]');
    if (dot) dot.classList.add("now");
  }

  function go(number) {
    const target = Math.max(1, Math.min(steps.length, number));
    const card = document.getElementById("step-" + target);
    if (!card) return;
    mark(target);
    quiet = Date.now() + 400;
    card.scrollIntoView({ block: "start" });
    history.replaceState(null, "", "#step-" + target);
  }

  // Prompts: a folded passage is lines of an earlier call's block, which may be folded there too.
  const known = new Map();
  function lines(call, block) {
    const key = call + "/" + block;
    if (!known.has(key)) {
      known.set(key, []);
      const pre = document.querySelector('pre[data-call="' + Number(call) + '"][data-block="' + Number(block) + '"]');
      if (pre) known.set(key, [...pre.children].flatMap((piece) => said(piece)));
    }
    return known.get(key);
  }
  function said(piece) {
    const from = piece.dataset;
    if (!piece.classList.contains("folded")) return piece.textContent.match(/[^\n]*\n|[^\n]+$/g) || [];
    return lines(from.call, from.block).slice(Number(from.start), Number(from.start) + Number(from.count));
  }
  function unfold(button) {
    const pre = button.parentElement;
    lines(pre.dataset.call, pre.dataset.block); // remembered before its pieces change
    const span = document.createElement("span");
    span.className = "same";
    span.textContent = said(button).join("");
    button.replaceWith(span);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".folded");
    if (button) unfold(button);
    const stop = event.target.closest(".stop");
    if (stop && stop.dataset.go) {
      const visits = stop.dataset.steps.split(" ").map(Number).filter(Boolean);
      go(visits[(visits.indexOf(now) + 1) % visits.length]);
    }
    const dot = event.target.closest(".dot");
    if (dot) {
      event.preventDefault();
      go(Number(dot.textContent));
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const link = { j: "next", k: "prev", u: "up" }[event.key];
    if (link) {
      const found = document.querySelector('a[rel="' + link + '"]');
      if (found) location.href = found.href;
    } else if (event.key === "ArrowRight") {
      event.preventDefault();
      go(now + 1);
    } else if (event.key === "ArrowLeft") {
      event.preventDefault();
      go(now - 1);
    } else if (event.key === "e") {
      const all = [...document.querySelectorAll("details.prompt")];
      const open = all.some((each) => !each.open);
      for (const each of all) each.open = open;
    }
  });

  // The step at the top of the window is the current one, unless a key has just chosen it.
  let quiet = 0;
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting || Date.now() < quiet) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const above = steps.filter((card) => card.getBoundingClientRect().top < innerHeight * 0.4);
      const number = above.length ? Number(above[above.length - 1].dataset.step) : 1;
      if (number !== now && steps.length) mark(number);
    });
  }, { passive: true });

  const asked = /^#step-(\d+)$/.exec(location.hash);
  if (asked) go(Number(asked[1]));
  else if (steps.length) mark(1);
})();
