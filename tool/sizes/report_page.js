// report_page.js - the map of sizes: a squarified treemap of folders, files and functions.
//
// The page has its numbers as JSON: of each compilation unit its path and its functions. From the paths
// comes a tree of folders. The map shows one node of it at a time: each child is a button, and in it, as
// far as there is room, the child's own children. Areas are laid out as Bruls, Huizing and van Wijk do
// ("Squarified Treemaps", 2000): a row of tiles grows along the shorter side for as long as this makes
// its worst tile squarer.
//
// The map is one stop of the Tab key. Arrows go to the nearest tile in their direction.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const map = byId("map");
  const commas = (number) => number.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  let measure = "packed";

  // ---- The tree ----

  function node(name, kind, parent) {
    return { name, kind, parent, children: [], records: 0, raw: 0, packed: 0 };
  }

  function addFunction(parent, [name, records, raw, packed, count]) {
    const leaf = node(name, count > 1 ? "functions" : "function", parent);
    Object.assign(leaf, { records, raw, packed: packed / 8 });
    parent.children.push(leaf);
  }

  function folderOf(root, folders, path) {
    if (path === "") return root;
    if (!folders.has(path)) {
      const cut = path.lastIndexOf("/");
      const parent = folderOf(root, folders, path.slice(0, Math.max(cut, 0)));
      const folder = node(path.slice(cut + 1) || "/", "folder", parent);
      parent.children.push(folder);
      folders.set(path, folder);
    }
    return folders.get(path);
  }

  function sum(node) {
    for (const child of node.children) {
      sum(child);
      node.records += child.records;
      node.raw += child.raw;
      node.packed += child.packed;
    }
  }

  // A folder in which there is just another folder is one with it.
  function shorten(node) {
    while (node.kind === "folder" && node.parent && node.children.length === 1 && node.children[0].kind === "folder") {
      const only = node.children[0];
      node.name += "/" + only.name;
      node.children = only.children;
      for (const child of node.children) child.parent = node;
    }
    node.children.forEach(shorten);
  }

  function build() {
    const root = node(data.name, "folder", null);
    const folders = new Map();
    for (const [path, functions] of data.units) {
      let file = root;
      if (path !== null || data.units.length > 1) {
        const full = path === null ? "(file unknown)" : path;
        const cut = path === null ? -1 : full.lastIndexOf("/");
        const folder = folderOf(root, folders, full.slice(0, Math.max(cut, 0)));
        file = node(full.slice(cut + 1), "file", folder);
        folder.children.push(file);
      }
      for (const row of functions) addFunction(file, row);
    }
    const [raw, packed] = data.rest;
    if (raw + packed > 0) addFunction(root, ["(the table itself)", 0, raw, packed, 1]);
    root.children[root.children.length - 1].kind = "rest";
    sum(root);
    shorten(root);
    return root;
  }

  // ---- Layout ----

  // The worst ratio of sides in a row of areas along a side.
  function worst(sum, least, most, side) {
    return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
  }

  function squarify(children, x, y, width, height) {
    const items = children.filter((child) => child[measure] > 0).sort((a, b) => b[measure] - a[measure] || (a.name < b.name ? -1 : 1));
    const total = items.reduce((sum, child) => sum + child[measure], 0);
    const scale = (width * height) / total;
    const tiles = [];
    for (let i = 0; i < items.length && width > 0 && height > 0;) {
      const side = Math.min(width, height);
      let rowSum = 0;
      let end = i;
      while (end < items.length) {
        const area = items[end][measure] * scale;
        const most = items[i][measure] * scale;
        if (end > i && worst(rowSum + area, area, most, side) > worst(rowSum, items[end - 1][measure] * scale, most, side)) break;
        rowSum += area;
        end++;
      }
      const depth = rowSum / side;
      let at = 0;
      for (; i < end; i++) {
        const length = (items[i][measure] * scale) / depth;
        tiles.push(width < height
          ? { node: items[i], x: x + at, y, width: length, height: depth }
          : { node: items[i], x, y: y + at, width: depth, height: length });
        at += length;
      }
      if (width < height) { y += depth; height -= depth; } else { x += depth; width -= depth; }
    }
    return tiles;
  }

  // ---- Drawing ----

  const root = build();
  const steps = [0.6, 0.9, 1.2, 2]; // of the average
  let current = root;
  let tiles = [];
  let active = 0;

  const average = () => (root.records > 0 ? root[measure] / root.records : 0);

  function heat(node) {
    if (node.records === 0) return "h1";
    const ratio = node[measure] / node.records / average();
    return "h" + (1 + steps.filter((step) => ratio >= step).length);
  }

  function size(bytes) {
    return bytes >= 100 || Number.isInteger(bytes) ? commas(bytes) : bytes.toFixed(1);
  }

  function share(node) {
    return root[measure] > 0 ? ((100 * node[measure]) / root[measure]).toFixed(1) + " %" : "";
  }

  function describe(node) {
    const sizes = (data.hasRaw ? size(node.raw) + " bytes raw, " : "") + size(node.packed) + " bytes packed";
    const records = node.records > 0 ? ", " + commas(node.records) + (node.records === 1 ? " record" : " records") : "";
    return node.name + ": " + sizes + records + ", " + share(node) + " of all";
  }

  const canEnter = (node) => node.children.length > 0;

  function place(element, tile, width, height) {
    element.style.left = (100 * tile.x) / width + "%";
    element.style.top = (100 * tile.y) / height + "%";
    element.style.width = (100 * tile.width) / width + "%";
    element.style.height = (100 * tile.height) / height + "%";
  }

  function label(element, node, tile) {
    if (tile.width < 40 || tile.height < 18) return;
    const text = document.createElement("span");
    text.className = "label";
    text.textContent = node.name;
    element.append(text);
  }

  const head = 18;

  function drawInside(button, tile) {
    if (tile.width < 24 || tile.height < head + 12) return false;
    const inside = squarify(tile.node.children, 1, head, tile.width - 4, tile.height - head - 3);
    for (const inner of inside) {
      if (inner.width < 2 || inner.height < 2) continue;
      const cell = document.createElement("span");
      cell.className = "cell " + heat(inner.node);
      cell.setAttribute("aria-hidden", "true");
      place(cell, inner, tile.width - 2, tile.height - 2);
      if (inner.width > 72) label(cell, inner.node, inner);
      button.append(cell);
    }
    return true;
  }

  function draw() {
    const width = map.clientWidth;
    const height = map.clientHeight;
    map.replaceChildren();
    tiles = squarify(current.children, 0, 0, width, height);
    tiles.forEach((tile, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = index === active ? 0 : -1;
      button.dataset.index = index;
      button.setAttribute("aria-label", describe(tile.node) + (canEnter(tile.node) ? ", " + tile.node.kind : ""));
      place(button, tile, width, height);
      if (!canEnter(tile.node)) button.className = "leaf " + heat(tile.node);
      else button.className = drawInside(button, tile) ? "folder" : heat(tile.node);
      label(button, tile.node, tile);
      map.append(button);
    });
  }

  function drawPath() {
    const path = byId("path");
    path.replaceChildren();
    const nodes = [];
    for (let at = current; at; at = at.parent) nodes.unshift(at);
    for (const at of nodes) {
      const item = document.createElement("li");
      const text = document.createElement(at === current ? "span" : "button");
      text.textContent = at.name;
      if (at === current) text.setAttribute("aria-current", "location");
      else {
        text.type = "button";
        text.addEventListener("click", () => show(at, true));
      }
      item.append(text);
      path.append(item);
    }
  }

  function cell(row, tag, text, kind) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text instanceof Node) element.append(text);
    else element.textContent = text;
    row.append(element);
  }

  function drawTable() {
    const rows = byId("level-rows");
    const most = 200;
    rows.replaceChildren();
    for (const { node } of tiles.slice(0, most)) {
      const row = document.createElement("tr");
      let name = node.name;
      if (canEnter(node)) {
        name = document.createElement("button");
        name.type = "button";
        name.textContent = node.name;
        name.addEventListener("click", () => show(node, true));
      }
      cell(row, "td", name, "name");
      cell(row, "td", commas(node.records), "number");
      if (data.hasRaw) cell(row, "td", size(node.raw), "number");
      cell(row, "td", size(node.packed), "number");
      cell(row, "td", share(node), "number");
      rows.append(row);
    }
    if (tiles.length > most) {
      const row = document.createElement("tr");
      cell(row, "td", "and " + commas(tiles.length - most) + " more", "name");
      rows.append(row);
    }
  }

  function drawLegend() {
    const legend = byId("legend");
    const unit = average();
    const texts = steps.map((step) => (step * unit).toFixed(unit < 10 ? 1 : 0));
    legend.replaceChildren();
    [...texts, ""].forEach((text, index) => {
      const step = document.createElement("span");
      step.className = "h" + (index + 1);
      step.textContent = text === "" ? texts[index - 1] + " and more bytes a record" : "below " + text;
      legend.append(step);
    });
  }

  function tell(node) {
    byId("map-detail").textContent = describe(node);
  }

  function redraw() {
    draw();
    drawTable();
  }

  // Shows a node, and puts the focus where it was: on the node that was left, or the first one.
  function show(node, focus) {
    const from = current;
    current = node;
    active = 0;
    tiles = squarify(current.children, 0, 0, map.clientWidth, map.clientHeight);
    tiles.forEach((tile, index) => {
      for (let at = from; at; at = at.parent) if (at === tile.node) active = index;
    });
    drawPath();
    redraw();
    tell(current);
    if (focus) map.children[active]?.focus();
  }

  // ---- Keys and clicks ----

  function activate(index, focus) {
    map.children[active]?.setAttribute("tabindex", "-1");
    active = index;
    map.children[active].tabIndex = 0;
    if (focus) map.children[active].focus();
  }

  // The tile that an arrow leads to: it must be on that side, and overlap; or be nearest.
  function neighbour(from, dx, dy) {
    const centre = (tile) => [tile.x + tile.width / 2, tile.y + tile.height / 2];
    const [x, y] = centre(from);
    let best = -1;
    let least = Infinity;
    tiles.forEach((tile, index) => {
      const gap = dx !== 0 ? (dx > 0 ? tile.x - (from.x + from.width) : from.x - (tile.x + tile.width))
        : dy > 0 ? tile.y - (from.y + from.height) : from.y - (tile.y + tile.height);
      if (gap < -0.5) return;
      const [cx, cy] = centre(tile);
      const aside = dx !== 0 ? Math.max(0, tile.y - y, y - (tile.y + tile.height)) : Math.max(0, tile.x - x, x - (tile.x + tile.width));
      const distance = gap + 4 * aside + (Math.abs(cx - x) + Math.abs(cy - y)) / 1e4;
      if (distance < least) { least = distance; best = index; }
    });
    return best;
  }

  function key(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in arrows && tiles.length > 0) {
      const next = neighbour(tiles[active], ...arrows[event.key]);
      if (next >= 0) activate(next, true);
    } else if (event.key === "Home") activate(0, true);
    else if (event.key === "End") activate(tiles.length - 1, true);
    else if ((event.key === "Escape" || event.key === "Backspace") && current.parent) show(current.parent, true);
    else return;
    event.preventDefault();
  }

  const indexOf = (event) => {
    const button = event.target.closest("#map button");
    return button ? Number(button.dataset.index) : -1;
  };

  function start() {
    for (const id of ["map", "map-tools", "map-under"]) byId(id).hidden = false;
    if (!data.hasRaw) {
      byId("measures").hidden = true;
      for (const element of document.querySelectorAll("#level .raw")) element.remove();
    }
    map.addEventListener("keydown", key);
    map.addEventListener("click", (event) => {
      const index = indexOf(event);
      if (index < 0) return;
      activate(index, false);
      if (canEnter(tiles[index].node)) show(tiles[index].node, true);
    });
    map.addEventListener("focusin", (event) => {
      const index = indexOf(event);
      if (index >= 0) { activate(index, false); tell(tiles[index].node); }
    });
    map.addEventListener("mouseover", (event) => {
      const index = indexOf(event);
      if (index >= 0) tell(tiles[index].node);
    });
    for (const radio of document.querySelectorAll("#measures input"))
      radio.addEventListener("change", () => {
        measure = radio.value;
        drawLegend();
        show(current, false);
      });
    let width = 0;
    new ResizeObserver(() => {
      if (map.clientWidth === width) return;
      width = map.clientWidth;
      redraw();
    }).observe(map);
    drawLegend();
    show(root, false);
  }

  start();
})();
