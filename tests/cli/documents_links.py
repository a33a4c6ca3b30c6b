"""documents_links.py FOLDER: prints the links of all documents in a folder (.md) that lead nowhere: to a missing file, or to a heading that its
page lacks. Hidden folders and those named `build` are left out."""

import functools
import os
import re
import sys

BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def text_of(page):
    """Without what is fenced."""
    with open(page, encoding="utf-8") as file:
        return BLOCK.sub("", file.read())


@functools.lru_cache(maxsize=None)
def anchors(page):
    """What a link to a heading is called: words in small letters, with hyphens between them."""
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(text_of(page)))
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def pages(folder):
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "build")))
        yield from (os.path.join(path, name) for name in sorted(files) if name.endswith(".md"))


def broken(page):
    for link in LINK.findall(text_of(page)):
        if re.match(r"https?:", link):
            continue
        place, _, anchor = link.partition("#")
        target = os.path.join(os.path.dirname(page), place) if place else page
        if not os.path.exists(target) or (anchor and anchor not in anchors(target)):
            yield link


count = 0
for document in pages(sys.argv[1]):
    for link in broken(document):
        print(f"{document}: {link} leads nowhere")
        count += 1
sys.exit(count > 0)
