"""What the tests' statements about a JSON dump can use: see expect_records in common.sh."""
import json

records = []  # as dumped, by address


def load(path):
    with open(path, encoding="utf-8") as lines:
        records.extend(json.loads(line) for line in lines)


def with_id(number):
    """The only record with this ID."""
    found = [record for record in records if record["id"] == number]
    assert len(found) == 1, f"{len(found)} records with ID {number}"
    return found[0]


def of(function):
    """The records of a function, by address."""
    return [record for record in records if record["function"] == function]


def constants(locations):
    """The values of locations that must all be constants, as unsigned 64-bit numbers."""
    assert all(location["kind"] == "constant" for location in locations), locations
    return [location["value"] % 2**64 for location in locations]


def place(location):
    """A location that is not a constant, as a tuple."""
    return location["kind"], location["register"], location["offset"], location["size"]
