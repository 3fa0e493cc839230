"use strict";
// Everything that comes from the job goes into the page as text, never as HTML.
const find = id => document.getElementById(id);
const LONGEST = 160;
const shown = text => (text.length > LONGEST ? text.slice(0, LONGEST - 1) + "…" : text);
const number = value => value.toLocaleString("en", { maximumFractionDigits: 1 });
const whole = value => Math.round(value).toLocaleString("en");
const price = value => value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const counted = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;
const percent = value => (100 * value).toFixed(value > 0.995 && value < 1 ? 1 : 0) + " %";
const say = (id, text) => { if (find(id).textContent !== text) find(id).textContent = text; };
const state = { classes: [], queue: [], item: null, version: -1, last: null, busy: false, workers: [] };

function name(text) {
  const isolated = document.createElement("bdi");
  isolated.textContent = shown(String(text));
  if (String(text).length > LONGEST) isolated.title = String(text).slice(0, 2000);
  return isolated;
}

function make(kind, ...inside) {
  const made = document.createElement(kind);
  made.append(...inside);
  return made;
}

async function ask(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch("." + path, options); // a proxy may serve this page below another path
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error || "This was refused.");
  return value;
}

function tell(text) { say("said-last", text); }

function showState(seen) {
  state.classes = seen.classes;
  document.title = seen.title;
  say("title", seen.title);
  say("status", `${counted(seen.labels, "label")} of ${counted(seen.items, "item")} by ${counted(seen.workers, "worker")}`);
  const share = seen.items ? seen.settled / seen.items : 0;
  say("settled", percent(share));
  say("settled-more", `${number(seen.settled)} of ${counted(seen.items, "item")}; ${number(seen.open)} open`);
  find("bar").firstElementChild.style.width = 100 * share + "%";
  find("bar").setAttribute("aria-label", `${percent(share)} settled`);
  const errors = seen.expected_errors;
  say("errors", errors.value === null ? "unknown" : whole(errors.value));
  say("errors-more", errors.value === null ? errors.why
    : `expected to be wrong; nine times in ten between ${whole(errors.low)} and ${whole(errors.high)}`);
  const cost = seen.cost, money = cost.price !== null;
  say("cost", money ? price(cost.so_far) : number(cost.labels_so_far));
  const come = cost.labels_to_come === null ? "how many more is not known yet"
    : cost.labels_to_come === 0 ? (seen.open ? "for the open items, see what to do next" : "no more are needed")
      : `about ${number(cost.labels_to_come)} more${money ? `, for ${price(cost.to_come)},` : ""} would settle ${number(cost.items_by_labels)} of ` +
        `${counted(seen.open, "open item")}; the others need a person, or better workers`;
  say("cost-more", (money ? `for ${counted(cost.labels_so_far, "label")}; ` : "labels so far; ") + come);
  const fit = seen.fit;
  say("fit", fit.running ? "running" : fit.id === null ? "none yet" : fit.labels_since ? `${counted(fit.labels_since, "label")} ago` : "up to date");
  const ended = fit.last && fit.last.state !== "done" ? `The last attempt: ${fit.last.state}. ${fit.last.message || ""}` : "";
  say("fit-more", ended || (fit.id === null ? (seen.labels ? "The first begins when no label has come for some seconds; until then all workers count alike." : "The first begins with the first labels.") : `${counted(fit.labels, "label")} in ${number(fit.seconds)} s, by ${fit.method}`));
  find("fit-cancel").hidden = !fit.running;
  find("fit-cancel").dataset.fit = fit.running ? fit.running.id : "";
  find("advice").replaceChildren(...seen.advice.map(step => make("li", step)));
  find("advice-box").hidden = !seen.advice.length;
  find("notes").replaceChildren(...seen.notes.map(note => make("li", note)));
  find("notes-box").hidden = !seen.notes.length;
  if (seen.feed) {
    find("feed").replaceChildren(...seen.feed.slice(0, 15).map(row => make("li", name(row.worker), " says ", name(row.label), " of ", name(row.item))));
  }
}

// The queue of disputed items.

// An expert answers items drawn at random, without seeing what others said.
const forExpert = () => find("standing").value === "expert";

async function loadQueue() {
  const asked = find("standing").value;
  if (forExpert()) {
    const drawn = await ask("GET", "/expert");
    if (find("standing").value !== asked) return; // somebody has chosen another queue meanwhile
    state.queue = drawn.items.filter(row => row.item.toLowerCase().includes(find("q").value.toLowerCase()));
    say("expert-told", `Drawn at random: ${number(drawn.answered)} of ${counted(drawn.wanted, "item")} answered. What you give is taken as known; what workers said is not shown.`);
  } else {
    const query = new URLSearchParams({ disputed: "1", limit: "50", q: find("q").value, standing: asked });
    const { items } = await ask("GET", "/items?" + query);
    if (find("standing").value !== asked) return;
    state.queue = items;
  }
  find("expert-told").hidden = !forExpert();
  say("queue-none", forExpert() ? "All that were drawn are answered." : "Nothing is disputed.");
  const names = state.queue.map(row => row.item);
  if (state.item === null || !names.includes(state.item)) await choose(names.length ? names[Math.min(state.place || 0, names.length - 1)] : null);
  else drawQueue();
}

function drawQueue() {
  const rows = state.queue.map(row => {
    const stands = forExpert() ? "" : row.label === null ? "no labels" : row.standing === "tied" ? "tied" : percent(row.probability);
    const button = make("button", name(row.item), make("span", stands));
    button.type = "button";
    if (row.item === state.item) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => choose(row.item).catch(failed));
    return make("li", button);
  });
  find("queue").replaceChildren(...rows);
  find("queue-none").hidden = rows.length > 0;
}

async function choose(item) {
  state.item = item;
  state.place = Math.max(0, state.queue.findIndex(row => row.item === item));
  drawQueue();
  if (item === null) {
    find("item").hidden = true;
    return;
  }
  const seen = await ask("GET", "/items/" + encodeURIComponent(item));
  if (state.item !== item) return;
  find("item-name").replaceChildren(name(item));
  say("item-text", seen.text || "");
  const link = seen.link && /^https?:\/\//i.test(seen.link) ? seen.link : null;
  const image = link !== null && /\.(png|jpe?g|gif|webp|avif|svg)([?#]|$)/i.test(link);
  find("item-link").replaceChildren();
  if (link !== null) {
    const anchor = make("a", shown(link));
    anchor.href = link;
    anchor.rel = "noreferrer noopener";
    anchor.target = "_blank";
    find("item-link").append(anchor);
  }
  find("item-image").hidden = !image;
  if (image) {
    find("item-image").src = link;
    find("item-image").alt = "Item " + shown(item);
  } else find("item-image").removeAttribute("src");
  const stands = seen.label === null ? [make("span", "It has no labels yet.")]
    : ["So far ", name(seen.label), `, with a probability of ${percent(seen.probability)}.`];
  find("item-stands").replaceChildren(...(forExpert() ? [] : stands));
  find("said-box").hidden = forExpert();
  const said = [...new Set(seen.labels.map(row => row.label))];
  const classes = [...new Set([...said, ...state.classes, ...Object.keys(seen.posterior)])].sort((a, b) => place(a) - place(b));
  find("choices").replaceChildren(...classes.map((label, n) => choice(item, label, n, label === seen.label && !forExpert())));
  find("said").tBodies[0].replaceChildren(...seen.labels.map(row => cells(
    ["Label", name(row.label)], ["Worker", name(row.worker)],
    ["Right, as far as is known", row.accuracy === null ? "not known" : percent(row.accuracy)],
    ["Correct", remover(row)])));
  find("why").replaceChildren(...seen.why.map(sentence => make("li", sentence)));
  find("item").hidden = false;
}

const place = label => { const found = state.classes.indexOf(label); return found < 0 ? 1e9 : found; };

function choice(item, label, n, leads) {
  const button = make("button");
  if (n < 9) button.append(make("kbd", String(n + 1)));
  button.append(name(label));
  button.type = "button";
  button.dataset.label = label;
  button.classList.toggle("leads", leads);
  button.addEventListener("click", () => settle(item, label).catch(failed));
  return button;
}

function cells(...pairs) {
  const row = make("tr");
  for (const [title, inside] of pairs) {
    const cell = make("td", inside);
    cell.dataset.name = title;
    row.append(cell);
  }
  return row;
}

function remover(row) {
  const button = make("button", "Remove");
  button.type = "button";
  button.setAttribute("aria-label", `Remove the label ${shown(row.label)} by ${shown(row.worker)}`);
  button.addEventListener("click", () => remove(row).catch(failed));
  return button;
}

function done(last, ...told) {
  state.last = last;
  find("said-last").replaceChildren(...told);
  find("undo").hidden = last === null;
}

async function remove(row) {
  if (state.busy) return;
  state.busy = true;
  try {
    await ask("DELETE", "/labels/" + encodeURIComponent(row.key));
    const again = { item: row.item, worker: row.worker, label: row.label, key: row.key, round: row.round, time: row.time, duration: row.duration };
    done({ again: () => ask("POST", "/labels", [again]), item: row.item }, "Removed the label ", name(row.label), " by ", name(row.worker), ".");
    await loadQueue();
    if (state.item === row.item) await choose(row.item);
  } finally { state.busy = false; }
}

async function settle(item, label) {
  if (state.busy) return;
  state.busy = true;
  try {
    if (forExpert()) {
      const taken = await ask("POST", "/truth?replace=1", [{ item, label }]);
      if (taken.refused.length) throw new Error(taken.refused[0].reason);
      done({ again: () => ask("DELETE", "/truth/" + encodeURIComponent(item)), item }, "Taken as known: ", name(item), " is ", name(label), ".");
    } else {
      const made = await ask("POST", "/decisions", { item, label });
      done({ again: () => ask("DELETE", "/decisions/" + made.id), item }, "Settled ", name(item), " as ", name(label), ".");
    }
    state.queue = state.queue.filter(row => row.item !== item);
    await choose(state.queue.length ? state.queue[Math.min(state.place, state.queue.length - 1)].item : null);
  } finally { state.busy = false; }
}

// What was begun ends first, so that a key pressed meanwhile is not lost.
const quiet = () => new Promise(resolve => { const look = () => state.busy ? setTimeout(look, 20) : resolve(); look(); });

async function undo() {
  await quiet();
  if (state.last === null || state.busy) return;
  state.busy = true;
  try {
    const { again, item } = state.last;
    await again();
    state.item = item;
    await loadQueue();
    await choose(item);
    done(null, "Undone: ", name(item), " is as it was.");
  } finally { state.busy = false; }
}

function failed(error) { tell(error.message); }

// Workers.

const ACT = ["remove", "talk to", "retrain"];

const urgency = row => (ACT.indexOf(row.action) + ACT.length + 1) % (ACT.length + 1);

async function loadWorkers() {
  state.workers = (await ask("GET", "/workers")).workers;
  drawWorkers();
}

function drawWorkers() {
  const wanted = find("worker-q").value.toLowerCase(), act = find("verdict").value === "act";
  const rows = state.workers.filter(row => row.worker.toLowerCase().includes(wanted) && (!act || ACT.includes(row.action)))
    .sort((a, b) => urgency(a) - urgency(b) || (a.accuracy === null) - (b.accuracy === null) || a.accuracy - b.accuracy).slice(0, 200);
  find("workers").hidden = !rows.length;
  find("workers").tBodies[0].replaceChildren(...rows.map(row => {
    const verdict = make("span", row.verdict);
    verdict.className = "verdict " + row.action.split(" ")[0];
    const why = name(row.evidence.charAt(0).toUpperCase() + row.evidence.slice(1));
    why.className = "soft";
    const accuracy = row.accuracy === null ? "not known" : `${percent(row.accuracy)} (${percent(row.low)} to ${percent(row.high)})`;
    const made = cells(["Worker", name(row.worker)], ["Labels", number(row.labels)], ["Accuracy", accuracy], ["Verdict", verdict], ["What to do", make("div", row.advice, " ", why)]);
    made.cells[1].className = made.cells[2].className = "number";
    return made;
  }));
  find("workers-none").hidden = rows.length > 0;
  say("workers-none", act && !wanted ? `Nobody has to be acted on; ${counted(state.workers.length, "worker")} in all.` : "Nobody of that name.");
}

// Keys: numbers settle, j and k move, u undoes. Not while somebody types.

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const buttons = find("choices").children;
  if (/^[1-9]$/.test(event.key) && state.item !== null && buttons[event.key - 1]) buttons[event.key - 1].click();
  else if ("jk".includes(event.key) && state.queue.length) {
    const next = (state.place + (event.key === "j" ? 1 : -1) + state.queue.length) % state.queue.length;
    choose(state.queue[next].item).then(() => find("queue").children[state.place]?.scrollIntoView({ block: "nearest" })).catch(failed);
  } else if (event.key === "u") undo().catch(failed);
  else return;
  event.preventDefault();
});

find("undo").addEventListener("click", () => undo().catch(failed));
find("fit-now").addEventListener("click", () => ask("POST", "/fits").then(() => tell("A fit was asked for.")).catch(failed));
find("fit-cancel").addEventListener("click", event => ask("DELETE", "/fits/" + event.target.dataset.fit).catch(failed));
find("to-expert").addEventListener("click", () => {
  find("standing").value = "expert";
  find("disputes").focus();
  showOthers();
});
find("standing").addEventListener("input", showOthers);
find("upload").addEventListener("submit", event => {
  event.preventDefault();
  upload(event.target).catch(error => say("said-file", error.message));
});

function showOthers() {
  state.item = null; // what is shown of an item depends on who looks:
  find("item").hidden = true; // nothing, until it is known for whom
  state.place = 0;
  loadQueue().catch(failed);
}

async function upload(form) {
  const file = find("file").files[0];
  say("said-file", "Loading …");
  const query = new URLSearchParams({ name: file.name });
  for (const field of form.querySelectorAll("input[name]")) if (field.value.trim()) query.set(field.name, field.value.trim());
  const answer = await fetch("./upload?" + query, { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || "This was refused.");
  const refused = found.refused.length ? `, ${number(found.refused.length)} refused: ${found.refused[0].reason}` : "";
  say("said-file", `${counted(found.added, "label")} added, ${number(found.known)} known already${refused}. ${found.notes.join(" ")}`);
  form.reset();
}

find("q").addEventListener("input", () => loadQueue().catch(failed));
for (const id of ["worker-q", "verdict"]) find(id).addEventListener("input", drawWorkers);

// Live: lists are loaded again when something has changed, at most every two seconds.

let waiting = null, wanted = -1;
function changed(version) {
  wanted = version;
  if (wanted === state.version || waiting !== null) return;
  waiting = setTimeout(async () => {
    waiting = null;
    const version = wanted;
    if (state.busy) return changed(version);
    try { await Promise.all([loadQueue(), loadWorkers()]); state.version = version; } catch (error) { failed(error); }
    if (wanted !== version) changed(wanted);
  }, state.version < 0 ? 0 : 2000);
}

const events = new EventSource("events");
events.addEventListener("state", event => {
  const seen = JSON.parse(event.data);
  find("live").classList.add("on");
  showState(seen);
  changed(seen.version);
});
events.addEventListener("error", () => {
  find("live").classList.remove("on");
  say("status", "The connection is lost; it is tried again.");
});
