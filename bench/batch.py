#!/usr/bin/env python3
"""The command over many bodies, file to file: batch.py PAUCIS BODIES.jsonl [--runs N] [--times K]

BODIES is written K times into one file beside it, which is then read from the page cache. The command
runs with one thread and with two, in turns; the fastest of N runs counts, from start to exit. Peak
memory is the largest of the runs. `cp` shows what reading and writing alone cost."""
import argparse
import filecmp
import os
import pathlib
import shutil
import time


def run(words):
    """Seconds and peak memory in bytes of one process."""
    start = time.perf_counter()
    pid = os.posix_spawnp(words[0], words, os.environ)
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter() - start
    if status:
        raise SystemExit(f"batch.py: '{' '.join(words)}' failed")
    return took, usage.ru_maxrss * 1024


def main():
    args = argparse.ArgumentParser(description="measures the command over many bodies")
    args.add_argument("paucis")
    args.add_argument("bodies", type=pathlib.Path)
    args.add_argument("--runs", type=int, default=9)
    args.add_argument("--times", type=int, default=10)
    args = args.parse_args()
    many = args.bodies.with_suffix(".many")
    one, two = many.with_suffix(".out1"), many.with_suffix(".out2")
    # Piece by piece: what this process holds would count as the first memory of the ones it starts.
    with open(many, "wb") as file:
        for _ in range(args.times):
            with open(args.bodies, "rb") as bodies:
                shutil.copyfileobj(bodies, file)
    with open(args.bodies, "rb") as bodies:
        largest = max(map(len, bodies))

    def compact(policy, jobs, out):
        return [args.paucis, "compact", "--jsonl", "-p", policy, "-j", jobs, "-o", str(out), str(many)]

    rows = {"cp": [["cp", str(many), str(one)]]}
    for policy in "none", "classic":
        rows[f"-p {policy}"] = [compact(policy, "1", one), compact(policy, "2", two)]
    found = {name: [[] for _ in commands] for name, commands in rows.items()}
    for _ in range(args.runs):
        for name, commands in rows.items():
            for command, runs in zip(commands, found[name]):
                runs.append(run(command))
            if len(commands) == 2 and not filecmp.cmp(one, two, shallow=False):
                raise SystemExit(f"batch.py: {name}: the order was not kept")

    size = many.stat().st_size
    print(f"batch, file to file: {size / 1e6:.0f} MB, largest line {largest / 1e6:.2f} MB")
    print(f"{'MB/s':<12} {'-j 1':>8} {'-j 2':>8} {'times':>8} {'goal':>8} {'MB, -j 1':>9} {'MB, -j 2':>9}")
    for name, lists in found.items():
        best = [min(took for took, _ in runs) for runs in lists]
        peak = [max(held for _, held in runs) / 1e6 for runs in lists]
        print(f"{name:<12} {size / best[0] / 1e6:>8.0f}", end="")
        if len(best) == 2:
            print(f" {size / best[1] / 1e6:>8.0f} {best[0] / best[1]:>8.2f} {1.6:>8} "
                  f"{peak[0]:>9.1f} {peak[1]:>9.1f}", end="")
        print()
    for path in many, one, two:
        path.unlink()


if __name__ == "__main__":
    main()
