#!/usr/bin/env python3
"""`paucis replay` against the reference, the plain definition in Python, counter by counter: on 30 traces
(all of them in the long form), for every policy of its run.py, session by session, at two prices."""
import json
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import LONG, SANITIZED, SHARED, expect, finish, paucis, skip

REFERENCE = SHARED / "reference" if SHARED else None
if not REFERENCE or not REFERENCE.is_dir():
    skip("no reference here")
sys.dont_write_bytecode = True
sys.path.insert(0, str(REFERENCE))
import evidence
import policies as P
import replay as R

TRACES = str(SHARED / "traces" / "dev.jsonl.zst")
MAX = 10**9 if LONG else 8 if SANITIZED else 30
COUNTERS = ("turns tokens cached needed kept cneeded ckept xkept sneeded skept nneeded nkept").split()


def reference_policies(read, write):
    """Our names for the policies of run.py."""
    return {
        "none": P.none,
        "classic": P.apply_all,
        "dedup": P.dedup_only,
        "classic:snippet": P.snippet,
        "classic:streaming": P.streaming,
        "budget:32000": P.to_budget(32000),
        "trim:32000": P.trim_last(32000),
        "clear:30000:3": P.clear_tool_uses(30000),
        "clear:100000:3": P.clear_tool_uses(100000),
        "sticky:40000:3": P.sticky_clear(40000),
        "sticky:50000:3": P.sticky_clear(50000),
        "polling:10:25": P.polling_mask(),
        "mask:10": P.mask(10),
        "prune:40000:20000": P.opencode_prune(),
        "prune:10000:5000": P.opencode_prune(10000, 5000),
        "rent:256": P.rent(read, write),
        "rent:1024": P.rent(read, write, least=4096, head=1024, tail=1024),
    }


def near(ours, theirs):
    return abs(ours / 1000 - theirs) <= 1e-9 * max(1, abs(theirs))


def compare(session, trace, messages, price, lookback):
    read, write = price
    events = evidence.prepare(messages)
    fixed = evidence.fixed_prefix(trace, messages)
    for name, policy in reference_policies(read, write).items():
        ours = session["policies"][name]
        theirs = evidence.replay2(messages, events, policy, read, write)
        full = evidence.replay2(messages, events, policy, read, write, fixed, lookback)
        for counter in COUNTERS:
            expect(ours[counter] == theirs[counter], trace["id"], name, counter, ours[counter],
                   "instead of", theirs[counter])
        expect(near(ours["plain"], theirs["cost"]), trace["id"], name, "cost", ours["plain"], theirs["cost"])
        expect(near(ours["full"], full["cost"]), trace["id"], name, "full bill", ours["full"], full["cost"])


def check(price_name, price, lookback):
    """The longest-prefix rows have no lookback, which the reference takes as an argument."""
    code, out, err = paucis("replay", "--json", "-v", "--policy", "lab", "--price", price_name, "-j", "2",
                            *([] if LONG else ["--max", str(MAX)]), TRACES)
    expect(code == 0, "exit", code, err[:300])
    sessions = json.loads(out)["prices"][0]["sessions"]
    n = 0
    for line in R.opentr(TRACES):
        if n == len(sessions):
            break
        trace, messages = R.load(line)
        if len(messages) < 40:
            continue
        expect(sessions[n]["id"] == trace["id"], "session", n, "is", sessions[n]["id"])
        compare(sessions[n], trace, messages, price, lookback)
        n += 1
    expect(n == len(sessions) > 0, n, "traces,", len(sessions), "sessions")
    return n


n = check("anthropic", (0.1, 1.25), 20)
check("openai", (0.1, 1.0), 0)
finish(f"{n} traces agree")
