"use strict";

/* The page of a Rashomon set: the partial tree, its options, filters and export. The counts are those of count.js. */

let tree = {at: 0}, selected = [], history = [];

// Return a number that is readable: with all digits up to a million, else rounded; a click shows all digits.
const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
function readable(n) {
  const digits = String(n);
  if (digits.length < 8) return grouped(n);
  const rounded = Number(`${digits[0]}.${digits.slice(1, 8)}`).toFixed(1);
  return rounded === "10.0" ? `1.0e${digits.length}` : `${rounded}e${digits.length - 1}`;
}
function number(n) {
  const text = readable(n), className = text === grouped(n) ? "number" : "number rounded";
  const span = element("span", {className, title: grouped(n)}, text);
  span.dataset.digits = String(n);
  return span;
}
document.addEventListener("click", ({target}) => {
  const {digits} = target.dataset ?? {};
  if (digits) target.textContent = target.classList.toggle("all") ? grouped(digits) : readable(digits);
});

const trees = n => n === 1n ? "tree" : "trees";
const objective = x => set.objectives[x].toFixed(5);
const above = x => `${+(100 * (set.objectives[0] - set.objectives[x]) / (1 - set.objectives[0]) || 0).toPrecision(3)} %`;

// Change the partial tree, and remember the earlier one.
function change(next, select) {
  history.push([tree, selected]);
  tree = next;
  selected = select ?? firstOpen(tree) ?? [];
  show();
}

function takeBack() {
  if (!history.length) return;
  [tree, selected] = history.pop();
  show();
}

// Return the condition on the way to a node of the drawn tree: "= a, b or missing" for "= a", "= b", "is missing".
function conditionOf(node, some) {
  const texts = some.map(i => node.feature.short[i]), known = texts.filter(text => text !== "is missing");
  if (!known.length) return "is missing";
  const listed = known.map((text, i) => i ? text.replace(/^= /, "") : text).join(", ");
  return known.length < texts.length ? `${listed} or missing` : listed;
}

// Return the children of a drawn node that have rows, sibling leaves of one class together.
function groupsOf(node) {
  const groups = new Map();
  for (const i of yesFirst(node)) {
    const part = node.children[i], key = part.tree.at < 0 ? `leaf ${part.label}` : i;
    if (weight(part.counts)) groups.set(key, [...(groups.get(key) ?? []), i].sort((a, b) => a - b));
  }
  return [...groups.values()];
}

// Return the box of a node: `done` is its best completion, `own` the decided part or null below an open node.
function boxOf(done, own, path, condition, counts = done.counts) {
  const open = own && isOpen(own), total = weight(counts);
  const box = {
    condition,
    title: done.children ? done.feature.name : leafText({...done, counts}),
    fill: done.children ? "" : `t${done.label % set.colours}`,
    mark: own && !open ? "" : "completion",
    bar: total ? counts.map((n, label) => [`c${label % set.colours}`, n / total]).filter(([, share]) => share) : [],
  };
  if (own && own.at >= 0) {
    box.choose = () => { selected = path; show(); };
    if (open) box.before = element("b", {}, "open: ");
    box.isCurrent = String(path) === String(selected);
  }
  if (!done.children) return box;
  box.children = groupsOf(done).map(some => {
    const part = done.children[some[0]], below = own?.children?.[part.place] ?? null;
    const sum = some.map(i => done.children[i].counts).reduce((a, b) => a.map((n, k) => n + b[k]));
    return boxOf(part, open ? null : below, [...path, part.place], conditionOf(done, some), sum);
  });
  return box;
}

function showTree() {
  const best = complete(tree), count = counter([])(tree, filters.bound), open = openNodes(tree).length;
  $("remaining").replaceChildren(number(count), ` ${trees(count)}`);
  const nodesLeft = `${open} open node${open > 1 ? "s" : ""}; the best completion is drawn.`;
  $("open").textContent = open ? nodesLeft : "The tree is complete.";
  const value = x => `${open ? "Best objective" : "Objective"} ${objective(x)}, cost ${above(x)} above the optimum.`;
  $("best").textContent = best ? value(spent(best)) : "No tree of the set is like this.";
  const focused = $("tree").contains(document.activeElement);
  $("tree").replaceChildren(...(best ? [element("ul", {}, treeItem(boxOf(withCounts(best), tree, [], "")))] : []));
  listIfWide();
  const current = document.querySelector("#tree [aria-current]"), view = $("scroll").getBoundingClientRect();
  if (current) {
    const {left, right} = current.getBoundingClientRect();
    $("scroll").scrollLeft += (left + right - view.left - view.right) / 2;
    if (focused) current.focus({preventScroll: true});
  }
  $("back").disabled = !history.length;
  $("restart").disabled = isOpen(tree);
  $("accept").disabled = !best || !open;
  $("accept").onclick = () => change(best);
  showExport(open ? null : best);
}

function showExport(done) {
  $("export").hidden = !done;
  if (!done) return;
  const node = withCounts(done), text = toText(node), json = JSON.stringify(toDict(node));
  $("text").textContent = text;
  const place = rank(done);
  $("rank").replaceChildren("Rank ", number(place), " of the set: ", element("code", {}, `r[${place}]`), " in Python.");
  $("save-text").href = `data:text/plain;charset=utf-8,${encodeURIComponent(text)}`;
  $("save-json").href = `data:application/json;charset=utf-8,${encodeURIComponent(json)}`;
}

function showOptions() {
  const node = nodeAt(tree, selected), count = counter(beside(tree, selected)), rows = [];
  for (const choice of choices(node.at)) {
    const n = count(choice, filters.bound);
    if (n > 0n) rows.push({choice, n, least: leastCost(count, choice)});
  }
  rows.sort((a, b) => a.least - b.least || (a.n < b.n ? 1 : a.n > b.n ? -1 : 0));
  $("where").textContent = whereText();
  $("number").textContent = `${rows.length} option${rows.length === 1 ? "" : "s"}`;
  const focused = $("options").contains(document.activeElement);
  $("options").replaceChildren(...rows.map(({choice, n, least}) => {
    const name = choice.leaf ? `leaf: ${set.classes[label(node.at)]}` : set.features[choice.feature].name;
    const own = node.leaf ? choice.leaf : node.children && node.feature === choice.feature;
    const choose = () => change(replaced(tree, selected, choice));
    const button = element("button", {type: "button", onclick: choose}, name);
    if (own) button.setAttribute("aria-current", "true");
    return element("tr", {}, ...[button, number(n), objective(least)].map(content => element("td", {}, content)));
  }));
  if (focused) $("options").querySelector("button")?.focus({preventScroll: true}); // for the keyboard
}

// Return the conditions on the path to the selected node.
function whereText() {
  let part = tree;
  const found = selected.map(place => {
    const feature = set.features[part.feature];
    const some = [...feature.children.keys()].filter(i => feature.children[i] === place);
    part = part.children[place];
    return some.map(i => feature.labels[i]).join(" or ");
  });
  return found.join(" and ") || "all rows";
}

// Draw the trees that remain: a bar for each of up to 60 intervals of cost, its height logarithmic.
function showHistogram() {
  const step = Math.ceil((set.slack[0] + 1) / 60), bars = Math.ceil((set.slack[0] + 1) / step), wide = 600 / bars;
  const path = firstOpen(tree) ?? [], count = counter(beside(tree, path));
  const within = [...Array(bars).keys()].map(bar => Math.min(filters.bound, step * (bar + 1) - 1));
  const sums = within.map(bound => count(nodeAt(tree, path), bound));
  const own = sums.map((n, bar) => n - (sums[bar - 1] ?? 0n));
  const digits = n => n ? String(n).length - 0.7 + Math.log10(Number(`${String(n)[0]}.${String(n).slice(1, 12)}`)) : 0;
  const most = Math.max(1, ...own.map(digits)), highest = own.reduce((a, b) => a > b ? a : b);
  $("histogram").innerHTML = own.map((n, bar) => {
    const high = 110 * digits(n) / most, low = bar * step, end = Math.min(set.slack[0], low + step - 1);
    const title = `objective ${objective(low)}${end > low ? ` to ${objective(end)}` : ""}: ${grouped(n)} ${trees(n)}`;
    return `<rect x="${bar * wide}" y="${110 - high}" width="${Math.max(1, wide - 1)}" height="${high}">` +
      `<title>${title}</title></rect>`;
  }).join("");
  const ends = [objective(0), "objective (smaller to the right)", objective(set.slack[0])];
  $("ends").replaceChildren(...ends.map(text => element("span", {}, text)));
  $("most").textContent = `The heights are logarithmic; the highest bar has ${readable(highest)} ${trees(highest)}.`;
}

function showFilters() {
  const {bound} = filters;
  $("bound-text").textContent = `Objective at least ${objective(bound)}: cost at most ${above(bound)} above the optimum.`;
  const some = (kind, columns) => columns.size ? `${kind}: ${[...columns].map(c => set.columns[c]).join(", ")}. ` : "";
  $("filtered").textContent = some("Forbidden", filters.forbid) + some("Required", filters.require);
}

// Count what the filters need, in slices that keep the page alive, and show everything.
async function show() {
  const required = [...filters.require], needed = [new Set()], focused = document.activeElement;
  for (let some = 0; some < 1 << required.length; some++)
    needed.push(new Set([...filters.forbid, ...required.filter((_, i) => some >> i & 1)]));
  let end = performance.now() + 50;
  for (const forbidden of needed) {
    for (const share of findAll(forbidden)) {
      if (performance.now() < end) continue;
      $("busy").textContent = `counting … ${Math.floor(100 * share)} %`;
      $("main").inert = true; // it shows an earlier state
      await new Promise(done => setTimeout(done));
      end = performance.now() + 50;
    }
  }
  $("busy").textContent = "";
  $("main").inert = false;
  focused.focus({preventScroll: true});
  if (!$("count").hasChildNodes()) showWhole();
  showFilters();
  showTree();
  showOptions();
  showHistogram();
  document.body.dataset.shown = Number(document.body.dataset.shown ?? 0) + 1;
}

// Show the number of all trees, and let the slider choose from their costs.
function showWhole() {
  const [{x: costs, n}] = countAll(new Set()), every = n.reduce((a, b) => a + b);
  $("count").replaceChildren(number(every), ` ${trees(every)}`);
  const bound = event => { filters.bound = costs[event.target.value]; show(); };
  Object.assign($("bound"), {max: costs.length - 1, value: costs.length - 1, oninput: bound});
}

// Open the splits of forbidden columns again, and all that is below them.
function reopened(part) {
  if (!part.children) return part;
  if (filters.forbid.has(column(part))) return {at: part.at};
  return {...part, children: part.children.map(reopened)};
}

function filter(c, kind) {
  filters.forbid.delete(c);
  filters.require.delete(c);
  if (kind !== "any") filters[kind].add(c);
  tree = reopened(tree);
  history = [];
  selected = firstOpen(tree) ?? [];
  show();
}

function start() {
  window.addEventListener("resize", listIfWide);
  for (const c of new Set(set.features.map(feature => feature.column))) {
    const kinds = [["any", "may be split"], ["require", "required"], ["forbid", "forbidden"]];
    const select = element("select", {onchange: event => filter(c, event.target.value)});
    select.append(...kinds.map(([value, text]) => element("option", {value}, text)));
    select.dataset.column = set.columns[c];
    $("columns").append(element("label", {}, element("span", {}, set.columns[c]), select));
  }
  $("back").onclick = takeBack;
  $("restart").onclick = () => change({at: 0}, []);
  document.addEventListener("keydown", event => {
    if (event.key === "Backspace" && !["INPUT", "SELECT"].includes(event.target.tagName)) takeBack();
    const row = event.target.closest?.("#options tr");
    const next = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key];
    if (row && next) {
      event.preventDefault();
      row[next]?.querySelector("button").focus();
    }
  });
  show();
}
start();
