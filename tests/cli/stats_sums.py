"""Checks a `stackpack stats --format=json`: stats_sums.py JSON FILE SECTION-SIZE. What is said to be a sum is one, exactly."""
import json
import os
import sys

stats = json.load(open(sys.argv[1]))
program, section_size = sys.argv[2], int(sys.argv[3])


def check(what, *values):
    if len(set(values)) != 1:
        sys.exit(f"{program}: {what}: {values}")


counts = stats["counts"]
form = counts["form"]
check("the file's size", counts["file_size"], os.path.getsize(program))
check("the section's size", stats[form]["size"], section_size)
check("raw", form == "raw", stats["raw"] is not None)
for table in ("raw", "packed"):
    if stats[table] is None:
        continue
    sizes = stats[table]
    parts = sizes["parts"]
    check(f"{table}: parts", sum(part["size"] for part in parts), sizes["size"])
    owned = sum(part["of_functions"] for part in parts)
    check(f"{table}: functions' and the rest", owned + sizes["rest"], sizes["size"])
    assert all(0 <= part["of_functions"] <= part["size"] for part in parts), parts
    for rows in ("functions", "units"):
        listed = sum(row[table] for row in stats[rows]) + stats["other_" + rows][table]
        check(f"{table}: {rows}", listed + sizes["discarded"], owned)
for rows in ("functions", "units"):
    listed = stats[rows] + [stats["other_" + rows]]
    check(f"{rows}: records", sum(row["records"] for row in listed), counts["records"])
check("functions", len(stats["functions"]) + stats["other_functions"]["functions"], counts["functions"])
check("functions of units", sum(row["functions"] for row in stats["units"] + [stats["other_units"]]), counts["functions"])
for distribution in stats["distributions"]:
    check(distribution["name"], sum(count for _, count in distribution["counts"]), distribution["total"])
values = {distribution["name"]: sum(value * count for value, count in distribution["counts"])
          for distribution in stats["distributions"]}
check("pairs", values["pairs"], counts["pairs"])
check("derived pairs", values["derived pairs"], counts["derived"])
check("records of functions", values["records"], counts["records"])
