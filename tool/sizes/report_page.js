// report_page.js - draws a report from its numbers: the object that `stackpack stats --format=json` prints.
//
// The page has that object as JSON, and of two builds what changed, too. Below come first the pieces that everything is
// made of (elements, numbers, tables, strips), then one function for each section of the page, then the map.
//
// The map is a squarified treemap of folders, files and functions, laid out as Bruls, Huizing and van Wijk do
// ("Squarified Treemaps", 2000): a row of tiles grows along the shorter side for as long as this makes its worst tile
// squarer. It shows one node of the tree at a time: each child is a button, and in it, as far as there is room, the
// child's own children. Children that would be too small to see are one tile together. The map is one stop of the Tab
// key; arrows go to the nearest tile in their direction.
"use strict";
(function () {
  const { stats, growth } = JSON.parse(document.getElementById("data").textContent);
  const { counts, drop } = stats;
  const hasRaw = stats.raw !== null;
  const byId = (id) => document.getElementById(id);

  // ---- Elements, texts and numbers ----

  function make(tag, attributes, ...children) {
    const element = ["svg", "rect", "line", "text", "title", "g"].includes(tag)
      ? document.createElementNS("http" + "://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // Names come from a file, and may hold anything; what can't be shown is written as \x1b.
  const clean = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
  const nameOf = (row) => (row.name === null ? (row.section ? clean(row.section) + "+" : "") + "0x" + row.address.toString(16) : clean(row.name));
  const unitOf = (unit) => (unit === null ? "(file unknown)" : clean(unit));
  const number = (value) => value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  const size = (bytes) => (Math.abs(bytes) >= 100 || Number.isInteger(bytes) ? number(bytes) : bytes.toFixed(1));
  const percent = (part, whole) => (whole > 0 ? ((100 * part) / whole).toFixed(1) + "\u00a0%" : "");
  const plural = (count, noun) => number(count) + " " + noun + (count === 1 ? "" : "s");
  const signed = (value, text) => (value > 0 ? "+" : value < 0 ? "\u2212" : "") + text(Math.abs(value));

  function shortSize(bytes) {
    const units = ["bytes", "KB", "MB", "GB", "TB"];
    let unit = 0;
    for (; bytes >= 1000 && unit + 1 < units.length; unit++) bytes /= 1000;
    return (unit === 0 || bytes >= 100 ? bytes.toFixed(0) : bytes.toFixed(1)) + "\u00a0" + units[unit];
  }

  // ---- Tables ----

  // A column: {title, value(row), text(row), wide}; the first one has names, whose text may be an element. A click on a
  // title sorts by it. A long table shows its first rows, until all are asked for.
  function table(caption, columns, rows, first, shown = 25) {
    const body = make("tbody");
    const all = make("button", { type: "button", class: "all" });
    let sorted = rows;
    let by = -1;
    let down = true;
    let most = shown;
    const heads = columns.map((column, index) =>
      make("th", { scope: "col", class: index > 0 ? "number" + (column.wide ? " wide" : "") : null },
        column.value ? make("button", { type: "button", onclick: () => sort(index) }, column.title) : column.title));
    const line = (row) => make("tr", null, ...columns.map((column, index) => {
      const text = column.text(row);
      return index === 0 ? make("th", { scope: "row", class: "name" }, text) : make("td", { class: "number" + (column.wide ? " wide" : "") }, text);
    }));
    function fill() {
      body.replaceChildren(...sorted.slice(0, most).map(line));
      all.hidden = sorted.length <= most;
      all.textContent = "Show all " + number(sorted.length);
    }
    function sort(index) {
      down = by === index ? !down : index > 0;
      by = index;
      const value = columns[index].value;
      const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
      sorted = [...rows].sort((a, b) => (down ? -order(a, b) : order(a, b)));
      heads.forEach((head, i) => (i === index ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
      fill();
    }
    all.addEventListener("click", () => { most = Infinity; fill(); });
    fill();
    return make("div", { class: "scroll" },
      make("table", null, make("caption", null, caption), make("thead", null, make("tr", null, ...heads)), body, ...(first ? [first] : [])), all);
  }

  const column = (title, value, text, wide) => ({ title, value, text: (row) => text(value(row), row), wide });
  const plain = (title, text, wide) => ({ title, text, wide });

  // A bar of shares, and for each its colour: the largest ones have one of their own.
  function colours(rows, value) {
    const order = [...rows].sort((a, b) => value(b) - value(a));
    return (row) => Math.min(order.indexOf(row), 7);
  }

  function strip(rows, value, colour, label) {
    const total = rows.reduce((sum, row) => sum + value(row), 0) || 1;
    let at = 0;
    return make("svg", { class: "strip", viewBox: "0 0 1000 28", preserveAspectRatio: "none", role: "img", "aria-label": label + "; the table has the numbers" },
      ...rows.map((row) => {
        const width = (1000 * value(row)) / total;
        at += width;
        return make("rect", { class: "p" + colour(row), x: at - width, y: 0, width: width > 3 ? width - 1.5 : width, height: 28 });
      }));
  }

  const swatch = (colour, ...text) => make("span", null,
    make("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" }, make("rect", { class: "p" + colour, x: 0, y: 0, width: 12, height: 12 })), ...text);

  // ---- The head ----

  function drawHead() {
    const name = clean(counts.file.slice(counts.file.lastIndexOf("/") + 1));
    document.title = "Stack maps of " + name;
    byId("title").textContent = name;
    byId("lead").textContent = plural(counts.records, "record") + " of " + plural(counts.functions, "function") +
      (!hasRaw ? "." : drop === null ? "; packed, they take " + percent(stats.packed.size, stats.raw.size) + " of what they take now."
        : ", after " + number(drop.dropped) + " of " + number(drop.records) + " were dropped; packed, a record takes " +
          percent(stats.packed.size * drop.records, stats.raw.size * counts.records) + " of what one takes now.");
    const fact = (title, text) => make("div", null, make("dt", null, title), make("dd", { class: "name" }, text));
    byId("facts").append(
      fact("File", clean(counts.file)), ...(growth ? [fact("Compared with", clean(growth.before.counts.file))] : []),
      fact("Build ID", counts.build_id === null ? "none" : counts.build_id),
      fact("Options", stats.options.length > 0 ? stats.options.map(clean).join(" ") : "none"),
      fact("Packed format", "version " + stats.packed_version), fact("Written by", "stackpack " + stats.stackpack));
    const figure = (title, value, more) => make("div", null, make("dt", null, title), make("dd", { class: "value" }, value), make("dd", { class: "more" }, more));
    const share = (bytes) => percent(bytes, counts.file_size) + " of the file" + (counts.text_size > 0 ? ", " + percent(bytes, counts.text_size) + " of .text" : "");
    const rawRecords = drop !== null ? drop.records : counts.records;
    byId("figures").append(
      ...(hasRaw ? [figure("Raw", shortSize(stats.raw.size), share(stats.raw.size))] : []),
      figure("Packed", shortSize(stats.packed.size), share(stats.packed.size)),
      figure("A record", (counts.records > 0 ? stats.packed.size / counts.records : 0).toFixed(2) + "\u00a0bytes",
        hasRaw ? "raw: " + (rawRecords > 0 ? stats.raw.size / rawRecords : 0).toFixed(1) : "packed"),
      figure("References", number(counts.pairs), percent(counts.derived, counts.pairs) + " derived"),
      ...(drop !== null ? [figure("Dropped", percent(drop.dropped, drop.records), plural(drop.dropped, "record"))] : []));
    for (const section of document.querySelectorAll("main section[id]"))
      if (section.dataset.title && (section.id !== "growth" || growth))
        byId("navigation").append(make("li", null, make("a", { href: "#" + section.id }, section.dataset.title)));
  }

  // ---- Two builds ----

  const changeColumns = (name) => [
    plain("Name", name),
    column("Before", (row) => row.before, size), column("After", (row) => row.after, size),
    column("Change", (row) => row.after - row.before, (value) => signed(value, size)),
    plain("%", (row) => (row.before > 0 ? signed(row.after - row.before, (value) => percent(value, row.before)) : ""), true)];

  function drawGrowth() {
    if (!growth) { byId("growth").remove(); return; }
    const { before, after } = growth;
    byId("growth-lead").textContent = "Packed, the stack maps took " + plural(before.packed.size, "byte") + ", and take " +
      number(after.packed.size) + " now" + (growth.growth_percent !== 0 ? ": " + signed(growth.growth_percent, (value) => value.toFixed(1) + "\u00a0%") : "") + ".";
    const parts = after.packed.parts.map((part, index) => ({ name: part.name, before: before.packed.parts[index].size, after: part.size }));
    const tables = byId("growth-tables");
    tables.append(table("By part, packed", changeColumns((row) => row.name),
      [...parts.filter((part) => part.before + part.after > 0), { name: "Sum", before: before.packed.size, after: after.packed.size }]));
    for (const [what, rows] of [["files", growth.units], ["functions", growth.functions]])
      for (const kind of ["new", "grown", "shrunk", "gone"])
        if (rows[kind] > 0 && (what === "functions" || stats.units.length > 1))
          tables.append(table(kind[0].toUpperCase() + kind.slice(1) + " " + what + ": " + rows[kind],
            changeColumns(what === "files" ? (row) => unitOf(row.name) : nameOf), rows.changes.filter((row) => row.change === kind), null, 10));
  }

  // ---- Tables of files and functions ----

  function drawRows() {
    const sizes = [column("Records", (row) => row.records, number, true),
      ...(hasRaw ? [column("Raw", (row) => row.raw, size)] : []), column("Packed", (row) => row.packed, size),
      plain("Share", (row) => percent(row.packed, stats.packed.size)),
      column("Pairs", (row) => row.pairs, number), column("Derived", (row) => row.derived, number),
      column("Live sets", (row) => row.live_sets, number), column("Slots", (row) => row.slots, number)];
    const name = (row) => (row.unit === null ? nameOf(row) : make("span", null, nameOf(row), make("span", { class: "unit name" }, clean(row.unit))));
    const rows = byId("rows");
    if (stats.units.length > 1)
      rows.append(table(plural(stats.units.length, "file"), [column("Name", (row) => unitOf(row.name), (text) => text), ...sizes], stats.units));
    rows.append(table(plural(counts.functions, "function"), [column("Name", nameOf, (text, row) => name(row)), ...sizes], stats.functions));
  }

  // ---- Parts ----

  function sizeParts(sizes, records, title) {
    const parts = sizes.parts.filter((part) => part.size > 0);
    const colour = colours(parts, (part) => part.size);
    const each = (bytes) => (records > 0 ? bytes / records : 0).toFixed(2);
    const sum = make("tfoot", null, make("tr", null, make("th", { scope: "row" }, "Sum"), make("td", { class: "number" }, size(sizes.size)),
      make("td", { class: "number" }, percent(sizes.size, sizes.size)), make("td", { class: "number" }, each(sizes.size))));
    return make("div", null, make("h3", null, title), strip(parts, (part) => part.size, colour, title),
      table("In bytes", [plain("Part", (part) => swatch(colour(part), part.name)), column("Bytes", (part) => part.size, size),
        plain("Share", (part) => percent(part.size, sizes.size)), plain("A record", (part) => each(part.size))], parts, sum));
  }

  function drawParts() {
    const records = drop !== null ? drop.records : counts.records;
    byId("parts-columns").append(...(hasRaw ? [sizeParts(stats.raw, records, "Raw, as LLVM writes them")] : []),
      sizeParts(stats.packed, counts.records, "Packed"));
  }

  // ---- What repeats, and distributions ----

  function drawRepetition() {
    const all = stats.repetition;
    const total = (name) => stats.distributions.find((one) => one.name === name).total;
    const rows = [["Live sets", all.live_sets, counts.records, "records"], ["Layouts of functions", all.layouts, counts.functions, "functions"],
      ["Frame sizes", all.frame_sizes, total("frame size"), "functions"], ["Locations", all.locations, counts.pairs, "pairs"]];
    const left = [[all.records_discarded, "of functions that the linker had discarded"], [all.records_repeated, "that repeated others"]];
    byId("repeats-table").append(
      table("Different ones, and how many there are of them", [plain("Name", (row) => row[0]), plain("Different", (row) => number(row[1])),
        plain("Of", (row) => number(row[2]) + " " + row[3]), plain("Share", (row) => percent(row[1], row[2]), true)], rows.filter((row) => row[2] > 0)),
      make("p", null, plural(all.records_like_the_one_before, "record") + " have the live set of the one before in their function. " +
        plural(all.shared_layouts, "layout") + " serve " + plural(all.functions_with_shared_layouts, "function") + "." +
        left.filter(([count]) => count > 0).map(([count, why]) => " Left out: " + plural(count, "record") + " " + why + ".").join("")));
  }

  // Distributions have long tails: where there are too many values for a bar each, bars are for powers of two.
  function barsOf(list) {
    const first = list[0][0];
    const last = list[list.length - 1][0];
    const bars = [];
    if (last - first <= 24) for (let value = first; value <= last; value++) bars.push({ least: value, most: value, count: 0 });
    else for (let least = 0, most = 0; least <= last; least = most + 1, most = Math.max(1, most * 2)) if (most >= first) bars.push({ least, most, count: 0 });
    for (const [value, count] of list) bars.find((bar) => value <= bar.most).count += count;
    return bars;
  }

  function quantile({ counts: list, total }, part) {
    let sum = 0;
    return (list.find(([, count]) => (sum += count) >= part * total) || [0])[0];
  }

  function plot(one) {
    const [width, height, left, right, top, bottom] = [340, 180, 58, 8, 10, 40];
    const bars = barsOf(one.counts);
    const most = Math.max(...bars.map((bar) => bar.count));
    const power = 10 ** Math.floor(Math.log10(Math.max(most / 4, 1)));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value * 4 >= most);
    const roof = Math.ceil(most / step) * step;
    const y = (count) => top + (height - top - bottom) * (1 - count / roof);
    const wide = (width - left - right) / bars.length;
    const title = one.name[0].toUpperCase() + one.name.slice(1) + " of a " + one.of;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "How many " + one.of + "s have which " + one.name });
    for (let value = 0; value <= roof; value += step)
      svg.append(make("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        make("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)));
    bars.forEach((bar, index) => {
      const range = number(bar.least) + (bar.least < bar.most ? "\u2013" + number(bar.most) : "");
      svg.append(make("rect", { class: "bar", x: left + wide * (index + 0.08), y: y(bar.count), width: wide * 0.84, height: height - bottom - y(bar.count) },
        make("title", null, range + ": " + plural(bar.count, one.of))));
      if (index % Math.ceil(bars.length / 9) === 0)
        svg.append(make("text", { x: left + wide * (index + 0.5), y: height - bottom + 14, "text-anchor": "middle" }, bar.most >= 10000 ? Math.floor(bar.most / 1024) + "K" : String(bar.most)));
    });
    svg.append(make("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
      make("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" },
        one.name + (one.name === "frame size" ? " in bytes" : "") + (bars.some((bar) => bar.least < bar.most) ? " (up to)" : "")),
      make("text", { transform: `translate(10 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, one.of + "s"));
    const mean = one.counts.reduce((sum, [value, count]) => sum + value * count, 0) / one.total;
    return make("figure", null, make("h3", null, title), svg, make("figcaption", null,
      `Median ${number(quantile(one, 0.5))}, mean ${mean.toFixed(1)}; 90\u00a0% have at most ${number(quantile(one, 0.9))}, ` +
      `99\u00a0% at most ${number(quantile(one, 0.99))}, and none more than ${number(quantile(one, 1))}.`));
  }

  // ---- What was dropped ----

  function drawDropped() {
    const place = byId("dropped-rows");
    if (drop === null) {
      place.append(make("p", null, "Nothing: no policy was given. Where the functions are named in which a thread may be when a collection happens, the records of calls that can\u2019t lead there are left out:"),
        make("pre", { class: "code" }, "stackpack report --gc-entry=FUNCTION -o PAGE.html " + clean(counts.file)));
      return;
    }
    const reasons = [...drop.reasons].sort((a, b) => b.dropped - a.dropped);
    const colour = colours(reasons, (reason) => reason.records);
    const blamed = (title, rows) => (rows.length > 0 ? [table(title, [plain("Name", nameOf), column("Records", (row) => row.records, number)], rows, null, 10)] : []);
    place.append(
      make("p", null, `${number(drop.dropped)} of ${plural(drop.records, "record")} (${percent(drop.dropped, drop.records)}) were dropped: no collection can happen while a function waits there.`),
      strip(reasons, (reason) => reason.records, colour, "Records by what became of them"),
      table("Records, and why they were dropped or kept", [plain("Reason", (reason) => swatch(colour(reason), (reason.dropped ? "dropped: " : "kept: ") + reason.reason)),
        column("Records", (reason) => reason.records, number), plain("Share", (reason) => percent(reason.records, drop.records))], reasons),
      make("div", { class: "columns" }, ...blamed("Functions whose indirect calls keep most", drop.indirect_calls), ...blamed("Functions elsewhere that keep most", drop.outside)),
      ...(drop.handles_signals ? [make("p", { class: "note" }, "The program handles signals. A handler must not collect, nor wait for a collection, before the thread is in a GC entry.")] : []));
  }

  // ---- The map: its trees ----

  const node = (name, kind, parent) => ({ name, kind, parent, children: [], count: 0, records: 0, raw: 0, packed: 0, change: 0, net: 0 });

  function addFunction(file, name, sizes) {
    const leaf = Object.assign(node(name, "function", file), { count: 1 }, sizes);
    file.children.push(leaf);
  }

  // A tree of folders and files, and a function that finds a unit's file in it.
  function tree(several) {
    const root = node(byId("title").textContent, "folder", null);
    const known = new Map([["", root]]);
    function folder(path) {
      if (!known.has(path)) {
        const cut = path.lastIndexOf("/");
        const parent = folder(path.slice(0, Math.max(cut, 0)));
        known.set(path, node(path.slice(cut + 1) || "/", "folder", parent));
        parent.children.push(known.get(path));
      }
      return known.get(path);
    }
    const files = new Map();
    return [root, (unit) => {
      if (!several && unit === null) return root;
      if (!files.has(unit)) {
        const path = unitOf(unit);
        const cut = unit === null ? -1 : path.lastIndexOf("/");
        const parent = folder(path.slice(0, Math.max(cut, 0)));
        files.set(unit, node(path.slice(cut + 1), "file", parent));
        parent.children.push(files.get(unit));
      }
      return files.get(unit);
    }];
  }

  function finish(at) {
    for (const child of at.children) {
      finish(child);
      for (const key of ["count", "records", "raw", "packed", "change", "net"]) at[key] += child[key];
    }
    // A folder in which there is just another folder is one with it.
    const only = at.children[0];
    if (at.kind === "folder" && at.parent && at.children.length === 1 && only.kind === "folder") {
      at.name += "/" + only.name;
      at.children = only.children;
      for (const child of at.children) child.parent = at;
    }
    return at;
  }

  function treeOfSizes() {
    const [root, fileOf] = tree(stats.units.length > 1);
    for (const row of stats.functions) addFunction(fileOf(row.unit), nameOf(row), { records: row.records, raw: row.raw || 0, packed: row.packed });
    const others = stats.other_functions;
    if (others.functions > 0) addFunction(root, plural(others.functions, "smaller function"), { count: others.functions, records: others.records, raw: others.raw || 0, packed: others.packed });
    addFunction(root, "(the table itself)", { count: 0, raw: hasRaw ? stats.raw.rest + stats.raw.discarded : 0, packed: stats.packed.rest });
    return finish(root);
  }

  function treeOfChanges() {
    const [root, fileOf] = tree(stats.units.length > 1);
    for (const row of growth.functions.changes) addFunction(fileOf(row.unit), nameOf(row), { change: Math.abs(row.after - row.before), net: row.after - row.before, packed: row.after });
    return finish(root);
  }

  // ---- Layout ----

  let measure = "packed";

  // The worst ratio of sides in a row of areas along a side.
  const worst = (sum, least, most, side) => Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));

  // The children that have an area; those that are smaller than `least` square pixels are one.
  function visible(parent, pixels, least) {
    const items = parent.children.filter((child) => child[measure] > 0).sort((a, b) => b[measure] - a[measure] || (a.name < b.name ? -1 : 1));
    const scale = pixels / items.reduce((sum, child) => sum + child[measure], 0);
    const small = items.filter((child) => child[measure] * scale < least);
    if (small.length < 2 || small.length === items.length) return items;
    const kind = small.every((child) => child.kind === small[0].kind) ? small[0].kind : "item";
    const group = node(plural(small.length, "smaller " + kind), "group", parent);
    group.children = small;
    for (const key of ["count", "records", "raw", "packed", "change", "net"]) group[key] = small.reduce((sum, child) => sum + child[key], 0);
    return [...items.slice(0, -small.length), group].sort((a, b) => b[measure] - a[measure]);
  }

  function squarify(parent, x, y, width, height, least) {
    const items = width > 0 && height > 0 ? visible(parent, width * height, least) : [];
    const total = items.reduce((sum, child) => sum + child[measure], 0);
    const scale = (width * height) / total;
    const result = [];
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
        result.push(width < height
          ? { node: items[i], x: x + at, y, width: length, height: depth }
          : { node: items[i], x, y: y + at, width: depth, height: length });
        at += length;
      }
      if (width < height) { y += depth; height -= depth; } else { x += depth; width -= depth; }
    }
    return result;
  }

  // ---- Drawing ----

  const map = byId("map");
  const steps = [0.6, 0.9, 1.2, 2]; // of the average
  const letters = document.createElement("canvas").getContext("2d");
  let root;
  let current;
  let tiles = [];
  let active = 0;
  let wanted = "";

  const average = () => (root.records > 0 ? root[measure] / root.records : 0);
  const isHit = (at) => at.name.toLowerCase().includes(wanted);
  const hasHit = (at) => isHit(at) || at.children.some(hasHit);

  function heat(at) {
    const dim = wanted !== "" && !hasHit(at) ? " dim" : "";
    if (measure === "change") return (at.net > 0 ? "up" : at.net < 0 ? "down" : "h1") + dim;
    if (at.records === 0) return "h1" + dim;
    const ratio = at[measure] / at.records / average();
    return "h" + (1 + steps.filter((step) => ratio >= step).length) + dim;
  }

  function describe(at) {
    const share = ", " + percent(at[measure], root[measure]) + " of all" + (measure === "change" ? " change" : "");
    if (measure === "change") return at.name + ": " + signed(at.net, size) + " bytes packed, " + size(at.packed) + " now" + share;
    const records = at.records > 0 ? ", " + plural(at.records, "record") : "";
    const functions = at.children.length > 0 ? " of " + plural(at.count, "function") : "";
    return at.name + ": " + (hasRaw ? size(at.raw) + " bytes raw, " : "") + size(at.packed) + " bytes packed" + records + functions + share;
  }

  const canEnter = (at) => at.children.length > 0;

  function place(element, tile, width, height) {
    element.style.left = (100 * tile.x) / width + "%";
    element.style.top = (100 * tile.y) / height + "%";
    element.style.width = (100 * tile.width) / width + "%";
    element.style.height = (100 * tile.height) / height + "%";
  }

  // A label that doesn't fit is shortened, to three letters at least.
  function label(element, at, tile) {
    const fits = (text) => letters.measureText(text).width * 1.1 + 10 <= tile.width;
    const all = [...at.name];
    let [from, to] = fits(at.name) ? [all.length, all.length] : [0, all.length - 1];
    while (from < to) {
      const middle = Math.ceil((from + to) / 2);
      if (fits(all.slice(0, middle).join("") + "\u2026")) from = middle;
      else to = middle - 1;
    }
    if (tile.height >= 18 && (from >= 3 || from === all.length))
      element.append(make("span", { class: "label" }, from === all.length ? at.name : all.slice(0, from).join("") + "\u2026"));
  }

  const head = 18;
  const cells = new WeakMap(); // what a cell inside a tile shows

  function drawInside(button, tile) {
    if (tile.width < 24 || tile.height < head + 12) return false;
    for (const inner of squarify(tile.node, 1, head, tile.width - 4, tile.height - head - 3, 24)) {
      const cell = make("span", { class: "cell " + heat(inner.node), "aria-hidden": "true" });
      place(cell, inner, tile.width - 2, tile.height - 2);
      label(cell, inner.node, inner);
      cells.set(cell, inner.node);
      button.append(cell);
    }
    return true;
  }

  const layOut = () => (tiles = squarify(current, 0, 0, map.clientWidth, map.clientHeight, 140));

  function draw() {
    letters.font = getComputedStyle(byId("map-detail")).font.replace(/\d+px/, "12px");
    layOut();
    map.replaceChildren(...tiles.map((tile, index) => {
      const at = tile.node;
      const button = make("button", { type: "button", tabindex: index === active ? 0 : -1, "data-index": index,
        "aria-label": describe(at) + (canEnter(at) ? ", " + at.kind : "") });
      place(button, tile, map.clientWidth, map.clientHeight);
      if (!canEnter(at)) button.className = "leaf " + heat(at);
      else button.className = drawInside(button, tile) ? "folder" : heat(at);
      label(button, at, tile);
      return button;
    }));
    byId("level-table").replaceChildren(table("What the map shows", [
      plain("Name", ({ node: at }) => (canEnter(at) ? make("button", { type: "button", onclick: () => show(at, true) }, at.name) : at.name)),
      ...(measure === "change" ? [plain("Change", ({ node: at }) => signed(at.net, size)), plain("Now", ({ node: at }) => size(at.packed))]
        : [plain("Records", ({ node: at }) => number(at.records)), ...(hasRaw ? [plain("Raw", ({ node: at }) => size(at.raw))] : []), plain("Packed", ({ node: at }) => size(at.packed))]),
      plain("Share", ({ node: at }) => percent(at[measure], root[measure]))], tiles, null, 200));
  }

  function drawPath() {
    const nodes = [];
    for (let at = current; at; at = at.parent) nodes.unshift(at);
    byId("path").replaceChildren(...nodes.map((at) => make("li", null, at === current
      ? make("span", { "aria-current": "location" }, at.name)
      : make("button", { type: "button", onclick: () => show(at, true) }, at.name))));
  }

  function drawLegend() {
    const unit = average();
    const texts = steps.map((step) => (step * unit).toFixed(unit < 10 ? 1 : 0));
    const entry = (kind, text) => make("span", { class: kind }, text);
    byId("legend").replaceChildren(...(measure === "change" ? [entry("up", "larger than before"), entry("down", "smaller than before")]
      : [make("strong", null, "Bytes a record:"), ...texts.map((text, index) => entry("h" + (index + 1), "below " + text)), entry("h5", texts[3] + " and more")]));
  }

  function tell(at) { byId("map-detail").textContent = describe(at); }

  // Shows a node, and puts the focus where it was: on the node that was left, or the first one.
  function show(at, focus, target) {
    const from = target || current;
    current = at;
    layOut();
    active = Math.max(0, tiles.findIndex((tile) => {
      for (let up = from; up; up = up.parent) if (up === tile.node || tile.node.children.includes(up)) return up !== at;
      return false;
    }));
    drawPath();
    draw();
    tell(target || current);
    if (focus) map.children[active]?.focus();
  }

  function measureBy(value) {
    measure = value;
    root = value === "change" ? treeOfChanges() : treeOfSizes();
    current = root;
    drawLegend();
    show(root, false);
  }

  // ---- Search ----

  function search(text) {
    const found = [];
    wanted = text.trim().toLowerCase();
    (function look(at) { if (at !== root && isHit(at)) found.push(at); at.children.forEach(look); })(root);
    found.sort((a, b) => b[measure] - a[measure]);
    const most = 20;
    byId("found-text").textContent = wanted === "" ? "" : plural(found.length, "name") + (found.length > most ? ", the largest " + most + " are:" : "");
    byId("found").replaceChildren(...(wanted === "" ? [] : found.slice(0, most)).map((at) =>
      make("li", null, make("button", { type: "button", onclick: () => show(at.parent, true, at) }, describe(at)))));
    draw();
  }

  // ---- Keys, clicks and the pointer ----

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

  function startMap() {
    if (!hasRaw) byId("measure-raw").remove();
    if (!growth) byId("measure-change").remove();
    byId("measures").hidden = !hasRaw && !growth;
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
      const cell = event.target.closest(".cell");
      if (index >= 0) tell(cell ? cells.get(cell) : tiles[index].node);
    });
    for (const radio of document.querySelectorAll("#measures input")) radio.addEventListener("change", () => measureBy(radio.value));
    byId("search").addEventListener("input", () => search(byId("search").value));
    let width = 0;
    new ResizeObserver(() => {
      if (map.clientWidth === width) return;
      width = map.clientWidth;
      draw();
    }).observe(map);
    measureBy("packed");
  }

  byId("page").hidden = false;
  drawHead();
  drawGrowth();
  drawRows();
  drawParts();
  drawRepetition();
  byId("plots").append(...stats.distributions.filter((one) => one.total > 0).map(plot));
  drawDropped();
  startMap();
})();
