// The list of tasks. All text from the data goes into the page as text, never as markup.
(() => {
  "use strict";

  const CLASSES = [
    ["regressed", "Regressed"],
    ["improved", "Improved"],
    ["agent_error", "Agent error"],
    ["masked", "Masked"],
    ["missing", "Missing"],
    ["identical", "Identical"],
  ];
  const FLIPS = 3; // so many classes, from the first on, are flips
  const FIELDS = ["name", "kind", "taskset", "old", "new", "said", "change", "p", "tags", "log"];
  const BATCH = 100; // rows that are drawn at once

  const byId = (id) => document.getElementById(id);
  const parsed = (id) => JSON.parse(byId(id).textContent);
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const data = parsed("data");
  const tasks = data.rows.map((row, at) => {
    const task = { at };
    FIELDS.forEach((field, place) => { task[field] = row[place]; });
    task.said = task.said || [];
    return task;
  });
  data.causes.forEach(([, places], number) => places.forEach((place) => { tasks[place].cause = number; }));
  const [list, search, taskset, cause, sort, more, count] =
    ["list", "search", "taskset", "cause", "sort", "more", "count"].map(byId);
  const chosen = new Set(); // classes to show; all when it is empty
  const opened = new Set(); // tasks whose details are open
  let shown = []; // tasks that pass the filters, in order
  let drawn = 0; // so many of them are in the page

  // Order

  const rank = (task) => Math.max(FLIPS - 1, task.kind); // flips first, then the other classes
  const unless = (difference, otherwise) => difference || otherwise;
  const probability = (task) => (typeof task.p === "number" ? task.p : 2);
  const size = (task) => Math.abs(task.change || 0);
  const ORDERS = {
    loss: (a, b) => rank(a) - rank(b) || (a.change || 0) - (b.change || 0) || a.at - b.at,
    gain: (a, b) => rank(a) - rank(b) || (b.change || 0) - (a.change || 0) || a.at - b.at,
    name: (a, b) => a.at - b.at, // the data is in the order of names
    evidence: (a, b) => rank(a) - rank(b) || probability(a) - probability(b) || size(b) - size(a) || a.at - b.at,
  };

  // Filters

  function haystack(task) {
    if (task.haystack === undefined) {
      task.haystack = [task.name, causeOf(task), ...task.said.map((said) => said[2])].join("\n").toLowerCase();
    }
    return task.haystack;
  }

  function causeOf(task) {
    return task.cause === undefined ? "" : data.causes[task.cause][0];
  }

  function select() {
    const text = search.value.trim().toLowerCase();
    const only = taskset.value === "" ? null : Number(taskset.value);
    const because = cause.value === "" ? null : Number(cause.value);
    shown = tasks.filter((task) =>
      (!chosen.size || chosen.has(task.kind))
      && (only === null || task.taskset === only)
      && (because === null || task.cause === because)
      && (!text || haystack(task).includes(text)));
    shown.sort(ORDERS[sort.value]);
    drawn = 0;
    list.replaceChildren();
    draw(BATCH);
    count.textContent = `${shown.length.toLocaleString("en")} of ${counted(tasks.length, "task")}`;
  }

  function draw(number) {
    const next = shown.slice(drawn, drawn + number);
    drawn += next.length;
    list.append(...next.map(rowOf));
    more.hidden = drawn === shown.length;
    const left = shown.length - drawn;
    more.textContent = `Show ${Math.min(BATCH, left)} more of ${left.toLocaleString("en")}`;
  }

  // Rows

  function rowOf(task) {
    const [key, title] = CLASSES[task.kind];
    const about = [...(task.tags || []).slice(1), ...task.said.filter((said) => said[2]).map((said) => said[2])];
    const set = data.tasksets[task.taskset];
    if (set !== undefined && !task.name.startsWith(`${set}/`)) about.unshift(set);
    const summary = element("summary", {},
      element("span", { class: `class ${key}` }, title),
      element("code", { class: "task" }, task.name || '""'),
      element("span", { class: "change" }, `${task.old} → ${task.new}`),
      element("span", { class: "about" }, about.join(" · ")));
    const details = element("details", {}, summary);
    details.addEventListener("toggle", () => {
      if (details.open) {
        opened.add(task);
        fill(details, task);
      } else {
        opened.delete(task);
      }
    });
    details.open = opened.has(task);
    return element("li", { "data-at": task.at }, details);
  }

  function fill(details, task) {
    if (details.children.length > 1) return;
    const facts = element("dl");
    const add = (name, ...said) => facts.append(element("dt", {}, name), element("dd", {}, ...said));
    add("Reward", `${task.old} → ${task.new}`);
    if (task.tags) add("Evidence", task.tags.join(", "));
    if (task.taskset >= 0) add("Taskset", element("code", {}, data.tasksets[task.taskset] || '""'));
    for (const [side, what, from] of task.said) {
      add(side === "old" ? "Old side" : "New side", `${what} `, ...(from ? [element("code", {}, from)] : []));
    }
    if (causeOf(task)) add("Cause", element("code", {}, causeOf(task)));
    const body = element("div", { class: "body" }, facts);
    details.append(body);
    if (task.log !== undefined) showLog(body, task);
  }

  function showLog(body, task) {
    if (byId(`log-${task.log}`) === null) {
      // Logs are the last thing in the file, and a large file is not there at once.
      if (document.readyState === "loading") {
        document.addEventListener("DOMContentLoaded", () => showLog(body, task), { once: true });
      }
      return;
    }
    const log = parsed(`log-${task.log}`);
    showChanges(body.firstElementChild, log);
    const source = log.source.map((part, at) => (at % 2 ? element("code", {}, part) : part));
    body.append(element("p", { class: "source" }, `${log.head} `, ...source));
    if (log.text === null) return;
    const text = element("pre", { tabindex: "0", role: "region", "aria-label": `Verifier output of ${task.name}` }, log.text);
    body.append(text);
    text.scrollTop = text.scrollHeight; // the end says most
  }

  function showChanges(facts, log) {
    const add = (name, ...said) => facts.append(element("dt", {}, name), element("dd", {}, ...said));
    const items = (entries) => element("ul", {}, ...entries.map((entry) => element("li", {}, ...entry)));
    if (log.components) add("Components", items(log.components.map(([name, change]) => [element("code", {}, name), ` ${change}`])));
    if (!log.tests) return;
    const tests = log.tests.tests.map(([what, name, rates, message]) => [
      `${what}: `, element("code", {}, name), rates ? ` ${rates}` : "", ...(message ? [" · ", element("code", {}, message)] : []),
    ]);
    if (log.tests.more) tests.push([`… ${log.tests.more.toLocaleString("en")} more`]);
    add("Tests", log.tests.summary.replace(/^tests /, ""), ...(tests.length ? [items(tests)] : []));
  }

  // Links to a task

  function follow() {
    const found = /^#task=(.+)$/.exec(location.hash);
    if (!found) return;
    let name;
    try {
      name = decodeURIComponent(found[1]);
    } catch {
      return; // no name that was ever encoded
    }
    const task = tasks.find((each) => each.name === name);
    if (!task) return;
    if (!shown.includes(task)) reset();
    const place = shown.indexOf(task);
    if (place >= drawn) draw(place - drawn + BATCH);
    const details = list.children[place].firstElementChild;
    details.open = true;
    details.firstElementChild.focus();
    details.scrollIntoView();
  }

  function remember(task) {
    try {
      history.replaceState(null, "", `#task=${encodeURIComponent(task.name)}`);
    } catch {
      // Some frames allow no change of the address; nothing else depends on it.
    }
  }

  // Keys

  function move(step) {
    const row = document.activeElement.closest("#list > li");
    let next = row ? (step > 0 ? row.nextElementSibling : row.previousElementSibling) : list.firstElementChild;
    if (!next && step > 0 && drawn < shown.length) {
      draw(BATCH);
      next = row ? row.nextElementSibling : list.firstElementChild;
    }
    if (next) next.querySelector("summary").focus();
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = document.activeElement;
    const typing = at.matches("input, select, textarea");
    const onRow = at.matches("#list summary");
    if (at === search) {
      if (event.key === "Escape") at.blur();
      else if (event.key === "ArrowDown" || event.key === "Enter") move(1);
      else return;
    } else if (typing) {
      return;
    } else if (event.key === "/") {
      search.focus();
      search.select();
    } else if (event.key === "j" || (event.key === "ArrowDown" && onRow)) {
      move(1);
    } else if (event.key === "k" || (event.key === "ArrowUp" && onRow)) {
      move(-1);
    } else {
      return;
    }
    event.preventDefault();
  }

  // Setting up

  const chips = new Map();

  function chip(kind) {
    const number = tasks.filter((task) => task.kind === kind).length;
    if (!number) return;
    const made = element("button", { type: "button", "aria-pressed": "false" }, CLASSES[kind][1],
      element("span", { class: "number" }, number.toLocaleString("en")));
    made.addEventListener("click", () => {
      press(kind, !chosen.has(kind));
      select();
    });
    chips.set(kind, made);
    byId("chips").append(made);
  }

  function press(kind, on) {
    if (on) chosen.add(kind);
    else chosen.delete(kind);
    chips.get(kind).setAttribute("aria-pressed", String(on));
  }

  function reset() {
    for (const kind of [...chosen]) press(kind, false);
    search.value = "";
    taskset.value = "";
    cause.value = "";
    select();
  }

  CLASSES.forEach((_, kind) => chip(kind));
  data.tasksets.forEach((name, place) => taskset.append(element("option", { value: place }, name || '""')));
  byId("taskset-filter").hidden = data.tasksets.length < 2;
  const shared = data.causes.filter(([, places]) => places.length > 1); // these come first
  shared.forEach(([name, places], number) => cause.append(element("option", { value: number }, `${name} (${places.length})`)));
  byId("cause-filter").hidden = !shared.length;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", select);
  taskset.addEventListener("change", select);
  cause.addEventListener("change", select);
  sort.addEventListener("change", select);
  more.addEventListener("click", () => {
    const first = drawn;
    draw(BATCH);
    list.children[first].querySelector("summary").focus();
  });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("summary");
    if (row) remember(tasks[Number(row.closest("li").dataset.at)]);
  });
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", follow);
  byId("browser").hidden = false;
  select();
  follow();
})();
