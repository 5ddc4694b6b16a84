#!/usr/bin/env python3
"""The command over many bodies, file to file: batch.py PAUCIS BODIES.jsonl [--runs N] [--times K]

BODIES is written K times into one file beside it, which is then read from the page cache. The command
runs with one thread and with two, in turns; the fastest of N runs counts, from start to exit. `cp` shows
what reading and writing alone cost. "At most" is what two free cores could give: twice the processor time
(user and system, least of N) of one thread over that of two; on a busy machine "times" says more about the
other work. Peak memory is that of one more run under GNU time, where it is installed: a process inherits
the peak of the one that starts it, and this one is larger than the command."""
import argparse
import filecmp
import os
import pathlib
import shutil
import subprocess
import time


def run(words):
    """Seconds and seconds of processor time of one process."""
    start = time.perf_counter()
    pid = os.posix_spawnp(words[0], words, os.environ)
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter() - start
    if status:
        raise SystemExit(f"batch.py: '{' '.join(words)}' failed")
    return took, usage.ru_utime + usage.ru_stime


def peak(words):
    """Most memory one process held, in MB."""
    if not shutil.which("time"):
        return float("nan")
    done = subprocess.run(["time", "-f", "%M", *words], check=True, stderr=subprocess.PIPE, text=True)
    return int(done.stderr.split()[-1]) * 1024 / 1e6


def main():
    args = argparse.ArgumentParser(description="measures the command over many bodies")
    args.add_argument("paucis")
    args.add_argument("bodies", type=pathlib.Path)
    args.add_argument("--runs", type=int, default=9)
    args.add_argument("--times", type=int, default=10)
    args = args.parse_args()
    many = args.bodies.with_suffix(".many")
    one, two = many.with_suffix(".out1"), many.with_suffix(".out2")
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
    heads = "-j 1", "-j 2", "times", "goal", "at most", "MB, -j 1", "MB, -j 2"
    print(f"{'MB/s':<12}", *(f"{head:>8}" for head in heads))
    for name, lists in found.items():
        best, cpu = ([min(run[i] for run in runs) for runs in lists] for i in (0, 1))
        print(f"{name:<12} {size / best[0] / 1e6:>8.0f}", end="")
        if len(best) == 2:
            held = [peak(command) for command in rows[name]]
            print(f" {size / best[1] / 1e6:>8.0f} {best[0] / best[1]:>8.2f} {1.6:>8} "
                  f"{2 * cpu[0] / cpu[1]:>8.2f} {held[0]:>8.1f} {held[1]:>8.1f}", end="")
        print()
    for path in many, one, two:
        path.unlink()


if __name__ == "__main__":
    main()
