#!/usr/bin/env python3
"""What the store adds to a decision of `paucis serve`: bench/proxy_store.py PAUCIS

A session whose body grows to about 1 MB of commands' outputs (sources of ours). Measured is the proxy's own time for a decision
(work_us in its log), best of many in three processes: for a request that is sent again, so that nothing new is cut, and for the first
request of another process that has to keep 1 MB, with a store whose file lies in memory, so that no disk is waited for.
"""
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["PAUCIS"] = sys.argv[1]
sys.path.insert(0, str(ROOT / "tests" / "proxy"))
from harness import Serve, Upstream, post, until  # noqa: E402

SOURCES = "".join(p.read_text() for d in ("lib", "cli", "proxy", "store", "tests") for p in sorted((ROOT / d).rglob("*.c")))
TEXTS = [SOURCES[i * 15000:(i + 1) * 15000] for i in range(64)]


def body(turns, name):
    messages = [{"role": "system", "content": "You are a test."}, {"role": "user", "content": name}]
    for i in range(turns):
        call = {"id": f"call_{i}", "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": f"make t{i}"})}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call_{i}", "content": f"{name}\n" + TEXTS[i]}]
    return json.dumps({"model": "gpt-test", "messages": messages}).encode()


def times(serve, count):
    """Of all requests so far, when there are so many."""
    until(lambda: serve.text().count('"work_us"') >= count)
    return [json.loads(line)["work_us"] for line in serve.text().splitlines() if line.startswith("{")]


def run(*flags):
    up = Upstream(check=False)
    up.provider.caching = False
    s = Serve(up, *flags, decide=("-l", "balanced"))
    whole = body(64, "a")
    for i in range(0, 64, 8):
        post(s, body(i, "a"))
    for _ in range(40):
        post(s, whole)
    same = min(times(s, 48)[-30:])
    new = []
    for n in range(30):  # all that is in it is cut and kept at once
        post(s, body(0, f"b{n}"))
        time.sleep(0.05)  # what is done after a request, lists and compressing, is not this one's
        post(s, body(64, f"b{n}"))
        new.append(times(s, 50 + 2 * n)[-1])
    s.stop()
    return len(whole), same, min(new)


folder = "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp"
path = f"{folder}/paucis-bench-{os.getpid()}.db"
without, kept = [], []
for _ in range(3):  # in turn: what else the machine does hits both
    without.append(run("--store", "none"))
    try:
        kept.append(run("--store", f"sqlite:{path}"))
    finally:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(path + end):
                os.remove(path + end)
size, same, new = map(min, zip(*without))
_, same_kept, new_kept = map(min, zip(*kept))
print(f"body of {size / 1e6:.2f} MB, microseconds for a decision")
print(f"nothing new is cut: {same} without a store, {same_kept} with it ({same_kept / same:.2f} times)")
print(f"all of it is cut:   {new} without a store, {new_kept} with it ({(new_kept - new) / 1000:.1f} ms more)")
