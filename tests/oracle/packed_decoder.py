#!/usr/bin/env python3
"""Print every record of a packed stack-map table, one JSON object per line.

    packed_decoder.py FILE                        print the records
    packed_decoder.py --compare=STACKPACK FILE    compare them with what `STACKPACK dump` and `lookup` print
    packed_decoder.py --check-look-ups=N FILE     look up N random addresses, and those around every record
                                                  and function; compare the answers with a search in lists
    packed_decoder.py --global-roots FILE         print the addresses of global roots
    packed_decoder.py --look-up=ADDRESS FILE      print what is known of an address

With --bare=ADDRESS the file is no ELF file but a table alone, and ADDRESS is where it would stand.

packed_table.py reads the table; here is what is done with it. The comparison also looks at what a writer promises and no
reader needs to check: unused bits are 0, and nothing is between the layouts but what aligns them. The JSON is that of
`stackpack dump`, with null for each function's name.

Exit status: 0 fine, 1 a comparison found a difference, 2 the file can't be read.
"""

import argparse
import gc
import json
import random
import subprocess
import sys
from bisect import bisect_left, bisect_right
from itertools import groupby

from packed_table import (FOUND, MASK_64, NOT_MANAGED, NOT_SAFEPOINT, PADDING, Decoded, Leaf, LookUp, Table, Unusable,
                          find_table, place_by_rule, read_block, read_details_header, read_streams, require)

DIFFERENCES_SHOWN = 10

# ---- JSON ----------------------------------------------------------------------------------------------

LOCATION_NAMES = {1: "register", 2: "direct", 3: "indirect"}


def location_as_json(one):
    if one.kind >= 4:
        return {"kind": "constant", "value": one.value & MASK_64 if one.kind == 5 else one.value, "size": one.size}
    return {"kind": LOCATION_NAMES[one.kind], "register": one.register, "offset": one.value, "size": one.size}


def list_as_json(locations):
    return [location_as_json(location) for location in locations]


def frame_as_json(frame):
    if frame.shape is None:
        return None
    return {
        "cfa_register": frame.shape.register,
        "cfa_offset": frame.cfa_offset,
        "return_address_signed": frame.shape.is_signed,
        "saved": [{"register": register, "offset": offset} for register, offset in frame.shape.saved.items()],
        "lost": [register for register in range(32) if frame.shape.lost >> register & 1],
    }


def contents_as_json(record):
    if record.items.locations is not None:
        return {"kind": "stackmap", "locations": list_as_json(record.items.locations)}
    pairs = sorted(record.items.pairs, key=lambda pair: (pair[1], pair[0]))
    return {
        "kind": "statepoint",
        "calling_convention": record.details.convention,
        "flags": record.details.flags,
        "deopt": list_as_json(record.details.deopt),
        "gc": [{"base": location_as_json(base), "derived": location_as_json(own)} for base, own in pairs],
        "allocas": list_as_json(record.items.allocas),
    }


def record_as_json(record, frame_size):
    return {
        "address": record.address,
        "function": None,
        "function_address": record.function_address,
        "offset": (record.address - record.function_address) & MASK_64,
        "frame_size": frame_size,
        "frame": frame_as_json(record.frame),
        "id": record.details.id,
        **contents_as_json(record),
        "live_outs": [{"register": register, "size": size} for register, size in record.details.live_outs],
    }


def as_line(value):
    return json.dumps(value, separators=(",", ":"))


# ---- Comparing with stackpack --------------------------------------------------------------------------


def run_stackpack(*command, **options):
    """Each line that it prints, without functions' names."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, encoding="utf-8", **options)
    except OSError as error:
        raise Unusable(f"{command[0]} can't be run: {error.strerror}") from error
    require(done.returncode == 0, f"{command[0]} {command[1]} failed")
    return (json.loads(line, object_hook=without_name) for line in done.stdout.splitlines())


def without_name(value):
    return {**value, "function": None} if "function" in value else value


def dump(decoded):
    """What `dump` must print: a function's frame size is LLVM's."""
    yield from (record_as_json(record, record.frame_size) for record in decoded.records)
    yield from ({"global_root": address} for address in decoded.global_roots)


def found(decoded):
    """What `lookup` must print of each record's address: a record's frame size is its own."""
    for address, records in groupby(decoded.records, key=lambda record: record.address):
        records = [record_as_json(record, record.frame.size) for record in records]
        yield {"address": address, "answer": "found", "records": records}


def differences(name, own, theirs):
    own, theirs = list(map(as_line, own)), list(map(as_line, theirs))
    if len(own) != len(theirs):
        yield f"{name}: {len(own)} lines here, {len(theirs)} there"
    for number, (here, there) in enumerate(zip(own, theirs), 1):
        if here != there:
            yield f"{name}, line {number}:\n  here  {here}\n  there {there}"


def compare_with_stackpack(decoded, stackpack, path):
    yield from differences("dump", dump(decoded), run_stackpack(stackpack, "dump", "--format=json", path))
    addresses = "".join(f"{record.address:#x}\n" for record in decoded.records)
    answers = run_stackpack(stackpack, "lookup", "--format=json", path, input=addresses)
    yield from differences("lookup", found(decoded), (one for one, _ in groupby(answers)))


# ---- A writer's promises ----------------------------------------------------------------------------


def positions_of_layouts(decoded):
    """How many positions each layout has. An exception has two: one where the rule says, of which nobody asks, and
    which a function without own records needn't have."""
    starts = [stretch.start for stretch in decoded.stretches]
    positions = dict.fromkeys(decoded.layouts, 0)
    by_rule = [place_by_rule(starts, decoded.offsets, index) for index in range(len(decoded.offsets))]
    own = {stretch for stretch, _ in decoded.places}
    for stretch, position in decoded.places + [place for place in by_rule if place[0] in own]:
        layout = decoded.stretches[stretch].layout if stretch >= 0 else None
        if layout is not None:
            positions[layout] = max(positions[layout], position + 1)
    return positions


def start_of_group(group, positions):
    return group.start_of_position(positions - 1) if positions > 0 else group.positions_end


def layouts_follow_each_other(decoded):
    table, end, part = decoded.table, 0, decoded.table.parts["layouts"]
    for start, positions in sorted(positions_of_layouts(decoded).items()):
        groups = decoded.layouts[start].groups
        gap = start_of_group(groups[0], positions) - end
        if not 0 <= gap < 8 << table.header.reference_shift or part.field(end, gap) != 0:
            return False
        for group, following in zip(groups, groups[1:] + [None]):
            if following is not None and start_of_group(following, positions) != group.end:
                return False
        end = groups[-1].end
    return 8 * len(part) - end < 8 and part.field(end, 8 * len(part) - end) == 0


def streams_are_used_up(table):
    header = read_details_header(table)
    for number in range(header.block_count):
        streams, size = read_streams(table.parts["details"], header, number)
        list(read_block(header, streams, min(1 << header.shift, table.header.records - (number << header.shift))))
        heads = streams.pop(5)
        lengths = len(heads.part) + sum(len(stream.part) for stream in streams)
        if not all(stream.at_end() for stream in streams) or size != 32 + lengths:
            return False
    return True


def larger_frames_vary(decoded):
    table = decoded.table
    for index, (stretch, _) in enumerate(decoded.places if table.frames is not None else []):
        layout = decoded.layouts[decoded.stretches[stretch].layout]
        if layout.frame < table.header.varying_from and layout.frame_size is not None:
            if table.frames.exception(index)[1] > 0:
                return False
    return True


def broken_promises(decoded):
    table, stretches = decoded.table, decoded.stretches
    leaves_end = Leaf(table, table.leaf_count - 1).end if stretches else 0
    for promise, is_kept in {
        "padding is 0": table.data[-PADDING:] == bytes(PADDING),
        "the text starts with a function": not stretches or (stretches[0].start == 0 and stretches[0].layout is not None),
        "nothing is after the leaves": leaves_end == len(table.parts["leaves"]),
        "layouts follow each other": layouts_follow_each_other(decoded),
        "streams of details are used up": streams_are_used_up(table),
        "nothing is after the frames": table.frames is None or table.frames.place == len(table.parts["frames"]),
        "larger frames are of sizes that vary": larger_frames_vary(decoded),
    }.items():
        if not is_kept:
            yield f"not so: {promise}"


# ---- Checking look-ups ---------------------------------------------------------------------------------


def naive_answer(decoded, starts, address):
    """The answer from the lists."""
    offset = (address - decoded.table.text_address(0)) & MASK_64
    index = bisect_left(decoded.offsets, offset)
    if index < len(decoded.offsets) and decoded.offsets[index] == offset:
        return FOUND, index, decoded.places[index]
    stretch = bisect_right(starts, offset) - 1
    is_gap = stretch < 0 or decoded.stretches[stretch].layout is None
    return NOT_MANAGED if is_gap or offset >= decoded.table.header.text_size else NOT_SAFEPOINT, None, None


def interesting_addresses(decoded, count, source):
    """Those on, before and after every function's ends and some records; then random ones."""
    table, records = decoded.table, decoded.offsets
    if len(records) > count:
        records = source.sample(records, count)
    around = [stretch.start for stretch in decoded.stretches] + records + [table.header.text_size]
    if len(around) > 3 * count:
        around = source.sample(around, 3 * count)
    for offset in around:
        yield from (table.text_address(offset + neighbour) for neighbour in (-1, 0, 1))
    yield from (table.text_address(source.randint(-64, table.header.text_size + 64)) for _ in range(count))
    yield from (source.getrandbits(64) for _ in range(count // 100))


def check_look_ups(decoded, addresses):
    look_up, starts = LookUp(decoded.table), [stretch.start for stretch in decoded.stretches]
    for address in addresses:
        answer, expected = look_up.answer(address), naive_answer(decoded, starts, address)
        if answer != expected:
            yield f"0x{address:x}: {answer}, not {expected}"


# ---- The command ---------------------------------------------------------------------------------------


def print_look_up(decoded, address):
    answer, index, _ = LookUp(decoded.table).answer(address)
    print(f"0x{address:x}: {answer}")
    while index is not None and decoded.records[index].address == address:
        print(as_line(record_as_json(decoded.records[index], decoded.records[index].frame.size)))
        index = index + 1 if index + 1 < len(decoded.records) else None


def compare(arguments, decoded):
    all_differences = []
    if arguments.compare is not None:
        all_differences += compare_with_stackpack(decoded, arguments.compare, arguments.file)
        all_differences += broken_promises(decoded)
        frames = sum(record.frame.shape is not None for record in decoded.records)
        pairs = sum(len(record.items.pairs) for record in decoded.records)
        print(f"{arguments.file}: {len(decoded.records)} records, {pairs} pairs and {frames} frames compared")
    if arguments.check_look_ups is not None:
        source = random.Random(arguments.seed)
        addresses = list(interesting_addresses(decoded, arguments.check_look_ups, source))
        all_differences += check_look_ups(decoded, addresses)
        print(f"{arguments.file}: {len(addresses)} addresses looked up")
    for difference in all_differences[:DIFFERENCES_SHOWN]:
        print(difference)
    if all_differences:
        print(f"{len(all_differences)} differences")
    return 1 if all_differences else 0


def run(arguments):
    try:
        with open(arguments.file, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unusable(error.strerror) from error
    table = Table(data, arguments.bare) if arguments.bare is not None else Table(*find_table(data))
    table.check_checksum()
    decoded = Decoded(table)
    if arguments.compare is not None or arguments.check_look_ups is not None:
        return compare(arguments, decoded)
    if arguments.look_up is not None:
        print_look_up(decoded, arguments.look_up)
    elif arguments.global_roots:
        for address in decoded.global_roots:
            print(f"0x{address:x}")
    else:
        for record in decoded.records:
            print(as_line(record_as_json(record, record.frame_size)))
    return 0


def address_option(text):
    return int(text, 0)


def main():
    gc.disable()  # many objects, none of them in a cycle: looking for garbage is most of the time
    parser = argparse.ArgumentParser(description="Print the records of a packed stack-map table.")
    parser.add_argument("--compare", metavar="STACKPACK", help="compare with what this command dumps and looks up")
    parser.add_argument("--check-look-ups", type=int, metavar="N", help="check the answers of look-ups")
    parser.add_argument("--seed", type=int, default=1, help="of random addresses")
    parser.add_argument("--look-up", type=address_option, metavar="ADDRESS", help="look up one address")
    parser.add_argument("--global-roots", action="store_true", help="print the addresses of global roots")
    parser.add_argument("--bare", type=address_option, metavar="ADDRESS", help="the file is a table alone")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        return run(arguments)
    except Unusable as error:
        print(f"{arguments.file}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
