#!/usr/bin/env python3
"""Properties of the classic strategies on generated conversations, neutral and of every wire format:

  idempotent  a second run changes nothing, for the strategies of which that is said
  kept        ids, names, roles and the order of parts; what is left is a part of what was there
  explained   the plan's edits are exactly the differences, with their sizes; whatever no edit names
              is byte for byte what it was
  no growth   with grow=no the output is never longer than the input
  numbers     bytes_out, messages_out and first_changed_byte are true
"""
import json
import pathlib
import random
import sys
import tempfile

HOME = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME / "tools"), str(HOME / "ref")]
import dialogues
from conversations import conversation, spelled
from support import LONG, SANITIZED, expect, finish, members, paucis, skip_blank

COUNT = 5000 if LONG else 40 if SANITIZED else 150
SEVEN = "thinking_prune,tool_call_dedup,dedup,snippet,lingua,streaming_llm,pairing"
IDEMPOTENT = ("snippet", "streaming_llm", "thinking_prune", "lingua", "tool_call_dedup",
              "compact_to_budget")
STRATEGIES = (*IDEMPOTENT, "dedup", "pairing", "apply_all", SEVEN, SEVEN + ",compact_to_budget")
FOCUS = {"snippet": "snippet", "streaming_llm": "stream", "compact_to_budget": "budget", SEVEN: "stream"}
SMALL = ("dedup.min=1 snippet.min=9 snippet.head=2 snippet.tail=2 snippet.keep_last=2 "
         "tool_call_dedup.min=1 tool_call_dedup.keep_last=1 lingua.keep_last=1 "
         "streaming_llm.recent=3 streaming_llm.min_messages=0 compact_to_budget.min=1 "
         "compact_to_budget.keep_last=1 compact_to_budget.arguments=yes").split()


def arguments(strategies, *options):
    args = ["-s", strategies] + [x for o in options for x in ("-O", o)]
    return args + (["-b", "700"] if "compact_to_budget" in strategies else [])


def compact(format_, bodies, args):
    """(outputs, statistics), one a body."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "stats"
        code, out, err = paucis("compact", "--jsonl", "-q", "-f", format_, f"--stats={file}", *args,
                                stdin=b"\n".join(bodies) + b"\n")
        lines = out.split(b"\n")[:-1]
        if not expect(code == 0 and len(lines) == len(bodies), format_, args, "exit", code, err[:200]):
            return [], []
        return lines, [json.loads(line) for line in file.read_bytes().splitlines()]


def neutral(rng, focus, count):
    return [spelled(rng, conversation(rng, focus)) for _ in range(count)]


# ---- idempotent --------------------------------------------------------------------------------


def check_idempotent(rng):
    for name in IDEMPOTENT:
        first, _ = compact("neutral", neutral(rng, FOCUS.get(name, "any"), COUNT), arguments(name))
        second, stats = compact("neutral", first, arguments(name))
        for a, b, st in zip(first, second, stats):
            expect(a == b and st["edits"] == 0, name, "is not idempotent on", a[:2000])


# ---- kept --------------------------------------------------------------------------------------


def marks(body):
    """What of every part may never change."""
    texts = {"text": ("text",), "tool_result": ("content",), "tool_call": ("arguments",),
             "thinking": ("text",)}
    return [[m["role"], *({k: v for k, v in p.items() if k not in texts.get(p["type"], ())}
                          for p in m["content"])] for m in json.loads(body)["messages"]]


def check_kept(name, body, out, edits):
    """Where only texts may change, nothing else does; else every message is one that was there, perhaps
    without its thinking, or one that an edit made. (Their order is looked at below.)"""
    was, now = marks(body), marks(out)
    if name in ("dedup", "snippet", "lingua", "tool_call_dedup", "compact_to_budget"):
        expect(was == now, name, "changed more than texts in", body[:2000])
        return
    left = [(m, [p for p in m if isinstance(p, str) or p["type"] != "thinking"])
            if m[0] == "assistant" else (m,) for m in was]
    calls = {p["id"] for m in was for p in m[1:] if p["type"] == "tool_call"}
    made = [["user", {"type": "text"}]]
    made += [["tool", {"type": "tool_result", "tool_call_id": i}] for i in calls]
    for m in now:
        found = next((i for i, forms in enumerate(left) if m in forms), None)
        if found is not None:
            del left[found]
        elif expect(m in made and edits, name, "made", m, "of", body[:2000]):
            edits -= 1


# ---- explained ---------------------------------------------------------------------------------

TEXT_OF = {"text": "text", "tool_result": "content", "tool_call": "arguments", "thinking": "text"}


def slices(body):
    """[(raw message, [raw part, ...])] of a neutral body."""
    s = body.decode("latin-1")
    top = {key: at for key, at, _ in members(s, skip_blank(s, 0))}
    found = []
    for _, at, end in members(s, top["messages"]):
        inner = {key: place for key, place, _ in members(s, at)}
        parts = [s[a:b] for _, a, b in members(s, inner["content"])]
        found.append((s[at:end], parts))
    return found


def plan(format_, body, args):
    code, out, err = paucis("plan", "-f", format_, *args, stdin=body)
    expect(code == 0, "plan: exit", code, err[:200])
    return [json.loads(line) for line in out.splitlines()]


def read_part(raw):
    """(the rest of a part, its text)"""
    part = json.loads(raw.encode("latin-1"))
    return {k: v for k, v in part.items() if k != TEXT_OF.get(part["type"])}, \
        part.get(TEXT_OF.get(part["type"]), "")


def part_is_explained(old, new, edits):
    """A part that is there on both sides, and the edits that changed it, in order."""
    if not edits:
        return old == new
    (rest, text), (rest_now, text_now) = read_part(old), read_part(new)
    sizes = [len(text.encode()), *(e["after"] for e in edits)]
    return (rest == rest_now and edits[-1]["text"] == text_now and
            [e["before"] for e in edits] == sizes[:-1] and sizes[-1] == len(text_now.encode()))


def message_is_explained(old, new, edits):
    """Two (raw message, raw parts), and the edits by part."""
    if not edits:
        return old[0] == new[0]
    left = [(p, edits.get(k, [])) for k, p in enumerate(old[1])
            if not any(e["op"] == "drop" for e in edits.get(k, []))]
    return len(left) == len(new[1]) and all(
        part_is_explained(part, now, those) for (part, those), now in zip(left, new[1]))


def check_explained(name, body, args):
    """Walks through both sides: what does not explain itself must be an inserted message."""
    edits = plan("neutral", body, args)
    outs, _ = compact("neutral", [body], args)
    if not outs:
        return 0
    gone = {e["message"] for e in edits if e["op"] == "drop-message"}
    texts = [e["text"] for e in edits if e["op"] == "insert" and e["message"] not in gone]
    by_message = {}
    for e in edits:
        by_message.setdefault(e["message"], {}).setdefault(e["part"], []).append(e)
    was = [(i, m) for i, m in enumerate(slices(body)) if i not in gone]
    for new in slices(outs[0]):
        if was and message_is_explained(was[0][1], new, by_message.get(was[0][0])):
            was.pop(0)
            continue
        text = read_part(new[1][0])[1] if len(new[1]) == 1 else None
        if not expect(text in texts, name, "unexplained:", new[0][:300], "in", body[:2000]):
            return 0
        texts.remove(text)
    expect(not was and not texts, name, "lost", len(was), "messages and", texts, "of", body[:2000])
    return len(edits)


# ---- no growth, numbers ------------------------------------------------------------------------


def first_change(a, b):
    same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return None if a == b else same


def check_numbers(name, body, out, st):
    expect(st["bytes_in"] == len(body) and st["bytes_out"] == len(out), name, "sizes", st)
    expect(st["first_changed_byte"] == first_change(body, out), name, "first change", st, body[:500])


def check_growth(rng):
    bodies = {"neutral": []}
    for focus in ("any", "snippet", "stream", "budget"):
        bodies["neutral"] += neutral(rng, focus, COUNT // 2)
    for _ in range(COUNT // 6):
        for format_, body in dialogues.bodies(rng).items():
            bodies.setdefault(format_, []).append(body)
    for format_, lines in bodies.items():
        for name in STRATEGIES:
            for options in ((), ("mend=yes",), SMALL, (*SMALL, "mend=yes", "tool_call_dedup.object=yes")):
                outs, stats = compact(format_, lines, arguments(name, "grow=no", *options))
                for body, out, st in zip(lines, outs, stats):
                    expect(len(out) <= len(body), format_, name, options, "grew from", len(body), "to",
                           len(out), body[:1500])
                    check_numbers(name, body, out, st)


def check_neutral(rng):
    edits = 0
    for name in STRATEGIES:
        for options in ((), SMALL):
            lines = neutral(rng, FOCUS.get(name, "any"), COUNT)
            args = arguments(name, *options)
            outs, stats = compact("neutral", lines, args)
            for body, out, st in zip(lines, outs, stats):
                check_numbers(name, body, out, st)
                count = len(json.loads(out)["messages"])
                expect(st["messages_out"] == count, name, "messages_out", st["messages_out"], count)
                check_kept(name, body, out, st["edits"])
            for body in lines[:COUNT // 20]:
                edits += check_explained(name, body, args)
    return edits


def main():
    rng = random.Random("properties")
    check_idempotent(rng)
    check_growth(rng)
    edits = check_neutral(rng)
    finish(f"{COUNT} conversations for each of {len(STRATEGIES)} sequences, {edits} edits explained")


main()
