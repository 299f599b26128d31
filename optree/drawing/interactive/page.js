"use strict";

/* The page of one tree: its boxes, the chosen node, and the row that is followed to its leaf. */

const data = JSON.parse($("data").textContent);
const NO_SIDE = -2, UNSEEN = -1, MISSING = Symbol("missing");
const row = new Map(); // the typed values, by the number of their column: a number, a text or MISSING

// Return a box, its parent and its descendants in the order of the picture.
function* boxesOf(box, parent = null) {
  box.parent = parent;
  yield box;
  for (const child of box.children) yield* boxesOf(child, box);
}
const boxes = [...boxesOf(data.root)];
const boxOf = new Map(boxes.flatMap(box => box.nodes.map(node => [node, box])));

// Return a column's value for the tests of its features, as the library's encoder reads it.
function read(column, value) {
  const {form, parts, options} = column, isWhole = ["ordinal", "values", "bins"].includes(form);
  if (column.isOrdered) value = options.includes(value) ? options.indexOf(value) : MISSING;
  if (form === "thresholds") return value === MISSING ? NaN : value;
  if (value === MISSING) return !column.lacks ? NO_SIDE : isWhole ? column.categories - 1 : NaN;
  if (form === "bins" || form === "intervals") return parts.filter(part => part < value).length;
  return (column.isOrdered ? parts : options).indexOf(value); // UNSEEN for another value
}

// Return the code of a value, given the kind of the test and its operand.
const TESTS = [
  value => value,
  (value, operand) => value === NO_SIDE ? NO_SIDE : Number(value === operand),
  (value, operand) => Number(value === operand || Number.isNaN(value)),
  (value, operand) => Number(value <= operand),
  (value, operand) => Number(value <= operand || Number.isNaN(value)),
  (value, operand) => Number.isNaN(value) ? NO_SIDE : Number(value <= operand),
];

// Return the nodes of the path of the typed row, and the first column without a value.
function follow() {
  const path = [0];
  for (;;) {
    const node = path.at(-1), feature = data.features[data.feature[node]];
    if (!feature) return {path};
    if (!row.has(feature.column)) return {path, open: feature.column};
    const code = TESTS[feature.kind](read(data.columns[feature.column], row.get(feature.column)), Number(feature.operand));
    if (code === UNSEEN) return {path};
    const child = code === NO_SIDE ? data.heaviest[node] : data.places[node]?.[code] ?? code;
    path.push(data.first[node] + child);
  }
}

const digits = number => String(Number.isInteger(number) ? number : +number.toPrecision(6));
const prediction = node => data.values ? digits(data.values[data.prediction[node]]) : data.classes[data.prediction[node]];

// Show the boxes of a path, and its last node, or several leaves that one box has; `open` is a column without a value.
function show(path, open, nodes = path.slice(-1)) {
  const shown = [];
  for (const node of path) if (boxOf.has(node)) shown.push(boxOf.get(node)); // an empty leaf has no box
  for (const box of boxes) {
    box.shown.classList.toggle("on-path", shown.includes(box));
    box.shown.removeAttribute("aria-current");
  }
  for (const box of shown.slice(0, -1)) fold(box.item, false);
  if (matchMedia("(min-width: 761px)").matches) shown.at(-1)?.shown.scrollIntoView({block: "nearest", inline: "nearest"});
  shown.at(-1)?.shown.setAttribute("aria-current", "true");
  const node = path.at(-1), steps = shown.slice(1).map(box => `${box.parent.title}: ${box.condition}`);
  $("steps").replaceChildren(...steps.map(text => element("li", {}, text)));
  const ended = open === undefined, text = ended ? `${data.noun}: ${prediction(node)}` : "";
  $("answer").textContent = ended ? text : `Next: a value of ${data.columns[open].name}`;
  const counts = nodes.map(i => data.counts[i]).reduce((a, b) => a.map((n, label) => n + b[label]));
  const total = counts.reduce((a, b) => a + b, 0);
  $("rows").textContent = total ? `${data.weighted ? "Weight" : "Training rows"}: ${digits(total)}` : "No training rows";
  const lines = data.costs ? meanCosts(nodes, total) : data.values ? [] : counts.map((n, label) => [label, n])
    .filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1])
    .map(([label, n]) => [label, digits(n), `${(100 * n / total).toFixed(1)} %`]);
  $("counts").replaceChildren(...lines.map(([label, ...cells]) => element("tr", {},
    element("td", {}, element("span", {className: `swatch c${label % data.colours}`}), data.classes[label]),
    ...cells.map(text => element("td", {}, text)))));
  document.body.dataset.path = path.join(" ");
}

// The mean cost of each action among the training rows of some nodes, the cheapest action first.
function meanCosts(nodes, total) {
  const weights = nodes.map(i => data.counts[i].reduce((a, b) => a + b, 0) / (total || 1));
  const mean = data.classes.map((_, action) => nodes.reduce((sum, i, k) => sum + weights[k] * data.costs[i][action], 0));
  return total ? mean.map((cost, action) => [action, cost]).sort((a, b) => a[1] - b[1])
    .map(([action, cost]) => [action, `mean cost ${Number(cost.toPrecision(5))}`]) : [];
}

function showRow() {
  const {path, open} = follow();
  show(path, open);
}

// Show a chosen box: the path to it, without a row.
function choose(box) {
  const path = [];
  for (let at = box; at; at = at.parent) path.unshift(at.nodes[0]);
  show(path, undefined, box.nodes);
}

// Return the field of a column.
function field(column, number) {
  const set = value => {
    value === undefined ? row.delete(number) : row.set(number, value);
    showRow();
  };
  const known = (column.options ?? []).map((text, i) => element("option", {value: i}, text));
  const label = element("label", {}, element("span", {}, column.name));
  if (column.options) {
    const others = [["", "choose"], ...(column.ignores ? [["unseen", "another value"]] : []), ...(column.accepts ? [["missing", "missing"]] : [])];
    const values = {"": undefined, unseen: null, missing: MISSING};
    const select = element("select", {onchange: ({target}) => set(target.value in values ? values[target.value] : column.options[target.value])});
    select.append(...others.slice(0, 1).map(([value, text]) => element("option", {value}, text)), ...known,
      ...others.slice(1).map(([value, text]) => element("option", {value, className: "other"}, text)));
    label.append(select);
  } else {
    const input = element("input", {type: "number", step: "any"});
    label.append(input);
    const lacks = element("input", {type: "checkbox"});
    const read = () => {
      input.disabled = lacks.checked;
      set(lacks.checked ? MISSING : input.value === "" ? undefined : Number(input.value));
    };
    input.oninput = lacks.onchange = read;
    if (column.accepts) label.append(element("label", {className: "quiet"}, lacks, "missing"));
  }
  label.dataset.column = column.name;
  return label;
}

// Fit the tree into the page, and the frame of a notebook around the page.
function arrange() {
  listIfWide();
  if (window.frameElement) window.frameElement.style.height = `${Math.min(900, document.documentElement.offsetHeight + 40)}px`;
}

function start() {
  for (const box of boxes) Object.assign(box, {choose: () => choose(box), folds: true});
  $("tree").append(element("ul", {}, treeItem(data.root)));
  const used = data.columns.map((column, number) => [column, number]).filter(([column]) => column.used);
  $("fields").append(...used.map(([column, number]) => field(column, number)));
  $("follow").hidden = !used.length;
  $("legend").append(...data.legend.map(label => element("span", {},
    element("span", {className: `swatch c${label % data.colours}`}), data.classes[label])));
  $("fold").onclick = () => boxes.forEach(box => fold(box.item, true));
  $("unfold").onclick = () => boxes.forEach(box => fold(box.item, false));
  $("clear").onclick = () => {
    row.clear();
    $("form").reset();
    $("form").querySelectorAll("input").forEach(input => { input.disabled = false; });
    showRow();
  };
  $("form").onsubmit = event => event.preventDefault();
  document.addEventListener("keydown", event => {
    const box = boxes.find(one => one.shown === event.target);
    if (!box) return;
    const seen = boxes.filter(one => one.item.offsetParent), to = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (to) seen[seen.indexOf(box) + to]?.shown.focus();
    else if (event.key === "ArrowLeft") fold(box.item, true);
    else if (event.key === "ArrowRight") fold(box.item, false);
    else return;
    event.preventDefault();
  });
  choose(data.root);
  arrange();
  window.addEventListener("resize", arrange);
}
start();
