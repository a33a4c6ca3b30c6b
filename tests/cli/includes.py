"""No circle of includes, among headers or among folders; and arrows point down: tool -> runtime -> elf, format -> the public
header, and in tool/ from the subcommands to the rooms. Prints each offence; includes.py TOP."""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
LEVELS = {"format": 0, "elf": 1, "runtime": 2, "tool": 3}
PUBLIC = "runtime/stackpack.h"  # its types are those of all rooms
# Where they are installed, too, the one is beside the other.
INSTALLED = {"runtime/stackpack_check.h": "stackpack.h", "runtime/stackpack_unwind.h": "stackpack.h"}


def folder_of(name):
    """The public header is a room of its own."""
    return PUBLIC if name == PUBLIC else str(pathlib.Path(name).parent)


def level(folder):
    """Where arrows to and from a folder may lead: from a number to the same or a lower one."""
    first, *rest = folder.split("/")
    if folder == PUBLIC:
        return -1
    return LEVELS[first] + (0.5 if first == "tool" and not rest else 0)


includes = {}
for first in LEVELS:
    for path in sorted((top / first).rglob("*.[ch]")):
        name = str(path.relative_to(top))
        includes[name] = re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)
offences = []
for name, targets in includes.items():
    for target in targets:
        if INSTALLED.get(name) == target:
            continue
        if target not in includes:
            offences.append(f"{name}: {target} isn't named from the top")
        elif level(folder_of(target)) > level(folder_of(name)):
            offences.append(f"{name}: {target} is above it")


def circle(arrows):
    """One circle in a graph, or None."""
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for target in sorted(arrows.get(node, ())):
            if state.get(target) == "open":
                return path[path.index(target):] + [target]
            if target not in state:
                found = visit(target)
                if found:
                    return found
        path.pop()
        state[node] = "done"
        return None

    for node in sorted(arrows):
        if node not in state:
            found = visit(node)
            if found:
                return found
    return None


headers = {name: set(targets) for name, targets in includes.items() if name.endswith(".h")}
folders = {}
for name, targets in includes.items():
    here = folder_of(name)
    folders.setdefault(here, set()).update({folder_of(target) for target in targets} - {here})
for what, arrows in ("headers", headers), ("folders", folders):
    found = circle(arrows)
    if found:
        offences.append(f"a circle of {what}: {' -> '.join(found)}")
assert len(includes) > 150, "too few files"
print("\n".join(offences))
sys.exit(bool(offences))
