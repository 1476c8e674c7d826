"use strict";
// The table of episodes. Up to some thousands they are all in the page, and sorted and filtered in
// memory; of more, the server sends the rows that are looked at. What is chosen stands in the
// address, after the #. Every text reaches the page through textContent.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FIXED = 6; // id, text, link, ended, causes, scene
  const CHOICES = ["q", "outcome", "ended", "cause", "scene", "group", "sort"];
  const FIRST = 30;
  const CHUNK = 100; // rows made at once: as many as a window shows, then more
  const table = document.getElementById("episodes");
  const body = table.tBodies[0];
  const $ = (id) => document.getElementById(id);
  const search = $("search");
  const outcome = $("outcome");
  const ended = $("ended");
  const cause = $("cause");
  const group = $("group");
  const sort = $("sort");
  const chips = $("filters");
  const count = $("count");
  const more = $("more");
  const menu = $("columns");
  const at = (key) => FIXED + data.keys.indexOf(key);
  const described = new Map(data.columns.map((c) => [c.key, c]));
  const state = read();
  let folded = null; // lower-case text of every row, made when first searched
  let shown = { total: 0, rows: [] };
  let request = 0;

  // The choices, in the address.
  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const cols = (given.get("cols") || "")
      .split(",")
      .filter((key) => described.has(key));
    const chosen = Object.fromEntries(
      CHOICES.map((key) => [key, given.get(key) || ""]),
    );
    return {
      ...chosen,
      down: given.get("down") === "1",
      cols: cols.length ? cols : data.shown,
    };
  }
  function query() {
    const asking = new URLSearchParams();
    for (const key of CHOICES) if (state[key]) asking.set(key, state[key]);
    if (state.down) asking.set("down", "1");
    if (state.cols.join() !== data.shown.join()) asking.set("cols", state.cols.join());
    return asking;
  }
  function keep() {
    const asking = query().toString();
    try {
      history.replaceState(
        null,
        "",
        asking ? "#" + asking : location.pathname + location.search,
      );
    } catch {
      /* a frame has no address */
    }
  }

  // Rows: from the page, or from the server.
  function index(key) {
    return { "": -1, id: 0, text: 1, ended: 3, scene: 5 }[key] ?? at(key);
  }
  function local() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) fold();
    const which = data.causes.findIndex((each) => each.key === state.cause);
    const matches = [];
    data.rows.forEach((row, number) => {
      if (
        state.outcome &&
        state.outcome !== (row[at(data.success)] > 0.5 ? "success" : "failure")
      )
        return;
      if (state.ended && row[3] !== state.ended) return;
      if (state.scene && row[5] !== state.scene) return;
      if (state.cause && !row[4].includes(which)) return;
      if (
        words.length &&
        !texts.matches.has(row[0]) &&
        !words.every((word) => folded[number].includes(word))
      )
        return;
      matches.push(number);
    });
    const won = (number) => data.rows[number][at(data.success)] > 0.5;
    if (!state.sort) matches.sort((a, b) => won(a) - won(b) || a - b);
    else if (state.sort !== "order")
      matches.sort(compare(index(state.sort), state.down));
    return { total: matches.length, rows: matches.map((number) => data.rows[number]) };
  }
  // Words in thoughts, prompts and answers: found by the server, whose first search reads them all.
  let texts = { q: "", matches: new Set() };
  async function deepen(mine) {
    if (!data.search || !state.q.trim() || texts.q === state.q) return;
    const q = state.q;
    const answer = await fetch(data.search + "?q=" + encodeURIComponent(q)).catch(
      () => null,
    );
    const reply = answer && answer.ok ? await answer.json() : null;
    if (mine !== request || !reply) return;
    if (!reply.ready) {
      reading(mine, () => deepen(mine));
      return;
    }
    texts = { q, matches: new Set(reply.matches) };
    if (reply.matches.length) await keepPlace();
  }
  function reading(mine, again) {
    count.textContent += ", reading the texts …";
    setTimeout(() => {
      if (mine === request) {
        count.textContent = count.textContent.replace(/, reading.*/, "");
        again();
      }
    }, 1000);
  }
  function fold() {
    if (!folded)
      folded = data.rows.map((row) => (row[0] + "\n" + row[1]).toLowerCase());
  }
  const order = new Intl.Collator("en", { numeric: true });
  function compare(column, down) {
    const sign = down ? -1 : 1;
    return (a, b) => {
      const x = data.rows[a][column];
      const y = data.rows[b][column];
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return sign * (typeof x === "string" ? order.compare(x, y) : x - y) || a - b;
    };
  }
  async function remote(from) {
    const asking = query();
    asking.set("from", from);
    asking.set("sort", state.sort === "order" ? "" : state.sort || data.success);
    const answer = await fetch("rows?" + asking);
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    return answer.json();
  }

  // Cells.
  function show(value, column) {
    if (value === null || value === undefined) return "–";
    if (column.kind === "rate") {
      return (
        value === 0 || value === 1 ? 100 * value : (100 * value).toFixed(1)
      ).toString();
    }
    if (column.kind === "dollars")
      return value.toFixed(value !== 0 && value < 1 ? 4 : 2);
    if (column.kind === "metres") return value.toFixed(2);
    if (column.kind === "seconds") return value.toFixed(value < 10 ? 2 : 1);
    return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1);
  }
  const longest = Math.max(6, ...data.rows.slice(0, 1000).map((row) => row[0].length));
  $("episodes").style.setProperty("--id", longest);
  function columns() {
    return [
      { key: "id", label: "Episode", kind: "id" },
      {
        key: "text",
        label:
          data.later && data.failed ? "Failure, instruction" : "Instruction",
        kind: "text",
      },
      ...state.cols.map((key) => described.get(key)),
      { key: "ended", label: "Ended", kind: "ended" },
    ];
  }
  // what the page of a failed episode says first
  const heard = new Map();
  const sentences = inTurn(async (place) => {
    const { ask } = place.dataset;
    if (!heard.has(ask)) {
      const answer = await fetch(ask);
      heard.set(ask, answer.ok ? await answer.text() : "");
    }
    if (heard.get(ask)) place.replaceChildren(...partsOf(heard.get(ask)));
    place.title = place.textContent;
    place.classList.toggle("long", place.scrollHeight > place.clientHeight + 2);
  });
  function cell(row, column) {
    const td = make("td");
    if (column.kind === "id") {
      td.className = "id";
      const link = make(row[2] ? "a" : "span", "", row[0]);
      if (row[2]) link.href = row[2];
      link.title = row[0];
      td.append(link);
    } else if (column.kind === "text") {
      td.className = "text";
      const causes = row[4].map((number) => data.causes[number]).filter(Boolean);
      if (causes.length && data.later) {
        const labels = causes.map((each) => each.label).join(", ");
      const sentence = make("p", "sentence", labels); // until its words arrive
        sentence.dataset.ask = row[2].replace("episode", "sentence");
        sentences.observe(sentence);
        td.append(sentence);
      }
      const task = make("div", "goal-text", row[1]);
      task.title = row[1];
      const rest = make("div", "rest");
      const labels = make("div");
      for (const each of causes) labels.append(make("small", "cause", each.label));
      rest.append(task, labels);
      td.append(rest);
    } else if (column.kind === "ended") {
      td.className = "why-ended";
      td.append(
        make(
          "span",
          ["failed", "step_limit", "stopped"].includes(row[3]) ? row[3] : "",
          row[3].replaceAll("_", " "),
        ),
      );
    } else {
      const value = row[at(column.key)];
      td.className = "n";
      td.dataset.label = column.label;
      td.textContent = show(value, column);
      if (
        column.kind === "rate" &&
        column.better === "higher" &&
        (value === 0 || value === 1)
      )
        td.classList.add(value === 1 ? "good" : "bad");
    }
    return td;
  }
  let made = 0;
  function grow() {
    const cols = columns();
    const rows = shown.rows.slice(made, made + (made ? CHUNK : FIRST)).map((row) => {
      const tr = make("tr");
      tr.append(...cols.map((column) => cell(row, column)));
      return tr;
    });
    made += rows.length;
    body.append(...rows);
  }
  async function reach() {
    // more rows, where the end of the table is near
    if (made < shown.rows.length) {
      grow();
    } else if (data.remote && shown.rows.length < shown.total && !reach.waiting) {
      reach.waiting = true;
      const mine = request;
      try {
        const next = await remote(shown.rows.length);
        if (mine === request) {
          shown.rows.push(...next.rows);
          grow();
        }
      } finally {
        reach.waiting = false;
      }
    }
  }

  // Groups: a line each, with the means of the columns.
  function grouped() {
    const groups = new Map();
    const name = {
      ended: (r) => r[3].replaceAll("_", " "),
      scene: (r) => r[5] || "unknown",
      cause: (r) => (r[4].length ? data.causes[r[4][0]].label : "none"),
      outcome: (r) => {
        const v = r[at(data.success)];
        return v === null || v === undefined
          ? "no score"
          : v > 0.5
            ? "success"
            : "no success";
      },
    }[state.group];
    for (const row of shown.rows) {
      const key = name(row);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    const cols = columns().filter((c) => !["text", "ended"].includes(c.kind));
    for (const [key, rows] of [...groups].sort((a, b) => b[1].length - a[1].length)) {
      const tr = make("tr", "grouped");
      for (const column of cols) {
        const td = make("td", column.kind === "id" ? "id" : "n");
        if (column.kind === "id") {
          td.append(
            makeButton("linklike", key, () => {
              const first = rows[0];
              if (state.group === "scene") state.scene = first[5];
              else if (state.group === "ended") state.ended = first[3];
              else if (state.group === "cause" && first[4].length)
                state.cause = data.causes[first[4][0]].key;
              else if (state.group === "outcome" && key !== "no score")
                state.outcome = key === "success" ? key : "failure";
              state.group = "";
              update();
            }),
          );
        } else {
          const values = rows
            .map((row) => row[at(column.key)])
            .filter((v) => v !== null && v !== undefined);
          td.dataset.label = column.label;
          td.textContent = values.length
            ? show(values.reduce((a, b) => a + b, 0) / values.length, column)
            : "–";
        }
        tr.append(td);
      }
      const size = make("td", "n", rows.length.toLocaleString("en"));
      size.dataset.label = "episodes";
      tr.insertBefore(size, tr.cells[1] || null);
      body.append(tr);
    }
  }

  function head() {
    const row = table.tHead.rows[0];
    const cols = state.group
      ? [columns()[0], { label: "Episodes", kind: "size" }, ...columns().slice(2, -1)]
      : columns();
    row.replaceChildren(
      ...cols.map((column) => {
        const th = make(
          "th",
          column.key && !["id", "text", "ended"].includes(column.key)
            ? "n"
            : column.kind === "size"
              ? "n"
              : "",
        );
        th.scope = "col";
        if (column.kind === "size" || state.group) {
          th.append(make("span", "plain", column.label));
          return th;
        }
        const press = makeButton(
          "",
          column.label + (state.sort === column.key ? (state.down ? " ↓" : " ↑") : ""),
          () => by(column.key),
        );
        if (column.doc) press.title = column.doc;
        if (state.sort === column.key)
          th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        th.append(press);
        return th;
      }),
    );
  }
  function by(key) {
    state.down = state.sort === key ? !state.down : described.has(key);
    state.sort = key;
    update();
    const again = [...table.tHead.querySelectorAll("th[aria-sort] button")][0];
    if (again && document.activeElement === document.body) again.focus();
  }

  async function update() {
    const mine = ++request;
    keep();
    controls();
    if (texts.q !== state.q) texts = { q: "", matches: new Set() };
    let answer = null;
    try {
      answer = data.remote ? await remote(0) : local();
    } catch {
      count.textContent = "the server does not answer";
      return;
    }
    if (mine !== request) return;
    shown = answer;
    head();
    body.replaceChildren();
    made = 0;
    if (state.group && !data.remote) grouped();
    else grow();
    const present = new Set(data.rows.flatMap((row) => row[4]));
    for (const option of data.remote ? [] : cause.options) {
      const which = data.causes.findIndex((each) => each.key === option.value);
      option.hidden = option.value !== "all" && !present.has(which);
    }
    const all = data.of.toLocaleString("en");
    count.textContent =
      shown.total === data.of
        ? all + (data.of === 1 ? " episode" : " episodes")
        : shown.total
          ? shown.total.toLocaleString("en") + " of " + all
          : "none of " + all + " matches";
    document.body.dataset.ready = "1";
    if (answer.ready === false) reading(mine, update);
    else if (!data.remote) deepen(mine);
  }

  // Controls show what is chosen.
  function controls() {
    if (search.value !== state.q) search.value = state.q;
    outcome.value = state.outcome;
    ended.value = state.ended || "all";
    cause.value = state.cause || "all";
    if (group) group.value = state.group;
    sort.value = state.sort;
    chips.replaceChildren();
    if (state.scene) {
      chips.append(
        makeButton("", "scene " + state.scene + " ×", () => {
          state.scene = "";
          update();
        }),
      );
    }
    for (const press of document.querySelectorAll(".causes button"))
      press.setAttribute("aria-pressed", String(press.dataset.cause === state.cause));
  }
  function wire() {
    // causes, also those that arrive later
    for (const press of document.querySelectorAll(".causes button")) {
      if (press.dataset.wired) continue;
      press.dataset.wired = "1";
      press.addEventListener("click", () => {
        state.cause = state.cause === press.dataset.cause ? "" : press.dataset.cause;
        update();
      });
    }
  }

  // What takes longer than the page, in a run that is served: intervals, causes, instructions.
  async function later() {
    for (const part of document.querySelectorAll("[data-later]")) {
      const answer = await fetch(part.dataset.later);
      if (!answer.ok) continue;
      part.replaceWith(...partsOf(await answer.text()));
      wire();
      controls();
    }
    if (data.later) await explain();
    (window.requestIdleCallback || setTimeout)(fold); // before anyone types
    document.body.dataset.whole = "1"; // nothing more is to come
  }
  async function explain() {
    // instructions, causes and scenes of the rows
    const answer = await fetch(data.later);
    if (!answer.ok) return;
    const extra = await answer.json();
    if (!data.remote) {
      extra.rows.forEach(([text, causes, scene], number) => {
        if (data.rows[number]) {
          data.rows[number][1] = text;
          data.rows[number][4] = causes;
          data.rows[number][5] = scene;
        }
      });
    }
    if (extra.notice && $("notice")) {
      // Commands stand between backticks.
      $("notice").replaceChildren(
        ...extra.notice.split("`").map((part, at) =>
          at % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part
        )
      );
      $("notice").hidden = false;
    }
    folded = null;
    await keepPlace();
  }
  function live() {
    // a live run: rows as episodes end, and where the running ones are
    const place = $("live");
    if (!data.live || !place) return;
    let version = data.version;
    let arriving = Promise.resolve();
    let due = 0;
    let timer = 0;
    const source = new EventSource(data.live);
    const running = $("running");
    source.onerror = () => {
      $("state").textContent = "The server does not answer.";
    };
    source.onmessage = (event) => {
      const now = JSON.parse(event.data);
      $("state").textContent = now.awaited
        ? "Starting."
        : now.running
          ? "Running."
          : "Ended.";
      $("done").textContent = now.done.toLocaleString("en");
      $("progress").max = Math.max(1, now.total);
      $("progress").value = now.done;
      $("pace").textContent = now.pace;
      running.replaceChildren(
        ...now.episodes.map((each) => {
          const li = make("li");
          const link = make("a", "", each.id);
          const code = make("code", "", each.action);
          link.href = each.href;
          code.title = each.action;
          li.append(
            ...partsOf(each.sketch),
            link,
            make("span", "dim", "step " + each.step + " of " + each.of),
            code,
            make("q", "dim", each.thought),
          );
          return li;
        }),
      );
      // What is below stays as long as others follow those that end.
      const follow = now.total - now.done > now.episodes.length;
      running.style.minHeight = follow ? running.offsetHeight + "px" : "";
      running.hidden = !now.running;
      arriving = arriving.then(() => arrive(now)).catch(() => {}); // the server may have ended
      if (!now.running) arriving.then(() => source.close()); // which the server waits for
    };
    async function arrive(now) {
      // rows of episodes that have ended since
      if (now.version === version && now.running) return;
      if (!data.keys.length) {
        location.reload();
        return;
      } // the first one brings the columns
      const [done, failed] = now.version.split("-").map(Number);
      const deep = data.remote && made > CHUNK;
      $("stale").hidden = !deep; // rows far down are left where they are
      if (!data.remote) {
        if (failed !== Number(version.split("-")[1])) {
          data.rows = [
            ...(await rowsFrom("ended=failed", 0)),
            ...data.rows.filter((row) => row[3] !== "failed"),
          ];
        } // failed ones come first
        data.rows.push(...(await rowsFrom("", data.rows.length)));
      }
      data.of = done + failed;
      version = now.version;
      folded = null;
      if (!deep) await keepPlace();
      clearTimeout(timer);
      if (now.running) {
        timer = setTimeout(
          () => {
            arriving = arriving.then(recount).catch(() => {});
          },
          Math.max(0, due - Date.now()),
        );
      } else {
        await figures();
      }
    }
    async function recount() {
      // at most a twentieth of the server's time
      const start = Date.now();
      await figures();
      due = Date.now() + Math.max(5000, 20 * (Date.now() - start));
    }
  }
  async function rowsFrom(asking, first) {
    // all rows from one on, which the server sends some at a time
    const rows = [];
    for (
      let part = null;
      !part || (part.rows.length && first + rows.length < part.total);
    ) {
      const answer = await fetch("rows?" + asking + "&from=" + (first + rows.length));
      if (!answer.ok) throw new Error("the server answered " + answer.status);
      part = await answer.json();
      rows.push(...part.rows);
    }
    return rows;
  }
  async function keepPlace() {
    // as many rows as there were, so that nothing jumps
    const many = made;
    const height = scrollY;
    await update();
    while (made < many && made < shown.rows.length) grow();
    scrollTo(0, height);
  }
  async function figures() {
    // scores and causes of the episodes that have ended
    for (const [part, address] of [
      ['section[aria-label="Metrics"]', "metrics"],
      ["section.causes", "causes"],
    ]) {
      const answer = await fetch(address);
      const old = document.querySelector(part);
      const parts = answer.ok ? partsOf(await answer.text()) : [];
      if (old && parts.length) old.replaceWith(...parts);
      else if (parts.length)
        document.querySelector('section[aria-label="Metrics"]').after(...parts);
    }
    wire();
    controls();
    await explain();
  }

  if ($("reload")) $("reload").addEventListener("click", () => location.reload());
  search.addEventListener("input", () => {
    state.q = search.value;
    update();
  });
  outcome.addEventListener("change", () => {
    state.outcome = outcome.value;
    update();
  });
  ended.addEventListener("change", () => {
    state.ended = ended.value === "all" ? "" : ended.value;
    update();
  });
  $("tune").addEventListener("click", () => {
    $("tune").setAttribute("aria-expanded", $("tuning").classList.toggle("open"));
  });
  cause.addEventListener("change", () => {
    state.cause = cause.value === "all" ? "" : cause.value;
    update();
  });
  if (group) {
    group.addEventListener("change", () => {
      state.group = group.value;
      update();
    });
  }
  sort.addEventListener("change", () => {
    state.sort = sort.value;
    state.down = described.has(sort.value);
    update();
  });
  addEventListener("hashchange", () => {
    Object.assign(state, read());
    update();
  });
  document.addEventListener("keydown", (event) => {
    if (
      event.key === "/" &&
      !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)
    ) {
      event.preventDefault();
      search.focus();
    }
  });
  sort.append(
    ...[
      ["", "failures first"],
      ["order", "as in the split"],
      ["id", "episode"],
      ...data.columns.map((c) => [c.key, c.label]),
      ["ended", "ended"],
    ].map(([key, label]) => {
      const option = make("option", "", "sort: " + label);
      option.value = key;
      return option;
    }),
  );
  menu.append(
    ...data.columns.map((column) => {
      const label = make("label", "", " " + column.label);
      const box = make("input");
      box.type = "checkbox";
      box.checked = state.cols.includes(column.key);
      box.addEventListener("change", () => {
        state.cols = data.columns
          .map((c) => c.key)
          .filter((key) =>
            key === column.key ? box.checked : state.cols.includes(key),
          );
        update();
      });
      label.prepend(box);
      if (column.doc) label.title = column.doc;
      return label;
    }),
  );
  new IntersectionObserver(
    (seen) => {
      if (seen.some((entry) => entry.isIntersecting) && !state.group) reach();
    },
    { rootMargin: "800px" },
  ).observe(more);
  wire();
  update();
  later();
  live();
})();
