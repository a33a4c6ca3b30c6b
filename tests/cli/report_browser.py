"""Looks at reports in a browser: report_browser.py PAGE..."""
import os
import sys

from browser import browser

CHECKS = r"""
const problems = [];
const say = (text) => problems.push(text);
if (document.documentElement.lang !== "en") say("no language");
if (!document.title) say("no title");
if (document.documentElement.scrollWidth > innerWidth)
  say(`wider than the page: ${document.documentElement.scrollWidth} > ${innerWidth}`);
if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1) say("not one h1, one main");
let level = 0;
for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1) say(`a heading of level ${own} behind ${level}: ${heading.textContent}`);
  level = own;
}
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size !== ids.length) say("an id that is there twice");
for (const link of document.querySelectorAll("a")) if (!document.getElementById(link.hash.slice(1))) say(`no ${link.hash}`);
for (const name of ["aria-labelledby", "aria-describedby"])
  for (const element of document.querySelectorAll(`[${name}]`))
    if (!document.getElementById(element.getAttribute(name))) say(`${name} leads nowhere`);
for (const table of document.querySelectorAll("table")) {
  if (!table.caption) say("a table without a caption");
  if (table.tHead.querySelectorAll("th:not([scope])").length > 0) say("a column without a scope");
}
for (const image of document.querySelectorAll("svg"))
  if (image.getAttribute("aria-hidden") !== "true" && !(image.getAttribute("role") === "img" &&
      (image.getAttribute("aria-label") || image.querySelector("title")))) say("a drawing without a name");
for (const button of document.querySelectorAll("button"))
  if (!(button.getAttribute("aria-label") || button.textContent).trim()) say("a button without a name");
for (const input of document.querySelectorAll("input")) if (!input.labels.length) say("an input without a label");
if (performance.getEntriesByType("resource").length > 0) say("something was loaded");
if (window.hostile !== undefined || document.querySelector("b, img, script:not(#data) ~ script ~ script")) say("a name was run");

// Contrast: WCAG 2.2, "relative luminance" and "contrast ratio".
const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
const visible = (colour) => colour.length < 4 || colour[3] > 0;
function behind(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (visible(colour)) return colour;
  }
  return [255, 255, 255];
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || element.closest("script, style, noscript, title, .hidden, .skip, [hidden]") || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const ink = parse(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const [high, low] = [luminance(ink), luminance(behind(element))].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  const key = `${element.tagName}.${element.className}`;
  if (ratio < 4.5 && !seen.has(key)) { seen.add(key); say(`contrast ${ratio.toFixed(2)}: ${key} ${element.textContent.slice(0, 30)}`); }
}

// The map: its tiles fill it, in proportion.
const map = document.getElementById("map");
const tiles = [...map.querySelectorAll(":scope > button")];
const area = (box) => box.width * box.height;
const filled = tiles.reduce((sum, tile) => sum + area(tile.getBoundingClientRect()), 0) / area(map.getBoundingClientRect());
if (Math.abs(filled - 1) > 0.02) say(`tiles fill ${filled} of the map`);
return problems;
"""

STATE = r"""
const active = document.activeElement;
const box = active.getBoundingClientRect();
const style = getComputedStyle(active);
return {
  inMap: active.closest("#map") !== null && active.tagName === "BUTTON",
  label: active.getAttribute("aria-label"), x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
  outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  path: [...document.querySelectorAll("#path li")].map((item) => item.textContent),
  tiles: [...document.querySelectorAll("#map > button")].map((tile) => tile.getAttribute("aria-label")),
  stops: document.querySelectorAll("#map > button[tabindex='0']").length,
  detail: document.getElementById("map-detail").textContent,
};
"""


def expect(condition, what, *more):
    if not condition:
        sys.exit(f"{page}: {what} {more or ''}")


def check_keys(it):
    """The map by keys alone: Tab to it, arrows, Enter, Escape, Home and End."""
    for _ in range(40):
        it.keys("Tab")
        state = it.script(STATE)
        expect(state["outline"], "the focus can't be seen", state)
        if state["inMap"]:
            break
    expect(state["inMap"] and state["stops"] == 1, "Tab doesn't lead to the map, or twice", state["stops"])
    first = state
    expect(state["detail"] and state["label"].startswith(state["detail"]), "what has the focus isn't told", state)
    # The largest tile is at the left and the top: the others are on one side of it, or on both.
    arrows = [("Right", "Left", "x", "width"), ("Down", "Up", "y", "height")]
    ways = 0
    for there, back, side, length in arrows:
        it.keys(there)
        moved = it.script(STATE)
        if moved["label"] == first["label"]:
            continue
        ways += 1
        expect(moved["inMap"] and moved[side] >= first[side] + first[length] - 1, f"{there} leads elsewhere", moved)
        expect(moved["detail"] != first["detail"], "what has the focus isn't told", moved)
        it.keys(back)
        expect(it.script(STATE)[side] < moved[side], f"{back} doesn't lead back")
        it.keys("Home")
    expect(ways > 0, "no arrow leads anywhere")
    it.keys("End")
    expect(it.script(STATE)["label"] == first["tiles"][-1], "End isn't the last tile")
    it.keys("Home")
    expect(it.script(STATE)["label"] == first["tiles"][0], "Home isn't the first tile")
    it.keys("Enter")
    inside = it.script(STATE)
    expect(len(inside["path"]) == 2 and inside["inMap"] and inside["tiles"] != first["tiles"], "Enter doesn't go in", inside)
    it.keys("Escape")
    back = it.script(STATE)
    expect(len(back["path"]) == 1 and back["label"] == first["tiles"][0] and back["tiles"] == first["tiles"],
           "Escape doesn't go back to where it was", back)
    # Down to a function: Enter leaves it unchanged; and up with a button of the path.
    for _ in range(10):
        it.keys("Enter")
        if it.script("return document.activeElement.classList.contains('leaf')"):
            break
    deep = it.script(STATE)
    it.keys("Enter")
    expect(it.script(STATE)["path"] == deep["path"], "a function was gone into")
    it.script("document.querySelector('#path button').click()")
    expect(it.script(STATE)["path"] == first["path"], "the path doesn't lead back")


def check_sizes(it):
    """Areas are in proportion to bytes, and the table has the same rows."""
    measures = it.script("return [...document.querySelectorAll('#measures input')].map((input) => input.value)")
    expect(measures[0] == "packed" and ("change" in measures) == page.startswith("two"), "other measures", measures)
    for measure in measures:
        it.script("document.querySelector(`input[value=${arguments[0]}]`).click()", measure)
        rows = it.script(r"""
          document.getElementById("level").open = true;
          const number = (text) => Number(text.replaceAll(",", ""));
          const hasRaw = document.querySelector("#measures input[value=raw]") !== null;
          const column = arguments[0] === "change" ? 1 : arguments[0] === "raw" || !hasRaw ? 2 : 3;
          const sizes = [...document.querySelectorAll("#level-table tbody tr")].map((row) => number(row.cells[column].textContent.replace(/^[+\u2212]/, "")));
          const areas = [...document.querySelectorAll("#map > button")].map((tile) => {
            const box = tile.getBoundingClientRect();
            return box.width * box.height;
          });
          return sizes.map((size, index) => [size, areas[index]]);""", measure)
        if measure == "change":  # of a tile with several functions the table has the sum of what grew and what shrank
            expect(len(rows) > 0 and all(area > 0 for _, area in rows), "no changes", rows[:5])
            continue
        expect(len(rows) > 1 and rows == sorted(rows, key=lambda row: -row[0]), "rows aren't sorted", rows[:5])
        scale = sum(area for _, area in rows) / sum(size for size, _ in rows)
        for size, area in rows[:5]:
            expect(abs(area - size * scale) < 0.03 * area + 30, f"{measure}: an area isn't as large as its bytes", rows[:5])
    it.script("document.querySelector('input[value=packed]').click()")


def check_tables(it):
    """Tables are complete when asked, and sort by a click; what is searched for is found, and gone to."""
    state = it.script(r"""
      const table = [...document.querySelectorAll("#rows table")].pop();
      table.parentElement.querySelector(".all").click();
      const data = JSON.parse(document.getElementById("data").textContent).stats;
      const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
      const packed = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[table.tHead.rows[0].cells.length - 2].textContent.replaceAll(",", "")));
      const button = (index) => table.tHead.rows[0].cells[index].querySelector("button");
      button(0).click();
      const ascending = names().every((name, index, all) => index === 0 || all[index - 1].localeCompare(name) <= 1);
      const sorted = table.tHead.rows[0].cells[0].getAttribute("aria-sort");
      button(table.tHead.rows[0].cells.length - 2).click();
      const sizes = packed();
      const input = document.getElementById("search");
      input.value = "RUN";
      input.dispatchEvent(new Event("input"));
      const found = [...document.querySelectorAll("#found button")].map((button) => button.textContent);
      document.querySelector("#found button")?.click();
      const result = { all: sizes.length === data.functions.length, ascending, sorted,
        descending: sizes.every((size, index) => index === 0 || sizes[index - 1] >= size - 0.06), found,
        detail: document.getElementById("map-detail").textContent, dim: document.querySelectorAll("#map .dim").length };
      input.value = "";
      input.dispatchEvent(new Event("input"));
      document.querySelector("#path button")?.click();
      return result;""")
    expect(state["all"] and state["ascending"] and state["sorted"] == "ascending" and state["descending"], "a table isn't sorted, or complete", state)
    expect(state["found"] and all("run" in text.lower() for text in state["found"]), "not found", state)
    expect(state["found"][0] in state["detail"] or state["detail"] in state["found"][0], "what was found isn't told", state)


def check_inside(it):
    """What is drawn inside a tile is told when the pointer is there; and the detail is in sight then."""
    state = it.script(r"""
      const map = document.getElementById("map");
      map.scrollIntoView({ block: "end", behavior: "instant" });
      const cell = map.querySelector(".cell");
      if (cell === null) return null;
      cell.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      const detail = document.getElementById("map-detail");
      const box = detail.getBoundingClientRect();
      return { text: detail.textContent, tile: cell.parentElement.getAttribute("aria-label"), top: box.top, bottom: box.bottom, height: innerHeight };""")
    if state is not None:
        expect(state["text"] and not state["tile"].startswith(state["text"]), "a function inside a file isn't told", state)
        expect(0 <= state["top"] and state["bottom"] <= state["height"], "the detail is out of sight", state)


def look(it):
    for width in 390, 1280, 1920:
        for dark in False, True:
            it.open(page, width, dark=dark)
            problems = it.script(CHECKS)
            expect(not problems, f"at {width} pixels{', dark' if dark else ''}:", problems)
            if os.environ.get("SHOTS"):
                name = f"{page[:-5]}-{width}{'-dark' if dark else ''}.png"
                it.screenshot(os.path.join(os.environ["SHOTS"], name), whole=True)
        if width == 1920:
            continue
        check_keys(it)
        check_sizes(it)
        check_inside(it)
        check_tables(it)
        it.open(page, width)
        it.devtools("Emulation.setEmulatedMedia", {"media": "print"})
        expect(it.script("return document.documentElement.scrollWidth <= innerWidth"), f"printed {width} wide: too wide")
        it.devtools("Emulation.setEmulatedMedia", {"media": ""})
    expect(it.console() == [], "the console says something")
    # The page forbids other scripts and requests.
    it.script("""const script = document.createElement("script"); script.textContent = "window.hostile = 3"; document.body.append(script)""")
    expect(it.script("return window.hostile === undefined"), "another script runs")
    expect(it.console() != [], "and nobody was told")


with browser() as it:
    for page in sys.argv[1:]:
        look(it)
