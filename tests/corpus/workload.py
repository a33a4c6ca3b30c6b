"""Puts a Python interpreter to work: objects, generators, exceptions, strings, regular expressions, the collector."""
import collections
import gc
import re


class Node:
    def __init__(self, next):
        self.next = next
        self.me = self  # garbage that only the collector finds


nodes = None
for i in range(50000):
    nodes = Node(nodes if i % 1000 else None)
print(gc.collect() > 1000, gc.isenabled())


def primes():
    found = []
    n = 2
    while True:
        if all(n % p for p in found if p * p <= n):
            found.append(n)
            yield n
        n += 1


source = primes()
print([next(source) for _ in range(200)][-5:])
words = re.findall(r"(\w)(\w+)", "the quick brown fox jumps over the lazy dog " * 50)
print(collections.Counter(first for first, _ in words).most_common(4))
print(re.sub(r"(?P<a>o)(.)", lambda match: match.group(2) + match["a"], "brown fox over"))


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


print(deep(800))
try:
    deep(10**6)
except RecursionError as error:
    print(type(error).__name__)
try:
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("wrapped") from error
except ValueError as error:
    print(repr(error), repr(error.__cause__))


class Meta(type):
    def __new__(cls, name, bases, body):
        body["tag"] = name.lower()
        return super().__new__(cls, name, bases, body)


class Thing(metaclass=Meta):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __repr__(self):
        return f"{self.tag}:{self.value:>4}"


print(sorted(Thing(i * 7919 % 1009) for i in range(500))[::100])
print({k: v for k, v in zip("abc", range(3))} | {"d": 4}, 2**200 % 10**9, divmod(-7, 3), 0.1 + 0.2)
match [1, {"k": (2, 3)}]:
    case [int(x), {"k": (y, *rest)}]:
        print(x, y, rest)
print("é".encode(), b"\xff".decode("latin-1"), "%-5s|%05.1f" % ("a", 2.25), eval(compile("sum(range(100))", "", "eval")))
