"use strict";
// One episode: keys, the map next to the steps, and folded passages of prompts.
// Every text reaches the page through textContent.
(function () {
  const steps = [...document.querySelectorAll(".step")];
  const opening = document.querySelectorAll("#opening");
  const slider = document.getElementById("now");
  const place = document.getElementById("position");
  const hand = document.querySelector(".time .hand");
  const scrubber = document.querySelector(".scrubber");
  const clauses = [...document.querySelectorAll(".instruction .clause")];
  const main = document.querySelector("main");
  const maps = document.querySelectorAll("svg.map");
  const opens = Number(main.dataset.opens || 0); // the mistake of a failed episode, the end of a solved one
  const failed = "mistake" in main.dataset;
  let now = 0; // 0: before the first step
  const SHOWN = 24; // lines of what came before, at most
  const LONG = 100; // steps from which a whole walk would be a tangle: it is faded
  const MOST_LINES = 9; // of an instruction above its map
  const NEAR = Math.max(15, steps.length / 12); // but for so many around the current step

  // The clause that is followed at a step, and those done by then.
  function follow(card) {
    const done = new Set((card.dataset.done || "").split(" "));
    for (const part of clauses) {
      const own = part.dataset.clauses.split(" ");
      const at = own.includes(card.dataset.clause);
      part.classList.toggle("at", at);
      part.classList.toggle(
        "done",
        own.every((number) => done.has(number)),
      );
      if (at) part.setAttribute("aria-current", "step");
      else part.removeAttribute("aria-current");
    }
    const at = clauses.find((part) => part.classList.contains("at"));
    if (!at) return;
    const pane = at.closest(".instruction");
    const low = at.offsetTop + at.offsetHeight;
    if (at.offsetTop < pane.scrollTop || low > pane.scrollTop + pane.clientHeight) {
      const line = parseFloat(getComputedStyle(pane).lineHeight); // no line is cut in half
      pane.scrollTop = Math.floor((at.offsetTop + 2) / line) * line;
    }
  }

  function mark(number, whole = false) {
    // whole: nothing of the walk is faded
    now = number;
    main.classList.toggle("whole", whole && !failed); // without the view of a step
    for (const old of document.querySelectorAll(".now")) old.classList.remove("now");
    const card = document.getElementById("step-" + number);
    if (!card) return;
    card.classList.add("now");
    follow(card);
    for (const part of document.querySelectorAll('.map [data-step="' + number + '"]'))
      part.classList.add("now");
    for (const stop of document.querySelectorAll(".map .stop")) {
      if (stop.dataset.steps.split(" ").includes(String(number)))
        stop.classList.add("now");
    }
    // Shapes are numbered by the step that follows. The map is of the moment after the step, like
    // the walk; a solved episode opens on its end.
    const state = (whole && !failed ? steps.length : number) + 1;
    for (const part of document.querySelectorAll(".map [data-first]")) {
      part.classList.toggle(
        "on",
        Number(part.dataset.first) <= state && state <= Number(part.dataset.last),
      );
    }
    for (const part of document.querySelectorAll(
      ".map .move[data-step], .map .stop, .map .blocked",
    )) {
      const own = (part.dataset.step || part.dataset.steps).split(" ").map(Number);
      part.classList.toggle("future", own[0] > number && !whole);
      part.classList.toggle(
        "far",
        steps.length > LONG &&
          !(whole && !failed) &&
          own.every((step) => Math.abs(step - number) > NEAR),
      );
    }
    showFloor(number);
    showLetters(card);
    for (const part of document.querySelectorAll('.time [data-step="' + number + '"]'))
      part.classList.add("now");
    if (slider) slider.value = number;
    const usage = document.querySelector('.usage[data-step="' + number + '"]');
    if (place) {
      place.textContent =
        number + " / " + steps.length + (usage ? " · " + usage.dataset.words : "");
    }
    if (hand) {
      const at = (1000 * (number - 0.5)) / steps.length;
      hand.setAttribute("x1", at);
      hand.setAttribute("x2", at);
    }
  }

  // Letters that only the card names are on the map while it is the current one.
  function showLetters(card) {
    const spare = [...document.querySelectorAll(".map .spare")];
    if (!spare.length) return;
    const named = new Set(
      [...card.querySelectorAll("abbr.letter")].map((each) => each.title),
    );
    for (const letter of spare)
      letter.classList.toggle("now", named.has(letter.dataset.place));
    unclutter(maps);
  }

  // Floors: those away from the one that is looked at are dimmed.
  let floor = "";
  let walked = ""; // the floor in view, and that of the step
  function showFloor(number) {
    // what a person has chosen stays until a step is on another floor
    const stop = [...document.querySelectorAll(".map .stop[data-floor]")].find((each) =>
      each.dataset.steps.split(" ").includes(String(number)),
    );
    if (!stop || stop.dataset.floor === walked) return;
    walked = stop.dataset.floor;
    chooseFloor(walked);
  }
  function chooseFloor(chosen) {
    if (chosen === floor) return;
    floor = chosen;
    for (const part of document.querySelectorAll(".map [data-floor]"))
      part.classList.toggle("away", chosen !== "all" && part.dataset.floor !== chosen);
    for (const press of document.querySelectorAll(".floors button"))
      press.setAttribute("aria-pressed", String(press.dataset.to === chosen));
  }

  function go(number) {
    const target = Math.max(1, Math.min(steps.length, number));
    const card = document.getElementById("step-" + target);
    if (!card) return;
    if (card.hidden) unfoldSteps();
    mark(target);
    card.scrollIntoView({ block: "start" });
    settled = scrollY;
    try {
      history.replaceState(null, "", "#step-" + target);
    } catch {
      /* a frame has no address */
    }
  }

  // The steps before the one that an episode opens on are folded.
  const fold = makeButton("press", "", () => {
    unfoldSteps();
    go(1);
  });
  function foldSteps() {
    const before = steps.slice(0, Math.max(0, opens - 1));
    if (!before.length) return;
    fold.textContent =
      before.length > 1 ? "Show steps 1 to " + before.length : "Show step 1";
    before[0].before(fold);
    for (const card of [...opening, ...before]) card.hidden = true;
    if (opens > steps.length - 2) document.getElementById("end").before(recap(before));
  }
  // What the folded steps did, in a line each, equal actions in a row as one.
  function recap(cards) {
    const list = make("ol", "recap");
    let run = null;
    for (const card of cards) {
      const badge = card.querySelector("header .badge");
      const actor = card.querySelector("header .actor");
      const words = badge.className + badge.textContent + (actor?.textContent || "");
      if (!run || run.words !== words) {
        const link = make("a", "", card.dataset.step);
        link.href = "#" + card.id;
        const code = make("code", badge.matches(".ok") ? "" : "odd");
        code.append(...badge.cloneNode(true).childNodes);
        const line = make("li");
        line.append(link, " ", ...(actor ? [actor.cloneNode(true), " "] : []), code);
        list.append(line);
        run = { words, link };
      } else {
        const first = run.link.textContent.split("–")[0];
        run.link.textContent = first + "–" + card.dataset.step;
      }
    }
    for (const line of [...list.children].slice(0, -SHOWN)) line.remove();
    const section = make("section", "card");
    section.append(make("h2", "", "The steps before"), list);
    return section;
  }
  function unfoldSteps() {
    fold.remove();
    for (const card of [...opening, ...steps]) card.hidden = false;
    // What is hidden has no size, so that letters of dials could not be placed.
    unclutter(document.querySelectorAll("svg.dial"));
  }

  // Prompts: a folded passage is lines of an earlier call's message, and a folded series is messages
  // of an earlier call; both may be folded there, too.
  const cached = new Map();
  const messages = new Map(); // call/block -> its text
  const series = new Map(); // call -> its folded series
  for (const pre of document.querySelectorAll("pre.text"))
    messages.set(pre.dataset.call + "/" + pre.dataset.block, pre);
  for (const { dataset } of document.querySelectorAll(".folded[data-own]")) {
    if (!series.has(dataset.own)) series.set(dataset.own, []);
    series.get(dataset.own).push(dataset);
  }
  function message(call, block) {
    // where a message is written: a loop, since each of thousands of calls may lead to the one before
    for (;;) {
      const pre = messages.get(call + "/" + block);
      if (pre) return pre;
      const from = (series.get(String(call)) || []).find(
        ({ at, count }) => at <= block && block < Number(at) + Number(count),
      );
      if (!from) return null;
      block = Number(from.start) + Number(block) - Number(from.at);
      call = from.call;
    }
  }
  function lines(call, block) {
    const pre = message(call, block);
    if (!pre) return [];
    if (!cached.has(pre)) {
      cached.set(
        pre,
        [...pre.children].flatMap((piece) => linesOf(piece)),
      );
    }
    return cached.get(pre);
  }
  function linesOf(piece) {
    const from = piece.dataset;
    if (!piece.classList.contains("folded"))
      return piece.textContent.match(/[^\n]*\n|[^\n]+$/g) || [];
    return lines(from.call, from.block).slice(
      Number(from.start),
      Number(from.start) + Number(from.count),
    );
  }
  function lettered(text) {
    // ids of places as on the rest of the page: with their letters
    return text.split(/([\w-]+)/).map((word) => {
      const there = letters.get(word);
      return there ? there.cloneNode(true) : word;
    });
  }
  const letters = new Map(
    [...document.querySelectorAll("abbr.letter")].map((each) => [each.title, each]),
  );
  function unfoldMessages(button) {
    const { call, start, count } = button.dataset;
    const parts = [];
    for (let block = Number(start); block < Number(start) + Number(count); block++) {
      const part = make("div", "message");
      const role = message(call, block)?.parentElement.querySelector("h4");
      if (role) part.append(role.cloneNode(true));
      const pre = make("pre", "text");
      pre.append(...lettered(lines(call, block).join("")));
      part.append(pre);
      parts.push(part);
    }
    button.parentElement.replaceWith(...parts);
    parts[0]?.querySelector("pre").focus();
  }
  function unfold(button) {
    const pre = button.parentElement;
    lines(pre.dataset.call, pre.dataset.block); // remembered before its pieces change
    const span = make("span", "same");
    span.append(...lettered(linesOf(button).join("")));
    button.replaceWith(span);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".folded");
    if (button?.dataset.own) unfoldMessages(button);
    else if (button) unfold(button);
    const stop = event.target.closest(".stop");
    if (stop && stop.dataset.go) {
      const visits = stop.dataset.steps.split(" ").map(Number).filter(Boolean);
      go(visits[(visits.indexOf(now) + 1) % visits.length]);
    }
    const point = event.target.closest(".time [data-step]");
    if (point) go(Number(point.dataset.step));
    const press = event.target.closest(".scrubber button");
    if (press) act(press.dataset.key);
    const asking = event.target.closest("button.ask");
    if (asking) ask(asking);
    const linking = event.target.closest("button.link");
    if (linking) {
      navigator.clipboard
        ?.writeText(location.href.split("#")[0] + "#step-" + linking.dataset.step)
        .then(
          () => {
            linking.textContent = "copied";
          },
          () => {
            linking.textContent = "not allowed";
          },
        );
    }
    const playing = event.target.closest("button.playon");
    if (playing) playOn(playing);
    const link = event.target.closest('a[href^="#step-"]');
    if (link) {
      event.preventDefault();
      go(Number(link.hash.slice(6)));
    }
  });

  // Questions to the server, where there is one.
  async function ask(press) {
    press.disabled = true;
    let text = "the server does not answer";
    try {
      const answer = await fetch(press.dataset.ask);
      text = answer.ok ? await answer.text() : "the server answered " + answer.status;
    } catch {
      /* it has ended */
    }
    const shown = make("pre", "quoted");
    if (press.dataset.ask.startsWith("raw")) shown.textContent = text;
    else shown.append(...lettered(text));
    shown.tabIndex = 0;
    press.replaceWith(press.cloneNode(true), shown);
  }

  // What an expert would have done: next to each action, and where the two first differ.
  async function experts() {
    const embedded = document.getElementById("experts");
    let advice = embedded ? JSON.parse(embedded.textContent) : [];
    const query = main.dataset.ask;
    if (query) {
      try {
        const answer = await fetch("experts" + query);
        if (answer.ok) advice = await answer.json();
      } catch {
        /* the server has ended */
      }
    }
    const still = Math.abs(scrollY - settled) < 2;
    advice.forEach(([words, same, good], number) => {
      const card = steps[number];
      if (!card || !words || (same && failed && number + 1 >= opens)) return; // from there on it is no merit
      // A solved episode ended well, whatever an expert would have done there.
      if (!same && !failed && number + 1 === steps.length) return;
      const kind = same ? "same" : good === false ? "other" : "as-good";
      const further = card.querySelector("header .led.worse"); // an expert may take a longer way
      const good_words = further ? "as many steps as by " : "as good as ";
      const same_words = further ? "as the expert, on its path" : "as the expert";
      const shown = make(
        "span",
        "expert " + kind,
        same ? same_words : good ? good_words : "expert: ",
      );
      const code = make("code");
      code.append(...lettered(words));
      if (!same) shown.append(code);
      card.querySelector("header .badge").after(shown);
    });
    if (still) go(now); // the page has grown above it
    document.body.dataset.experts = advice.length;
  }
  async function playOn(press) {
    press.disabled = true;
    let reply = { problem: "the server does not answer" };
    try {
      const what = {
        run: location.pathname.split("/")[2],
        id: new URLSearchParams(press.dataset.ask).get("id"),
        step: press.dataset.step,
      };
      const answer = await fetch("/play", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(what),
      });
      reply = answer.ok
        ? await answer.json()
        : { problem: "the server answered " + answer.status };
    } catch {
      /* it has ended */
    }
    if (reply.href) location.href = reply.href;
    else press.textContent = reply.problem;
  }

  // Time: one cursor moves everything.
  let timer = 0;
  function play() {
    const press = scrubber && scrubber.querySelector('button[data-key=" "]');
    if (timer) {
      clearInterval(timer);
      timer = 0;
    } else {
      // Pages open at the end, which nothing follows.
      if (now >= steps.length) go(1);
      timer = setInterval(() => {
        if (now >= steps.length) play();
        else go(now + 1);
      }, 700);
    }
    if (press) press.textContent = timer ? "pause" : "play";
  }
  function next(kind) {
    const next =
      steps.find((card) => Number(card.dataset.step) > now && card.matches(kind)) ||
      steps.find((card) => card.matches(kind));
    if (next) go(Number(next.dataset.step));
  }
  function act(key) {
    if (key === "ArrowRight") {
      go(now + 1);
    } else if (key === "ArrowLeft") {
      go(now - 1);
    } else if (key === "Home") {
      go(1);
    } else if (key === " ") {
      play();
    } else if (
      scrubber &&
      scrubber.querySelector('button[data-go][data-key="' + CSS.escape(key) + '"]')
    ) {
      go(
        Number(
          scrubber.querySelector('button[data-key="' + CSS.escape(key) + '"]').dataset
            .go,
        ),
      );
    } else if (key === "r") {
      next(".rejected, .fallback");
    } else if (key === "m") {
      next(":has(.speech)");
    } else {
      return false;
    }
    return true;
  }
  if (slider) slider.addEventListener("input", () => go(Number(slider.value)));

  document.addEventListener("keydown", (event) => {
    const stop = event.target.closest(".stop");
    if (stop && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      stop.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (
      /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY|A)$/.test(event.target.tagName) &&
      (event.target !== slider || event.key !== " ") &&
      !/^[a-z]$/.test(event.key)
    )
      return;
    if (act(event.key)) {
      event.preventDefault();
      return;
    }
    const link = { j: "next", k: "prev", u: "up" }[event.key];
    if (link) {
      const target = document.querySelector('a[rel="' + link + '"]');
      if (target) location.href = target.href;
    } else if (event.key === "e") {
      const all = [...document.querySelectorAll("details.prompt")];
      const open = all.some((each) => !each.open);
      for (const each of all) each.open = open;
    }
  });

  // The step at the top of the window is the current one, unless a key has just chosen it.
  let settled = NaN; // where the window stood when a key or a link chose the step
  let waiting = false;
  addEventListener(
    "scroll",
    () => {
      if (waiting || Math.abs(scrollY - settled) < 2) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        for (const map of maps) {
          map.parentElement.classList.toggle(
            "stuck",
            map.parentElement.getBoundingClientRect().top < 48 && scrollY > 60,
          );
        }
        const shown = steps.filter((card) => !card.hidden);
        const last =
          shown
            .filter((card) => card.getBoundingClientRect().top < innerHeight * 0.4)
            .at(-1) || shown[0];
        const number = Number(last?.dataset.step);
        if (number !== now && steps.length) mark(number);
      });
    },
    { passive: true },
  );

  // The walk and the goal, where they are a small part of the map; without a gold path the stops,
  // what was left alone or the nearest of each kind of goal object, those that were passed, and what
  // a question is about.
  const PASSED = 1.5; // metres from a stop within which an object can be used
  const BEFORE = 0.8; // metres around a walk in a home: what is worked at, such as a sink
  function focus(map) {
    const [start, view] = views.get(map);
    const k = map.getScreenCTM();
    const room = map.parentElement.clientWidth - 20;
    const high = parseFloat(getComputedStyle(map).maxHeight);
    const narrow = matchMedia("(max-width: 860px)").matches;
    const cells = map.querySelectorAll(".cell").length;
    const rim = narrow ? 60 : 90;
    if (cells) return; // a grid is shown whole
    let parts = [
      ...map.querySelectorAll(
        ".stop, .gold, .star, .goal-object:not(text), .looked-at, .destination:not(text), .meant, .missed, .false-report, .gridball, .gridbox, .gridkey",
      ),
    ];
    const metre = Number(map.parentElement.querySelector(".scale")?.dataset.length || 0); // in units
    // A phone shows no part next to the page's text: all that is marked, or the whole map.
    if (map.querySelector(".facing") && !narrow) {
      const nearest = new Map();
      const missed = [...map.querySelectorAll(".missed")];
      const middles = [...map.querySelectorAll(".stop")].map(middle);
      const end = middle(map.querySelector(".mistake") || map.querySelector(".facing"));
      const between = (part, [x, y]) =>
        Math.hypot(middle(part)[0] - x, middle(part)[1] - y);
      const passed = [];
      for (const part of map.querySelectorAll(
        ".goal-object:not(text), .destination:not(text), .meant",
      )) {
        const kind = part.textContent.replace(/(_\d+)? \(.*/, "");
        if (!part.getBBox().width) continue;
        if (!(between(nearest.get(kind) || part, end) < between(part, end)))
          nearest.set(kind, part);
        if (middles.some((at) => between(part, at) < PASSED * metre * k.a))
          passed.push(part);
      }
      // Of several actors, the ends are enough where an object was left alone.
      const whole =
        missed.length && map.querySelectorAll(".walk").length > 1 ? "" : ", .stop";
      parts = [
        ...map.querySelectorAll(".mistake, .move.wrong, .facing, .false-report" + whole),
        ...(missed.length ? missed : nearest.values()),
        ...passed,
        ...map.querySelectorAll(".looked-at:not(text)"),
      ];
    }
    const boxes = boxesOf(parts);
    if (!k || !boxes.length) return;
    const edge = (side, most) => most(...boxes.map((box) => box[side]));
    const [west, east, north, south] = [
      edge("left", Math.min),
      edge("right", Math.max),
      edge("top", Math.min),
      edge("bottom", Math.max),
    ];
    const whole = Math.min(room / start.width, high / start.height); // pixels of a unit
    // What an actor stands before is in view, too.
    const least = Math.max(
      (east - west) / k.a / (room - rim),
      (south - north) / k.d / (high - rim),
      ((east - west) / k.a + 2 * BEFORE * metre) / room,
      ((south - north) / k.d + 2 * BEFORE * metre) / high,
      1 / (2 * whole),
    );
    if (least * whole > (narrow ? 0.9 : 0.8)) return; // little would be gained
    view.width = Math.min(start.width, least * room);
    view.height = Math.min(start.height, least * high);
    const place = (low, size, most) => Math.max(0, Math.min(most - size, low));
    view.x = place(
      ((west + east) / 2 - k.e) / k.a - view.width / 2,
      view.width,
      start.width,
    );
    view.y = place(
      ((north + south) / 2 - k.f) / k.d - view.height / 2,
      view.height,
      start.height,
    );
    map.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
  }
  function middle(part) {
    const box = part.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  }

  // The map: zoom with the wheel and ctrl, or the buttons; drag to move.
  const views = new Map();
  for (const map of maps) {
    const whole = map.viewBox.baseVal;
    const start = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
    const view = { ...start };
    const show = () => {
      map.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
      unclutter([map]);
    };
    const zoom = (by, x, y) => {
      const factor =
        (Math.min(1, Math.max(0.08, (view.width * by) / start.width)) * start.width) /
        view.width;
      view.x += (x - view.x) * (1 - factor);
      view.y += (y - view.y) * (1 - factor);
      view.width *= factor;
      view.height *= factor;
      if (view.width >= start.width) Object.assign(view, start);
      show();
    };
    const bar = make("div", "zoom");
    const levels = Number(map.dataset.floors || 1);
    if (levels > 1) {
      const switches = make("div", "floors zoom");
      for (const to of [...Array(levels).keys(), "all"]) {
        const button = makeButton(
          "",
          to === "all" ? "all floors" : "floor " + (to + 1),
          () => chooseFloor(String(to)),
        );
        button.dataset.to = to;
        switches.append(button);
      }
      map.before(switches);
    }
    for (const [label, title, press] of [
      [
        "+",
        "zoom in",
        () => zoom(0.7, view.x + view.width / 2, view.y + view.height / 2),
      ],
      [
        "−",
        "zoom out",
        () => zoom(1.4, view.x + view.width / 2, view.y + view.height / 2),
      ],
      [
        "⤢",
        "whole map",
        () => {
          Object.assign(view, start);
          show();
        },
      ],
    ]) {
      const button = makeButton("", label, press);
      button.title = title;
      button.setAttribute("aria-label", title);
      bar.append(button);
    }
    map.before(bar);
    views.set(map, [start, view]);
    map.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const box = map.getBoundingClientRect();
        zoom(
          event.deltaY < 0 ? 0.85 : 1.18,
          view.x + ((event.clientX - box.left) / box.width) * view.width,
          view.y + ((event.clientY - box.top) / box.height) * view.height,
        );
      },
      { passive: false },
    );
    let from = null;
    map.addEventListener("pointerdown", (event) => {
      if (view.width < start.width) from = { x: event.clientX, y: event.clientY };
    });
    addEventListener("pointermove", (event) => {
      if (!from) return;
      const scale = view.width / map.getBoundingClientRect().width;
      view.x -= (event.clientX - from.x) * scale;
      view.y -= (event.clientY - from.y) * scale;
      from = { x: event.clientX, y: event.clientY };
      show();
    });
    addEventListener("pointerup", () => {
      from = null;
    });
  }

  // A name under the pointer lights up on the map: of an object, a door or a place.
  const plain = (text) => text.toLowerCase().replaceAll("_", " ").trim();
  const shapes = new Map(); // name -> what is drawn for it
  for (const title of document.querySelectorAll("svg.map title")) {
    const whole = plain(title.textContent);
    for (const name of new Set([whole, ...whole.split(/ \(|, |: /)])) {
      if (!shapes.has(name)) shapes.set(name, []);
      shapes.get(name).push(title.parentElement);
    }
  }
  function meant(words) {
    const name = plain(/\[(.+)\]$/.exec(words)?.[1] || words);
    const kind = name.replace(/ \d+$/, ""); // "grey key 1" is "grey key" where objects are not numbered
    return shapes.get(name) || shapes.get(kind) || [];
  }
  document.addEventListener("pointerover", (event) => {
    for (const old of document.querySelectorAll(".map .lit"))
      old.classList.remove("lit");
    const over = event.target.closest?.(
      "abbr.letter, .steps .chip, .steps bdi, .steps code, .steps .badge",
    );
    if (over) {
      for (const shape of meant(over.title || over.textContent))
        shape.classList.add("lit");
    }
  });

  for (const wide of document.querySelectorAll(".scroll")) wide.tabIndex = 0; // by keyboard, too
  for (const pre of document.querySelectorAll("pre.quoted, pre.text")) {
    if (pre.textContent.length < 40) pre.tabIndex = 0;
    else copyable(pre);
  }
  // An instruction is shown as a whole, or as many of its lines as leave the map in view.
  function fit(text) {
    const figure = document.querySelector("aside figure");
    const { top, height } = text.getBoundingClientRect();
    const end = figure ? figure.getBoundingClientRect().bottom - height : top;
    const line = parseFloat(getComputedStyle(text).lineHeight);
    const room = Math.floor((innerHeight - scrollY - end) / line);
    const least = Math.round(height / line);
    const lines = Math.max(least, Math.min(MOST_LINES, room));
    text.classList.add("whole");
    if (text.scrollHeight > (lines + 0.5) * line) {
      text.classList.remove("whole");
      text.style.setProperty("--lines", lines);
    }
    const pinned = text.parentElement;
    pinned.classList.toggle("long", text.getBoundingClientRect().height > 2.5 * line);
    text.addEventListener("scroll", () => {
      pinned.classList.toggle("above", text.scrollTop > 2);
    });
  }
  // On a phone, the clause that the instruction shows in red is not quoted as well, unless it is cut off.
  const quote = document.querySelector(".mistake-rest .quote");
  const violated = document.querySelector(".instruction .violated");
  if (quote && violated && matchMedia("(max-width: 860px)").matches) {
    const text = violated.closest(".instruction");
    quote.hidden = true;
    const { bottom } = text.getBoundingClientRect();
    quote.hidden = violated.getBoundingClientRect().bottom <= bottom + 1;
  }
  for (const text of document.querySelectorAll(".conditions, .instruction")) {
    if (text.matches("aside .instruction:only-of-type:not(.private)")) fit(text);
    if (text.matches(".whole")) continue;
    const shown = text.querySelector("ul") || text.firstElementChild;
    const box = text.querySelector(".clause") ? text : shown; // with clauses, it scrolls
    const cut =
      box.scrollHeight > box.clientHeight + 2 ||
      [...shown.querySelectorAll("li, .detail")].some((part) => !part.offsetHeight);
    if (!cut && !text.querySelector(".rest")) continue;
    const more = makeButton("copy", "… more", () => {
      more.textContent = text.classList.toggle("whole") ? "less" : "… more";
    });
    (cut && box === shown ? text : shown).append(more);
  }
  const named = /^#step-(\d+)$/.exec(location.hash);
  if (named) {
    history.scrollRestoration = "manual"; // a page that is loaded again stays at the step of its address
    go(Number(named[1]));
  } else if (steps.length) {
    foldSteps();
    mark(opens || 1, true);
  }
  for (const map of maps) focus(map);
  unclutter(document.querySelectorAll("svg.map, svg.dial"));
  document.body.dataset.ready = "1";
  if (steps.length) experts();
})();
