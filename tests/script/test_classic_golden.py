#!/usr/bin/env python3
"""The vectors of the classic strategies: output and statistics, to the byte, through the command, through
the library, and by the second implementation in tests/ref.

Vectors that ask for the same are lines of one run; a third of them is written with escapes.
"""
import collections
import json
import pathlib
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import classic_ref
import golden
from library import LIB, Library
from support import SANITIZED, expect, finish, paucis

done = collections.Counter()


def judge(how, vector, out, stats):
    """Output (bytes) and statistics (a mapping) against the vector."""
    try:
        got = json.loads(out)
    except ValueError as e:
        expect(False, how, vector["name"], "is not JSON:", e)
        return
    expect(got == vector["output"], how, vector["strategy"], vector["name"], "output differs")
    wrong = {k: stats.get(k) for k, v in vector["stats"].items() if stats.get(k) != v}
    expect(not wrong, how, vector["strategy"], vector["name"], "statistics:", wrong, "instead of",
           vector["stats"])
    done[how] += 1


def by_command(names, budget, options, vectors, bodies):
    args = ["-s", names] + [x for k, v in options for x in ("-O", f"{k}={v}")]
    args += ["-b", budget] if budget is not None else []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "stats"
        code, out, err = paucis("compact", "-f", "neutral", "--jsonl", "-q", f"--stats={file}", *args,
                                stdin=b"\n".join(bodies) + b"\n")
        if not expect(code == 0, names, budget, options, "exit", code, err[:300]):
            return
        stats = [json.loads(line) for line in file.read_bytes().splitlines()]
    lines = out.split(b"\n")[:-1]
    expect(len(lines) == len(stats) == len(vectors), names, len(lines), "lines", len(stats), "stats")
    for vector, line, st in zip(vectors, lines, stats):
        judge("command", vector, line, st)


def by_library(lib, names, budget, options, vectors, bodies):
    for vector, body in zip(vectors, bodies):
        code, out, st = lib.compact(body, names, budget, options)
        if not expect(code == 0, "library", vector["name"], "error", code):
            continue
        stats = {k: getattr(st, k) for k, _ in st._fields_}
        judge("library", vector, out, stats)
        expect(st.bytes_out == len(out) and st.bytes_in == len(body), vector["name"], "sizes")
        idle = [row for row in lib.logged if row[1] == 0]
        expect(not idle, vector["name"], "logged although nothing was done:", idle)
        saved = sum(row[2] for row in lib.logged if row[0] != "compact_to_budget")
        expect(saved == st.total_bytes_saved, vector["name"],
               "the log does not add up:", lib.logged)
        if len(body) < 1 << 20:
            code, into = lib.compact_into(body, len(out), names, budget, options)
            expect(code == 0 and into == out, vector["name"], "compact_into differs:", code)
            if out:
                code, need = lib.compact_into(body, len(out) - 1, names, budget, options)
                expect(code == 32 and need == len(out), vector["name"], "NOSPACE:", code, need)


def by_reference(names, budget, options, vectors):
    keep = int(dict(options).get("dedup.keep_last", 0))
    for vector in vectors:
        out, stats = classic_ref.run(vector["input"]["messages"], names, budget, keep)
        judge("reference", vector, json.dumps({"messages": out}).encode(), stats)


def main():
    # A sanitized library cannot be loaded into a Python that is not.
    lib = Library() if LIB.exists() and not SANITIZED else None
    for folder in golden.folders():
        for (_, names, budget, options), vectors in golden.grouped(folder).items():
            for v in vectors:
                v["input"], v["output"] = golden.expand(v["input"]), golden.expand(v["output"])
            bodies = [json.dumps(v["input"], ensure_ascii=i % 3 == 0).encode()
                      for i, v in enumerate(vectors)]
            by_command(names, budget, options, vectors, bodies)
            if lib:
                by_library(lib, names, budget, options, vectors, bodies)
            by_reference(names, budget, options, vectors)
            vectors.clear()  # some are large
    if lib:
        lib.close()
    expect(done["command"] >= 1700, "only", done["command"], "vectors were found")
    finish(", ".join(f"{n} by {how}" for how, n in done.items()))


main()
