#!/usr/bin/env python3
"""Cold turns: after a pause longer than a cache entry lives, all is written anew and a cut is free.

Traces (without them: generated conversations) as their requests, with a pause before every 12th. The bill of the
requests as they would be sent, the longest common prefix of the request before at the price of a read: with the
pauses known to the fold (option cold) it is lower than without. In between what was sent stays as it was sent
(tests/script/test_append_stable.py runs with cold turns too).
"""
import json
import pathlib
import random
import sys

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import dialogues
from library import LIB, Library
from support import LONG, SANITIZED, SHARED, expect, finish, skip, traces
from turns import Turns, common

READ, WRITE = 100, 1250  # thousandths
EVERY, LEAST = 12, 40


def sessions():
    """(format, body parsed)"""
    if SHARED:
        for about, body in traces(1 if LONG else 12):
            yield about["format"], json.loads(body)
    rng = random.Random("cold")
    for _ in range(4):
        for format_, body in dialogues.bodies(rng).items():
            yield format_, json.loads(body)


def bill(lib, turns, pauses, options):
    """(what all requests cost, bytes that each had)"""
    cost, before = 0, b""
    for n in turns.boundaries():
        code, out, _ = lib.compact(turns.body(n), None, None, options, turns.format)
        expect(code == 0, "error", code)
        same = 0 if n in pauses else common(before, out)
        cost += READ * same + WRITE * (len(out) - same)
        before = out
    return cost


def main():
    if SANITIZED or not LIB.exists():
        skip("a sanitized library cannot be loaded into a Python that is not")
    lib, sums, count = Library(), {}, 0
    for format_, body in sessions():
        turns = Turns(body, format_)
        bounds = turns.boundaries()
        if len(bounds) < LEAST:
            continue
        count += 1
        # the library counts a system text in front as a message
        ahead = bool(turns.head.get("system") or turns.head.get("instructions") or
                     turns.head.get("systemInstruction"))
        pauses = set(bounds[EVERY::EVERY])
        cold = {"cold": ",".join(str(n + ahead) for n in sorted(pauses))}
        for name, options in (("none", {"policy": "none"}), ("balanced", {}), ("balanced, cold", cold),
                              ("deep", {"level": "deep"}), ("deep, cold", {"level": "deep", **cold})):
            sums[name] = sums.get(name, 0) + bill(lib, turns, pauses, options)
    lib.close()
    if not count:
        skip("no session is long enough")
    for level in ("balanced", "deep"):
        expect(sums[level + ", cold"] < sums[level], level, "costs more with cold turns", sums)
    finish(f"{count} sessions; of the bill without paucis: " + ", ".join(
        f"{name} {100 * value / sums['none']:.1f} %" for name, value in sums.items()))


main()
