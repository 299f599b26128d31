"use strict";

/* Count the trees of a Rashomon set, without any library.

The set is an AND/OR graph, see optree/solvers/rashomon/graph.py. Node 0 has all rows. A tree chooses a leaf or one edge
at each node, and has a subtree for each child of the edge. Costs are whole numbers above the optimum of their node: the
cost of a tree is that of the best tree, plus the rise of each of its edges and leaves.

  slack[v]    the greatest cost of a subtree of node v
  leaf[v]     the rise of node v as a leaf; -1 if no tree has this leaf
  label[v]    the class of node v as a leaf
  edges[v]    the number of edges of node v; the edges are sorted by nodes, the children of a node come after it
  split[e]    the split of edge e, an index into `splits`
  rise[e]     the rise of edge e
  child       the children of the edges: a node, or -1 - k for a leaf of class k
  counts      the weight of the rows of each class, for each node
  leaves      the same for each child of an edge that is a leaf, without the last child of the edge
  splits      the features with one partition of the rows, and the number of children
  polynomials the number of terms of each node, the exponents and the numbers of trees (base 16); null if too long
  features    name, labels of the categories, short labels, column, and the child of each category, -1 for none
*/

const set = JSON.parse(document.getElementById("set").textContent);
const K = set.classes.length;
const nodes = set.slack.length;

// Return the sums of all numbers before each place.
function starts(lengths) {
  const found = [0];
  for (const length of lengths) found.push(found.at(-1) + length);
  return found;
}
const firstEdge = starts(set.edges);
const firstChild = starts(set.split.map(s => set.splits[s].children));
const children = e => set.child.slice(firstChild[e], firstChild[e + 1]);
const firstLeaf = starts(set.split.map((_, e) => K * children(e).slice(0, -1).filter(c => c < 0).length));

/* Polynomials: the number of subtrees n[i] of cost x[i], by rising cost. Numbers are BigInt, and therefore exact. */

const ONE = {x: [0], n: [1n]};

// A sum of terms, which `take` returns and clears.
class Sum {
  dense = new Array(set.slack[0] + 1);
  used = [];
  put(x, n) {
    if (this.dense[x] === undefined) {
      this.dense[x] = n;
      this.used.push(x);
    } else this.dense[x] += n;
  }
  take() {
    const x = this.used.sort((a, b) => a - b), n = x.map(power => this.dense[power]);
    for (const power of x) this.dense[power] = undefined;
    this.used = [];
    return {x, n};
  }
}
const product = new Sum();

// Add factor * p * q to a sum, up to a cost of `room`, with all costs raised.
function addProduct(sum, p, q, factor, raise, room) {
  for (let i = 0; i < p.x.length && p.x[i] <= room; i++) {
    const n = factor * p.n[i], x = p.x[i];
    for (let j = 0; j < q.x.length && x + q.x[j] <= room; j++) sum.put(raise + x + q.x[j], n * q.n[j]);
  }
}

// Return the product of polynomials, up to a cost of `room`.
function multiply(polynomials, room) {
  let found = ONE;
  for (const p of polynomials) {
    addProduct(product, found, p, 1n, 0, room);
    found = product.take();
  }
  return found;
}

// Return the number of terms of a product up to a cost of `room`: the longest factor is only summed.
function countWithin(polynomials, room) {
  const [last = ONE, ...others] = [...polynomials].sort((p, q) => q.x.length - p.x.length);
  const before = multiply(others, room);
  let sum = 0n, found = 0n, j = 0;
  for (let i = before.x.length - 1; i >= 0; i--) {
    for (; j < last.x.length && last.x[j] <= room - before.x[i]; j++) sum += last.n[j];
    found += before.n[i] * sum;
  }
  return found;
}

const passes = new Map();
const keyOf = columns => [...columns].sort((a, b) => a - b).join();
const countAll = forbidden => passes.get(keyOf(forbidden));

// Find the polynomials of all nodes without the splits of some columns, children first; yield the share that is done.
function* findAll(forbidden) {
  if (countAll(forbidden)) return;
  const copies = set.splits.map(s => BigInt(s.features.filter(f => !forbidden.has(set.features[f].column)).length));
  const found = new Array(nodes), total = new Sum();
  for (let v = nodes - 1; v >= 0; v--) {
    if (set.leaf[v] >= 0) total.put(set.leaf[v], 1n);
    for (let e = firstEdge[v]; e < firstEdge[v + 1]; e++) {
      const factor = copies[set.split[e]], room = set.slack[v] - set.rise[e];
      if (!factor) continue;
      const below = children(e).filter(c => c >= 0).map(c => found[c]);
      const last = below.pop() ?? ONE;
      addProduct(total, below.length === 1 ? below[0] : multiply(below, room), last, factor, set.rise[e], room);
      if (e % 16 === 0) yield 1 - e / set.split.length;
    }
    found[v] = total.take();
  }
  passes.set(keyOf(forbidden), found);
}

// Read the polynomials of the page, those without forbidden columns.
if (set.polynomials) {
  const {terms, exponents, numbers} = set.polynomials, texts = numbers.split(","), first = starts(terms);
  passes.set("", terms.map((_, v) => ({
    x: exponents.slice(first[v], first[v + 1]),
    n: texts.slice(first[v], first[v + 1]).map(text => BigInt(`0x${text}`)),
  })));
}

/* Partial trees: {at} is an open node; {at, leaf: true} a leaf; {at, edge, feature, children} a split. */

const isOpen = tree => tree.at >= 0 && !tree.leaf && !tree.children;
const parts = tree => [tree, ...(tree.children ?? []).flatMap(parts)];
const openNodes = tree => parts(tree).filter(isOpen);
const column = tree => set.features[tree.feature].column;
const columns = tree => new Set(parts(tree).filter(part => part.children).map(column));

// Return the cost of the decided nodes.
function spent(tree) {
  const rises = parts(tree).map(part => part.children ? set.rise[part.edge] : part.leaf ? set.leaf[part.at] : 0);
  return rises.reduce((a, b) => a + b, 0);
}

// Return the choices at an open node, in the library's order: a leaf, then the splits.
function choices(at) {
  const found = set.leaf[at] >= 0 ? [{at, leaf: true}] : [];
  for (let e = firstEdge[at]; e < firstEdge[at + 1]; e++)
    for (const feature of set.splits[set.split[e]].features)
      if (!filters.forbid.has(set.features[feature].column))
        found.push({at, edge: e, feature, children: children(e).map(c => ({at: c}))});
  return found;
}

const filters = {forbid: new Set(), require: new Set(), bound: set.slack[0]};

/* Return a function that counts the trees of cost up to `room` with a choice at one node of a partial tree.

Required columns are counted by inclusion and exclusion: the trees without some of the columns that the partial tree
lacks are added or subtracted. */
function counter(others) {
  const open = others.flatMap(openNodes), cost = others.map(spent).reduce((a, b) => a + b, 0);
  const used = others.flatMap(tree => [...columns(tree)]);
  const products = new Map();
  return function (choice, room) {
    room -= cost + spent(choice);
    const has = new Set([...used, ...columns(choice)]), missing = [...filters.require].filter(c => !has.has(c));
    let found = 0n;
    for (let some = 0; some < 1 << missing.length; some++) {
      const without = missing.filter((_, i) => some >> i & 1);
      const polynomials = countAll(new Set([...filters.forbid, ...without]));
      const key = without.join();
      if (!products.has(key)) products.set(key, multiply(open.map(node => polynomials[node.at]), filters.bound - cost));
      const number = countWithin([products.get(key), ...openNodes(choice).map(node => polynomials[node.at])], room);
      found += without.length % 2 ? -number : number;
    }
    return found;
  };
}

// Return the least cost of a tree with a choice, or -1 without one. The number of trees rises with the bound.
function leastCost(count, choice) {
  let low = 0, high = filters.bound;
  if (count(choice, high) === 0n) return -1;
  while (low < high) {
    const middle = low + high >> 1;
    if (count(choice, middle) > 0n) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Return the subtrees beside a path: of the whole tree without the node at the path.
function beside(tree, path) {
  if (!path.length) return [];
  const [first, ...rest] = path, own = {...tree, children: []};
  return [own, ...tree.children.filter((_, i) => i !== first), ...beside(tree.children[first], rest)];
}

const nodeAt = (tree, path) => path.reduce((part, i) => part.children[i], tree);

// Return the path of the first open node, or null.
function firstOpen(tree, path = []) {
  if (isOpen(tree)) return path;
  for (const [i, part] of (tree.children ?? []).entries()) {
    const found = firstOpen(part, [...path, i]);
    if (found) return found;
  }
  return null;
}

// Return a copy of the tree with another node at a path.
function replaced(tree, path, node) {
  if (!path.length) return node;
  const [first, ...rest] = path;
  return {...tree, children: tree.children.map((part, i) => i === first ? replaced(part, rest, node) : part)};
}

// Return the best completion of a partial tree, the first one in the library's order; null without one.
function complete(tree) {
  const least = leastCost(counter([]), tree);
  if (least < 0) return null;
  for (let path; (path = firstOpen(tree)); ) {
    const count = counter(beside(tree, path));
    tree = replaced(tree, path, choices(nodeAt(tree, path).at).find(choice => count(choice, least) > 0n));
  }
  return tree;
}

// Return [cost, rank among the subtrees of this cost] of a complete subtree, in the order of `RashomonSet`.
function rankOf(tree, polynomials) {
  if (tree.leaf) return [set.leaf[tree.at], 0n];
  const below = tree.children.filter(part => part.at >= 0), ranks = below.map(part => rankOf(part, polynomials));
  const kids = (e, more = 0) => children(e).filter(c => c >= 0).slice(more).map(c => polynomials[c]);
  const exactly = (ps, x) => countWithin(ps, x) - countWithin(ps, x - 1);
  let room = ranks.reduce((sum, [x]) => sum + x, 0), rank = 0n;
  const cost = set.rise[tree.edge] + room, each = exactly(kids(tree.edge), room);
  for (const [i, [x, own]] of ranks.entries()) {
    const p = polynomials[below[i].at], rest = kids(tree.edge, i + 1);
    for (let j = 0; p.x[j] < x; j++) rank += p.n[j] * exactly(rest, room - p.x[j]);
    rank += own * exactly(rest, room - x);
    room -= x;
  }
  for (let e = firstEdge[tree.at]; e < tree.edge; e++)
    rank += BigInt(set.splits[set.split[e]].features.length) * exactly(kids(e), cost - set.rise[e]);
  rank += BigInt(set.splits[set.split[tree.edge]].features.indexOf(tree.feature)) * each;
  return [cost, rank + (set.leaf[tree.at] === cost ? 1n : 0n)];
}

// Return the rank of a complete tree: r[rank] in Python.
function rank(tree) {
  const polynomials = countAll(new Set()), [cost, own] = rankOf(tree, polynomials);
  return countWithin([polynomials[0]], cost - 1) + own;
}

/* Export: nodes with the rows of each class, one child for each category of the feature. */

const label = at => at < 0 ? -1 - at : set.label[at];
const nodeCounts = v => set.counts.slice(K * v, K * v + K);
const zeros = () => new Array(K).fill(0);

// Return the rows of each class in each child of an edge of node v.
function childCounts(v, e) {
  const rest = nodeCounts(v), found = [];
  let place = firstLeaf[e];
  for (const [i, c] of children(e).entries()) {
    const last = i === children(e).length - 1;
    const own = c >= 0 ? nodeCounts(c) : last ? rest.slice() : set.leaves.slice(place, place + K);
    if (c < 0) place += K;
    own.forEach((n, k) => { rest[k] -= n; });
    found.push(own);
  }
  return found;
}

// Return a subtree with `counts` and `label` at each node, and a child for each category of its splits.
function withCounts(tree, counts = nodeCounts(0)) {
  const node = {tree, counts, label: label(tree.at), open: isOpen(tree)};
  if (!tree.children) return node;
  const own = childCounts(tree.at, tree.edge), feature = set.features[tree.feature];
  node.feature = feature;
  node.children = feature.children.map(place => place < 0
    ? {tree: {at: -1 - node.label}, counts: zeros(), label: node.label}
    : {...withCounts(tree.children[place], own[place]), place});
  return node;
}

const weight = counts => counts.reduce((a, b) => a + b, 0);
const inRows = n => set.per === 1 ? n : n / set.per;

// Return a node's text: the class, its rows, and all rows if others are there.
function leafText(node) {
  const all = weight(node.counts), right = node.counts[node.label];
  const digits = node.counts.every(n => inRows(n) % 1 === 0) ? 15 : 6, text = n => String(+inRows(n).toPrecision(digits));
  if (!all) return `${set.classes[node.label]} (no rows)`;
  return `${set.classes[node.label]} (${right === all ? "" : `${text(right)} of `}${text(all)})`;
}

// Return a line for each edge, as `Tree` writes them.
function toText(node, indent = "") {
  if (!node.children) return indent ? "" : leafText(node);
  return yesFirst(node).map(i => {
    const part = node.children[i], line = indent + node.feature.labels[i];
    return part.children ? `${line}\n${toText(part, `${indent}|   `)}` : `${line}: ${leafText(part)}`;
  }).join("\n");
}

// Return the places of the children of a node in the order of pictures: the child of a test that holds comes first.
function yesFirst(node) {
  const {name, labels} = node.feature, places = [...node.children.keys()];
  return labels.length === 2 && labels[1] === name ? places.reverse() : places;
}

// Return the dict that `Tree.from_dict` reads: nodes by levels.
function toDict(root) {
  const queue = [root], found = {feature: [], first_child: [], counts: [], prediction: [], features: {}};
  for (const node of queue) {
    const number = node.children ? set.features.indexOf(node.feature) : -1;
    found.feature.push(number);
    found.first_child.push(node.children ? queue.length : -1);
    found.counts.push(node.counts.map(inRows));
    found.prediction.push(node.label);
    if (node.children) {
      found.features[number] = {name: node.feature.name, labels: node.feature.labels};
      queue.push(...node.children);
    }
  }
  return {...found, n_features: set.features.length, classes: set.classes};
}
