"""Writes docs/irregularities.md: what `paucis check` reports on the real traces, by rule.

Every rule that shows up needs a line in VERDICT below: what it is in these traces, and whether it is
real. Without one the page says so, and the test that compares the page fails on review.
"""
import collections
import json
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from support import SRC, paucis, traces

HEAD = """# Irregularities of the real traces

What `paucis check` reports on the real requests it was tried on ({traces} traces of {agents} agents, in
the format in which each was sent). Written by `tests/tools/irregularities.py`; do not edit.

Such a body is still compacted: a break freezes its own unit and nothing else, and paucis adds none.

| rule | agent | traces | breaks | what check says | first seen at |
|---|---|--:|--:|---|---|
"""

TAIL = """
{clean} of {traces} traces break no rule.

## What they are

"""

VERDICT = {
    "B-R18": "real. The user stopped Claude Code while the model was thinking; the log keeps an "
             "assistant message that holds nothing but the thinking block, and the next message is "
             "`[Request interrupted by user]`. The API refuses an assistant turn that ends so; the "
             "agent evidently left the block out of what it sent.",
    "C-R3": "real. The user stopped Codex while the model was reasoning; the reasoning item with its "
            "id stays in the history and a user message (`<turn_aborted>`) follows it at once.",
}


def collect(found):
    """{(rule, agent, text): [traces, breaks, first pointer]}, and how many traces are clean."""
    lines = b"\n".join(body for _, body in found)
    _, out, _ = paucis("check", "--jsonl", "--json", stdin=lines)
    rows, clean = collections.OrderedDict(), 0
    for (about, _), line in zip(found, out.split(b"\n")):
        breaks = json.loads(line)
        clean += not breaks
        seen = collections.Counter((b["rule"], about["agent"], b["text"]) for b in breaks)
        for key, n in seen.items():
            first = next(b["pointer"] for b in breaks if (b["rule"], b["text"]) == (key[0], key[2]))
            row = rows.setdefault(key, [0, 0, first])
            row[0] += 1
            row[1] += n
    return rows, clean


def order(rule):
    return rule[0], int(rule.lstrip("ABCDEGR-"))


def page(found):
    rows, clean = collect(found)
    agents = {about["agent"] for about, _ in found}
    text = HEAD.format(traces=len(found), agents=len(agents))
    for (rule, agent, what), (n, breaks, first) in sorted(
            rows.items(), key=lambda r: (order(r[0][0]), r[0][1:])):
        text += f"| {rule} | {agent} | {n} | {breaks} | {what} | `{first}` |\n"
    text += TAIL.format(clean=clean, traces=len(found))
    for rule in sorted({key[0] for key in rows}, key=order):
        text += f"- **{rule}**: {VERDICT.get(rule, 'not judged yet.')}\n"
    return text


def main():
    (SRC / "docs" / "irregularities.md").write_text(page(list(traces())), encoding="utf-8")


if __name__ == "__main__":
    main()
