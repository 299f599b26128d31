"use strict";

/* The drawing of a tree as nested lists, which all pages share.

A box has a title, the name of its colour as `fill`, a `condition` on the way to it, and its `children`. It may have a
`note`, a `bar` of pairs of colour and share, `choose` for a click, more classes as `mark`, `isCurrent`, and `folds`. */

const $ = id => document.getElementById(id);

// Return an element with properties and children.
function element(name, properties = {}, ...content) {
  const found = Object.assign(document.createElement(name), properties);
  found.append(...content);
  return found;
}

// Show the tree as a list if it is wider than the page.
function listIfWide() {
  const tree = $("tree");
  tree.classList.remove("list");
  tree.classList.toggle("list", $("scroll").scrollWidth > $("scroll").clientWidth);
}

// Return the stacked bar of pairs of colour and share.
function drawnBar(bar) {
  const parts = bar.map(([fill, share]) => {
    const part = element("span", {className: fill});
    part.style.width = `${100 * share}%`;
    return part;
  });
  return element("span", {className: "bar", ariaHidden: "true"}, ...parts);
}

// Return the button that folds and unfolds the subtree of a list item.
function folder(item, title) {
  const button = element("button", {type: "button", className: "fold", onclick: () => fold(item)}, "−");
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-label", `subtree of ${title}`);
  return button;
}

// Fold the subtree of a list item, or unfold it.
function fold(item, folded = !item.classList.contains("folded")) {
  const button = item.querySelector(":scope > .line > .fold");
  if (!button) return;
  item.classList.toggle("folded", folded);
  button.textContent = folded ? "+" : "−";
  button.setAttribute("aria-expanded", String(!folded));
}

// Return the list item of a box, and those of its children; the box then has its `item` and the `shown` element.
function treeItem(box) {
  const {title, condition, choose, children = []} = box, line = element("div", {className: "line"});
  const item = element("li", {className: box.folds && children.length ? "folds" : ""}, line);
  if (condition) line.append(element("span", {className: "condition"}, condition));
  if (box.folds && children.length) line.append(folder(item, title));
  const shown = element(choose ? "button" : "span", choose ? {type: "button", onclick: choose} : {});
  shown.className = `box ${children.length ? "split" : "leaf"} ${box.fill} ${box.mark ?? ""}`;
  if (box.isCurrent) shown.setAttribute("aria-current", "true");
  if (box.before) shown.append(box.before);
  shown.append(element("span", {className: "title"}, title));
  if (box.bar?.length) shown.append(drawnBar(box.bar));
  if (box.note) shown.append(element("span", {className: "note"}, box.note));
  line.append(shown);
  if (children.length) item.append(element("ul", {}, ...children.map(treeItem)));
  return Object.assign(box, {item, shown}).item;
}
