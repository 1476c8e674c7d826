"use strict";
// A game: the server renders the board again at each change; what is chosen or typed
// goes back to it. Parts of a page arrive as a document of their own, in which no script runs.
(function () {
  const main = document.querySelector("main");
  const actor = main.dataset.as || "";
  const say = document.getElementById("say");

  const banner = document.getElementById("gone");
  function gone(is) {
    if (banner) banner.hidden = !is;
  }
  async function reach(where, how) {
    // an answer, or null and a banner where there is none
    try {
      const answer = await fetch(where, how);
      gone(false);
      return answer;
    } catch {
      gone(true);
      return null;
    }
  }
  async function post(where, what) {
    const answer = await reach(where, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(what),
    });
    if (!answer)
      return { problem: banner ? "" : "the server does not answer", lost: true };
    return answer.ok
      ? answer.json()
      : { problem: "the server answered " + answer.status };
  }
  function board() {
    return document.getElementById("board");
  }
  const shown = document.getElementById("problem");
  function showProblem(problem, hint = false) {
    shown.textContent = problem.replaceAll("_", " ");
    shown.classList.toggle("hint", hint);
    shown.hidden = !problem;
  }

  // The form that starts a game.
  const begin = document.getElementById("begin");
  if (begin) {
    begin.addEventListener("submit", async (event) => {
      event.preventDefault();
      await start(Object.fromEntries(new FormData(begin)));
    });
  }

  // The board.
  let showing = 0;
  let drawn = "";
  async function refresh() {
    const mine = ++showing;
    const answer = await reach("board?as=" + encodeURIComponent(actor));
    if (!answer || !answer.ok || mine !== showing) return;
    const arrived = new DOMParser()
      .parseFromString(await answer.text(), "text/html")
      .getElementById("board");
    if (!arrived || mine !== showing) return;
    const old = board();
    const version = arrived.dataset.version;
    delete arrived.dataset.version;
    const same = arrived.outerHTML === drawn; // a press must not lose its button
    drawn = arrived.outerHTML;
    arrived.dataset.version = old.dataset.version = version;
    if (same) return filter();
    for (const part of old.querySelectorAll("details[data-key]")) {
      const same = arrived.querySelector(
        'details[data-key="' + CSS.escape(part.dataset.key) + '"]',
      );
      if (same) same.open = part.open && !part.dataset.auto;
    }
    const field = "form input";
    const typed = old.querySelector(field);
    const focused = typed === document.activeElement;
    const again = arrived.querySelector(field);
    const isSameLine =
      typed?.form.className === again?.form.className &&
      old.dataset.turn === arrived.dataset.turn;
    if (again && isSameLine) again.value = typed.value;
    if (choose) choose.close(); // its buttons are of the turn before
    old.replaceWith(document.adoptNode(arrived));
    read.clear();
    const first = !old.dataset.turn;
    const end = document.getElementById("end");
    const narrow = matchMedia("(max-width: 860px)").matches;
    const log = board().querySelector(".log");
    const lists = board().querySelector(".lists");
    if (lists && !old.querySelector(".lists") && narrow) lists.open = false;
    if (log && !old.querySelector(".log") && narrow) log.parentElement.open = false;
    showNamed();
    foldLists();
    markNamed();
    showRule();
    setKeys();
    foldText();
    unclutter(board().querySelectorAll("svg.map"));
    for (const part of log ? [log, log.parentElement] : [])
      part.scrollTop = part.scrollHeight; // the newest
    if (end) ended();
    else if (again && (focused || again.form.matches(".answer"))) again.focus();
    filter();
    const turned =
      old.dataset.turn !== board().dataset.turn ||
      old.dataset.state !== board().dataset.state;
    if (!first && turned && (end || !narrow)) scrollTo({ top: 0 });
  }
  function ended() {
    // nothing is left to type; Enter plays the next episode
    main.append(shown); // out of the input line
    for (const part of [say, document.getElementById("leave")])
      if (part) part.hidden = true;
    if (dialog?.open) dialog.close();
    for (const sign of board().querySelectorAll(".k.inview, .k.pose"))
      sign.parentElement.hidden = true; // nothing is in view any more
    board().querySelector("[data-after]")?.focus({ preventScroll: true });
  }
  // What a board says is read once a turn, as each of a few hundred buttons depends on it.
  const read = new Map();
  function once(key, look) {
    if (!read.has(key)) read.set(key, look());
    return read.get(key);
  }
  let unfolded = false; // for the whole game, once a player wants all of the text
  let tallest = 0; // of the texts so far: next to a map, the buttons below them stay in place
  function foldText() {
    // a text that is cut ends at a whole line, with a button for the rest
    const text = board().querySelector(".look > .around");
    if (!text) return;
    if (unfolded) text.classList.add("unfolded");
    else {
      tallest = Math.max(tallest, text.offsetHeight);
      text.style.setProperty("--tallest", tallest + "px");
      if (text.scrollHeight <= text.clientHeight + 2) return;
    }
    const button = make("button", "more", unfolded ? "less" : "… more");
    button.type = "button";
    button.setAttribute("aria-expanded", unfolded);
    button.addEventListener("click", () => {
      unfolded = !unfolded;
      text.classList.toggle("unfolded", unfolded);
      button.textContent = unfolded ? "less" : "… more";
      button.setAttribute("aria-expanded", unfolded);
    });
    const line = make("p", "unfold");
    line.append(button);
    text.after(line);
  }
  const taskOf = () =>
    once("task", () =>
      [...board().querySelectorAll(".task, .lists pre")]
        .map((part) => part.textContent)
        .join("\n")
        .toLowerCase(),
    );
  const argumentsOf = (press) =>
    (/\[(.*)\]/.exec(press.dataset.action)?.[1] || "").split(", ");
  const argumentOf = (press) => argumentsOf(press).at(-1);
  const split = (text) =>
    text
      .toLowerCase()
      .split(/[\s,[\]]+/)
      .filter(Boolean);
  const verbOf = (press) => press.dataset.action.split("[")[0].replaceAll("_", " ");
  const actions = (more = "") => [
    ...board().querySelectorAll(".menu .act[data-action]" + more),
  ];
  const little = (word) =>
    /^(and|the|then|with|for|from|next|near|into|that|this|when|you|are|left|right)$/.test(
      word,
    );
  const colors = "red|green|blue|purple|yellow|gr[ae]y|white|black|brown";
  const everyday = () => once("everyday", () => JSON.parse(board().dataset.everyday)); // a bin is a garbage can
  const kindOf = (name) => name.toLowerCase().replaceAll("_", " ").replace(/ \d+$/, "");
  function reasonOf() {
    // why the last action failed; a walk there is between
    const lines = [
      ...board().querySelectorAll(
        "#feedback .warning, .log li:nth-last-child(-n + 2):has(.warning)",
      ),
    ];
    const text = lines.map((line) => line.textContent).join(" ");
    return " " + text.replace(/[.,;:]/g, " ") + " ";
  }
  // By the task, or by the reason why the last action failed.
  const isNamed = (name) => once("named " + name, () => findNamed(name));
  function findNamed(name) {
    if (/^[a-z]\d?$/i.test(name)) return false; // the letter of a place is no word of the task
    const reason = once("reason", reasonOf);
    if (/\d$/.test(name) && reason.includes(" " + name.replaceAll("_", " ") + " "))
      return true;
    const task = " " + taskOf().replace(/[^a-z]+/g, " ") + " ";
    const kind = kindOf(name);
    const names = [kind, everyday()[kind]].filter(Boolean);
    return names
      .flatMap((each) => [each, each + "s", each + "es", each.replace(/fe?$/, "ves")])
      .some((each) => task.includes(" " + each + " "));
  }
  const rulesOf = () =>
    once("rules", () =>
      (board().querySelector("details[data-key=rules] pre")?.textContent || "")
        .split("\n")
        .filter((line) => line.startsWith("- ")),
    );
  function isAsked(press) {
    // its verb, in the words that a rule gives for it: "Heat, warm, cook: …"
    const heads = rulesOf().map((rule) => split(rule.split(":")[0]).slice(1));
    const task = split(taskOf().replace(/[.;:]/g, " "));
    return (
      !/put$/.test(verbOf(press)) &&
      isNamed(argumentsOf(press)[0]) &&
      heads.some(
        (words) =>
          words.includes(verbOf(press)) && words.some((word) => task.includes(word)),
      )
    );
  }
  const nearer = (verb, other) =>
    /^go( ?to| check)$/.test(other) && !/^go( ?to| check)$/.test(verb); // the other is no help where this one is possible
  const plain = (text) => text.replaceAll("_", " ");
  // Moves and their results.
  const done = () =>
    once("done", () =>
      [...board().querySelectorAll(".log li:has(.good)")].map(
        (line) =>
          plain(line.dataset.did) + " " + line.querySelector(".good").textContent,
      ),
    );
  const wasDone = (press) =>
    !verbOf(press).startsWith("go") &&
    done().some((line) =>
      line.startsWith(
        plain(press.dataset.action.replace(/^((?:heat|cool|clean)\[.*), .*/, "$1")),
      ),
    ); // in whatever it was heated
  const putOf = (line) =>
    (/^put\[([^,\]]+)/.exec(line) || /^go put.*\bput (.+? \d+)/.exec(line) || [])[1];
  const REVERSE = {
    "pick up": /^(go )?put/,
    "go grab": /^(go )?put/,
    drop: /^(pick up|go grab)/,
    "toggle off": /^toggle on/,
    "toggle on": /^toggle off/,
    open: /^close/,
    close: /^open/,
  };
  function undoes(press) {
    // the last move on that object; dropping and switching off count as such unless the task names them
    const verb = verbOf(press);
    const off = /^(drop|toggle off)$/.test(verb) && !/\b(drop|off)\b/.test(taskOf());
    const object = plain(argumentOf(press));
    const taken = /^(pick up|go grab)$/.test(verb);
    const last =
      done()
        .filter((line) =>
          taken
            ? putOf(line) === object ||
              (/^(pick up|go grab)/.test(line) && line.includes(`[${object}]`))
            : line.includes(object),
        )
        .at(-1) || "";
    return off || Boolean(REVERSE[verb]?.test(last));
  }
  // As many as there are digits. More would make a map of names and a wall of bold buttons, in
  // which nothing stands out.
  const MOST_NAMED = 9;
  // Names on one receptacle, whose marks are close: more than these overprint each other.
  const MOST_INSIDE = 5;
  function placeOf(label) {
    // of its mark
    const [x, , , y] = label.dataset.box.split(" ");
    return x + " " + y;
  }
  // What the task names stands out on the map, and its choices come first and are not folded.
  function showNamed() {
    const labels = [...board().querySelectorAll("svg .label[data-gap]")];
    const nameOf = (label) =>
      label.textContent
        .replace(/:.*/, "") // what is on it
        .replace(/^(door \d+) to the .*/, "$1")
        .replace(/^\w+ to the /, "");
    const headOf = (label) => kindOf(nameOf(label)).split(" ").at(-1);
    const colored = (head) => new RegExp(`(${colors}) ${head}`).test(taskOf()); // a red ball is no blue one
    const exact = labels.filter((label) => isNamed(nameOf(label)));
    const heads = ["room", ...exact.map(headOf)];
    for (const label of labels) {
      label.classList.toggle(
        "named",
        exact.includes(label) ||
          (isNamed(headOf(label)) &&
            !heads.includes(headOf(label)) &&
            !colored(headOf(label))),
      );
    } // "the ball"
    // Where the task names most of a home, nothing stands out, and the names would hide each other.
    const named = labels.filter((label) => label.matches(".named"));
    if (named.length > MOST_NAMED)
      for (const label of named) label.classList.remove("named");
    // On a map full of what the task names, one name for a receptacle and all on it is enough.
    const inside = labels.filter((label) => label.matches(".contained.named"));
    if (inside.length > MOST_INSIDE)
      for (const label of inside) label.classList.remove("named");
    const shown = inside.filter((label) => label.matches(".named")).map(placeOf);
    for (const target of board().querySelectorAll("svg .target[data-within]")) {
      const { cx, cy } = target.querySelector(".reach").attributes;
      target.classList.toggle("named", shown.includes(cx.value + " " + cy.value));
    }
    const all = actions("[data-action*='[']");
    const near = new Set(all.map((press) => verbOf(press) + "|" + argumentOf(press)));
    const here = (verb) => (verb === "go grab" ? "pick up" : verb.replace(/^go /, ""));
    for (const press of all) {
      const verb = verbOf(press);
      const walks = verb !== here(verb);
      // Within reach there is no need to go.
      if (!walks || !near.has(here(verb) + "|" + argumentOf(press))) continue;
      const row = press.closest(".menu > *");
      press.remove();
      const left = row.querySelectorAll(".act").length;
      const summary = row.querySelector("summary");
      if (!left) row.remove(); // a verb without a choice
      else if (summary) summary.textContent = `${summary.textContent.split(" … ")[0]} … ${left} choices`;
    }
    const goals = actions("[data-action*='[']").filter(
      (press) =>
        (isNamed(argumentOf(press)) || (isAsked(press) && !wasDone(press))) &&
        !undoes(press),
    );
    const first = goals.filter(
      (press) =>
        !goals.some(
          (other) =>
            argumentOf(other) === argumentOf(press) &&
            nearer(verbOf(other), verbOf(press)),
        ),
    );
    // Thirty bold buttons would say nothing.
    if (first.length > MOST_NAMED) first.length = 0;
    for (const row of board().querySelectorAll(".menu .acts:not(.ends)")) {
      const named = first.filter((press) => row.contains(press));
      const fold = row.closest("details");
      for (const press of named) press.classList.add("named");
      if (!fold) row.prepend(...named);
      if (!fold || !named.length) continue;
      const block = make("div");
      const acts = make("div", "acts");
      acts.append(...named);
      block.append(
        make("h2", "", fold.querySelector("summary").textContent.split(" … ")[0]),
        acts,
      );
      fold.before(block);
    }
    const log = board().querySelector(".log")?.textContent || "";
    for (const press of actions("[data-action^='go_explore']")) {
      // a room that has been explored comes last
      const done = log.includes(
        `explored the ${argumentOf(press).replaceAll("_", " ")}.`,
      );
      press.classList.toggle("idle", done);
      if (done) press.parentElement.append(press);
    }
    for (const letter of board().querySelectorAll(".around .letter")) {
      const going = actions().filter((press) => argumentOf(press) === letter.title);
      if (going.length === 1) letter.dataset.go = going[0].dataset.words;
    }
  }
  // A long list starts with what the task names; the rest is folded.
  function foldLists() {
    for (const line of board().querySelectorAll("#feedback .feedback")) {
      const list = /^(.*?: )(.+?)(\. .*|\.)$/s.exec(line.lastChild?.data || "");
      const items = list ? list[2].split(/, | and |(?=; )/) : []; // "; on the table: a cup" begins a group
      if (items.length < 9) continue;
      const named = items.filter((item) => isNamed(item.replace(/ \(.*/, "")));
      const first = named.length ? named : items.slice(0, 5);
      const rest = items.filter((item) => !first.includes(item));
      const fold = make("details");
      const joined = (some) =>
        some.join(", ").replaceAll(", ;", ";").replace(/^; /, "");
      line.lastChild.data = list[1] + joined(first) + ", ";
      fold.append(
        make("summary", "", `and ${rest.length} more`),
        joined(rest) + list[3],
      );
      line.append(fold);
    }
  }
  // The nouns of the task, which follow an article or a number, are bold in the texts: a phrase
  // of two words where a text has it, else each word.
  function markNamed() {
    const texts = [
      ...board().querySelectorAll(
        ".around, #feedback .feedback:not(.dim), #feedback details",
      ),
    ]
      .flatMap((part) => [...part.childNodes])
      .filter((node) => node.nodeType === Node.TEXT_NODE);
    const all = texts.map((text) => text.data.toLowerCase()).join("\n");
    const nouns = Object.entries(everyday())
      .filter(([kind]) => isNamed(kind))
      .map(([kind]) => kind);
    for (const [, phrase] of taskOf().matchAll(
      /\b(?:the|an?|your|two|some)\s+([a-z]+(?:\s+[a-z]+)?)/g,
    )) {
      const words = phrase
        .split(/\s+/)
        .filter((word) => word.length > 2 && word !== "doorway" && !little(word));
      const modifies = (word) =>
        new RegExp(
          `\\b${word} (?!and |or |with |is |are |on |in |to |at |of |near |behind |beyond |through )[a-z]`,
        ).test(all); // a pine bookcase is no pine bench
      const stands = (word) =>
        new RegExp(
          `(^|[^a-z] |\\b(a|an|the|and|or|with|of|to|in|on|by) )${word}`,
          "m",
        ).test(all); // a wall clock is no grandfather clock
      const alone = words.filter(
        (word, n) =>
          !new RegExp(`^(room|${colors})$`).test(word) &&
          !(n < words.length - 1 && modifies(word)) &&
          !(n && !stands(word)),
      );
      nouns.push(
        ...(words.length > 1 && all.includes(words.join(" "))
          ? [words.join(" ")]
          : alone),
      );
    }
    const named = [...board().querySelectorAll("svg .label.named")].map((label) =>
      label.textContent.toLowerCase(),
    ); // a shop has no article
    nouns.push(
      ...named
        .filter((name) => !/^\w\d? to the |\d/.test(name))
        .map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")),
    );
    // A list of all objects names each of them.
    if (!nouns.length || board().querySelector(".many")) return;
    const stems = nouns.flatMap((noun) => [
      noun,
      noun.replace(/s$/, ""),
      noun.replace(/es$/, ""),
    ]);
    const pattern = new RegExp(
      `\\b((?:${stems.join("|")})(?:s|es)?(?: \\d+)?)\\b`,
      "i",
    );
    for (const text of texts) {
      text.replaceWith(
        ...text.data
          .split(pattern)
          .map((part, n) => (n % 2 ? make("b", "", part) : part)),
      );
    }
  }
  // Of several rules, those with a word of the task that no other rule has; else the first.
  function showRule() {
    const fold = board().querySelector("details[data-key=rules]");
    const lines = fold?.querySelector("pre").textContent.split("\n") || [];
    const rules = rulesOf();
    const words = rules.map((rule) => rule.toLowerCase().match(/[a-z]{4,}/g) || []);
    const own = (word, n) =>
      words[n].includes(word) &&
      words.filter((each) => each.includes(word)).length === 1;
    const fit = rules.filter((_, n) =>
      (taskOf().match(/[a-z]{4,}/g) || []).some(
        (word) => !little(word) && own(word, n),
      ),
    );
    if (!rules.length) return;
    const gist = fold.querySelector(".gist");
    gist.textContent = lines[0].split(". ")[0] + ".\n";
    const shown = fit.length ? fit : rules.slice(0, 1);
    const text = shown.map((rule) => rule.replace("-", "•")).join("\n");
    gist.after(make("span", "", text));
  }
  const digits = new Map(); // the last digit of each action
  function setKeys() {
    // digits for the buttons in view, first of what the task names: an act, a walk there, a drop;
    // an answer ends the game, and a number is no digit's
    const presses = ".menu .act:not([data-key], [data-action^='stop['])";
    const open = [...board().querySelectorAll(presses)].filter(
      (press) => !press.closest("details:not([open])"),
    );
    const late = (action) =>
      action.startsWith("goto[") ? 0.5 : action.startsWith("go_check[") ? 0.3 : 0;
    function rank(press) {
      const action = press.dataset.action;
      if (action && undoes(press)) return -2;
      if (press.matches(".named")) {
        if (wasDone(press)) return 0.3;
        const named = argumentsOf(press).filter(isNamed).length;
        return 2 * isAsked(press) + named - late(action);
      }
      if (!action?.startsWith("go_explore")) return 0;
      return press.matches(".idle") ? -1 : 0.2;
    }
    const ranks = new Map(open.map((press) => [press, rank(press)]));
    open.sort((a, b) => ranks.get(b) - ranks.get(a));
    const first = open.slice(0, 9);
    const free = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const actionOf = (press) => press.dataset.action || press.dataset.verb;
    // Each action keeps the digit that it had before; of the others, what the task names is first.
    for (const press of first.filter(
      (each) => !free.delete(digits.get(actionOf(each))),
    )) {
      const digit = Math.min(...free);
      free.delete(digit);
      digits.set(actionOf(press), digit);
    }
    for (const press of first) {
      press.dataset.key = digits.get(actionOf(press));
      press.prepend(make("kbd", "", press.dataset.key));
    }
    for (const press of first.toReversed()) {
      if (press.matches(".named"))
        press.closest(".menu > *").style.order = press.dataset.key - 20;
    } // by the first of its keys
  }
  const typed = () =>
    say
      ? say.elements.words.value
          .trim()
          .replace(/^\//, "")
          .replace(/^go to\b/i, "goto")
      : "";
  const wordsTyped = () =>
    split(typed()).filter(
      (word, n) => !n || !/^(a|an|the|in|into|on|onto|to|at|with|from|it)$/.test(word),
    );
  const labelOf = (press) =>
    split(
      [...press.childNodes]
        .map((part) => (part.nodeType === 3 ? part.textContent : ""))
        .join(" "),
    ).join(" "); // no key, no distance
  function filter() {
    // a button has all typed words or their beginnings; of an id, for which a letter stands, only the whole counts
    const words = wordsTyped();
    const all = /^\d*$/.test(words.join(""));
    const holding = board().querySelector(".status .held")?.textContent || "";
    for (const press of actions()) {
      const label = labelOf(press);
      const ids = argumentsOf(press).filter(
        (name) => !label.includes(name.toLowerCase().replaceAll("_", " ")),
      );
      const other = press.dataset.action
        .split(/[[\],]+ ?/)
        .map((name) => everyday()[kindOf(name)]);
      const held = /^(go )?(put|drop|give)/.test(verbOf(press)) ? holding : ""; // "put potato in bin"
      const head = press.closest(".menu > *").querySelector("h2, summary");
      const group = (head?.textContent || "").split(" … ")[0];
      const text =
        " " + split([verbOf(press), group, label, held, ...other].join(" ")).join(" ");
      press.hidden =
        !all &&
        !words.every(
          (word) =>
            text.includes(" " + word.replaceAll("_", " ")) || ids.includes(word),
        );
    }
    const none = actions().every((press) => press.hidden);
    board().classList.toggle("nomatch", none); // all stay in view, dimmed
    if (none) for (const press of actions()) press.hidden = false;
    for (const part of board().querySelectorAll(".menu > *")) {
      part.hidden = !all && !part.querySelector(".act:not([hidden])");
      if (!part.matches("details")) continue;
      if (!all && !part.open) part.open = part.dataset.auto = true; // closes again
      if (!all || !part.dataset.auto) continue;
      part.open = false;
      delete part.dataset.auto;
    }
  }
  const fitting = () => (board().matches(".nomatch") ? [] : actions(":not([hidden])"));
  function meant() {
    // what is typed: a key, the only button that is left, or words
    const all = fitting();
    const words = wordsTyped().join(" ").replaceAll("_", " ");
    const exact = all.filter((press) =>
      [labelOf(press), verbOf(press) + " " + labelOf(press)].includes(words),
    );
    const sameVerb = all.filter((press) => words.startsWith(verbOf(press) + " ")); // "put" is no "go put"
    const left = [exact, sameVerb].find((some) => some.length === 1) || all;
    const key = actions().find(
      (press) => /\d/.test(press.dataset.key) && press.dataset.key === typed(),
    );
    const open = [...board().querySelectorAll(".act[data-verb]")].some((press) =>
      typed().startsWith(press.dataset.verb),
    );
    const press =
      key || (left.length === 1 && !open && !/^\d*$/.test(typed()) ? left[0] : null);
    return press ? press.dataset.words : typed();
  }
  let walking = 0;
  let sending = false;
  let played = ""; // the turn of the last action that counted
  const pause = () => new Promise((go) => setTimeout(go, 40));
  async function walk(cell) {
    // by single moves, until something new is in view or another press
    const mine = ++walking;
    const names = () =>
      [...board().querySelectorAll("svg.map .label")].map((label) => label.textContent);
    while (sending) await pause();
    for (const known = names(); mine === walking;) {
      const found = names().filter((name) => !known.includes(name));
      if (found.length)
        return showProblem("You stopped: " + found.join(", ") + " in view", true);
      const step = board().querySelector(`[data-cell="${cell}"]`);
      const asked = board().dataset.asking;
      if (step?.dataset.does) {
        showProblem(
          "Press it again: " +
            usesOf(step)
              .map((press) => press.lastChild.textContent)
              .join(", or "),
          true,
        );
      }
      if (!step?.dataset.words || !(await send(step.dataset.words))) return;
      for (
        let waits = 0;
        waits < 99 && ["0", asked].includes(board().dataset.asking);
        waits++
      )
        await pause();
    }
  }
  async function onward() {
    // forward to a place with a choice or with something that the task names, or until another press
    const mine = ++walking;
    const text = () => board().querySelector(".around")?.textContent || "";
    for (let going = true; going && mine === walking;) {
      if (/ends here/.test(text())) return showProblem("The street ends here", true); // forward would end the game
      const asked = board().dataset.asking;
      const press = actions("[data-action=forward]")[0];
      if (!press || !(await send(press.dataset.words))) return;
      for (
        let waits = 0;
        waits < 99 && ["0", asked].includes(board().dataset.asking);
        waits++
      )
        await pause();
      going = !/intersection/.test(text()) && !board().querySelector(".around b");
    }
  }
  const choose = document.getElementById("choose");
  function pileOf(press, { clientX, clientY, pointerType }) {
    // the marks that the press may mean
    const far = ([x, y]) => Math.hypot(x - clientX, y - clientY);
    const most = pointerType === "touch" ? 16 : 9; // pixels
    return press?.matches(".target")
      ? [...board().querySelectorAll(".target")].filter((each) => {
          const box = each.getBoundingClientRect();
          return box.width > 0 && far(centerOf(box)) < most;
        })
      : [];
  }
  function offer(name, presses) {
    // the actions on an object, or the objects of a pile
    choose.close();
    document.getElementById("chosen").textContent = name.replaceAll("_", " ");
    choose.querySelector(".acts").replaceChildren(
      ...presses.map((press, n) => {
        const copy = make(
          "button",
          "act",
          (
            press.dataset.name ||
            press.getAttribute("aria-label") ||
            press.dataset.says
          ).replaceAll("_", " "),
        );
        copy.type = "button";
        for (const key of ["words", "name"])
          if (press.dataset[key]) copy.dataset[key] = press.dataset[key];
        if (n > 8) return copy;
        copy.dataset.key = n + 1;
        copy.prepend(make("kbd", "", n + 1));
        return copy;
      }),
    );
    choose.showModal();
  }
  const usesOf = (square) =>
    actions().filter((press) =>
      (square.dataset.does || "").split(" ").includes(press.dataset.words),
    );
  function onSquare(square) {
    // a square of a grid
    const uses = usesOf(square);
    const title = square.querySelector("title").textContent;
    if (square.dataset.words) walk(square.dataset.cell);
    else if (uses.length > 1) offer(title, uses);
    else if (uses.length) send(uses[0].dataset.words);
    else showProblem(title, true);
  }
  function type(words) {
    // in the line that is there only then
    main.classList.add("typing");
    say.elements.words.value = words;
    say.elements.words.focus();
    filter();
  }
  const dialog = document.getElementById("sure");
  function confirmed(question, does) {
    document.getElementById("question").textContent = question;
    dialog.returnValue = "";
    dialog.showModal();
    dialog.onclose = () => {
      if (dialog.returnValue === "yes") does();
    };
  }
  async function start(what) {
    const reply = await post("/play", what);
    if (reply.href) location.href = reply.href;
    else showProblem(reply.problem);
  }
  async function send(words, sure = 0) {
    // returns whether it was played
    const asked = board().dataset.asking;
    while (sending) await pause();
    // a second press of the same turn, perhaps before the next one is shown
    if (asked === played || board().dataset.asking !== asked) return false;
    sending = true;
    showProblem("");
    const reply = await post("say", { as: actor, number: Number(asked), words, sure });
    if (!reply.question && reply.problem) {
      showProblem(reply.problem);
      say?.elements.words.select(); // the next words replace these
    } else if (!reply.question && !reply.lost) {
      played = asked;
      say?.reset();
      // Who typed types on.
      if (document.activeElement !== say?.elements.words)
        main.classList.remove("typing");
    }
    if (!reply.question) await refresh();
    sending = false;
    if (reply.question) confirmed(reply.question, () => send(words, 1));
    return !reply.question && !reply.problem && !reply.lost;
  }

  document.addEventListener("click", (event) => {
    const name = event.target.closest("svg .label[data-box]")?.dataset.box.split(" "); // as its mark
    const press = name
      ? board().querySelector(`.target:has([cx="${name[0]}"][cy="${name[3]}"])`)
      : event.target.closest(".act, [data-go], .type");
    walking++;
    if (event.target.matches("dialog")) event.target.close(); // next to it
    const pile = pileOf(press, event);
    const grid = board()?.querySelector("[data-cell]");
    if (press?.matches(".onward")) {
      onward();
    } else if (grid && press?.matches(".idle")) {
      showProblem("No effect here: " + labelOf(press), true);
    } // and no turn
    else if (press && press.dataset.cell) {
      onSquare(press);
    } else if (pile.length > 1) {
      offer("Which one?", pile);
    } else if (press && press.dataset.holds) {
      // a receptacle, and what is in or on it
      const { name } = press.dataset;
      const within = `.target[data-within="${CSS.escape(name)}"]`;
      offer(name, [press, ...board().querySelectorAll(within)]);
    } else if (press && press.dataset.name) {
      offer(
        press.dataset.name,
        actions().filter((each) => argumentOf(each) === press.dataset.name),
      );
    } else if (press && "verb" in press.dataset && say) {
      type(press.dataset.verb && press.dataset.verb + " ");
    } else if (press?.dataset.go || press?.dataset.words) {
      send(press.dataset.go || press.dataset.words);
    }
    if (event.target.id === "retry") refresh();
    if (event.target.id === "leave") {
      confirmed("The game ends and does not count. Leave it?", () =>
        post("leave", { as: actor }).then(refresh),
      );
    }
    const after = event.target.closest("[data-after]");
    if (after)
      start({ after: after.dataset.after, ...(after.dataset.again && { again: "1" }) });
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form === say) {
      event.preventDefault();
      const left = fitting().length;
      const matching = !/^\d*$/.test(typed()) && left > 1;
      const place = !left && /^(?:goto )?([a-z]\d?)$/.exec(wordsTyped().join(" ")); // a letter, no part of an id
      if (place) showProblem(`No way to ${place[1].toUpperCase()} from here`);
      else if (typed()) await send(meant());
      if (matching && !shown.hidden)
        showProblem(`${left} buttons match: press one, or type more of its words`);
    } else if (form.matches(".talk")) {
      event.preventDefault();
      const { words } = form.elements;
      if (!words.value.trim()) words.focus();
      else if (await send("chat " + words.value)) words.value = "";
    } else if (form.matches(".answer")) {
      event.preventDefault();
      const none = event.submitter && event.submitter.value === "none";
      const reply = await post("answer", {
        number: Number(form.dataset.number),
        words: none ? "" : form.elements.words.value,
      });
      showProblem(reply.problem || "");
      await refresh();
    }
  });
  if (say) say.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (dialog?.open && /^[ys]$/.test(event.key) && !event.repeat)
      return dialog.close("yes");
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]:not(#choose)")
    )
      return;
    if (choose?.open) {
      return choose
        .querySelector('[data-key="' + CSS.escape(event.key) + '"]')
        ?.click();
    }
    if (typing && event.key === "Escape") {
      event.target.blur();
      showProblem("");
      if (say) say.reset();
      main.classList.remove("typing");
      filter();
    }
    if (
      typing &&
      (event.target !== say?.elements.words ||
        event.target.value ||
        !/^(Arrow.*|\d)$/.test(event.key))
    )
      return; // an empty line leaves these to the buttons
    if (event.key === "?" && say && !typing)
      document.getElementById("help").showModal();
    if (event.key === "/" && say) {
      event.preventDefault();
      type("");
      return;
    }
    const target = event.target.closest(".target");
    const press =
      target && (event.key === "Enter" || event.key === " ")
        ? target
        : board()?.querySelector(
            ':is(.act, .press)[data-key="' + CSS.escape(event.key) + '"]:enabled',
          );
    const way = {
      ArrowUp: "ahead",
      ArrowLeft: "to the left",
      ArrowRight: "to the right",
    }[event.key];
    if (!press && way && board()?.querySelector('.menu .act[data-action^="goto"]')) {
      return showProblem(
        "No place " + way + ": press one on the map, or a button",
        true,
      );
    }
    const place =
      !press &&
      /^[A-Z]$/.test(event.key) &&
      actions("[data-action^=goto]").find(
        (each) => labelOf(each) === event.key.toLowerCase(),
      );
    if (place) return place.click();
    if (!press) return;
    event.preventDefault();
    press.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });

  if (begin) {
    document.body.dataset.ready = "1";
    return;
  }
  const lobby = !main.classList.contains("game");
  (lobby ? Promise.resolve() : refresh()).then(() => {
    document.body.dataset.ready = "1";
  });
  const source = new EventSource("live");
  source.onerror = () => gone(true);
  source.onopen = () => gone(false);
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (lobby) {
      if (now.state !== board().dataset.state) location.reload();
    } else if (now.version !== Number(board().dataset.version)) {
      refresh();
    }
    if (now.ended) source.close();
  };
})();
