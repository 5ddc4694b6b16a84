#!/usr/bin/env python3
"""Markers on the real traces say the truth: a gap stands for as many lines or bytes as it says and has
the names it lists, a text that is called identical stands whole where it is said to stand, the counts
of full texts are right, arguments that were cut have the same keys and right counts, and whoever meets
a gap has been told how to read one.
"""
import json
import re
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/tools")
from support import LONG, SANITIZED, SHARED, expect, finish, paucis, skip, traces

if not SHARED:
    skip("no traces")
EVERY = 1 if LONG else 24 if SANITIZED else 4

LEGEND = re.compile(r"\[Output is shortened from here on: .*?( all of its output\.| recall NAME)\][\n ]")
GAP = re.compile(r"\[…(\d+)(B?)(?:: ([^\]]*))?\]")
FULL = re.compile(r"\n?\[full text: [0-9a-f]{16}, (\d+) lines, (\d+) bytes\](?:\n?\[left out so far: [0-9a-f]{16}\])?")
SAME = re.compile(r"\[identical to the earlier output of call (\S+), (\d+) bytes(, cut there too)?\]")
AGAIN = re.compile(r"\[(\d+) lines, superseded: a later call asked for this again\]")
ARGUMENT = re.compile(r"\[\.\.\. (\d+) lines, (\d+) bytes left out\](\[full text: [^\]]*\])?(\[left out[^\]]*\])?$")
LEGEND_BYTES = 400  # at most, and what a form of before may have been shorter
MOST_PLACES = 400  # where the text behind a gap may go on, tried


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content or [] if isinstance(b, dict) and "text" in b)


def parts(body):
    """(result or call, id, its text or arguments), in order."""
    for message in body.get("messages", []):
        content = message.get("content")
        if message.get("role") == "tool":
            yield "result", message.get("tool_call_id"), text_of(content)
        for block in content if isinstance(content, list) and message.get("role") != "tool" else []:
            if block.get("type") == "tool_use":
                yield "call", block.get("id"), block.get("input")
            if block.get("type") == "tool_result":
                yield "result", block.get("tool_use_id"), text_of(block.get("content"))
        for call in message.get("tool_calls") or []:
            yield "call", call.get("id"), call.get("function", {}).get("arguments")
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if item.get("type") in ("function_call", "custom_tool_call"):
            yield "call", item.get("call_id"), item.get("arguments", item.get("input"))
        if item.get("type", "").endswith("call_output"):
            yield "result", item.get("call_id"), text_of(item.get("output"))


def decoded(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def lines(text):
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def stands_for(gap, gone, rest):
    """Is this what the gap says? A blank that ended it is shown again behind the gap, and a name may end
    in what is shown."""
    names = gap[3].split(" ") if gap[3] else []
    if not all(n in gone + rest for n in names):
        return False
    count = (lambda t: {len(t.encode())}) if gap[2] else (lambda t: {lines(t), t.count("\n")})
    return int(gap[1]) in count(gone) | count(gone + rest[:1])


def judge_gaps(before, after):
    """Is the one the other with gaps? None if so, else what is wrong."""
    found = list(GAP.finditer(after))
    if not found or not before.startswith(after[:found[0].start()]):
        return "no gap, or another beginning"
    at = found[0].start()
    for i, gap in enumerate(found):
        final = i + 1 == len(found)
        rest = after[gap.end():] if final else after[gap.end():found[i + 1].start()]
        if final:
            place = len(before) - len(rest) if before.endswith(rest) else -1
        else:
            place = before.find(rest, at)
        for _ in range(MOST_PLACES):
            if place < at or stands_for(gap, before[at:place], rest):
                break
            place = -1 if final else before.find(rest, place + 1)
        if place < at:
            return f"{gap[0][:60]} is not what is missing at {at}"
        at = place + len(rest)
    return None


def judge_arguments(name, before, after):
    if type(before) is not type(after):
        return expect(False, name, "arguments of another type")
    if isinstance(before, dict):
        expect(list(before) == list(after), name, "other keys", list(after))
        return [judge_arguments(name, before[k], after[k]) for k in before if k in after]
    if isinstance(before, list):
        expect(len(before) == len(after), name, "elements of arguments are gone")
        return [judge_arguments(name, x, y) for x, y in zip(before, after)]
    if before == after:
        return None
    note = ARGUMENT.search(after)
    if not expect(note, name, "arguments without a marker", repr(after[-80:])):
        return None
    gone = before[note.start():]
    expect(before.startswith(after[:note.start()]), name, "arguments do not begin as they did")
    return expect((lines(gone), len(gone.encode())) == (int(note[1]), int(note[2])), name, note[0])


def judge_result(name, before, after, earlier):
    """`earlier`: by id, what results before this one were and are."""
    bare = LEGEND.sub("", after, count=1)
    note = list(FULL.finditer(bare))
    if note and note[-1].end() == len(bare):
        told = int(note[-1][1]), int(note[-1][2])
        expect(told == (lines(before), len(before.encode())), name, note[-1][0])
        bare = bare[:note[-1].start()]
    if same := SAME.fullmatch(bare):
        was, now = earlier.get(same[1], ("", ""))
        expect(was == before and int(same[2]) == len(before.encode()), name, bare)
        expect((now == was) == (not same[3]), name, "the other is cut, or not:", bare)
        return "same"
    if again := AGAIN.fullmatch(bare):
        expect(int(again[1]) == lines(before), name, bare)
        return "again"
    if before.lstrip()[:1] in ("{", "[") or re.search("[\x1b\r\b]", before):
        return "other"  # JSON and noise: test_kinds.py
    fault = judge_gaps(before, bare)
    if fault and note:  # the note begins a line
        fault = judge_gaps(before, bare + "\n")
    expect(not fault, name, fault)
    return "gaps"


def judge(name, body, line, count):
    after = json.loads(line)
    earlier, told = {}, False
    for (kind, key, was), (_, _, now) in zip(parts(body), parts(after)):
        if was != now and kind == "call":
            judge_arguments(name, decoded(was), decoded(now))
            count["arguments"] += 1
        if was != now and kind == "result":
            told = told or bool(LEGEND.search(now))
            room = len(now.encode()) + LEGEND_BYTES < len(was.encode())
            expect(told or not room or not GAP.search(now), name, "not told what this is:", now[:60])
            count[judge_result(name, was, now, earlier)] += 1
        if kind == "result":
            earlier[key] = was, now


def run(names, bodies, given, count, texts):
    for level, store in (("balanced", "none"), ("deep", "none"), ("deep", texts)):
        code, out, err = paucis("compact", "-q", "--jsonl", "--price", "anthropic", "-l", level,
                                "--store", store, stdin=given)
        expect(code == 0, level, store, "exit", code, err[:200])
        for name, body, line in zip(names, bodies, out.splitlines()):
            judge(f"{name} {level} {store[:4]}", body, line, count)


def main():
    names, bodies = [], []
    for about, request in traces(EVERY):
        names.append(about["id"])
        bodies.append(json.loads(request))
    given = b"".join(json.dumps(b).encode() + b"\n" for b in bodies)
    count = dict.fromkeys(("gaps", "same", "again", "arguments", "other"), 0)
    with tempfile.TemporaryDirectory() as folder:
        run(names, bodies, given, count, f"sqlite:{folder}/texts.db")
    expect(SANITIZED or all(count.values()), "nothing to judge:", count)
    finish(f"{len(bodies)} traces, {count}")


main()
