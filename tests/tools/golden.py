"""The vectors of the classic strategies: where they are and what they ask for."""
import collections
import json

from support import SHARED, SRC


def expand(value):
    """Long strings are written {"$repeat": [s, n]}, many parts {"$times": [part, n]}."""
    if isinstance(value, dict):
        if "$repeat" in value:
            return value["$repeat"][0] * value["$repeat"][1]
        return {k: expand(v) for k, v in value.items()}
    if isinstance(value, list):
        out = []
        for v in value:
            times = v["$times"] if isinstance(v, dict) and "$times" in v else [v, 1]
            out += [expand(times[0])] * times[1]
        return out
    return value


def vectors(folder):
    """(file name, vector) of every line below a folder."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                yield path.name, json.loads(line)


def folders():
    """The project's own copy, and the original where it is at hand and differs."""
    own = SRC / "tests" / "golden"
    yield own
    if SHARED and (SHARED / "golden").is_dir():
        there = {p.name: p.read_bytes() for p in (SHARED / "golden").glob("*.jsonl")}
        if there != {p.name: p.read_bytes() for p in own.glob("*.jsonl")}:
            yield SHARED / "golden"


def request(vector):
    """(names for -s, budget or None, options) of a vector; a variant is an option of its strategy."""
    name = vector["strategy"]
    options = {"dedup.keep_last": "8"} if "_keep8" in name else {}
    return name.replace("_keep8", ""), vector.get("budget"), options


def grouped(folder):
    """Vectors by what they ask for, and by file: {(file, names, budget, options): [vector, ...]}"""
    groups = collections.defaultdict(list)
    for name, vector in vectors(folder):
        names, budget, options = request(vector)
        groups[name, names, budget, tuple(options.items())].append(vector)
    return groups
