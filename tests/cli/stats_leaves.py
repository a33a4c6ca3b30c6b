"""Checks what `stackpack stats --format=json` says of a packed table's leaves: stats_leaves.py JSON FILE SECTION-OFFSET.
Reads directory and leaves by itself, as FORMAT.md describes them; prints how many leaves have more than 128 records, and
in how many a function goes on that is in the leaf before."""
import json
import struct
import sys

stats = json.load(open(sys.argv[1]))
table = open(sys.argv[2], "rb").read()[int(sys.argv[3]):]
(header_size,) = struct.unpack_from("<H", table, 6)
header = table[:header_size].ljust(160, b"\0")
(text_size,) = struct.unpack_from("<Q", header, 40)
records, functions, leaves_size, shared_size = struct.unpack_from("<IIII", header, 48)
leaf_shift, record_shift = header[76:78]
continued_width, position_width = header[83:85]
(bare,) = struct.unpack_from("<I", header, 104)
(exceptions,) = struct.unpack_from("<I", header, 136)


def bits_for(count):
    return max(count - 1, 0).bit_length()


def field(place, width):
    """Bits from a place on, lowest first."""
    word = int.from_bytes(table[place // 8:(place + width + 7) // 8], "little")
    return word >> place % 8 & (1 << width) - 1


def ones(place, width):
    return bin(field(place, width)).count("1")


def samples(count, is_large, width):
    return -(-count // 128) * width if is_large else 0


shared_width = bits_for(shared_size)
entry_widths = bits_for(leaves_size + 1), bits_for(records + 1), bits_for(functions - bare + 1)
leaf_count = (text_size >> leaf_shift) + 1 if records > 0 else 0
directory_size = -(-(leaf_count + 1) * sum(entry_widths) // 8) if leaf_count > 0 else 0
leaves_at = header_size + directory_size


def entry(j):
    place, values = header_size * 8 + j * sum(entry_widths), []
    for width in entry_widths:
        values.append(field(place, width))
        place += width
    return values


# The functions of the records, which follow each other where there are no exceptions; and what each must have at least.
owners = [f for f in sorted(stats["functions"], key=lambda f: f["address"]) for _ in range(f["records"])]
least = {f["address"]: 0 for f in stats["functions"]}


def share(bits, among):
    """Divides bits among the functions of some records."""
    for i, record in enumerate(among):
        least[owners[record]["address"]] += bits // len(among) + (i < bits % len(among))


sizes = {name: 0 for name in ("record addresses", "function marks", "layout references", "own layouts")}
owned = {"directory": 0}
universe = leaf_shift - record_shift
padding, large, continued, end = 64, 0, 0, shared_size
for j in range(leaf_count):
    (start, index, runs), (_, next_index, next_runs) = entry(j), entry(j + 1)
    n, starts = next_index - index, next_runs - runs
    assert start >= end
    sizes["own layouts"] += 8 * (start - end)
    end = start
    if n == 0:
        continue
    k, groups = min(universe, bits_for(n)), -(-n // 4)
    high = n + (1 << k)
    groups_at = 8 * (leaves_at + start) + high
    high_samples = samples(1 << k, n > 128, bits_for(high))
    mark_samples = samples(groups, groups > 128, 2 * bits_for(n + 1))
    addresses = high + high_samples + n * (universe - k)
    owns_at = groups_at + groups + high_samples + mark_samples + n * (universe - k)
    marks_at = at = owns_at + starts
    marked = []  # the records with a mark
    for group in range(groups):
        if field(groups_at + group, 1):
            marked += [4 * group + i for i in range(4) if field(at + i, 1)]
            at += 4
    assert len(marked) == starts
    assert marked == [] or marked[-1] < n
    own = [index + record for i, record in enumerate(marked) if field(owns_at + i, 1)]
    shared = [index + record for i, record in enumerate(marked) if not field(owns_at + i, 1)]
    own_at = at + len(shared) * shared_width
    own_starts = 0
    if len(own) >= 2:
        span = entry(j + 1)[0] - (own_at // 8 - leaves_at)
        low_width = max(0, bits_for(span + 1) - bits_for(len(own)))
        low, high = (len(own) - 1) * low_width, len(own) - 1 + (span >> low_width)
        assert ones(own_at + low, high) == len(own) - 1
        own_starts = low + high
    goes_on = not marked or marked[0] > 0
    goes_on_bits = continued_width + position_width if goes_on else 0
    marks = groups + mark_samples + at - marks_at
    references = starts + len(shared) * shared_width + own_starts
    sizes["record addresses"] += addresses
    sizes["function marks"] += marks + goes_on_bits
    sizes["layout references"] += references
    owned["directory"] += sum(entry_widths)
    bits = addresses + marks + goes_on_bits + references
    padding += -bits % 8
    end = start - -bits // 8
    large += n > 128
    continued += goes_on and runs > 0
    for bits in sum(entry_widths), addresses, marks:
        share(bits, range(index, index + n))
    # Without exceptions the first record is of the run that goes on.
    share(goes_on_bits, range(index, index + 1 if runs > 0 else index + n))
    for record in own + shared:
        share(1, [record])
    for record in shared:
        share(shared_width, [record])
    share(own_starts, own)
sizes["own layouts"] += 8 * (leaves_size - end)
owned.update(sizes)
sizes.update({"directory": 8 * directory_size, "shared layouts": 8 * shared_size, "padding": padding})
owned.update({"shared layouts": 8 * shared_size, "padding": 0})

parts = {part["name"]: part for part in stats["packed"]["parts"]}
for what, expected in (("size", sizes), ("of_functions", owned)):
    for name, bits in expected.items():
        if 8 * parts[name][what] != bits:
            sys.exit(f"{sys.argv[2]}: {what} of {name}: {8 * parts[name][what]} bits, not {bits}")
for function in stats["functions"] if exceptions == 0 else []:
    if 8 * function["packed"] < least[function["address"]]:
        sys.exit(f"{sys.argv[2]}: {function['name']} has more than {function['packed']} bytes in the leaves alone")
print(large, continued)
