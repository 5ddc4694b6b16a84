#!/usr/bin/env python3
"""The command against the second implementation (tests/ref/classic_ref.py) on generated conversations:
every strategy and the pipelines, output and statistics. A few hundred of each; PAUCIS_LONG=1 makes it
100,000. test_classic_ref.py [COUNT [SEED [NAME...]]] runs others.

For the budget, the newest message is padded so that the total after some elision lies exactly at the
budget, or one token beside it.
"""
import collections
import json
import pathlib
import random
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import classic_ref
from conversations import conversation, spelled
from support import LONG, SANITIZED, expect, faults, finish, paucis

SEVEN = "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing"
BUDGET = 20000

# name, strategies, what the generator should dwell on, dedup.keep_last
RUNS = [
    ("dedup", "dedup", "any", 0),
    ("dedup_keep8", "dedup", "any", 8),
    ("snippet", "snippet", "snippet", 0),
    ("streaming_llm", "streaming_llm", "stream", 0),
    ("thinking_prune", "thinking_prune", "any", 0),
    ("lingua", "lingua", "any", 0),
    ("pairing", "pairing", "any", 0),
    ("tool_call_dedup", "tool_call_dedup", "any", 0),
    ("apply_all", "apply_all", "any", 0),
    ("apply_all_keep8", "apply_all", "any", 8),
    ("compact_to_budget", "compact_to_budget", "budget", 0),
    ("apply_all then budget", "apply_all,compact_to_budget", "budget", 0),
    ("seven stages", SEVEN, "stream", 0),
    ("seven stages, long", SEVEN, "snippet", 0),
]
POLICIES = {"apply_all,compact_to_budget": "classic"}  # asked for by this name
BATCH = 500


def pad(rng, messages, strategies):
    """Makes the budget lie at, or one token beside, a total that occurs on the way."""
    if not messages:
        return
    probe, _ = classic_ref.run(messages, strategies.replace("compact_to_budget", "dedup"))
    stats = collections.Counter()
    start = classic_ref.total_tokens(probe)
    _, totals = classic_ref.compact_to_budget(probe, stats, 0)
    missing = BUDGET + rng.choice((-1, 0, 0, 1)) - rng.choice([start] + totals)
    filler = int(missing * 3.5) + rng.choice((0, 0, 1, 2, 3))
    messages[-1] = {"role": "user", "content": [{"type": "text", "text": "p" * max(0, filler - 8 * 3)}]}


def batch(rng, strategies, focus, count):
    made = []
    for _ in range(count):
        messages = conversation(rng, focus)
        if focus == "budget":
            pad(rng, messages, strategies)
        made.append(messages)
    return made


def compare(name, strategies, keep_last, made, rng):
    bodies = [spelled(rng, messages) for messages in made]
    asked = ["-p", POLICIES[strategies]] if strategies in POLICIES else ["-s", strategies]
    args = [*asked, "-O", f"dedup.keep_last={keep_last}"]
    args += ["-b", BUDGET] if "compact_to_budget" in strategies else []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "stats"
        code, out, err = paucis("compact", "-f", "neutral", "--jsonl", "-q", f"--stats={file}", *args,
                                stdin=b"\n".join(bodies) + b"\n")
        if not expect(code == 0, name, "exit", code, err[:300]):
            return
        stats = [json.loads(line) for line in file.read_bytes().splitlines()]
    lines = out.split(b"\n")
    if not expect(len(lines) == len(made) + 1 == len(stats) + 1, name, len(lines), "lines"):
        return
    for messages, body, line, st in zip(made, bodies, lines, stats):
        want, counts = classic_ref.run(messages, strategies, BUDGET, keep_last)
        got = json.loads(line)["messages"]
        expect(got == want, name, "output differs on", body[:2000])
        wrong = {k: (st.get(k), v) for k, v in counts.items() if st.get(k) != v}
        expect(not wrong, name, "statistics", wrong, "on", body[:2000])
        changed[name] += got != messages


changed = collections.Counter()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100000 if LONG else 60 if SANITIZED else 1000
    seed = sys.argv[2] if len(sys.argv) > 2 else "classic"
    wanted = sys.argv[3:] or [row[0] for row in RUNS]
    for name, strategies, focus, keep_last in RUNS:
        for first in range(0, count if name in wanted else 0, BATCH):
            rng = random.Random(f"{seed} {name} {first}")
            made = batch(rng, strategies, focus, min(BATCH, count - first))
            compare(name, strategies, keep_last, made, rng)
            if len(faults) > 40:
                finish(f"stopped in {name} after {first + BATCH}")
        expect(name not in wanted or changed[name] * 20 > count, name, "changed only", changed[name])
    print(", ".join(f"{name} changed {changed[name]}" for name in wanted))
    finish(f"{count} conversations for each of {len(wanted)} strategies and pipelines")


main()
