// The table of all records: filters, order, plot and download. The hash of the address keeps the state.
"use strict";
const {columns, rows, marks, pages} = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id), make = (name, text = "") => {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
};
const place = Object.fromEntries(columns.map((column, i) => [column.name, i]));
const numeric = columns.filter(column => column.kind === "number").map(column => column.name);
const LIMIT = 300;  // rows on the page, until all are asked for
const [LEFT, BOTTOM, EDGE] = [70, 45, 15];  // pixels around the plot
let state, all = false;

const shorten = value => typeof value === "number" ? String(Number(value.toPrecision(6))) : value ?? "";

// A test of a column's values by the text of its filter: part of the words; for numbers, also a comparison.
function test(column, text) {
  const compared = column.kind === "number" && text.match(/^\s*(<=|>=|<|>|=)?\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*$/i);
  if (compared) {
    const [, sign = "=", wanted] = compared, number = Number(wanted);
    return value => value !== null && {"<": value < number, ">": value > number, "<=": value <= number,
      ">=": value >= number, "=": value === number}[sign];
  }
  if (column.kind === "choice") return value => String(value ?? "") === text;
  return value => String(value ?? "").toLowerCase().includes(text.toLowerCase());
}

function chosen() {
  const tests = columns.map((column, i) => [i, state.get(column.name)]).filter(([, text]) => text)
    .map(([i, text]) => [i, test(columns[i], text)]);
  const found = rows.filter(row => tests.every(([i, holds]) => holds(row[i])));
  const by = state.get("sort") ?? "", i = place[by.replace(/^-/, "")], sign = by.startsWith("-") ? -1 : 1;
  if (i === undefined) return found;
  const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), undefined, {numeric: true});
  return found.sort((a, b) => (a[i] === null) - (b[i] === null) || (a[i] === null ? 0 : sign * order(a[i], b[i])));
}

function cell(value, column) {
  const data = make("td"), page = pages[column.name]?.[value];
  data.className = column.kind === "number" ? "r" : "n";
  if (page === undefined) data.textContent = shorten(value);
  else data.append(Object.assign(make("a", value), {href: page}));
  return data;
}

function show() {
  const found = chosen(), kept = all ? found : found.slice(0, LIMIT), by = state.get("sort") ?? "";
  document.querySelectorAll("#rows th").forEach((head, i) => {
    const order = {[columns[i].name]: "ascending", [`-${columns[i].name}`]: "descending"}[by];
    order ? head.setAttribute("aria-sort", order) : head.removeAttribute("aria-sort");
  });
  document.querySelector("#rows tbody").replaceChildren(...kept.map(row => {
    const line = make("tr");
    line.append(...row.map((value, i) => cell(value, columns[i])));
    return line;
  }));
  byId("shown").textContent = `${found.length} of ${rows.length} records`;
  byId("more").hidden = kept.length === found.length;
  if (byId("plotted").open) plot(found);
}

// A scale from values to pixels: logarithmic if the values are positive and span more than two powers of ten.
function scale(values, from, to) {
  let [least, most] = [Math.min(...values), Math.max(...values)];
  const log = least > 0 && most / least > 100, by = log ? Math.log10 : value => value;
  [least, most] = log ? [Math.floor(by(least)), Math.ceil(by(most))] : [least, most === least ? least + 1 : most];
  const rough = (most - least) * 70 / Math.abs(to - from), power = 10 ** Math.floor(Math.log10(rough));
  const step = log ? Math.max(1, Math.ceil(rough)) : [1, 2, 5, 10].find(one => one >= rough / power) * power;
  const ticks = [];
  if (!log) [least, most] = [Math.floor(least / step + 1e-9) * step, Math.ceil(most / step - 1e-9) * step];
  for (let tick = least; tick <= most + step / 1e6; tick += step) ticks.push(log ? 10 ** tick : tick);
  return {log, ticks, at: value => from + (to - from) * (by(value) - least) / (most - least)};
}

function plot(found) {
  const names = ["x", "y"].map(axis => byId(axis).value), [i, j] = names.map(name => place[name]);
  const points = found.filter(row => row[i] !== null && row[j] !== null), solver = place.solver;
  if (!points.length) return byId("plot").replaceChildren(make("p", "No record has both values."));
  const draw = (name, values, text = "") => {
    const mark = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(values)) mark.setAttribute(key, value);
    mark.textContent = text;
    return mark;
  };
  const WIDTH = Math.min(900, byId("plot").clientWidth), HEIGHT = Math.min(480, WIDTH);
  const x = scale(points.map(row => row[i]), LEFT, WIDTH - EDGE), y = scale(points.map(row => row[j]), HEIGHT - BOTTOM, EDGE);
  const label = `${names[1]} against ${names[0]}, ${points.length} records`;
  const picture = draw("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, role: "img", "aria-label": label});
  const line = {stroke: "#ddd"}, [low, high, top] = [LEFT, WIDTH - EDGE, HEIGHT - BOTTOM];
  x.ticks.forEach(t => picture.append(draw("line", {...line, x1: x.at(t), x2: x.at(t), y1: EDGE, y2: top}),
    draw("text", {x: x.at(t), y: top + 16, "text-anchor": "middle"}, shorten(Number(t.toPrecision(3))))));
  y.ticks.forEach(t => picture.append(draw("line", {...line, x1: low, x2: high, y1: y.at(t), y2: y.at(t)}),
    draw("text", {x: low - 6, y: y.at(t) + 4, "text-anchor": "end"}, shorten(Number(t.toPrecision(3))))));
  const titles = [x, y].map((axis, k) => names[k] + (axis.log ? " (logarithmic)" : ""));
  picture.append(draw("text", {x: (low + high) / 2, y: HEIGHT - 8, "text-anchor": "middle"}, titles[0]),
    draw("text", {x: 14, y: top / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${top / 2})`}, titles[1]));
  for (const row of points) {
    const [colour, hollow] = marks[row[solver]], look = {stroke: colour, fill: hollow ? "#fff" : colour, "fill-opacity": 0.75};
    const dot = draw("circle", {...look, "stroke-width": 2, cx: x.at(row[i]), cy: y.at(row[j]), r: 4});
    const words = ["dataset", "encoding", "algorithm", "solver", "status"].map(name => row[place[name]]).filter(Boolean).join(", ");
    dot.append(draw("title", {}, `${words}: ${shorten(row[i])}, ${shorten(row[j])}`));
    picture.append(dot);
  }
  const legend = make("div");
  legend.className = "legend";
  legend.append(...[...new Set(points.map(row => row[solver]))].sort().map(name => {
    const entry = make("span", name), spot = make("i");
    const [colour, hollow] = marks[name];
    spot.style.border = `2px solid ${colour}`;
    spot.style.background = hollow ? "#fff" : colour;
    entry.prepend(spot);
    return entry;
  }));
  byId("plot").replaceChildren(picture, legend);
}

// Take the state of the address into the controls, and show it.
function read() {
  state = new URLSearchParams(location.hash.slice(1));
  for (const control of byId("filters").elements) control.value = state.get(control.name) ?? "";
  [["x", "seconds of search"], ["y", "objective"]].forEach(([axis, usual]) => {
    byId(axis).value = [state.get(axis), usual, numeric[0]].find(name => numeric.includes(name)) ?? "";
  });
  byId("plotted").open ||= state.has("x") || state.has("y");
  show();
}

// Change one value of the state, in the address too.
function change(name, value) {
  value ? state.set(name, value) : state.delete(name);
  history.replaceState(null, "", `#${state}`);
  show();
}

function download() {
  const quoted = value => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  const lines = [columns.map(column => column.name), ...chosen()].map(row => row.map(value => quoted(String(value ?? ""))).join(","));
  const link = Object.assign(make("a"), {download: "records.csv"});
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], {type: "text/csv"}));
  link.click();
}

for (const {name} of columns) {
  const head = make("th"), button = Object.assign(make("button", name), {type: "button"});
  button.addEventListener("click", () => change("sort", state.get("sort") === name ? `-${name}` : name));
  head.append(button);
  document.querySelector("#rows thead tr").append(head);
}
for (const control of byId("filters").elements) {
  if (control.tagName === "SELECT") {
    const values = [...new Set(rows.map(row => row[place[control.name]]).filter(value => value !== null))];
    control.append(...values.sort((a, b) => a.localeCompare(b)).map(value => Object.assign(make("option", value), {value})));
  }
  control.addEventListener("input", () => change(control.name, control.value));
}
for (const axis of ["x", "y"]) {
  byId(axis).append(...numeric.map(name => make("option", name)));
  byId(axis).addEventListener("input", () => change(axis, byId(axis).value));
}
byId("filters").addEventListener("submit", event => event.preventDefault());
byId("plotted").addEventListener("toggle", show);
byId("download").addEventListener("click", download);
byId("more").addEventListener("click", () => { all = true; show(); });
byId("clear").addEventListener("click", () => { history.replaceState(null, "", "#"); read(); });
addEventListener("hashchange", read);
byId("filtered").open = innerWidth > 700;
read();
