"""Prints what the benchmark found: for each program a line on packing, and a row for each rival."""


def time(ns):
    if ns is None:
        return "-"
    for unit, factor in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 1000 * factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def with_ratio(value, reference):
    if value is None or not reference:
        return time(value)
    return f"{time(value)} {value / reference:6.2f}x"


def bytes_each(count, records):
    return "-" if count is None else f"{count / records:.2f}"


HEADINGS = ("", "file B/rec", "heap B/rec", "start", "warm", "evicted", "walk", "walk, evicted", "lines", "pages", "instr.")


def row(rival, reference, records):
    instructions = rival.get("instructions")
    return (
        rival["name"] + (" *" if rival["visits"] == "slots" else ""),
        bytes_each(rival["file_bytes"], records),
        bytes_each(rival["heap_bytes"], records),
        time(rival["start_ns"]),
        with_ratio(rival["warm_ns"], reference["warm_ns"]),
        with_ratio(rival["evicted_ns"], reference["evicted_ns"]),
        with_ratio(rival["walk_ns"], reference["walk_ns"]),
        with_ratio(rival["walk_evicted_ns"], reference["walk_evicted_ns"]),
        "-" if rival["lines"] is None else f"{rival['lines']:.1f}",
        "-" if rival["pages"] is None else f"{rival['pages']:.1f}",
        "-" if instructions is None else f"{instructions:.0f}",
    )


def print_rows(rows):
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(rows[0]))]
    for cells in rows:
        print("  " + cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])), sep="  ")


def size_only(name, size):
    nothing = dict.fromkeys(("start_ns", "warm_ns", "evicted_ns", "walk_ns", "walk_evicted_ns", "lines", "pages", "heap_bytes"))
    return {"name": name, "visits": "nothing", "file_bytes": size, **nothing}


def print_program(program):
    records, raw = program["records"], program["raw_bytes"]
    rivals = program["rivals"]
    packed = next(r for r in rivals if r["name"] == "packed")["file_bytes"]
    reference = next(r for r in rivals if r["name"] == "hash table")
    pack = program["pack"]
    print(f"\n{program['name']}: {records} records, {raw} bytes raw; packed {packed}: 1/{raw / packed:.1f} of raw, "
          f"{packed / program['zstd_bytes']:.2f} of zstd -19, {packed / program['xz_bytes']:.2f} of xz -9")
    print(f"  packing: {pack['cpu_seconds']:.2f} s of processor time, {pack['seconds']:.2f} s passed, "
          f"{raw / 1e6 / pack['cpu_seconds']:.1f} MB/s of raw section, peak memory {pack['peak_bytes'] / 1e6:.1f} MB "
          f"({pack['peak_bytes'] / raw:.2f} of raw)")
    print(f"  walks: {program['stacks']} stacks, {program['stack_addresses']} return addresses, {program['stacks_are']}")
    opening = program["opening"]
    print(f"  opening a file: packed {time(opening['packed']['ns'])}, {opening['packed']['page_faults']:.0f} page faults; raw "
          f"{time(opening['raw']['ns'])}, {opening['raw']['page_faults']:.0f} page faults, {opening['raw']['ns'] / reference['start_ns']:.1f} "
          f"times the hash table's start, whose raw bytes are in memory")
    extra = [size_only("raw v3, zstd -19", program["zstd_bytes"]), size_only("raw v3, xz -9", program["xz_bytes"])]
    print_rows([HEADINGS] + [row(rival, reference, records) for rival in rivals + extra])


def print_frames(program):
    """The time of a frame, alone and with the update of its references."""
    ways = program["frames"]["ways"]
    reference = {way["updates"]: way["frame_ns"] for way in ways if way["name"] == "hash table"}
    cells = {way["name"]: [] for way in ways}
    for way in ways:
        cells[way["name"]].append(with_ratio(way["frame_ns"], reference[way["updates"]]))
    frames = f"walks in memory: {program['frames']['frames']} frames"
    print()
    print_rows([(frames, "a frame", "with update"), *((name, *values) for name, values in cells.items())])


LEGEND = """
  file, heap: bytes a record, in the file and made at start-up.  start: to the first answer.  warm: look-up and visit of every
  slot, random addresses.  evicted: the same after the rival's memory left all caches; but its code has just run.  walk: recorded
  return addresses.
  lines, pages: touched by a look-up.  x: times the hash table's.  *: visits slots without telling derived pointers.
  with cache: 128 KiB.  with large cache: room for all records of the program; it fills while
  it is used, so that all but start find all in it."""


def print_programs(programs):
    for program in programs:
        print_program(program)
        if program.get("frames", {}).get("ways"):
            print_frames(program)
    print(LEGEND)


def print_sparse(sparse):
    print("\nCode of other kinds between managed functions: look-up and visit, random addresses")
    rows = [("code a record", "records", "packed B/rec", "packed", "with cache", "hash table", "packing, CPU")]
    for step in sparse["densities"]:
        rivals = {rival["name"]: rival for rival in step["rivals"]}
        reference = rivals["hash table"]["warm_ns"]
        rows.append((f"{step['code']} bytes", str(step["records"]), bytes_each(rivals["packed"]["file_bytes"], step["records"]),
                     with_ratio(rivals["packed"]["warm_ns"], reference), with_ratio(rivals["packed, with cache"]["warm_ns"], reference),
                     time(reference), f"{step['pack']['cpu_seconds']:.2f} s"))
    print_rows(rows)


def print_walks(walks):
    print(f"\nWalks of a stack of {walks['frames']} managed frames: time a frame, and how many times as fast as _Unwind_Backtrace")
    for title, ways in (("references in slots, by frame pointers", "walks"), ("references in saved registers", "registers")):
        reference = next(walk["frame_ns"] for walk in walks[ways] if walk["name"] == "_Unwind_Backtrace")
        rows = [(walk["name"], time(walk["frame_ns"]), f"{reference / walk['frame_ns']:.1f}x") for walk in walks[ways]]
        print_rows([(title, "", ""), *rows])


def print_scale(steps):
    print("\nFrom a thousand records up: sizes, packing, and opening")
    rows = [("", "records", "raw MB", "packed B/rec", "packing, CPU", "MB/s", "peak/raw", "packed: start", "hash table: start",
             "ratio", "warm", "hash, warm")]
    for step in steps:
        packed, hash = (next(r for r in step["rivals"] if r["name"] == name) for name in ("packed", "hash table"))
        pack, raw = step["pack"], step["raw_bytes"]
        rows.append(("", str(step["records"]), f"{raw / 1e6:.1f}", bytes_each(packed["file_bytes"], step["records"]),
                     f"{pack['cpu_seconds']:.2f} s", f"{raw / 1e6 / pack['cpu_seconds']:.1f}", f"{pack['peak_bytes'] / raw:.2f}",
                     time(packed["start_ns"]), time(hash["start_ns"]), f"{hash['start_ns'] / packed['start_ns']:.0f}",
                     time(packed["warm_ns"]), time(hash["warm_ns"])))
    print_rows(rows)
